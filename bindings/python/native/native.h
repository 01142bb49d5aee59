/* SPDX-License-Identifier: Apache-2.0
 * The module gshmem._native: checks of arguments and the calls that programs make most often. It is
 * private to the package, whose Python functions have the documentation and call these with all
 * arguments by position. A function returns NULL with an exception set, as CPython's do. All of it
 * runs with the interpreter's lock, which is released around each call of the library. */
#ifndef GSHMEM_PYTHON_NATIVE_H
#define GSHMEM_PYTHON_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include "gshmem.h"
#include "gshmemx.h"
#include "cpu/cpu.h"
#include "python_abi.h"
#include "runtime/layer.h"

/* The library's functions, found by name in the library that Python has loaded. */
#define FOREACH_LIBRARY_FUNCTION(X)        \
    X(gshmemx_init_status)                 \
    X(gshmemx_is_symmetric)                \
    X(gshmem_n_pes)                        \
    X(gshmem_putmem)                       \
    X(gshmem_putmem_nbi)                   \
    X(gshmem_getmem)                       \
    X(gshmem_getmem_nbi)                   \
    X(gshmem_putmem_signal)                \
    X(gshmem_signal_wait_until)            \
    X(gshmemx_signal_op)                   \
    X(gshmem_quiet)                        \
    X(gshmem_fence)                        \
    X(gshmem_barrier)                      \
    X(gshmem_team_sync)                    \
    X(gshmemx_putmem_on_stream)            \
    X(gshmemx_getmem_on_stream)            \
    X(gshmemx_putmem_signal_on_stream)     \
    X(gshmemx_signal_op_on_stream)         \
    X(gshmemx_signal_wait_until_on_stream) \
    X(gshmemx_quiet_on_stream)             \
    X(gshmemx_barrier_on_stream)           \
    X(gshmemx_team_sync_on_stream)         \
    X(gshmem_team_n_pes)                   \
    X(gshmem_broadcastmem)                 \
    X(gshmem_fcollectmem)                  \
    X(gshmem_alltoallmem)                  \
    X(gshmemx_broadcastmem_on_stream)      \
    X(gshmemx_fcollectmem_on_stream)       \
    X(gshmemx_alltoallmem_on_stream)       \
    X(gshmemx_layer_compare)               \
    X(gshmemx_layer_offer_setting)         \
    X(gshmemx_device_name)                 \
    X(gshmemx_cpu_stream_enqueue)

struct library {
    bool is_bound; /* before this, no function is known */
#define X(name) __typeof__(name) *name;
    FOREACH_LIBRARY_FUNCTION(X)
#undef X
};
extern struct library library;

/* Whether this thread has a job, whoever has begun it. An exception is set if the library that the
 * process has is another one than the package's. */
bool is_initialized(void);

/* What the package has given to bind(). */
struct package {
    PyObject *not_initialized; /* an exception */
    PyObject *check;           /* (code): raises the library's error */
    PyObject *describe_other;  /* (call, argument, array): address, bytes, is_contiguous, dtype */
    PyObject *name_of_dtype;   /* (dtype): an interned string */
    PyObject *reduction;      /* (dtype's name, op): the host's function, that for streams, bytes */
    PyObject *current_stream; /* (array or None): a number; may call use_torch_streams */
};
extern struct package package;

/* Calls the library without the interpreter's lock. finalize asks whether other threads do. */
#define UNLOCKED(call)                      \
    do {                                    \
        call_starts();                      \
        void *thread = PyEval_SaveThread(); \
        call;                               \
        PyEval_RestoreThread(thread);       \
        call_ends();                        \
    } while (0)

