# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes: the examples, an id of one's own, a PE that fails, Ctrl-C, and the guide's programs."""
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import gshmem

LIMIT = 300  # seconds: kernels are compiled, on a machine that others use


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
                          **options)


def said(result):
    """What the PEs have said, without how far gshmemrun is with the start on a busy machine."""
    return [line for line in result.stdout.splitlines() if not line.startswith('gshmemrun: ')]


def job(n, *command):
    return run(['gshmemrun', '-n', str(n), sys.executable, *command])


def test_examples():
    for name, n in (('ring', 4), ('halo', 3), ('kernels', 2), ('training', 4), ('experts', 3)):
        result = job(n, '-m', f'gshmem.examples.{name}')
        assert result.returncode == 0, result.stdout
        assert len(said(result)) == n, result.stdout
    assert run([sys.executable, '-m', 'gshmem.examples.threads']).returncode == 0


def test_parts_of_the_package():
    program = ('import gshmem\nassert gshmem.device.functions()\n'
               'try: gshmem.torch\nexcept AttributeError as e: print(e)\n')
    result = run([sys.executable, '-c', program])
    assert result.returncode == 0 and result.stdout.rstrip().endswith(': import gshmem.torch first'), result.stdout


def test_own_id():
    program = ('import sys, gshmem\n'
               'with gshmem.init(uid=bytes.fromhex(sys.argv[1]), rank=int(sys.argv[2]), n_pes=2):\n'
               '    x = gshmem.zeros(1, "int64"); x[0] = gshmem.my_pe() + 1\n'
               '    gshmem.reduce(x, x); print(x[0])\n')
    first = ('import sys, subprocess, gshmem\nuid = gshmem.get_unique_id()\nprogram = sys.argv[1]\n'
             'other = subprocess.Popen([sys.executable, "-c", program, uid.hex(), "1"], '
             'stdout=subprocess.PIPE, text=True)\n'
             'sys.argv = ["", uid.hex(), "0"]\nexec(program)\nprint(other.communicate()[0])\n'
             'sys.exit(other.returncode)\n')
    result = run([sys.executable, '-c', first, program])
    assert result.returncode == 0 and result.stdout.split() == ['3', '3'], result.stdout


