# SPDX-License-Identifier: Apache-2.0
"""Each call, by three PEs that are threads of this process."""
import numpy
import pytest

import gshmem

N = 3


def on_pes(function):
    """The function runs on all PEs; it returns what must be True on each."""
    def test():
        assert gshmem.run_threads(N, function) == [True] * N
    test.__name__ = function.__name__
    return test


@on_pes
def test_put_and_get():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    a = gshmem.zeros((4, 5), 'int32')
    gshmem.put(a, numpy.full((4, 5), me, 'int32'), (me + 1) % n)
    gshmem.barrier()
    got = numpy.empty((4, 5), 'int32')
    gshmem.get(got, a, (me + 1) % n)
    gshmem.get_nbi(b := numpy.empty(5, 'int32'), a[2], me)
    gshmem.quiet()
    good = (a == (me - 1) % n).all() and (got == me).all() and (b == (me - 1) % n).all()
    gshmem.barrier()
    gshmem.put_nbi(a[1], numpy.arange(5, dtype='int32'), (me + 1) % n)
    gshmem.fence()
    gshmem.quiet()
    gshmem.barrier()
    return bool(good and a[1].tolist() == [0, 1, 2, 3, 4])


@on_pes
def test_signals():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    box, signals = gshmem.zeros(100, 'float64'), gshmem.zeros(2, 'uint64')
    for i in range(1, 20):
        gshmem.put_signal(box, numpy.full(100, float(i * me)), signals[:1], i, (me + 1) % n)
        if gshmem.signal_wait(signals[:1], '>=', i) < i or (box != i * ((me - 1) % n)).any():
            return False
        gshmem.signal(signals[1:], 1, (me - 1) % n, 'add')  # taken: the next may come
        gshmem.signal_wait(signals[1:], '==', i)
    return True


@on_pes
def test_atomics_and_waits():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    for dtype in ('int32', 'uint32', 'int64', 'uint64'):
        w = gshmem.zeros(4, dtype)
        for _ in range(100):
            gshmem.atomic_add(w[:1], 1, 0)
        old = gshmem.atomic_fetch_add(w[1:2], 5, 0)
        gshmem.barrier()
        if gshmem.atomic_fetch(w[:1], 0) != 100 * n or old not in (0, 5, 10):
            return False
        if me == 0:
            for to in range(1, n):
                gshmem.atomic_set(w[2:3], 7, to)
        else:
            gshmem.wait(w[2:3], '==', 7)
            if not gshmem.test(w[2:3], '>', 6) or gshmem.test(w[2:3], '!=', 7):
                return False
        gshmem.atomic_or(w[3:], 1 << me, 0)
        gshmem.barrier()
        if gshmem.atomic_swap(w[3:], 9, me) != (7 if me == 0 else 0):
            return False
        if gshmem.atomic_compare_swap(w[3:], 9, 4, me) != 9 or w[3] != 4:
            return False
        gshmem.atomic_xor(w[3:], 6, me)
        gshmem.atomic_and(w[3:], 3, me)
        if w[3] != 2:
            return False
    f = gshmem.zeros(1, 'float32')
    gshmem.atomic_set(f, 1.5, me)
    return gshmem.atomic_swap(f, 2.5, me) == 1.5 and gshmem.atomic_fetch(f, me) == 2.5


@on_pes
def test_collectives():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    for dtype in ('int8', 'uint16', 'int64', 'float16', 'float32', 'float64', 'complex64'):
        s, d = gshmem.zeros(6, dtype), gshmem.zeros(6, dtype)
        s[:] = [me + 1, 2, 3, 1, 1, me]
        gshmem.barrier()
        gshmem.reduce(d, s)
        if d.tolist() != [n * (n + 1) / 2, 2 * n, 3 * n, n, n, n * (n - 1) / 2]:
            return False
        gshmem.reduce(d, s, 'prod')
        if d[0] != 6 or d[5] != 0:
            return False
    gshmem.reduce(d := gshmem.zeros(6, 'int64'), s := gshmem.zeros(6, 'int64'), 'max')
    s[:] = me
    gshmem.broadcast(d, s, root=1)
    if (d != 1).any():
        return False
    wide = gshmem.zeros(6 * n, 'int64')
    gshmem.fcollect(wide, s)
    if wide.tolist() != [r for r in range(n) for _ in range(6)]:
        return False
    wide[:] = [100 * me + i for i in range(6 * n)]
    out = gshmem.zeros(6 * n, 'int64')
    gshmem.alltoall(out, wide)
    return out.tolist() == [100 * r + 6 * me + i for r in range(n) for i in range(6)]


