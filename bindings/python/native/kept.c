/* SPDX-License-Identifier: Apache-2.0
 * Arrays that the library uses after a call has returned. They are kept here until it is done with
 * them, so that a program may forget them at once: numpy gives memory back to the system when its
 * last array goes. Arrays of the heap stay in any case. All of it runs with the interpreter's lock,
 * but for mark_done. */
#include <stdlib.h>
#include <string.h>
#include "native.h"

struct kept {
    PyObject *array; /* NULL: no longer kept */
    struct kept *next;
    int is_done; /* stored by the stream's thread when it is done with the array (release), loaded
                  * by let_go_of_streams (acquire), which frees this then */
};

static struct kept *of_streams;
static struct kept *of_process; /* until quiet: of a PE that is the process */
static _Thread_local struct kept *of_thread;
static _Thread_local bool is_thread_pe;

static struct kept *push(struct kept **list, PyObject *array)
{
    struct kept *k = malloc(sizeof(*k));
    if (k == NULL)
        return NULL;
    *k = (struct kept){.array = array, .next = *list};
    Py_IncRef(array);
    *list = k;
    return k;
}

static void let_go(struct kept *list)
{
    while (list != NULL) {
        struct kept *next = list->next;
        Py_DecRef(list->array); /* may run code of the program, which may come here */
        free(list);
        list = next;
    }
}

/* ---- until quiet ---- */

static struct kept **until_quiet(void)
{
    return is_thread_pe ? &of_thread : &of_process;
}

/* (is_pe): whether the thread that calls is a PE by itself. */
PyObject *native_be_thread_pe(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int is_pe = 0;
    if (!check_count("be_thread_pe", n, 1) ||
        !int_of("be_thread_pe", "is_pe", arguments[0], &is_pe))
        return NULL;
    is_thread_pe = is_pe != 0;
    return none();
}

bool is_pe_of_process(void)
{
    return !is_thread_pe;
}

void keep_until_quiet(PyObject *array)
{
    (void)push(until_quiet(), array);
}

struct kept *take_kept(void)
{
    struct kept **list = until_quiet(), *taken = *list;
    *list = NULL;
    return taken;
}

void let_go_of(struct kept *taken)
{
    let_go(taken);
}

/* ---- until a stream is done ---- */

static void mark_done(void *arg)
{
    struct kept *k = NULL;
    memcpy(&k, arg, sizeof(k));
    __atomic_store_n(&k->is_done, 1, __ATOMIC_RELEASE); /* let_go_of_streams loads it */
}

void let_go_of_streams(void)
{
    struct kept *done = NULL, **place = &of_streams;
    while (*place != NULL) {
        struct kept *k = *place;
        if (__atomic_load_n(&k->is_done, __ATOMIC_ACQUIRE) != 0) { /* mark_done stores it */
            *place = k->next;
            k->next = done;
            done = k;
        } else {
            place = &k->next;
        }
    }
    let_go(done);
}

void keep_for_stream(PyObject *array, gshmemx_stream_t stream)
{
    if (strcmp(library.gshmemx_device_name(), "cpu") != 0)
        return; /* CUDA copies host memory before it returns, and torch's memory stays mapped */
    let_go_of_streams();
    struct kept *k = push(&of_streams, array);
    if (k == NULL || library.gshmemx_cpu_stream_enqueue(stream, mark_done, &k, sizeof(k)) == 0)
        return;
    of_streams = k->next; /* there is no such stream: the call has said so */
    k->next = NULL;
    let_go(k);
}

/* (array, stream): array may be a tuple of arrays. */
PyObject *native_keep_for_stream(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    gshmemx_stream_t stream = NULL;
    if (!check_count("keep_for_stream", n, 2) || !need_job() ||
        !stream_of(arguments[1], NULL, &stream))
        return NULL;
    keep_for_stream(arguments[0], stream);
    return none();
}

/* (): forgets all arrays that wait for quiet, and those of streams that are done with them. */
PyObject *native_let_go(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    let_go_of_streams();
    let_go(take_kept());
    return none();
}
