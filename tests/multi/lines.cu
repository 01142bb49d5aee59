/* SPDX-License-Identifier: Apache-2.0
 * Proves the collectives on any memory that dialects call (runtime/layer.h): every kind, type,
 * operation and scaling, on ordinary memory, with sizes and misalignments at random, in place and
 * not, one and several in a launch, through the team's inbox and through small ones of the
 * caller's, on the team of all PEs and a part of it: all bytes of each PE's memory against a model.
 * In some calls a PE's memory is symmetric, somewhere else on each of them, and the other one of
 * two may read its source there. Then launches captured into a graph.
 *
 *     lines [--count=CALLS] [--seed=N] [--most=BYTES] (of a block) */
#include "runtime/layer.h"
#include "tests/rig/pe.cuh"

enum { n_places = 8, place_bytes = 48 };
enum { n_kinds = GSHMEMX_LAYER_SCATTER + 1, n_types = GSHMEMX_LAYER_TYPE_E5M2 + 1, most_pes = 8 };

/* ---- the model ------------------------------------------------------------------------------- */

static size_t type_bytes(int type)
{
    static const size_t bytes[n_types] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return bytes[type];
}
static bool is_float8(int type)
{
    return type >= GSHMEMX_LAYER_TYPE_E4M3;
}

/* A small floating-point number of that many bits of mantissa: value is a whole number that it can
 * hold. */
static uint64_t small_float(int64_t value, int mantissa, int bias)
{
    int e = 0;
    if (value == 0)
        return 0;
    while (value >> (e + 1) != 0)
        e++;
    const uint64_t rest = (uint64_t)value - ((uint64_t)1 << e);
    const uint64_t m = e <= mantissa ? rest << (mantissa - e) : rest >> (e - mantissa);
    return (uint64_t)(e + bias) << mantissa | m;
}
static uint64_t bits_of(int type, int64_t value)
{
    const float f = (float)value;
    const double d = (double)value;
    uint64_t bits = 0;
    switch (type) {
    case GSHMEMX_LAYER_TYPE_HALF:
        return small_float(value, 10, 15);
    case GSHMEMX_LAYER_TYPE_BFLOAT16:
        return small_float(value, 7, 127);
    case GSHMEMX_LAYER_TYPE_E4M3:
        return small_float(value, 3, 7);
    case GSHMEMX_LAYER_TYPE_E5M2:
        return small_float(value, 2, 15);
    case GSHMEMX_LAYER_TYPE_FLOAT:
        memcpy(&bits, &f, sizeof f);
        return bits;
    case GSHMEMX_LAYER_TYPE_DOUBLE:
        memcpy(&bits, &d, sizeof d);
        return bits;
    default:
        return (uint64_t)value;
    }
}

/* Element i of the block that a member has for another one; even, and small where numbers are. */
static int64_t value_of(int type, int member, int block, size_t i)
{
    const uint64_t x = (uint64_t)member * 7 + (uint64_t)block * 5 + i * 3;
    return is_float8(type) ? 2 * (int64_t)(x / 3 % 2) : 2 * (int64_t)(x % 5);
}

struct a_call {
    gshmemx_layer_coll c;
    int n, me;
    bool is_in_place;
    size_t dest_at, source_at, used; /* in the PE's memory */
};

static bool computes(const a_call *a)
{
    return a->c.kind <= GSHMEMX_LAYER_REDUCE_SCATTER;
}
static bool is_root(const a_call *a)
{
    return a->me == a->c.root;
}
static int dest_blocks(const a_call *a)
{
    switch (a->c.kind) {
    case GSHMEMX_LAYER_ALL_GATHER:
    case GSHMEMX_LAYER_ALL_TO_ALL:
        return a->n;
    case GSHMEMX_LAYER_GATHER:
        return is_root(a) ? a->n : 0;
    case GSHMEMX_LAYER_REDUCE:
        return is_root(a) ? 1 : 0;
    default:
        return 1;
    }
}
static int source_blocks(const a_call *a)
{
    switch (a->c.kind) {
    case GSHMEMX_LAYER_REDUCE_SCATTER:
    case GSHMEMX_LAYER_ALL_TO_ALL:
        return a->n;
    case GSHMEMX_LAYER_SCATTER:
        return is_root(a) ? a->n : 0;
    case GSHMEMX_LAYER_BROADCAST:
        return is_root(a) ? 1 : 0;
    default:
        return 1;
    }
}

