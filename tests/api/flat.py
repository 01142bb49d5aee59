#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public name of names.txt, and no other, can be found in an installation as it is written: it has one line
that declares it, NAME( and all, in the header where gshmem.tags says it is. Names that are no part of the interface,
`detail` in names.txt, are declared in gshmem/detail/ alone. Each public header says since when there is what it
declares, and so does each contract of a call that came later, by names.txt.

    flat.py ROOT BUILD_INCLUDE NAMES"""
import hashlib
import os
import re
import sys

# How many names version 0.1 had, and what they were (its lanes are channels now). A new name has its version as a third
# word in names.txt.
FIRST = (5244, '72644ae1126802b1')

root, made, names_txt = sys.argv[1:]
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def lines_of(header):
    for folder in (os.path.join(root, 'include'), made, os.path.join(made, 'gshmem')):
        path = os.path.join(folder, header)
        if os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                return file.read().split('\n')
    sys.exit(f'no {header}')


with open(names_txt, encoding='utf-8') as file:
    rows = [line.split() for line in file if line.strip() and not line.startswith('#')]
public = {name: where for name, where, *_ in rows if not re.search('cpu|layer', where)}
tags = {}
for line in lines_of('gshmem.tags'):
    if line and not line.startswith('!'):
        name, header, number = line.split('\t')
        tags.setdefault(name, []).append((header, int(number)))
for name in sorted(set(tags) - set(public)):
    complain(f'{name} is in gshmem.tags, and not in names.txt')
texts = {}
for name, where in public.items():
    # launch.h says what the three templates do in each of the two compilers
    if len(tags.get(name, [])) != 1 and where != 'inline':
        complain(f'{name} has {len(tags.get(name, []))} lines in gshmem.tags')
    for header, number in tags.get(name, []):
        text = texts.setdefault(header, lines_of(header))
        if not re.search(rf'\b{name}\(', text[number - 1]):
            complain(f'{name} is not in line {number} of {header}')
        is_detail = header.startswith('gshmem/detail/')
        if is_detail != ('detail' in where):
            complain(f'{name} is declared in {header}, and names.txt says {where}')
# What is internal begins with gsh_ or GSH_, and public headers only use it.
for folder, names in (('', ['gshmem.h', 'gshmemx.h', 'gshmem_device.cuh']),
                      ('gshmem', [name for name in os.listdir(os.path.join(root, 'include/gshmem')) if '.h' in name])):
    for name in names:
        with open(os.path.join(root, 'include', folder, name), encoding='utf-8') as file:
            for found in re.findall(r'#\s*define (?:GSH|gsh)_\w+|\b(?:struct|enum|union) gsh_\w+\s*[;{]', file.read()):
                complain(f'{folder}/{name} defines what is internal: {found}')
since = {name: rest[0] for name, where, *rest in rows if rest}
first = sorted(name for name, where in public.items() if name not in since and 'detail' not in where)
if (len(first), hashlib.sha256('\n'.join(first).encode()).hexdigest()[:16]) != FIRST:
    complain(f'{len(first)} names are said to be those of version 0.1, which had {FIRST[0]}: in names.txt, a new one '
             'has its version as a third word')
for name, version in since.items():
    for header, number in tags.get(name, []):
        above = '\n'.join(texts[header][:number - 1])
        if f'Since {version}.' not in above[above.rfind('/*'):]:
            complain(f'the contract of {name} in {header} does not end with "Since {version}."')
for header in ('gshmem.h', 'gshmemx.h', 'gshmem_device.cuh', 'gshmem/types.h', *sorted(texts)):
    head = '\n'.join(lines_of(header)).split('*/')[0]
    if not re.search(r'\b[Ss]ince 0\.\d', head) and not header.startswith('gshmem/detail/') and \
            header != 'gshmem/device_calls.h':
        complain(f'{header} does not say since when there is what it declares')
print(f'{len(public)} names, {len(tags)} tags')
sys.exit(failed != 0)
