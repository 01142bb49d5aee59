#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each name in the headers of NCCL's wheels (wheel_names.txt) is offered (names.txt) since the version that the wheels
say, or is left out for a reason (left_out.txt). No reason is left over, and nothing is both. Each call of the host that
waits, or lets a stream wait, has a macro that tells where it stands (nccl_device/call_sites.h).

    complete.py FOLDER"""
import os, re, sys

folder = sys.argv[1]
faults = []


def rows(name, n):
    with open(os.path.join(folder, name)) as f:
        return [line.split(None, n - 1) for line in f.read().splitlines() if line and not line.startswith('#')]


wheels = {name: version for version, name in rows('wheel_names.txt', 2)}
offered = {name: version for _, version, name in rows('names.txt', 3)}
reasons = [(re.compile(pattern), set()) for pattern, _ in rows('left_out.txt', 2)]
if len(wheels) < 500 or len(offered) < 300:
    sys.exit('the lists are not whole')
for name, version in wheels.items():
    if name not in offered:
        found = [names for pattern, names in reasons if pattern.fullmatch(name)]
        for names in found:
            names.add(name)
        if not found:
            faults.append(f'{name}: in the wheels since {version}, neither offered nor left out')
for name, version in offered.items():
    if name not in wheels:
        faults.append(f'{name}: in no wheel')
    elif version > wheels[name]: # it may be of a version between two of the wheels
        faults.append(f'{name}: since {wheels[name]} in the wheels, since {version} in names.txt')
faults += [f'{pattern.pattern}: no name is left out by it' for pattern, names in reasons if not names]

# What never waits; and ncclGroupStart, whose calls do it when the group ends.
NEVER_WAITS = re.compile(r'Get\w+|ResetDebug\w+|Comm(Get\w+|Suspend|Resume|MemStats|Count|CuDevice|UserRank|Register|'
                         r'Deregister)|Group(Start|SimulateEnd)|Mem\w+|WinGetUserPtr|SetEncryption|Param\w+|RedOp\w+')


def header(name):
    with open(os.path.join(folder, '../../dialects/nccl/include/nccl_device', name)) as f:
        return f.read()


calls = re.findall(r'^GSHMEM_NCCL_P\((\w+)\);', header('profiling.h'), re.M)
macros = re.findall(r'^#define nccl(\w+)\(\.\.\.\)\s+GSHMEM_AT_SITE\(nccl\1\(__VA_ARGS__\)\)$',
                    header('call_sites.h'), re.M)
faults += [f'nccl{name}: in call_sites.h it has no macro' for name in calls
           if name not in macros and not NEVER_WAITS.fullmatch(name)]
faults += [f'nccl{name}: no call with a macro in call_sites.h' for name in macros
           if name not in calls or NEVER_WAITS.fullmatch(name)]
if len(macros) < 30:
    sys.exit('call_sites.h is not whole')
print('\n'.join(faults))
sys.exit(len(faults) > 0)
