# SPDX-License-Identifier: Apache-2.0
"""The device calls in kernels of CuTe DSL (nvidia-cutlass-dsl), from the bitcode of the device library:

    import gshmem.cute as gs
    from cutlass import cute

    @cute.kernel
    def to_the_right(box: cute.Tensor, value: cutlass.Int32):
        gs.gshmem_int_p(box, value, (gs.gshmem_my_pe() + 1) % gs.gshmem_n_pes())

    @cute.jit
    def launch(box: cute.Tensor, value: cutlass.Int32):
        to_the_right(box, value).launch(grid=[1, 1, 1], block=[32, 1, 1])

    run = gs.prepare(cute.compile(launch, box, 0))
    run(box, 100 + gshmem.my_pe())

Every function of gshmem.device.functions() is here under its name and its aliases. A tensor or a pointer to the same
type, signed or not, is given where C has a pointer, to any type for `void *`; tensor.iterator + i is the address of
element i. gshmem_ptr returns the address as a number, 0 for a far PE. prepare comes before the first launch, after
gshmem.init. The wheel must have been built with nvcc and clang. `gshmemrun -n 2 python -m gshmem.examples.cute_ring`
is a program."""
from __future__ import annotations

import cutlass as _cutlass
from cutlass import cute as _cute
from cutlass._mlir import ir as _ir
from cutlass._mlir.dialects import llvm as _llvm
from cutlass.base_dsl.typing import as_numeric as _as_numeric

from . import device as _device

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...

_NUMBERS = {'int': _cutlass.Int32, 'long': _cutlass.Int64, 'size_t': _cutlass.Uint64, 'gshmem_team_t': _cutlass.Int32,
            'float': _cutlass.Float32, 'double': _cutlass.Float64,
            **{f'{name.lower()}_t': getattr(_cutlass, name) for name in ('Int8', 'Int16', 'Int32', 'Int64', 'Uint8',
                                                                         'Uint16', 'Uint32', 'Uint64')}}


class _Address:
    """C's pointers: generic addresses, whatever they point to."""

    def __get_mlir_types__(self):
        return [_llvm.PointerType.get()]


def _given(call, argument, value):
    """The value of a kernel as what C asks for. Raises TypeError that names the argument and both types."""
    what, c_type = f'{call}: {argument["name"]} is', argument['type']
    number = _NUMBERS.get(c_type)
    if number is not None:
        try:
            value = _as_numeric(value)
        except Exception:
            raise TypeError(f'{what} a {type(value).__name__}, not a number') from None
        if type(value).is_float and not number.is_float:
            raise TypeError(f'{what} {type(value).__name__}, not an integer: C has {c_type}')
        return number(value)
    pointer = value.iterator if isinstance(value, _cute.Tensor) else value
    if not isinstance(pointer, _cute.Pointer):
        raise TypeError(f'{what} a {type(value).__name__}, not a tensor or pointer')
    element = c_type.removeprefix('const ').removesuffix('*').strip()
    # Pointers of CuTe DSL do not know whether their integers are signed.
    if element != 'void' and pointer.dtype.mlir_type != _NUMBERS[element].mlir_type:
        raise TypeError(f'{what} of {pointer.dtype.__name__}, not of {_NUMBERS[element].__name__}: C has {c_type}')
    return pointer


def _function(name, row):
    arguments, result = row['arguments'], row['result']
    is_pointer = result.endswith('*')

    def call(*values):
        if len(values) != len(arguments):
            raise TypeError(f'{name}: {len(values)} arguments for {len(arguments)} parameters')
        values = [_given(name, argument, value) for argument, value in zip(arguments, values)]
        function = _cute.ffi(name=row['name'], params_types=[_NUMBERS.get(a['type'], _Address()) for a in arguments],
                             return_type=_Address() if is_pointer else _NUMBERS.get(result),
                             source=_cute.BitCode(_device.bitcode()))
        value = function(*values)
        if is_pointer:
            return _cutlass.Int64(_llvm.ptrtoint(_ir.IntegerType.get_signless(64), value))
        return None if result == 'void' else _NUMBERS[result](value)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{result} {row["name"]}({", ".join(a["type"] + " " + a["name"] for a in arguments)})'
    return call


for _row in _device.functions():
    for _name in (_row['name'], *_row['aliases']):
        globals()[_name] = _function(_name, _row)


def prepare(compiled: Any) -> Any:
    """What cute.compile has returned, loaded on the PE's GPU and prepared for the calls: call it to launch."""
    loaded = compiled.to()
    for library in loaded.jit_module.cuda_library:
        _device.init_library(int(library))
    return loaded
