/* SPDX-License-Identifier: Apache-2.0
 * Which call the main thread waits in. Written by the main thread and read by the one that hears of
 * Ctrl-C (_start.py), both with the interpreter's lock. */
#include <pthread.h>
#include "native.h"

static struct {
    bool is_watched;
    pthread_t main_thread;
    const char *what; /* NULL outside of waits */
    unsigned long long number;
} waits;

static bool is_main(void)
{
    return waits.is_watched && pthread_equal(pthread_self(), waits.main_thread) != 0;
}

void wait_starts(const char *what)
{
    if (is_main()) {
        waits.number++;
        waits.what = what;
    }
}

void wait_ends(void)
{
    if (is_main())
        waits.what = NULL;
}

/* (): the thread that calls is the main thread. */
PyObject *native_watch_waits(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    waits.main_thread = pthread_self();
    waits.is_watched = true;
    return none();
}

/* (what): a string that lives until wait_ends. */
PyObject *native_wait_starts(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    if (!check_count("wait_starts", n, 1))
        return NULL;
    const char *what = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    if (what == NULL)
        return NULL;
    wait_starts(what);
    return none();
}

PyObject *native_wait_ends(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    wait_ends();
    return none();
}

/* (): the addresses of wait_starts and wait_ends, for other C code of the package; called with the
 * interpreter's lock. */
PyObject *native_wait_functions(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)wait_starts,
                         (unsigned long long)(uintptr_t)wait_ends);
}

/* (): None, or what the main thread waits in and the wait's number. */
PyObject *native_main_wait(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    return waits.what == NULL ? none() : Py_BuildValue("sK", waits.what, waits.number);
}