@on_pes
def test_calls_on_streams():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    right, left = (me + 1) % n, (me - 1) % n
    a, b, word = gshmem.zeros(6, 'int64'), gshmem.zeros(6 * n, 'int64'), gshmem.zeros(2, 'uint64')
    c, got, mine = gshmem.zeros(6 * n, 'int64'), numpy.zeros(6, 'int64'), numpy.full(6, me)
    twice = 2 * mine
    for stream in (None, 'current', 0):
        a[:] = -1
        word[:] = 0
        gshmem.barrier_on_stream(stream=stream)
        gshmem.put_on_stream(a, mine, right, stream)
        gshmem.barrier_on_stream(None, stream)
        gshmem.get_on_stream(got, a, right, stream)
        gshmem.signal_on_stream(word[1:], 3, left, 'add', stream)
        gshmem.signal_wait_on_stream(word[1:], '==', 3, stream)
        gshmem.synchronize()
        if (a != left).any() or (got != me).any() or word[1] != 3:
            return False
        gshmem.barrier(stream=stream or 0)
        gshmem.put_signal_on_stream(a, twice, word[:1], 1, right, stream=stream)
        gshmem.signal_wait_on_stream(word[:1], '>=', 1, stream=stream)
        gshmem.fcollect_on_stream(b, a, stream=stream)
        gshmem.synchronize()
        if b.tolist() != [2 * ((pe - 1) % n) for pe in range(n) for _ in range(6)]:
            return False
        gshmem.alltoall_on_stream(c, b, stream=stream)
        gshmem.reduce_on_stream(a, a, 'sum', stream=stream)
        gshmem.broadcast_on_stream(b[:6], a, 1, stream=stream)
        gshmem.quiet_on_stream(stream)
        gshmem.sync_on_stream(stream=stream)
        gshmem.synchronize()
        gshmem.barrier()
        if (b[:6] != n * (n - 1)).any() or c.tolist() != [2 * ((me - 1) % n)] * (6 * n):
            return False
    return True


