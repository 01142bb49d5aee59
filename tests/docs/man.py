#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public name has a man page, which names it, shows how it is called and says something; each tool and each
thing besides calls has one; no page refers to what only a reader of the headers sees; groff finds nothing wrong.

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
    # Forms for a stream, a group or a context are told of in words.
    shown = set(re.findall(r'(gshmemx?_\w+)\(', text.split('.SH SYNOPSIS')[1].split('.SH')[0]))
    for form in text.split('.SH NAMES')[1].split('.SH')[0].replace('\\', '').split('\n')[2:]:
        plain = re.sub(r'OP|and|or|xor|min|max|sum|prod', 'OP', form) if 'reduce' in form else form
        if form.startswith('gshmem') and not re.search(r'_(warp|block|grid|lane|on_stream)$|^gshmemx?_ctx_', form) and \
                not {form, plain} & shown:
            complain(f'{path}: no prototype of {form}')
# Which words say what a call does: a comment is taken for the call that it stands at.
for page, name, words in (('gshmem_alltoall', 'gshmem_alltoallmem', 'Block j of member'),
                          ('gshmem_collect', 'gshmem_collectmem', "Concatenates all members' sources"),
                          ('gshmem_malloc', 'gshmem_calloc', 'As malloc, for count elements'),
                          ('gshmem_init', 'gshmem_query_thread', '*provided is'),
                          ('gshmem_fence', 'gshmem_fence', 'memory model (gshmem(7))'),
                          ('gshmem_reduce', 'gshmem_TYPE_OP_reducescatter', 'gshmem_TYPE_OP_reduce: dest[i]')):
    told = ' '.join(texts[os.path.join(pages, 'man3', page + '.3')].replace('\\fP, \\fB', ' ').split())
    if not re.search(rf'\\fB[^\\]*{name}[^\\]*\\fP .RS 4 .PP[^\\]*{re.escape(words)}', told):
        complain(f'{page}: "{words}" is not told of {name}')
things = ['man1/gshmemrun.1', 'man1/gshmem-info.1', 'man3/gshmem_team_config_t.3', 'man3/GSHMEM_DYNAMIC_SHARED.3',
          'man3/gshmem::lend_shared.3', 'man7/gshmem.7']
everything = dict(texts)
for name in things:
    with open(os.path.join(pages, name), encoding='utf-8') as file:
        everything[os.path.join(pages, name)] = file.read()
for path, text in everything.items():
    for lost in re.findall(r'\[hd\]|\b(?:table|calls?|comment) (?:above|below)|\bnext (?:two|three)\b', text):
        complain(f'{path}: "{lost}" means nothing on a page')
for path, text in texts.items():
    told = text.split('.SH DESCRIPTION')[1].split('.SH')[0]
    if len(told.split()) < 8:
        complain(f'{path}: its contract is "{told.strip()}"')
    if not re.search(r'\(.*\);', text.split('.SH SYNOPSIS')[1].split('.SH')[0]):
        complain(f'{path}: no prototype')
if shutil.which('groff'):
    for path in everything:
        run = subprocess.run(['groff', '-man', '-ww', '-z', '-rLL=130n', path], stderr=subprocess.PIPE, text=True)
        if run.stderr:
            complain(run.stderr)
print(f'{len(names)} names, {len(texts)} pages')
sys.exit(1 if failed or not names else 0)
