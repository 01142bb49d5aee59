# SPDX-License-Identifier: Apache-2.0
"""PyTorch's symmetric memory on the CPU device, and which NCCL library it gets. The first needs torch, which is
gigabytes: PYTHON_TEST_PACKAGES=torch."""
import importlib.util
import os
import signal
import subprocess
import sys

import pytest

import gshmem

needs_torch = pytest.mark.skipif(importlib.util.find_spec('torch') is None,
                                 reason='torch is not installed: nothing is proved of gshmem.torch')


def run(*command, **environment):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                            env={**os.environ, **environment})
    said = [line for line in result.stdout.splitlines(True) if not line.startswith('gshmemrun: ')]  # a slow start
    return result.returncode, ''.join(said)


@needs_torch
def test_symmetric_memory(tmp_path):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'torch_calls.py')
    status, text = run('gshmemrun', '-n', '3', sys.executable, program, STORE_FILE=str(tmp_path / 'store'))
    assert status == 0 and text.splitlines() == ['right'] * 3, text


WAITS = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever it inherits: shells ignore it in the background
import torch, torch.distributed as dist, torch.distributed._symmetric_memory as symm_mem
import gshmem, gshmem.torch
from gshmem import _native
def say_that_it_waits():
    while _native.main_wait() is None or 'symmetric memory' not in _native.main_wait()[0]:
        time.sleep(0.001)
    print('waits', flush=True)
dist.init_process_group('gloo', store=dist.FileStore(sys.argv[1], 1), rank=0, world_size=1)
with gshmem.init():
    gshmem.torch.use_symmetric_memory()
    handle = symm_mem.rendezvous(symm_mem.empty(4, device='cpu'), dist.group.WORLD)
    threading.Thread(target=say_that_it_waits, daemon=True).start()
    handle.wait_signal(0, channel=1, timeout_ms=int(sys.argv[2]))
"""


@needs_torch
@pytest.mark.parametrize('timeout_ms', ['0', '10000000'])
def test_interrupt_in_wait_signal(tmp_path, timeout_ms):
    """Other threads run while it waits: one of them says so."""
    with subprocess.Popen([sys.executable, '-c', WAITS, str(tmp_path / 'store'), timeout_ms], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env={**os.environ, 'GSHMEM_WAIT_TIMEOUT': '0'}) as p:
        try:
            lines = [p.stdout.readline()]
            while lines[-1] not in ('waits\n', ''):
                lines.append(p.stdout.readline())
            p.send_signal(signal.SIGINT)
            text = ''.join(lines) + p.communicate(timeout=300)[0]
        finally:
            p.kill()
    assert p.returncode == 130 and 'gshmem: interrupted in wait_signal of symmetric memory' in text, text


@needs_torch
def test_halo_exchange():
    status, text = run('gshmemrun', '-n', '3', sys.executable, '-m', 'gshmem.examples.halo_torch')
    assert status == 0 and len(text.splitlines()) == 3, text


@needs_torch
def test_torchrun():
    """The guide's program, by the command that the guide gives."""
    with open(os.path.join(os.environ['PYTHON_TEST_SOURCES'], 'docs', 'guide', 'python.md'), encoding='utf-8') as page:
        program = page.read().partition('```python file=symmetric.py\n')[2].partition('```')[0]
    with open('symmetric.py', 'w', encoding='utf-8') as file:
        file.write(program)
    status, text = run(sys.executable, '-m', 'torch.distributed.run', '--nproc-per-node', '2', 'symmetric.py')
    assert status == 0 and 'rank 0 has [1.0, 1.0, 1.0, 1.0]' in text and 'rank 1 has [0.0, ' in text, text


def test_preload_nccl():
    status, text = run(sys.executable, '-c', 'import ctypes, gshmem\npath = gshmem.preload_nccl()\n'
                       'mine = ctypes.c_int(); ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(mine))\n'
                       'print(path, mine.value)')
    path, version = text.split()
    assert status == 0 and path.startswith(gshmem.get_prefix()) and int(version) > 20000, text


@needs_torch
def test_preload_nccl_for_torch():
    status, text = run(sys.executable, '-c', 'import gshmem\ngshmem.preload_nccl()\nimport torch\n'
                       'try: torch.cuda.nccl.unique_id()\nexcept RuntimeError: pass\n', LD_DEBUG='bindings')
    bound = [line for line in text.splitlines() if 'libtorch_cuda' in line and '`ncclGetUniqueId' in line]
    assert bound and 'libgshmem_nccl.so' in bound[0], bound or text[-2000:]
    status, text = run(sys.executable, '-c', 'import torch, gshmem\ngshmem.preload_nccl()')
    assert status != 0 and 'preload_nccl: torch is imported already' in text, text
