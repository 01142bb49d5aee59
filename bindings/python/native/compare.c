/* SPDX-License-Identifier: Apache-2.0
 * Whether all members of a team make the same collective call. */
#include <stdarg.h>
#include <stdio.h>
#include "native.h"

enum { TEXT_BYTES = 160 }; /* that the library compares */

bool compare(const char *wait, int team, const char *format, ...)
{
    char text[TEXT_BYTES];
    int result = 0;
    va_list args;
    const int n = snprintf(text, sizeof(text), "calls %s", wait);
    va_start(args, format);
    if (n > 0 && (size_t)n < sizeof(text))
        (void)vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
    va_end(args);
    wait_starts(wait);
    UNLOCKED(result = library.gshmemx_layer_compare(wait, team, text));
    wait_ends();
    if (result == 0)
        return true;
    PyObject *unused = checked(result);
    if (unused != NULL)
        Py_DecRef(unused);
    return false;
}

static bool is_for_streams; /* of the process; read and written with the interpreter's lock */

bool is_compared(bool is_on_stream)
{
    return !is_on_stream || is_for_streams;
}

/* (is_on): whether calls on streams are compared, too. The caller has seen to it that all PEs say
 * the same. */
PyObject *native_check_streams(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int is_on = 0;
    if (!check_count("check_streams", n, 1) ||
        !int_of("check_streams", "enabled", arguments[0], &is_on))
        return NULL;
    is_for_streams = is_on != 0;
    return none();
}

/* (wait, team, text): the text begins with a space. wait: a constant of the program. */
PyObject *native_compare(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int team = 0;
    if (!check_count("compare", n, 3) || !need_job() ||
        !int_of("compare", "team", arguments[1], &team))
        return NULL;
    const char *wait = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    const char *text = wait == NULL ? NULL : PyUnicode_AsUTF8AndSize(arguments[2], NULL);
    return text != NULL && compare(wait, team, "%s", text) ? none() : NULL;
}
