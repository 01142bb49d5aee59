# SPDX-License-Identifier: Apache-2.0
"""Kernels of other packages get gshmem's state, or an exception says what is missing. The driver and the library's part
for GPUs are models here: on machines with GPUs the program examples/cupy_ring.py uses the real ones."""
import ctypes
import os

import pytest

import gshmem
from gshmem import _kernels, device


class RawKernel:
    """As CuPy's: the driver's function is kernel.ptr."""

    def __init__(self, address):
        self.kernel = type('Function', (), {'ptr': address})()


class Driver:
    """The functions 16 and 32 are in the modules 17 and 33; others are no functions."""

    def cuFuncGetModule(self, module, function):
        if function.value not in (16, 32):
            return 400  # CUDA_ERROR_INVALID_HANDLE
        ctypes.cast(module, ctypes.POINTER(ctypes.c_void_p))[0] = function.value + 1
        return 0


class Library:
    """Module 17 has a place for the state."""

    def __init__(self):
        self.prepared = []

    def gshmemx_cumodule_init(self, module):
        self.prepared.append(module)
        return 0 if module == 17 else 1

    def gshmemx_error_string(self, result):
        return b'it has no constant block'


def test_prepare(monkeypatch):
    def function():
        library = Library()
        monkeypatch.setattr(device, 'is_on_gpu', lambda: True)
        monkeypatch.setattr(device, '_driver', Driver)
        monkeypatch.setattr(device, '_library', library)
        kernel = RawKernel(16)
        assert device.prepare(kernel) is kernel and device.prepare(16) == 16
        with pytest.raises(TypeError, match="prepare: kernel: its module cannot have gshmem's state: it has no const"):
            device.prepare(RawKernel(32))
        assert library.prepared == [17, 17, 33]
        with pytest.raises(TypeError, match='prepare: kernel: CUDA knows no module of it'):
            device.prepare(RawKernel(48))
        for wrong in (None, 'greet', True, 0, RawKernel(None), lambda: 0):
            with pytest.raises(TypeError, match='prepare: kernel is .*, neither a kernel of CuPy nor a CUfunction'):
                device.prepare(wrong)
    gshmem.run_threads(1, function)


def test_prepare_without_a_gpu():
    def function():
        with pytest.raises(gshmem.Error, match='prepare: the CPU device has no modules'):
            device.prepare(16)
    gshmem.run_threads(1, function)
    with pytest.raises(gshmem.NotInitialized):
        device.prepare(16)


def test_bitcode():
    """It is small, and has each function of the table under each of its names, and one with a result of each that has
    none. The names lie in it as text."""
    try:
        path = device.bitcode()
    except gshmem.Error as e:
        pytest.skip(f'{e}; nothing is proved of it')
    with open(path, 'rb') as file:
        data = file.read()
    assert len(data) <= 2_000_000
    names = {name for row in device.functions() for name in (row['name'], *row['aliases'])}
    names |= {row['name'] + '_with_result' for row in device.functions() if row['result'] == 'void'}
    missing = [name for name in names if name.encode() not in data]
    assert not missing and len(names) > 900, missing


def test_an_illegal_address_has_a_hint(monkeypatch):
    class Cuda:
        def cuGetErrorString(self, result, text):
            return 1

    def cuCtxSynchronize():
        return 700
    monkeypatch.setattr(_kernels.ctypes, 'CDLL', lambda name: Cuda())
    with pytest.raises(gshmem.Error, match='cuCtxSynchronize: error; so ends a kernel .* gshmem.device.prepare'):
        _kernels._driver_call(cuCtxSynchronize, hint=_kernels._NO_STATE)
    with pytest.raises(gshmem.Error, match='cuCtxSynchronize: error$'):
        _kernels._driver_call(cuCtxSynchronize)


@pytest.mark.parametrize('is_own', (True, False))
def test_kernels_come_from_no_folder_that_others_can_write_to(monkeypatch, tmp_path, is_own):
    def make(path):
        with open(path, 'w') as file:
            file.write('made here')

    def found():
        with open(_kernels._cached('a key', '.so', make)) as file:
            return file.read()

    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    cached = _kernels._cached('a key', '.so', make)
    with open(cached, 'w') as file:
        file.write('was there')
    if not is_own:
        os.chmod(os.path.dirname(cached), 0o777)
    assert os.path.dirname(cached) == str(tmp_path / 'gshmem')
    assert found() == ('was there' if is_own else 'made here')
    assert found() == ('was there' if is_own else 'made here')
