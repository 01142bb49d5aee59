/* SPDX-License-Identifier: Apache-2.0
 * For the tests of collectives: what one call is, what it must give, computed on the host, and a
 * stage in the heap on which several calls have their sources and dests, with guard zones around
 * each. What any member gives depends on the call's seed alone, so every PE can say what it must
 * get. */
#ifndef GSH_TEST_COLL_MODEL_CUH
#define GSH_TEST_COLL_MODEL_CUH

#include <vector>
#include "tests/rig/pe.cuh"

enum coll_kind {
    c_broadcast,
    c_collect,
    c_fcollect,
    c_alltoall,
    c_alltoalls,
    c_reduce,
    c_reducescatter,
    c_inscan,
    c_exscan,
    n_coll_kinds
};
static const char *const coll_kind_names[] = {"broadcast",     "collect",   "fcollect",
                                              "alltoall",      "alltoalls", "reduce",
                                              "reducescatter", "inscan",    "exscan"};

enum coll_op { o_and, o_or, o_xor, o_min, o_max, o_sum, o_prod };
static const char *const coll_op_names[] = {"and", "or", "xor", "min", "max", "sum", "prod"};

/* ---- elements -------------------------------------------------------------------------------- */

enum coll_domain {
    d_unsigned,
    d_signed,
    d_half,
    d_bfloat16,
    d_float,
    d_double,
    d_longdouble, /* of the host */
    d_complexf,
    d_complexd
};

struct coll_elem {
    coll_domain domain;
    uint32_t bytes;
    const char *name;
};

template <class T> struct coll_domain_of {
    static const coll_domain is = T(-1) < T(0) ? d_signed : d_unsigned;
};
#define DOMAIN(T, DOMAIN)                     \
    template <> struct coll_domain_of<T> {    \
        static const coll_domain is = DOMAIN; \
    };
DOMAIN(gshmem_half_t, d_half)
DOMAIN(gshmem_bfloat16_t, d_bfloat16)
DOMAIN(float, d_float)
DOMAIN(double, d_double)
#undef DOMAIN

/* An integer, or a number and, of complex ones, its imaginary part. Numbers here are such that
 * every sum and product of a few is exact, in whatever order. */
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

/* Of floating point: few enough bits for each type to hold it, and for float to add up all; for
 * half and bfloat16 to need their rounding at the end. */
