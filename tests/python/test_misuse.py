# SPDX-License-Identifier: Apache-2.0
"""What programs do to arrays and calls by mistake: none of it ends in a segmentation fault. Each program is a process
of its own, or a job of two."""
import os
import subprocess
import sys

import pytest

import gshmem

LIMIT = 300  # seconds, on a machine that others use

ALONE = {
    'arrays of another thread': '''
import threading
gshmem.init()
made = []
def make():
    made.append(gshmem.zeros(1000))
    made.append(gshmem.zeros(1000))
for _ in range(2):
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
gshmem.free(made[0])
made[1][:] = 5
gshmem.finalize()
assert (made[1] == 5).all() and not made[3].any()
''',
    'an array that is free': '''
with gshmem.init():
    before = gshmem.zeros(10)
    a = gshmem.zeros(BIG, 'uint8')
    view, there = a[100:], a.on(0)
    a[:] = 1
    gshmem.free(a)
    raises(ValueError, 'put: dest is not symmetric', lambda: gshmem.put(a, a, 0))
    raises(ValueError, 'it is free already', lambda: gshmem.free(a))
    assert a[-1] == 0 and view[-1] == 0 and there[-1] == 0
    a[-1] = 7
    b = gshmem.zeros(BIG, 'uint8')
    assert not b.any()
    raises(ValueError, 'it is free already', lambda: gshmem.free(a))
    b[:] = 2
    gshmem.free(b)
for x in (a, view, there, b):
    x[0] = x[-1] = 4  # there is memory; what it held is undefined
assert not before.any()
''',
    'finalize while another thread waits': '''
import threading
gshmem.init()
word = gshmem.zeros(1, 'uint64')
waiting = threading.Event()
class Value:
    def __index__(self):  # the last thing before the wait; no other thread runs until it has begun
        waiting.set()
        return 1
sys.setswitchinterval(1000)
thread = threading.Thread(target=lambda: gshmem.signal_wait(word, '==', Value()))
thread.start()
waiting.wait()
raises(gshmem.Error, 'finalize: another thread of this process is in a call', gshmem.finalize)
gshmem.signal(word, 1, 0)
thread.join()
gshmem.finalize()
''',
    'arrays that streams still use': '''
with gshmem.init():
    word, a, b = gshmem.zeros(1, 'uint64'), gshmem.zeros(BIG, 'uint8'), gshmem.zeros(BIG, 'uint8')
    kernel = gshmem.compile('__global__ void k(char *to, const char *from, int n) { for (int i = 0; i < n; i++)'
                            ' to[i] = from[i]; }').k
    gshmem.signal_wait(word, '==', 1, stream=0)
    gshmem.put(a, numpy.full(BIG, 3, 'uint8'), 0, stream=0)
    gshmem.get(numpy.empty(BIG, 'uint8'), a, 0, stream=0)
    gshmem.put_signal(a[1:], numpy.full(BIG - 1, 4, 'uint8'), word, 2, 0, stream=0)
    kernel(1, 1, b, numpy.full(BIG, 5, 'uint8'), BIG)
    gshmem.signal(word, 1, 0)
    gshmem.synchronize()
    assert a[0] == 3 and (a[1:] == 4).all() and (b == 5).all()
''',
    'copies of an array': '''
import copy, pickle
with gshmem.init():
    a = gshmem.zeros(10)
    a[:] = 2
    for other in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a), a + 0, a[2:5].copy()):
        assert (other == 2).all()
        raises(ValueError, 'put: dest is not symmetric', lambda: gshmem.put(other, other, 0))
    raises(ValueError, 'put: dest is not contiguous', lambda: gshmem.put(a[::-1], a, 0))
    raises(ValueError, 'get: dest is not contiguous', lambda: gshmem.get(numpy.zeros(10, 'f4')[::-1], a, 0))
    raises(ValueError, 'put: source is not contiguous',
           lambda: gshmem.put(a, numpy.lib.stride_tricks.as_strided(a, (10,), (0,)), 0))
    raises(ValueError, 'put: dest is not symmetric',
           lambda: gshmem.put(*[numpy.lib.stride_tricks.as_strided(a, (1 << 40,))] * 2, 0))
''',
    'no elements': '''
with gshmem.init():
    for shape in (0, (0, 3), (3, 0)):
        a = gshmem.zeros(shape)
        gshmem.put(a, numpy.zeros(shape, 'f4'), 0)
        gshmem.get(numpy.zeros(shape, 'f4'), a.on(0), 0)
        for call in (gshmem.reduce, gshmem.fcollect, gshmem.alltoall, lambda d, s: gshmem.broadcast(d, s, 0)):
            call(a, a)
        gshmem.free(a)
    assert gshmem.zeros(()).shape == ()
''',
    'ends while threads wait': '''
import threading
gshmem.init()
word = gshmem.zeros(1, 'uint64')
waits = threading.Semaphore(0)
def wait():
    waits.release()
    gshmem.signal_wait(word, '==', 1)
for _ in range(3):
    threading.Thread(target=wait, daemon=True).start()
    waits.acquire()
''',
}

