/* SPDX-License-Identifier: Apache-2.0
 * Arguments of Python as those of C, checked. */
#include <string.h>
#include "dlpack_abi.h"
#include "native.h"

/* Names of attributes and dtypes, made once. */
static struct {
    PyObject *data_ptr, *nbytes, *is_contiguous, *is_conj, *dtype;
    PyObject *uint64, *int64;
} names;

static PyObject *type_names; /* dtype: its name */
static PyObject *kept_names; /* names that no other table keeps: interning alone lets them go */

bool arguments_start(void)
{
    names.data_ptr = PyUnicode_InternFromString("data_ptr");
    names.nbytes = PyUnicode_InternFromString("nbytes");
    names.is_contiguous = PyUnicode_InternFromString("is_contiguous");
    names.is_conj = PyUnicode_InternFromString("is_conj");
    names.dtype = PyUnicode_InternFromString("dtype");
    names.uint64 = PyUnicode_InternFromString("uint64");
    names.int64 = PyUnicode_InternFromString("int64");
    type_names = PyDict_New();
    kept_names = PyDict_New();
    return type_names != NULL && kept_names != NULL && PyErr_Occurred() == NULL;
}

static int forked_by = -1; /* the PE that has forked this process */

/* (pe) */
PyObject *native_set_forked_by(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    no_calls();
    return check_count("set_forked_by", n, 1) &&
                   int_of("set_forked_by", "pe", arguments[0], &forked_by)
               ? none()
               : NULL;
}

bool need_job(void)
{
    if (is_initialized() && !is_ending())
        return true;
    if (PyErr_Occurred() != NULL)
        return false;
    PyObject *type = package.not_initialized != NULL ? package.not_initialized : PyExc_ValueError;
    if (forked_by >= 0)
        PyErr_Format(type, "this process was forked by PE %d, and is no PE", forked_by);
    else if (is_ending())
        PyErr_Format(type, "gshmem.finalize() is under way in another thread");
    else
        PyErr_Format(type, "gshmem.init() has not been called, or gshmem.finalize() has");
    return false;
}

bool check_count(const char *call, Py_ssize_t n, Py_ssize_t expected)
{
    if (n == expected)
        return true;
    PyErr_Format(PyExc_TypeError, "%s: %zd arguments for %zd parameters", call, n, expected);
    return false;
}

/* ---- numbers ---- */

/* The object as an int: itself, or what __index__ returns. A new reference. */
static PyObject *index_of(const char *call, const char *argument, PyObject *object)
{
    PyObject *number = object->type == &PyBool_Type ? NULL : PyNumber_Index(object);
    if (number == NULL) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: %s is %R, not a whole number", call, argument, object);
    }
    return number;
}

bool pe_of(const char *call, PyObject *object, int n_pes, int *out)
{
    PyObject *number = index_of(call, "pe", object);
    if (number == NULL)
        return false;
    int overflow = 0;
    long long pe = PyLong_AsLongLongAndOverflow(number, &overflow);
    bool is_good = overflow == 0 && pe >= 0 && pe < n_pes;
    if (!is_good)
        PyErr_Format(PyExc_ValueError, "%s: pe is %S, and there are %d", call, number, n_pes);
    Py_DecRef(number);
    *out = (int)pe;
    return is_good;
}

bool word_of(const char *call, const char *argument, PyObject *object, uint64_t *out)
{
    PyObject *number = index_of(call, argument, object);
    if (number == NULL)
        return false;
    int overflow = 0;
    *out = (uint64_t)PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow > 0)
        *out = PyLong_AsUnsignedLongLong(number);
    bool is_good = overflow >= 0 && PyErr_Occurred() == NULL;
    if (!is_good) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s: %s is %S, which has no room in 64 bits", call,
                     argument, number);
    }
    Py_DecRef(number);
    return is_good;
}

bool int_of(const char *call, const char *argument, PyObject *object, int *out)
{
    uint64_t word = 0;
    if (!word_of(call, argument, object, &word))
        return false;
    *out = (int)(int64_t)word;
    if (*out == (int64_t)word)
        return true;
    PyErr_Format(PyExc_OverflowError, "%s: %s is %S, which has no room in 32 bits", call, argument,
                 object);
    return false;
}

