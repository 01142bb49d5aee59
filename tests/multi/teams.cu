/* SPDX-License-Identifier: Apache-2.0
 * Proves the teams that users make: members and numbering of every kind of split, barriers of them
 * from host, stream and kernels, many alive at once, one of them for each block of a kernel, reused
 * handles, and calls that must fail on all PEs and change nothing.
 *
 *     teams [--count=TEAMS MADE AND DESTROYED] */
#include <algorithm>
#include <vector>
#include "tests/rig/pe.cuh"

/* What a team of PEs first, first + stride, ... must look like from this PE. */
static void check_members(const test_pe *pe, gshmem_team_t team, int first, int stride, int n)
{
    int me = -1;
    for (int i = 0; i < n; i++)
        me = first + i * stride == pe->me ? i : me;
    CHECK_EQ(team == GSHMEM_TEAM_INVALID, me < 0);
    CHECK_EQ(gshmem_team_my_pe(team), me);
    CHECK_EQ(gshmem_team_n_pes(team), me < 0 ? -1 : n);
    if (me < 0)
        return;
    for (int i = 0; i < n; i++) {
        const int world_pe = first + i * stride;
        CHECK_EQ(gshmem_team_translate_pe(team, i, GSHMEM_TEAM_WORLD), world_pe);
        CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, world_pe, team), i);
    }
    CHECK_EQ(gshmem_team_translate_pe(team, n, GSHMEM_TEAM_WORLD), -1);
    for (int other = 0; other < pe->n; other++)
        if ((other - first) % stride != 0)
            CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, other, team), -1);
}

/* ---- barriers of a team ---- */

/* box[r % 2][i] of each member: what member i wrote in round r. */
struct board {
    long *box[2];
    gshmem_team_t team;
    int channel;
};

static inline HD long stamp(long round, int member)
{
    return round * 1000 + member + 1;
}

static __device__ void write_to_all(const board *b, long round)
{
    const int me = gshmem_team_my_pe(b->team), n = gshmem_team_n_pes(b->team);
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        gshmem_long_p(&b->box[round % 2][me], stamp(round, me),
                      gshmem_team_translate_pe(b->team, i, GSHMEM_TEAM_WORLD));
}

static __device__ void read_all(const board *b, long round, verdict *v)
{
    const int n = gshmem_team_n_pes(b->team);
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        EXPECT_AT(v, b->box[round % 2][i], stamp(round, i), round);
}

__global__ void barrier_kernel(board b, verdict *v, long begin, long end)
{
    for (long r = begin; r < end; r++) {
        write_to_all(&b, r);
        EXPECT_EQ(v, gshmemx_barrier_channel_block(b.team, b.channel), 0);
        read_all(&b, r, v);
    }
    EXPECT_EQ(v, gshmemx_barrier_channel_block(b.team, 1000000) != 0, true);
}

__global__ void write_kernel(board b, long round)
{
    write_to_all(&b, round);
}

__global__ void read_kernel(board b, verdict *v, long round)
{
    read_all(&b, round, v);
}

/* Barriers of kernels, streams and host in turn, of a team that contains this PE. */
static void check_barriers(const test_pe *pe, gshmem_team_t team, board *b, verdict *v,
                           const char *what)
{
    enum { rounds = TEST_SANITIZED ? 2 : 6 };
    b->team = team;
    b->channel = 0;
    for (long r = 0; r < 3 * rounds; r += 3) {
        test_collective(pe, barrier_kernel, 1, 32, *b, v, r, r + 2);
        gshmem_launch(write_kernel, dim3(1), dim3(32), 0, pe->stream, *b, r + 2);
        CHECK_EQ(gshmemx_barrier_on_stream(team, pe->stream), 0);
        gshmem_launch(read_kernel, dim3(1), dim3(32), 0, pe->stream, *b, v, r + 2);
        test_sync(pe);
        CHECK_EQ(gshmem_barrier(team), 0);
    }
    JUDGE(pe, v, what);
    CHECK_EQ(gshmem_team_sync(team), 0);
}

/* ---- every kind of split ---- */

