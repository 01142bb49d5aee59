/* SPDX-License-Identifier: Apache-2.0
 * The results of collectives, computed on the host, element by element. */
#include "tests/multi/coll_model.cuh"

/* ---- elements -------------------------------------------------------------------------------- */

/* A type of elements. The functions below are compiled for each, because they decide by it for
 * every element. */
template <coll_domain domain_, uint32_t bytes_> struct elem_type {
    static const coll_domain domain = domain_;
    static const uint32_t bytes = bytes_;
    static const bool is_integer = domain_ == d_unsigned || domain_ == d_signed;
};

/* Calls f(type of the call's elements): of their size alone, if they are only moved. */
template <class F> static void with_type(const coll_call &c, F f)
{
    const uint32_t bytes = c.elem.bytes;
    switch (c.kind < c_reduce ? d_unsigned : c.elem.domain) {
    case d_half:
        return f(elem_type<d_half, 2>());
    case d_bfloat16:
        return f(elem_type<d_bfloat16, 2>());
    case d_float:
        return f(elem_type<d_float, 4>());
    case d_double:
        return f(elem_type<d_double, 8>());
    case d_longdouble:
        return f(elem_type<d_longdouble, sizeof(long double)>());
    case d_complexf:
        return f(elem_type<d_complexf, 8>());
    case d_complexd:
        return f(elem_type<d_complexd, 16>());
    case d_signed:
        return bytes == 1   ? f(elem_type<d_signed, 1>())
               : bytes == 2 ? f(elem_type<d_signed, 2>())
               : bytes == 4 ? f(elem_type<d_signed, 4>())
                            : f(elem_type<d_signed, 8>());
    default:
        return bytes == 1   ? f(elem_type<d_unsigned, 1>())
               : bytes == 2 ? f(elem_type<d_unsigned, 2>())
               : bytes == 4 ? f(elem_type<d_unsigned, 4>())
               : bytes == 8 ? f(elem_type<d_unsigned, 8>())
                            : f(elem_type<d_unsigned, 16>());
    }
}

/* An integer, or a number and, for complex ones, its imaginary part. Numbers are chosen so that
 * every sum and product of a few is exact in any order. */
struct coll_value {
    uint64_t i;
    double re, im;
};

