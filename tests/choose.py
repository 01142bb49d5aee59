#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests of a configured build a change concerns, and what must be built for tests.

    choose.py targets BUILD NAME...       what ninja builds for these tests
    choose.py changed BUILD BASE          tests that a file changed since the commit BASE may make fail, one a line
    choose.py left-out BUILD README       proves that README lists each program and script that only the suite full
                                          runs, and that tests of an installation depend on all of it

A test is concerned if a changed file is a script or an input that its command names, or if one of its own programs is
made from that file. What a program is made from is known since it was last built, by the compiler's list of the
headers that each object read; one that was never built counts as changed. Of a static library a program has what it
links of it. What is installed is different, since almost every test uses it: a change in the library, in a plug-in or
a tool concerns those tests of the suites `unit` and `smoke` that use it. Tests of the suite `full` are for ./dev test
--all."""

import collections
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys


def load(build, what):
    with open(os.path.join(build, 'meson-info', f'intro-{what}.json'), encoding='utf-8') as file:
        return json.load(file)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Build:
    """Paths are relative to the build's folder, or absolute outside it, as build.ninja has them."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.tests = load(folder, 'tests')
        self.targets = {target['id']: target for target in load(folder, 'targets')}

    def files(self, target):
        return [os.path.relpath(path, self.folder) for path in target['filename']]

    def needs(self, test):
        """The targets that a test's command names, or that it depends on."""
        return [self.targets[one] for one in test['depends'] if one in self.targets]

    def read_edges(self):
        """self.inputs: output -> the files that its command reads; order alone is no reason to build it again."""
        with open(os.path.join(self.folder, 'build.ninja'), encoding='utf-8') as file:
            text = file.read().replace('$\n', '')
        self.inputs = collections.defaultdict(set)
        for line in re.findall(r'^build (.*)$', text, re.M):
            left, right = re.split(r'(?<!\$): ', line, maxsplit=1)
            right = right.split(' || ')[0]
            words = [re.sub(r'\$(.)', r'\1', word) for word in re.findall(r'(?:\$.|[^ $])+', right)]
            for out in re.findall(r'(?:\$.|[^ $])+', left):
                self.inputs[out] |= set(words[1:]) - {'|'}
        self.built = set()
        out = None
        for line in output_of('ninja', '-C', self.folder, '-t', 'deps').splitlines():
            if line.startswith('    '):
                self.inputs[out].add(line.strip())
            elif line:
                out = line.split(': #deps')[0]
                self.built.add(out)

    def made_from(self, output, stop):
        """Every file that output is made from, itself included; of what is in stop only the name."""
        found, to_do = set(), [output]
        while to_do:
            path = to_do.pop()
            if path in found:
                continue
            found.add(path)
            if path not in stop or path == output:
                to_do += self.inputs.get(path, ())
        return found

    def symbols(self, paths):
        """object -> (defined, wanted)"""
        table = {path: (set(), set()) for path in paths}
        if table:
            listing = subprocess.run(['nm', '-A', '-g', *table], check=True, capture_output=True, text=True,
                                     cwd=self.folder)
            for line in listing.stdout.splitlines():
                # path:value kind name
                path, rest = line.split(':', 1)
                kind, name = rest.split()[-2:]
                if kind not in 'wv': # nobody links an archive for these
                    table[path][kind == 'U'].add(name)
        return table


