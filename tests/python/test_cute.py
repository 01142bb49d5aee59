# SPDX-License-Identifier: Apache-2.0
"""gshmem.cute's calls compile for a GPU, which need not be there, in kernels of CuTe DSL. Needs that and clang:
PYTHON_TEST_PACKAGES=nvidia-cutlass-dsl. Where the wheel has no bitcode, functions that do nothing stand for it."""
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cute_calls.py')


@pytest.mark.skipif(importlib.util.find_spec('cutlass') is None or shutil.which('clang') is None,
                    reason='nvidia-cutlass-dsl is not installed, or no clang: nothing is proved of gshmem.cute')
def test_calls():
    result = subprocess.run([sys.executable, PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=300, env={**os.environ, 'CUTE_DSL_ARCH': 'sm_90a', 'CUTE_DSL_KEEP': 'ptx'})
    assert result.returncode == 0 and result.stdout.splitlines()[-1:] == ['right'], result.stdout
