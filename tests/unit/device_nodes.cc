/* SPDX-License-Identifier: Apache-2.0
 * Proves barrier and sync of teams on several nodes: no PE leaves before all have come, no epoch is
 * lost or met twice however the network delays and reorders the leaders' signals, and (under the
 * thread sanitizer) what was written before a barrier is seen after it through every hop. PEs are
 * CPU devices in one range, with those of other nodes declared far; the network is a stand-in for
 * the ring that carries one operation, late and in any order. */
#define GSHMEM_FAR_CUH /* not device/far.cuh */
#include "cpu/cuda_names.h"

#include "device/address.cuh"
#include "gshmem/types.h"

/* ---- the network ----------------------------------------------------------------------------- */

enum { max_pes = 12, max_members = max_pes, epochs = 24 };
static const size_t stride = 1 << 16;
static char *range; /* PE p's heap is at p * stride */
static int n_quiets[max_pes];

/* One signal under way: adds operand to a word of a PE. Filled by a kernel's thread, then full. */
struct parcel {
    uint64_t full, *word, operand;
};
static parcel parcels[4096];
static uint64_t n_sent, is_over;

namespace gshmem
{
namespace detail
{

inline uint64_t far_amo(const context &c, gsh_amo_op op, void *dest, uint32_t bytes,
                        uint64_t operand, uint64_t, bool is_fetch, int pe, const char *)
{
    if (op != GSH_AMO_ADD || bytes != 8 || is_fetch || pe >= max_pes)
        abort();
    uint64_t i = __atomic_fetch_add(&n_sent, 1, __ATOMIC_RELAXED);
    if (i >= sizeof parcels / sizeof parcels[0])
        abort();
    uint64_t offset = (uint64_t)(uintptr_t)dest - c.state.base;
    store_relaxed(&parcels[i].word, (uint64_t *)(range + (size_t)pe * stride + offset));
    store_relaxed(&parcels[i].operand, operand);
    store_relaxed(&parcels[i].full, (uint64_t)1); /* like a ring's: carries only what was fenced */
    return 0;
}

inline void far_signal(const context &c, uint64_t *word, uint64_t value, int sig_op, int pe,
                       const char *call)
{
    far_amo(c, amo_of_signal(sig_op), word, 8, value, 0, false, pe, call);
}

inline void far_quiet(const context &c)
{
    __atomic_fetch_add(&n_quiets[c.state.my_pe], 1, __ATOMIC_RELAXED);
}

/* Other names that the headers use; never called here. */
inline bool far_quiet_within(const context &, uint64_t)
{
    return true;
}
inline void far_fence(const context &) {}
inline void far_p(const context &, void *, uint64_t, uint32_t, int, const char *) {}
inline uint64_t far_g(const context &, const void *, uint32_t, int, const char *)
{
    return 0;
}
template <class G>
void far_put(const context &, G, void *, const void *, size_t, int, bool, const char *)
{
}
template <class G>
void far_get(const context &, G, void *, const void *, size_t, int, bool, const char *)
{
}
template <class G>
void far_iput(const context &, G, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int,
              const char *)
{
}
template <class G>
void far_iget(const context &, G, void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int,
              const char *)
{
}
template <class G>
void far_put_signal(const context &, G, void *, const void *, size_t, uint64_t *, uint64_t, int,
                    int, bool, const char *)
{
}

} // namespace detail
} // namespace gshmem

#include <gshmem_device.cuh>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include "gshmem/launch.h"
#include "tests/test.h"

/* Delivers each parcel once, after being passed over for some rounds. */
static void *deliver(void *)
{
    unsigned random = 1;
    uint64_t first = 0; /* all earlier ones are delivered */
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        uint64_t n = __atomic_load_n(&n_sent, __ATOMIC_RELAXED);
        for (uint64_t i = first; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            parcel *p = &parcels[i];
            /* acquire: as the proxy reads a ring */
            if (random >> 30 != 0 || __atomic_load_n(&p->full, __ATOMIC_ACQUIRE) != 1)
                continue;
            /* as the far PE's proxy carries out an atomic */
            __atomic_fetch_add(__atomic_load_n(&p->word, __ATOMIC_RELAXED),
                               __atomic_load_n(&p->operand, __ATOMIC_RELAXED), __ATOMIC_ACQ_REL);
            __atomic_store_n(&p->full, 2, __ATOMIC_RELAXED);
        }
        while (first < n && __atomic_load_n(&parcels[first].full, __ATOMIC_RELAXED) == 2)
            first++;
        sched_yield();
    }
    return nullptr;
}

/* ---- a job ----------------------------------------------------------------------------------- */

enum { world, mixed, own_node, team_count };

/* The nodes of a team, as the host computes them. */
struct tables {
    int32_t pes[max_pes], leaders[max_pes], near[max_pes];
};