@on_pes
def test_teams():
    world = gshmem.Team.world
    outer = world.split(0, 2, 2)
    if gshmem.my_pe() == 1:
        return outer is None
    x = gshmem.Team.n_pes.fget(outer), outer.my_pe, outer.translate(1, world)
    gshmem.sync(outer)
    gshmem.barrier(outer)
    outer.destroy()
    return x == (2, gshmem.my_pe() // 2, 2)


@on_pes
def test_views_of_near_pes():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    a = gshmem.zeros(10, 'int16')
    a[:] = me
    gshmem.barrier()
    there = a.on((me + 1) % n)
    good = (there == (me + 1) % n).all() and (gshmem.on(a[3:5], me) == me).all()
    gshmem.barrier()
    there[9] = 77
    gshmem.barrier()
    return bool(good and a[9] == 77 and type(a) is gshmem.Array)


@on_pes
def test_memory_comes_back():
    for _ in range(50):
        a = gshmem.zeros(1 << 20, 'uint8')
        a[:] = 1
        gshmem.free(a)
    return True


def test_arrays_outlive_finalize():
    def keep():
        a = gshmem.zeros(1000, 'int32')
        a[:] = gshmem.my_pe()
        return a
    arrays = gshmem.run_threads(N, keep)
    for pe, a in enumerate(arrays):
        assert (a == pe).all()
        a[:] = 5
    assert not gshmem.is_initialized()


# ---- kernels ----------------------------------------------------------------------------------

KERNELS = r'''
struct pair { int a, b; };
extern "C" __global__ void fill(int *x, int n, double factor, short more, pair p)
{
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        x[i] = (int)(i * factor) + more + p.a * p.b;
}
__global__ void to_the_right(int *x, int value) { gshmem_int_p(x, value, (gshmem_my_pe() + 1) % gshmem_n_pes()); }
__global__ void meet(long *n)
{
    extern __shared__ char bytes[];
    gshmemx_barrier_all_block();
    if (threadIdx.x == 0)
        *n = gshmem_long_atomic_fetch_add(n, 1, gshmem_my_pe()) + 10;
}
'''


@on_pes
def test_kernels():
    module = gshmem.compile(KERNELS.replace('extern __shared__ char bytes[];', ''))
    x = gshmem.zeros(100, 'int32')
    module.fill((2, 1), 32, x, 100, 2.5, 3, numpy.array([2, 5], 'int32').tobytes())
    gshmem.synchronize()
    good = x.tolist() == [int(i * 2.5) + 13 for i in range(100)]
    gshmem.barrier()
    module.to_the_right(1, 1, x, gshmem.my_pe() + 70)
    gshmem.synchronize()
    gshmem.barrier()
    n = gshmem.zeros(1, 'int64')
    module.meet(1, 64, n, collective=True)
    gshmem.synchronize()
    return good and x[0] == 70 + (gshmem.my_pe() - 1) % N and n[0] == 10


def test_wrong_kernels():
    def compiled():
        return gshmem.compile('__global__ void k(int *p, float f) {}')
    wrong(ValueError, 'compile: the source has no kernel', lambda: gshmem.compile('int x;'))
    wrong(gshmem.Error, 'kernel.cu:2', lambda: gshmem.compile('__global__ void k() {\n nonsense; }'))
    wrong(TypeError, 'k: 1 arguments for 2 parameters', lambda: compiled().k(1, 1, 3))
    wrong(TypeError, 'k: argument 0: str is no array', lambda: compiled().k(1, 1, 'x', 1.0))
    wrong(TypeError, 'k: argument 1 is an array', lambda: compiled().k(1, 1, gshmem.zeros(1), gshmem.zeros(1)))
    wrong(ValueError, 'k: block is', lambda: compiled().k(1, 0, gshmem.zeros(1), 1.0))
    wrong(ValueError, 'which is 5000 threads; a block can have 1024',
          lambda: compiled().k(1, (50, 100), gshmem.zeros(1), 1.0))
    wrong(ValueError, 'k: grid is .4294967296, 1, 1.; it can have',
          lambda: compiled().k(1 << 32, 1, gshmem.zeros(1), 1.0))
    wrong(TypeError, 'k: grid is 1.5, not a number', lambda: compiled().k(1.5, 1, gshmem.zeros(1), 1.0))
    wrong(AttributeError, 'there is no kernel other among k', lambda: compiled().other)


# ---- what is wrong has a name -----------------------------------------------------------------


def wrong(kind, words, call):
    def function():
        with pytest.raises(kind, match=words):
            call()
        gshmem.barrier()
        return True
    assert gshmem.run_threads(N, function) == [True] * N


def test_wrong_arguments():
    zeros = gshmem.zeros
    wrong(ValueError, 'put: dest is not symmetric', lambda: gshmem.put(numpy.zeros(4), numpy.zeros(4), 0))
    wrong(ValueError, 'put: pe is 3, and there are 3', lambda: gshmem.put(zeros(4, 'i4'), numpy.zeros(4, 'i4'), 3))
    wrong(ValueError, 'put: pe is -1', lambda: gshmem.put(zeros(4, 'i4'), numpy.zeros(4, 'i4'), -1))
    wrong(TypeError, 'put: dest is of int32, source of float64', lambda: gshmem.put(zeros(4, 'i4'), numpy.zeros(2), 0))
    wrong(ValueError, 'put: dest has 16 bytes, source 8', lambda: gshmem.put(zeros(4, 'i4'), numpy.zeros(2, 'i4'), 0))
    fixed = numpy.zeros(4, 'i4')
    fixed.flags.writeable = False
    wrong(ValueError, 'get: dest is read-only', lambda: gshmem.get(fixed, zeros(4, 'i4'), 0))
    fixed = numpy.zeros(4, 'M8[s]')  # a dtype that has no format
    fixed.flags.writeable = False
    wrong(ValueError, 'get: dest is read-only', lambda: gshmem.get(fixed, zeros(4, 'i8').view('M8[s]'), 0))
    wrong(ValueError, 'get: source is not contiguous', lambda: gshmem.get(numpy.zeros(4, 'i4'), zeros(8, 'i4')[::2], 0))
    wrong(TypeError, 'put: source: list is no array', lambda: gshmem.put(zeros(4), [1, 2, 3, 4], 0))
    class HalfAnArray:  # without what arrays have besides
        __array_interface__ = {'data': (0, False), 'shape': (4,), 'typestr': '<f4', 'version': 3}
    wrong(TypeError, 'put: source: HalfAnArray is no array', lambda: gshmem.put(zeros(4), HalfAnArray(), 0))
    wrong(TypeError, 'atomic_add: word: HalfAnArray is no', lambda: gshmem.atomic_add(HalfAnArray(), 1, 0))
    wrong(TypeError, 'Team: handle is of str; split makes', lambda: gshmem.Team('world'))
    wrong(TypeError, 'put: source: bytes is no array', lambda: gshmem.put(zeros(4, 'u1'), b'abcd', 0))
    wrong(TypeError, 'put: pe is True, not a', lambda: gshmem.put(zeros(4, 'i4'), numpy.zeros(4, 'i4'), True))
    wrong(TypeError, 'get: pe is 1.0, not a', lambda: gshmem.get(numpy.zeros(4, 'i4'), zeros(4, 'i4'), 1.0))
    wrong(ValueError, 'put_nbi: pe is 36893', lambda: gshmem.put_nbi(zeros(4), zeros(4), 1 << 65))
    wrong(TypeError, "stream: 'mine' is no stream", lambda: gshmem.put(zeros(4), zeros(4), 0, 'mine'))
    wrong(TypeError, 'stream: 1.5 is no stream', lambda: gshmem.barrier(stream=1.5))
    wrong(TypeError, 'stream: True is no stream', lambda: gshmem.reduce(zeros(4), zeros(4), stream=True))
    wrong(TypeError, "signal: value is 'x', not a", lambda: gshmem.signal(zeros(1, 'u8'), 'x', 0))
    wrong(OverflowError, 'put_signal: value is 18446744073709551616, which',
          lambda: gshmem.put_signal(zeros(4), zeros(4), zeros(1, 'u8'), 1 << 64, 0))
    wrong(TypeError, 'barrier: team is int', lambda: gshmem.barrier(0))
    wrong(ValueError, "reduce: op is 'avg', not one of", lambda: gshmem.reduce(zeros(4), zeros(4), 'avg'))
    wrong(ValueError, 'reduce: dest has 16 bytes and source 12', lambda: gshmem.reduce(zeros(4), zeros(3)))
    wrong(ValueError, 'alltoall: dest has 16 bytes and s', lambda: gshmem.alltoall(zeros(4), zeros(4)))
    wrong(TypeError, 'signal: signal is 4 bytes of int32', lambda: gshmem.signal(zeros(1, 'i4'), 1, 0))
    wrong(ValueError, "signal: op is 'sub', not one of set, add", lambda: gshmem.signal(zeros(1, 'u8'), 1, 0, 'sub'))
    wrong(ValueError, "wait: comparison is '=', not one of", lambda: gshmem.wait(zeros(1, 'i8'), '=', 0))
    wrong(ValueError, 'atomic_add: word has 16 bytes', lambda: gshmem.atomic_add(zeros(2, 'i8'), 1, 0))
    wrong(TypeError, 'atomic_add: word is of float32', lambda: gshmem.atomic_add(zeros(1, 'f4'), 1, 0))
    wrong(TypeError, 'reduce: there is no and of float32', lambda: gshmem.reduce(zeros(4), zeros(4), 'and'))
    wrong(ValueError, 'fcollect: dest has 16 bytes and source 16', lambda: gshmem.fcollect(zeros(4), zeros(4)))
    wrong(ValueError, 'broadcast: pe is 9', lambda: gshmem.broadcast(zeros(4), zeros(4), 9))
    wrong(TypeError, 'atomic_add: value is 1.5, not a number for int32',
          lambda: gshmem.atomic_add(zeros(1, 'i4'), 1.5, 0))
    wrong(OverflowError, 'atomic_set: value is 4294967296, which has no room in int32',
          lambda: gshmem.atomic_set(zeros(1, 'i4'), 1 << 32, 0))
    wrong(TypeError, "wait: value is 'x', not a number", lambda: gshmem.wait(zeros(1, 'i8'), '==', 'x'))
    wrong(TypeError, 'get: dest is of >i4, source of int32',
          lambda: gshmem.get(numpy.zeros(4, '>i4'), zeros(4, 'i4'), 0))
    wrong(TypeError, "split: start is 'a', not a number", lambda: gshmem.Team.world.split('a', 1, 1))
    wrong(TypeError, 'translate: team is int', lambda: gshmem.Team.world.translate(0, 1))
    wrong(TypeError, r'reduce: there are no reductions of datetime64\[s\]',
          lambda: gshmem.reduce(zeros(4, 'M8[s]'), zeros(4, 'M8[s]')))
    wrong(ValueError, 'a.i. is a copy of an element', lambda: gshmem.atomic_add(zeros(4, 'i8')[1], 1, 0))
    wrong(ValueError, 'stream: 7 is no stream', lambda: gshmem.put(zeros(4), zeros(4), 0, 7))
    wrong(ValueError, 'stream: -1 is no stream', lambda: gshmem.barrier(stream=-1))
    wrong(TypeError, 'compile: source is NoneType, not a string', lambda: gshmem.compile(None))
    wrong(TypeError, "dtype: 'nonsense' is no dtype", lambda: zeros(4, 'nonsense'))
    wrong(TypeError, 'dtype: numpy has no bfloat16', lambda: zeros(4, 'bfloat16'))
    wrong(TypeError, "zeros: shape is 2.5, not a", lambda: zeros(2.5))
    wrong(TypeError, r"empty: shape is \(2, None\), not a", lambda: gshmem.empty((2, None)))
    wrong(TypeError, 'dtype: object holds', lambda: gshmem.zeros(4, object))
    wrong(ValueError, 'negative dimension', lambda: gshmem.zeros((4, -1)))
    wrong(ValueError, 'free: this is not an array that', lambda: gshmem.free(numpy.zeros(3)))


def test_what_belongs_to_another_job():
    """Arrays and kernels of a job that has ended, in one with another count of PEs."""
    def first():
        return gshmem.zeros(4, 'i4'), gshmem.compile('__global__ void k(int *x) { x[0] = gshmem_n_pes(); }')
    (array, module), = gshmem.run_threads(1, first)
    with pytest.raises(gshmem.NotInitialized):
        module.k(1, 1, array)
    with pytest.raises(gshmem.NotInitialized):
        array.on(0)
    wrong(ValueError, 'put: dest is not symmetric', lambda: gshmem.put(array, array, 0))
    wrong(ValueError, 'reduce: dest is not symmetric', lambda: gshmem.reduce(array, array))
    wrong(ValueError, 'on: array is not symmetric', lambda: array.on(0))
    wrong(ValueError, 'free: this is not an array that', lambda: gshmem.free(array))

    def again():
        x = gshmem.zeros(1, 'i4')
        module.k(1, 1, x)
        gshmem.synchronize()
        return x[0] == N
    assert gshmem.run_threads(N, again) == [True] * N


def test_memory_that_is_not_there():
    for n in (1 << 50, (1 << 64) + 1, 1 << 100):
        wrong(MemoryError, f'empty: no {n} bytes', lambda n=n: gshmem.empty(n, 'uint8'))


def test_different_calls():
    """What differs between PEs is refused on all of them, which then go on: wrong() has a barrier."""
    def array():
        return gshmem.zeros(2 * N, 'int32')

    def last(a, b):
        return a if gshmem.my_pe() == N - 1 else b
    wrong(gshmem.Mismatch, r'PE 0 calls gshmem.zeros with shape \(10,\), dtype float32, PE 1 calls .* \(11,\)',
          lambda: gshmem.zeros(10 + gshmem.my_pe()))
    wrong(gshmem.Mismatch, r'zeros with shape \(3, 2\), dtype float32, PE 2 .* shape \(2, 3\)',
          lambda: gshmem.zeros(last((2, 3), (3, 2))))
    wrong(gshmem.Mismatch, 'gshmem.empty with .* dtype int8, PE 2 .* dtype uint8',
          lambda: gshmem.empty(4, last('uint8', 'int8')))
    wrong(gshmem.Mismatch, 'reduce with dest and source of 4 bytes of int32, op sum, PE 1 .* of 8 bytes',
          lambda: gshmem.reduce(*[array()[:1 + gshmem.my_pe()]] * 2))
    wrong(gshmem.Mismatch, 'op min, PE 2 .* op max', lambda: gshmem.reduce(*[array()] * 2, last('max', 'min')))
    wrong(gshmem.Mismatch, 'root 1, PE 2 .* root 0', lambda: gshmem.broadcast(array(), array(), last(0, 1)))
    wrong(gshmem.Mismatch, 'fcollect with source of 8 bytes of int32, PE 2 .* of 4 bytes',
          lambda: (lambda a, n: gshmem.fcollect(a[:N * n], a[:n]))(array(), last(1, 2)))
    wrong(gshmem.Mismatch, 'alltoall with blocks of 8 bytes of int32, PE 2 .* of 4 bytes',
          lambda: (lambda a, n: gshmem.alltoall(a[:N * n], a[:N * n]))(array(), last(1, 2)))
    wrong(gshmem.Mismatch, 'Team.split with start 0, stride 1, size 3, PE 2 .* size 2',
          lambda: gshmem.Team.world.split(0, 1, last(2, 3)))
    wrong(gshmem.Mismatch, 'PE 0 calls gshmem.barrier, PE 2 calls gshmem.sync',
          lambda: last(gshmem.sync, gshmem.barrier)())


def last_of_all():
    """A call on a stream that PE 0 makes when all others have made it, and waits for nobody."""
    word = gshmem.zeros(1, 'uint64')
    if gshmem.my_pe() == 0:
        gshmem.signal_wait(word, '==', N - 1)
    gshmem.barrier(stream=0)
    if gshmem.my_pe() != 0:
        gshmem.signal(word, 1, 0, 'add')
    gshmem.synchronize()
    return True


def test_different_calls_on_streams():
    """Compared after check_streams: nothing is enqueued if they differ."""
    def function():
        me, team = gshmem.my_pe(), gshmem.Team.world.split(0, 2, 2)
        x, y = gshmem.zeros(N * N, 'int32'), gshmem.zeros(N * N, 'int32')

        def differ(words, call):
            with pytest.raises(gshmem.Mismatch, match=words):
                call()
        differ('check_streams with True, PE 1 calls gshmem.check_streams with False',
               lambda: gshmem.check_streams(me != 1))
        gshmem.check_streams()
        differ('reduce on a stream with dest and source of 4 bytes of int32, op sum, PE 1 .* of 8 bytes',
               lambda: gshmem.reduce(x[:1 + me], x[:1 + me], stream=0))
        differ('reduce on a stream .*, op sum, PE 1 .*, op max',
               lambda: gshmem.reduce(x, x, 'max' if me == 1 else 'sum', stream='current'))
        differ('broadcast on a stream .* root 0, PE 1 .* root 1',
               lambda: gshmem.broadcast(y, x, int(me == 1), stream=0))
        differ('fcollect on a stream with source of 4 bytes of int32, PE 1 .* of 8 bytes',
               lambda: gshmem.fcollect(y[:N * (1 + me)], x[:1 + me], stream=0))
        differ('alltoall on a stream with blocks of 4 bytes of int32, PE 1 .* of 8 bytes',
               lambda: gshmem.alltoall(y[:N * (1 + me)], x[:N * (1 + me)], stream=0))
        differ('PE 0 calls gshmem.barrier on a stream, PE 1 calls gshmem.barrier',
               lambda: gshmem.barrier(stream=None if me == 1 else 0))
        if team is not None:
            differ('PE 0 calls gshmem.barrier on a stream, PE 2 calls gshmem.reduce on a stream',
                   lambda: gshmem.reduce(x, x, team=team, stream=0) if me else gshmem.barrier(team, stream=0))
        gshmem.synchronize()
        assert not x.any() and not y.any()
        x[:] = me
        gshmem.reduce(x, x, stream=0)
        gshmem.barrier(stream=0)
        gshmem.synchronize()
        assert (x == N * (N - 1) // 2).all()
        gshmem.check_streams(False)
        return last_of_all()
    assert gshmem.run_threads(N, function) == [True] * N


def test_check_streams_ends_with_the_job():
    assert gshmem.run_threads(N, lambda: gshmem.check_streams()) == [None] * N
    assert gshmem.run_threads(N, last_of_all) == [True] * N


def test_different_frees():
    """Nothing is freed then: the PEs agree on what to do afterwards."""
    def function():
        a, b = gshmem.zeros(4), gshmem.zeros(8)
        is_odd = gshmem.my_pe() == 1
        for words, call in (
                ('free of array 1, 16 bytes, PE 1 calls gshmem.free of array 2, 32 bytes',
                 lambda: gshmem.free(b if is_odd else a)),
                ('calls gshmem.barrier, PE 1 calls gshmem.free of array 1',
                 lambda: gshmem.free(a) if is_odd else gshmem.barrier()),
                ('calls gshmem.free of array 1, 16 bytes, PE 1 calls gshmem.reduce',
                 lambda: gshmem.reduce(a, a) if is_odd else gshmem.free(a)),
                ('calls gshmem.empty with .*, PE 1 calls gshmem.free of array 1',
                 lambda: gshmem.free(a) if is_odd else gshmem.empty(3))):
            with pytest.raises(gshmem.Mismatch, match=words):
                call()
        a[:] = b[:4] = 1
        gshmem.free(b)
        gshmem.free(a)
        return True
    assert gshmem.run_threads(N, function) == [True] * N


def test_different_calls_of_a_team():
    def function():
        team = gshmem.Team.world.split(0, 2, 2)
        if team is not None:
            with pytest.raises(gshmem.Mismatch, match='PE 0 calls gshmem.barrier, PE 2 calls gshmem.sync'):
                gshmem.sync(team) if team.my_pe else gshmem.barrier(team)
            with pytest.raises(gshmem.Mismatch, match='PE 0 calls gshmem.Team.destroy, PE 2 calls gshmem.barrier'):
                gshmem.barrier(team) if team.my_pe else team.destroy()
            team.destroy()
        gshmem.barrier()
        return True
    assert gshmem.run_threads(N, function) == [True] * N


def test_a_pe_that_ends_while_others_wait():
    def function():
        if gshmem.my_pe() == 1:
            raise KeyError('on purpose')
        with pytest.raises(gshmem.Mismatch, match='PE 0 calls gshmem.barrier, PE 1 calls gshmem.finalize'):
            gshmem.barrier()
    with pytest.raises(KeyError, match='on purpose'):
        gshmem.run_threads(N, function)


def test_outside_of_init():
    for call in (gshmem.my_pe, gshmem.barrier, gshmem.quiet, gshmem.finalize, lambda: gshmem.zeros(3),
                 lambda: gshmem.put(numpy.zeros(1), numpy.zeros(1), 0), lambda: gshmem.Team.world.n_pes):
        with pytest.raises(gshmem.NotInitialized):
            call()


def test_wrong_start():
    with pytest.raises(ValueError, match='init: rank and n_pes need a uid'):
        gshmem.init(rank=0, n_pes=1)
    with pytest.raises(ValueError, match='init: uid has 3 bytes'):
        gshmem.init(uid=b'abc', rank=0, n_pes=1)
    with pytest.raises(ValueError, match='init: rank is 5, not from 0 to 1'):
        gshmem.init(uid=gshmem.get_unique_id(), rank=5, n_pes=2)
