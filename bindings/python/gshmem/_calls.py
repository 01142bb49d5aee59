# SPDX-License-Identifier: Apache-2.0
"""Calls between PEs. Each checks its arguments and makes one call of the library.

Arrays are contiguous. A `dest` of put and a `source` of get name the array of the other PE by the array of this one.
stream: a CUDA stream as torch, cupy or an integer have it; None: on GPUs torch's current stream if the call is made
`on_stream`, else the call is the host's and returns when it is complete."""
from ._arrays import check_pe, describe, itemsize
from ._errors import check
from ._library import COMPARISONS, FLOATS, REDUCED, REDUCTIONS, SIGNAL_OPS, TEAM_INVALID, TEAM_WORLD, WORDS, library
from ._start import need, waiting


def my_pe():
    """The number of this PE, from 0."""
    need()
    return library.gshmem_my_pe()


def n_pes():
    """How many PEs the job has."""
    need()
    return library.gshmem_n_pes()


def _stream_of(stream):
    if isinstance(stream, int):
        return stream
    for attribute in ('cuda_stream', 'ptr'):  # torch's, cupy's
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    if stream == 'current':
        import torch
        return torch.cuda.current_stream().cuda_stream
    raise TypeError(f'stream: {type(stream).__name__} is no stream')


def _pair(call, dest, source, symmetric, pe):
    """Addresses of two arrays of the same size and type, and the PE."""
    need()
    d_address, d_bytes, d_type = describe(call, 'dest', dest, 'dest' in symmetric)
    s_address, s_bytes, s_type = describe(call, 'source', source, 'source' in symmetric)
    if d_type != s_type:
        raise TypeError(f'{call}: dest is of {d_type}, source of {s_type}')
    if d_bytes != s_bytes:
        raise ValueError(f'{call}: dest has {d_bytes} bytes, source {s_bytes}')
    return d_address, s_address, d_bytes, check_pe(call, pe)


# ---- put, get ---------------------------------------------------------------------------------


def put(dest, source, pe, stream=None):
    """Copies source to dest on PE pe. Returns when source may be reused; complete at dest after quiet or a barrier."""
    d, s, n, pe = _pair('put', dest, source, ('dest',), pe)
    if stream is not None:
        library.gshmemx_putmem_on_stream(d, s, n, pe, _stream_of(stream))
    else:
        library.gshmem_putmem(d, s, n, pe)


def put_nbi(dest, source, pe):
    """As put, but source must stay as it is until quiet."""
    d, s, n, pe = _pair('put_nbi', dest, source, ('dest',), pe)
    library.gshmem_putmem_nbi(d, s, n, pe)


def get(dest, source, pe, stream=None):
    """Copies source of PE pe to dest. Returns when dest has it."""
    d, s, n, pe = _pair('get', dest, source, ('source',), pe)
    if stream is not None:
        library.gshmemx_getmem_on_stream(d, s, n, pe, _stream_of(stream))
    else:
        library.gshmem_getmem(d, s, n, pe)


def get_nbi(dest, source, pe):
    """As get, but dest has it only after quiet."""
    d, s, n, pe = _pair('get_nbi', dest, source, ('source',), pe)
    library.gshmem_getmem_nbi(d, s, n, pe)


def quiet():
    """Waits until this PE's puts, gets and atomics are complete."""
    need()
    with waiting('gshmem.quiet'):
        library.gshmem_quiet()


def fence():
    """Puts and atomics to a PE before it take effect before those after it."""
    need()
    library.gshmem_fence()


# ---- signals, waits, atomics ------------------------------------------------------------------


def _signal(call, signal):
    address, nbytes, name = describe(call, 'signal', signal, True)
    if nbytes != 8 or name not in ('uint64', 'int64'):
        raise TypeError(f'{call}: signal is {nbytes} bytes of {name}, not one element of uint64')
    return address


def _choice(call, argument, value, choices):
    if value not in choices:
        raise ValueError(f'{call}: {argument} is {value!r}, not one of {", ".join(choices)}')
    return choices[value]


def put_signal(dest, source, signal, value, pe, op='set', stream=None):
    """As put; then the signal of PE pe becomes value (op 'set') or grows by it ('add'). A PE that sees the signal sees
    the data. signal: one element of uint64."""
    d, s, n, pe = _pair('put_signal', dest, source, ('dest',), pe)
    at, op = _signal('put_signal', signal), _choice('put_signal', 'op', op, SIGNAL_OPS)
    if stream is not None:
        library.gshmemx_putmem_signal_on_stream(d, s, n, at, value, op, pe, _stream_of(stream))
    else:
        library.gshmem_putmem_signal(d, s, n, at, value, op, pe)