struct job {
    int n_pes, node_of[max_pes];
    gsh_control control[max_pes] = {};
    struct alignas(GSH_TEAM_UNIT) unit {
        gsh_team_state team;
    };
    unit teams[max_pes][team_count] = {};
    tables of_team[max_pes][team_count] = {};
    gsh_peer_route routes[max_pes][max_pes];
    gsh_state states[max_pes] = {};
    gsh_cpu_device *devices[max_pes];

    /* sizes: of the nodes, 0 after the last. is_scattered: PEs are dealt out like cards. */
    job(const int *sizes, bool is_scattered)
    {
        int left[max_pes] = {}, n_nodes = 0;
        for (n_pes = 0; sizes[n_nodes] != 0; n_nodes++)
            n_pes += left[n_nodes] = sizes[n_nodes];
        for (int pe = 0, node = 0; pe < n_pes; pe++) {
            while (left[node] == 0)
                node = (node + 1) % n_nodes;
            node_of[pe] = node;
            left[node]--;
            if (is_scattered)
                node = (node + 1) % n_nodes;
        }
        memset(range, 0, max_pes * stride);
        memset(parcels, 0, sizeof parcels);
        n_sent = is_over = 0;
        for (int pe = 0; pe < n_pes; pe++)
            make(pe);
    }
    ~job()
    {
        for (int pe = 0; pe < n_pes; pe++)
            gshmemx_cpu_device_destroy(devices[pe]);
    }
    job(const job &) = delete;

    void make(int pe)
    {
        gsh_state &s = states[pe];
        for (int other = 0; other < n_pes; other++)
            routes[pe][other] = node_of[other] == node_of[pe]
                                    ? gsh_peer_route{other, GSH_ROUTE_NEAR}
                                    : gsh_peer_route{-1, GSH_ROUTE_RING};
        int all[max_pes], odd[max_pes], near[max_pes], n_odd = 0, n_near = 0;
        for (int i = 0; i < n_pes; i++) {
            all[i] = i;
            if (i % 4 != 1) /* backwards, with gaps */
                odd[n_odd++] = n_pes - 1 - i;
            if (node_of[i] == node_of[pe])
                near[n_near++] = i;
        }
        make_team(pe, world, all, n_pes);
        make_team(pe, mixed, odd, n_odd);
        make_team(pe, own_node, near, n_near);
        s.magic = GSH_STATE_MAGIC;
        s.version = GSH_STATE_VERSION;
        s.bytes = sizeof s;
        s.my_pe = s.my_slot = s.run_first_pe = s.run_first_slot = pe;
        s.n_pes = s.n_slots = n_pes;
        s.run_n = 1;
        s.routes = (uint64_t)(uintptr_t)routes[pe];
        s.base = (uint64_t)(uintptr_t)(range + (size_t)pe * stride);
        s.stride = stride;
        s.teams = (uint64_t)(uintptr_t)teams[pe];
        s.n_team_units = team_count;
        s.control = (uint64_t)(uintptr_t)&control[pe];
        s.wait_timeout_ns = 60000000000u;
        s.rings = s.n_rings = 1; /* never read */
        devices[pe] = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(devices[pe], &s);
    }

    void make_team(int pe, int number, const int *members, int n)
    {
        gsh_team_state &t = teams[pe][number].team;
        tables &of = of_team[pe][number];
        int leaders = 0, mine = -1, near = 0;
        t.handle = number;
        t.n_channels = 1;
        t.n_pes = n;
        t.my_index = -1;
        for (int i = 0; i < n; i++) {
            bool is_first = true;
            for (int j = 0; j < i; j++)
                is_first = is_first && node_of[members[j]] != node_of[members[i]];
            of.pes[i] = members[i];
            if (is_first && node_of[members[i]] == node_of[pe])
                mine = leaders;
            if (is_first)
                of.leaders[leaders++] = members[i];
            if (members[i] == pe) {
                t.my_index = i;
                t.my_near = near;
            }
            if (node_of[members[i]] == node_of[pe])
                of.near[near++] = i;
        }
        t.magic = t.my_index >= 0 ? GSH_TEAM_MAGIC : 0;
        t.pes = (uint64_t)(uintptr_t)of.pes;
        t.sync_off = (uint64_t)number * GSH_SYNC_AREA_BYTES(max_pes);
        if (leaders < 2)
            return;
        t.leaders = (uint64_t)(uintptr_t)of.leaders;
        t.near = (uint64_t)(uintptr_t)of.near;
        t.n_nodes = leaders;
        t.my_node = mine;
        t.n_near = near;
    }
};

/* ---- the program ----------------------------------------------------------------------------- */

