#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves what tests/choose.py chooses, on a small project that ninja builds: for each changed file the tests that it
concerns, no more and no fewer.

    choose.py ROOT CC..."""
import json, os, subprocess, sys, tempfile

NINJA = '''
rule cc
  command = CC -fPIC -MD -MF $out.d -c -o $out $in
  depfile = $out.d
  deps = gcc
rule ar
  command = rm -f $out && ar rcs $out $in
rule ld
  command = CC -o $out $in
rule so
  command = CC -shared -o $out $in
build libl.a: ar a.o b.o
build libp.so: so p.o
build tool: ld tool.o
build t1: ld t1.o libl.a
build t2: ld t2.o libl.a
build t3: ld t3.o libp.so
'''
SOURCES = {
    'a.h': '#define A 1\n', 'a.c': '#include "a.h"\nint a(void) { return A; }\n', 'b.c': 'int b(void) { return 2; }\n',
    'own.h': '#define OWN 3\n', 'p.c': 'int p(void) { return 4; }\n',
    'tool.c': 'int main(void) { return 0; }\n',
    't1.c': 'int a(void);\nint main(void) { return a(); }\n',
    't2.c': '#include "own.h"\nint b(void);\nint main(void) { return b() + OWN; }\n',
    't3.c': 'int p(void);\nint main(void) { return p(); }\n',
    'script.py': '\n', 'README.md': '\n',
}
# name -> command, targets, suites
TESTS = {
    'calls_a': (['t1'], ['t1'], ['unit']),
    'calls_a_again': (['t1'], ['t1'], ['unit', 'full']),
    'calls_b': (['t2'], ['t2'], ['multi']),
    'unit_of_p': (['t3'], ['t3', 'libp.so'], ['unit']),
    'way_to_p': (['t3'], ['t3'], ['multi', 'smoke']),
    'other_way': (['tool', 't3'], ['tool', 't3'], ['far']),
    'script': (['SOURCE/script.py'], [], ['docs']),
}
CONCERNED = {
    'a.h': {'calls_a'}, 'a.c': {'calls_a'}, 'b.c': {'calls_b'}, 'own.h': {'calls_b'}, 't1.c': {'calls_a'},
    't3.c': {'unit_of_p', 'way_to_p', 'other_way'}, 'p.c': {'unit_of_p', 'way_to_p'}, 'tool.c': set(),
    'script.py': {'script'}, 'README.md': set(),
}
ROOT, CC = os.path.abspath(sys.argv[1]), ' '.join(sys.argv[2:])
failed = 0


def git(home, *words):
    subprocess.run(['git', '-C', home, '-c', 'user.name=n', '-c', 'user.email=e', *words], check=True,
                   stdout=subprocess.DEVNULL)


def choose(home, *words):
    done = subprocess.run([os.path.join(ROOT, 'tests/choose.py'), *words], cwd=home, stdout=subprocess.PIPE, text=True,
                          check=True)
    return set(done.stdout.split())


def expect(what, found, wanted):
    global failed
    if found != wanted:
        print(f'{what}: {sorted(found)}, wanted {sorted(wanted)}')
        failed += 1


with tempfile.TemporaryDirectory(prefix='gshmem-choose-') as home:
    build = os.path.join(home, 'build')
    os.makedirs(os.path.join(build, 'meson-info'))
    for name, text in {**SOURCES, '.gitignore': '/build/\n'}.items():
        with open(os.path.join(home, name), 'w', encoding='utf-8') as file:
            file.write(text)
    edges = ''.join(f'build {name[:-2]}.o: cc ../{name}\n' for name in SOURCES if name.endswith('.c'))
    with open(os.path.join(build, 'build.ninja'), 'w', encoding='utf-8') as file:
        file.write(NINJA.replace('CC', CC) + edges)
    targets = [{'id': name, 'name': name, 'filename': [os.path.join(build, name)],
                'installed': name in ('libp.so', 'tool')}
               for name in ('libl.a', 'libp.so', 'tool', 't1', 't2', 't3')]
    tests = [{'name': name, 'cmd': [word.replace('SOURCE', home) for word in row[0]], 'depends': row[1],
              'suite': ['project:' + suite for suite in row[2]]} for name, row in TESTS.items()]
    for what, table in {'targets': targets, 'tests': tests}.items():
        with open(os.path.join(build, 'meson-info', f'intro-{what}.json'), 'w', encoding='utf-8') as file:
            json.dump(table, file)
    git(home, 'init', '-q')
    git(home, 'add', '.')
    git(home, 'commit', '-q', '-m', 'all')

    expect('needs', choose(home, 'targets', 'build', 'calls_a', 'unit_of_p'), {'t1', 't3', 'libp.so'})
    expect('never built', choose(home, 'changed', 'build', 'HEAD'),
           {name for name, row in TESTS.items() if row[1] and 'full' not in row[2]})
    subprocess.run(['ninja', '-C', build], check=True, stdout=subprocess.DEVNULL)
    expect('no change', choose(home, 'changed', 'build', 'HEAD'), set())
    for name, wanted in CONCERNED.items():
        with open(os.path.join(home, name), 'a', encoding='utf-8') as file:
            file.write('\n')
        expect(name, choose(home, 'changed', 'build', 'HEAD'), wanted)
        git(home, 'checkout', '-q', name)
    git(home, 'checkout', '-q', '-b', 'side')
    with open(os.path.join(home, 'b.c'), 'a', encoding='utf-8') as file:
        file.write('\n')
    git(home, 'commit', '-q', '-a', '-m', 'b')
    expect('a commit', choose(home, 'changed', 'build', 'HEAD~'), {'calls_b'})
print(f'{len(CONCERNED) + 4} cases, {failed} failed')
sys.exit(1 if failed else 0)
