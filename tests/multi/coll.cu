/* SPDX-License-Identifier: Apache-2.0
 * Proves the collectives of kernels, by a thread, a warp, a block and a grid, for types of each
 * width: on teams of every shape, with sizes around each change of algorithm, in place and not,
 * byte for byte against a model and with guard zones. Then several at once in one kernel, each
 * block or pair of blocks on its own channel, or with its own team; arguments that must be refused;
 * and a soak of calls by the host, streams and kernels in turn on teams that come and go.
 *
 *     coll [--count=ROUNDS] [--seed=N] [--soak=CALLS] [--full] (every size by every team) */
#include "tests/multi/coll_teams.cuh"

enum coll_group { g_thread, g_warp, g_block, g_grid, n_coll_groups };
static const char *const coll_group_names[] = {"thread", "warp", "block", "grid"};
enum { grid_blocks = 3, block_threads = TEST_SANITIZED ? 40 : 72 };

/* ---- a call in a kernel ---------------------------------------------------------------------- */

enum coll_type { is_uint8, is_ushort, is_int, is_double, is_half, n_coll_types };
static const coll_elem coll_types[] = {{d_unsigned, 1, "uint8"},
                                       {d_unsigned, 2, "ushort"},
                                       {d_signed, 4, "int"},
                                       {d_double, 8, "double"},
                                       {d_half, 2, "half"}};

/* A coll_call in the form that kernels use. */
struct kernel_call {
    coll_kind kind;
    coll_op op;
    coll_type type;
    gshmem_team_t team;
    void *dest;
    const void *source;
    size_t nelems;
    int root;
    ptrdiff_t dst, sst;
    cudaStream_t stream;
};

/* By name: GROUP is empty for a thread and for the host; MORE is a call's last argument. */
#define MOVE_BY(NAME, T, PREFIX, GROUP)                                                            \
    switch (c.kind) {                                                                              \
    case c_broadcast:                                                                              \
        return PREFIX##_##NAME##_broadcast##GROUP(c.team, (T *)c.dest, (const T *)c.source,        \
                                                  c.nelems, c.root MORE);                          \
    case c_collect:                                                                                \
        return PREFIX##_##NAME##_collect##GROUP(c.team, (T *)c.dest, (const T *)c.source,          \
                                                c.nelems MORE);                                    \
    case c_fcollect:                                                                               \
        return PREFIX##_##NAME##_fcollect##GROUP(c.team, (T *)c.dest, (const T *)c.source,         \
                                                 c.nelems MORE);                                   \
    case c_alltoall:                                                                               \
        return PREFIX##_##NAME##_alltoall##GROUP(c.team, (T *)c.dest, (const T *)c.source,         \
                                                 c.nelems MORE);                                   \
    case c_alltoalls:                                                                              \
        return PREFIX##_##NAME##_alltoalls##GROUP(c.team, (T *)c.dest, (const T *)c.source, c.dst, \
                                                  c.sst, c.nelems MORE);                           \
    default:                                                                                       \
        break;                                                                                     \
    }
#define COMPUTE_BY(NAME, T, PREFIX, GROUP, OP)                                                   \
    if (c.op == o_##OP)                                                                          \
        return c.kind == c_reduce ? PREFIX##_##NAME##_##OP##_reduce##GROUP(                      \
                                        c.team, (T *)c.dest, (const T *)c.source, c.nelems MORE) \
                                  : PREFIX##_##NAME##_##OP##_reducescatter##GROUP(               \
                                        c.team, (T *)c.dest, (const T *)c.source, c.nelems MORE);
#define SCAN_BY(NAME, T, PREFIX, GROUP)                                                      \
    if (c.kind == c_inscan)                                                                  \
        return PREFIX##_##NAME##_sum_inscan##GROUP(c.team, (T *)c.dest, (const T *)c.source, \
                                                   c.nelems MORE);                           \
    if (c.kind == c_exscan)                                                                  \
        return PREFIX##_##NAME##_sum_exscan##GROUP(c.team, (T *)c.dest, (const T *)c.source, \
                                                   c.nelems MORE);
