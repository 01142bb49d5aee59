#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job says where: of several PEs one names a variable that does not exist, and a wrong line of the file of
settings; that file's settings count; with GSHMEM_LOG_FORMAT=json each line is an object with the documented members,
and each PE writes a file of its own, whether PEs are processes or threads.

    messages.py GSHMEMRUN PROGRAM"""
import json, os, re, subprocess, sys, tempfile

launcher, program = sys.argv[1:3]
MEMBERS = ['time', 'host', 'pid', 'tid', 'pe', 'level', 'subsystem', 'message']
failed = 0


def check(is_so, what):
    global failed
    if not is_so:
        failed += 1
        print('failed:', what)


def run(*options, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith('GSHMEM_')}
    environment.update(GSHMEM_DEVICE='cpu', GSHMEM_CONFIG='none')
    environment.update(variables)
    done = subprocess.run([launcher, '-n', '3', *options, program], env=environment, timeout=300, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f'{options} {variables}: status {done.returncode}: {done.stdout}')
    return done.stdout


def check_once(text, pattern):
    n = len(re.findall(pattern, text))
    check(n == 1, f'{pattern}: {n} times in: {text}')


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'gshmem.conf')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('# a file of settings\nGSHMEM_LOG_FORMAT = json  # for a machine\nGSHMEM_DEBUG = info\n'
                   'GSHMEM_HEAP_RAGNE = 1G\nwhat is this\n')
    for options in [], ['--threads']:
        out = run(*options, GSHMEM_WAIT_TIMOUT='1')
        check_once(out, r'GSHMEM_WAIT_TIMOUT is not a variable of gshmem and is ignored; did you mean '
                        r'GSHMEM_WAIT_TIMEOUT\?')
        check('"pe"' not in out, f'JSON that nobody asked for: {out}')

        out = run(*options, GSHMEM_LOG_FILE='/dev/full', GSHMEM_DEBUG='info')
        check('started by' in out, f'lines that their file cannot take: {out}')

        out = run(*options, GSHMEM_CONFIG=path, GSHMEM_LOG_FILE=os.path.join(folder, '%h.%p.%r'))
        check(path not in out, f'a file for each PE: {out}')
        logs, all_lines = {}, []
        for name in os.listdir(folder):
            if name == 'gshmem.conf':
                continue
            pid, pe = map(int, name.split('.')[-2:])
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                lines = [json.loads(line) for line in file]
            for line in lines:
                check(list(line) == MEMBERS, f'members: {line}')
                is_its = line['pe'] == pe and line['pid'] == pid and name.startswith(line['host'] + '.')
                check(is_its, f'{name}: {line}')
                check(line['level'] in ('warning', 'info'), f'level: {line}')
                check(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z', line['time']), f'time: {line}')
            logs[pe] = lines
            all_lines += lines
            os.unlink(os.path.join(folder, name))
        check(sorted(logs) == [0, 1, 2], f'files of PEs {sorted(logs)}')
        text = '\n'.join(line['message'] for line in all_lines)
        check_once(text, re.escape(f'{path}:4: GSHMEM_HEAP_RAGNE is not a variable of gshmem and is ignored; did you '
                                   'mean GSHMEM_HEAP_RANGE?'))
        check_once(text, re.escape(f'{path}:5: this line is not NAME = VALUE, and is ignored'))

    out = run(GSHMEM_CONFIG=path, GSHMEM_LOG_FORMAT='text', GSHMEM_DEBUG='warn')
    check_once(out, re.escape(f'gshmem: PE 0: warning: {path}:5: this line'))
    check('info' not in out, f'the environment takes precedence: {out}')
print('passed' if failed == 0 else f'{failed} failed')
sys.exit(failed != 0)
