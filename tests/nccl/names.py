#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each name of names.txt is in the headers, in every language that it is for and as each version that a program may say
it is for, and each call in the library, which exports nothing else.

    names.py NAMES LIBRARY c|c++|cpu|cuda COMPILER..."""
import os, re, subprocess, sys, tempfile

names, library, language, compiler = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
VERSIONS = (22809, 23203)
KINDS = {'c': ('call', 'macro', 'name', 'field', 'inline'),
         'c++': ('call', 'macro', 'name', 'field', 'inline', 'host++')}
SUFFIX = {'c': '.c', 'c++': '.cc', 'cpu': '.cc', 'cuda': '.cu'}
OURS = {'gsh_ncclDevCommCreate', 'gsh_ncclDevCommDestroy'}
missing = 0

rows = [line.split() for line in open(names) if line.strip() and not line.startswith('#')]
calls = [name for kind, _, name in rows if kind == 'call']
if not calls:
    sys.exit(f'{names} lists no call')


def miss(text):
    global missing
    missing += 1
    print(text)


def line_of(kind, name):
    """One line for each name, so that an error's line number tells which it is."""
    if kind == 'field':
        struct, field = name.split('.')
        word = '_Static_assert' if language == 'c' else 'static_assert'
        return f'{word}(sizeof((({struct} *)0)->{field}) > 0, "");'
    if language != 'c':
        also = f' using ::p{name};' if kind == 'call' else ''
        return f'namespace of_{name} {{ using ::{name};{also} }}'
    if kind == 'call':
        return f'extern call *const of_{name}[2]; call *const of_{name}[2] = {{(call *){name}, (call *)p{name}}};'
    if kind == 'inline':
        return f'extern call *const of_{name}; call *const of_{name} = (call *){name};'
    return f'_Static_assert(sizeof({name}) > 0, "");'


def compile_all(version):
    wanted = [(kind, name) for kind, _, name in rows if language not in KINDS or kind in KINDS[language]]
    text = ['#include <nccl.h>', '#include <nccl_device.h>', 'typedef void call(void);']
    where = {}
    for kind, name in wanted:
        if kind == 'macro':
            text += [f'#ifndef {name}', f'#error {name}', '#endif']
            where[len(text) - 1] = name
        else:
            text.append(line_of(kind, name))
            where[len(text)] = name
    with tempfile.TemporaryDirectory() as folder:
        source = 'names' + SUFFIX[language]  # ccache takes a source of another name for another source
        with open(os.path.join(folder, source), 'w') as f:
            f.write('\n'.join(text) + '\n')
        run = subprocess.run([*compiler, f'-DGSHMEM_NCCL_VERSION_CODE={version}', '-c', source, '-o', 'names.o'],
                             cwd=folder, capture_output=True, text=True)
    if run.returncode == 0:
        return
    found = {where.get(int(n)) for n in re.findall(re.escape(source) + r'[:(](\d+)', run.stderr)} - {None}
    for name in sorted(found):
        miss(f'{name}: not in the headers, {language}, version {version}')
    if not found:
        miss(run.stderr)


for version in VERSIONS:
    compile_all(version)
if language == 'c':
    symbols = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in symbols.splitlines()}
    promised = {prefix + name for name in calls for prefix in ('', 'p')} | OURS
    for name in sorted(promised - exported):
        miss(f'{name}: not in the library')
    for name in sorted(exported - promised):
        miss(f'{name}: in the library, but not in names.txt')
sys.exit(missing > 0)
