# SPDX-License-Identifier: Apache-2.0
"""Kernels from CUDA C++ in a string: NVRTC compiles them for GPUs, the system's compiler for the CPU device.

gshmem's device library is headers alone, so there is nothing to link. What was compiled is kept in a cache folder,
$XDG_CACHE_HOME/gshmem or ~/.cache/gshmem. A folder there that is another user's, or that others may write to, is not
used: libraries are loaded from it."""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import glob
import hashlib
import math
import operator
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

from . import _native
from ._arrays import is_on_gpu
from ._errors import Error, check
from ._library import library, library_path, package_folder
from ._start import job_number, need, whole_number

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any, Sequence

    from ._types import Shape, Stream

_PRELUDE = '#include <gshmem_device.cuh>\n#line 1 "{name}"\n'

# For the CPU device: a launch by addresses of arguments, and a letter and a size for each parameter.
_LAUNCHER = r'''
#include <gshmem/launch.h>
namespace gshmem_python
{
template <class T> constexpr char letter()
{
    return std::is_pointer_v<T> ? 'p' : std::is_floating_point_v<T> ? 'f' : std::is_integral_v<T> ? 'i' : 'b';
}
template <class... Parameters> int describe(void (*)(Parameters...), int at)
{
    const int of[] = {(int)(letter<Parameters>() << 16 | sizeof(Parameters))..., 0};
    return at < (int)sizeof...(Parameters) ? of[at] : 0;
}
template <class... Parameters>
int launch(void (*kernel)(Parameters...), const unsigned *n, void **args, size_t shared, void *stream,
           int is_collective)
{
    const dim3 grid(n[0], n[1], n[2]), block(n[3], n[4], n[5]);
    return is_collective ? gshmemx_collective_launch(kernel, grid, block, args, shared, (cudaStream_t)stream)
                         : (int)cudaLaunchKernel(kernel, grid, block, args, shared, (cudaStream_t)stream);
}
}
'''
_LAUNCH_OF = r'''
extern "C" __attribute__((visibility("default"))) int gshmem_python_launch_{k}(const unsigned *n, void **args,
    size_t shared, void *stream, int is_collective)
{{ return gshmem_python::launch({k}, n, args, shared, stream, is_collective); }}
extern "C" __attribute__((visibility("default"))) int gshmem_python_describe_{k}(int at)
{{ return gshmem_python::describe({k}, at); }}
'''


_cache_lock = threading.Lock()


def _cache_folder():
    base = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    folder = os.path.join(base, 'gshmem')
    os.makedirs(folder, mode=0o700, exist_ok=True)
    at = os.stat(folder)
    if at.st_uid == os.geteuid() and not at.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return folder
    return _own_folder()


@functools.cache
def _own_folder():
    """For this process alone, where there is no cache."""
    folder, maker = tempfile.mkdtemp(prefix='gshmem-kernels-'), os.getpid()
    atexit.register(lambda: os.getpid() == maker and shutil.rmtree(folder, ignore_errors=True))  # no forked child's
    return folder


@contextlib.contextmanager
def _locked_folder(path):
    folder = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _cached(key, suffix, make):
    """The path of the file for that key; make(path) writes it if it is not there. Of processes and threads that want it
    at the same time, as the PEs of a job do, one makes it and the others wait. Where files have no locks, each writes
    its own and renames it."""
    path = os.path.join(_cache_folder(), hashlib.sha256(key.encode()).hexdigest()[:32] + suffix)
    if os.path.exists(path):
        return path
    with _cache_lock, _locked_folder(os.path.dirname(path)):
        if not os.path.exists(path):
            mine = f'{path}.{os.getpid()}'
            try:
                make(mine)
                os.rename(mine, path)
            finally:
                if os.path.exists(mine):
                    os.unlink(mine)
    return path


def _names(source):
    text = re.sub(r'//[^\n]*|/\*.*?\*/', ' ', source, flags=re.S)
    names = re.findall(r'__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?'
                       r'(\w+)\s*\(', text)
    if not names:
        raise ValueError('compile: the source has no kernel: __global__ void NAME(...)')
    return names


def _include_folders():
    folder = package_folder()
    if folder is None:
        raise Error('compile: this gshmem is not installed from a wheel, so its headers are unknown')
    return os.path.join(folder, 'include', 'gshmem')


