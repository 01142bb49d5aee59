# SPDX-License-Identifier: Apache-2.0
"""Calls between PEs. Each checks its arguments and makes one call of the library.

Arrays are contiguous. A `dest` of put and a `source` of get name the array of the other PE by the array of this one.
Calls on a stream have names that end with _on_stream. They are enqueued and return at once; their arrays must stay as
they are until the stream has done them. stream: a stream of torch or cupy, or its number; None: the current one, which
is torch's for arrays of torch and cupy's for arrays of cupy. For calls without an array it is torch's if the program
has imported torch, else cupy's if it has imported cupy, else CUDA's default stream. The CPU device has a default stream
alone. The other calls are the host's, which know of no stream: what a stream writes to their arrays must be done before
they are called. They take stream, too: put(..., stream=s) is put_on_stream(..., s); 'current' is the current one.

dest and source have the same dtype and, unless a call says otherwise, as many elements; their shapes do not matter.
Sizes in errors are in bytes.

Collective calls of the host first compare what the members call and with which sizes, dtypes, roots and operations, and
raise Mismatch on all of them if that differs. Those on a stream compare nothing."""
from __future__ import annotations

import ctypes
import operator

from . import _native
from ._arrays import check_pe, current_stream, describe, describe_other, itemsize, name_of_dtype
from ._errors import NotInitialized, check
from ._library import COMPARISONS, FLOATS, REDUCED, REDUCTIONS, SIGNAL_OPS, TEAM_INVALID, TEAM_WORLD, WORDS, library
from ._start import need, waiting

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from ._types import Array, Number, Stream


def my_pe() -> int:
    """The number of this PE, from 0."""
    need()
    return library.gshmem_my_pe()


def n_pes() -> int:
    """How many PEs the job has."""
    need()
    return library.gshmem_n_pes()


# ---- put, get ---------------------------------------------------------------------------------


def put(dest: Array, source: Array, pe: int, stream: Stream = None) -> None:
    """Copies source to dest on PE pe. Returns when source may be reused; complete at dest after quiet or a barrier."""
    _native.put(dest, source, pe, stream)


def put_on_stream(dest: Array, source: Array, pe: int, stream: Stream = None) -> None:
    """As put, on a stream; complete at dest after quiet_on_stream or barrier_on_stream, as a later work of the stream.
    None: the current stream."""
    _native.put(dest, source, pe, 'current' if stream is None else stream)


def put_nbi(dest: Array, source: Array, pe: int) -> None:
    """As put, but source must stay as it is until quiet."""
    _native.put_nbi(dest, source, pe)


def get(dest: Array, source: Array, pe: int, stream: Stream = None) -> None:
    """Copies source of PE pe to dest. Returns when dest has it."""
    _native.get(dest, source, pe, stream)


def get_on_stream(dest: Array, source: Array, pe: int, stream: Stream = None) -> None:
    """As get, on a stream: later works of the stream see dest. None: the current stream."""
    _native.get(dest, source, pe, 'current' if stream is None else stream)


def get_nbi(dest: Array, source: Array, pe: int) -> None:
    """As get, but dest has it only after quiet."""
    _native.get_nbi(dest, source, pe)


def quiet() -> None:
    """Waits until this PE's puts, gets and atomics are complete."""
    _native.quiet()


def quiet_on_stream(stream: Stream = None) -> None:
    """The stream goes on when the puts and gets that this PE has put on it are complete. None: the current stream."""
    _native.quiet_on_stream('current' if stream is None else stream)


def fence() -> None:
    """Puts and atomics to a PE before it take effect before those after it."""
    _native.fence()


# ---- signals, waits, atomics ------------------------------------------------------------------


def _choice(call, argument, value, choices):
    if value not in choices:
        raise ValueError(f'{call}: {argument} is {value!r}, not one of {", ".join(choices)}')
    return choices[value]


def put_signal(dest: Array, source: Array, signal: Array, value: int, pe: int, op: str = 'set',
               stream: Stream = None) -> None:
    """As put; then the signal of PE pe becomes value (op 'set') or grows by it ('add'). A PE that sees the signal sees
    the data. signal: one element of uint64."""
    _native.put_signal(dest, source, signal, value, _choice('put_signal', 'op', op, SIGNAL_OPS), pe, stream)


