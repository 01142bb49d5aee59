/* SPDX-License-Identifier: Apache-2.0
 * Proves the collectives of the host and on a stream: each function of each type, on teams of every
 * shape, with sizes around each change of algorithm, in place and not, byte for byte against a
 * model and with guard zones. Then overlapping teams at once, on streams and from the host; results
 * with the same bits on all members and in each run; and calls that must fail and change nothing.
 *
 *     coll_host [--count=CALLS OF EACH FUNCTION] [--seed=N] [--full] (every size by every team)
 *               [--few] (of many PEs: one in nine functions, and no large calls) */
#include "tests/multi/coll_teams.cuh"

/* ---- every function there is ----------------------------------------------------------------- */

struct coll_place {
    gshmem_team_t team;
    void *dest;
    const void *source;
    size_t nelems;
    cudaStream_t stream;
};
typedef int coll_function(const coll_call &c, const coll_place &p);

template <class T, int (*f)(gshmem_team_t, T *, const T *, size_t)>
static int plain(const coll_call &, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, p.nelems);
}
template <class T, int (*f)(gshmem_team_t, T *, const T *, size_t, gshmemx_stream_t)>
static int plain_on(const coll_call &, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, p.nelems, p.stream);
}
template <class T, int (*f)(gshmem_team_t, T *, const T *, size_t, int)>
static int rooted(const coll_call &c, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, p.nelems, c.root);
}
template <class T, int (*f)(gshmem_team_t, T *, const T *, size_t, int, gshmemx_stream_t)>
static int rooted_on(const coll_call &c, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, p.nelems, c.root, p.stream);
}
template <class T, int (*f)(gshmem_team_t, T *, const T *, ptrdiff_t, ptrdiff_t, size_t)>
static int strided(const coll_call &c, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, c.dst, c.sst, p.nelems);
}
template <class T,
          int (*f)(gshmem_team_t, T *, const T *, ptrdiff_t, ptrdiff_t, size_t, gshmemx_stream_t)>
static int strided_on(const coll_call &c, const coll_place &p)
{
    return f(p.team, (T *)p.dest, (const T *)p.source, c.dst, c.sst, p.nelems, p.stream);
}

struct coll_row {
    coll_kind kind;
    coll_op op;
    coll_elem elem;
    coll_function *host, *on_stream; /* on_stream: NULL if missing */
};