TOGETHER = {
    'views that outlive the job': '''
with gshmem.init():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    a = gshmem.zeros(BIG, 'uint8')
    a[:] = me + 1
    gshmem.barrier()
    there = a.on((me + 1) % n)
    part = there[5:9]
    dropped = gshmem.zeros(BIG, 'uint8').on((me + 1) % n)
assert (a == me + 1).all() and (there == (me + 1) % n + 1).all() and part[0] == there[0] and not dropped.any()
''',
    'views of what is free': '''
with gshmem.init():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    for _ in range(2):
        a = gshmem.zeros(BIG, 'uint8')
        there = a.on((me + 1) % n)
        gshmem.barrier()
        gshmem.free(a)
        assert there[-1] == 0
        there[-1] = 9
        gshmem.barrier()
        b = gshmem.zeros(BIG, 'uint8')
        b[:] = me + 1
        gshmem.barrier()
        new = b.on((me + 1) % n)
        assert (new == (me + 1) % n + 1).all()
        gshmem.barrier()
        gshmem.free(b)
for x in (there, new, a, b):
    x[0] = x[-1] = 4  # there is memory; what it held is undefined
''',
    'a process that is forked has arrays': '''
with gshmem.init():
    a = gshmem.zeros(10)
    there = a.on(gshmem.n_pes() - 1)
    a[:] = 3
    gshmem.barrier()
    child = os.fork()
    if child == 0:
        sys.exit(0 if a[0] == there[0] == 3 else 1)  # by the interpreter's own end
    assert os.waitpid(child, 0)[1] == 0
    gshmem.barrier()
''',
}

FIRST = '''
import os, re, sys
import numpy
import gshmem
BIG = 8 << 20
def raises(kind, words, call):
    try:
        call()
    except kind as e:
        assert re.search(words, str(e)), e
    else:
        raise AssertionError(f'not refused: {words}')
'''


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
                            env={**os.environ, 'GSHMEM_HEAP_KEEP': '0'})  # what is free is unmapped at once
    assert result.returncode == 0, f'status {result.returncode}\n{result.stdout}'


@pytest.mark.parametrize('what', ALONE)
def test_alone(what):
    run(sys.executable, '-X', 'faulthandler', '-c', FIRST + ALONE[what])


@pytest.mark.parametrize('what', TOGETHER)
def test_together(what):
    run('gshmemrun', '-n', '2', sys.executable, '-X', 'faulthandler', '-c', FIRST + TOGETHER[what])


# ---- PEs that are threads ---------------------------------------------------------------------


def test_views_outlive_threads():
    def function():
        a = gshmem.zeros(1000, 'int32')
        a[:] = gshmem.my_pe() + 1
        gshmem.barrier()
        return a, a.on((gshmem.my_pe() + 1) % 2)
    (a, of_b), (b, of_a) = gshmem.run_threads(2, function)
    assert (a == 1).all() and (of_a == 1).all() and (b == 2).all() and (of_b == 2).all()


def test_threads_that_finalize():
    def function():
        a = gshmem.zeros(1000, 'int32')
        a[:] = gshmem.my_pe() + 1
        gshmem.finalize()
        return a
    a, b = gshmem.run_threads(2, function)
    assert (a == 1).all() and (b == 2).all()


