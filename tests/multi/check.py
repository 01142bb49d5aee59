#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gshmem-info --check on several PEs: every pair and call is in the tables and the picture; a wrong byte is named with
pair, call and offset, and fails; a pair that is slow is marked; a setting that differs is named; a picture that cannot
be written fails, and is no wrong pair. What gshmem-info is not to be told is named.

    check.py GSHMEMRUN GSHMEM_INFO SHIM"""
import os, re, subprocess, sys, tempfile
import xml.dom.minidom

launcher, info, shim = sys.argv[1:4]
failed = 0


def check(is_so, what):
    global failed
    if not is_so:
        failed += 1
        print('failed:', what)


def run(status, *command, **variables):
    return call(status, launcher, *command, **variables)


def call(status, *command, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith('GSHMEM_')}
    environment.update(GSHMEM_DEVICE='cpu', GSHMEM_CONFIG='none')
    environment.update(variables)
    done = subprocess.run(command, env=environment, timeout=300, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    check(done.returncode == status, f'{command} {variables}: status {done.returncode}: {done.stdout}')
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    picture = os.path.join(folder, 'pairs.svg')
    for options, route in ([], 'memory'), (['--threads'], 'thread'), (['--threads', 'far'], 'loop'):
        far = {'GSHMEM_NODE_PES': '1'} if 'far' in options else {}
        out = run(0, '-n', '3', *options[:1], info, '--check', '--svg', picture, **far)
        check(f'route {route}: 6 pairs' in out, f'{route}: {out}')
        check(re.search(r'\n0 differences, \d+ slow pairs?, 0 wrong pairs\n', out), f'{route}: {out}')
        for name in 'put, 8 B', 'put, large', 'get, 8 B', 'get, large', 'atomic', 'signal':
            rows = re.search(rf'\n{name}, [^\n]*\n[^\n]*\n((?:  +\d [^\n]*\n){{3}})', out)
            check(rows and rows[1].count(' - ') == 3, f'{route}: the matrix of {name}: {out}')
        cells = [cell for cell in xml.dom.minidom.parse(picture).getElementsByTagName('title')]
        check(len(cells) == 6 * 6, f'{route}: {len(cells)} cells in the picture')

out = run(0, '-n', '1', info, '--check')
check('0 wrong pairs' in out, out)
out = run(1, '-n', '1', info, '--check', '--svg', '/no/such/folder/pairs.svg')
check('cannot write /no/such/folder/pairs.svg: No such file' in out and 'pairs\n' not in out, out)

for words, says in (['--jbo'], 'unknown option --jbo'), ([''], 'unknown option'), \
                   (['--gpus', '--nics'], 'nothing may follow --gpus'), \
                   (['--check', '--svg'], 'only --svg FILE may follow --check'):
    out = call(2, info, *words)
    check(f'gshmem-info: {says}' in out and 'usage' not in out, f'{words}: {out}')
check('usage: gshmem-info' in call(0, info, '--help'), 'no help')
out = call(3, info, '--check-nic', GSHMEM_NIC='mlx5_none')
check('gshmem-info: ' in out and 'there is no ' in out and 'nothing was tried' in out and 'WRONG' not in out, out)

# All at once: two pairs with a wrong byte, a slow one, and a setting of one PE alone.
out = run(1, '-n', '3', 'sh', '-c', f'GSHMEM_DEBUG_SUBSYS=heap; [ $GSHMEM_RANK != 1 ] || export GSHMEM_DEBUG_SUBSYS; '
                                    f'LD_PRELOAD={shim} exec {info} --check',
          SHIM_WRONG='1-2', SHIM_GET='2-0', SHIM_SLOW='0-1')
check(re.search(r'WRONG: PE 1 -> PE 2 \(memory\): put, large: the byte at offset 4711 is 0x..,', out), out)
check(re.search(r'WRONG: PE 2 -> PE 0 \(memory\): get, large: the byte at offset 4711 is 0x..,', out), out)
check(out.count('WRONG') == 2 and ' 2 wrong pairs' in out, out)
check(re.search(r'slow: PE 0 -> PE 1 \(memory\):.* put, large', out), out)
check('what to do (memory):' in out, out)
check('GSHMEM_DEBUG_SUBSYS differs' in out, out)
check('PE 1: GSHMEM_DEBUG_SUBSYS=heap' in out and 'PE 0 2: not set' in out, out)
check('\n1 difference, ' in out, out)
print('passed' if failed == 0 else f'{failed} failed')
sys.exit(failed != 0)
