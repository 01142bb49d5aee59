# SPDX-License-Identifier: Apache-2.0
"""Init and finalize; PEs that are threads; what happens on Ctrl-C."""
from __future__ import annotations

import ctypes
import operator
import os
import signal
import sys
import threading

from . import _native
from ._errors import Error, Mismatch, check
from ._library import TEAM_WORLD, library

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar
    Result = TypeVar('Result')

_VERSION_SIZE = 1 << 16


class _UniqueId(ctypes.Structure):
    _fields_ = [('version', ctypes.c_int), ('internal', ctypes.c_char * 124)]


class _UniqueIdArgs(ctypes.Structure):
    _fields_ = [('version', ctypes.c_int), ('id', ctypes.c_void_p), ('myrank', ctypes.c_int),
                ('nranks', ctypes.c_int)]


class _ThreadArgs(ctypes.Structure):
    _fields_ = [('version', ctypes.c_int), ('key', ctypes.c_void_p), ('my_pe', ctypes.c_int), ('n_pes', ctypes.c_int)]


class _Args(ctypes.Structure):
    _fields_ = [('version', ctypes.c_int), ('uid_args', _UniqueIdArgs), ('thread_args', _ThreadArgs),
                ('reserved', ctypes.c_char * 64)]


class _Attr(ctypes.Structure):
    _fields_ = [('version', ctypes.c_int), ('mpi_comm', ctypes.c_void_p), ('args', _Args)]


def _new_attr():
    attr = _Attr()
    for struct in (attr, attr.args, attr.args.uid_args, attr.args.thread_args):
        struct.version = _VERSION_SIZE + ctypes.sizeof(struct)
    return attr


_WITH_THREADS, _WITH_UNIQUEID = 1, 8


_after_use = []  # called before finalize: _arrays.py keeps what lives in the heap
thread = threading.local()  # kept: in a thread that is a PE by itself, the list of what run_threads calls in the end

need = _native.need  # raises NotInitialized


_n_inits = 0


def job_number():
    """Differs from job to job of this process."""
    return _n_inits


def is_initialized() -> bool:
    """Whether this thread, or the process if PEs are processes, is a PE."""
    return _native.is_initialized()


def get_unique_id() -> bytes:
    """A new id as bytes. Call it in one process of the job, carry the bytes to the others, and give them to
    init(uid=...) in all; that process serves the rendezvous until all have come."""
    uid = _UniqueId()
    uid.version = _VERSION_SIZE + ctypes.sizeof(uid)
    check(library.gshmemx_get_uniqueid(ctypes.byref(uid)))
    return bytes(uid)


def _uid_by_torch():
    """rank, n_pes, uid if torchrun has started this process, or torch.distributed is initialised; else None."""
    torch_distributed = sys.modules.get('torch.distributed')
    if torch_distributed is not None and torch_distributed.is_available() and torch_distributed.is_initialized():
        rank, n_pes = torch_distributed.get_rank(), torch_distributed.get_world_size()
        box = [get_unique_id() if rank == 0 else None]
        torch_distributed.broadcast_object_list(box, 0)
        return rank, n_pes, box[0]
    if 'TORCHELASTIC_RUN_ID' not in os.environ:
        return None
    from torch.distributed import rendezvous
    store, rank, n_pes = next(rendezvous('env://'))
    if rank == 0:
        store.set('gshmem/uid', get_unique_id())
    return rank, n_pes, store.get('gshmem/uid')


def whole_number(call, argument, value, least, end=1 << 31):
    """value as an int from least to end - 1. Errors name the call and the argument."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f'{call}: {argument} is {value!r}, not a whole number') from None
    if not least <= number < end:
        raise ValueError(f'{call}: {argument} is {number}, not from {least} to {end - 1}')
    return number


def init(uid: bytes | None = None, rank: int | None = None, n_pes: int | None = None) -> Session:
    """Makes this process a PE of the job that gshmemrun, mpirun, srun --mpi=pmix or torchrun has started; without a
    launcher, the only PE. uid, rank, n_pes: the id of get_unique_id() from one process, this process's number, and how
    many there are. Collective over the job. Returns an object for `with`, which finalizes in the end.

    Raises Error with the library's text; the process may go on without gshmem."""
    global _n_inits
    if is_initialized():
        raise Error('init: this PE is initialised already')
    if uid is None and (rank is not None or n_pes is not None):
        raise ValueError('init: rank and n_pes need a uid')
    flags, attr, keep = 0, None, None
    if uid is None:
        by_torch = _uid_by_torch()
        if by_torch is not None:
            rank, n_pes, uid = by_torch
    if uid is not None:
        if rank is None or n_pes is None:
            raise ValueError('init: a uid needs rank and n_pes')
        n_pes = whole_number('init', 'n_pes', n_pes, 1)
        rank = whole_number('init', 'rank', rank, 0, n_pes)
        if not isinstance(uid, (bytes, bytearray)):
            raise TypeError(f'init: uid is of {type(uid).__name__}, not bytes')
        if len(uid) != ctypes.sizeof(_UniqueId):
            raise ValueError(f'init: uid has {len(uid)} bytes, not the {ctypes.sizeof(_UniqueId)} of get_unique_id()')
        keep, attr, flags = _UniqueId.from_buffer_copy(uid), _new_attr(), _WITH_UNIQUEID
        check(library.gshmemx_set_attr_uniqueid_args(rank, n_pes, ctypes.byref(keep), ctypes.byref(attr)))
    with waiting('gshmem.init'):
        check(library.gshmemx_init_attr(flags, ctypes.byref(attr) if attr is not None else None))
        check(library.gshmemx_device_setup())
    _n_inits += 1
    return Session()