def wrong(kind, words, call):
    def function():
        with pytest.raises(kind, match=words):
            call()
        gshmem.barrier()
        return True
    assert gshmem.run_threads(2, function) == [True] * 2


def test_words_between_words():
    def word(dtype):
        return gshmem.zeros(9, 'u1')[1:].view(dtype)
    wrong(ValueError, 'atomic_add: word is not at a multiple of 8', lambda: gshmem.atomic_add(word('i8'), 1, 0))
    wrong(ValueError, 'wait: word is not at a multiple of 4', lambda: gshmem.wait(word('i4')[:1], '==', 0))
    wrong(ValueError, 'signal: signal is not at a multiple of 8', lambda: gshmem.signal(word('u8'), 1, 0))
    wrong(ValueError, 'signal_wait: signal is not at', lambda: gshmem.signal_wait(word('u8'), '==', 0))


def test_wrong_shapes_and_dtypes():
    for dtype in ('S', 'U', 'V'):
        wrong(TypeError, 'dtype: .* has elements of no bytes', lambda dtype=dtype: gshmem.zeros(4, dtype))
    wrong(TypeError, 'dtype: .* is an array itself', lambda: gshmem.zeros(4, '(2,3)f4'))
    wrong(ValueError, 'zeros: shape has 65 dimensions', lambda: gshmem.zeros((1,) * 65))
    wrong(ValueError, 'empty: shape .* has no elements, but', lambda: gshmem.empty((1 << 40, 1 << 40, 0)))


def test_wrong_teams():
    def destroyed():
        team = gshmem.Team.world.split(0, 1, 2)
        team.destroy()
        return team
    of_another_job = gshmem.run_threads(2, lambda: gshmem.Team.world.split(0, 1, 2))[0]
    for team in (destroyed, lambda: of_another_job):
        kind = TypeError if team is destroyed else ValueError
        wrong(kind, 'n_pes: ', lambda team=team: team().n_pes)
        wrong(kind, 'my_pe: ', lambda team=team: team().my_pe)
        wrong((kind, gshmem.Error), 'split|there is no team', lambda team=team: team().split(0, 1, 1))
        wrong(kind, 'reduce: team is ', lambda team=team: gshmem.reduce(gshmem.zeros(4), gshmem.zeros(4), team=team()))
        wrong(kind, 'alltoall: team is ', lambda team=team: gshmem.alltoall(*[gshmem.zeros(4)] * 2, team()))


def test_wrong_launches():
    def kernel():
        return gshmem.compile('__global__ void k(int *p) {}').k
    wrong(TypeError, 'k: shared is .x., not a whole number', lambda: kernel()(1, 1, gshmem.zeros(1, 'i4'), shared='x'))
    wrong(ValueError, 'k: shared is -1, not from 0', lambda: kernel()(1, 1, gshmem.zeros(1, 'i4'), shared=-1))
    wrong(TypeError, 'stream: .mine. is no stream', lambda: kernel()(1, 1, gshmem.zeros(1, 'i4'), stream='mine'))

    def function():
        kernel()(1, 1, gshmem.zeros(1, 'i4'), stream='current')
        gshmem.synchronize()
    gshmem.run_threads(2, function)


def test_wrong_counts():
    uid = gshmem.get_unique_id()
    for kind, words, call in (
            (ValueError, 'run_threads: n_pes is 0, not from 1', lambda: gshmem.run_threads(0, print)),
            (TypeError, "run_threads: n_pes is 'x', not a whole", lambda: gshmem.run_threads('x', print)),
            (TypeError, 'run_threads: n_pes is True, not a whole', lambda: gshmem.run_threads(True, print)),
            (TypeError, 'run_threads: function is of int', lambda: gshmem.run_threads(1, 5)),
            (ValueError, 'init: rank is 4294967296, not from 0 to 0', lambda: gshmem.init(uid, 1 << 32, 1)),
            (ValueError, 'init: n_pes is 0, not from 1', lambda: gshmem.init(uid, 0, 0)),
            (TypeError, "init: rank is 'a', not a whole", lambda: gshmem.init(uid, 'a', 1)),
            (TypeError, 'init: uid is of str, not bytes', lambda: gshmem.init('x' * 128, 0, 1))):
        with pytest.raises(kind, match=words):
            call()