def put_signal_on_stream(dest: Array, source: Array, signal: Array, value: int, pe: int, op: str = 'set',
                         stream: Stream = None) -> None:
    """As put_signal, on a stream. None: the current stream."""
    _native.put_signal(dest, source, signal, value, _choice('put_signal', 'op', op, SIGNAL_OPS), pe,
                       'current' if stream is None else stream)


def signal(signal: Array, value: int, pe: int, op: str = 'set', stream: Stream = None) -> None:
    """Sets or adds to the signal of PE pe."""
    _native.signal(signal, value, _choice('signal', 'op', op, SIGNAL_OPS), pe, stream)


def signal_on_stream(signal: Array, value: int, pe: int, op: str = 'set', stream: Stream = None) -> None:
    """As signal, on a stream. None: the current stream."""
    _native.signal(signal, value, _choice('signal', 'op', op, SIGNAL_OPS), pe, 'current' if stream is None else stream)


def signal_wait(signal: Array, comparison: str, value: int, stream: Stream = None) -> int | None:
    """Waits until this PE's signal compares so with value: '==', '!=', '>', '>=', '<', '<='. Returns what it then is
    (None on a stream)."""
    return _native.signal_wait(signal, _choice('signal_wait', 'comparison', comparison, COMPARISONS), value, stream)


def signal_wait_on_stream(signal: Array, comparison: str, value: int, stream: Stream = None) -> None:
    """The stream goes on when this PE's signal compares so with value, as in signal_wait. None: the current stream."""
    _native.signal_wait(signal, _choice('signal_wait', 'comparison', comparison, COMPARISONS), value,
                        'current' if stream is None else stream)


def wait(word: Array, comparison: str, value: int) -> None:
    """Waits until this PE's word, one element of int32, int64, uint32 or uint64, compares so with value."""
    need()
    address, name = _word('wait', word, WORDS)
    comparison = _choice('wait', 'comparison', comparison, COMPARISONS)
    value = _number('wait', 'value', value, name)
    with waiting('gshmem.wait'):
        getattr(library, f'gshmem_{name}_wait_until')(address, comparison, value)


def test(word: Array, comparison: str, value: int) -> bool:
    """Whether this PE's word compares so with value now."""
    need()
    address, name = _word('test', word, WORDS)
    comparison = _choice('test', 'comparison', comparison, COMPARISONS)
    return bool(getattr(library, f'gshmem_{name}_test')(address, comparison, _number('test', 'value', value, name)))


def _number(call, argument, value, name):
    """value as a number of the type of that name, `float` and `double` for the floating-point ones."""
    try:
        value = float(value) if name in ('float', 'double') else operator.index(value)
    except TypeError:
        raise TypeError(f'{call}: {argument} is {value!r}, not a number for {name}') from None
    bits = 0 if name in ('float', 'double') else int(name[-2:])
    if bits and not -(1 << (bits - 1)) <= value < 1 << bits:
        raise OverflowError(f'{call}: {argument} is {value}, which has no room in {name}')
    return value


def _word(call, word, types):
    address, nbytes, name = describe(call, 'word', word, True)
    if name not in types:
        raise TypeError(f'{call}: word is of {name}, not of {", ".join(types)}')
    size = 8 if name.endswith('64') else 4
    if nbytes != size:
        raise ValueError(f'{call}: word has {nbytes} bytes: give one element, such as a[3:4]')
    if address % size != 0:
        raise ValueError(f'{call}: word is not at a multiple of {size} bytes')
    return address, FLOATS[name][0] if name in FLOATS else name


def _atomic(operation, word, values, pe):
    need()
    call = f'atomic_{operation}'
    types = {**WORDS, **FLOATS} if operation in ('fetch', 'set', 'swap') else WORDS
    address, name = _word(call, word, types)
    values = [_number(call, 'value', value, name) for value in values]
    pe = check_pe(call, pe)
    with waiting(f'gshmem.{call}'):
        return getattr(library, f'gshmem_{name}_{call}')(address, *values, pe)


def atomic_fetch(word: Array, pe: int) -> Number:
    """The word of PE pe. word: one element of int32, int64, uint32, uint64, float32 or float64."""
    return _atomic('fetch', word, (), pe)


def atomic_set(word: Array, value: Number, pe: int) -> None:
    """Sets the word of PE pe."""
    _atomic('set', word, (value,), pe)


