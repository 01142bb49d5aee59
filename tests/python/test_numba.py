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

doubles, constants = types.float64[::1], types.Array(types.int32, 1, 'C', readonly=True)

def wrong(call, text, *given):
    try:
        cuda.compile(call, types.void(*given), cc=(9, 0))
    except Exception as e:
        assert text in str(e), e
        return
    raise AssertionError(f'refused nothing of: {text}')

wrong(lambda box: gs.gshmem_int_p(3, box, 0), 'gshmem_int_p: dest is int64, not an array', numbers)
wrong(lambda box: gs.gshmem_int_p(box, 3, 0), 'gshmem_int_p: dest is an array of float64, not of int32: C has int *',
      doubles)
wrong(lambda a, b: gs.gshmem_float_put(a, b, 1, 0), 'gshmem_float_put: dest is an array of float64, not of float32',
      doubles, doubles)
wrong(lambda box: gs.gshmem_int_p(box, 3, 0), 'gshmem_int_p: dest is a read-only array of int32', constants)
wrong(lambda box, pe: gs.gshmem_int_p(box, 3, pe), 'gshmem_int_p: pe is float64, not an integer: C has int', numbers,
      types.float64)
cuda.compile(lambda a, b: gs.gshmem_int_put(a, b, 1, 0), types.void(numbers, constants), cc=(9, 0))
cuda.compile(lambda a, b: gs.gshmem_putmem(a, b, 8, 0), types.void(doubles, words), cc=(9, 0))
print('right')
'''


@pytest.mark.skipif(importlib.util.find_spec('numba_cuda') is None,
                    reason='numba-cuda is not installed: nothing is proved of gshmem.numba')
def test_calls():
    result = subprocess.run([sys.executable, '-c', PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, timeout=300)
    assert result.returncode == 0 and result.stdout.splitlines()[-1:] == ['right'], result.stdout