/* ---- arrays ---- */

enum kind { OTHER, TENSOR, BUFFER };

/* How arrays of a type are asked. */
struct way {
    PyObject *type;
    enum kind kind;
    const struct dlpack_exchange *dlpack; /* NULL: it has none */
};

static const struct dlpack_exchange *dlpack_of(PyObject *type)
{
    PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
    const struct dlpack_exchange *found =
        capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear(); /* the type keeps the capsule, and this module the type */
    if (capsule != NULL)
        Py_DecRef(capsule);
    return found != NULL && found->major == 1 && found->tensor_from_object != NULL ? found : NULL;
}

/* Found once for each type. */
static struct way way_of(PyObject *object)
{
    static struct way known[16];
    static int n_known;
    for (int i = 0; i < n_known; i++)
        if (known[i].type == object->type)
            return known[i];
    enum kind kind = PyObject_HasAttrString(object, "data_ptr")              ? TENSOR
                     : PyObject_HasAttrString(object, "__array_interface__") ? BUFFER
                                                                             : OTHER;
    struct way way = {object->type, kind, NULL};
    if (n_known < 16) {
        Py_IncRef(object->type);
        way.dlpack = dlpack_of(object->type);
        known[n_known++] = way;
    }
    return way;
}

bool is_of_other_package(PyObject *object)
{
    return way_of(object).kind == OTHER;
}

/* A borrowed reference. */
static PyObject *name_of_dtype(PyObject *dtype)
{
    PyObject *name = PyDict_GetItemWithError(type_names, dtype);
    if (name != NULL || PyErr_Occurred() != NULL)
        return name;
    name = PyObject_CallFunctionObjArgs(package.name_of_dtype, dtype, NULL);
    if (name == NULL || PyDict_SetItem(type_names, dtype, name) != 0)
        return NULL;
    Py_DecRef(name);
    return name;
}

bool take_word(PyObject *number, uint64_t *out)
{
    if (number == NULL)
        return false;
    *out = PyLong_AsUnsignedLongLong(number);
    Py_DecRef(number);
    return *out != UINT64_MAX || PyErr_Occurred() == NULL;
}

static bool describe_tensor(PyObject *object, struct array *out, bool *is_contiguous)
{
    PyObject *contiguous = PyObject_CallMethodObjArgs(object, names.is_contiguous, NULL);
    if (contiguous == NULL)
        return false;
    *is_contiguous = PyObject_IsTrue(contiguous) == 1;
    Py_DecRef(contiguous);
    PyObject *dtype = PyObject_GetAttr(object, names.dtype);
    if (dtype == NULL)
        return false;
    PyObject *name = name_of_dtype(dtype);
    Py_DecRef(dtype);
    if (name == NULL)
        return false;
    Py_IncRef(name);
    out->type = name;
    return take_word(PyObject_CallMethodObjArgs(object, names.data_ptr, NULL), &out->address) &&
           take_word(PyObject_GetAttr(object, names.nbytes), &out->bytes);
}

static PyObject *integer_name(bool is_unsigned, int64_t bytes)
{
    static const char *const names_of[2][4] = {{"int8", "int16", "int32", "int64"},
                                               {"uint8", "uint16", "uint32", "uint64"}};
    static PyObject *made[2][4];
    int log = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
    if (log < 0)
        return NULL;
    PyObject **place = &made[is_unsigned][log];
    if (*place == NULL)
        *place = PyUnicode_InternFromString(names_of[is_unsigned][log]);
    return *place;
}

/* Borrowed; NULL for types that are not in the table. */
static PyObject *name_of_dlpack(int code, int bits)
{
    static const struct {
        int code, bits;
        const char *name;
    } table[] = {{DLPACK_FLOAT, 32, "float32"},      {DLPACK_BFLOAT, 16, "bfloat16"},
                 {DLPACK_FLOAT, 16, "float16"},      {DLPACK_FLOAT, 64, "float64"},
                 {DLPACK_BOOL, 8, "bool"},           {DLPACK_COMPLEX, 64, "complex64"},
                 {DLPACK_COMPLEX, 128, "complex128"}};
    static PyObject *made[sizeof table / sizeof *table];
    if (code == DLPACK_INT || code == DLPACK_UINT)
        return integer_name(code == DLPACK_UINT, bits / 8);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code && table[i].bits == bits) {
            if (made[i] == NULL)
                made[i] = PyUnicode_InternFromString(table[i].name);
            return made[i];
        }
    return NULL;
}

