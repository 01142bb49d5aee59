#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed (torch.testing._internal.distributed.distributed_test, which its wheel has)
with the backend nccl and two ranks, beside the real library.

    torch_distributed_tests.py LIBRARY [--names REGEX] [--seconds 60] [--jobs 1] [--only ours|theirs] [--within S]

LIBRARY is a libnccl.so.2. Each test is a process of its own, with a limit; PyTorch needs the package expecttest for
them. Prints a line for each test: what it gave with PyTorch's own NCCL and with LIBRARY (passed, skipped, failed,
hung), and seconds. Then counts, and the tests that LIBRARY does not pass but NCCL does; the status is 1 if there are
any. For a machine with little time: --only, one of the two alone; --within, what would not end in so many seconds is
left out."""
import argparse, concurrent.futures, os, re, signal, socket, subprocess, sys, tempfile, time

RANKS = 2
LIBRARIES = ['theirs', 'ours']

if '--one' in sys.argv or '--list' in sys.argv:
    os.environ.setdefault('BACKEND', 'nccl')
    os.environ.setdefault('WORLD_SIZE', str(RANKS))
    import unittest
    import torch
    from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend

    class Test(TestDistBackend, DistributedTest._DistTestBase):
        """At the module's level: ranks are spawned, and import it."""

        def setUp(self):
            super().setUp()
            self._spawn_processes()
            torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()


def run_one(name):
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite([Test(name)]))
    print('RESULT ' + ('skipped' if result.skipped else 'passed' if result.wasSuccessful() else 'failed'))
    return not result.wasSuccessful()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def run_test(name, library, seconds):
    """What the test gave, seconds, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ['barrier', 'test_dir', 'init_dir']:
            os.mkdir(os.path.join(folder, part))
        env = dict(os.environ, BACKEND='nccl', WORLD_SIZE=str(RANKS), TEMP_DIR=folder, MASTER_ADDR='127.0.0.1',
                   MASTER_PORT=str(free_port()), INIT_METHOD='env://')
        if library:
            env['LD_PRELOAD'] = library
        begin = time.monotonic()
        with open(os.path.join(folder, 'output'), 'w+b') as output:
            process = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--one', name], env=env,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                process.wait(seconds)
                found = None
            except subprocess.TimeoutExpired:
                found = 'hung'
            try:
                os.killpg(process.pid, signal.SIGKILL) # and ranks that it has left
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0)
            text = output.read().decode(errors='replace')
        said = re.findall(r'^RESULT (\w+)$', text, re.M)
        return found or (said[-1] if said else 'failed'), time.monotonic() - begin, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('library')
    parser.add_argument('--names', default='.')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--only', choices=LIBRARIES)
    parser.add_argument('--within', type=float, default=float('inf'))
    a = parser.parse_args()
    if not os.path.exists(a.library):
        sys.exit(f'{a.library}: there is no such file')
    listed = subprocess.run([sys.executable, os.path.abspath(__file__), '--list'], stdout=subprocess.PIPE, text=True)
    names = [n for n in listed.stdout.split() if n.startswith('test_') and re.search(a.names, n)]
    if listed.returncode != 0 or not names:
        sys.exit('there are no such tests, or PyTorch or the package expecttest is missing')
    paths = {'theirs': None, 'ours': os.path.abspath(a.library)}
    chosen = [a.only] if a.only else LIBRARIES

    end = time.monotonic() + a.within

    def run(name):
        found = {}
        for which in chosen:
            left = end - time.monotonic()
            found[which] = run_test(name, paths[which], min(a.seconds, left)) if left > 5 else ('left out', 0, '')
            if found[which][0] == 'hung' and left < a.seconds: # it was cut short
                found[which] = ('left out', *found[which][1:])
        return found

    counts = {which: {} for which in chosen}
    worse = []
    print(f"{'test':72}" + ''.join(f'{which:>10} {"s":>6}' for which in chosen))
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, found in zip(names, pool.map(run, names)):
            print(f'{name:72}' + ''.join(f'{found[w][0]:>10} {found[w][1]:6.1f}' for w in chosen), flush=True)
            for w in chosen:
                counts[w][found[w][0]] = counts[w].get(found[w][0], 0) + 1
            is_good = {w: found[w][0] in ['passed', 'skipped', 'left out'] for w in chosen}
            if not is_good.get('ours', True) and is_good.get('theirs', True):
                worse.append(name)
                print('    ' + '\n    '.join(found['ours'][2].splitlines()[-12:]))
    for w in chosen:
        print(f'{w}: ' + ', '.join(f'{n} {what}' for what, n in sorted(counts[w].items())))
    print('not passed by the library alone: ' + (' '.join(worse) or 'none'))
    return bool(worse)


if __name__ == '__main__':
    if '--list' in sys.argv:
        print('\n'.join(unittest.TestLoader().getTestCaseNames(Test)))
    elif '--one' in sys.argv:
        sys.exit(run_one(sys.argv[sys.argv.index('--one') + 1]))
    else:
        sys.exit(main())