/* The host's own functions: their plain names mean those of both sides. */
#define PLAIN(NAME, T, BYTES, DOMAIN, KIND, OP, CALL) \
    {KIND,                                            \
     OP,                                              \
     {DOMAIN, BYTES, #NAME},                          \
     plain<T, gshmem_host::gshmem_##CALL>,            \
     plain_on<T, gshmemx_##CALL##_on_stream>},
#define MOVE(NAME, T, BYTES, DOMAIN, PREFIX, SUFFIX)                            \
    PLAIN(NAME, T, BYTES, DOMAIN, c_collect, o_sum, PREFIX##collect##SUFFIX)    \
    PLAIN(NAME, T, BYTES, DOMAIN, c_fcollect, o_sum, PREFIX##fcollect##SUFFIX)  \
    PLAIN(NAME, T, BYTES, DOMAIN, c_alltoall, o_sum, PREFIX##alltoall##SUFFIX){ \
        c_broadcast,                                                            \
        o_sum,                                                                  \
        {DOMAIN, BYTES, #NAME},                                                 \
        rooted<T, gshmem_host::gshmem_##PREFIX##broadcast##SUFFIX>,             \
        rooted_on<T, gshmemx_##PREFIX##broadcast##SUFFIX##_on_stream>},         \
        {c_alltoalls,                                                           \
         o_sum,                                                                 \
         {DOMAIN, BYTES, #NAME},                                                \
         strided<T, gshmem_host::gshmem_##PREFIX##alltoalls##SUFFIX>,           \
         strided_on<T, gshmemx_##PREFIX##alltoalls##SUFFIX##_on_stream>},
#define TYPED_MOVE(NAME, T) MOVE(NAME, T, sizeof(T), coll_domain_of<T>::is, NAME##_, )
#define COMPUTE(NAME, T, KIND, OP, CALL) \
    PLAIN(NAME, T, sizeof(T), coll_domain_of<T>::is, KIND, o_##OP, NAME##_##OP##_##CALL)
#define REDUCE(NAME, T, OP)                \
    COMPUTE(NAME, T, c_reduce, OP, reduce) \
    COMPUTE(NAME, T, c_reducescatter, OP, reducescatter)
#define LOGIC(NAME, T) REDUCE(NAME, T, and) REDUCE(NAME, T, or) REDUCE(NAME, T, xor)
#define ARITH(NAME, T)                      \
    REDUCE(NAME, T, min)                    \
    REDUCE(NAME, T, max)                    \
    REDUCE(NAME, T, sum)                    \
    REDUCE(NAME, T, prod)                   \
    COMPUTE(NAME, T, c_inscan, sum, inscan) \
    COMPUTE(NAME, T, c_exscan, sum, exscan)
#define COMPLEX_OP(NAME, T, DOMAIN, OP, KIND, CALL) \
    {KIND,                                          \
     o_##OP,                                        \
     {DOMAIN, sizeof(T), #NAME},                    \
     plain<T, gshmem_##NAME##_##OP##_##CALL>,       \
     plain_on<T, gshmemx_##NAME##_##OP##_##CALL##_on_stream>},
#define COMPLEX(NAME, T, DOMAIN)                                     \
    COMPLEX_OP(NAME, T, DOMAIN, sum, c_reduce, reduce)               \
    COMPLEX_OP(NAME, T, DOMAIN, prod, c_reduce, reduce)              \
    COMPLEX_OP(NAME, T, DOMAIN, sum, c_reducescatter, reducescatter) \
    COMPLEX_OP(NAME, T, DOMAIN, prod, c_reducescatter, reducescatter)
#if !defined(GSHMEM_HAS_COMPLEX)
#undef COMPLEX
#define COMPLEX(NAME, T, DOMAIN)
#endif

/* Not on streams. */
#define LONG_DOUBLE(KIND, OP, SHAPE, CALL)                      \
    {KIND,                                                      \
     o_##OP,                                                    \
     {d_longdouble, sizeof(long double), "longdouble"},         \
     SHAPE<long double, gshmem_host::gshmem_longdouble_##CALL>, \
     NULL},
#define LONG_DOUBLE_OP(OP)                        \
    LONG_DOUBLE(c_reduce, OP, plain, OP##_reduce) \
    LONG_DOUBLE(c_reducescatter, OP, plain, OP##_reducescatter)

static const coll_row coll_rows[] = {
    GSHMEM_TYPES_GPU(TYPED_MOVE)                     /* */
    MOVE(mem, void, 1, d_unsigned, , mem)            /* */
    GSHMEM_TYPES_LOGIC(LOGIC)                        /* */
    GSHMEM_TYPES_GPU_ARITH(ARITH)                    /* */
    COMPLEX(complexf, gshmem_complexf_t, d_complexf) /* */
    COMPLEX(complexd, gshmem_complexd_t, d_complexd) /* */
#if !defined(__CUDACC__)
    LONG_DOUBLE(c_broadcast, sum, rooted, broadcast) /* */
    LONG_DOUBLE(c_collect, sum, plain, collect)      /* */
    LONG_DOUBLE(c_fcollect, sum, plain, fcollect)    /* */
    LONG_DOUBLE(c_alltoall, sum, plain, alltoall)    /* */
    LONG_DOUBLE(c_alltoalls, sum, strided, alltoalls) LONG_DOUBLE_OP(min) LONG_DOUBLE_OP(max)
        LONG_DOUBLE_OP(sum) LONG_DOUBLE_OP(prod) LONG_DOUBLE(c_inscan, sum, plain, sum_inscan)
            LONG_DOUBLE(c_exscan, sum, plain, sum_exscan)
#endif
};

/* ---- one call after the other ---------------------------------------------------------------- */

struct scene {
    test_pe pe;
    coll_team teams[n_coll_teams];
    coll_stage stage, second; /* second: for calls made meanwhile */
    cudaStream_t other;
};

/* Call k of a stage. */
static void make_call(const coll_row &row, const coll_stage &s, int k, const coll_team *teams,
                      cudaStream_t *stream)
{
    const coll_call &c = s.calls[k];
    const coll_place p = {teams[c.team].handle, s.heap + c.dest_off, s.heap + c.source_off,
                          coll_count(c, teams[c.team].me), stream ? *stream : 0};
    CHECK_EQ((stream ? row.on_stream : row.host)(c, p), 0);
}

/* This PE's part: nothing if it is no member. */
static void run_alone(scene *s, const coll_row &row, bool on_stream, int team, uint32_t nelems,
                      uint64_t *state)
{
    const coll_call c =
        coll_random(row.kind, row.op, row.elem, team, s->teams[team].n, nelems, state);
    if (s->teams[team].me < 0 || (on_stream && !row.on_stream))
        return;
    add_call(&s->stage, s->teams[team], c);
    set_stage(&s->stage, s->teams);
    make_call(row, s->stage, 0, s->teams, on_stream ? &s->pe.stream : NULL);
    if (on_stream)
        test_sync(&s->pe);
    check_stage(&s->stage, s->teams, on_stream ? "on a stream" : "host");
}

/* One in `step` functions: the calls of all types are alike. */
static void test_each(scene *s, int count, unsigned step, uint64_t *state)
{
    unsigned turn = 0, n = 0;
    for (int i = 0; i < count; i++)
        for (const coll_row &row : coll_rows) {
            if (n++ % step != 0)
                continue;
            for (int on_stream = 0; on_stream < 2; on_stream++, turn++) {
                const int team = (int)(test_random(state) % n_coll_teams);
                const uint32_t nelems =
                    coll_nelems(row.elem.bytes, (int)(turn % 3), team, test_random(state));
                run_alone(s, row, on_stream, team, nelems, state);
            }
        }
}

/* Every size by every team, in place or not at random. */
static void test_full(scene *s, uint64_t *state)
{
    for (const coll_row &row : coll_rows)
        for (uint32_t size : coll_sizes)
            for (int change = -1; change <= 1; change++)
                for (int team = 0; team < n_coll_teams; team++)
                    for (int on_stream = 0; on_stream < 2; on_stream++)
                        run_alone(s, row, on_stream, team,
                                  size / row.elem.bytes + (size < row.elem.bytes ? 1 : 0) + change,
                                  state);
}

static void test_switches(scene *s, uint64_t *state)
{
    for (const coll_row &row : coll_rows)
        for (int form = 0; form < 2 * n_coll_switches; form++) {
            if (strcmp(row.elem.name, "float") != 0 || row.op != o_sum)
                continue;
            const bool on_stream = form % 2 == 1;
            add_call(&s->stage, s->teams[t_world],
                     coll_at_switch(row.kind, row.elem, s->pe.n, form / 2, state));
            set_stage(&s->stage, s->teams);
            make_call(row, s->stage, 0, s->teams, on_stream ? &s->pe.stream : NULL);
            if (on_stream)
                test_sync(&s->pe);
            check_stage(&s->stage, s->teams, on_stream ? "on a stream" : "host");
        }
}

/* ---- teams at once --------------------------------------------------------------------------- */

enum { n_rows = sizeof coll_rows / sizeof *coll_rows };

/* Calls of one team in sequence, for a stream or the host. */
static void plan_batch(scene *s, coll_stage *stage, int n_calls, int team, int *rows,
                       uint64_t *state)
{
    for (int k = 0; k < n_calls; k++) {
        do
            rows[k] = (int)(test_random(state) % n_rows);
        while (!coll_rows[rows[k]].on_stream);
        const coll_row &row = coll_rows[rows[k]];
        const uint32_t nelems = coll_nelems(row.elem.bytes, k % 3, team, test_random(state));
        const coll_call c = coll_random(row.kind, row.op, row.elem, team, s->teams[team].n,
                                        nelems / (1 + nelems * row.elem.bytes / 10000), state);
        if (s->teams[team].me >= 0)
            add_call(stage, s->teams[team], c);
    }
    if (stage->n_calls > 0)
        set_stage(stage, s->teams);
}

/* Two teams that share PEs, each with a stream, which the PEs fill in different orders, or the
 * second team's calls made by the host meanwhile. */
static void run_at_once(scene *s, int first, int second, bool by_host, uint64_t *state)
{
    enum { n_calls = 8 };
    coll_stage *const stages[2] = {&s->stage, &s->second};
    int rows[2][n_calls];
    plan_batch(s, stages[0], n_calls, first, rows[0], state);
    plan_batch(s, stages[1], n_calls, second, rows[1], state);
    for (int i = 0; i < 2; i++) {
        const int which = by_host ? i : (i + s->pe.me) % 2;
        cudaStream_t *stream = which == 0 ? &s->pe.stream : by_host ? NULL : &s->other;
        for (int k = 0; k < stages[which]->n_calls; k++)
            make_call(coll_rows[rows[which][k]], *stages[which], k, s->teams, stream);
    }
    test_sync(&s->pe);
    CUDA(cudaStreamSynchronize(s->other));
    for (coll_stage *stage : stages)
        if (stage->n_calls > 0)
            check_stage(stage, s->teams, by_host ? "host and stream at once" : "streams at once");
}

static void test_at_once(scene *s, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        run_at_once(s, t_world, t_list, i % 2 == 1, state);
        run_at_once(s, t_backwards, t_world, i % 2 == 1, state);
        run_at_once(s, t_strided, t_channels, i % 2 == 1, state);
    }
}

/* ---- the same bits --------------------------------------------------------------------------- */

/* Sums whose last bits depend on the order: the same on all members, and when repeated. */
static void test_same_bits(scene *s, size_t nelems)
{
    const size_t bytes = nelems * sizeof(float);
    float *dest = (float *)s->stage.heap, *source = dest + nelems;
    float *numbers = (float *)malloc(bytes), *first = (float *)malloc(bytes);
    uint64_t state = 1 + (uint64_t)s->pe.me;
    for (size_t i = 0; i < nelems; i++)
        numbers[i] = (float)(1e-12 * (double)(int64_t)test_random(&state));
    test_copy(source, numbers, bytes);
    CHECK_EQ(gshmem_host::gshmem_float_sum_reduce(GSHMEM_TEAM_WORLD, dest, source, nelems), 0);
    test_copy(first, dest, bytes);
    gshmem_barrier_all();
    gshmem_getmem(numbers, dest, bytes, s->pe.next);
    CHECK(memcmp(numbers, first, bytes) == 0);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_host::gshmem_float_sum_reduce(GSHMEM_TEAM_WORLD, dest, source, nelems), 0);
    test_copy(numbers, dest, bytes);
    CHECK(memcmp(numbers, first, bytes) == 0);
    free(first);
    free(numbers);
    gshmem_barrier_all();
}

/* ---- what must fail -------------------------------------------------------------------------- */

static void test_failures(scene *s)
{
    const gshmem_team_t world = GSHMEM_TEAM_WORLD, gone = coll_strided(0, 1, s->pe.n);
    const gshmem_team_t bad_teams[] = {GSHMEM_TEAM_INVALID, 12345678, gone};
    int *a = (int *)s->stage.heap, *b = a + 100;
    const cudaStream_t stream = s->pe.stream;
    gshmem_team_destroy(gone);
    memset(s->stage.before, 7, 800);
    test_copy(a, s->stage.before, 800);
    gshmem_barrier_all();
    for (gshmem_team_t t : bad_teams) {
        CHECK(gshmem_host::gshmem_int_sum_reduce(t, a, b, 4) != 0);
        CHECK(gshmem_host::gshmem_int_max_reducescatter(t, a, b, 4) != 0);
        CHECK(gshmem_host::gshmem_int_sum_exscan(t, a, b, 4) != 0);
        CHECK(gshmem_host::gshmem_int_broadcast(t, a, b, 4, 0) != 0);
        CHECK(gshmem_host::gshmem_collectmem(t, a, b, 4) != 0);
        CHECK(gshmem_host::gshmem_fcollectmem(t, a, b, 0) != 0);
        CHECK(gshmem_host::gshmem_int_alltoalls(t, a, b, 1, 1, 4) != 0);
        CHECK(gshmemx_int_sum_reduce_on_stream(t, a, b, 4, stream) != 0);
        CHECK(gshmemx_alltoallmem_on_stream(t, a, b, 4, stream) != 0);
    }
    for (int root : {-1, s->pe.n}) {
        CHECK(gshmem_host::gshmem_int_broadcast(world, a, b, 4, root) != 0);
        CHECK(gshmem_host::gshmem_broadcastmem(world, a, b, 0, root) != 0);
        CHECK(gshmemx_broadcastmem_on_stream(world, a, b, 4, root, stream) != 0);
    }
    for (int stride : {0, -1}) {
        CHECK(gshmem_host::gshmem_int_alltoalls(world, a, b, stride, 1, 4) != 0);
        CHECK(gshmem_host::gshmem_alltoallsmem(world, a, b, 1, stride, 4) != 0);
        CHECK(gshmemx_int_alltoalls_on_stream(world, a, b, 1, stride, 4, stream) != 0);
    }
    CHECK(strstr(gshmemx_error_string(GSHMEMX_ERROR_INVALID_VALUE), "stride") != NULL);
    test_sync(&s->pe);
    test_copy(s->stage.found, a, 800);
    CHECK(memcmp(s->stage.found, s->stage.before, 800) == 0);
    gshmem_barrier_all();
}

static int pe_main(int argc, char **argv)
{
    scene s = {};
    s.pe = test_begin();
    const int count = test_rounds(&s.pe, argc, argv, 4, 20);
    const bool is_few = test_option(argc, argv, "few");
    uint64_t state = test_number(argc, argv, "seed", 1);
    make_coll_teams(&s.pe, s.teams);
    const size_t bytes = ((size_t)1 << 20) + (size_t)s.pe.n * 200000;
    const size_t room = coll_switch_room(s.pe.n);
    s.stage = make_stage(&s.pe, bytes > room ? bytes : room);
    s.second = make_stage(&s.pe, bytes);
    CUDA(cudaStreamCreateWithFlags(&s.other, cudaStreamNonBlocking));

    test_failures(&s);
    test_each(&s, count, is_few ? 9 : TEST_SANITIZED ? 4 : 1, &state);
    if (test_option(argc, argv, "full"))
        test_full(&s, &state);
    if (!is_few)
        test_switches(&s, &state);
    test_at_once(&s, is_few ? 1 : (TEST_SANITIZED ? 2 : 5) * count, &state);
    for (size_t nelems : {1, 5, 16, 1000, 5000, 20001})
        test_same_bits(&s, nelems);

    CUDA(cudaStreamDestroy(s.other));
    free_stage(&s.second);
    free_stage(&s.stage);
    free_coll_teams(s.teams);
    return test_end(&s.pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
