# SPDX-License-Identifier: Apache-2.0
"""Programs that mypy checks strictly may use the package: names are exported and have types. Needs mypy:
PYTHON_TEST_PACKAGES=mypy. And each exported name exists, without it."""
import importlib.util
import subprocess
import sys

import pytest

import gshmem

PROGRAM = '''
import numpy
import gshmem
import gshmem.device

def main(n: int) -> int:
    return n + gshmem.my_pe()

with gshmem.init() as job:
    me: int = gshmem.my_pe()
    a = gshmem.zeros((3, 4), 'float32')
    gshmem.put(a, numpy.zeros((3, 4), 'float32'), pe=0)
    gshmem.reduce(a, a, 'max', stream='current')
    gshmem.reduce_on_stream(a, a, 'max')
    team = gshmem.Team.world.split(0, 1, 1)
    if team is not None:
        gshmem.barrier(team)
        ours: int = team.n_pes
    module = gshmem.compile('', ['-DN=3'])
    module.kernel(1, (32, 2), a, 1.0, collective=True)
    gshmem.synchronize()
    options: list[str] = gshmem.device.nvrtc_options()
    text: str = gshmem.__version__ + gshmem.get_include()
results: list[int] = gshmem.run_threads(2, main, 1)
'''
WRONG = '''
import gshmem
gshmem.barier()
gshmem.put(None, None, 'right')
seen: str = gshmem.n_pes()
'''


def check(name, text):
    with open(name, 'w', encoding='utf-8') as file:
        file.write(text)
    return subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', 'mypy', name],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_names():
    missing = [name for name in gshmem.__all__ if not hasattr(gshmem, name)]
    assert not missing and len(set(gshmem.__all__)) == len(gshmem.__all__), missing


@pytest.mark.skipif(importlib.util.find_spec('mypy') is None, reason='mypy is not installed')
def test_types():
    right = check('right.py', PROGRAM)
    assert right.returncode == 0, right.stdout
    wrong = check('wrong.py', WRONG)
    assert [line.split(':')[1] for line in wrong.stdout.splitlines() if ': error: ' in line] == ['3', '4', '5']