def compile(source: str, options: Sequence[str] = (), name: str = 'kernel.cu') -> Module:
    """Compiles CUDA C++ whose kernels may make gshmem's device calls; <gshmem_device.cuh> is included already. Returns
    a Module: module.add is the kernel `__global__ void add(...)`. Not collective. options: more for the compiler, such
    as '-DN=3'. name: of the source, in the compiler's messages. Raises Error with these messages."""
    need()
    if not isinstance(source, str):
        raise TypeError(f'compile: source is {type(source).__name__}, not a string')
    if isinstance(options, str):
        raise TypeError('compile: options is a string, not a list of strings')
    names = _names(source)
    text = _PRELUDE.format(name=name) + source
    return _compile_gpu(text, list(options), names) if is_on_gpu() else _compile_cpu(text, list(options), names)


class Module:
    """Kernels that were compiled together."""

    def __init__(self, kernels: dict[str, Kernel], keep: Any) -> None:
        self._kernels, self._keep = kernels, keep

    def __getattr__(self, name: str) -> Kernel:
        kernels = self.__dict__.get('_kernels', {})
        if name not in kernels:
            raise AttributeError(f'there is no kernel {name} among {", ".join(kernels)}')
        return kernels[name]


_MAX_BLOCKS = (0x7fffffff, 0xffff, 0xffff)  # of a grid in x, y, z; of every GPU, and so everywhere
_MAX_THREADS = 1024  # of a block, as above


def _dim(call, what, value):
    """Three numbers."""
    try:
        given = tuple(map(operator.index, value if isinstance(value, (tuple, list)) else (value,)))
    except TypeError:
        raise TypeError(f'{call}: {what} is {value!r}, not a number or a tuple of numbers') from None
    if not 1 <= len(given) <= 3 or any(n < 1 for n in given):
        raise ValueError(f'{call}: {what} is {value}: one to three numbers from 1')
    return given + (1,) * (3 - len(given))


def _sizes(call, grid, block):
    """Six numbers that a launch can have."""
    blocks, threads = _dim(call, 'grid', grid), _dim(call, 'block', block)
    if any(n > most for n, most in zip(blocks, _MAX_BLOCKS)):
        raise ValueError(f'{call}: grid is {blocks}; it can have {_MAX_BLOCKS} blocks')
    if math.prod(threads) > _MAX_THREADS:
        raise ValueError(f'{call}: block is {threads}, which is {math.prod(threads)} threads; a block can have '
                         f'{_MAX_THREADS}')
    return blocks + threads


def _argument(call, i, value, letter, size):
    """The bytes of argument i as a ctypes object of that many bytes."""
    if not isinstance(value, (int, float)):
        is_number = getattr(value, 'shape', None) == () and letter != 'p' and not hasattr(value, 'data_ptr')  # numpy's
        if is_number or isinstance(value, (bytes, ctypes.Structure)):
            data = value.tobytes() if is_number else bytes(value)
            if len(data) != size:
                raise TypeError(f'{call}: argument {i} has {len(data)} bytes, the parameter {size}')
            return ctypes.create_string_buffer(data, size)
        try:
            address = _native.address_of(call, f'argument {i}', value)
        except TypeError:
            raise TypeError(f'{call}: argument {i}: {type(value).__name__} is no array, number or bytes') from None
        if size != 8 or letter not in 'p?':
            raise TypeError(f'{call}: argument {i} is an array, the parameter is not a pointer')
        return ctypes.c_void_p(address)
    is_float = letter == 'f' or (letter == '?' and isinstance(value, float))
    if isinstance(value, float) and not is_float:
        raise TypeError(f'{call}: argument {i} is {value}, the parameter is no floating-point number')
    types = {4: ctypes.c_float, 8: ctypes.c_double} if is_float else \
        {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_int64}
    if size not in types:
        raise TypeError(f'{call}: argument {i} is a number, the parameter has {size} bytes')
    if not is_float and not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
        raise OverflowError(f'{call}: argument {i} is {value}, which has no room in {size} bytes')
    return types[size](value)