class Changes:
    def __init__(self, build, changed):
        self.build = build
        self.changed = {os.path.relpath(path, build.folder) for path in changed}
        self.absolute = {os.path.realpath(path) for path in changed}
        build.read_edges()
        self.product = {path for target in build.targets.values() if target['installed']
                        for path in build.files(target)}
        # A program that links an archive has those objects of it that it calls.
        self.archives = {path for path in list(build.inputs) if path.endswith('.a')}
        self.objects = {}
        self.answers = {}

    def objects_of(self, archive):
        if archive not in self.objects:
            there = [path for path in self.build.inputs[archive]
                     if path.endswith('.o') and os.path.exists(os.path.join(self.build.folder, path))]
            self.objects[archive] = self.build.symbols(there)
        return self.objects[archive]

    def linked(self, files):
        """Of the archives among files, the objects that the program links."""
        own = [path for path in files if path.endswith('.o')]
        archives = [self.objects_of(path) for path in files if path in self.archives]
        if not archives or not all(os.path.exists(os.path.join(self.build.folder, path)) for path in own):
            return {path for table in archives for path in table}
        defined = {symbol: path for table in archives for path, (names, _) in table.items() for symbol in names}
        wanted = {path: row[1] for table in archives for path, row in table.items()}
        mine = self.build.symbols(own).values()
        here = set().union(*(row[0] for row in mine))
        taken, to_do = set(), [symbol for row in mine for symbol in row[1]]
        while to_do:
            symbol = to_do.pop()
            path = defined.get(symbol)
            if path and path not in taken and symbol not in here:
                taken.add(path)
                to_do += wanted[path]
        return taken

    def is_changed(self, output):
        """Whether a program that is not installed is made from a changed file, or was never built."""
        if output not in self.answers:
            files = self.build.made_from(output, self.product | self.archives)
            for path in self.linked(files):
                files |= self.build.made_from(path, self.product)
            objects = [path for path in files if path.endswith('.o')]
            self.answers[output] = bool(files & self.changed) or any(
                path not in self.build.built and not path.endswith('_fatbin.o') for path in objects)
        return self.answers[output]

    def is_product_changed(self, output):
        """Whether anything installed that output is, or links, is made from a changed file."""
        for path in self.build.made_from(output, self.product | self.archives) & self.product:
            if ('product', path) not in self.answers:
                self.answers['product', path] = bool(self.build.made_from(path, set()) & self.changed)
            if self.answers['product', path]:
                return True
        return False

    def concerns(self, test):
        suites = {suite.split(':')[-1] for suite in test['suite']}
        if 'full' in suites:
            return False
        if any(os.path.realpath(os.path.join(self.build.folder, word)) in self.absolute for word in test['cmd']):
            return True
        outputs = [path for target in self.build.needs(test) for path in self.build.files(target)]
        if any(path not in self.product and self.is_changed(path) for path in outputs):
            return True
        return bool(suites & {'unit', 'smoke'}) and any(self.is_product_changed(path) for path in outputs)


def runs(build, test):
    """The test programs and scripts that a test runs, by name."""
    names = {target['name'] for target in build.needs(test) if not target['installed']}
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
    for word in test['cmd']:
        path = os.path.realpath(word)
        if path.startswith(here) and not path.startswith(build.folder) and re.search(r'\.(sh|py)$', path):
            names.add(os.path.basename(path))
    return names


def judge_left_out(build, readme):
    """Without the suite full every program and script is run, but those in the block that begins ```text left out."""
    kinds = collections.defaultdict(set)
    for test in build.tests:
        suites = {suite.split(':')[-1] for suite in test['suite']}
        if not any(suite.endswith('-cuda') for suite in suites):
            kinds['full' in suites] |= runs(build, test)
    with open(readme, encoding='utf-8') as file:
        block = re.search(r'^```text left out\n(.*?)^```', file.read(), re.M | re.S)
    patterns = re.findall(r'^ *(\S+)', block.group(1), re.M)
    left = kinds[True] - kinds[False]
    for name in sorted(left):
        if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            print(f'{name}: only the suite full runs it, and {readme} does not say so')
            yield name
    # A build without nvcc or clang-tidy has fewer.
    has_all = any(target['name'].endswith('_cuda') for target in build.targets.values()) and shutil.which('clang-tidy')
    for pattern in patterns:
        if has_all and not fnmatch.filter(left, pattern):
            print(f'{readme}: nothing that only the suite full runs is called {pattern}')
            yield pattern
    # What is installed is built for a test of it.
    installed = {name for name, target in build.targets.items() if target['installed']}
    for test in build.tests:
        if test['name'] in ('guide', 'installed', 'shmem_wrappers') and installed - set(test['depends']):
            print(f'{test["name"]}: does not depend on {sorted(installed - set(test["depends"]))}')
            yield test['name']
    print(f'{len(kinds[False])} programs and scripts run before a commit, {len(left)} others')


def changed_files(base):
    root = output_of('git', 'rev-parse', '--show-toplevel').strip()
    names = output_of('git', '-C', root, 'diff', '--name-only', '-z', base).split('\0')
    names += output_of('git', '-C', root, 'ls-files', '--others', '--exclude-standard', '-z').split('\0')
    return [os.path.join(root, name) for name in names if name]


def main():
    command, build = sys.argv[1], Build(sys.argv[2])
    words = sys.argv[3:]
    if command == 'targets':
        chosen = {path for test in build.tests if test['name'] in words
                  for target in build.needs(test) for path in build.files(target)}
        print('\n'.join(sorted(chosen)))
    elif command == 'changed':
        changes = Changes(build, changed_files(words[0]))
        print('\n'.join(sorted({test['name'] for test in build.tests if changes.concerns(test)})))
    elif command == 'left-out':
        sys.exit(1 if list(judge_left_out(build, words[0])) else 0)
    else:
        sys.exit(__doc__)


main()
