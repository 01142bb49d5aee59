#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the calls that exist in kernels alone as a list of prototypes, which nobody includes, and where each call is
declared as a tags file, for editors.

    list_calls.py NAMES_TXT DEVICE_CALLS_H GSHMEM_TAGS NAME=HEADER... -- CXX ARGS...

CXX preprocesses gshmem_device.cuh for the CPU device. NAME is what a header is called beside the tags file."""
import re
import subprocess
import sys

HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Made by the build. A list of the calls that exist in kernels alone, for readers and tools: include
 * gshmem_device.cuh, which defines them. Calls of a warp, a block or a grid are made by all threads
 * of the group; gshmem_device.cuh and the calls without the suffix say what they do. Those below
 * "CPU device" exist there, but not in files that nvcc compiles: GPUs have no long double. */
#error "this is a list to read; include <gshmem_device.cuh>"

"""
DEFINITION = re.compile(r'static inline\s+((?:[A-Za-z_]\w*[\s*]+)+?)(gshmemx?_\w+)\s*\(([^()]*)\)\s*\{')


def main():
    names_txt, calls_out, tags_out, *rest = sys.argv[1:]
    end = rest.index('--')
    with open(names_txt, encoding='utf-8') as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith('#')]
    text = subprocess.run([*rest[end + 1:], '-E', '-P', '-std=c++17', '-x', 'c++', '-include', 'gshmem_device.cuh',
                           '/dev/null'], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for result, name, parameters in DEFINITION.findall(text):
        line = ' '.join(f'{result} {name}({parameters})'.split())
        line = re.sub(r'\( ', '(', re.sub(r' ?\* (?=\w)', ' *', line)).replace('* gshmem', '*gshmem')
        found[name] = f'__device__ {line};'
    out = {'device': [], 'nogpu': []}
    for name, where, *_ in rows:
        kind = where.split(',')[0]
        if kind in out:
            if name not in found:
                sys.exit(f'{name}: not defined in the device headers')
            out[kind].append(found[name])
    with open(calls_out, 'w', encoding='utf-8') as file:
        file.write(HEAD + '\n'.join(out['device']) + '\n\n/* CPU device */\n' + '\n'.join(out['nogpu']) + '\n')
    tags = set()
    public = {name for name, where, *_ in rows if not re.search('cpu|layer', where)}
    for item in [*rest[:end], f'gshmem/device_calls.h={calls_out}']:
        shown, path = item.split('=', 1)
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                called = re.match(r'(?:[A-Za-z_]\w*[\s*]+)+(gshmemx?_\w+)\(', line)
                if called and called[1] in public:
                    tags.add(f'{called[1]}\t{shown}\t{number}')
    with open(tags_out, 'w', encoding='utf-8') as file:
        file.write('!_TAG_FILE_SORTED\t1\t/by name/\n' + ''.join(tag + '\n' for tag in sorted(tags)))


main()
