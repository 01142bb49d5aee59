#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes in packaging/ are well-formed, and have the version of meson.build; so has the changelog, which names
it as the one that comes or as one that came. Each recipe sets every option that a build would else find by itself.
Every library, plug-in and tool is in a package, and packaging/README.md names each package. docs/versions.md has the
sonames of the dialects and the number of the handshake.

    packages.py ROOT"""
import os, re, sys

root, failed = sys.argv[1], 0


def complain(text):
    global failed
    failed += 1
    print(text)


def read(path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


version = re.search(r"^project\(.*version: '([^']+)'", read('meson.build'), re.M)[1]
for path, pattern in (('packaging/debian/changelog', r'\Agshmem \((.*)-\d+\)'),
                      ('packaging/conda/meta.yaml', r'^  version: "(.*)"$'),
                      ('packaging/spack/packages/gshmem/package.py', r'^    version\("([\d.]+)"'),
                      ('CHANGELOG.md', r'^## (?:\[Unreleased\], to be |\[)' + re.escape(version) + '()')):
    found = re.search(pattern, read(path), re.M)
    if not found:
        complain(f'{path}: no version like {pattern}')
    elif found[1] and found[1] != version:
        complain(f'{path}: version {found[1]}; meson.build has {version}')
compile(read('packaging/spack/packages/gshmem/package.py'), 'package.py', 'exec')
# What a build finds by itself each recipe says, so that a package is the same wherever it is built.
for option in re.findall(r"^option\('(\w+)', type: 'feature'", read('meson_options.txt'), re.M):
    for path, said in (('packaging/debian/rules', f'-D{option}='), ('packaging/conda/meta.yaml', f'-D{option}='),
                       ('packaging/spack/packages/gshmem/package.py', f'"{option}"')):
        if said not in read(path):
            complain(f'{path}: says nothing of the option {option}')
installed = {path for path in os.listdir(os.path.join(root, 'packaging/debian')) if path.endswith('.install')}
packages = set(re.findall(r'^Package: (\S+)', read('packaging/debian/control'), re.M))
if {path.removesuffix('.install') for path in installed} != packages:
    complain(f'packaging/debian: {sorted(installed)} are not the packages of control, {sorted(packages)}')
for package in sorted(packages):
    if f'| `{package}` |' not in read('packaging/README.md'):
        complain(f'packaging/README.md: its table has no package {package}')
# The sources' tools and libraries all go into some package.
names = ' '.join(read('packaging/debian/' + path) for path in installed)
dialects = [f'dialects/{name}/meson.build' for name in sorted(os.listdir(os.path.join(root, 'dialects')))
            if os.path.exists(os.path.join(root, 'dialects', name, 'meson.build'))]
libraries = [(path, name) for path in ['meson.build', *dialects]
             for name in re.findall(r"shared_library\('(\w+)'", read(path))]
for path, library in libraries:
    if f'lib{library}.so' not in names:
        complain(f'packaging/debian: no package has lib{library}.so')
    if path in dialects and library.startswith('gshmem_') and f'`lib{library}.so.0`' not in read('docs/versions.md'):
        complain(f'docs/versions.md: lacks lib{library}.so.0')
for tool in re.findall(r"executable\('(gshmem[\w-]*)'", read('meson.build')):
    if f'usr/bin/{tool}\n' not in read('packaging/debian/gshmem-tools.install'):
        complain(f'packaging/debian: no package has {tool}')
number = re.search(r'"gshmhs\\0\\(\d+)"', read('bootstrap/uid_wire.c'))
if not number or f'has a number of its own, now {number[1]} (`bootstrap/uid_wire.c`)' not in read('docs/versions.md'):
    complain(f'docs/versions.md: the handshake has the number {number and number[1]}')
try:
    import yaml
except ImportError:
    yaml = None
if yaml:
    for path in ('.pre-commit-config.yaml', '.github/workflows/ci.yml', 'packaging/spack/repo.yaml'):
        yaml.safe_load(read(path))
    # conda fills in {{ }} before it reads the file
    yaml.safe_load(re.sub(r'\{\{.*?\}\}', 'x', read('packaging/conda/meta.yaml')))
print(f'version {version}, {len(packages)} packages')
sys.exit(1 if failed else 0)
