#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and folders that documents name in `backticks` exist. CONTRIBUTING.md names them from the root, and each
function, struct and variable that it names occurs in the sources; another document names them as its readers see them,
from the root, its own folder, or any folder above the file. So do files that comments of sources name. And each source
of a folder that has a README is named there, without its suffix or with it, or in a README above.

    paths.py ROOT

Left out are what a name in capitals stands for (PREFIX, LIBDIR, NAME), what readers of the guide write, and what a
build makes."""
import os, re, sys

SKIPPED = ('build', '.git', '.venv', 'reference')
SUFFIXES = r'\.(?:c|h|cc|cu|cuh|py|sh|md|def|txt|in|map|build|supp|yml|yaml|svg|cpp)$'
# A path in backticks; a lone word counts only if it has a suffix of a source.
PATH = re.compile(r'(?:\.{1,2}/)*([\w.-]+(?:/[\w.-]+)*/?)')
MADE = ('perftest/gpu_limits_cuda', 'build/', 'build-', 'lib/')
# Names in CONTRIBUTING.md that are no path: of code, with an underscore.
CODE = re.compile(r'(?:enum |struct )?([a-zA-Z]\w*_\w*)(?:\(\))?')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
# In a comment, the name of a source, also with folders; not behind a placeholder, nor in <> or quotes.
NAMED = re.compile(r'(?<![\w/.<"*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|cuh|cu|cc|py|sh|md|def))\b')
FOREIGN = ('math.h', 'pmix.h')
# Folders of sources that READMEs list, but for headers that have the names of others.
LISTED = re.compile(r'(?:base|bootstrap|cpu|device|dialects|hang|heap|kernels|nic|proxy|runtime|tools|trace|wire)/'
                    r'(?!.*(?:include|shim|clang|mpp)/).*\.(?:c|h|cc|cu|cuh|def)$')
root, failed = sys.argv[1], 0


def complain(text):
    global failed
    failed += 1
    print(text)


def walk():
    for path, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(SKIPPED) or f == '.github']
        yield from (os.path.relpath(os.path.join(path, n), root) for n in folders + names)


def read(path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as file:
        return file.read()


def left_out(path, words):
    """Not a file of the tree, but something that the document may name."""
    return words.startswith(('./', *MADE)) or path in written or \
        re.search(r'(^|[/.-])[A-Z]{4,}($|[/.-])', path.replace('README.md', '')) is not None


present = set(walk())
# Headers that the build makes: from NAME.in, or by name.
made = {path.removesuffix('.in') for path in present if path.endswith('.in')}
made |= {os.path.join(os.path.dirname(path), name) for path in present if path.endswith('meson.build')
         for outputs in re.findall(r'output: (\[[^\]]*\]|\'[^\']*\')', read(path))
         for name in re.findall(r"'([^']*)'", outputs)}
ends = {'/'.join(path.split('/')[i:]) for path in present | made for i in range(path.count('/') + 1)}
texts = {path: read(path) for path in sorted(present)
         if path.endswith('.md') and not path.startswith('perftest/results/')}
sources = '\n'.join(read(path) for path in present if re.search(SUFFIXES, path) and not path.endswith('.md'))
written = {name for text in texts.values() for name in re.findall(r'^```\w+ file=(\S+)', text, re.M)} | {'stuck.cu'}
n_paths = n_names = 0
for document, text in texts.items():
    is_strict, is_fenced = document == 'CONTRIBUTING.md', False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('```'):
            is_fenced = not is_fenced
        for words in [] if is_fenced else re.findall(r'`([^`]+)`', line):
            path, code = PATH.fullmatch(words), CODE.fullmatch(words)
            if path and ('/' in words or re.search(r'\w' + SUFFIXES, words)):
                path = path[1].rstrip('/')
                n_paths += 1
                if path not in (present if is_strict else ends) and not left_out(path, words):
                    complain(f'{document}:{number}: there is no {words}')
            elif is_strict and code and not re.search(r'^[A-Z_]+$|_$|^[a-z]+_(processes|threads)$', words):
                n_names += 1
                if not re.search(rf'\b{code[1]}\b', sources):
                    complain(f'{document}:{number}: no source has {words}')
n_named = 0
for source in sorted(path for path in present if re.search(r'\.(?:c|h|hpp|cc|cu|cuh)$', path)):
    for path in NAMED.findall('\n'.join(COMMENT.findall(read(source)))):
        n_named += 1
        if path not in ends and path not in FOREIGN:
            complain(f'{source}: a comment names {path}, which there is not')
n_listed = 0
for source in sorted(filter(LISTED.match, present)):
    folders = source.split('/')[:-1]
    above = '\n'.join(texts.get('/'.join(folders[:i + 1]) + '/README.md', '') for i in range(len(folders)))
    stem = os.path.basename(source).split('.')[0]
    n_listed += 1
    if not re.search(rf'\b{stem}\b', above):
        complain(f'{source}: no README of its folder or above names {stem}')
print(f'{n_paths} paths, {n_names} names of code, {n_named} in comments, {n_listed} sources in READMEs')
sys.exit(1 if failed or n_paths < 500 or n_names < 20 or n_named < 400 or n_listed < 500 else 0)
