# SPDX-License-Identifier: Apache-2.0
"""gshmem.numba's calls compile for a GPU, which need not be there. Needs numba-cuda and CUDA's NVVM:
PYTHON_TEST_PACKAGES=numba-cuda."""
import importlib.util
import subprocess
import sys

import pytest

PROGRAM = r'''
import os
from numba import cuda, types
import gshmem.numba as gs
import gshmem.examples.numba_ring as example

open('empty.ltoir', 'wb').close()
gs._device.ltoir = lambda arch: 'empty.ltoir'  # it is linked only at a launch
gs._architecture = lambda: 'sm_90'
numbers, words = types.int32[::1], types.uint64[::1]
signature = types.void(numbers, numbers, words, numbers)
ptx, _ = cuda.compile(example.ring.py_func, signature, cc=(9, 0))
for line in ('.extern .func  (.param .b32 func_retval0) gshmem_my_pe', '.extern .func gshmemx_putmem_signal_block',
             '.extern .func  (.param .b64 func_retval0) gshmem_signal_wait_until',
             '.extern .func gshmem_int_atomic_add'):
    assert line in ptx, ptx

def wrong(box):
    gs.gshmem_int_p(3, box, 0)

try:
    cuda.compile(wrong, types.void(numbers), cc=(9, 0))
    raise AssertionError('a number is taken for an array')
except Exception as e:
    assert 'gshmem_int_p: dest is' in str(e) and 'not an array' in str(e), e
print('right')
'''


@pytest.mark.skipif(importlib.util.find_spec('numba_cuda') is None,
                    reason='numba-cuda is not installed: nothing is proved of gshmem.numba')
def test_calls():
    result = subprocess.run([sys.executable, '-c', PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, timeout=120)
    assert result.returncode == 0 and result.stdout.splitlines()[-1:] == ['right'], result.stdout
