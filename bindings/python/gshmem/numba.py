# SPDX-License-Identifier: Apache-2.0
"""The device calls in kernels of numba-cuda:

    import gshmem.numba as gs
    from numba import cuda

    @cuda.jit
    def to_the_right(box, value):
        gs.gshmem_int_p(box, value, (gs.gshmem_my_pe() + 1) % gs.gshmem_n_pes())

Every function of gshmem.device.functions() is here under its name and its aliases. An array of the same type is given
where C has a pointer, and an array of any type for `void *`: a[i:] is the address of element i. A kernel that makes
such a call is linked with the library's LTO-IR for its GPU by nvJitLink, and its module is prepared before the first
launch; other kernels are not touched. gshmem.init comes before the first launch. `gshmemrun -n 2 python -m
gshmem.examples.numba_ring` is a program."""
from __future__ import annotations

import functools as _functools

from llvmlite import ir as _ir
from numba import cuda as _cuda
from numba import types as _types
from numba.core import cgutils as _cgutils
from numba.cuda.extending import intrinsic as _intrinsic

from . import device as _device

if not hasattr(_cuda, 'LTOIR'):
    raise ImportError("gshmem.numba: numba.cuda is numba's own, which links no LTO-IR; install numba-cuda")

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...

_NUMBERS = {'int': _types.int32, 'long': _types.int64, 'size_t': _types.uint64, 'gshmem_team_t': _types.int32,
            'float': _types.float32, 'double': _types.float64,
            **{f'{name}_t': getattr(_types, name) for name in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16',
                                                               'uint32', 'uint64')}}


def _prepare(code):
    """Called by numba with a module that has been loaded."""
    is_library = type(code.handle).__name__ == 'CUlibrary'
    (_device.init_library if is_library else _device.init_module)(int(code.handle))


@_functools.lru_cache(None)
def _linked(arch):
    """What numba links, once into a kernel."""
    with open(_device.ltoir(arch), 'rb') as file:
        return _cuda.LTOIR(file.read(), name='libgshmem_device.ltoir', setup_callback=_prepare)


def _architecture():
    return 'sm_%d%d' % _cuda.get_current_device().compute_capability[:2]


def _check_argument(call, argument, given):
    """Raises TypeError if a value of that type of numba is not what the C type asks for."""
    what, is_const = f'{call}: {argument["name"]} is', argument['type'].startswith('const ')
    number = _NUMBERS.get(argument['type'])
    if number is not None:
        if not isinstance(given, (_types.Number, _types.Boolean)):
            raise TypeError(f'{what} {given}, not a number')
        if isinstance(number, _types.Integer) and not isinstance(given, (_types.Integer, _types.Boolean)):
            raise TypeError(f'{what} {given}, not an integer: C has {argument["type"]}')
        return
    if not isinstance(given, _types.Array):
        raise TypeError(f'{what} {given}, not an array')
    element = argument['type'].removeprefix('const ').removesuffix('*').strip()
    if element != 'void' and given.dtype != _NUMBERS[element]:
        raise TypeError(f'{what} an array of {given.dtype}, not of {_NUMBERS[element]}: C has {argument["type"]}')
    if not is_const and not given.mutable:
        raise TypeError(f'{what} a read-only array of {given.dtype}')


def _call(name, row):
    arguments, symbol = row['arguments'], row['name']
    result = _NUMBERS.get(row['result'], _types.void if row['result'] == 'void' else _types.uint64)  # else a pointer

    def call(typing_context, *given):
        given = given[0] if len(given) == 1 and isinstance(given[0], _types.BaseTuple) else given
        expected = []
        for argument, its_type in zip(arguments, given):
            _check_argument(name, argument, its_type)
            expected.append(_NUMBERS.get(argument['type'], its_type))

        def lower(context, builder, signature, values):
            context.active_code_library.add_linking_file(_linked(_architecture()))
            byte = _ir.IntType(8).as_pointer()
            plain = [builder.bitcast(context.make_array(t)(context, builder, v).data, byte)
                     if isinstance(t, _types.Array) else v for t, v in zip(signature.args, values)]
            is_pointer = row['result'].endswith('*')
            kind = byte if is_pointer else _ir.VoidType() if result == _types.void else context.get_value_type(result)
            function = _cgutils.get_or_insert_function(
                builder.module, _ir.FunctionType(kind, [v.type for v in plain]), symbol)
            value = builder.call(function, plain)
            if result == _types.void:
                return context.get_dummy_value()
            return builder.ptrtoint(value, _ir.IntType(64)) if is_pointer else value

        return result(*expected), lower

    names = ', '.join(a['name'] for a in arguments)
    made = {'call': call}
    exec(f'def {name}(typing_context{", " if names else ""}{names}):\n    return call(typing_context, {names})\n', made)
    made[name].__doc__ = f'{row["result"]} {symbol}({", ".join(a["type"] + " " + a["name"] for a in arguments)})'
    return _intrinsic(made[name])


for _row in _device.functions():
    for _name in (_row['name'], *_row['aliases']):
        globals()[_name] = _call(_name, _row)
