/* SPDX-License-Identifier: Apache-2.0
 * Which call the main thread waits in, written by the main thread and read by the one that hears of
 * Ctrl-C (_start.py); and how many calls of the library are under way. All of it with the
 * interpreter's lock. */
#include <pthread.h>
#include "native.h"

static struct {
    bool is_watched;
    pthread_t main_thread;
    const char *what; /* NULL outside of waits */
    unsigned long long number;
} waits;

static long n_calls; /* that all threads are in */
static bool has_end_started;
static pthread_t ending_thread;

void call_starts(void)
{
    n_calls++;
}

void call_ends(void)
{
    n_calls--;
}

bool is_ending(void)
{
    return has_end_started && is_pe_of_process() && !pthread_equal(pthread_self(), ending_thread);
}

/* (): True if no thread is in a call of the library: from now on none but this one gets into one.
 * Of a PE that is a thread nothing is known, since no other thread makes its calls. */
PyObject *native_end_starts(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    const bool is_alone = !is_pe_of_process() || (n_calls == 0 && !has_end_started);
    if (is_alone && is_pe_of_process()) {
        has_end_started = true;
        ending_thread = pthread_self();
    }
    return PyBool_FromLong(is_alone);
}

/* (): the job has ended, or goes on. */
PyObject *native_end_is_over(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    if (is_pe_of_process())
        has_end_started = false;
    return none();
}

/* In a process that was forked: the other threads are not in it. */
void no_calls(void)
{
    n_calls = 0;
    has_end_started = false;
}

static bool is_main(void)
{
    return waits.is_watched && pthread_equal(pthread_self(), waits.main_thread) != 0;
}

void wait_starts(const char *what)
{
    call_starts();
    if (is_main()) {
        waits.number++;
        waits.what = what;
    }
}

void wait_ends(void)
{
    call_ends();
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
