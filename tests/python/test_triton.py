# SPDX-License-Identifier: Apache-2.0
"""gshmem.triton in Triton's interpreter. Needs torch and triton, gigabytes: PYTHON_TEST_PACKAGES='torch triton'. The
interpreter of Triton before 3.9 also needs 'numpy<2.4'."""
import importlib.util
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not all(map(importlib.util.find_spec, ('torch', 'triton'))),
                                reason='torch or triton is not installed: nothing is proved of gshmem.triton')


def job(n, *command, **environment):
    result = subprocess.run(['gshmemrun', '-n', str(n), sys.executable, *command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=300,
                            env={**os.environ, 'TRITON_INTERPRET': '1', **environment})
    said = [line for line in result.stdout.splitlines(True) if not line.startswith('gshmemrun: ')]  # a slow start
    return result.returncode, ''.join(said)


def test_calls():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'triton_calls.py')
    status, text = job(3, program)
    assert status == 0 and text.splitlines() == ['right'] * 3, text


def test_compilation(tmp_path):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'triton_compile.py')
    status, text = job(1, program, TRITON_INTERPRET='0', TRITON_CACHE_DIR=str(tmp_path))  # nothing from before
    assert status == 0 and text.splitlines()[-1:] == ['right'], text


def test_all_reduce():
    status, text = job(2, '-m', 'gshmem.examples.triton')
    assert status == 0 and text.count('is right') == 2, text


def test_guide():
    with open(os.path.join(os.environ['PYTHON_TEST_SOURCES'], 'docs', 'guide', 'python.md'), encoding='utf-8') as page:
        program = page.read().partition('```python file=triton_ring.py\n')[2].partition('```')[0]
    with open('triton_ring.py', 'w', encoding='utf-8') as file:
        file.write(program)
    status, text = job(2, 'triton_ring.py')
    assert status == 0 and sorted(text.splitlines()) == ['PE 0 has 1.0', 'PE 1 has 0.0'], text


def test_far_pe():
    status, text = job(2, '-c', 'import gshmem, gshmem.triton\nwith gshmem.init():\n    gshmem.triton.world()\n',
                       GSHMEM_NODE_PES='1')
    assert status != 0 and 'is not near: kernels of Triton do not reach it' in text, text
