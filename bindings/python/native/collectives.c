/* SPDX-License-Identifier: Apache-2.0
 * Collective calls. All end with (team, stream): a team is its handle, a stream of None the host.
 */
#include <stdio.h>
#include "native.h"

/* What all of them take. Returns false with an exception. */
struct call {
    const char *name, *wait;
    int team, n_members;
    bool is_on_stream;
    gshmemx_stream_t stream;
};

static bool start(struct call *call, PyObject *const *arguments, Py_ssize_t n, Py_ssize_t expected)
{
    if (!check_count(call->name, n, expected) || !need_job() ||
        !int_of(call->name, "team", arguments[n - 2], &call->team))
        return false;
    call->is_on_stream = !is_none(arguments[n - 1]);
    call->n_members = library.gshmem_team_n_pes(call->team);
    if (call->n_members <= 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s: team is of a job that has ended, or this PE is no member of it",
                     call->name);
        return false;
    }
    return !call->is_on_stream || stream_of(arguments[n - 1], arguments[0], &call->stream);
}

static const char *text_of(PyObject *string)
{
    const char *text = PyUnicode_AsUTF8AndSize(string, NULL);
    if (text == NULL)
        PyErr_Clear();
    return text != NULL ? text : "?";
}

/* The pair is that of dest and source. */
static bool is_same(const struct call *call, const struct pair *pair, const char *arrays,
                    const char *argument, const char *value)
{
    return !is_compared(call->is_on_stream) ||
           compare(call->wait, call->team, "%s with %s of %zu bytes of %s%s%s",
                   call->is_on_stream ? " on a stream" : "", arrays, pair->bytes,
                   text_of(pair->type), argument, value);
}

#define RUN(call, on_host, on_stream)       \
    do {                                    \
        int result = 0;                     \
        if ((call)->is_on_stream) {         \
            UNLOCKED(result = (on_stream)); \
        } else {                            \
            wait_starts((call)->wait);      \
            UNLOCKED(result = (on_host));   \
            wait_ends();                    \
        }                                   \
        return checked(result);             \
    } while (0)

/* (dest, source, root, team, stream) */
PyObject *native_broadcast(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct call c = {.name = "broadcast", .wait = "gshmem.broadcast"};
    struct pair p;
    int root = 0;
    if (!start(&c, arguments, n, 5) ||
        !describe_blocks(c.name, arguments[0], arguments[1], 1, 1, c.n_members, &p) ||
        !pe_of(c.name, arguments[2], c.n_members, &root))
        return NULL;
    char root_text[16];
    snprintf(root_text, sizeof(root_text), "%d", root);
    if (!is_same(&c, &p, "dest and source", ", root ", root_text))
        return NULL;
    RUN(&c, library.gshmem_broadcastmem(c.team, p.dest, p.source, p.bytes, root),
        library.gshmemx_broadcastmem_on_stream(c.team, p.dest, p.source, p.bytes, root, c.stream));
}

/* (dest, source, team, stream) */
PyObject *native_fcollect(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct call c = {.name = "fcollect", .wait = "gshmem.fcollect"};
    struct pair p;
    if (!start(&c, arguments, n, 4) ||
        !describe_blocks(c.name, arguments[0], arguments[1], c.n_members, 1, c.n_members, &p) ||
        !is_same(&c, &p, "source", "", ""))
        return NULL;
    RUN(&c, library.gshmem_fcollectmem(c.team, p.dest, p.source, p.bytes),
        library.gshmemx_fcollectmem_on_stream(c.team, p.dest, p.source, p.bytes, c.stream));
}

/* (dest, source, team, stream) */
PyObject *native_alltoall(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct call c = {.name = "alltoall", .wait = "gshmem.alltoall"};
    struct pair p;
    if (!start(&c, arguments, n, 4) ||
        !describe_blocks(c.name, arguments[0], arguments[1], c.n_members, c.n_members, c.n_members,
                         &p) ||
        !is_same(&c, &p, "blocks", "", ""))
        return NULL;
    RUN(&c, library.gshmem_alltoallmem(c.team, p.dest, p.source, p.bytes),
        library.gshmemx_alltoallmem_on_stream(c.team, p.dest, p.source, p.bytes, c.stream));
}

/* A reduction of one type and operation: all have these types but for the elements'. */
typedef int host_reduction(gshmem_team_t, void *, const void *, size_t);
typedef int stream_reduction(gshmem_team_t, void *, const void *, size_t, gshmemx_stream_t);

struct reduction {
    host_reduction *on_host;
    stream_reduction *on_stream;
    size_t element_bytes;
};

/* By the package's table, whose rows are kept. */
static bool find_reduction(PyObject *type, PyObject *op, struct reduction *out)
{
    static PyObject *known; /* (type, op): row */
    static PyObject *last_type, *last_op;
    static struct reduction last;
    if (type == last_type && op == last_op) {
        *out = last;
        return true;
    }
    if (known == NULL && (known = PyDict_New()) == NULL)
        return false;
    PyObject *key = Py_BuildValue("OO", type, op);
    if (key == NULL)
        return false;
    PyObject *row = PyDict_GetItemWithError(known, key);
    if (row == NULL && PyErr_Occurred() == NULL) {
        row = PyObject_CallFunctionObjArgs(package.reduction, type, op, NULL);
        if (row != NULL) {
            PyDict_SetItem(known, key, row);
            Py_DecRef(row);
        }
    }
    Py_DecRef(key);
    if (row == NULL || PyErr_Occurred() != NULL)
        return false;
    out->on_host = (host_reduction *)(uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, 0));
    out->on_stream =
        (stream_reduction *)(uintptr_t)PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, 1));
    out->element_bytes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, 2));
    if (PyErr_Occurred() != NULL)
        return false;
    Py_IncRef(op); /* another object may be equal to the table's */
    if (last_op != NULL)
        Py_DecRef(last_op);
    last_type = type;
    last_op = op;
    last = *out;
    return true;
}

/* (dest, source, op, team, stream) */
PyObject *native_reduce(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct call c = {.name = "reduce", .wait = "gshmem.reduce"};
    struct pair p;
    struct reduction r;
    if (!start(&c, arguments, n, 5) ||
        !describe_blocks(c.name, arguments[0], arguments[1], 1, 1, c.n_members, &p) ||
        !find_reduction(p.type, arguments[2], &r) ||
        !is_same(&c, &p, "dest and source", ", op ", text_of(arguments[2])))
        return NULL;
    RUN(&c, r.on_host(c.team, p.dest, p.source, p.bytes / r.element_bytes),
        r.on_stream(c.team, p.dest, p.source, p.bytes / r.element_bytes, c.stream));
}