def signal(signal, value, pe, op='set', stream=None):
    """Sets or adds to the signal of PE pe."""
    need()
    at, pe = _signal('signal', signal), check_pe('signal', pe)
    op = _choice('signal', 'op', op, SIGNAL_OPS)
    if stream is not None:
        library.gshmemx_signal_op_on_stream(at, value, op, pe, _stream_of(stream))
    else:
        library.gshmemx_signal_op(at, value, op, pe)


def signal_wait(signal, comparison, value, stream=None):
    """Waits until this PE's signal compares so with value: '==', '!=', '>', '>=', '<', '<='. Returns what it then is
    (None on a stream)."""
    need()
    at = _signal('signal_wait', signal)
    comparison = _choice('signal_wait', 'comparison', comparison, COMPARISONS)
    if stream is not None:
        library.gshmemx_signal_wait_until_on_stream(at, comparison, value, _stream_of(stream))
        return None
    with waiting('gshmem.signal_wait'):
        return library.gshmem_signal_wait_until(at, comparison, value)


def wait(word, comparison, value):
    """Waits until this PE's word, one element of int32, int64, uint32 or uint64, compares so with value."""
    need()
    address, name = _word('wait', word, WORDS)
    comparison = _choice('wait', 'comparison', comparison, COMPARISONS)
    with waiting('gshmem.wait'):
        getattr(library, f'gshmem_{name}_wait_until')(address, comparison, value)


def test(word, comparison, value):
    """Whether this PE's word compares so with value now."""
    need()
    address, name = _word('test', word, WORDS)
    comparison = _choice('test', 'comparison', comparison, COMPARISONS)
    return bool(getattr(library, f'gshmem_{name}_test')(address, comparison, value))


def _word(call, word, types):
    address, nbytes, name = describe(call, 'word', word, True)
    if name not in types:
        raise TypeError(f'{call}: word is of {name}, not of {", ".join(types)}')
    if nbytes != (8 if name.endswith('64') else 4):
        raise ValueError(f'{call}: word has {nbytes} bytes: give one element, such as a[3:4]')
    return address, FLOATS[name][0] if name in FLOATS else name


def _atomic(operation, word, values, pe):
    need()
    call = f'atomic_{operation}'
    types = {**WORDS, **FLOATS} if operation in ('fetch', 'set', 'swap') else WORDS
    address, name = _word(call, word, types)
    return getattr(library, f'gshmem_{name}_{call}')(address, *values, check_pe(call, pe))


def atomic_fetch(word, pe):
    """The word of PE pe. word: one element of int32, int64, uint32, uint64, float32 or float64."""
    return _atomic('fetch', word, (), pe)


def atomic_set(word, value, pe):
    """Sets the word of PE pe."""
    _atomic('set', word, (value,), pe)


def atomic_swap(word, value, pe):
    """Sets the word of PE pe and returns what it was."""
    return _atomic('swap', word, (value,), pe)


def atomic_compare_swap(word, expected, value, pe):
    """Sets the word of PE pe if it is `expected`; returns what it was. One element of int32, int64, uint32, uint64, as
    in the calls below."""
    return _atomic('compare_swap', word, (expected, value), pe)


def atomic_add(word, value, pe):
    """Adds to the word of PE pe."""
    _atomic('add', word, (value,), pe)


def atomic_fetch_add(word, value, pe):
    """Adds to the word of PE pe and returns what it was."""
    return _atomic('fetch_add', word, (value,), pe)


def atomic_and(word, value, pe):
    """Ands value to the word of PE pe."""
    _atomic('and', word, (value,), pe)


def atomic_or(word, value, pe):
    """Ors value to the word of PE pe."""
    _atomic('or', word, (value,), pe)


def atomic_xor(word, value, pe):
    """Exclusive-ors value to the word of PE pe."""
    _atomic('xor', word, (value,), pe)


# ---- teams and collectives --------------------------------------------------------------------