/* False without an exception if the type does not say enough. */
static bool describe_dlpack(const struct dlpack_exchange *dlpack, PyObject *object,
                            struct array *out, bool *is_contiguous)
{
    struct dlpack_tensor t;
    if (dlpack->tensor_from_object(object, &t) != 0) {
        PyErr_Clear();
        return false;
    }
    PyObject *name = name_of_dlpack(t.type_code, t.type_bits);
    if (name == NULL || t.type_vector != 1 || (t.n_dimensions > 0 && t.strides == NULL))
        return false;
    int64_t n = 1;
    *is_contiguous = true;
    for (int i = t.n_dimensions - 1; i >= 0; i--) {
        *is_contiguous &= t.shape[i] == 1 || t.strides[i] == n;
        n *= t.shape[i];
    }
    *is_contiguous |= n == 0;
    Py_IncRef(name);
    out->type = name;
    out->address = (uint64_t)(uintptr_t)t.data + t.byte_offset;
    out->bytes = (uint64_t)n * t.type_bits / 8;
    return true;
}

/* The dtype's name of a buffer's format, a new reference; NULL without an exception if the format
 * is none of these. */
static PyObject *name_of_format(const char *format, Py_ssize_t itemsize)
{
    static const struct {
        const char *format;
        Py_ssize_t itemsize; /* of those of C, whose size is the platform's: any */
        const char *name;
    } table[] = {{"d", 8, "float64"},    {"f", 4, "float32"},      {"e", 2, "float16"},
                 {"Zf", 8, "complex64"}, {"Zd", 16, "complex128"}, {"?", 1, "bool"}};
    static PyObject *made[sizeof table / sizeof *table];
    if (format == NULL || *format == 0)
        return NULL;
    format += *format == '<' || *format == '=' || *format == '@' || *format == '|';
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(format, table[i].format) == 0 && itemsize == table[i].itemsize) {
            if (made[i] == NULL)
                made[i] = PyUnicode_InternFromString(table[i].name);
            Py_IncRef(made[i]);
            return made[i];
        }
    if (format[1] != 0 || strchr("bhilqBHILQ", format[0]) == NULL)
        return NULL;
    PyObject *name = integer_name(format[0] < 'a', itemsize);
    if (name != NULL)
        Py_IncRef(name);
    return name;
}

/* False without an exception if the object's buffer does not say enough. */
static bool describe_buffer(PyObject *object, struct array *out, bool *is_contiguous)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    *is_contiguous = PyBuffer_IsContiguous(&view, 'C');
    out->address = (uint64_t)(uintptr_t)view.buf;
    out->bytes = (uint64_t)view.len;
    out->is_read_only = view.readonly != 0;
    out->type = name_of_format(view.format, view.itemsize);
    PyBuffer_Release(&view);
    return out->type != NULL;
}

/* By the package, in Python: arrays of cupy, dtypes of which there is no format. */
static bool describe_other(const char *call, const char *argument, PyObject *object,
                           struct array *out, bool *is_contiguous)
{
    PyObject *words = Py_BuildValue("ss", call, argument);
    if (words == NULL)
        return false;
    PyObject *row = PyObject_CallFunctionObjArgs(package.describe_other, PyTuple_GetItem(words, 0),
                                                 PyTuple_GetItem(words, 1), object, NULL);
    Py_DecRef(words);
    if (row == NULL)
        return false;
    out->address = PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, 0));
    out->bytes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, 1));
    *is_contiguous = PyObject_IsTrue(PyTuple_GetItem(row, 2)) == 1;
    out->type = PyTuple_GetItem(row, 3);
    Py_IncRef(out->type);
    out->is_read_only = PyObject_IsTrue(PyTuple_GetItem(row, 4)) == 1;
    PyDict_SetItem(kept_names, out->type, out->type);
    Py_DecRef(row);
    return PyErr_Occurred() == NULL;
}

static void no_address(const char *call, const char *argument)
{
    PyErr_Format(PyExc_TypeError, "%s: %s is a tensor whose memory has no address", call, argument);
}

