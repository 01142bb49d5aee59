/* SPDX-License-Identifier: Apache-2.0
 * Proves barrier and sync, back to back, from host, thread, warp, block and stream, on every
 * predefined team: what all threads wrote before a barrier is visible to all threads after it, on
 * every PE; no PE leaves a sync before all have arrived; and device and stream forms meet.
 *
 *     sync [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

enum { threads = 64 };
enum scope { by_thread, by_warp, by_block, n_scopes };
static const char *const scope_names[n_scopes] = {"thread", "warp", "block"};
static const int scope_threads[n_scopes] = {1, 32, threads};

/* The teams; 3: the calls without a team. */
enum { n_teams = 4 };
static const char *const team_names[n_teams] = {"WORLD", "SHARED", "NODE", "all"};
static HD gshmem_team_t team_of(int t)
{
    return t == 0 ? GSHMEM_TEAM_WORLD : t == 1 ? GSHMEM_TEAM_SHARED : GSHMEMX_TEAM_NODE;
}

/* Symmetric. box[b][p * threads + t] is written by thread t of PE p, in every second round. */
struct board {
    long *box[2];
    uint64_t *arrived; /* on PE 0 of the team: how many reached a sync, by AMOs */
    int first, n;      /* the team: PEs from first on */
};

/* The board for a team: on several nodes two of the teams are parts of the job. */
static board board_of(const board *b, int t)
{
    const gshmem_team_t team = t == 3 ? GSHMEM_TEAM_WORLD : team_of(t);
    board part = *b;
    part.first = gshmem_team_translate_pe(team, 0, GSHMEM_TEAM_WORLD);
    part.n = gshmem_team_n_pes(team);
    return part;
}

/* Where all PEs must meet: in that team if it has all of them, otherwise in the one that does. */
static gshmem_team_t whole_team(const test_pe *pe, int t)
{
    return gshmem_team_n_pes(team_of(t)) == pe->n ? team_of(t) : GSHMEM_TEAM_WORLD;
}

static HD long stamp(long r, int pe, int t)
{
    return r * 1000000 + pe * 1000 + t;
}

static __device__ int barrier_by(int scope, int t)
{
    if (t == 3) {
        if (scope == by_thread)
            gshmem_barrier_all();
        else if (scope == by_warp)
            gshmemx_barrier_all_warp();
        else
            gshmemx_barrier_all_block();
        return 0;
    }
    return scope == by_thread ? gshmem_barrier(team_of(t))
           : scope == by_warp ? gshmemx_barrier_warp(team_of(t))
                              : gshmemx_barrier_block(team_of(t));
}

static __device__ int sync_by(int scope, int t)
{
    if (t == 3) {
        if (scope == by_thread)
            gshmem_sync_all();
        else if (scope == by_warp)
            gshmemx_sync_all_warp();
        else
            gshmemx_sync_all_block();
        return 0;
    }
    return scope == by_thread ? gshmem_team_sync(team_of(t))
           : scope == by_warp ? gshmemx_team_sync_warp(team_of(t))
                              : gshmemx_team_sync_block(team_of(t));
}

/* Every thread writes to every PE of the team. */
static HD void write_round(const board *b, long r, int me, int t)
{
    for (int i = 1; i <= b->n; i++)
        gshmem_long_p(&b->box[r % 2][me * threads + t], stamp(r, me, t),
                      b->first + (me - b->first + i) % b->n);
}

/* Every thread reads what another thread of every PE wrote. */
static __device__ void read_round(const board *b, long r, int t, int n_threads, verdict *v)
{
    const int other = n_threads - 1 - t;
    for (int pe = b->first; pe < b->first + b->n; pe++)
        EXPECT_AT(v, b->box[r % 2][pe * threads + other], stamp(r, pe, other), r);
}

__global__ void barrier_kernel(board b, verdict *v, int scope, int team, long begin, long end)
{
    const int me = gshmem_my_pe(), t = (int)threadIdx.x;
    for (long r = begin; r < end; r++) {
        write_round(&b, r, me, t);
        EXPECT_EQ(v, barrier_by(scope, team), 0);
        read_round(&b, r, t, (int)blockDim.x, v);
    }
}

/* All PEs add one, complete, and then none may pass before all have added. */
__global__ void sync_kernel(board b, verdict *v, int scope, int team, long rounds)
{
    const uint64_t n = (uint64_t)b.n;
    for (long r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) {
            gshmem_uint64_atomic_inc(b.arrived, b.first);
            gshmem_quiet();
        }
        EXPECT_EQ(v, sync_by(scope, team), 0);
        if (threadIdx.x == blockDim.x - 1) {
            const uint64_t arrived = gshmem_uint64_atomic_fetch(b.arrived, b.first);
            EXPECT_AT(v, arrived >= n * (uint64_t)r && arrived <= n * (uint64_t)(r + 1), true, r);
        }
    }
}

__global__ void write_kernel(board b, long r)
{
    write_round(&b, r, gshmem_my_pe(), (int)threadIdx.x);
}

__global__ void read_kernel(board b, verdict *v, long r)
{
    read_round(&b, r, (int)threadIdx.x, (int)blockDim.x, v);
}

__global__ void lone_barrier_kernel(void)
{
    gshmemx_barrier_all_block();
}

static void clear(const test_pe *pe, board *b)
{
    const uint64_t zero = 0;
    gshmem_barrier_all();
    if (pe->me == b->first)
        test_copy(b->arrived, &zero, sizeof zero);
    gshmem_barrier_all();
}