class Team:
    """PEs that make collective calls together. Team.world has all of them."""

    def __init__(self, handle):
        self._handle = handle

    @property
    def my_pe(self):
        """This PE's number in the team."""
        need()
        return library.gshmem_team_my_pe(self._handle)

    @property
    def n_pes(self):
        need()
        return library.gshmem_team_n_pes(self._handle)

    def split(self, start, stride, size):
        """The team of `size` members of this one: start, start + stride, and so on. Collective over this team; returns
        None on PEs that are not members of the new one."""
        import ctypes
        need()
        new = ctypes.c_int32(TEAM_INVALID)
        with waiting('gshmem.Team.split'):
            check(library.gshmem_team_split_strided(self._handle, start, stride, size, None, 0, ctypes.byref(new)))
        return None if new.value == TEAM_INVALID else Team(new.value)

    def translate(self, pe, other):
        """The number in team `other` of the member pe of this one; -1 if it is no member of it."""
        need()
        return library.gshmem_team_translate_pe(self._handle, check_pe('translate', pe, self.n_pes), other._handle)

    def destroy(self):
        """Collective over the team."""
        need()
        if self._handle in (TEAM_WORLD, TEAM_INVALID):
            raise ValueError('destroy: this team cannot be destroyed, or is already')
        library.gshmem_team_destroy(self._handle)
        self._handle = TEAM_INVALID


Team.world = Team(TEAM_WORLD)


def _handle(call, team):
    need()
    if team is None:
        return TEAM_WORLD
    if not isinstance(team, Team) or team._handle == TEAM_INVALID:
        raise TypeError(f'{call}: team is {"destroyed" if isinstance(team, Team) else type(team).__name__}')
    return team._handle


def barrier(team=None, stream=None):
    """Waits for all members; puts and atomics before it are complete after it. team: None for all PEs."""
    handle = _handle('barrier', team)
    if stream is not None:
        check(library.gshmemx_barrier_on_stream(handle, _stream_of(stream)))
        return
    with waiting('gshmem.barrier'):
        check(library.gshmem_barrier(handle))


def sync(team=None):
    """Waits for all members; says nothing about puts."""
    handle = _handle('sync', team)
    with waiting('gshmem.sync'):
        check(library.gshmem_team_sync(handle))


def _collective(name, call, arguments, stream):
    with waiting(f'gshmem.{call}'):
        if stream is not None:
            check(getattr(library, f'gshmemx_{name}_on_stream')(*arguments, _stream_of(stream)))
        else:
            check(getattr(library, f'gshmem_{name}')(*arguments))


def _collective_pair(call, team, dest, source, dest_blocks, source_blocks):
    handle = _handle(call, team)
    n = library.gshmem_team_n_pes(handle)
    d, d_bytes, d_type = describe(call, 'dest', dest, True)
    s, s_bytes, s_type = describe(call, 'source', source, True)
    if d_type != s_type:
        raise TypeError(f'{call}: dest is of {d_type}, source of {s_type}')
    d_block = d_bytes // n if dest_blocks else d_bytes
    s_block = s_bytes // n if source_blocks else s_bytes
    if d_block != s_block or (dest_blocks and d_bytes % n) or (source_blocks and s_bytes % n):
        raise ValueError(f'{call}: dest has {d_bytes} bytes and source {s_bytes}, for {n} members')
    return handle, d, s, s_block, s_type


def reduce(dest, source, op='sum', team=None, stream=None):
    """dest on all members becomes source of all, combined element by element: op is sum, prod, min, max, and, or, xor.
    dest may be source. Both are symmetric, of the same type and size on all members."""
    handle, d, s, nbytes, name = _collective_pair('reduce', team, dest, source, False, False)
    _choice('reduce', 'op', op, dict.fromkeys(REDUCTIONS))
    if name not in REDUCED:
        raise TypeError(f'reduce: there are no reductions of {name}')
    function = f'{REDUCED[name]}_{op}_reduce'
    if not hasattr(library, f'gshmem_{function}'):
        raise TypeError(f'reduce: there is no {op} of {name}')
    _collective(function, 'reduce', (handle, d, s, nbytes // itemsize(name)), stream)


def broadcast(dest, source, root, team=None, stream=None):
    """dest on all members becomes source of member root; dest may be source."""
    handle, d, s, nbytes, _ = _collective_pair('broadcast', team, dest, source, False, False)
    root = check_pe('broadcast', root, library.gshmem_team_n_pes(handle))
    _collective('broadcastmem', 'broadcast', (handle, d, s, nbytes, root), stream)


def fcollect(dest, source, team=None, stream=None):
    """dest becomes the sources of all members, one after the other (an all-gather)."""
    handle, d, s, nbytes, _ = _collective_pair('fcollect', team, dest, source, True, False)
    _collective('fcollectmem', 'fcollect', (handle, d, s, nbytes), stream)


def alltoall(dest, source, team=None, stream=None):
    """Block i of source goes to member i, whose dest has it as the block of this member's number."""
    handle, d, s, nbytes, _ = _collective_pair('alltoall', team, dest, source, True, True)
    _collective('alltoallmem', 'alltoall', (handle, d, s, nbytes), stream)
