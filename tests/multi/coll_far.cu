/* SPDX-License-Identifier: Apache-2.0
 * Counts the network requests of collectives over several nodes. Small ones: a leader makes one for
 * each round, ceil(log2(nodes)) in all, the other PEs of a node none. Large ones: each PE makes the
 * messages of the schedule (device/coll/schedule.h), after the rounds in which all arrive, and no
 * others. Requests are counted in the PE's rings; their reader never changes what kernels have
 * written. Only on the CPU device, where this program can read them.
 *
 *     coll_far [--count=CALLS] */
#include "tests/rig/pe.cuh"
#include "wire/ring.h"

#if defined(GSHMEM_CHECKS)
#define HAS_CHECKS 1
#else
#define HAS_CHECKS 0
#endif

enum { n_kinds = 10, max_bytes = 8 };
static const char *const names[n_kinds] = {
    "reduce",   "reducescatter", "inscan",   "exscan",          "broadcast",
    "fcollect", "collect",       "alltoall", "second fcollect", "barrier"};

/* How many requests the rings hold from positions `heads` on, which are then advanced. */
static __device__ int count_requests(uint64_t *heads)
{
    const auto c = gshmem::default_context();
    int n = 0;
    for (uint32_t i = 0; i < gshmem::detail::state_of(c).n_rings; i++) {
        const gsh_ring *ring = gshmem::detail::ring_at(c, i);
        const gsh_ring_slot *slots = reinterpret_cast<const gsh_ring_slot *>(ring->slots);
        const uint64_t end = gshmem::detail::load_relaxed(&ring->gpu_head);
        while (heads[i] < end) {
            const uint64_t word =
                gshmem::detail::load_relaxed(&slots[heads[i] % ring->n_slots].word[0]);
            heads[i] += 1 + (word >> GSH_RING_AT_PAYLOAD & 7);
            n++;
        }
    }
    return n;
}

static __device__ int call(int kind, long *dest, const long *source)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    const size_t n = max_bytes / sizeof(long);
    switch (kind) {
    case 0:
        return gshmem_long_sum_reduce(team, dest, source, n);
    case 1:
        return gshmem_long_sum_reducescatter(team, dest, source, n);
    case 2:
        return gshmem_long_sum_inscan(team, dest, source, n);
    case 3:
        return gshmem_long_sum_exscan(team, dest, source, n);
    case 4:
        return gshmem_long_broadcast(team, dest, source, n, 1);
    case 6:
        return gshmem_long_collect(team, dest, source, n);
    case 7:
        return gshmem_long_alltoall(team, dest, source, n);
    case 9:
        gshmem_sync_all();
        return 0;
    default:
        return gshmem_long_fcollect(team, dest, source, n);
    }
}

/* ---- many bytes ---- */

enum { n_large_kinds = 5, large_bytes = 150000, alltoall_bytes = 20000, broadcast_bytes = 1800000 };
static const char *const large_names[n_large_kinds] = {"reduce", "reducescatter", "broadcast",
                                                       "fcollect", "alltoall"};

static __device__ int large_call(int kind, long *dest, const long *source)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    const size_t n = large_bytes / sizeof(long);
    switch (kind) {
    case 0:
        return gshmem_long_sum_reduce(team, dest, source, n);
    case 1:
        return gshmem_long_sum_reducescatter(team, dest, source, n);
    case 2:
        return gshmem_long_broadcast(team, dest, source, broadcast_bytes / sizeof(long), 1);
    case 3:
        return gshmem_long_fcollect(team, dest, source, n);
    default:
        return gshmem_long_alltoall(team, dest, source, alltoall_bytes / sizeof(long));
    }
}

template <gsh_coll coll> static __device__ int messages_of(const gsh_schedule &s)
{
    int n = 0;
    for (uint64_t phase = 0; phase < s.n_phases; phase++) {
        gsh_cursor at = {0, 0, 0};
        gsh_coll_message m;
        while (gsh_next_message(coll, &s, phase, &at, &m))
            n++;
    }
    return n;
}