#define ARITH_BY(NAME, T, PREFIX, GROUP)    \
    SCAN_BY(NAME, T, PREFIX, GROUP)         \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, min) \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, max) \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, sum) \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, prod)
#define LOGIC_BY(NAME, T, PREFIX, GROUP)    \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, and) \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, or)  \
    COMPUTE_BY(NAME, T, PREFIX, GROUP, xor)

/* A function for each type and group. */
#define CALL_BY(NAME, T, PREFIX, GROUP, LOGIC)                                    \
    static CALLER int NAME##_call##GROUP(const kernel_call &c)                    \
    {                                                                             \
        MOVE_BY(NAME, T, PREFIX, GROUP)                                           \
        LOGIC(NAME, T, PREFIX, GROUP) ARITH_BY(NAME, T, PREFIX, GROUP) return -1; \
    }
#define NO_LOGIC(NAME, T, PREFIX, GROUP)
#define CALLS_BY(PREFIX, GROUP)                           \
    CALL_BY(uint8, uint8_t, PREFIX, GROUP, LOGIC_BY)      \
    MORE_CALLS_BY(PREFIX, GROUP)                          \
    CALL_BY(half, gshmem_half_t, PREFIX, GROUP, NO_LOGIC) \
    static CALLER int call##GROUP(const kernel_call &c)   \
    {                                                     \
        return c.type == is_uint8  ? uint8_call##GROUP(c) \
               : c.type == is_half ? half_call##GROUP(c)  \
                                   : MORE_TYPES(GROUP);   \
    }
/* Each type is a hundred collectives to compile. For nvcc and under sanitizers, which check the
 * order of accesses, two types are enough: the plain build for the CPU device covers what differs
 * between types. */
#if defined(__CUDACC__) || TEST_SANITIZED
#define MORE_CALLS_BY(PREFIX, GROUP)
#define MORE_TYPES(GROUP) -1
#else
#define MORE_CALLS_BY(PREFIX, GROUP)                         \
    CALL_BY(ushort, unsigned short, PREFIX, GROUP, LOGIC_BY) \
    CALL_BY(int, int, PREFIX, GROUP, NO_LOGIC)               \
    CALL_BY(double, double, PREFIX, GROUP, NO_LOGIC)