@pytest.mark.skipif(shutil.which('mpirun') is None, reason='mpirun is not installed: nothing is proved of it')
def test_mpirun():
    mpirun = os.path.join(os.environ['PYTHON_TEST_SOURCES'], 'tests', 'mpirun.sh')
    result = run([mpirun, '-n', '2', sys.executable, '-m', 'gshmem.examples.ring'],
                 env={**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'})
    assert result.returncode == 0, result.stdout
    for line in ('PE 0 of 2 has got [1, 1, 1, 1]', 'PE 1 of 2 has got [0, 0, 0, 0]'):
        assert line in result.stdout, result.stdout


def has_srun():
    """Whether srun starts processes here, and has PMIx."""
    try:
        kinds = subprocess.run(['srun', '--mpi=list'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
        return b'pmix' in kinds.stdout and subprocess.run(['srun', '-n', '1', 'true'], timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def test_srun():
    if not has_srun():
        pytest.skip('srun is not installed, has no PMIx, or starts nothing: nothing is proved of it')
    result = run(['srun', '--mpi=pmix', '-n', '2', sys.executable, '-m', 'gshmem.examples.ring'])
    assert result.returncode == 0 and 'PE 1 of 2 has got [0, 0, 0, 0]' in result.stdout, result.stdout


def test_srun_without_pmix():
    """What srun tells a process that has no PMIx server, by srun's own way and by PMI-2: no job of one PE begins."""
    for more in ({}, {'PMI_RANK': '1', 'PMI_SIZE': '2'}):
        result = run([sys.executable, '-c', 'import gshmem\ntry: gshmem.init()\nexcept gshmem.Error as e: print(e)'],
                     env={**os.environ, 'SLURM_PROCID': '1', 'SLURM_STEP_NUM_TASKS': '2', 'SLURM_NTASKS': '2', **more})
        assert result.returncode == 0 and 'use srun --mpi=pmix' in result.stdout, result.stdout


def test_exception_ends_the_job():
    result = job(2, '-c', 'import gshmem\nwith gshmem.init():\n'
                          '    if gshmem.my_pe() == 1: raise ValueError("on purpose")\n    gshmem.barrier()\n')
    assert result.returncode != 0 and 'ValueError: on purpose' in result.stdout, result.stdout


def test_exit_ends_the_job_with_its_status():
    result = job(2, '-c', 'import sys, gshmem\nwith gshmem.init():\n'
                          '    if gshmem.my_pe() == 1: sys.exit(3)\n    gshmem.barrier()\n')
    assert result.returncode == 3 and 'Traceback' not in result.stdout, result.stdout
    for given, status, text in ('"no input"', 1, 'no input\n'), ('', 0, ''):
        result = run([sys.executable, '-c', f'import sys, gshmem\nwith gshmem.init(): sys.exit({given})'])
        assert (result.returncode, result.stdout) == (status, text), result.stdout


FREES = '''
import os, sys, gshmem
gshmem.init()
me, a, b = gshmem.my_pe(), gshmem.zeros(4), gshmem.zeros(4)
if sys.argv[1] == 'other' and me == 0:
    gshmem.free(b)
elif me == 1:
    gshmem.free(a)
elif sys.argv[1] == 'finalize':
    gshmem.finalize()
'''


@pytest.mark.parametrize('what, words', [
    ('other', 'Mismatch: the PEs make .* PE 0 calls gshmem.free of array 2, 16 bytes, PE 1 calls .* of array 1'),
    ('finalize', 'Mismatch: the PEs make .* PE 0 calls gshmem.finalize, PE 1 calls gshmem.free of array 1, 16'),
    ('exit', 'PE 0: error: exited without gshmem_finalize')])
def test_a_free_of_one_pe_alone(what, words):
    """No time limit ends it: GSHMEM_WAIT_TIMEOUT=0."""
    result = run(['gshmemrun', '-n', '2', sys.executable, '-c', FREES, what],
                 env={**os.environ, 'GSHMEM_WAIT_TIMEOUT': '0'})
    assert result.returncode != 0 and re.search(words, result.stdout), result.stdout


LATE = '''
import sys, gshmem
with gshmem.init():
    a = gshmem.zeros(4)
    if gshmem.my_pe() == 0:  # which has gshmemrun's input
        sys.stdin.readline()
    gshmem.free(a)
'''


def test_a_long_wait_says_who_has_not_come():
    with subprocess.Popen(['gshmemrun', '-n', '2', sys.executable, '-c', LATE], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, 'GSHMEM_WAIT_NOTICE': '0.1'}) as p:
        line = p.stdout.readline()
        while line and 'PE 1: warning: gshmem.free has waited' not in line:
            line = p.stdout.readline()
        text = line + p.communicate('now\n', timeout=LIMIT)[0]
    assert ' s, and waits on; these have not come: PE 0 (' in line and p.returncode == 0, text


WAITS = {
    'interrupted in gshmem.signal_wait': 'import gshmem\nwith gshmem.init():\n    s = gshmem.zeros(1, "uint64")\n'
                                         '    print("waits", flush=True)\n    gshmem.signal_wait(s, "==", 1)\n',
    'KeyboardInterrupt': 'import gshmem\ndef wait():\n    s = gshmem.zeros(1, "uint64")\n'
                         '    if gshmem.my_pe() == 0: print("waits", flush=True)\n    gshmem.signal_wait(s, "==", 1)\n'
                         'gshmem.run_threads(2, wait)\n',
    'interrupted in gshmem.mscclpp': 'import gshmem.mscclpp\nuid = gshmem.mscclpp.create_unique_id()\n'
                                     'print("waits", flush=True)\n'
                                     'gshmem.mscclpp.CommGroup(rank=0, size=2, unique_id=uid)\n'}


@pytest.mark.parametrize('words', WAITS)
def test_interrupt_in_a_wait(words):
    # Whatever they inherit: shells ignore the signal in the background.
    first = 'import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n'
    p = subprocess.Popen([sys.executable, '-c', first + WAITS[words]], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    try:
        assert p.stdout.readline() == 'waits\n'
        p.send_signal(signal.SIGINT)
        text = p.communicate(timeout=LIMIT)[0]
    finally:
        p.kill()
    assert 'KeyboardInterrupt' in text or words in text, text
    assert p.returncode != 0


FORKS = r'''
import os, signal
import gshmem
with gshmem.init():
    a, me = gshmem.zeros(1), gshmem.my_pe()
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (gshmem.barrier, gshmem.my_pe, gshmem.init, lambda: gshmem.put(a, a, 0)):
            try:
                call()
            except gshmem.Error as e:
                refused += f'this process was forked by PE {me}, and is no PE' in str(e)
        is_own = signal.set_wakeup_fd(-1) == -1  # else Ctrl-C in the child would be the parent's
        os._exit(refused if is_own and not gshmem.is_initialized() else 9)
    status = os.waitpid(child, 0)[1]
    gshmem.barrier()
    assert os.WEXITSTATUS(status) == 4, status
'''


def test_a_forked_process_is_no_pe():
    result = job(2, '-c', FORKS)
    assert result.returncode == 0, result.stdout


CMAKE = '''
cmake_minimum_required(VERSION 3.20)
project(version LANGUAGES C CXX)
find_package(gshmem REQUIRED)
add_executable(version version.c)
target_link_libraries(version gshmem::gshmem)
'''


@pytest.mark.skipif(shutil.which('cmake') is None, reason='cmake is not installed: nothing is proved of its files')
def test_cmake(tmp_path):
    (tmp_path / 'CMakeLists.txt').write_text(CMAKE)
    (tmp_path / 'version.c').write_text('#include <gshmem.h>\nint main(void) { gshmem_init(); gshmem_finalize(); }\n')
    made = run(['cmake', '-S', str(tmp_path), '-B', str(tmp_path), f'-DCMAKE_PREFIX_PATH={gshmem.get_prefix()}'])
    assert made.returncode == 0, made.stdout
    made = run(['cmake', '--build', str(tmp_path)])
    assert made.returncode == 0, made.stdout
    assert run(['gshmemrun', '-n', '2', str(tmp_path / 'version')]).returncode == 0


def test_headers_and_tools():
    assert os.path.exists(os.path.join(gshmem.get_include(), 'gshmem', 'gshmem.h'))
    with open('version.c', 'w') as file:
        file.write('#include <gshmem.h>\n#include <stdio.h>\nint main(void) { gshmem_init(); printf("%d\\n", '
                   'gshmem_n_pes()); gshmem_finalize(); return 0; }\n')
    folder, = [d for d, _, names in os.walk(gshmem.get_prefix()) if 'gshmem.pc' in names]
    flags = run(['pkg-config', '--cflags', '--libs', 'gshmem'], env={**os.environ, 'PKG_CONFIG_PATH': folder})
    built = run(['cc', '-o', 'version', 'version.c', *flags.stdout.split()])
    assert built.returncode == 0, built.stdout
    assert said(run(['gshmemrun', '-n', '2', './version'])) == ['2', '2']
    assert gshmem.__version__ in run(['gshmem-info', '--version']).stdout
    assert run(['gshmemrun', '-n', '2', '--trace', 'version.pftrace', './version']).returncode == 0
    assert ' of 2 PEs in ' in run(['gshmem-trace', 'version.pftrace']).stdout


def test_guide():
    """Each ```python file=NAME of the page is a program, and the ```sh block after it runs it."""
    with open(os.path.join(os.environ['PYTHON_TEST_SOURCES'], 'docs', 'guide', 'python.md'), encoding='utf-8') as page:
        blocks = re.findall(r'^```(\w+) ?(.*?)\n(.*?)^```', page.read(), re.M | re.S)
    n = 0
    for kind, tags, text in blocks:
        if kind == 'python' and tags.startswith('file='):
            with open(tags[5:], 'w', encoding='utf-8') as file:
                file.write(text)
        elif kind == 'sh' and 'untested' not in tags:
            result = run(['bash', '-ec', text])
            assert result.returncode == 0, text + result.stdout
            n += 1
        elif kind == 'text':
            for line in text.splitlines():
                assert line in result.stdout, f'{line!r} is not in:\n{result.stdout}'
    assert n >= 3
