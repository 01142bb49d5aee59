/* SPDX-License-Identifier: Apache-2.0
 * The calls that programs make most often. Each checks its arguments and makes one call of the
 * library. A stream of None is the host's call. */
#include "native.h"

PyObject *checked(int result)
{
    if (result == 0)
        return none();
    PyObject *code = Py_BuildValue("i", result);
    if (code == NULL)
        return NULL;
    PyObject *unused = PyObject_CallFunctionObjArgs(package.check, code, NULL); /* raises it */
    Py_DecRef(code);
    return unused;
}

/* A call of the host that may wait for another PE: the network's window may be full, and a get
 * waits for its data. */
#define WAITING(what, call) \
    do {                    \
        wait_starts(what);  \
        UNLOCKED(call);     \
        wait_ends();        \
    } while (0)

/* Memory that goes with its last array, as that of the heap does not. */
static bool is_own(const void *address, size_t bytes)
{
    return bytes != 0 && !library.gshmemx_is_symmetric(address, bytes);
}

/* The stream is to use the array's memory. */
static void keep_own(const void *address, size_t bytes, PyObject *array, gshmemx_stream_t stream)
{
    if (is_own(address, bytes))
        keep_for_stream(array, stream);
}

/* ---- (dest, source, pe[, stream]) ---- */

static bool pair_and_pe(const char *call, PyObject *const *arguments, int symmetric,
                        struct pair *pair, int *pe)
{
    return describe_pair(call, arguments[0], arguments[1], symmetric, pair) &&
           pe_of(call, arguments[2], library.gshmem_n_pes(), pe);
}

PyObject *native_put(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct pair p;
    int pe = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count("put", n, 4) || !pair_and_pe("put", arguments, DEST_IS_SYMMETRIC, &p, &pe))
        return NULL;
    if (is_none(arguments[3])) {
        WAITING("gshmem.put", library.gshmem_putmem(p.dest, p.source, p.bytes, pe));
        return none();
    }
    if (!stream_of(arguments[3], arguments[0], &stream))
        return NULL;
    UNLOCKED(library.gshmemx_putmem_on_stream(p.dest, p.source, p.bytes, pe, stream));
    keep_own(p.source, p.bytes, arguments[1], stream);
    return none();
}

PyObject *native_put_nbi(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct pair p;
    int pe = 0;
    if (!check_count("put_nbi", n, 3) ||
        !pair_and_pe("put_nbi", arguments, DEST_IS_SYMMETRIC, &p, &pe))
        return NULL;
    if (is_own(p.source, p.bytes))
        keep_until_quiet(arguments[1]);
    WAITING("gshmem.put_nbi", library.gshmem_putmem_nbi(p.dest, p.source, p.bytes, pe));
    return none();
}

PyObject *native_get(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct pair p;
    int pe = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count("get", n, 4) || !pair_and_pe("get", arguments, SOURCE_IS_SYMMETRIC, &p, &pe))
        return NULL;
    if (is_none(arguments[3])) {
        WAITING("gshmem.get", library.gshmem_getmem(p.dest, p.source, p.bytes, pe));
        return none();
    }
    if (!stream_of(arguments[3], arguments[1], &stream))
        return NULL;
    UNLOCKED(library.gshmemx_getmem_on_stream(p.dest, p.source, p.bytes, pe, stream));
    keep_own(p.dest, p.bytes, arguments[0], stream);
    return none();
}

PyObject *native_get_nbi(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct pair p;
    int pe = 0;
    if (!check_count("get_nbi", n, 3) ||
        !pair_and_pe("get_nbi", arguments, SOURCE_IS_SYMMETRIC, &p, &pe))
        return NULL;
    if (is_own(p.dest, p.bytes))
        keep_until_quiet(arguments[0]);
    WAITING("gshmem.get_nbi", library.gshmem_getmem_nbi(p.dest, p.source, p.bytes, pe));
    return none();
}

/* ---- signals ---- */

/* (dest, source, signal, value, op, pe, stream); op is the library's. */
PyObject *native_put_signal(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    static const char call[] = "put_signal";
    struct pair p;
    int pe = 0, op = 0;
    uint64_t *signal = NULL, value = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count(call, n, 7) ||
        !describe_pair(call, arguments[0], arguments[1], DEST_IS_SYMMETRIC, &p) ||
        !pe_of(call, arguments[5], library.gshmem_n_pes(), &pe) ||
        !signal_of(call, arguments[2], &signal) || !word_of(call, "value", arguments[3], &value) ||
        !int_of(call, "op", arguments[4], &op))
        return NULL;
    if (is_none(arguments[6])) {
        WAITING("gshmem.put_signal",
                library.gshmem_putmem_signal(p.dest, p.source, p.bytes, signal, value, op, pe));
        return none();
    }
    if (!stream_of(arguments[6], arguments[0], &stream))
        return NULL;
    UNLOCKED(library.gshmemx_putmem_signal_on_stream(p.dest, p.source, p.bytes, signal, value, op,
                                                     pe, stream));
    keep_own(p.source, p.bytes, arguments[1], stream);
    return none();
}