/* As describe_any, of what may have no memory. */
static bool describe_whatever(const char *call, const char *argument, PyObject *object,
                              struct array *out, bool *is_contiguous)
{
    bool is_done = false;
    *out = (struct array){0};
    const struct way way = way_of(object);
    if (way.dlpack != NULL && describe_dlpack(way.dlpack, object, out, is_contiguous))
        return true;
    switch (way.kind) {
    case TENSOR:
        is_done = describe_tensor(object, out, is_contiguous);
        if (!is_done) {
            PyErr_Clear();
            no_address(call, argument);
        }
        break;
    case BUFFER:
        is_done = describe_buffer(object, out, is_contiguous);
        break;
    case OTHER:
        break;
    }
    if (!is_done && PyErr_Occurred() == NULL)
        is_done = describe_other(call, argument, object, out, is_contiguous);
    if (!is_done && out->type != NULL)
        Py_DecRef(out->type);
    return is_done;
}

/* PyTorch's conj() makes a view whose memory has the numbers as they were. */
static bool is_lazily_conjugate(PyObject *object, PyObject *type)
{
    const char *name = PyUnicode_AsUTF8AndSize(type, NULL);
    if (name == NULL || *name != 'c' || way_of(object).kind != TENSOR) /* complex64, complex128 */
        return false;
    PyObject *answer = PyObject_CallMethodObjArgs(object, names.is_conj, NULL);
    bool is = answer != NULL && PyObject_IsTrue(answer) == 1;
    PyErr_Clear();
    if (answer != NULL)
        Py_DecRef(answer);
    return is;
}

/* An array of any strides. */
static bool describe_any(const char *call, const char *argument, PyObject *object,
                         struct array *out, bool *is_contiguous)
{
    if (!describe_whatever(call, argument, object, out, is_contiguous))
        return false;
    bool is_nowhere = out->address == 0 && out->bytes != 0; /* such as PyTorch's meta tensors */
    if (is_nowhere)
        no_address(call, argument);
    else if (!is_lazily_conjugate(object, out->type))
        return true;
    else
        PyErr_Format(PyExc_ValueError,
                     "%s: %s is conjugate only when it is read: give its "
                     "resolve_conj()",
                     call, argument);
    Py_DecRef(out->type);
    return false;
}

/* a[3] of numpy is a copy of the element. */
static bool is_copied_element(PyObject *object)
{
    PyObject *n_dimensions = PyObject_GetAttrString(object, "ndim");
    bool is_none_left = n_dimensions != NULL && PyObject_IsTrue(n_dimensions) == 0;
    PyErr_Clear();
    if (n_dimensions != NULL)
        Py_DecRef(n_dimensions);
    return is_none_left;
}

bool describe(const char *call, const char *argument, PyObject *object, bool is_symmetric,
              struct array *out)
{
    bool is_contiguous = false;
    if (!describe_any(call, argument, object, out, &is_contiguous))
        return false;
    bool is_good = is_contiguous;
    if (!is_contiguous)
        PyErr_Format(PyExc_ValueError, "%s: %s is not contiguous", call, argument);
    if (is_good && is_symmetric && out->bytes != 0 &&
        !library.gshmemx_is_symmetric((void *)(uintptr_t)out->address, out->bytes)) {
        PyErr_Format(PyExc_ValueError, "%s: %s is not symmetric: %s", call, argument,
                     is_copied_element(object) ? "a[i] is a copy of an element; give a[i:i+1]"
                                               : "make it by gshmem.zeros or gshmem.empty");
        is_good = false;
    }
    if (!is_good)
        Py_DecRef(out->type);
    return is_good;
}

/* The same of both but the sizes. */
static bool describe_two(const char *call, PyObject *dest, PyObject *source, int symmetric,
                         struct array *d, struct array *s)
{
    if (!need_job() || !describe(call, "dest", dest, symmetric & DEST_IS_SYMMETRIC, d))
        return false;
    if (!describe(call, "source", source, symmetric & SOURCE_IS_SYMMETRIC, s)) {
        Py_DecRef(d->type);
        return false;
    }
    bool is_good = d->type == s->type && !d->is_read_only;
    if (d->is_read_only)
        PyErr_Format(PyExc_ValueError, "%s: dest is read-only", call);
    else if (!is_good)
        PyErr_Format(PyExc_TypeError, "%s: dest is of %S, source of %S", call, d->type, s->type);
    Py_DecRef(d->type); /* interned strings that tables keep */
    Py_DecRef(s->type);
    return is_good;
}