/* What the PEs do and see, in plain memory of the process. */
struct board {
    uint64_t arrived[max_pes]; /* atomic */
    long data[max_pes];
    uint64_t n_wrong;
};
static board boards[team_count];

__device__ static void loiter(unsigned seed)
{
    for (unsigned i = seed * 2654435761u >> 28; i > 8; i--)
        gshmemx_cpu_yield();
}

template <class G> __device__ static void come(G g, int team, bool is_barrier)
{
    int error = is_barrier ? gshmem::barrier(g, team) : gshmem::sync(g, team);
    if (error != 0)
        __atomic_fetch_add(&boards[team].n_wrong, 1, __ATOMIC_RELAXED);
}

/* All members have arrived in this epoch, none is two ahead. */
__device__ static void look_who_came(board *b, int team, uint64_t epoch)
{
    const gsh_team_state &t = *gshmem::detail::find_team(gshmem::default_context(), team);
    for (int i = 0; i < t.n_pes; i++) {
        uint64_t seen =
            __atomic_load_n(&b->arrived[gshmem::detail::team_pe(t, i)], __ATOMIC_RELAXED);
        if (seen < epoch || seen > epoch + 1)
            __atomic_fetch_add(&b->n_wrong, 1, __ATOMIC_RELAXED);
    }
}

__device__ static void look_at_data(board *b, int team, long expected)
{
    const gsh_team_state &t = *gshmem::detail::find_team(gshmem::default_context(), team);
    for (int i = 0; i < t.n_pes; i++) {
        if (b->data[gshmem::detail::team_pe(t, i)] != expected)
            __atomic_fetch_add(&b->n_wrong, 1, __ATOMIC_RELAXED);
    }
}

template <class G> __device__ static void run_team(G g, int team)
{
    board *b = &boards[team];
    int me = gshmem::my_pe();
    bool is_first = threadIdx.x == 0;
    uint64_t epoch = 0;
    if (gshmem::team_my_pe(team) < 0)
        return;
    for (unsigned i = 0; i < epochs; i++) {
        if (is_first) {
            loiter(i * max_pes + (unsigned)me);
            __atomic_store_n(&b->arrived[me], ++epoch, __ATOMIC_RELAXED);
        }
        if (i % 3 == 0) { /* a sync, which says nothing about data */
            come(g, team, false);
            if (is_first)
                look_who_came(b, team, epoch);
            continue;
        }
        if (is_first)
            b->data[me] = (long)i;
        come(g, team, true);
        if (is_first) {
            look_who_came(b, team, epoch);
            look_at_data(b, team, (long)i);
            __atomic_store_n(&b->arrived[me], ++epoch, __ATOMIC_RELAXED);
        }
        come(g, team, true);
    }
}

__global__ void kernel_thread()
{
    for (int team = 0; team < team_count; team++)
        run_team(gshmem::group_thread(), team);
}

__global__ void kernel_block()
{
    for (int team = 0; team < team_count; team++)
        run_team(gshmem::group_block(), team);
}

static void run_job(const int *sizes, bool is_scattered, unsigned threads)
{
    job j(sizes, is_scattered);
    memset(boards, 0, sizeof boards);
    memset(n_quiets, 0, sizeof n_quiets);
    pthread_t network;
    if (!CHECK_EQ(pthread_create(&network, nullptr, deliver, nullptr), 0))
        return;
    for (int pe = 0; pe < j.n_pes; pe++) {
        gshmemx_cpu_device_bind(j.devices[pe]);
        CHECK_EQ(gshmem_launch(threads == 1 ? kernel_thread : kernel_block, dim3(1), dim3(threads),
                               0, nullptr),
                 cudaSuccess);
    }
    for (int pe = 0; pe < j.n_pes; pe++)
        gshmemx_cpu_device_synchronize(j.devices[pe]);
    gshmemx_cpu_device_bind(nullptr);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    pthread_join(network, nullptr);
    for (int team = 0; team < team_count; team++)
        CHECK_EQ(boards[team].n_wrong, 0u);
    /* One quiet per barrier: 2 in each turn that is not a sync. */
    for (int pe = 0; pe < j.n_pes; pe++) {
        int n_teams = j.teams[pe][mixed].team.my_index >= 0 ? 3 : 2;
        CHECK_EQ(n_quiets[pe], n_teams * (epochs - epochs / 3) * 2);
    }
}

int main(void)
{
    static const int jobs[][max_pes] = {
        {1, 1}, {3, 1, 2}, {4, 4}, {1, 2, 3, 1, 2}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 5}};
    void *p =
        mmap(nullptr, max_pes * stride, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    range = (char *)p;
    for (const int *sizes : jobs) {
        run_job(sizes, false, 1);
        run_job(sizes, true, 40);
    }
    munmap(range, max_pes * stride);
    return test_result();
}