class Kernel:
    """kernel(grid, block, *arguments, stream=None, shared=0, collective=False) launches it.

    grid, block: how many blocks, and threads of a block: a number or up to three. A block has at most 1024 threads.
    Arguments: arrays for pointers; numbers; on GPUs a float for each
    floating-point parameter. shared: bytes of dynamic shared memory. collective: all blocks run at the same time, so
    that they may wait for each other and for other PEs; each PE makes the call. stream: None: the
    current one, as of the calls whose names end with _on_stream, by the first array on a GPU. Returns at once;
    synchronize() waits."""

    def __init__(self, name: str, parameters: Any, launch: Any) -> None:
        self.name, self._parameters, self._launch = name, parameters, launch

    def __call__(self, grid: Shape, block: Shape, *arguments: Any, stream: Stream = None, shared: int = 0,
                 collective: bool = False) -> None:
        need()
        if len(arguments) != len(self._parameters):
            raise TypeError(f'{self.name}: {len(arguments)} arguments for {len(self._parameters)} parameters')
        sizes = _sizes(self.name, grid, block)
        values = [_argument(self.name, i, v, *p) for i, (v, p) in enumerate(zip(arguments, self._parameters))]
        pointers = (ctypes.c_void_p * (len(values) + 1))(*[ctypes.addressof(v) for v in values])
        shared = whole_number(self.name, 'shared', shared, 0)
        on_gpu = (a for a in arguments if hasattr(a, '__cuda_array_interface__'))
        stream = _native.stream_of('current' if stream is None else stream, next(on_gpu, None))
        self._launch((ctypes.c_uint * 6)(*sizes), pointers, shared, stream, collective)
        _native.keep_for_stream(arguments, stream)


# ---- the CPU device ---------------------------------------------------------------------------


def load_compiled(call, options, source, key):
    """The library that the system's C++ compiler makes of the source, from the cache if it is there. key: what the
    result depends on besides. Raises Error with the compiler's messages."""
    command = shlex.split(os.environ.get('CXX', 'c++')) + ['-std=c++17', '-fPIC', '-shared', '-pthread', '-x', 'c++',
                                                           *options]

    def make(output):
        try:
            result = subprocess.run([*command, '-o', output, '-'], input=source, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, errors='replace')
        except FileNotFoundError:
            raise Error(f'{call}: there is no {command[0]}; the variable CXX may name a C++ compiler') from None
        if result.returncode != 0:
            raise Error(f'{call}: {result.stdout}')

    path = _cached(f'{key} {command} {source}', '.so', make)
    return ctypes.CDLL(path), path


def _compile_cpu(text, options, names):
    include = _include_folders()
    path = library_path()
    source = text + _LAUNCHER + ''.join(_LAUNCH_OF.format(k=k) for k in names)
    version = os.stat(path).st_mtime_ns if os.path.exists(path) else path
    unit, _ = load_compiled('compile', ['-O2', '-DGSHMEM_DEVICE_CODE=1', f'-I{include}', f'-I{include}/cpu/shim',
                                        *options], source, version)
    kernels = {}
    for name in names:
        describe, launch = unit[f'gshmem_python_describe_{name}'], unit[f'gshmem_python_launch_{name}']
        launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int]
        parameters = []
        while (word := describe(len(parameters))) != 0:
            parameters.append((chr(word >> 16), word & 0xffff))
        kernels[name] = Kernel(name, parameters, _cpu_launch(name, launch))
    return Module(kernels, unit)


def _cpu_launch(name, launch):
    def do(sizes, pointers, shared, stream, collective):
        result = launch(sizes, pointers, shared, stream, bool(collective))
        if result != 0 and collective:
            check(result)
        if result != 0:
            raise Error(f'{name}: the launch was refused (CUDA error {result})')
    return do


# ---- GPUs -------------------------------------------------------------------------------------


def _open(*patterns):
    for pattern in patterns:
        for path in [pattern] if '*' not in pattern else sorted(glob.glob(pattern), reverse=True):
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
    raise Error(f'compile: there is no {patterns[0]}; install CUDA, or the package nvidia-cuda-nvrtc')


def _nvidia_folders():
    """Where pip's packages of CUDA are."""
    return [os.path.join(folder, 'nvidia') for folder in sys.path
            if folder and os.path.isdir(os.path.join(folder, 'nvidia'))]


def _cuda_includes():
    found = [os.environ[v] + '/include' for v in ('CUDA_HOME', 'CUDA_PATH') if v in os.environ]
    found += ['/usr/local/cuda/include']
    for folder in _nvidia_folders():
        found += glob.glob(f'{folder}/cu*/include') + glob.glob(f'{folder}/cuda_runtime/include')
    return [f for f in found if os.path.exists(os.path.join(f, 'cuda_fp16.h'))][:1]


def _cuda_runtime(call):
    """The path of libcudart: that of PyTorch's packages, else CUDA's."""
    patterns = [f'{folder}/*/lib/libcudart.so.1[23]' for folder in _nvidia_folders()]
    patterns += [os.environ[v] + '/lib64/libcudart.so.1[23]' for v in ('CUDA_HOME', 'CUDA_PATH') if v in os.environ]
    found = [path for pattern in [*patterns, '/usr/local/cuda/lib64/libcudart.so.1[23]'] for path in glob.glob(pattern)]
    if not found:
        raise Error(f'{call}: there is no libcudart.so; install CUDA, or the package nvidia-cuda-runtime')
    return found[0]


