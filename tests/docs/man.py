#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public name has a man page, which names it and says something; groff finds nothing wrong with the pages.

    man.py ROOT MAN_DIR"""
import os, re, shutil, subprocess, sys

root, pages = sys.argv[1:3]
failed = 0


def complain(text):
    global failed
    failed += 1
    print(text)


def matches(form, name):
    pattern = re.escape(form).replace('TYPE', '[a-z0-9]+').replace('BITS', '[0-9]+')
    return re.fullmatch(pattern, name)


texts = {}
with open(os.path.join(root, 'tests/api/names.txt'), encoding='utf-8') as lines:
    names = [line.split()[0] for line in lines if line.strip() and not line.startswith('#') and line.split()[1] not in ('cpu', 'layer')]
for name in names:
    path = os.path.join(pages, 'man3', name + '.3')
    if not os.path.exists(path):
        complain(f'{name} has no man page')
        continue
    with open(path, encoding='utf-8') as file:
        text = file.read()
    if text.startswith('.so '):
        path = os.path.join(pages, text.split()[1])
        if path not in texts:
            with open(path, encoding='utf-8') as file:
                texts[path] = file.read()
    else:
        texts[path] = text
    forms = texts[path].split('.SH NAMES')[1].replace('\\', '').split()
    if not any(matches(form, name) for form in forms):
        complain(f'{path} does not name {name}')
for path, text in texts.items():
    told = text.split('.SH DESCRIPTION')[1].split('.SH')[0]
    if len(told.split()) < 8:
        complain(f'{path}: its contract is "{told.strip()}"')
    if not re.search(r'\(.*\);', text.split('.SH SYNOPSIS')[1].split('.SH')[0]):
        complain(f'{path}: no prototype')
if shutil.which('groff'):
    for path in [*texts, os.path.join(pages, 'man7/gshmem.7')]:
        run = subprocess.run(['groff', '-man', '-ww', '-z', '-rLL=130n', path], stderr=subprocess.PIPE, text=True)
        if run.stderr:
            complain(run.stderr)
print(f'{len(names)} names, {len(texts)} pages')
sys.exit(1 if failed or not names else 0)