static inline PyObject *none(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static inline bool is_none(const PyObject *object)
{
    return object == &_Py_NoneStruct;
}

/* ---- arguments.c: each returns false with an exception that names the call and the argument ----
 */

struct array {
    uint64_t address;
    uint64_t bytes;
    PyObject *type; /* its dtype's name, an interned string of which the caller owns a reference */
    bool is_read_only;
};

struct pair {
    void *dest, *source;
    size_t bytes;
    PyObject *type; /* borrowed: interned strings stay */
};

enum { DEST_IS_SYMMETRIC = 1, SOURCE_IS_SYMMETRIC = 2 };

bool arguments_start(void); /* once, before the others */
bool need_job(void);
bool check_count(const char *call, Py_ssize_t n, Py_ssize_t expected);
bool describe(const char *call, const char *argument, PyObject *object, bool is_symmetric,
              struct array *out);
/* Both symmetric; bytes is then of each of the blocks that they are cut into. */
bool describe_blocks(const char *call, PyObject *dest, PyObject *source, int dest_blocks,
                     int source_blocks, int n_members, struct pair *out);
bool describe_pair(const char *call, PyObject *dest, PyObject *source, int symmetric,
                   struct pair *out);
bool pe_of(const char *call, PyObject *object, int n_pes, int *out);
bool word_of(const char *call, const char *argument, PyObject *object, uint64_t *out);
bool int_of(const char *call, const char *argument, PyObject *object, int *out);
bool signal_of(const char *call, PyObject *object, uint64_t **out);
/* Neither of torch nor of numpy: of cupy, if it is an array. */
bool is_of_other_package(PyObject *object);
/* As word_of, for a number that is no argument; takes the reference. */
bool take_word(PyObject *number, uint64_t *out);

python_function native_describe, native_address_of, native_check_pe, native_set_forked_by;

/* ---- streams.c ---- */

/* array: that of the call, whose package's current stream 'current' is; NULL: it has none. */
bool stream_of(PyObject *object, PyObject *array, gshmemx_stream_t *out);

python_function native_stream_of, native_use_torch_streams, native_use_cupy_streams,
    native_forget_streams;

/* ---- waits.c: which call the main thread waits in, for Ctrl-C; whether calls are under way ----
 */

void call_starts(void);
void call_ends(void);
/* A thread has said that the job ends, by native_end_starts: for others there is none any more. */
bool is_ending(void);
void no_calls(void);

void wait_starts(const char *what); /* a text that stays */
void wait_ends(void);

python_function native_watch_waits, native_wait_starts, native_wait_ends, native_wait_functions,
    native_main_wait, native_end_starts, native_end_is_over;

/* ---- kept.c ---- */

struct kept;

/* An array that is not of the heap stays until this PE calls quiet. */
void keep_until_quiet(PyObject *array);
/* On the CPU device the object stays until what the stream has now is done. After the call that is
 * to use it. */
void keep_for_stream(PyObject *array, gshmemx_stream_t stream);
/* What waits for quiet so far, of which the caller lets go after quiet. */
struct kept *take_kept(void);
void let_go_of(struct kept *taken);
void let_go_of_streams(void);
/* Whether the PE is the process, not the thread that calls. */
bool is_pe_of_process(void);

python_function native_be_thread_pe, native_keep_for_stream, native_let_go;

/* ---- compare.c ----
 *
 * Every collective call begins with this if it is_compared: all members of the team compare what
 * they are about to do. False, with an exception on all of them: they differ. wait: the call's
 * name, a text that stays. format: what it is called with. */
bool compare(const char *wait, int team, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Those on a stream are compared only after check_streams, since nobody waits in them otherwise. */
bool is_compared(bool is_on_stream);

python_function native_compare, native_check_streams;

/* ---- calls.c, collectives.c ---- */

PyObject *checked(int result); /* None for 0, else an exception with the library's text */

python_function native_put, native_put_nbi, native_get, native_get_nbi, native_put_signal,
    native_signal, native_signal_wait, native_quiet, native_quiet_on_stream, native_fence,
    native_barrier, native_sync, native_reduce, native_broadcast, native_fcollect, native_alltoall;

#endif
