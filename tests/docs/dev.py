#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that `./dev test`, in each of its forms, passes only when each test that it selects has passed: not when meson
dies in the middle, ends with an error, has a result too few, or knows no test of a suite; that only --all runs the
suite full, and runs every test. Meson and the compilers are stand-ins, and nothing is installed. And that `./dev check`
runs each of its checks, all scripts that need the sources alone, and passes only when all have. The other commands run
what they promise.

    dev.py ROOT"""
import glob, os, re, shutil, subprocess, sys, tempfile

# Each suite has two tests, and whoever names no suite gets a third one, of the suite full. $CASE says what goes wrong,
# in the build $WHERE.
MESON = r'''#!/bin/bash
command=$1
shift
if [ "$command" = setup ]; then
    [ "$1" = --reconfigure ] || { mkdir -p "$1"; touch "$1/build.ninja"; }
    exit
fi
suites=() dir=$2 is_list= full=1
while [ $# -gt 0 ]; do
    case $1 in
    --list) is_list=1 ;;
    --suite) suites+=("$2") full=; shift ;;
    --no-suite) [ "$2" != full ] || full=; shift ;;
    esac
    shift
done
[ "$dir" = "$WHERE" ] || CASE=
rows=()
for suite in "${suites[@]:-unit}"; do
    [ "$CASE:$suite" = "no_suite:unit" ] || rows+=("gshmem:${suite}+other / ${suite}_1" "gshmem:$suite / ${suite}_2")
done
[ -z "$full" ] || rows+=("gshmem:unit+full / full_1")
if [ -n "$is_list" ]; then
    [ ${#rows[@]} -gt 0 ] || { echo 'No suitable tests defined.'; exit 1; }
    [ "$dir" != build-fuzz ] || rows=("${rows[@]##* / }") # its only suite is not shown
    printf '%s\n' "${rows[@]}"
    exit
fi
mkdir -p "$dir/meson-logs"
status=0 i=0
for row in "${rows[@]}"; do
    i=$((i + 1)) result=OK
    [ "$CASE:$i" = few:2 ] && continue
    [ "$CASE:$i" = fails:2 ] && result=FAIL status=1
    log=$dir/meson-logs/testlog.json line="{\"name\": \"$row\", \"result\": \"$result\", \"duration\": 0.1}"
    [ "$CASE:$i" = cut:2 ] && { printf '%s' "${line%?????}" >>"$log"; kill -9 $$; }
    echo " $i/${#rows[@]} $row $result 0.1s"
    echo "$line" >>"$log"
    [ "$CASE:$i" = dies:1 ] && kill -9 $$
done
[ "$CASE" = status ] && status=3
exit $status
'''
SILENT = ['c++', 'clang', 'clang++', 'clang-format', 'clang-tidy', 'git', 'ip', 'mpicc', 'mpirun', 'ninja',
          'nvidia-smi', 'pkg-config', 'qemu-system-x86_64']
# Nothing is installed.
INSTALL = '''#!/bin/sh
echo "installs: $*"
exit 1
'''
# In place of what ./dev check runs.
CHECK = '''#!/bin/sh
echo "ran $0"
[ "./$0" != "$CASE" ]
'''
# In place of choose.py.
CHOOSE = '''#!/bin/sh
[ "$1" != targets ] || echo "made_for_$3"
[ "$1:$CASE" != changed:concerned ] || echo unit_1
[ "$CASE" != unknown_needs ]
'''

# What the other commands run.
PROGRAMS = {'tests/tidy.py': 'echo tidied "$@"', 'tests/fuzz/run.py': 'echo fuzzed "$@"',
            'tests/rxe/run.py': 'echo over verbs "$@"; [ "$2" != amo_rc ]',
            'build/gshmem-info': 'echo 0', 'build/gshmemrun': 'echo ran "$@"'}

# case -> (build in which it happens, words of ./dev, its status, words that it says)
CASES = {
    'right': ('', ['test'], 0, ['10 passed, 0 failed', 'tests of the suite full']),
    'all': ('', ['test', '--all'], 0, ['27 passed, 0 failed']),
    'cuda': ('', ['test', '--cuda'], 0, ['27 passed, 0 failed']),
    'fails': ('build', ['test'], 1, [', 1 failed', 'FAIL', '== unit_2 of build: FAIL']),
    'dies': ('build-asan', ['test'], 1, ['tests of build-asan have a result', 'status 137']),
    'cut': ('build-tsan', ['test', '--all'], 1, ['2 of the 4 tests of build-tsan have a result', ', 3 failed']),
    'few': ('build-clang', ['test', '--all'], 1, ['1 of the 2 tests of build-clang have a result', ', 1 failed']),
    'status': ('build-fuzz', ['test', '--all'], 1,
               ['every test of build-fuzz passed, but meson ended with status 3', ', 1 failed']),
    'no_suite': ('build-tsan', ['test', '--all'], 1, ['no test is in the suite unit']),
    'named': ('', ['test', 'unit_1'], 0, ['3 passed, 0 failed']),
    'unknown_needs': ('', ['test', 'unit_1'], 1, ['what tests need is not known']),
    'concerned': ('build', ['test', '--changed'], 0,
                  ['concerned by what changed since', ': unit_1', '3 passed, 0 failed']),
    'unconcerned': ('', ['test', '--changed', 'HEAD'], 0, ['no test is concerned by what changed since HEAD']),
    './tests/docs/links.py': ('', ['test', '--changed'], 1, ['1 failed: links', 'no test is concerned']),
    'rxe': ('', ['test', '--rxe'], 0, ['building build\n', 'over verbs build\n']),
    'rxe_fails': ('', ['test', '--rxe', 'amo_rc'], 1, ['over verbs build amo_rc\n']),
    'no_form': ('', ['test', '--some'], 2, ['usage: ./dev']),
    'tidy': ('', ['tidy', 'base/log.c'], 0, ['building build\n', 'tidied build base/log.c\n']),
    'fuzz': ('', ['fuzz', 'ring', '1'], 0, ['building build-fuzz\n', 'fuzzed build-fuzz/tests/fuzz/fuzz_ring ']),
    'demo': ('', ['demo'], 0, ['building build\n', 'ran -n 4 build/examples/jacobi_cpu\n']),
    'unknown': ('', ['test', 'unit'], 1, ["no test named 'unit'"]),
}
with open(os.path.join(sys.argv[1], 'dev'), encoding='utf-8') as file:
    CHECKS = re.findall(r'tests/\S+\.(?:py|sh)', file.read().partition('# ---- check')[2])
for path in CHECKS:
    CASES.setdefault('./' + path, ('', ['check'], 1, [', 1 failed: ', 'ran']))
CASES['checks'] = ('', ['check'], 0, [' checks, 0 failed'])


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    os.chmod(path, 0o755)


def run(root, case, where, words):
    with tempfile.TemporaryDirectory(prefix='gshmem-dev-') as home:
        shutil.copy(os.path.join(root, 'dev'), home)
        os.mkdir(os.path.join(home, 'tests'))
        shutil.copy(os.path.join(root, 'tests/failures.py'), os.path.join(home, 'tests'))
        for path in CHECKS:
            write(os.path.join(home, path), CHECK)
        for path in ['.ci/run', *(f'include/gshmem/{name}' for name in ('version.h.in', 'flat.py', 'list_calls.py'))]:
            write(os.path.join(home, path), '')
        for path, line in PROGRAMS.items():
            write(os.path.join(home, path), f'#!/bin/sh\n{line}\n')
        write(os.path.join(home, 'tests/fuzz/corpus/ring.txt'), '')
        write(os.path.join(home, 'tests/choose.py'), CHOOSE)
        tools = os.path.join(home, 'tools')
        for name in ['meson', *SILENT]:
            write(os.path.join(tools, name), MESON if name == 'meson' else '#!/bin/sh\nexit 0\n')
        for name in ['apt-get', 'sudo']:
            write(os.path.join(tools, name), INSTALL)
        environment = {**os.environ, 'PATH': tools + ':' + os.environ['PATH'], 'CASE': case, 'WHERE': where,
                       'CXX': 'c++'}
        return subprocess.run([os.path.join(home, 'dev'), *words], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=300)


failed = 0
for path in glob.glob(os.path.join(sys.argv[1], 'tests/*/*.py')):
    with open(path, encoding='utf-8') as file:
        takes_root = re.search(rf'\b{os.path.basename(path)} (SOURCE_)?ROOT( \[[^\n]*)?("""|\n)', file.read())
    if takes_root and os.path.relpath(path, sys.argv[1]) not in CHECKS:
        print(f'{path}: needs the sources alone, but ./dev check does not run it')
        failed += 1
for name, (where, words, status, texts) in CASES.items():
    done = run(os.path.abspath(sys.argv[1]), name, where, words)
    if done.returncode != status or not all(text in done.stdout for text in texts):
        print(f'{name}: status {done.returncode}, wanted {status} and {texts}:\n{done.stdout}')
        failed += 1
print(f'{len(CASES)} cases, {failed} failed')
sys.exit(1 if failed else 0)
