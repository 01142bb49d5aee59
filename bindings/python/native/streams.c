/* SPDX-License-Identifier: Apache-2.0
 * A stream of torch or cupy, its number, or 'current', as an argument. The current stream is that
 * of the package that has made the array of the call; of a call without one, torch's if torch is
 * imported, else cupy's. */
#include <string.h>
#include "native.h"

/* The packages' functions, from when the package has found them until the job ends. Those of torch
 * are of the current GPU and of its current stream: they take 0.1 us together, where
 * torch.cuda.current_stream takes several. */
static PyObject *torch_device, *torch_stream, *cupy_stream;

static void take(PyObject **place, PyObject *function)
{
    PyObject *before = *place;
    if (function != NULL)
        Py_IncRef(function);
    *place = function;
    if (before != NULL)
        Py_DecRef(before);
}

/* (device, stream) */
PyObject *native_use_torch_streams(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    if (!check_count("use_torch_streams", n, 2))
        return NULL;
    take(&torch_device, arguments[0]);
    take(&torch_stream, arguments[1]);
    return none();
}

/* (stream): it returns an object with `ptr`. */
PyObject *native_use_cupy_streams(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    if (!check_count("use_cupy_streams", n, 1))
        return NULL;
    take(&cupy_stream, arguments[0]);
    return none();
}

/* (): the job ends, and the next one may be on another device. */
PyObject *native_forget_streams(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module, (void)arguments, (void)n;
    take(&torch_device, NULL);
    take(&torch_stream, NULL);
    take(&cupy_stream, NULL);
    return none();
}

/* A new reference to the object's attribute, whose name is made once; NULL, perhaps without an
 * exception. */
static PyObject *attribute_of(PyObject *object, const char *text, PyObject **name)
{
    if (*name == NULL)
        *name = PyUnicode_InternFromString(text);
    PyObject *value = *name != NULL ? PyObject_GetAttr(object, *name) : NULL;
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

/* Calls the function, which another thread may forget meanwhile. A new reference. */
static PyObject *call_kept(PyObject *function, PyObject *argument)
{
    Py_IncRef(function);
    PyObject *result = PyObject_CallFunctionObjArgs(function, argument, NULL);
    Py_DecRef(function);
    return result;
}

static PyObject *torchs_stream(void)
{
    PyObject *find_stream = torch_stream;
    Py_IncRef(find_stream);
    PyObject *device = call_kept(torch_device, NULL);
    PyObject *stream = device != NULL ? call_kept(find_stream, device) : NULL;
    if (device != NULL)
        Py_DecRef(device);
    Py_DecRef(find_stream);
    return stream;
}

static PyObject *cupys_stream(void)
{
    static PyObject *of_cupy;
    PyObject *stream = call_kept(cupy_stream, NULL);
    PyObject *number = stream != NULL ? attribute_of(stream, "ptr", &of_cupy) : NULL;
    if (stream != NULL)
        Py_DecRef(stream);
    return number;
}

/* A new reference to a number. array: NULL for calls without one. */
static PyObject *current_stream(PyObject *array)
{
    const bool is_cupys = array != NULL && is_of_other_package(array);
    if (is_cupys && cupy_stream != NULL)
        return cupys_stream();
    if (!is_cupys && torch_stream != NULL)
        return torchs_stream();
    return PyObject_CallFunctionObjArgs(package.current_stream,
                                        array != NULL ? array : &_Py_NoneStruct, NULL);
}

/* CUDA's default streams are 0, 1 and 2; others are addresses, which nobody can check. */
enum { NUMBERED_STREAMS = 2, FIRST_ADDRESS = 4096 };

bool stream_of(PyObject *object, PyObject *array, gshmemx_stream_t *out)
{
    static PyObject *of_torch, *of_cupy;
    PyObject *number = NULL;
    const unsigned long flags = PyType_GetFlags(object->type);
    if ((flags & PYTHON_IS_INT) != 0 && object->type != &PyBool_Type) {
        number = PyNumber_Index(object);
    } else if ((flags & PYTHON_IS_STR) != 0) {
        const char *text = PyUnicode_AsUTF8AndSize(object, NULL);
        number = text != NULL && strcmp(text, "current") == 0 ? current_stream(array) : NULL;
    } else {
        number = attribute_of(object, "cuda_stream", &of_torch);
        if (number == NULL && PyErr_Occurred() == NULL)
            number = attribute_of(object, "ptr", &of_cupy);
    }
    if (number == NULL && PyErr_Occurred() == NULL)
        PyErr_Format(PyExc_TypeError,
                     "stream: %R is no stream of torch or cupy, no number, and not 'current'",
                     object);
    uint64_t word = 0;
    const bool is_number = number != NULL;
    bool is_good = take_word(number, &word) && (word <= NUMBERED_STREAMS || word >= FIRST_ADDRESS);
    if (!is_good && is_number) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "stream: %R is no stream's number", object);
    }
    *out = (gshmemx_stream_t)(uintptr_t)word;
    return is_good;
}

/* (stream, array): array may be None. */
PyObject *native_stream_of(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    gshmemx_stream_t stream = 0;
    if (!check_count("stream_of", n, 2) ||
        !stream_of(arguments[0], is_none(arguments[1]) ? NULL : arguments[1], &stream))
        return NULL;
    return PyLong_FromUnsignedLongLong((uintptr_t)stream);
}