static __device__ int scheduled(int kind)
{
    const auto c = gshmem::default_context();
    const gsh_team_state *t = gshmem::detail::find_team(c, GSHMEM_TEAM_WORLD);
    const uint64_t half = (uint64_t)t->work_wide_slot_bytes * (uint64_t)t->n_pes;
    const uint64_t piece = gshmem::detail::state_of(c).far_piece;
    switch (kind) {
    case 0:
        return messages_of<GSH_COLL_REDUCE>(gsh_schedule_reduce(t, large_bytes, half, piece));
    case 1:
        return messages_of<GSH_COLL_REDUCESCATTER>(
            gsh_schedule_reducescatter(t, large_bytes, half, piece));
    case 2: {
        const gsh_schedule s = gsh_schedule_broadcast(t, broadcast_bytes, 1, piece);
        const bool is_in_tree = s.number == 0 ? t->my_index == 1 : t->my_near == 0;
        return is_in_tree ? messages_of<GSH_COLL_BROADCAST>(s) : 0;
    }
    case 3:
        return messages_of<GSH_COLL_FCOLLECT>(gsh_schedule_fcollect(t, large_bytes, piece));
    default:
        return messages_of<GSH_COLL_ALLTOALL>(gsh_schedule_alltoall(t, alltoall_bytes));
    }
}

__global__ void count_large_kernel(int kind, long *dest, const long *source, int rounds, verdict *v)
{
    uint64_t heads[GSH_RING_MAX_RINGS] = {};
    (void)count_requests(heads);
    const int result = large_call(kind, dest, source);
    EXPECT_EQ(v, result, 0);
    const int n = count_requests(heads);
    EXPECT_EQ(v, n, rounds + scheduled(kind));
}

/* ---- few bytes ---- */

/* The most requests of one call of each kind. */
__global__ void count_kernel(long *dest, const long *source, int count, int *most, verdict *v)
{
    uint64_t heads[GSH_RING_MAX_RINGS] = {};
    (void)count_requests(heads);
    for (int i = 0; i < count; i++)
        for (int kind = 0; kind < n_kinds; kind++) {
            const int result = call(kind, dest, source);
            EXPECT_AT(v, result, 0, kind);
            const int n = count_requests(heads);
            most[kind] = n > most[kind] ? n : most[kind];
        }
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int count = test_rounds(&pe, argc, argv, 5, 20);
    const char *node_pes = getenv("GSHMEM_NODE_PES");
    const int on_node = node_pes == NULL ? pe.n : atoi(node_pes);
    int rounds = 0;
    for (int reach = 1; reach < (pe.n + on_node - 1) / on_node; reach *= 2)
        rounds++;
    const size_t bytes = (size_t)pe.n * large_bytes + broadcast_bytes;
    long *dest = (long *)test_heap(bytes);
    long *source = (long *)test_heap(bytes);
    int *most = (int *)calloc(n_kinds, sizeof *most);
    verdict *v = test_verdict();
    gshmem_barrier_all();
    test_collective(&pe, count_kernel, 1, 1, dest, (const long *)source, count, most, v);
    test_sync(&pe);
    JUDGE(&pe, v, "small collectives");
    for (int kind = 0; kind < n_kinds; kind++) {
        /* checking builds compare the calls first: twice as many; a collect has two phases */
        const int n_phases = (kind == 6 ? 2 : 1) + (HAS_CHECKS && kind != 9 ? 1 : 0);
        const int allowed = pe.me % on_node == 0 ? n_phases * rounds : 0;
        if (most[kind] != allowed)
            test_fatal("a %s of %d bytes made %d requests, not %d", names[kind], (int)max_bytes,
                       most[kind], allowed);
    }
    /* all have arrived, and in checking builds made the same call, before the messages */
    const int before = pe.me % on_node == 0 ? rounds * (1 + HAS_CHECKS) : 0;
    for (int kind = 0; kind < n_large_kinds; kind++) {
        test_collective(&pe, count_large_kernel, 1, 1, kind, dest, (const long *)source, before, v);
        test_sync(&pe);
        JUDGE(&pe, v, large_names[kind]);
    }
    test_free(v);
    free(most);
    gshmem_free(source);
    gshmem_free(dest);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
