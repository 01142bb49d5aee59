# SPDX-License-Identifier: Apache-2.0
"""The device library for kernels that other compilers make, such as numba's: a table of its functions, their LTO-IR,
and what a module needs before its kernels run."""
from __future__ import annotations

import ctypes
import glob
import json
import os

from ._arrays import is_on_gpu
from ._errors import Error, check
from ._library import library as _library
from ._library import package_folder
from ._start import need

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import TypeVar
    Kernel = TypeVar('Kernel')


def _folder(call):
    folder = package_folder()
    if folder is None:
        raise Error(f'{call}: this gshmem is not installed from a wheel')
    return folder


def functions() -> list[dict]:
    """The table: a list of {'name', 'aliases', 'result', 'arguments': [{'type', 'name'}]}, types as in C. Pointers are
    of the device's memory; aliases are NVSHMEM's names of the same function."""
    with open(os.path.join(_folder('functions'), 'share', 'gshmem', 'device_functions.json'), encoding='utf-8') as file:
        return json.load(file)


def nvrtc_options() -> list[str]:
    """Options for NVRTC, in packages that call it themselves, so that kernels may include <gshmem_device.cuh>."""
    from ._kernels import nvrtc_options as options
    return options()


def bitcode() -> str:
    """The path of the functions as LLVM bitcode: one file for all GPUs from sm_80 on. Raises Error if the wheel has
    none: it was built without nvcc or clang."""
    found = glob.glob(os.path.join(_folder('bitcode'), 'lib', '**', 'libgshmem_device.bc'), recursive=True)
    if not found:
        raise Error('bitcode: this wheel has none: it was built without nvcc or clang')
    return found[0]


def ltoir(arch: str) -> str:
    """The path of the functions as LTO-IR for a GPU such as 'sm_90': the newest architecture that the wheel has and
    the GPU can run. nvJitLink links it, as numba's @cuda.jit(link=[...]) does. Raises Error if there is none."""
    wanted = int(arch.removeprefix('sm_'))
    found = {int(path.rpartition('_')[2].partition('.')[0]): path for path in
             glob.glob(os.path.join(_folder('ltoir'), 'lib', '**', 'libgshmem_device_sm_*.ltoir'), recursive=True)}
    fitting = [n for n in found if n <= wanted]
    if not fitting:
        raise Error(f'ltoir: this wheel has none for {arch}, but for {sorted(found) or "no GPU: nvcc was not found"}')
    return found[max(fitting)]


def init_module(module: int) -> None:
    """Prepares a module of the driver (CUmodule, as a number) in which the functions are linked, before its kernels
    run. It may be called when gshmem is initialised, and again for each new module."""
    need()
    check(_library.gshmemx_cumodule_init(module))


def prepare(kernel: Kernel) -> Kernel:
    """Prepares the module that the kernel is in, and returns the kernel: one of CuPy (of RawModule.get_function, or a
    RawKernel), or a function of the driver (CUfunction, as a number). To be called in each job, before the kernel is
    launched. Raises TypeError if it is no such kernel, or if its module has no place for gshmem's state: its source
    does not include <gshmem_device.cuh>."""
    need()
    address = kernel if isinstance(kernel, int) else getattr(getattr(kernel, 'kernel', None), 'ptr', None)
    if isinstance(kernel, bool) or not isinstance(address, int) or not address:
        raise TypeError(f'prepare: kernel is {kernel!r}, neither a kernel of CuPy nor a CUfunction as a number')
    if not is_on_gpu():
        raise Error('prepare: the CPU device has no modules; its kernels are those of gshmem.compile')
    module = ctypes.c_void_p()
    result = _driver().cuFuncGetModule(ctypes.byref(module), ctypes.c_void_p(address))
    if result != 0 or module.value is None:
        raise TypeError(f'prepare: kernel: CUDA knows no module of it (error {result})')
    result = _library.gshmemx_cumodule_init(module.value)
    if result != 0:
        raise TypeError("prepare: kernel: its module cannot have gshmem's state: "
                        + _library.gshmemx_error_string(result).decode(errors='replace'))
    return kernel


def _driver():
    return ctypes.CDLL('libcuda.so.1')


def init_library(library: int) -> None:
    """The same for a library of the driver (CUlibrary, which is also CUDA's cudaLibrary_t)."""
    need()
    module = ctypes.c_void_p()
    result = _driver().cuLibraryGetModule(ctypes.byref(module), ctypes.c_void_p(library))
    if result != 0 or module.value is None:
        raise Error(f'init_library: CUDA gives no module of this library (error {result})')
    init_module(module.value)
