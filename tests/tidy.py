#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy, with the checks of .clang-tidy, on the C files of the library, its tools and its dialects that a
build compiles, or on those given that are among them. Prints what it finds; any finding is an error.

    tidy.py BUILD_DIR [FILE...]"""
import concurrent.futures, json, os, shutil, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEFT_OUT = ('tests/', 'examples/', 'perftest/', 'build')
# Of gcc, unknown to clang; a warning is the compilers' business.
OPTIONS = ['--quiet', '--extra-arg=-Wno-unknown-warning-option', '--extra-arg=-Wno-error']


def check(build, path):
    run = subprocess.run(['clang-tidy', '-p', build, *OPTIONS, path], cwd=ROOT, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return path, run.stdout if run.stdout.strip() or not run.returncode else run.stderr or 'clang-tidy failed'


def main():
    build, wanted = os.path.abspath(sys.argv[1]), [os.path.relpath(os.path.abspath(f), ROOT) for f in sys.argv[2:]]
    if not shutil.which('clang-tidy'):
        sys.exit('tidy: no clang-tidy here')
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        compiled = {os.path.relpath(os.path.join(row['directory'], row['file']), ROOT) for row in json.load(file)}
    files = sorted(path for path in compiled if path.endswith('.c') and not path.startswith(('..', *LEFT_OUT)) and
                   (not wanted or path in wanted))
    n_wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, text in pool.map(lambda path: check(build, path), files):
            if text.strip():
                n_wrong += 1
                print(text, flush=True)
    print(f'{len(files)} files, {n_wrong} with findings')
    sys.exit(1 if n_wrong or not files and not wanted else 0)


main()