def nvrtc_options():
    """What NVRTC needs to compile kernels that include <gshmem_device.cuh>, but for the architecture."""
    return ['-std=c++17', '-default-device', '-diag-suppress=161,1866',
            f'-I{os.path.join(os.path.dirname(os.path.abspath(__file__)), "_nvrtc")}', f'-I{_include_folders()}',
            *[f'-I{folder}' for folder in _cuda_includes()]]


def _compile_to_cubin(text, options, arch):
    nvrtc = _open('libnvrtc.so.13', 'libnvrtc.so.12', '/usr/local/cuda/lib64/libnvrtc.so.1[23]',
                  *[f'{folder}/*/lib/libnvrtc.so.1[23]' for folder in _nvidia_folders()])
    all_options = [f'--gpu-architecture={arch}', *nvrtc_options(), *options]
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))

    def make(output):
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        # The kernels' names are as in C, so that they are found.
        source = re.sub(r'(?:extern\s+"C"\s+)?__global__', 'extern "C" __global__', text)
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b'kernel.cu', 0, None, None)
        words = [o.encode() for o in all_options]
        result = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        if result != 0:
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
            raise Error('compile: ' + log.value.decode(errors='replace'))
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, cubin)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        with open(output, 'wb') as file:
            file.write(cubin.raw)

    key = f'{major.value}.{minor.value} {os.stat(_include_folders()).st_mtime_ns} {all_options} {text}'
    with open(_cached(key, '.cubin', make), 'rb') as file:
        return file.read()


_ILLEGAL_ADDRESS = 700  # CUDA_ERROR_ILLEGAL_ADDRESS


def _driver_call(function, *arguments, hint=''):
    """hint: what to say of an illegal address besides."""
    result = function(*arguments)
    if result != 0:
        text = ctypes.c_char_p()
        ctypes.CDLL('libcuda.so.1').cuGetErrorString(result, ctypes.byref(text))
        raise Error(f'{function.__name__}: {(text.value or b"error").decode()}'
                    f'{hint if result == _ILLEGAL_ADDRESS else ""}')


def _compile_gpu(text, options, names):
    cuda = ctypes.CDLL('libcuda.so.1')
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    _driver_call(cuda.cuCtxGetDevice, ctypes.byref(device))
    _driver_call(cuda.cuDeviceGetAttribute, ctypes.byref(major), 75, device)
    _driver_call(cuda.cuDeviceGetAttribute, ctypes.byref(minor), 76, device)
    cubin = _compile_to_cubin(text, options, f'sm_{major.value}{minor.value}')
    module = ctypes.c_void_p()
    _driver_call(cuda.cuModuleLoadData, ctypes.byref(module), cubin)
    prepared_for = None

    def prepare():
        """The module has the state of the job in which it was prepared: once for each."""
        nonlocal prepared_for
        job = job_number()
        if prepared_for != job:
            check(library.gshmemx_cumodule_init(module))
            prepared_for = job

    kernels = {}
    for name in names:
        function, parameters = ctypes.c_void_p(), []
        _driver_call(cuda.cuModuleGetFunction, ctypes.byref(function), module, name.encode())
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        while cuda.cuFuncGetParamInfo(function, ctypes.c_size_t(len(parameters)), ctypes.byref(offset),
                                      ctypes.byref(size)) == 0:
            parameters.append(('?', size.value))
        kernels[name] = Kernel(name, parameters, _gpu_launch(cuda, prepare, function))
    prepare()
    return Module(kernels, (cubin, module))


def _gpu_launch(cuda, prepare, function):
    def do(sizes, pointers, shared, stream, collective):
        prepare()
        stream = ctypes.c_void_p(stream)
        if collective:
            _driver_call(cuda.cuLaunchCooperativeKernel, function, *sizes, ctypes.c_uint(shared), stream, pointers)
        else:
            _driver_call(cuda.cuLaunchKernel, function, *sizes, ctypes.c_uint(shared), stream, pointers, None)
    return do


_NO_STATE = ("; so ends a kernel that calls gshmem, but whose module gshmem.device.prepare or init_module has not "
             "given gshmem's state")


def synchronize() -> None:
    """Waits for this PE's kernels and for all work on its device. Raises Error if a kernel has failed."""
    need()
    from ._start import waiting
    with waiting('gshmem.synchronize'):
        if is_on_gpu():
            _driver_call(ctypes.CDLL('libcuda.so.1').cuCtxSynchronize, hint=_NO_STATE)
        else:
            library.gshmemx_cpu_device_synchronize(library.gshmemx_cpu_device_current())