static inline double coll_number(const coll_elem &e, coll_op op, uint64_t random)
{
    static const double factors[] = {1, -1, 2, -2, 0.5, 3, -0.5, 1.5};
    const int64_t range = e.domain == d_half                              ? 2048
                          : e.domain == d_bfloat16                        ? 256
                          : e.domain == d_float || e.domain == d_complexf ? 1 << 20
                                                                          : (int64_t)1 << 40;
    if (op == o_prod)
        return factors[random % 8];
    return (double)((int64_t)(random % (uint64_t)(2 * range)) - range);
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct coll_call {
    coll_kind kind;
    coll_op op; /* of reductions and scans */
    coll_elem elem;
    int team; /* in the test's list */
    int32_t root, dst, sst;
    bool is_in_place;
    uint32_t nelems; /* in a collect: the most that a member gives */
    uint64_t seed;
    uint64_t dest_off, source_off; /* on the stage, in bytes; this PE's */
    uint64_t dest_bytes, source_bytes;
};

/* In a collect each gives another number, some nothing. */
static inline uint32_t coll_count(const coll_call &c, int member)
{
    uint64_t state = c.seed + 77 * (uint64_t)member;
    return c.kind == c_collect ? (uint32_t)(test_random(&state) % (c.nelems + 1u)) : c.nelems;
}

static inline bool may_be_in_place(coll_kind kind)
{
    return kind != c_collect && kind != c_alltoall && kind != c_alltoalls;
}

static inline size_t coll_source_nelems(const coll_call &c, int member, int n)
{
    switch (c.kind) {
    case c_collect:
        return coll_count(c, member);
    case c_alltoall:
    case c_reducescatter:
        return (size_t)n * c.nelems;
    case c_alltoalls:
        return (size_t)n * c.nelems * (size_t)c.sst;
    default:
        return c.nelems;
    }
}

static inline size_t coll_dest_nelems(const coll_call &c, int n)
{
    switch (c.kind) {
    case c_collect:
    case c_fcollect:
    case c_alltoall:
        return (size_t)n * c.nelems;
    case c_alltoalls:
        return (size_t)n * c.nelems * (size_t)c.dst;
    default:
        return c.nelems;
    }
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

/* ---- teams ----------------------------------------------------------------------------------- */

struct coll_team {
    gshmem_team_t handle; /* INVALID where this PE is no member */
    int me, n;
    const char *name;
    std::vector<int> node; /* of each member, where the job is on pretend nodes; empty: on one */
};

static inline coll_team coll_join(gshmem_team_t handle, const char *name)
{
    coll_team t = {handle, gshmem_team_my_pe(handle), gshmem_team_n_pes(handle), name, {}};
    const char *node_pes = getenv("GSHMEM_NODE_PES");
    for (int m = 0; node_pes != NULL && m < t.n; m++)
        t.node.push_back(gshmem_team_translate_pe(handle, m, GSHMEM_TEAM_WORLD) / atoi(node_pes));
    return t;
}

/* ---- what a call must give ------------------------------------------------------------------- */

/* Element i of the sources of the members [0, end), combined; 0 when there are none. */
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

/* Whether the members of each node come one after the other. */
static inline bool is_node_by_node(const coll_team &t)
{
    for (int m = 1; m < t.n; m++)
        for (int before = 0; before < m - 1 && t.node[m] != t.node[m - 1]; before++)
            if (t.node[before] == t.node[m])
                return false;
    return true;
}

/* The same for members on several nodes: what each node has together is rounded to the type; but
 * those of the node of member `me`, where there is one, are added one by one. */
static inline void expect_by_node(const coll_call &c, const coll_team &t, int end, int me, size_t i,
                                  void *out)
{
    char element[16];
    coll_value sum = {};
    bool is_first = true;
    std::vector<bool> is_done(t.n);
    const auto add = [&](coll_value v) {
        sum = is_first ? v : coll_combine(c.elem, c.op, sum, v);
        is_first = false;
    };
    for (int first = 0; first < end; first++) {
        if (is_done[first])
            continue;
        coll_value part = {};
        const bool is_own = me >= 0 && t.node[first] == t.node[me];
        for (int m = first; m < end; m++) {
            if (t.node[m] != t.node[first])
                continue;
            const coll_value v = coll_source(c, m, i, element);
            part = m == first ? v : coll_combine(c.elem, c.op, part, v);
            is_done[m] = true;
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

/* What the dest of this PE becomes: element i at out + i * the distance of dest's elements. */
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

/* ---- the stage ------------------------------------------------------------------------------- */

enum { coll_guard = 64, coll_max_batch = 16 };

struct coll_stage {
    uint8_t *heap;                   /* symmetric */
    uint8_t *before, *after, *found; /* of the host */
    size_t bytes, used;
    int n_pes;
    coll_call calls[coll_max_batch];
    int n_calls;
};

static inline coll_stage make_stage(const test_pe *pe, size_t bytes)
{
    coll_stage s = {};
    s.heap = (uint8_t *)test_heap(bytes);
    s.before = (uint8_t *)malloc(bytes);
    s.after = (uint8_t *)malloc(bytes);
    s.found = (uint8_t *)malloc(bytes);
    s.bytes = bytes;
    s.n_pes = pe->n;
    return s;
}

static inline void free_stage(coll_stage *s)
{
    free(s->found);
    free(s->after);
    free(s->before);
    gshmem_free(s->heap);
}

/* Room for nelems elements, off_nelems away from a multiple of 128; the same on all PEs. */
static inline uint64_t take_room(coll_stage *s, const coll_call &c, size_t nelems,
                                 unsigned off_nelems)
{
    const uint64_t begin = (s->used + coll_guard + 127) / 128 * 128 + off_nelems * c.elem.bytes;
    s->used = begin + nelems * c.elem.bytes + coll_guard;
    if (s->used > s->bytes)
        test_fatal("the stage has %zu bytes, and needs %zu", s->bytes, s->used);
    return begin;
}

/* Places for a call of that team. Offsets are the same on all members. */
static inline void add_call(coll_stage *s, const coll_team &t, coll_call c)
{
    uint64_t state = c.seed;
    const unsigned off = (unsigned)(test_random(&state) % 16);
    const uint64_t part = (uint64_t)(t.me < 0 ? 0 : t.me) * c.nelems * c.elem.bytes;
    const size_t n_dest = coll_dest_nelems(c, s->n_pes);
    const size_t n_source = c.kind == c_collect ? c.nelems : coll_source_nelems(c, 0, s->n_pes);
    /* half of them at the beginning of a line, as from an allocation */
    c.dest_off = take_room(s, c, n_dest > n_source ? n_dest : n_source, off < 8 ? off % 4 : 0);
    c.source_off = c.is_in_place ? c.dest_off : take_room(s, c, n_source, off % 2 ? off / 4 : 0);
    if (c.is_in_place && c.kind == c_fcollect)
        c.source_off += part;
    if (c.is_in_place && c.kind == c_reducescatter)
        c.dest_off += part;
    s->calls[s->n_calls++] = c;
}

/* The stage as it is before the calls, and as it must be after them. */
static inline void set_stage(coll_stage *s, const coll_team *teams)
{
    test_fill(s->before, s->used, s->calls[0].seed + (uint64_t)gshmem_my_pe());
    for (int k = 0; k < s->n_calls; k++) {
        const coll_call &c = s->calls[k];
        const coll_team &t = teams[c.team];
        const size_t step = c.elem.bytes * (c.kind == c_alltoalls ? (size_t)c.sst : 1);
        const size_t n = t.me < 0 ? 0 : coll_source_nelems(c, t.me, t.n);
        for (size_t i = 0; i * step < n * c.elem.bytes; i++)
            coll_source(c, t.me, i, s->before + c.source_off + i * step);
    }
    memcpy(s->after, s->before, s->used);
    for (int k = 0; k < s->n_calls; k++) {
        const coll_team &t = teams[s->calls[k].team];
        if (t.me >= 0)
            coll_expect(s->calls[k], t, s->after + s->calls[k].dest_off);
    }
    test_copy(s->heap, s->before, s->used);
}

/* What is in a long double's padding is nobody's business. */
static inline void skip_padding(coll_stage *s, const coll_team *teams)
{
    const size_t used = __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double);
    for (int k = 0; k < s->n_calls; k++) {
        const coll_call &c = s->calls[k];
        if (c.elem.domain == d_longdouble && c.kind >= c_reduce && teams[c.team].me >= 0)
            for (size_t i = 0; i < c.nelems; i++) {
                const size_t at = c.dest_off + i * c.elem.bytes + used;
                memcpy(s->after + at, s->found + at, c.elem.bytes - used);
            }
    }
}

/* Compares, says what is wrong, and clears the stage. */
static inline bool check_stage(coll_stage *s, const coll_team *teams, const char *form)
{
    test_copy(s->found, s->heap, s->used);
    skip_padding(s, teams);
    bool is_right = memcmp(s->found, s->after, s->used) == 0;
    if (!is_right) {
        size_t at = 0;
        while (s->found[at] == s->after[at])
            at++;
        /* the last call whose room begins before: its dest's comes first */
        int k = s->n_calls - 1;
        while (k > 0 && s->calls[k].dest_off > at + coll_guard)
            k--;
        const coll_call &c = s->calls[k];
        const coll_team &t = teams[c.team];
        char text[320];
        snprintf(text, sizeof text,
                 "%s %s_%s_%s%s of %u elements, root %d, strides %d %d, seed %" PRIu64
                 ", team %s (%d of %d): byte %lld of dest is %02x, not %02x",
                 form, c.elem.name, coll_op_names[c.op], coll_kind_names[c.kind],
                 c.is_in_place ? " in place" : "", c.nelems, c.root, c.dst, c.sst, c.seed, t.name,
                 t.me, t.n, (long long)at - (long long)c.dest_off, s->found[at], s->after[at]);
        test_check(false, __FILE__, __LINE__, text);
    }
    s->used = 0;
    s->n_calls = 0;
    return is_right;
}

#endif
