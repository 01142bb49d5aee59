/* SPDX-License-Identifier: Apache-2.0
 * A stream of torch or cupy, its number, or 'current', as an argument. */
#include <string.h>
#include "native.h"

/* torch's functions of the current GPU and of its current stream: they take 0.1 us together, where
 * torch.cuda.current_stream takes several. */
static PyObject *torch_device, *torch_stream;

PyObject *native_use_torch_streams(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    if (!check_count("use_torch_streams", n, 2))
        return NULL;
    if (torch_device == NULL) {
        Py_IncRef(arguments[0]);
        Py_IncRef(arguments[1]);
        torch_device = arguments[0];
        torch_stream = arguments[1];
    }
    return none();
}

static PyObject *current_stream(void)
{
    if (torch_device == NULL)
        return PyObject_CallFunctionObjArgs(package.current_stream, NULL);
    PyObject *device = PyObject_CallFunctionObjArgs(torch_device, NULL);
    if (device == NULL)
        return NULL;
    PyObject *stream = PyObject_CallFunctionObjArgs(torch_stream, device, NULL);
    Py_DecRef(device);
    return stream;
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

/* CUDA's default streams are 0, 1 and 2; others are addresses, which nobody can check. */
enum { NUMBERED_STREAMS = 2, FIRST_ADDRESS = 4096 };

bool stream_of(PyObject *object, gshmemx_stream_t *out)
{
    static PyObject *of_torch, *of_cupy;
    PyObject *number = NULL;
    const unsigned long flags = PyType_GetFlags(object->type);
    if ((flags & PYTHON_IS_INT) != 0 && object->type != &PyBool_Type) {
        number = PyNumber_Index(object);
    } else if ((flags & PYTHON_IS_STR) != 0) {
        const char *text = PyUnicode_AsUTF8AndSize(object, NULL);
        number = text != NULL && strcmp(text, "current") == 0 ? current_stream() : NULL;
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

PyObject *native_stream_of(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    gshmemx_stream_t stream = 0;
    if (!check_count("stream_of", n, 1) || !stream_of(arguments[0], &stream))
        return NULL;
    return PyLong_FromUnsignedLongLong((uintptr_t)stream);
}