static gshmem_team_t strided(gshmem_team_t parent, int start, int stride, int size)
{
    gshmem_team_t team = 77;
    CHECK_EQ(gshmem_team_split_strided(parent, start, stride, size, NULL, 0, &team), 0);
    return team;
}

static void check_and_destroy(const test_pe *pe, gshmem_team_t team, board *b, verdict *v,
                              const char *what)
{
    if (team != GSHMEM_TEAM_INVALID)
        check_barriers(pe, team, b, v, what);
    gshmem_team_destroy(team);
    CHECK_EQ(gshmem_team_n_pes(team), -1);
    gshmem_barrier_all(); /* the board is for the next team */
}

/* Starts, strides and widths from 0 to n: all in small jobs, else those at both ends and one
 * between, for all would be as many teams as the square of the PEs. */
static bool is_tried(int i, int n)
{
    return n <= 16 || i <= 2 || i == n / 2 || i >= n - 1;
}

static void test_strided(const test_pe *pe, board *b, verdict *v)
{
    for (int start = 0; start < pe->n; start++)
        for (int stride = 1; stride <= pe->n; stride++) {
            if (!is_tried(start, pe->n) || !is_tried(stride, pe->n))
                continue;
            const int size = 1 + (pe->n - 1 - start) / stride;
            gshmem_team_t team = strided(GSHMEM_TEAM_WORLD, start, stride, size);
            check_members(pe, team, start, stride, size);
            check_and_destroy(pe, team, b, v, "a strided team");
        }
    gshmem_team_t backwards = strided(GSHMEM_TEAM_WORLD, pe->n - 1, -1, pe->n);
    check_members(pe, backwards, pe->n - 1, -1, pe->n);
    /* a team of a team: every second of those in reverse order */
    const int half = (pe->n + 1) / 2;
    gshmem_team_t part = strided(backwards, 0, 2, half);
    check_members(pe, part, pe->n - 1, -2, half);
    if (part != GSHMEM_TEAM_INVALID) /* parent and part at once */
        check_barriers(pe, part, b, v, "a team of a team");
    gshmem_barrier_all();
    check_barriers(pe, backwards, b, v, "all PEs backwards");
    gshmem_team_destroy(backwards); /* its parts survive */
    check_and_destroy(pe, part, b, v, "a team whose parent has ended");
}

static void test_2d(const test_pe *pe, board *b, verdict *v)
{
    for (int width = 1; width <= pe->n + 1; width++) {
        if (!is_tried(width, pe->n))
            continue;
        gshmem_team_t x = 77, y = 77;
        const int columns = width < pe->n ? width : pe->n;
        const int row = pe->me / columns, column = pe->me % columns;
        const int first = row * columns, rest = pe->n - first;
        CHECK_EQ(gshmem_team_split_2d(GSHMEM_TEAM_WORLD, width, NULL, 0, &x, NULL, 0, &y), 0);
        check_members(pe, x, first, 1, rest < columns ? rest : columns);
        check_members(pe, y, column, columns, (pe->n - column + columns - 1) / columns);
        check_barriers(pe, x, b, v, "a row");
        gshmem_barrier_all();
        check_barriers(pe, y, b, v, "a column");
        gshmem_team_destroy(x);
        gshmem_team_destroy(y);
        gshmem_barrier_all();
    }
}

/* PEs 0, 3, 1, 4, ...: no stride describes them. Only the members call. */
static void test_list(const test_pe *pe, board *b, verdict *v)
{
    std::vector<int> list;
    for (int i = 0; i < 3; i++)
        for (int p = i; p < pe->n; p += 3)
            if (p % 5 != 4)
                list.push_back(p);
    const int n = (int)list.size();
    int me = -1;
    for (int i = 0; i < n; i++)
        me = list[i] == pe->me ? i : me;
    if (me >= 0) {
        gshmem_team_t team = 77;
        CHECK_EQ(gshmemx_team_create(list.data(), n, NULL, 0, &team), 0);
        CHECK_EQ(gshmem_team_my_pe(team), me);
        for (int i = 0; i < n; i++)
            CHECK_EQ(gshmem_team_translate_pe(team, i, GSHMEM_TEAM_WORLD), list[i]);
        check_barriers(pe, team, b, v, "a team from a list");
        CHECK(gshmem_team_ptr(team, b->box[0], me) == b->box[0]);
        CHECK(gshmem_team_ptr(team, b->box[0], n) == NULL);
        gshmem_team_destroy(team);
    }
    gshmem_barrier_all();
}