/* (signal, value, op, pe, stream) */
PyObject *native_signal(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    static const char call[] = "signal";
    int pe = 0, op = 0;
    uint64_t *signal = NULL, value = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count(call, n, 5) || !need_job() || !signal_of(call, arguments[0], &signal) ||
        !word_of(call, "value", arguments[1], &value) || !int_of(call, "op", arguments[2], &op) ||
        !pe_of(call, arguments[3], library.gshmem_n_pes(), &pe))
        return NULL;
    if (is_none(arguments[4])) {
        WAITING("gshmem.signal", library.gshmemx_signal_op(signal, value, op, pe));
        return none();
    }
    if (!stream_of(arguments[4], arguments[0], &stream))
        return NULL;
    UNLOCKED(library.gshmemx_signal_op_on_stream(signal, value, op, pe, stream));
    return none();
}

/* (signal, comparison, value, stream) */
PyObject *native_signal_wait(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    static const char call[] = "signal_wait";
    int comparison = 0;
    uint64_t *signal = NULL, value = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count(call, n, 4) || !need_job() || !signal_of(call, arguments[0], &signal) ||
        !int_of(call, "comparison", arguments[1], &comparison) ||
        !word_of(call, "value", arguments[2], &value))
        return NULL;
    if (is_none(arguments[3])) {
        uint64_t seen = 0;
        wait_starts("gshmem.signal_wait");
        UNLOCKED(seen = library.gshmem_signal_wait_until(signal, comparison, value));
        wait_ends();
        return PyLong_FromUnsignedLongLong(seen);
    }
    if (!stream_of(arguments[3], arguments[0], &stream))
        return NULL;
    UNLOCKED(library.gshmemx_signal_wait_until_on_stream(signal, comparison, value, stream));
    return none();
}

/* ---- order, teams ---- */

PyObject *native_quiet(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    if (!need_job())
        return NULL;
    struct kept *kept = take_kept();
    WAITING("gshmem.quiet", library.gshmem_quiet());
    let_go_of(kept);
    let_go_of_streams();
    return none();
}

/* (stream) */
PyObject *native_quiet_on_stream(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    gshmemx_stream_t stream = NULL;
    if (!check_count("quiet_on_stream", n, 1) || !need_job() ||
        !stream_of(arguments[0], NULL, &stream))
        return NULL;
    UNLOCKED(library.gshmemx_quiet_on_stream(stream));
    return none();
}

PyObject *native_fence(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    if (!need_job())
        return NULL;
    WAITING("gshmem.fence", library.gshmem_fence());
    return none();
}

/* (team, stream); a team is its handle. */
PyObject *native_barrier(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int team = 0, result = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count("barrier", n, 2) || !need_job() ||
        !int_of("barrier", "team", arguments[0], &team))
        return NULL;
    if (is_none(arguments[1])) {
        if (!compare("gshmem.barrier", team, "%s", ""))
            return NULL;
        struct kept *kept = take_kept();
        WAITING("gshmem.barrier", result = library.gshmem_barrier(team));
        let_go_of(kept);
        let_go_of_streams();
        return checked(result);
    }
    if (!stream_of(arguments[1], NULL, &stream) ||
        (is_compared(true) && !compare("gshmem.barrier", team, "%s", " on a stream")))
        return NULL;
    UNLOCKED(result = library.gshmemx_barrier_on_stream(team, stream));
    return checked(result);
}

/* (team, stream) */
PyObject *native_sync(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int team = 0, result = 0;
    gshmemx_stream_t stream = NULL;
    if (!check_count("sync", n, 2) || !need_job() || !int_of("sync", "team", arguments[0], &team))
        return NULL;
    if (is_none(arguments[1])) {
        if (!compare("gshmem.sync", team, "%s", ""))
            return NULL;
        WAITING("gshmem.sync", result = library.gshmem_team_sync(team));
        return checked(result);
    }
    if (!stream_of(arguments[1], NULL, &stream) ||
        (is_compared(true) && !compare("gshmem.sync", team, "%s", " on a stream")))
        return NULL;
    UNLOCKED(result = library.gshmemx_team_sync_on_stream(team, stream));
    return checked(result);
}