static struct pair pair_of(const struct array *d, const struct array *s, uint64_t bytes)
{
    return (struct pair){.dest = (void *)(uintptr_t)d->address,
                         .source = (void *)(uintptr_t)s->address,
                         .bytes = bytes,
                         .type = d->type};
}

bool describe_pair(const char *call, PyObject *dest, PyObject *source, int symmetric,
                   struct pair *out)
{
    struct array d, s;
    if (!describe_two(call, dest, source, symmetric, &d, &s))
        return false;
    *out = pair_of(&d, &s, d.bytes);
    if (d.bytes == s.bytes)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: dest has %llu bytes, source %llu", call,
                 (unsigned long long)d.bytes, (unsigned long long)s.bytes);
    return false;
}

bool describe_blocks(const char *call, PyObject *dest, PyObject *source, int dest_blocks,
                     int source_blocks, int n_members, struct pair *out)
{
    struct array d, s;
    if (!describe_two(call, dest, source, DEST_IS_SYMMETRIC | SOURCE_IS_SYMMETRIC, &d, &s))
        return false;
    *out = pair_of(&d, &s, s.bytes / (uint64_t)source_blocks);
    if (d.bytes == out->bytes * (uint64_t)dest_blocks &&
        s.bytes == out->bytes * (uint64_t)source_blocks)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: dest has %llu bytes and source %llu, for %d members", call,
                 (unsigned long long)d.bytes, (unsigned long long)s.bytes, n_members);
    return false;
}

bool signal_of(const char *call, PyObject *object, uint64_t **out)
{
    struct array a;
    if (!describe(call, "signal", object, true, &a))
        return false;
    bool is_good = a.bytes == 8 && (a.type == names.uint64 || a.type == names.int64);
    if (is_good && a.address % 8 != 0) {
        PyErr_Format(PyExc_ValueError, "%s: signal is not at a multiple of 8 bytes", call);
        is_good = false;
    } else if (!is_good)
        PyErr_Format(PyExc_TypeError, "%s: signal is %llu bytes of %S, not one element of uint64",
                     call, (unsigned long long)a.bytes, a.type);
    Py_DecRef(a.type);
    *out = (uint64_t *)(uintptr_t)a.address;
    return is_good;
}

/* ---- for calls that are made in Python ---- */

PyObject *native_describe(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct array a;
    if (!check_count("describe", n, 4))
        return NULL;
    const char *call = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    const char *argument = call == NULL ? NULL : PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    int is_symmetric = PyObject_IsTrue(arguments[3]);
    if (argument == NULL || is_symmetric < 0 || (is_symmetric && !need_job()) ||
        !describe(call, argument, arguments[2], is_symmetric, &a))
        return NULL;
    return Py_BuildValue("KKN", (unsigned long long)a.address, (unsigned long long)a.bytes, a.type);
}

/* (call, argument, array): the address of an array of any strides. */
PyObject *native_address_of(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    struct array a;
    bool is_contiguous = false;
    if (!check_count("address_of", n, 3))
        return NULL;
    const char *call = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    const char *argument = call == NULL ? NULL : PyUnicode_AsUTF8AndSize(arguments[1], NULL);
    if (argument == NULL || !describe_any(call, argument, arguments[2], &a, &is_contiguous))
        return NULL;
    Py_DecRef(a.type);
    return PyLong_FromUnsignedLongLong(a.address);
}

PyObject *native_check_pe(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    (void)module;
    int n_pes = 0, pe = 0;
    if (!check_count("check_pe", n, 3))
        return NULL;
    const char *call = PyUnicode_AsUTF8AndSize(arguments[0], NULL);
    if (call == NULL || !need_job())
        return NULL;
    if (is_none(arguments[2]))
        n_pes = library.gshmem_n_pes();
    else if (!int_of(call, "n", arguments[2], &n_pes))
        return NULL;
    return pe_of(call, arguments[1], n_pes, &pe) ? Py_BuildValue("i", pe) : NULL;
}
