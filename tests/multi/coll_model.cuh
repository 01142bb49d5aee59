/* SPDX-License-Identifier: Apache-2.0
 * For the tests of collectives: what one call is, its expected result (coll_model.cc), and a stage
 * in the heap on which several calls have their sources and dests, with guard zones around each.
 * What a member gives depends on the call's seed alone, so every PE can compute what it must
 * get. */
#ifndef GSH_TEST_COLL_MODEL_CUH
#define GSH_TEST_COLL_MODEL_CUH

#include <math.h>
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
    d_longdouble, /* on the host only */
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

/* ---- calls ----------------------------------------------------------------------------------- */

struct coll_call {
    coll_kind kind;
    coll_op op; /* for reductions and scans */
    coll_elem elem;
    int team; /* in the test's list */
    int n_members;
    int32_t root, dst, sst;
    bool is_in_place;
    uint32_t nelems; /* in a collect: the most that any member gives */
    uint64_t seed;
    uint64_t dest_off, source_off; /* on the stage, in bytes; for this PE */
    uint64_t dest_bytes, source_bytes;
};

/* In a collect each member gives a different number, some none. */
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

/* ---- teams ----------------------------------------------------------------------------------- */

struct coll_team {
    gshmem_team_t handle; /* INVALID if this PE is no member */
    int me, n;
    const char *name;
    std::vector<int> node; /* of each member, if the job has pretend nodes; empty: one node */
};

static inline coll_team coll_join(gshmem_team_t handle, const char *name)
{
    coll_team t = {handle, gshmem_team_my_pe(handle), gshmem_team_n_pes(handle), name, {}};
    const char *node_pes = getenv("GSHMEM_NODE_PES");
    for (int m = 0; node_pes != NULL && m < t.n; m++)
        t.node.push_back(gshmem_team_translate_pe(handle, m, GSHMEM_TEAM_WORLD) / atoi(node_pes));
    return t;
}

/* Fills in `used` bytes of the stage: the calls' sources, and the expected contents after the
 * calls. `before` has what lies around them. In a unit of its own, optimised in every build and not
 * instrumented: the model does most of these tests' computation. */
void coll_model(const coll_call *calls, int n_calls, const coll_team *teams, uint8_t *before,
                uint8_t *after, size_t used);

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

/* Room for nelems elements, off_nelems beyond a multiple of 128; the same on all PEs. */
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
    /* half of them begin at a cache line, like an allocation */
    c.dest_off = take_room(s, c, n_dest > n_source ? n_dest : n_source, off < 8 ? off % 4 : 0);
    c.source_off = c.is_in_place ? c.dest_off : take_room(s, c, n_source, off % 2 ? off / 4 : 0);
    if (c.is_in_place && c.kind == c_fcollect)
        c.source_off += part;
    if (c.is_in_place && c.kind == c_reducescatter)
        c.dest_off += part;
    s->calls[s->n_calls++] = c;
}

/* The stage's contents before the calls, and those expected after them. */
static inline void set_stage(coll_stage *s, const coll_team *teams)
{
    test_fill(s->before, s->used, s->calls[0].seed + (uint64_t)gshmem_my_pe());
    coll_model(s->calls, s->n_calls, teams, s->before, s->after, s->used);
    test_copy(s->heap, s->before, s->used);
}

static inline bool is_nan(coll_domain domain, const uint8_t *element)
{
    uint64_t bits = 0;
    memcpy(&bits, element, domain == d_double ? 8 : domain == d_float ? 4 : 2);
    long double x;
    switch (domain) {
    case d_half:
        return (bits & 0x7fff) > 0x7c00;
    case d_bfloat16:
        return (bits & 0x7fff) > 0x7f80;
    case d_float:
        return (bits & 0x7fffffff) > 0x7f800000;
    case d_double:
        return (bits & INT64_MAX) > (uint64_t)0x7ff << 52;
    case d_longdouble:
        memcpy(&x, element, sizeof x);
        return isnan(x);
    default:
        return false;
    }
}

/* The padding of a long double is ignored, and which NaN a NaN is. */
static inline void skip_what_may_differ(coll_stage *s, const coll_team *teams)
{
    const size_t used = __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double);
    for (int k = 0; k < s->n_calls; k++) {
        const coll_call &c = s->calls[k];
        if (c.kind < c_reduce || teams[c.team].me < 0)
            continue;
        for (size_t i = 0; i < c.nelems; i++) {
            const size_t at = c.dest_off + i * c.elem.bytes;
            if (is_nan(c.elem.domain, s->after + at) && is_nan(c.elem.domain, s->found + at))
                memcpy(s->after + at, s->found + at, c.elem.bytes);
            else if (c.elem.domain == d_longdouble)
                memcpy(s->after + at + used, s->found + at + used, c.elem.bytes - used);
        }
    }
}

/* Compares, reports differences, and clears the stage. */
static inline bool check_stage(coll_stage *s, const coll_team *teams, const char *form)
{
    test_copy(s->found, s->heap, s->used);
    skip_what_may_differ(s, teams);
    bool is_right = memcmp(s->found, s->after, s->used) == 0;
    if (!is_right) {
        size_t at = 0;
        while (s->found[at] == s->after[at])
            at++;
        /* the last call whose room begins earlier; its dest's room comes first */
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

#if defined(__CUDACC__)
#include "tests/multi/coll_model.cc"
#endif

#endif
