/* SPDX-License-Identifier: Apache-2.0
 * The results of collectives, computed on the host, element by element. */
#include "tests/multi/coll_model.cuh"

/* ---- elements -------------------------------------------------------------------------------- */

/* An integer, or a number and, for complex ones, its imaginary part. Numbers are chosen so that
 * every sum and product of a few is exact in any order. */
struct coll_value {
    uint64_t i;
    double re, im;
};

static inline bool is_integer(const coll_elem &e)
{
    return e.domain == d_unsigned || e.domain == d_signed;
}

template <class T> static inline T read_as(const void *p)
{
    T v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t read_integer(const coll_elem &e, const void *p)
{
    uint64_t v = 0;
    memcpy(&v, p, e.bytes);
    const unsigned shift = 64 - 8 * e.bytes;
    return e.domain == d_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

static inline coll_value coll_read(const coll_elem &e, const void *p)
{
    const char *second = (const char *)p + e.bytes / 2;
    switch (e.domain) {
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
        return {read_integer(e, p), 0, 0};
    }
}

template <class T> static inline void write_as(void *p, T v)
{
    memcpy(p, &v, sizeof v);
}

static inline void coll_write(const coll_elem &e, void *p, coll_value v)
{
    char *second = (char *)p + e.bytes / 2;
    switch (e.domain) {
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
        memcpy(p, &v.i, e.bytes);
    }
}

static inline coll_value coll_combine(const coll_elem &e, coll_op op, coll_value a, coll_value b)
{
    const bool is_less = is_integer(e)
                             ? e.domain == d_signed ? (int64_t)a.i < (int64_t)b.i : a.i < b.i
                             : a.re < b.re;
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

/* For floating point: few enough bits for each type to hold it, and for float to add up all; enough
 * that half and bfloat16 must round at the end. */
static inline double coll_number(const coll_elem &e, coll_op op, uint64_t random)
{
    static const double factors[] = {1, -1, 2, -2, 0.5, 3, -0.5, 1.5};
    const int64_t range = e.domain == d_half                              ? 2048
                          : e.domain == d_bfloat16                        ? 256
                          : e.domain == d_float || e.domain == d_complexf ? 1 << 20
                                                                          : (int64_t)1 << 40;
    if (op == o_prod)
        return factors[random % 8];
    return (double)((int64_t)(random & (uint64_t)(2 * range - 1)) - range);
}

/* Element i of a member's source. */
static inline coll_value coll_source(const coll_call &c, int member, size_t i, void *out)
{
    uint64_t state = c.seed ^ (uint64_t)(member + 1) << 48 ^ (uint64_t)i * 0x9e3779b97f4a7c15u;
    const uint64_t words[2] = {test_random(&state), test_random(&state)};
    if (c.kind < c_reduce || is_integer(c.elem))
        memcpy(out, words, c.elem.bytes);
    else
        coll_write(c.elem, out,
                   {0, coll_number(c.elem, c.op, words[0]), coll_number(c.elem, c.op, words[1])});
    return coll_read(c.elem, out);
}

/* ---- what a call must give ------------------------------------------------------------------- */

/* Element i of the sources of members [0, end), combined; 0 if there are none. */
static inline void expect_computed(const coll_call &c, int end, size_t i, void *out)
{
    char element[16];
    coll_value sum = {};
    for (int m = 0; m < end; m++) {
        const coll_value v = coll_source(c, m, i, element);
        sum = m == 0 ? v : coll_combine(c.elem, c.op, sum, v);
    }
    coll_write(c.elem, out, sum);
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
static inline void expect_by_node(const coll_call &c, const coll_team &t, int end, int me, size_t i,
                                  void *out)
{
    char element[16];
    coll_value sum = {};
    bool is_first = true;
    const auto add = [&](coll_value v) {
        sum = is_first ? v : coll_combine(c.elem, c.op, sum, v);
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
            const coll_value v = coll_source(c, m, i, element);
            part = m == first ? v : coll_combine(c.elem, c.op, part, v);
            if (is_own)
                add(v);
        }
        if (is_own)
            continue;
        coll_write(c.elem, element, part);
        add(coll_read(c.elem, element));
    }
    coll_write(c.elem, out, sum);
}

/* This PE's expected dest: element i at out + i * the stride of dest. */
static inline void coll_expect(const coll_call &c, const coll_team &t, uint8_t *out)
{
    const int me = t.me, n = t.n;
    const size_t bytes = c.elem.bytes, nelems = c.nelems;
    const size_t step = bytes * (c.kind == c_alltoalls ? (size_t)c.dst : 1);
    const bool is_to_all = c.kind == c_alltoall || c.kind == c_alltoalls;
    for (int m = 0; m < n && (c.kind == c_collect || c.kind == c_fcollect || is_to_all); m++)
        for (size_t i = 0; i < coll_count(c, m); i++, out += step)
            coll_source(c, m, i + (is_to_all ? (size_t)me * nelems : 0), out);
    for (size_t i = 0; i < nelems && c.kind == c_broadcast; i++)
        coll_source(c, c.root, i, out + i * bytes);
    const int end = c.kind == c_inscan ? me + 1 : c.kind == c_exscan ? me : n;
    const size_t first = c.kind == c_reducescatter ? (size_t)me * nelems : 0;
    const bool is_scan = c.kind == c_inscan || c.kind == c_exscan;
    const bool by_node = is_on_several_nodes(t) && (!is_scan || is_node_by_node(t));
    for (size_t i = 0; i < nelems && c.kind >= c_reduce; i++)
        if (by_node)
            expect_by_node(c, t, end, is_scan ? me : -1, first + i, out + i * bytes);
        else
            expect_computed(c, end, first + i, out + i * bytes);
}

void coll_model(const coll_call *calls, int n_calls, const coll_team *teams, uint8_t *before,
                uint8_t *after, size_t used)
{
    for (int k = 0; k < n_calls; k++) {
        const coll_call &c = calls[k];
        const coll_team &t = teams[c.team];
        const size_t step = c.elem.bytes * (c.kind == c_alltoalls ? (size_t)c.sst : 1);
        const size_t n = t.me < 0 ? 0 : coll_source_nelems(c, t.me, t.n);
        for (size_t i = 0; i * step < n * c.elem.bytes; i++)
            coll_source(c, t.me, i, before + c.source_off + i * step);
    }
    memcpy(after, before, used);
    for (int k = 0; k < n_calls; k++) {
        const coll_team &t = teams[calls[k].team];
        if (t.me >= 0)
            coll_expect(calls[k], t, after + calls[k].dest_off);
    }
}
