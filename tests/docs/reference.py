#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen reports nothing about the public headers, and its pages show every call: each name of tests/api/names.txt,
with TYPE, BITS and OP for types, sizes and operations, each type and constant that has a man page, and NCCL's calls.

    reference.py ROOT DOXYGEN DOXYFILE MAN_DIR"""
import html, os, re, subprocess, sys, tempfile

root, doxygen, doxyfile, pages = sys.argv[1:5]
sys.path.insert(0, os.path.join(root, 'docs/man'))
sys.dont_write_bytecode = True
import generate

failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


with tempfile.TemporaryDirectory(prefix='gshmem-html-') as out:
    with open(doxyfile, encoding='utf-8') as file:
        settings = file.read() + f'\nOUTPUT_DIRECTORY = {out}\n'
    run = subprocess.run([doxygen, '-'], input=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode or run.stdout.strip():
        complain(f'doxygen ends with {run.returncode}:\n{run.stdout}')
    text = ''
    for name in sorted(os.listdir(out)):
        if name.endswith('.html'):
            with open(os.path.join(out, name), encoding='utf-8') as file:
                text += html.unescape(re.sub(r'<[^>]*>', '', file.read()))
words = set(re.findall(r'(?:gshmem::)?\w+', text))
names = generate.Names(root)
forms = {re.sub(r'_(and|or|xor|min|max|sum|prod)_(?=reduce)', '_OP_', names.form(name)) for name in names.all}
for form in sorted(forms):
    # Lanes and grids are shown as forms, in words.
    if form not in words and not re.search(r'_lane$|_grid$', form):
        complain(f'{form} is on no page')
things = {name[:-2] for name in os.listdir(os.path.join(pages, 'man3')) if re.match('GSHMEM|gshmem::|.*_t.3$', name)}
for name in sorted(things):
    if name not in words and name.removeprefix('gshmem::') not in words:
        complain(f'{name} is on no page')
with open(os.path.join(root, 'tests/nccl/names.txt'), encoding='utf-8') as lines:
    nccl = {line.split()[2] for line in lines if line.startswith('call ')}
for name in sorted(nccl - words):
    if re.search(rf'\b{name}\(', open(os.path.join(root, 'dialects/nccl/include/nccl.h'), encoding='utf-8').read()):
        complain(f'{name} is on no page')
print(f'{len(nccl)} calls of NCCL, {len(forms)} forms of {len(names.all)} calls, {len(things)} other names')
sys.exit(1 if failed or len(forms) < 300 or len(things) < 60 else 0)