template <class T> static inline T read_as(const void *p)
{
    T v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Of at most eight bytes. */
template <class E> static inline uint64_t read_integer(const void *p)
{
    const uint32_t bytes = E::bytes < 8 ? E::bytes : 8, shift = 64 - 8 * bytes;
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return E::domain == d_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

template <class E> static inline coll_value coll_read(const void *p)
{
    const char *second = (const char *)p + E::bytes / 2;
    switch (E::domain) {
    case d_half:
        return {0, (double)(float)read_as<gshmem_half_t>(p), 0};
    case d_bfloat16:
        return {0, (double)(float)read_as<gshmem_bfloat16_t>(p), 0};
    case d_float:
        return {0, (double)read_as<float>(p), 0};
    case d_double:
        return {0, read_as<double>(p), 0};
    case d_longdouble:
        return {0, (double)read_as<long double>(p), 0};
    case d_complexf:
        return {0, (double)read_as<float>(p), (double)read_as<float>(second)};
    case d_complexd:
        return {0, read_as<double>(p), read_as<double>(second)};
    default:
        return {read_integer<E>(p), 0, 0};
    }
}

template <class T> static inline void write_as(void *p, T v)
{
    memcpy(p, &v, sizeof v);
}

template <class E> static inline void coll_write(void *p, coll_value v)
{
    char *second = (char *)p + E::bytes / 2;
    switch (E::domain) {
    case d_half:
        return write_as(p, gshmem_half_t((float)v.re));
    case d_bfloat16:
        return write_as(p, gshmem_bfloat16_t((float)v.re));
    case d_float:
        return write_as(p, (float)v.re);
    case d_double:
        return write_as(p, v.re);
    case d_longdouble:
        return write_as(p, (long double)v.re);
    case d_complexf:
        write_as(p, (float)v.re);
        return write_as(second, (float)v.im);
    case d_complexd:
        write_as(p, v.re);
        return write_as(second, v.im);
    default:
        memcpy(p, &v.i, E::bytes < 8 ? E::bytes : 8);
    }
}

template <class E> static inline coll_value coll_combine(coll_op op, coll_value a, coll_value b)
{
    const bool is_less = E::is_integer
                             ? E::domain == d_signed ? (int64_t)a.i < (int64_t)b.i : a.i < b.i
                             : a.re < b.re;
    if ((op == o_min || op == o_max) && (isnan(a.re) || isnan(b.re)))
        return {0, NAN, 0};
    switch (op) {
    case o_and:
        return {a.i & b.i, 0, 0};
    case o_or:
        return {a.i | b.i, 0, 0};
    case o_xor:
        return {a.i ^ b.i, 0, 0};
    case o_min:
        return is_less ? a : b;
    case o_max:
        return is_less ? b : a;
    case o_sum:
        return {a.i + b.i, a.re + b.re, a.im + b.im};
    default:
        return {a.i * b.i, a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
}

/* The largest number of a sum's source: few enough bits for the type to hold it, and for float to
 * add up those of all n members; enough that half and bfloat16 must round at the end. */
template <class E> static inline int64_t coll_range(int n)
{
    int64_t range = E::domain == d_half                               ? 2048
                    : E::domain == d_bfloat16                         ? 256
                    : E::domain == d_float || E::domain == d_complexf ? 1 << 20
                                                                      : (int64_t)1 << 40;
    const int64_t float_holds = 1 << 24;
    for (;
         E::domain != d_double && E::domain != d_complexd && range > 1 && range * n > float_holds;)
        range /= 2;
    return range;
}

/* For floating point, such that every sum and product of n members is exact in any order. One in 32
 * is no number where that must win. */
template <class E>
static inline double coll_number(const coll_call &c, int member, bool is_imaginary, uint64_t random)
{
    static const double factors[] = {1, -1, 2, -2, 0.5, 3, -0.5, 1.5};
    const int64_t range = coll_range<E>(c.n_members);
    const coll_op op = c.op;
    if (op == o_prod) /* those of eight members take all bits that float has */
        return member % ((c.n_members + 7) / 8) == 0 ? factors[random % 8]
               : is_imaginary                        ? 0
                                                     : factors[random % 2];
    if ((op == o_min || op == o_max) && random >> 59 == 0)
        return NAN;
    return (double)((int64_t)(random & (uint64_t)(2 * range - 1)) - range);
}

/* Element i of a member's source. */
template <class E>
static inline void write_source(const coll_call &c, int member, size_t i, void *out)
{
    uint64_t state = c.seed ^ (uint64_t)(member + 1) << 48 ^ (uint64_t)i * 0x9e3779b97f4a7c15u;
    const uint64_t words[2] = {test_random(&state), test_random(&state)};
    if (E::is_integer)
        memcpy(out, words, E::bytes);
    else
        coll_write<E>(out, {0, coll_number<E>(c, member, false, words[0]),
                            coll_number<E>(c, member, true, words[1])});
}

template <class E> static inline coll_value read_source(const coll_call &c, int member, size_t i)
{
    char element[16];
    write_source<E>(c, member, i, element);
    return coll_read<E>(element);
}

/* ---- what a call must give ------------------------------------------------------------------- */

/* Element i of the sources of members [0, end), combined; 0 if there are none. */
template <class E>
static inline void expect_computed(const coll_call &c, int end, size_t i, void *out)
{
    coll_value sum = {};
    for (int m = 0; m < end; m++) {
        const coll_value v = read_source<E>(c, m, i);
        sum = m == 0 ? v : coll_combine<E>(c.op, sum, v);
    }
    coll_write<E>(out, sum);
}

static inline bool is_on_several_nodes(const coll_team &t)
{
    for (int node : t.node)
        if (node != t.node[0])
            return true;
    return false;
}

/* Whether the team lists the members of each node together. */
static inline bool is_node_by_node(const coll_team &t)
{
    for (int m = 1; m < t.n; m++)
        for (int before = 0; before < m - 1 && t.node[m] != t.node[m - 1]; before++)
            if (t.node[before] == t.node[m])
                return false;
    return true;
}

/* Whether an earlier member is on its node. */
static inline bool comes_after_its_node(const coll_team &t, int member)
{
    for (int m = 0; m < member; m++)
        if (t.node[m] == t.node[member])
            return true;
    return false;
}

/* The same for members on several nodes: each node's sum is rounded to the type, but if there is a
 * member `me`, its node's members are added one by one. */
template <class E>
static inline void expect_by_node(const coll_call &c, const coll_team &t, int end, int me, size_t i,
                                  void *out)
{
    coll_value sum = {};
    bool is_first = true;
    const auto add = [&](coll_value v) {
        sum = is_first ? v : coll_combine<E>(c.op, sum, v);
        is_first = false;
    };
    for (int first = 0; first < end; first++) {
        if (comes_after_its_node(t, first))
            continue;
        coll_value part = {};
        const bool is_own = me >= 0 && t.node[first] == t.node[me];
        for (int m = first; m < end; m++) {
            if (t.node[m] != t.node[first])
                continue;
            const coll_value v = read_source<E>(c, m, i);
            part = m == first ? v : coll_combine<E>(c.op, part, v);
            if (is_own)
                add(v);
        }
        if (is_own)
            continue;
        char element[16];
        coll_write<E>(element, part);
        add(coll_read<E>(element));
    }
    coll_write<E>(out, sum);
}

/* This PE's expected dest: element i at out + i * the stride of dest. */
template <class E>
static inline void coll_expect(const coll_call &c, const coll_team &t, uint8_t *out)
{
    const int me = t.me, n = t.n;
    const size_t bytes = E::bytes, nelems = c.nelems;
    const size_t step = bytes * (c.kind == c_alltoalls ? (size_t)c.dst : 1);
    const bool is_to_all = c.kind == c_alltoall || c.kind == c_alltoalls;
    for (int m = 0; m < n && (c.kind == c_collect || c.kind == c_fcollect || is_to_all); m++)
        for (size_t i = 0; i < coll_count(c, m); i++, out += step)
            write_source<E>(c, m, i + (is_to_all ? (size_t)me * nelems : 0), out);
    for (size_t i = 0; i < nelems && c.kind == c_broadcast; i++)
        write_source<E>(c, c.root, i, out + i * bytes);
    const int end = c.kind == c_inscan ? me + 1 : c.kind == c_exscan ? me : n;
    const size_t first = c.kind == c_reducescatter ? (size_t)me * nelems : 0;
    const bool is_scan = c.kind == c_inscan || c.kind == c_exscan;
    const bool by_node = is_on_several_nodes(t) && (!is_scan || is_node_by_node(t));
    for (size_t i = 0; i < nelems && c.kind >= c_reduce; i++)
        if (by_node)
            expect_by_node<E>(c, t, end, is_scan ? me : -1, first + i, out + i * bytes);
        else
            expect_computed<E>(c, end, first + i, out + i * bytes);
}

void coll_model(const coll_call *calls, int n_calls, const coll_team *teams, uint8_t *before,
                uint8_t *after, size_t used)
{
    for (int k = 0; k < n_calls; k++) {
        const coll_call &c = calls[k];
        const coll_team &t = teams[c.team];
        const size_t stride = c.kind == c_alltoalls ? (size_t)c.sst : 1;
        const size_t n = t.me < 0 ? 0 : coll_source_nelems(c, t.me, t.n);
        with_type(c, [&](auto type) {
            typedef decltype(type) E;
            for (size_t i = 0; i * stride < n; i++)
                write_source<E>(c, t.me, i, before + c.source_off + i * stride * E::bytes);
        });
    }
    memcpy(after, before, used);
    for (int k = 0; k < n_calls; k++) {
        const coll_call &c = calls[k];
        const coll_team &t = teams[c.team];
        if (t.me >= 0)
            with_type(c, [&](auto type) { coll_expect<decltype(type)>(c, t, after + c.dest_off); });
    }
}