def atomic_swap(word: Array, value: Number, pe: int) -> Number:
    """Sets the word of PE pe and returns what it was."""
    return _atomic('swap', word, (value,), pe)


def atomic_compare_swap(word: Array, expected: int, value: int, pe: int) -> int:
    """Sets the word of PE pe if it is `expected`; returns what it was. One element of int32, int64, uint32, uint64, as
    in the calls below."""
    return _atomic('compare_swap', word, (expected, value), pe)


def atomic_add(word: Array, value: int, pe: int) -> None:
    """Adds to the word of PE pe."""
    _atomic('add', word, (value,), pe)


def atomic_fetch_add(word: Array, value: int, pe: int) -> int:
    """Adds to the word of PE pe and returns what it was."""
    return _atomic('fetch_add', word, (value,), pe)


def atomic_and(word: Array, value: int, pe: int) -> None:
    """Ands value to the word of PE pe."""
    _atomic('and', word, (value,), pe)


def atomic_or(word: Array, value: int, pe: int) -> None:
    """Ors value to the word of PE pe."""
    _atomic('or', word, (value,), pe)


def atomic_xor(word: Array, value: int, pe: int) -> None:
    """Exclusive-ors value to the word of PE pe."""
    _atomic('xor', word, (value,), pe)


# ---- teams and collectives --------------------------------------------------------------------


class Team:
    """PEs that make collective calls together. Team.world has all of them."""

    world: ClassVar[Team]

    def __init__(self, handle: int) -> None:
        if type(handle) is not int:
            raise TypeError(f'Team: handle is of {type(handle).__name__}; split makes teams')
        self._handle = handle

    @property
    def my_pe(self) -> int:
        """This PE's number in the team."""
        return self._ask('my_pe', library.gshmem_team_my_pe)

    @property
    def n_pes(self) -> int:
        """How many members the team has."""
        return self._ask('n_pes', library.gshmem_team_n_pes)

    def _ask(self, name: str, function: Any) -> int:
        need()
        number: int = function(_handle(name, self))
        if number < 0:
            raise ValueError(f'{name}: the team is of a job that has ended, or this PE is no member of it')
        return number

    def split(self, start: int, stride: int, size: int) -> Team | None:
        """The team of `size` members of this one: start, start + stride, and so on. Collective over this team; returns
        None on PEs that are not members of the new one."""
        need()
        parent = _handle('split', self)
        start, stride, size = (_number('split', argument, value, 'int32') for argument, value in
                               (('start', start), ('stride', stride), ('size', size)))
        new = ctypes.c_int32(TEAM_INVALID)
        _native.compare('gshmem.Team.split', parent, f' with start {start}, stride {stride}, size {size}')
        with waiting('gshmem.Team.split'):
            check(library.gshmem_team_split_strided(parent, start, stride, size, None, 0, ctypes.byref(new)))
        return None if new.value == TEAM_INVALID else Team(new.value)

    def translate(self, pe: int, other: Team) -> int:
        """The number in team `other` of the member pe of this one; -1 if it is no member of it."""
        return library.gshmem_team_translate_pe(_handle('translate', self), check_pe('translate', pe, self.n_pes),
                                                _handle('translate', other))

    def destroy(self) -> None:
        """Collective over the team."""
        need()
        if self._handle in (TEAM_WORLD, TEAM_INVALID):
            raise ValueError('destroy: this team cannot be destroyed, or is already')
        _native.compare('gshmem.Team.destroy', self._handle, '')
        with waiting('gshmem.Team.destroy'):
            library.gshmem_team_destroy(self._handle)
        self._handle = TEAM_INVALID


Team.world = Team(TEAM_WORLD)


def _handle(call, team):
    if team is None:
        return TEAM_WORLD
    if not isinstance(team, Team) or team._handle == TEAM_INVALID:
        raise TypeError(f'{call}: team is {"destroyed" if isinstance(team, Team) else type(team).__name__}')
    return team._handle


def barrier(team: Team | None = None, stream: Stream = None) -> None:
    """Waits for all members; puts and atomics before it are complete after it. Collective over team, None: all PEs."""
    _native.barrier(_handle('barrier', team), stream)


def barrier_on_stream(team: Team | None = None, stream: Stream = None) -> None:
    """The stream goes on when those of all members have come here; puts on it before are complete then. Collective
    over team, None: all PEs. stream: None: the current one."""
    _native.barrier(_handle('barrier', team), 'current' if stream is None else stream)


