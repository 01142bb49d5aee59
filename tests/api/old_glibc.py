#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that packaging/glibc, with which -Dold_glibc=true makes libraries and tools for glibc 2.28 and the C++ library
of GCC 8, covers all that they use: of a build with it nothing is newer, and of another only what it names.

    old_glibc.py SOURCE_ROOT IS_OLD FILE...

FILE: what a build makes; those that are not ELF are passed over."""
import os
import re
import shutil
import subprocess
import sys

NEWEST = {'GLIBC': (2, 28), 'GLIBCXX': (3, 4, 24), 'CXXABI': (1, 3, 11), 'GCC': (7, 0, 0)}  # as manylinux_2_28 has it
SYMBOL = re.compile(r'\bUND (\S+)@(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)')
# By what old.h takes instead; it has other names for them.
REPLACED = {'stat64', 'fstat64', 'lstat64', 'pthread_cond_clockwait'}


def newer_symbols(path):
    """(name, version) of what the file needs and the old libraries lack."""
    text = subprocess.run(['readelf', '--dyn-syms', '--wide', path], check=True, stdout=subprocess.PIPE).stdout.decode()
    for name, family, version in SYMBOL.findall(text):
        if tuple(map(int, version.split('.'))) > NEWEST[family]:
            yield name, f'{family}_{version}'


def plain(name):
    """How the sources spell it: a mangled name's last word is enough."""
    words = re.findall(r'\d+([A-Za-z_]\w*?)(?=\d|E|v|$)', name) if name.startswith('_Z') else []
    return words[-1] if words else name


def main(root, is_old, *files):
    if shutil.which('readelf') is None:
        print('there is no readelf')
        return 77
    folder = os.path.join(root, 'packaging', 'glibc')
    known = ''
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            known += file.read()
    words = set(re.findall(r'\w+', known)) | REPLACED
    n_files = n_wrong = 0
    for path in files:
        if not os.path.isfile(path):
            continue
        with open(path, 'rb') as file:
            if file.read(4) != b'\x7fELF':
                continue
        n_files += 1
        for name, version in newer_symbols(path):
            if is_old == 'true' or plain(name) not in words:
                print(f'{path}: {name} of {version} is not in packaging/glibc')
                n_wrong += 1
    print(f'{n_files} files, {n_wrong} wrong')
    return 1 if n_wrong or not n_files else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
