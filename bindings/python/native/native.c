/* SPDX-License-Identifier: Apache-2.0
 * The module's functions, and what it knows of the library and of the package. */
#include <dlfcn.h>
#include "native.h"

struct library library;
struct package package;

/* Of the library's handle. A program of Python is told of long waits, unless the environment says
 * otherwise. False with an exception. */
static bool bind_to(void *handle)
{
#define X(name)                                                               \
    *(void **)&library.name = dlsym(handle, #name);                           \
    if (library.name == NULL) {                                               \
        PyErr_Format(PyExc_ValueError, "the library has no function " #name); \
        return false;                                                         \
    }
    FOREACH_LIBRARY_FUNCTION(X)
#undef X
    library.is_bound = true;
    library.gshmemx_layer_offer_setting("GSHMEM_WAIT_NOTICE", "10");
    return true;
}

/* (handle of dlopen) */
static PyObject *native_bind_library(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    uint64_t word = 0;
    if (!check_count("bind_library", n, 1) ||
        !word_of("bind_library", "handle", arguments[0], &word))
        return NULL;
    return bind_to((void *)(uintptr_t)word) ? none() : NULL;
}

bool is_initialized(void)
{
    if (!library.is_bound) {
        /* An extension, or a program that has started the interpreter, may have begun the job. */
        void *handle = dlopen("libgshmem.so.0", RTLD_NOW | RTLD_NOLOAD);
        if (handle == NULL || !bind_to(handle))
            return false;
    }
    return library.gshmemx_init_status() != GSHMEM_STATUS_NOT_INITIALIZED;
}

/* What struct package has, in its order. */
static PyObject *native_bind_package(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    if (!check_count("bind_package", n, 6))
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        Py_IncRef(arguments[i]); /* they stay */
    package = (struct package){arguments[0], arguments[1], arguments[2],
                               arguments[3], arguments[4], arguments[5]};
    return none();
}

static PyObject *native_need(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    return need_job() ? none() : NULL;
}

static PyObject *native_is_initialized(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    const bool is = is_initialized();
    return PyErr_Occurred() == NULL ? PyBool_FromLong(is) : NULL;
}

#define METHOD(name)                                \
    {                                               \
#name, native_##name, PYTHON_FASTCALL, NULL \
    }

static PyMethodDef methods[] = {METHOD(bind_library),
                                METHOD(bind_package),
                                METHOD(need),
                                METHOD(set_forked_by),
                                METHOD(is_initialized),
                                METHOD(describe),
                                METHOD(address_of),
                                METHOD(check_pe),
                                METHOD(stream_of),
                                METHOD(use_torch_streams),
                                METHOD(use_cupy_streams),
                                METHOD(forget_streams),
                                METHOD(quiet_on_stream),
                                METHOD(watch_waits),
                                METHOD(wait_starts),
                                METHOD(wait_ends),
                                METHOD(main_wait),
                                METHOD(compare),
                                METHOD(put),
                                METHOD(put_nbi),
                                METHOD(get),
                                METHOD(get_nbi),
                                METHOD(put_signal),
                                METHOD(signal),
                                METHOD(signal_wait),
                                METHOD(quiet),
                                METHOD(fence),
                                METHOD(barrier),
                                METHOD(sync),
                                METHOD(reduce),
                                METHOD(broadcast),
                                METHOD(fcollect),
                                METHOD(alltoall),
                                METHOD(check_streams),
                                METHOD(wait_functions),
                                METHOD(end_starts),
                                METHOD(end_is_over),
                                METHOD(be_thread_pe),
                                METHOD(keep_for_stream),
                                METHOD(let_go),
                                {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {
    .head = {.references = 1}, .name = "gshmem._native", .size = -1, .methods = methods};

__attribute__((visibility("default"))) PyObject *PyInit__native(void);

PyObject *PyInit__native(void)
{
    return arguments_start() ? PyModule_Create2(&definition, PYTHON_ABI_VERSION) : NULL;
}
