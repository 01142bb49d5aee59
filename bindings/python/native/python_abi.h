/* SPDX-License-Identifier: Apache-2.0
 * What the native part uses of CPython's stable ABI (PEP 384), version 3.9 and later, declared
 * here: the wheel is then built where Python's headers are not installed. The interpreter that
 * loads the module has these symbols. Py_buffer is in the stable ABI since 3.11; it has had this
 * layout since 3.0. Interpreters without a global lock have another ABI and do not load the module.
 */
#ifndef GSHMEM_PYTHON_ABI_H
#define GSHMEM_PYTHON_ABI_H

#include <stdint.h>

typedef intptr_t Py_ssize_t;

typedef struct PyObject {
    Py_ssize_t references;
    struct PyObject *type;
} PyObject;

typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

enum { PyBUF_RECORDS_RO = 0x1c }; /* strides and a format */

/* METH_FASTCALL */
typedef PyObject *python_function(PyObject *module, PyObject *const *arguments, Py_ssize_t n);
enum { PYTHON_FASTCALL = 0x80 };

typedef struct {
    const char *name;
    python_function *function;
    int flags;
    const char *doc;
} PyMethodDef;

typedef struct {
    PyObject head;
    PyObject *(*init)(void);
    Py_ssize_t index;
    PyObject *copy;
    const char *name;
    const char *doc;
    Py_ssize_t size; /* -1: the module has one state for the process */
    PyMethodDef *methods;
    void *slots, *traverse, *clear, *free;
} PyModuleDef;

enum { PYTHON_ABI_VERSION = 3 };

extern PyObject _Py_NoneStruct;
extern PyObject PyBool_Type;
extern PyObject *PyExc_TypeError, *PyExc_ValueError, *PyExc_OverflowError, *PyExc_AttributeError;

PyObject *PyModule_Create2(PyModuleDef *definition, int version);
void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);

PyObject *PyErr_Format(PyObject *kind, const char *format, ...);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
int PyErr_ExceptionMatches(PyObject *kind);

long long PyLong_AsLongLongAndOverflow(PyObject *object, int *overflow);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *object);
PyObject *PyLong_FromUnsignedLongLong(unsigned long long value);
PyObject *PyBool_FromLong(long value);
PyObject *PyNumber_Index(PyObject *object);

PyObject *PyUnicode_InternFromString(const char *text);
const char *PyUnicode_AsUTF8AndSize(PyObject *object, Py_ssize_t *size);
PyObject *PyDict_New(void);
PyObject *PyDict_GetItemWithError(PyObject *dict, PyObject *key); /* borrowed */
int PyDict_SetItem(PyObject *dict, PyObject *key, PyObject *value);
PyObject *PyTuple_GetItem(PyObject *tuple, Py_ssize_t i); /* borrowed */
PyObject *Py_BuildValue(const char *format, ...);

unsigned long PyType_GetFlags(PyObject *type);
enum { PYTHON_IS_INT = 1 << 24, PYTHON_IS_STR = 1 << 28 };

PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
void *PyCapsule_GetPointer(PyObject *capsule, const char *name);
PyObject *PyObject_GetAttr(PyObject *object, PyObject *name);
int PyObject_HasAttrString(PyObject *object, const char *name);
PyObject *PyObject_CallMethodObjArgs(PyObject *object, PyObject *name, ...);
PyObject *PyObject_CallFunctionObjArgs(PyObject *function, ...);
int PyObject_IsTrue(PyObject *object);
int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
int PyBuffer_IsContiguous(const Py_buffer *view, char order);
void PyBuffer_Release(Py_buffer *view);

void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);

#endif