/* Every second PE, the last one first, by a number that PE 0 hands out, whether or not it is one of
 * them; they know how many they are. Many times, so the numbers' places are reused. */
static void test_meeting(const test_pe *pe, board *b, verdict *v)
{
    uint64_t *id = (uint64_t *)test_heap(sizeof *id);
    for (int round = 0; round < 40; round++) {
        const int first = round % 2 < pe->n ? round % 2 : 0, n = (pe->n - first + 1) / 2;
        const int place = (pe->me - first) / 2;
        const bool is_member = pe->me >= first && (pe->me - first) % 2 == 0;
        uint64_t mine = 0;
        if (pe->me == 0) {
            CHECK_EQ(gshmemx_team_get_uniqueid(&mine), 0);
            for (int i = 0; i < pe->n; i++)
                gshmem_uint64_p(id, mine, i);
        }
        gshmem_barrier_all();
        if (is_member) {
            gshmem_team_t team = 77;
            CHECK_EQ(
                gshmemx_team_init(gshmem_uint64_g(id, pe->me), n, n - 1 - place, NULL, 0, &team),
                0);
            CHECK_EQ(gshmem_team_my_pe(team), n - 1 - place);
            for (int i = 0; i < n; i++)
                CHECK_EQ(gshmem_team_translate_pe(team, i, GSHMEM_TEAM_WORLD),
                         first + 2 * (n - 1 - i));
            if (round < 2)
                check_barriers(pe, team, b, v, "a team that met");
            gshmem_team_destroy(team);
        }
        gshmem_barrier_all();
    }
    gshmem_team_t team = 77;
    CHECK(gshmemx_team_init(~(uint64_t)0, 1, 0, NULL, 0, &team) != 0);
    CHECK_EQ(team, GSHMEM_TEAM_INVALID);
    CHECK(gshmemx_team_init(1u << 24, 1, 0, NULL, 0, &team) != 0);
    uint64_t mine = 0;
    CHECK_EQ(gshmemx_team_get_uniqueid(&mine), 0);
    CHECK(gshmemx_team_init(mine, 1, 1, NULL, 0, &team) != 0);
    CHECK(gshmemx_team_init(mine, pe->n + 1, 0, NULL, 0, &team) != 0);
    CHECK_EQ(gshmemx_team_init(mine, 1, 0, NULL, 0, &team), 0);
    CHECK_EQ(gshmem_team_n_pes(team), 1);
    gshmem_team_destroy(team);
    CHECK(gshmemx_team_get_uniqueid(NULL) != 0);
    gshmem_free(id);
}

/* ---- channels, and many teams ---- */

__global__ void channels_kernel(board b, verdict *v, long rounds)
{
    const int me = gshmem_team_my_pe(b.team), n = gshmem_team_n_pes(b.team);
    long *box = b.box[0] + (size_t)blockIdx.x * n;
    for (long r = 1; r <= rounds; r++) {
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
            gshmem_long_p(&box[me], stamp(r, me),
                          gshmem_team_translate_pe(b.team, i, GSHMEM_TEAM_WORLD));
        EXPECT_EQ(v, gshmemx_barrier_channel_block(b.team, (int)blockIdx.x), 0);
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
            EXPECT_AT(v, box[i], stamp(r, i), r);
        EXPECT_EQ(v, gshmemx_barrier_channel_block(b.team, (int)blockIdx.x), 0);
    }
}