static void test_kernels(const test_pe *pe, board *b, verdict *v, int rounds)
{
    char what[64];
    for (int scope = 0; scope < n_scopes; scope++)
        for (int team = 0; team < n_teams; team++) {
            const unsigned n = (unsigned)scope_threads[scope];
            board part = board_of(b, team);
            const long count = rounds / (scope == by_thread ? 1 : 4) + 2;
            snprintf(what, sizeof what, "barrier, %s, team %s", scope_names[scope],
                     team_names[team]);
            test_collective(pe, barrier_kernel, 1, n, part, v, scope, team, 0L, count);
            test_sync(pe);
            JUDGE(pe, v, what);
            clear(pe, &part);
            snprintf(what, sizeof what, "sync, %s, team %s", scope_names[scope], team_names[team]);
            test_collective(pe, sync_kernel, 1, n, part, v, scope, team, count);
            test_sync(pe);
            JUDGE(pe, v, what);
        }
}

static void test_stream(const test_pe *pe, board *b, verdict *v, int rounds)
{
    for (long r = 0; r < rounds; r++) {
        gshmem_launch(write_kernel, dim3(1), dim3(threads), 0, pe->stream, *b, r);
        if (r % 4 == 3)
            gshmemx_barrier_all_on_stream(pe->stream);
        else
            CHECK_EQ(gshmemx_barrier_on_stream(whole_team(pe, (int)(r % 4)), pe->stream), 0);
        gshmem_launch(read_kernel, dim3(1), dim3(threads), 0, pe->stream, *b, v, r);
        test_pace(pe, r);
    }
    test_sync(pe);
    JUDGE(pe, v, "barriers on a stream");
    for (int team = 0; team < 3; team++)
        CHECK_EQ(gshmemx_team_sync_on_stream(team_of(team), pe->stream), 0);
    gshmemx_sync_all_on_stream(pe->stream);
    test_sync(pe);
}

/* One barrier, entered from a kernel by some PEs and from a stream by the others; and kernels that
 * make several in a row, between the stream's. */
static void test_mixed(const test_pe *pe, board *b, verdict *v, int rounds)
{
    for (long r = 0; r < rounds; r++) {
        gshmem_launch(write_kernel, dim3(1), dim3(threads), 0, pe->stream, *b, r);
        if ((r + pe->me) % 2)
            test_collective(pe, lone_barrier_kernel, 1, threads);
        else
            gshmemx_barrier_all_on_stream(pe->stream);
        gshmem_launch(read_kernel, dim3(1), dim3(threads), 0, pe->stream, *b, v, r);
        /* The next two rounds from inside a kernel, by a block and by a thread. */
        if (r % 8 == 7)
            test_collective(pe, barrier_kernel, 1, threads, *b, v, (int)by_block, 3, r + 1, r + 3);
        if (r % 8 == 3)
            test_collective(pe, barrier_kernel, 1, 1, *b, v, (int)by_thread, 0, r + 1, r + 3);
        gshmemx_sync_all_on_stream(pe->stream);
        test_pace(pe, r);
    }
    test_sync(pe);
    JUDGE(pe, v, "barriers of kernels and streams in turn");
}

static void test_host(const test_pe *pe, board *b, int rounds)
{
    long *found = (long *)calloc((size_t)pe->n * threads, sizeof *found);
    for (long r = 0; r < rounds; r++) {
        write_round(b, r, pe->me, 0);
        const int team = (int)(r % n_teams);
        if (team == 3)
            gshmem_barrier_all();
        else
            CHECK_EQ(gshmem_barrier(whole_team(pe, team)), 0);
        test_copy(found, b->box[r % 2], (size_t)pe->n * threads * sizeof *found);
        for (int from = 0; from < pe->n; from++)
            CHECK_EQ(found[from * threads], stamp(r, from, 0));
    }
    free(found);
    clear(pe, b);
    for (long r = 1; r <= rounds; r++) {
        gshmem_uint64_atomic_inc(b->arrived, 0);
        gshmem_quiet();
        const int team = (int)(r % n_teams);
        if (team == 3)
            gshmem_sync_all();
        else
            CHECK_EQ(r % 2 ? gshmem_team_sync(whole_team(pe, team))
                           : gshmem_sync(whole_team(pe, team)),
                     0);
        const uint64_t arrived = gshmem_uint64_atomic_fetch(b->arrived, 0);
        CHECK(arrived >= (uint64_t)pe->n * (uint64_t)r);
        CHECK(arrived < (uint64_t)pe->n * (uint64_t)(r + 1));
    }
    CHECK(gshmem_barrier(GSHMEM_TEAM_INVALID) != 0);
    CHECK(gshmem_team_sync((gshmem_team_t)1000) != 0);
    CHECK(gshmemx_barrier_on_stream(GSHMEM_TEAM_INVALID, pe->stream) != 0);
    CHECK(gshmemx_team_sync_on_stream(GSHMEM_TEAM_INVALID, pe->stream) != 0);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 400, 20000);
    board b = {};
    b.n = pe.n;
    for (long *&box : b.box)
        box = (long *)test_heap((size_t)pe.n * threads * sizeof *box);
    b.arrived = (uint64_t *)test_heap(sizeof *b.arrived);
    verdict *v = test_verdict();

    test_kernels(&pe, &b, v, rounds);
    test_stream(&pe, &b, v, rounds / 4 + 1);
    gshmem_barrier_all();
    test_mixed(&pe, &b, v, rounds / 4 + 1);
    gshmem_barrier_all();
    test_host(&pe, &b, rounds / 4 + 4);

    test_free(v);
    gshmem_free(b.arrived);
    gshmem_free(b.box[1]);
    gshmem_free(b.box[0]);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