#define MORE_TYPES(GROUP)                        \
    (c.type == is_ushort ? ushort_call##GROUP(c) \
     : c.type == is_int  ? int_call##GROUP(c)    \
                         : double_call##GROUP(c))
#endif
#define CALLER __noinline__ HD
#define MORE
CALLS_BY(gshmem, )
#undef CALLER
#define CALLER __noinline__ __device__
CALLS_BY(gshmemx, _warp)
CALLS_BY(gshmemx, _block)
CALLS_BY(gshmemx, _grid)
#undef CALLER
#undef MORE
#define CALLER
#define MORE , c.stream
CALLS_BY(gshmemx, _on_stream)
#undef CALLER
#undef MORE

static __device__ void expect_done(verdict *v, int result, int call)
{
    EXPECT_AT(v, result, 0, call);
}

/* Makes the calls in turn, by one group. */
__global__ void thread_kernel(const kernel_call *calls, int n, verdict *v)
{
    for (int k = 0; k < n; k++)
        expect_done(v, call(calls[k]), k);
}
__global__ void warp_kernel(const kernel_call *calls, int n, verdict *v)
{
    for (int k = 0; k < n; k++)
        expect_done(v, call_warp(calls[k]), k);
}
__global__ void block_kernel(const kernel_call *calls, int n, verdict *v)
{
    for (int k = 0; k < n; k++)
        expect_done(v, call_block(calls[k]), k);
}
__global__ void grid_kernel(const kernel_call *calls, int n, verdict *v)
{
    for (int k = 0; k < n; k++)
        expect_done(v, call_grid(calls[k]), k);
}

/* ---- several at once in one kernel ----------------------------------------------------------- */

/* By channels; ints. */
template <class G> static __device__ int call_on_channel(const kernel_call &c, G g, int channel)
{
    const auto here = gshmem::default_context();
    int *dest = (int *)c.dest;
    const int *source = (const int *)c.source;
    const size_t bytes = c.nelems * sizeof(int);
    switch (c.kind) {
    case c_broadcast:
        return gshmem::broadcastmem(here, g, c.team, dest, source, bytes, c.root, channel);
    case c_collect:
        return gshmem::collectmem(here, g, c.team, dest, source, bytes, channel);
    case c_fcollect:
        return gshmem::fcollectmem(here, g, c.team, dest, source, bytes, channel);
    case c_alltoall:
        return gshmem::alltoallmem(here, g, c.team, dest, source, bytes, channel);
    case c_alltoalls:
        return gshmem::alltoalls(here, g, c.team, dest, source, c.dst, c.sst, c.nelems, channel);
    case c_reduce:
        return gshmem::reduce<gshmem::op_sum>(here, g, c.team, dest, source, c.nelems, channel);
    case c_reducescatter:
        return gshmem::reducescatter<gshmem::op_sum>(here, g, c.team, dest, source, c.nelems,
                                                     channel);
    case c_inscan:
        return gshmem::scan<true>(here, g, c.team, dest, source, c.nelems, channel);
    default:
        return gshmem::scan<false>(here, g, c.team, dest, source, c.nelems, channel);
    }
}

/* Call k is made by block, warp or pair of blocks number k modulo their count, on the channel with
 * its own number, or each block uses its own team. */
enum coll_share { by_blocks, by_warps, by_pairs, by_teams, n_coll_shares };
static const char *const coll_share_names[] = {"a channel for each block",
                                               "a channel for each warp",
                                               "a channel for two blocks", "a team for each block"};

__global__ void share_kernel(const kernel_call *calls, int n, coll_share share, verdict *v)
{
    const int block = (int)blockIdx.x, warp = (int)threadIdx.x / 32;
    const int me = share == by_warps ? warp : share == by_pairs ? block / 2 : block;
    const int n_groups = share == by_warps   ? (int)blockDim.x / 32
                         : share == by_pairs ? (int)gridDim.x / 2
                                             : (int)gridDim.x;
    for (int k = me; k < n; k += n_groups) {
        const kernel_call &c = calls[k];
        const gshmem::group_blocks pair = {(uint32_t)block % 2, 2};
        expect_done(v,
                    share == by_warps ? call_on_channel(c, gshmem::group_warp(), me)
                    : share == by_pairs
                        ? call_on_channel(c, pair, me)
                        : call_on_channel(c, gshmem::group_block(), share == by_teams ? 0 : me),
                    k);
    }
}

/* ---- what must be refused -------------------------------------------------------------------- */

__global__ void failure_kernel(int *a, int *b, verdict *v)
{
    const gshmem_team_t world = GSHMEM_TEAM_WORLD, no_teams[] = {GSHMEM_TEAM_INVALID, 12345678};
    const int n = gshmem_n_pes();
    for (gshmem_team_t t : no_teams) {
        EXPECT(v, gshmemx_int_sum_reduce_block(t, a, b, 4) != 0);
        EXPECT(v, gshmemx_int_sum_reducescatter_block(t, a, b, 4) != 0);
        EXPECT(v, gshmemx_int_sum_inscan_block(t, a, b, 4) != 0);
        EXPECT(v, gshmemx_int_broadcast_block(t, a, b, 4, 0) != 0);
        EXPECT(v, gshmemx_int_collect_block(t, a, b, 4) != 0);
        EXPECT(v, gshmemx_int_fcollect_block(t, a, b, 0) != 0);
        EXPECT(v, gshmemx_int_alltoall_block(t, a, b, 4) != 0);
        EXPECT(v, gshmemx_int_alltoalls_block(t, a, b, 1, 1, 4) != 0);
    }
    EXPECT(v, gshmemx_int_broadcast_block(world, a, b, 4, -1) != 0);
    EXPECT(v, gshmemx_int_broadcast_block(world, a, b, 4, n) != 0);
    EXPECT(v, gshmemx_int_alltoalls_block(world, a, b, 0, 1, 4) != 0);
    EXPECT(v, gshmemx_int_alltoalls_block(world, a, b, 1, -1, 4) != 0);
    for (int channel : {-1, 1000000})
        EXPECT(v, gshmem::reduce<gshmem::op_sum>(gshmem::default_context(), gshmem::group_block(),
                                                 world, a, b, 4, channel) != 0);
}

/* ---- the host's side ------------------------------------------------------------------------- */

enum { n_passing_teams = 4, n_all_teams = n_coll_teams + n_passing_teams };

struct scene {
    test_pe pe;
    coll_team teams[n_all_teams]; /* the last ones come and go in the soak */
    coll_stage stage;
    kernel_call *calls; /* in device memory */
    verdict *v;
};

/* The available operations and types of each kind. */
struct coll_row {
    coll_kind kind;
    coll_op op;
    coll_type type;
};

#if defined(__CUDACC__) || TEST_SANITIZED
enum { type_step = is_half };
#else
enum { type_step = 1 };
#endif

static int list_rows(coll_row *rows)
{
    int n = 0;
    for (int type = 0; type < n_coll_types; type += type_step)
        for (int kind = 0; kind < n_coll_kinds; kind++) {
            const bool is_logic = type == is_uint8 || type == is_ushort;
            const bool has_op = kind == c_reduce || kind == c_reducescatter;
            const int first = !has_op ? o_sum : is_logic ? o_and : o_min;
            for (int op = first; op <= (has_op ? o_prod : o_sum); op++)
                rows[n++] = {(coll_kind)kind, (coll_op)op, (coll_type)type};
        }
    return n;
}
enum { max_rows = n_coll_types * (n_coll_kinds + 12) };

static coll_type type_of(const coll_call &c)
{
    int type = 0;
    while (strcmp(coll_types[type].name, c.elem.name) != 0)
        type++;
    return (coll_type)type;
}

static kernel_call in_kernel(const scene *s, const coll_call &c)
{
    kernel_call k = {};
    k.kind = c.kind;
    k.op = c.op;
    k.type = type_of(c);
    k.team = s->teams[c.team].handle;
    k.dest = s->stage.heap + c.dest_off;
    k.source = s->stage.heap + c.source_off;
    k.nelems = coll_count(c, s->teams[c.team].me);
    k.root = c.root;
    k.dst = c.dst;
    k.sst = c.sst;
    k.stream = s->pe.stream;
    return k;
}

/* The calls on the stage in which this PE takes part. */
static int own_calls(scene *s, kernel_call *calls)
{
    int n = 0;
    for (int k = 0; k < s->stage.n_calls; k++)
        if (s->teams[s->stage.calls[k].team].me >= 0)
            calls[n++] = in_kernel(s, s->stage.calls[k]);
    test_copy(s->calls, calls, (size_t)n * sizeof *calls);
    return n;
}

static void launch(scene *s, coll_group group, int n)
{
    const kernel_call *calls = s->calls;
    if (group == g_thread)
        test_collective(&s->pe, thread_kernel, 1, 1, calls, n, s->v);
    else if (group == g_warp)
        test_collective(&s->pe, warp_kernel, 1, 32, calls, n, s->v);
    else if (group == g_block)
        test_collective(&s->pe, block_kernel, 1, block_threads, calls, n, s->v);
    else
        test_collective(&s->pe, grid_kernel, grid_blocks, block_threads, calls, n, s->v);
    test_sync(&s->pe);
    JUDGE(&s->pe, s->v, coll_group_names[group]);
}

/* Makes all calls on the stage in turn; form: a group, or one past them for the host, two past for
 * a stream. */
static void run_stage(scene *s, int form)
{
    enum { host = n_coll_groups };
    kernel_call calls[coll_max_batch];
    set_stage(&s->stage, s->teams);
    const int n = own_calls(s, calls);
    if (n > 0 && form < n_coll_groups)
        launch(s, (coll_group)form, n);
    for (int k = 0; k < n && form >= host; k++)
        CHECK_EQ(form == host ? call(calls[k]) : call_on_stream(calls[k]), 0);
    test_sync(&s->pe);
    check_stage(&s->stage, s->teams,
                form == host                ? "host"
                : form == n_coll_groups + 1 ? "on a stream"
                                            : coll_group_names[form]);
}

static void add_row(scene *s, const coll_row &row, int team, uint32_t nelems, uint64_t *state)
{
    const coll_call c =
        coll_random(row.kind, row.op, coll_types[row.type], team, s->teams[team].n, nelems, state);
    add_call(&s->stage, s->teams[team], c);
}

/* rank: 0 to 2, for a small, medium or large size. */
static void add_sized(scene *s, const coll_row &row, int team, int rank, uint64_t *state)
{
    add_row(s, row, team, coll_nelems(coll_types[row.type].bytes, rank, team, test_random(state)),
            state);
}

static void test_each(scene *s, int count, uint64_t *state)
{
    enum { n_batch = 8 };
    coll_row rows[max_rows];
    const int n_rows = list_rows(rows);
    for (int group = 0; group < n_coll_groups; group++)
        for (int i = 0; i < count * n_rows; i++) {
            const coll_row &row = rows[i % n_rows];
            const int team = (int)(test_random(state) % n_coll_teams);
            add_sized(s, row, team, (i + i / n_rows) % 3, state);
            if (s->stage.n_calls == n_batch || i == count * n_rows - 1)
                run_stage(s, group);
        }
}

static void test_full(scene *s, uint64_t *state)
{
    coll_row rows[max_rows];
    const int n_rows = list_rows(rows);
    for (int group = 0; group < n_coll_groups; group++)
        for (int i = 0; i < n_rows; i++)
            for (int team = 0; team < n_coll_teams; team++)
                for (uint32_t size : coll_sizes) {
                    const uint32_t n = size / coll_types[rows[i].type].bytes;
                    for (uint32_t nelems : {n, n + 1, n > 0 ? n - 1 : 2})
                        add_row(s, rows[i], team, nelems, state);
                    run_stage(s, group);
                }
}

/* By the groups to which the changes of algorithm belong. */
static void test_switches(scene *s, uint64_t *state)
{
    for (int kind = 0; kind < n_coll_kinds; kind++)
        for (int i = 0; i < n_coll_switches; i++) {
            const coll_elem elem = coll_types[(kind + i) % 2 ? is_half : is_uint8];
            add_call(&s->stage, s->teams[t_world],
                     coll_at_switch((coll_kind)kind, elem, s->pe.n, i, state));
            run_stage(s, i == 0 ? g_block : g_grid);
        }
}

/* The same number of calls for each of the groups that run side by side. */
static void test_shares(scene *s, coll_share share, int count, uint64_t *state)
{
    enum { n_blocks = 6, n_calls = 12 };
    static const int own_teams[] = {t_world, t_backwards, t_channels};
    const int n_groups = share == by_teams ? 3 : share == by_warps || share == by_pairs ? 3 : 6;
    for (int i = 0; i < count; i++) {
        kernel_call calls[coll_max_batch];
        for (int k = 0; k < n_calls; k++) {
            const coll_kind kind = (coll_kind)(test_random(state) % n_coll_kinds);
            const int team = share == by_teams ? own_teams[k % 3] : i % 2 ? t_world : t_channels;
            add_sized(s, {kind, o_sum, is_int}, team, k % 3, state);
        }
        set_stage(&s->stage, s->teams);
        const int n = own_calls(s, calls);
        test_collective(&s->pe, share_kernel,
                        share == by_warps   ? 1u
                        : share == by_teams ? (unsigned)n_groups
                                            : (unsigned)n_blocks,
                        share == by_warps ? 32u * (unsigned)n_groups : (unsigned)block_threads,
                        (const kernel_call *)s->calls, n, share, s->v);
        test_sync(&s->pe);
        JUDGE(&s->pe, s->v, coll_share_names[share]);
        check_stage(&s->stage, s->teams, coll_share_names[share]);
    }
}

static void test_failures(scene *s)
{
    int *a = (int *)s->stage.heap, *b = a + 100;
    memset(s->stage.before, 7, 800);
    test_copy(a, s->stage.before, 800);
    gshmem_barrier_all();
    test_collective(&s->pe, failure_kernel, 1, 32, a, b, s->v);
    test_sync(&s->pe);
    JUDGE(&s->pe, s->v, "what must be refused");
    test_copy(s->stage.found, a, 800);
    CHECK(memcmp(s->stage.found, s->stage.before, 800) == 0);
    gshmem_barrier_all();
}

/* ---- the soak -------------------------------------------------------------------------------- */

/* Replaces a team: some PEs, in some order. */
static void replace_team(scene *s, coll_team *team, uint64_t *state)
{
    std::vector<int> list;
    for (int p = 0; p < s->pe.n; p++)
        list.push_back(p);
    for (int p = s->pe.n; p > 0; p--) {
        const int other = (int)(test_random(state) % (unsigned)p), last = list[p - 1];
        list[p - 1] = list[other];
        list[other] = last;
    }
    list.resize(1 + test_random(state) % (unsigned)s->pe.n);
    gshmem_team_destroy(team->handle);
    *team = coll_join(coll_listed(&s->pe, list, 1 + (int)(test_random(state) % 3)), "random");
}

static void soak(scene *s, uint64_t n_calls, uint64_t *state)
{
    coll_row rows[max_rows];
    const int n_rows = list_rows(rows);
    const double start_ns = test_now_ns();
    for (uint64_t done = 0; done < n_calls;) {
        if (test_random(state) % 4 == 0)
            replace_team(s, &s->teams[n_coll_teams + test_random(state) % n_passing_teams], state);
        const int n = 1 + (int)(test_random(state) % 6);
        for (int k = 0; k < n; k++, done++) {
            const coll_row &row = rows[test_random(state) % (unsigned)n_rows];
            const int rank = (int)(test_random(state) % 8);
            const int team = (int)(test_random(state) % n_all_teams);
            add_sized(s, row, team, rank == 0 ? 2 : rank % 2, state);
        }
        run_stage(s, (int)(test_random(state) % (n_coll_groups + 2)));
    }
    if (s->pe.me == 0)
        printf("coll: %" PRIu64 " calls, %.1f s\n", n_calls, (test_now_ns() - start_ns) * 1e-9);
}

static int pe_main(int argc, char **argv)
{
    scene s = {};
    s.pe = test_begin();
    const int count = test_rounds(&s.pe, argc, argv, 5, 20);
    uint64_t state = test_number(argc, argv, "seed", 1);
    make_coll_teams(&s.pe, s.teams);
    for (int i = n_coll_teams; i < n_all_teams; i++)
        s.teams[i] = coll_join(GSHMEM_TEAM_INVALID, "random");
    s.stage = make_stage(&s.pe, ((size_t)1 << 20) + (size_t)s.pe.n * 2000000);
    s.calls = (kernel_call *)test_device(coll_max_batch * sizeof *s.calls);
    s.v = test_verdict();

    test_failures(&s);
    test_each(&s, count, &state);
    if (test_option(argc, argv, "full"))
        test_full(&s, &state);
    test_switches(&s, &state);
    for (int share = 0; share < n_coll_shares; share++)
        test_shares(&s, (coll_share)share, (TEST_SANITIZED ? 2 : 6) * count, &state);
    const uint64_t n_soak = (TEST_SANITIZED ? 50 : 200) * (uint64_t)count;
    soak(&s, test_number(argc, argv, "soak", n_soak), &state);

    test_free(s.v);
    test_free(s.calls);
    for (int i = n_coll_teams; i < n_all_teams; i++)
        gshmem_team_destroy(s.teams[i].handle);
    free_stage(&s.stage);
    free_coll_teams(s.teams);
    return test_end(&s.pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