/* Blocks that synchronise one team independently of each other. */
static void test_channels(const test_pe *pe, board *b, verdict *v)
{
    enum { channels = 6 };
    const gshmem_team_config_t config = {0, channels};
    gshmem_team_config_t found = {-1, -1};
    gshmem_team_t team = 77;
    CHECK_EQ(gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n, &config,
                                       GSHMEMX_TEAM_NUM_CHANNELS, &team),
             0);
    CHECK_EQ(gshmem_team_get_config(team, GSHMEMX_TEAM_NUM_CHANNELS, &found), 0);
    CHECK(found.num_channels == channels && found.num_contexts == -1);
    CHECK(gshmem_team_get_config(team, 64, &found) != 0);
    b->team = team;
    test_collective(pe, channels_kernel, channels, 32, *b, v, 50L);
    test_sync(pe);
    JUDGE(pe, v, "a channel for each block");
    gshmem_team_destroy(team);
    gshmem_barrier_all();
}

__global__ void teams_kernel(const gshmem_team_t *teams, verdict *v)
{
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(v, gshmemx_barrier_warp(teams[blockIdx.x]), 0);
}

/* A thousand at once, some of them used by a block each of one kernel. */
static void test_many(const test_pe *pe, verdict *v, int n)
{
    enum { blocks = 8 };
    gshmem_team_t *teams = (gshmem_team_t *)calloc((size_t)n, sizeof *teams);
    gshmem_team_t *on_device = (gshmem_team_t *)test_device(blocks * sizeof *teams);
    for (int i = 0; i < n; i++) {
        teams[i] = strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n);
        CHECK(teams[i] != GSHMEM_TEAM_INVALID);
        CHECK(i == 0 || teams[i] != teams[i - 1]);
    }
    test_copy(on_device, teams + n - blocks, blocks * sizeof *teams);
    test_collective(pe, teams_kernel, blocks, 32, (const gshmem_team_t *)on_device, v);
    test_sync(pe);
    JUDGE(pe, v, "a team for each block");
    for (int i = 0; i < n; i++)
        gshmem_team_destroy(teams[i]);
    test_free(on_device);
    free(teams);
}

/* Made and destroyed repeatedly, of different PEs each time: handles and words are reused. */
static void test_again(const test_pe *pe, int n)
{
    const gshmem_team_t handle = strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n);
    gshmem_team_destroy(handle);
    for (int i = 0; i < n; i++) {
        const int start = i % pe->n, size = 1 + i / pe->n % (pe->n - start);
        gshmem_team_t team = strided(GSHMEM_TEAM_WORLD, start, 1, size);
        if (team == GSHMEM_TEAM_INVALID)
            continue;
        CHECK_EQ(gshmem_team_n_pes(team), size);
        for (int s = i % 3; s > 0; s--)
            CHECK_EQ(gshmem_team_sync(team), 0);
        gshmem_team_destroy(team);
    }
    gshmem_team_t last = strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n);
    CHECK_EQ(last, handle); /* nothing has leaked */
    gshmem_team_destroy(last);
}

/* ---- what must fail ---- */

#define FAILS(call, team)                    \
    do {                                     \
        team = 77;                           \
        CHECK((call) != 0);                  \
        CHECK_EQ(team, GSHMEM_TEAM_INVALID); \
    } while (0)

