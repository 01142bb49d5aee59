# SPDX-License-Identifier: Apache-2.0
"""libnvshmem_host.so.3 is ours where it is asked for; NVSHMEM's own Python bindings run on it. The latter needs their
package, whose dependencies are large: PYTHON_TEST_PACKAGES=nvshmem4py-cu13."""
import glob
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

import gshmem


def start(*command, **environment):
    return subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **environment})


def test_preload(tmp_path):
    """Who opens the library by NVSHMEM's name gets ours, and finds calls through it. There is one job, of which both
    packages know, although LD_LIBRARY_PATH names another copy of both libraries, as that of a build."""
    for name in ('libgshmem.so.0', 'libgshmem_nvshmem.so.0'):
        found, = glob.glob(os.path.join(gshmem.get_prefix(), 'lib', '**', name), recursive=True)
        shutil.copy(found, tmp_path)
    process = start('-c', 'import ctypes, gshmem\npath = gshmem.preload_nvshmem()\n'
                          'theirs = ctypes.CDLL("libnvshmem_host.so.3")\ntheirs.nvshmem_init()\n'
                          'print(path, gshmem.preload_nvshmem() == path, theirs.nvshmem_n_pes(), gshmem.n_pes())\n'
                          'theirs.nvshmem_finalize()', LD_LIBRARY_PATH=str(tmp_path))
    text = process.communicate(timeout=300)[0]
    path, *rest = text.split()
    assert path.startswith(gshmem.get_prefix()) and rest == ['True', '1', '1'], text


def test_loaded_before(tmp_path):
    """The package uses the copy that the process has, as one of an extension that is linked with it."""
    found, = glob.glob(os.path.join(gshmem.get_prefix(), 'lib', '**', 'libgshmem.so.0'), recursive=True)
    copy = shutil.copy(found, tmp_path)
    process = start('-c', f'import ctypes, gshmem\nctypes.CDLL("{copy}").gshmem_init()\nprint(gshmem.n_pes())\n'
                          'gshmem.finalize()')
    assert process.communicate(timeout=300)[0] == '1\n'


needs_their_bindings = pytest.mark.skipif(importlib.util.find_spec('nvshmem') is None,
                                          reason='nvshmem4py is not installed: nothing is proved of it')


@needs_their_bindings
def test_all_functions_that_they_look_for():
    process = start('-c', 'import gshmem\ngshmem.preload_nvshmem()\n'
                          'from nvshmem.bindings._internal import nvshmem\n'
                          'found = nvshmem._inspect_function_pointers()\n'
                          'print(len(found) > 200, [name for name, address in found.items() if not address])')
    text = process.communicate(timeout=300)[0]
    assert text == 'True []\n', text


@needs_their_bindings
def test_their_bindings(tmp_path):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nvshmem_calls.py')
    ranks = [start(program, RANK=str(rank), UID_FILE=str(tmp_path / 'uid')) for rank in range(2)]
    texts = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert texts == ['right\n'] * 2, texts