class Session:
    """What init returns: `with gshmem.init(): ...` finalizes in the end."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if not is_initialized():
            return
        status = None if kind is None else _status_of(value)
        if status is None:
            finalize()
            return
        if not isinstance(value, SystemExit):  # the others would wait for this PE: end the job with a text
            import traceback
            traceback.print_exception(kind, value, trace)
        elif isinstance(value.code, str):
            print(value.code, file=sys.stderr, flush=True)
        library.gshmem_global_exit(status)


def _status_of(exception):
    """What a process exits with that leaves by this exception; None if all is well."""
    if not isinstance(exception, SystemExit):
        return 1
    code = exception.code
    return None if code in (None, 0) else code if isinstance(code, int) else 1


def finalize() -> None:
    """Collective. Ends this PE's part in the job. Arrays that still exist keep their contents, as private memory.
    Raises Mismatch if other PEs make another collective call, such as free; this PE then goes on as one of the job.
    Raises Error if another thread of the process is in a call of gshmem; meanwhile none can begin one."""
    need()
    if not _native.end_starts():
        raise Error('finalize: another thread of this process is in a call of gshmem')
    try:
        _native.compare('gshmem.finalize', TEAM_WORLD, '')
        kept = _end()
    finally:
        _native.end_is_over()
    for restore in kept:
        restore()
    if hasattr(thread, 'kept'):
        thread.kept += kept  # what other PEs of this process have mapped still, they restore in the end


def _end():
    """Returns what to call when no PE of this process has memory mapped any more."""
    with waiting('gshmem.finalize'):
        library.gshmem_barrier_all()
        _native.check_streams(0)  # all PEs have come: no call is under way
        kept = [keep() for keep in _after_use]
        library.gshmem_finalize()
        _native.let_go()
        _native.forget_streams()
    return kept


def run_threads(n_pes: int, function: Callable[..., Result], *args: Any) -> list[Result]:
    """Calls function(*args) in n_pes threads of this process, each a PE of one job: for notebooks and tests. Returns
    the list of what they returned, by PE. An exception in one is raised here after all have ended; it ends the job of
    the others only if they wait for that PE longer than GSHMEM_WAIT_TIMEOUT."""
    if is_initialized():
        raise Error('run_threads: this process is a PE already')
    n_pes = whole_number('run_threads', 'n_pes', n_pes, 1)
    if not callable(function):
        raise TypeError(f'run_threads: function is of {type(function).__name__}, which cannot be called')
    key = ctypes.create_string_buffer(1)
    results, errors, kept = [None] * n_pes, [], []

    def main(pe):
        global _n_inits
        attr = _new_attr()
        _native.be_thread_pe(1)
        thread.kept = kept
        try:
            check(library.gshmemx_set_attr_thread_args(pe, n_pes, ctypes.addressof(key), ctypes.byref(attr)))
            check(library.gshmemx_init_attr(_WITH_THREADS, ctypes.byref(attr)))
            check(library.gshmemx_device_setup())
            _n_inits += 1
        except BaseException as e:
            errors.append(e)
            return
        try:
            results[pe] = function(*args)
        except BaseException as e:
            errors.append(e)
        while is_initialized():
            try:
                _native.compare('gshmem.finalize', TEAM_WORLD, '')
            except Mismatch:
                continue  # raised in the others, too, whose function goes on
            kept.extend(_end())

    # Ctrl-C raises KeyboardInterrupt here while they may wait in the library for ever: the process ends all the same.
    threads = [threading.Thread(target=main, args=(pe,), name=f'PE {pe}', daemon=True) for pe in range(n_pes)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for restore in kept:
        restore()
    if errors:
        raise errors[0]
    return results


# ---- fork -------------------------------------------------------------------------------------

_forking_pe = None


def _before_fork():
    global _forking_pe
    _forking_pe = library.gshmem_my_pe() if is_initialized() else None


def _in_child():
    """The library has forgotten its parent's PEs; Ctrl-C is Python's own again, as nobody reads our pipe here."""
    global _is_watching
    if _forking_pe is not None:
        _native.set_forked_by(_forking_pe)
    if _is_watching:
        _is_watching = False
        signal.set_wakeup_fd(-1)


os.register_at_fork(before=_before_fork, after_in_child=_in_child)


# ---- Ctrl-C -----------------------------------------------------------------------------------
#
# Python's own handler runs only between its instructions: a thread that waits inside the library would never see it.
# So a thread of ours hears of each SIGINT. If the main thread is still in the same wait a moment later, the process
# ends as one that Ctrl-C has ended, and says where it waited.

_INTERRUPT_AFTER_S = 0.5
_is_watching = False


class waiting:
    """with waiting('gshmem.barrier_all'): the library may wait for other PEs."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        _native.wait_starts(self.what)

    def __exit__(self, *unused):
        _native.wait_ends()


def _watch(reader):
    import time
    while True:
        numbers = os.read(reader, 64)
        if not numbers:
            return
        if signal.SIGINT not in numbers:
            continue
        before = _native.main_wait()
        time.sleep(_INTERRUPT_AFTER_S)
        if before is not None and _native.main_wait() == before:
            os.write(2, f'gshmem: interrupted in {before[0]}\n'.encode())
            os._exit(128 + signal.SIGINT)


def watch_interrupts():
    """Called on import. Does nothing if the program or another library handles SIGINT or uses the wake-up file."""
    global _is_watching
    if _is_watching or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if previous != -1:
        signal.set_wakeup_fd(previous)
        os.close(reader)
        os.close(writer)
        return
    _is_watching = True
    _native.watch_waits()
    threading.Thread(target=_watch, args=(reader,), daemon=True, name='gshmem-interrupt').start()