static int64_t multiplier(int member)
{
    return 1 + member % 2;
}
/* Element i of what the members' blocks for `block` add up to. */
static int64_t reduced(const a_call *a, int block, size_t i)
{
    int64_t sum = 0;
    for (int m = 0; m < a->n; m++) {
        int64_t x = value_of(a->c.type, m, block, i);
        if (a->c.scaling == GSHMEMX_LAYER_MULTIPLIED)
            x *= multiplier(m);
        switch (m == 0 ? -1 : (int)a->c.op) {
        case GSHMEMX_LAYER_SUM:
            sum += x;
            break;
        case GSHMEMX_LAYER_PROD:
            sum *= x;
            break;
        case GSHMEMX_LAYER_MAX:
            sum = x > sum ? x : sum;
            break;
        case GSHMEMX_LAYER_MIN:
            sum = x < sum ? x : sum;
            break;
        default:
            sum = x;
        }
    }
    return a->c.scaling == GSHMEMX_LAYER_DIVIDED ? sum / 2 : sum;
}
/* Element i of block `block` of this PE's dest. */
static int64_t result(const a_call *a, int block, size_t i)
{
    const int type = a->c.type;
    switch (a->c.kind) {
    case GSHMEMX_LAYER_ALL_REDUCE:
    case GSHMEMX_LAYER_REDUCE:
        return reduced(a, 0, i);
    case GSHMEMX_LAYER_REDUCE_SCATTER:
        return reduced(a, a->me, i);
    case GSHMEMX_LAYER_ALL_GATHER:
    case GSHMEMX_LAYER_GATHER:
        return value_of(type, block, 0, i);
    case GSHMEMX_LAYER_ALL_TO_ALL:
        return value_of(type, block, a->me, i);
    case GSHMEMX_LAYER_BROADCAST:
        return value_of(type, a->c.root, 0, i);
    default: /* SCATTER */
        return value_of(type, a->c.root, a->me, i);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct room {
    const test_pe *pe;
    uint8_t *memory, *before, *expected, *found; /* memory: the device's: ordinary, or */
    uint8_t *ordinary, *heap;                    /* heap: with room for n_places beginnings */
    size_t bytes;
    uint64_t random, own_random; /* own: another one on each PE */
    void *pieces[2];             /* of two members; the second as if others used it, too */
};

/* The same on all members. */
static uint64_t below(room *r, uint64_t n)
{
    return test_random(&r->random) % n;
}

/* Half of the calls are on what lies together in few lines; with misalignments of elements. */
static void choose(room *r, a_call *a, int n, int me, size_t most_bytes)
{
    gshmemx_layer_coll *const c = &a->c;
    *a = {};
    a->n = n;
    a->me = me;
    c->kind = (gshmemx_layer_coll_kind)below(r, n_kinds);
    c->type = (gshmemx_layer_type)below(r, n_types);
    c->root = (int)below(r, (uint64_t)n);
    const size_t width = type_bytes(c->type), most = most_bytes / width;
    static const size_t sizes[] = {1, 120, 128, 240, 1024};
    c->count =
        below(r, 2) ? below(r, most + 1) : (sizes[below(r, 5)] + below(r, 3) * width) / width;
    c->count = c->count > most ? most : c->count;
    if (computes(a)) {
        c->op = (gshmemx_layer_op)below(r, 4);
        if (c->op == GSHMEMX_LAYER_PROD && (n > 3 || is_float8(c->type)))
            c->op = GSHMEMX_LAYER_MAX; /* the product would not fit into all types */
        c->scaling = c->op == GSHMEMX_LAYER_PROD ? GSHMEMX_LAYER_NOT_SCALED
                                                 : (gshmemx_layer_scaling)below(r, 3);
        if (c->scaling == GSHMEMX_LAYER_MULTIPLIED)
            c->scalar = bits_of(c->type, multiplier(me));
        if (c->scaling == GSHMEMX_LAYER_DIVIDED)
            c->scalar =
                bits_of(is_float8(c->type) ? (int)GSHMEMX_LAYER_TYPE_FLOAT : (int)c->type, 2);
        if (is_float8(c->type) && n > 4 && c->op == GSHMEMX_LAYER_SUM)
            c->op = GSHMEMX_LAYER_MIN;
        if (c->type == GSHMEMX_LAYER_TYPE_E5M2 && c->scaling == GSHMEMX_LAYER_MULTIPLIED &&
            c->op == GSHMEMX_LAYER_SUM)
            c->op = GSHMEMX_LAYER_MAX;
    }
    c->may_read = below(r, 4) > 0;
    c->shares_pieces = below(r, 2) > 0;
    c->pieces = n == 2 && below(r, 4) > 0 ? r->pieces[c->shares_pieces] : NULL;
    a->is_in_place = below(r, 3) == 0;
}

/* Places a call in the PE's memory from `at` on, fills the images. Returns the end. */
static size_t place(room *r, a_call *a, size_t at)
{
    gshmemx_layer_coll *const c = &a->c;
    const size_t width = type_bytes(c->type), bytes = c->count * width, me = (size_t)a->me;
    const size_t guard = 32, unit = below(r, 2) ? 16 : width;
    const size_t shift[2] = {below(r, 16) * unit, below(r, 16) * unit};
    a->dest_at = (at + guard + 15) / 16 * 16 + shift[0];
    a->source_at = (a->dest_at + (size_t)dest_blocks(a) * bytes + guard + 15) / 16 * 16 + shift[1];
    size_t end = a->source_at + (size_t)source_blocks(a) * bytes + guard;
    if (a->is_in_place) {
        switch (c->kind) {
        case GSHMEMX_LAYER_REDUCE_SCATTER:
            a->dest_at = a->source_at + me * bytes;
            break;
        case GSHMEMX_LAYER_SCATTER:
            if (is_root(a))
                a->dest_at = a->source_at + me * bytes;
            break;
        case GSHMEMX_LAYER_ALL_GATHER:
            a->source_at = a->dest_at + me * bytes;
            break;
        case GSHMEMX_LAYER_GATHER:
            if (is_root(a))
                a->source_at = a->dest_at + me * bytes;
            break;
        default:
            a->source_at = a->dest_at;
        }
    }
    if (end > r->bytes)
        test_fatal("%zu bytes are too few", r->bytes);
    c->dest = dest_blocks(a) > 0 ? r->memory + a->dest_at : NULL;
    c->source = source_blocks(a) > 0 ? r->memory + a->source_at : NULL;
    memset(r->before + at, 0xee, end - at);
    for (int b = 0; b < source_blocks(a); b++)
        for (size_t i = 0; i < c->count; i++) {
            const uint64_t x = bits_of(c->type, value_of(c->type, a->me, b, i));
            memcpy(r->before + a->source_at + (size_t)b * bytes + i * width, &x, width);
        }
    memcpy(r->expected + at, r->before + at, end - at);
    for (int b = 0; b < dest_blocks(a); b++)
        for (size_t i = 0; i < c->count; i++) {
            const uint64_t x = bits_of(c->type, result(a, b, i));
            memcpy(r->expected + a->dest_at + (size_t)b * bytes + i * width, &x, width);
        }
    return end;
}

static void check(const room *r, const a_call *calls, int n, size_t used, const char *how)
{
    test_copy(r->found, r->memory, used);
    if (CHECK(memcmp(r->found, r->expected, used) == 0))
        return;
    size_t at = 0;
    while (r->found[at] == r->expected[at])
        at++;
    for (int i = 0; i < n; i++) {
        const gshmemx_layer_coll *c = &calls[i].c;
        fprintf(stderr,
                "PE %d, %s: byte %zu is %02x and not %02x; call %d of %d: kind %d, type %d, op %d, "
                "scaling %d, root %d, %zu elements, dest at %zu, source at %zu, readable %d\n",
                r->pe->me, how, at, r->found[at], r->expected[at], i, n, c->kind, c->type, c->op,
                c->scaling, c->root, c->count, calls[i].dest_at, calls[i].source_at,
                c->readable != NULL);
    }
}

/* Random calls on a team, several at a time. */
static void run(room *r, gshmem_team_t team, const gshmemx_layer_inbox *inbox, long count,
                size_t most, const char *how)
{
    const int n = gshmem_team_n_pes(team), me = gshmem_team_my_pe(team);
    enum { most_at_once = GSHMEMX_LAYER_COLLS_AT_ONCE + 3 };
    a_call calls[most_at_once];
    gshmemx_layer_coll c[most_at_once];
    CHECK(gshmemx_layer_has_colls(team, inbox));
    for (long i = 0; i < count;) {
        const int at_once = below(r, 3) ? 1 : 1 + (int)below(r, most_at_once);
        const size_t shift = test_random(&r->own_random) % n_places * place_bytes;
        const bool is_symmetric = test_random(&r->own_random) % 3 > 0;
        size_t used = 0;
        r->memory = is_symmetric ? r->heap + shift : r->ordinary;
        for (int k = 0; k < at_once; k++, i++) {
            choose(r, &calls[k], n, me, at_once == 1 ? most : most / 8);
            used = place(r, &calls[k], used);
            calls[k].c.readable =
                is_symmetric && test_random(&r->own_random) % 4 > 0 ? calls[k].c.source : NULL;
            c[k] = calls[k].c;
        }
        test_copy(r->memory, r->before, used);
        CHECK_EQ(gshmemx_layer_colls_on_stream("lines", team, inbox, c, at_once, r->pe->stream), 0);
        test_sync(r->pe);
        check(r, calls, at_once, used, how);
    }
}

/* The same call again and again, on GPUs from a graph: each in place adds to what is there. */
static void run_graph(room *r, gshmem_team_t team)
{
    const int n = gshmem_team_n_pes(team);
    enum { n_floats = 700, n_replays = 4 };
    float *const sums = (float *)r->ordinary;
    float host[n_floats];
    gshmemx_layer_coll c = {};
    c.kind = GSHMEMX_LAYER_ALL_REDUCE;
    c.type = GSHMEMX_LAYER_TYPE_FLOAT;
    c.op = GSHMEMX_LAYER_SUM;
    c.source = c.dest = sums;
    c.count = n_floats;
    for (int i = 0; i < n_floats; i++)
        host[i] = (float)(i % 7);
    test_copy(sums, host, sizeof host);
    /* loads the kernel, which may not happen while others wait in theirs */
    gshmemx_layer_colls_on_stream("lines", team, NULL, &c, 1, r->pe->stream);
    test_sync(r->pe);
#if defined(__CUDACC__)
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(r->pe->stream, cudaStreamCaptureModeThreadLocal));
    CHECK_EQ(gshmemx_layer_colls_on_stream("lines", team, NULL, &c, 1, r->pe->stream), 0);
    CHECK_EQ(gshmemx_layer_colls_on_stream("lines", team, NULL, &c, 1, r->pe->stream), 0);
    CUDA(cudaStreamEndCapture(r->pe->stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < n_replays; i++)
        CUDA(cudaGraphLaunch(exec, r->pe->stream));
    test_sync(r->pe);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
#else
    for (int i = 0; i < 2 * n_replays; i++)
        CHECK_EQ(gshmemx_layer_colls_on_stream("lines", team, NULL, &c, 1, r->pe->stream), 0);
#endif
    test_sync(r->pe);
    test_copy(host, sums, sizeof host);
    float times = 1;
    for (int i = 0; i < 2 * n_replays + 1; i++)
        times *= (float)n;
    for (int i = 0; i < n_floats; i++)
        CHECK(host[i] == (float)(i % 7) * times);
}

static int pe_main(int argc, char **argv)
{
    long count = TEST_SANITIZED ? 60 : 300, seed = 1, most = 3000;
    for (int i = 1; i < argc; i++) {
        sscanf(argv[i], "--count=%ld", &count);
        sscanf(argv[i], "--seed=%ld", &seed);
        sscanf(argv[i], "--most=%ld", &most);
    }
    test_pe pe = test_begin();
    room r = {};
    r.pe = &pe;
    r.random = (uint64_t)seed;
    r.bytes = (size_t)(4 * pe.n + 4) * ((size_t)most + 2048) + 65536;
    r.own_random = (uint64_t)(seed * 64 + pe.me);
    r.ordinary = (uint8_t *)test_device(r.bytes);
    r.heap = (uint8_t *)gshmem_malloc(r.bytes + n_places * place_bytes);
    for (void *&pieces : r.pieces) {
        pieces = gshmem_align(128, gshmemx_layer_pieces_bytes());
        CHECK_EQ(gshmemx_layer_pieces_clear(pieces), 0);
    }
    gshmem_barrier_all();
    r.before = (uint8_t *)malloc(r.bytes);
    r.expected = (uint8_t *)malloc(r.bytes);
    r.found = (uint8_t *)malloc(r.bytes);
    run(&r, GSHMEM_TEAM_WORLD, NULL, count / 8, 64, "small calls");
    run(&r, GSHMEM_TEAM_WORLD, NULL, count / 2, (size_t)most, "the team's inbox");
    run_graph(&r, GSHMEM_TEAM_WORLD);
    const size_t least = gshmemx_layer_inbox_least_bytes(pe.n);
    for (int more = 0; more < 3; more++) {
        gshmemx_layer_inbox inbox = {};
        inbox.bytes = more == 0 ? least : more == 1 ? 4 * least : 30 * least;
        inbox.memory = gshmem_align(128, inbox.bytes);
        CHECK_EQ(gshmemx_layer_inbox_clear(&inbox), 0);
        gshmem_barrier_all();
        run(&r, GSHMEM_TEAM_WORLD, &inbox, count / 8, (size_t)most, "an inbox of the caller's");
        gshmem_barrier_all();
        inbox.bytes = 128;
        CHECK(pe.n == 1 || !gshmemx_layer_has_colls(GSHMEM_TEAM_WORLD, &inbox));
        gshmem_free(inbox.memory);
    }
    gshmem_team_t team;
    gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, pe.n > 1 ? pe.n - 1 : 1, NULL, 0, &team);
    if (team != GSHMEM_TEAM_INVALID)
        run(&r, team, NULL, count / 8, (size_t)most, "a part of the PEs");
    gshmem_barrier_all();
    if (team != GSHMEM_TEAM_INVALID)
        gshmem_team_destroy(team);
    free(r.before);
    free(r.expected);
    free(r.found);
    test_free(r.ordinary);
    for (void *pieces : r.pieces)
        gshmem_free(pieces);
    gshmem_free(r.heap);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
