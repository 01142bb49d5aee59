/* SPDX-License-Identifier: Apache-2.0
 * For the tests of collectives: teams of every shape, and the calls to make with each. */
#ifndef GSH_TEST_COLL_TEAMS_CUH
#define GSH_TEST_COLL_TEAMS_CUH

#include "tests/multi/coll_model.cuh"

/* The team that contains this PE, of several made at once, like rows of a table; all PEs call. */
static inline gshmem_team_t coll_strided(int start, int stride, int size)
{
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    CHECK_EQ(gshmem_team_split_strided(GSHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
    return team;
}

/* From a list; INVALID on PEs not in it. */
static inline gshmem_team_t coll_listed(const test_pe *pe, const std::vector<int> &list,
                                        int n_channels)
{
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    const gshmem_team_config_t config = {0, n_channels};
    for (int member : list)
        if (member == pe->me)
            CHECK_EQ(gshmemx_team_create(list.data(), (int)list.size(), &config,
                                         GSHMEMX_TEAM_NUM_CHANNELS, &team),
                     0);
    return team;
}

enum { n_coll_teams = 8, coll_channels = 6 };
enum { t_world, t_near, t_alone, t_strided, t_list, t_backwards, t_channels, t_bare };

/* A team that finds so much of the pool in use that it gets the minimum of everything. */
static inline gshmem_team_t coll_bare(const test_pe *pe)
{
    enum { n_others = 64 };
    gshmem_team_t others[n_others];
    for (gshmem_team_t &t : others)
        t = coll_strided(0, 1, pe->n);
    const gshmem_team_t bare = coll_strided(0, 1, pe->n);
    for (gshmem_team_t t : others)
        gshmem_team_destroy(t);
    return bare;
}

/* All PEs, the near ones, each PE by itself, every second one, most of them in an order that no
 * stride describes, all of them backwards, and all of them with several channels, or with little
 * memory. */
static inline void make_coll_teams(const test_pe *pe, coll_team *teams)
{
    std::vector<int> list, ring;
    for (int i = 0; i < 3; i++)
        for (int p = i; p < pe->n; p += 3)
            if (p % 5 != 1 || pe->n < 3)
                list.push_back(pe->n - 1 - p);
    for (int i = 0; i < pe->n; i++)
        ring.push_back((i + 1) % pe->n);
    teams[t_world] = coll_join(GSHMEM_TEAM_WORLD, "WORLD");
    teams[t_near] = coll_join(GSHMEMX_TEAM_NEAR, "NEAR");
    gshmem_team_t alone = GSHMEM_TEAM_INVALID, second = GSHMEM_TEAM_INVALID;
    for (int i = 0; i < pe->n; i++) {
        const gshmem_team_t t = coll_strided(i, 1, 1);
        alone = i == pe->me ? t : alone;
    }
    for (int i = 0; i < 2 && i < pe->n; i++) {
        const gshmem_team_t t = coll_strided(i, 2, (pe->n - i + 1) / 2);
        second = i == pe->me % 2 ? t : second;
    }
    teams[t_alone] = coll_join(alone, "of one");
    teams[t_strided] = coll_join(second, "strided");
    teams[t_list] = coll_join(coll_listed(pe, list, 1), "from a list");
    teams[t_backwards] = coll_join(coll_strided(pe->n - 1, -1, pe->n), "backwards");
    teams[t_channels] = coll_join(coll_listed(pe, ring, coll_channels), "with channels");
    teams[t_bare] = coll_join(coll_bare(pe), "with little memory");
}

static inline void free_coll_teams(coll_team *teams)
{
    for (int t = n_coll_teams; t-- > t_alone;)
        gshmem_team_destroy(teams[t].handle);
}

/* Sizes around which the way of doing a call changes: one line of LL data and several, the most
 * that goes by flags in the tables, a cache line, half a slot, slots of the work area and pieces of
 * as many bytes, a root that scatters its data. */
static const uint32_t coll_sizes[] = {1, 8, 16, 64, 128, 512, 1024, 4096, 8192, 16384, 20000};

/* Around one of the sizes; `rank` selects small, medium and large ones. With little memory large
 * ones would take hundreds of pieces, and prove no more. */
static inline uint32_t coll_nelems(uint32_t elem_bytes, int rank, int team, uint64_t random)
{
    const uint32_t n_sizes = sizeof coll_sizes / sizeof *coll_sizes;
    const uint32_t first = rank == 0 ? 0 : rank == 1 ? 3 : 7;
    const uint32_t end = rank == 0 ? 4 : rank == 1 ? 8 : n_sizes - 2 * TEST_SANITIZED;
    const uint32_t size = coll_sizes[first + random % (end - first)] / elem_bytes;
    const uint32_t change = (uint32_t)(random >> 32) % 3;
    const uint32_t nelems = size + change > 0 ? size + change - 1 : 0;
    const uint32_t most = (TEST_SANITIZED ? 300 : 1100) / elem_bytes;
    return team == t_bare && nelems > most ? most : nelems;
}

/* A call with random choices; kind, op and elem are given. */
static inline coll_call coll_random(coll_kind kind, coll_op op, coll_elem elem, int team, int n,
                                    uint32_t nelems, uint64_t *state)
{
    coll_call c = {};
    c.kind = kind;
    c.op = op;
    c.elem = elem;
    c.team = team;
    c.n_members = n;
    c.nelems = nelems;
    c.root = (int)(test_random(state) % 1024) % (n > 0 ? n : 1);
    c.dst = 1 + (int)(test_random(state) % 3);
    c.sst = 1 + (int)(test_random(state) % 3);
    c.is_in_place = may_be_in_place(kind) && test_random(state) % 2;
    c.seed = test_random(state);
    return c;
}

/* Where the GPUs' tables change to another algorithm: for a block, and for several blocks; the
 * latter is also the piece over far members. Only the first one under sanitizers and in large jobs,
 * whose tables have small pieces. */
enum { n_coll_switches = 2 };
static inline uint32_t coll_switch_bytes(int i, int n)
{
    return i == 0 || n > 4 || TEST_SANITIZED ? 64u << 10 : 256u << 10;
}

/* A call of all PEs of about that many bytes: of as many elements, or one fewer, or one more. */
static inline coll_call coll_at_switch(coll_kind kind, coll_elem elem, int n, int i,
                                       uint64_t *state)
{
    const uint32_t nelems =
        coll_switch_bytes(i, n) / elem.bytes + (uint32_t)(test_random(state) % 3) - 1;
    coll_call c = coll_random(kind, o_sum, elem, t_world, n, nelems, state);
    c.dst = c.sst = 1;
    return c;
}

/* The bytes of a stage for one of them by n PEs. */
static inline size_t coll_switch_room(int n)
{
    return 2 * (size_t)n * coll_switch_bytes(n_coll_switches - 1, n) + 4096;
}

#endif