static void test_failures(const test_pe *pe)
{
    gshmem_team_t x, y;
    const gshmem_team_t world = GSHMEM_TEAM_WORLD;
    const gshmem_team_config_t no_channel = {0, 0}, two = {0, 2};
    FAILS(gshmem_team_split_strided(world, 0, 1, pe->n + 1, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(world, 0, 1, 0, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(world, -1, 1, 1, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(world, 0, 2147483647, 2, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(GSHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(12345678, 0, 1, 1, NULL, 0, &x), x);
    FAILS(gshmem_team_split_strided(world, 0, 1, 1, &no_channel, GSHMEMX_TEAM_NUM_CHANNELS, &x), x);
    FAILS(gshmem_team_split_2d(world, 0, NULL, 0, &x, NULL, 0, &y), x);
    CHECK(gshmem_team_split_strided(world, 0, 1, 1, NULL, 0, NULL) != 0);
    if (pe->n > 1) { /* the PEs ask for different teams */
        FAILS(gshmem_team_split_strided(world, 0, 1, 1 + pe->me % 2, NULL, 0, &x), x);
        const int twice[] = {0, 1, 0}, outside[] = {0, pe->n};
        FAILS(gshmemx_team_create(twice, 3, NULL, 0, &x), x);
        FAILS(gshmemx_team_create(outside, 2, NULL, 0, &x), x);
        /* one PE's arguments are enough */
        std::vector<int> all(pe->n);
        for (int i = 0; i < pe->n; i++)
            all[i] = pe->me == 1 ? pe->n - 1 - i : i;
        FAILS(gshmemx_team_create(all.data(), pe->n, NULL, 0, &x), x);
        CHECK(strstr(gshmemx_error_string(GSHMEMX_ERROR_SYMMETRY), "different orders") != NULL);
        std::sort(all.begin(), all.end());
        x = GSHMEM_TEAM_INVALID;
        CHECK(gshmemx_team_create(all.data(), pe->n, NULL, 0, pe->me == 1 ? NULL : &x) != 0);
        CHECK_EQ(x, GSHMEM_TEAM_INVALID);
        FAILS(gshmemx_team_create(all.data(), pe->n, &two, pe->me == 1 ? 2 : 0, &x), x);
        FAILS(gshmemx_team_create(all.data(), pe->n, NULL, pe->me == 1 ? 64 : 0, &x), x);
        FAILS(gshmem_team_split_strided(world, 0, 1, pe->n, NULL, pe->me == 1 ? 64 : 0, &x), x);
    }
    x = 77;
    CHECK(gshmem_team_split_2d(world, 1, NULL, 0, &x, NULL, 0, &x) != 0);
    CHECK_EQ(x, GSHMEM_TEAM_INVALID);
    FAILS(gshmemx_team_create(NULL, 1, NULL, 0, &x), x);
    gshmem_team_destroy(GSHMEM_TEAM_INVALID);
    gshmem_team_destroy(GSHMEM_TEAM_WORLD);
    CHECK_EQ(gshmem_team_n_pes(world), pe->n);
}

/* Until the pool is full; then there is room again. */
static void test_full_pool(const test_pe *pe)
{
    enum { max = 40 };
    const gshmem_team_config_t large = {0, pe->n > 16 ? 128 : 1024};
    gshmem_team_t teams[max];
    int n = 0;
    while (n < max && gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n, &large,
                                                GSHMEMX_TEAM_NUM_CHANNELS, &teams[n]) == 0)
        n++;
    CHECK(n > 0 && n < max);
    CHECK(strstr(gshmemx_error_string(2), "GSHMEM_TEAM_MEMORY") != NULL);
    while (n > 0)
        gshmem_team_destroy(teams[--n]);
    gshmem_team_destroy(strided(GSHMEM_TEAM_WORLD, 0, 1, pe->n));
}

static int pe_main(int argc, char **argv)
{
    gshmem_init();
    choose_gpu();
    /* before the device is set up */
    const gshmem_team_t early = strided(GSHMEM_TEAM_WORLD, 0, 1, gshmem_n_pes());
    CHECK_EQ(gshmem_team_sync(early), 0);
    test_pe pe = test_join();
    const int count = test_rounds(&pe, argc, argv, 300, 20000);
    board b = {};
    for (long *&box : b.box)
        box = (long *)test_heap((size_t)pe.n * 8 * sizeof *box);
    verdict *v = test_verdict();

    check_members(&pe, early, 0, 1, pe.n);
    check_barriers(&pe, early, &b, v, "a team from before device set-up");
    gshmem_team_destroy(early);
    test_strided(&pe, &b, v);
    test_2d(&pe, &b, v);
    test_list(&pe, &b, v);
    test_meeting(&pe, &b, v);
    test_channels(&pe, &b, v);
    test_many(&pe, v, TEST_SANITIZED || pe.n > 16 ? 100 : 1000); /* each takes memory by the PEs */
    test_again(&pe, count);
    test_failures(&pe);
    test_full_pool(&pe);

    test_free(v);
    gshmem_free(b.box[1]);
    gshmem_free(b.box[0]);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