def sync(team: Team | None = None) -> None:
    """Waits for all members; says nothing about puts. Collective over team, None: all PEs."""
    _native.sync(_handle('sync', team), None)


def sync_on_stream(team: Team | None = None, stream: Stream = None) -> None:
    """As barrier_on_stream, but says nothing about puts. stream: None: the current one."""
    _native.sync(_handle('sync', team), 'current' if stream is None else stream)


def check_streams(enabled: bool = True) -> None:
    """Whether collective calls on a stream are compared as those of the host are: with Mismatch if the PEs differ.
    Each of them then waits on the host until all members have made it. Collective over all PEs; off until it is called,
    and after finalize."""
    if not isinstance(enabled, bool):
        raise TypeError(f'check_streams: enabled is {enabled!r}, not True or False')
    need()
    _native.compare('gshmem.check_streams', TEAM_WORLD, f' with {enabled}')
    _native.check_streams(int(enabled))


def reduce(dest: Array, source: Array, op: str = 'sum', team: Team | None = None, stream: Stream = None) -> None:
    """dest on all members becomes source of all, combined element by element: op is sum, prod, min, max, and, or, xor.
    dest may be source. Both are symmetric, with as many elements on all members. Collective over team; None: all
    PEs."""
    _native.reduce(dest, source, op, _handle('reduce', team), stream)


def reduce_on_stream(dest: Array, source: Array, op: str = 'sum', team: Team | None = None,
                     stream: Stream = None) -> None:
    """As reduce, on a stream. None: the current stream."""
    _native.reduce(dest, source, op, _handle('reduce', team), 'current' if stream is None else stream)


def _reduction(dtype, op):
    """The addresses of the function and of that for streams, and the bytes of an element."""
    _choice('reduce', 'op', op, dict.fromkeys(REDUCTIONS))
    if dtype not in REDUCED:
        raise TypeError(f'reduce: there are no reductions of {dtype}')
    name = f'{REDUCED[dtype]}_{op}_reduce'
    if not hasattr(library, f'gshmem_{name}'):
        raise TypeError(f'reduce: there is no {op} of {dtype}')
    return *(ctypes.cast(getattr(library, function), ctypes.c_void_p).value
             for function in (f'gshmem_{name}', f'gshmemx_{name}_on_stream')), itemsize(dtype)


def broadcast(dest: Array, source: Array, root: int, team: Team | None = None, stream: Stream = None) -> None:
    """dest on all members becomes source of member root, a number in the team; dest may be source. Both are symmetric,
    with as many elements on all members. Collective over team, None: all PEs."""
    _native.broadcast(dest, source, root, _handle('broadcast', team), stream)


def broadcast_on_stream(dest: Array, source: Array, root: int, team: Team | None = None,
                        stream: Stream = None) -> None:
    """As broadcast, on a stream. None: the current stream."""
    _native.broadcast(dest, source, root, _handle('broadcast', team), 'current' if stream is None else stream)


def fcollect(dest: Array, source: Array, team: Team | None = None, stream: Stream = None) -> None:
    """dest becomes the sources of all members, one after the other (an all-gather). Both are symmetric; dest has n_pes
    times as many elements as source, which has as many on all members. Collective over team, None: all PEs."""
    _native.fcollect(dest, source, _handle('fcollect', team), stream)


def fcollect_on_stream(dest: Array, source: Array, team: Team | None = None, stream: Stream = None) -> None:
    """As fcollect, on a stream. None: the current stream."""
    _native.fcollect(dest, source, _handle('fcollect', team), 'current' if stream is None else stream)


def alltoall(dest: Array, source: Array, team: Team | None = None, stream: Stream = None) -> None:
    """Block i of source goes to member i, whose dest has it as the block of this member's number. Both are symmetric,
    and cut into as many equal blocks as the team has members. Collective over team, None: all PEs."""
    _native.alltoall(dest, source, _handle('alltoall', team), stream)


def alltoall_on_stream(dest: Array, source: Array, team: Team | None = None, stream: Stream = None) -> None:
    """As alltoall, on a stream. None: the current stream."""
    _native.alltoall(dest, source, _handle('alltoall', team), 'current' if stream is None else stream)


_native.bind_package(NotInitialized, check, describe_other, name_of_dtype, _reduction, current_stream)
