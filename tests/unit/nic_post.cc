/* SPDX-License-Identifier: Apache-2.0
 * What kernels of the CPU device post to a network adapter, which this file stands in for: a warp's
 * entries lie one behind the other, and one doorbell rings for all of them; threads with different
 * PEs ring once for each, and a block's batch once for each queue; so it goes on, lap after lap of
 * the queue; a quiet looks at the completion, and rings no more, and at no queue that has not been
 * used. Queues may have no doorbell record. */
#include <gshmem_device.cuh>

#include <mutex>
#include <vector>
#include "device/far.cuh"
#include "tests/test.h"

using namespace gshmem::detail;

enum { all_pes = 4, depth = 256, heap_words = 1024, lanes = 32 };

struct alignas(GSH_NIC_ALIGNMENT) table {
    gsh_nic nic = {};
    gsh_nic_queue queues[all_pes] = {};
};

struct adapter {
    table posts;
    gsh_control control = {};
    gsh_state state = {};
    gsh_ring ring = {};
    gsh_wq_block entries[all_pes][depth] = {};
    gsh_wq_completion completions[all_pes] = {};
    uint32_t records[all_pes][2] = {};
    uint64_t doorbells[all_pes] = {}, seen[all_pes] = {};
    unsigned n_rung[all_pes] = {};
    std::mutex mutex; /* for seen and n_rung */
    std::vector<uint64_t> heap;
    std::vector<gsh_peer_route> routes;
    uint8_t used_queues[all_pes] = {}, used_groups[1] = {};
    gsh_nic_wake wake;
    gsh_cpu_device *device;

    explicit adapter(bool has_records) : heap(heap_words), routes(all_pes, {-1, GSH_ROUTE_NIC})
    {
        for (int pe = 0; pe < all_pes; pe++) {
            gsh_nic_queue *q = &posts.queues[pe];
            completions[pe].op_own = GSH_WQ_INVALID << 4;
            q->entries = (uint64_t)(uintptr_t)entries[pe];
            q->record = has_records ? (uint64_t)(uintptr_t)&records[pe][1] : 0;
            q->doorbell = (uint64_t)(uintptr_t)&doorbells[pe];
            q->completion = (uint64_t)(uintptr_t)&completions[pe];
            q->number = 100 + (uint32_t)pe;
            q->depth = depth;
            q->remote_key = 0x5500 + (uint32_t)pe;
            q->pe = pe;
        }
        wake.call = [](void *context) { static_cast<adapter *>(context)->look(); };
        wake.context = this;
        posts.nic.used_queues = (uint64_t)(uintptr_t)used_queues;
        posts.nic.used_groups = (uint64_t)(uintptr_t)used_groups;
        posts.nic.wake = (uint64_t)(uintptr_t)&wake;
        state.magic = GSH_STATE_MAGIC;
        state.version = GSH_STATE_VERSION;
        state.bytes = sizeof state;
        state.n_pes = all_pes;
        state.n_slots = 1;
        state.base = (uint64_t)(uintptr_t)heap.data();
        state.stride = heap_words * 8;
        state.routes = (uint64_t)(uintptr_t)routes.data();
        state.control = (uint64_t)(uintptr_t)&control;
        state.rings = (uint64_t)(uintptr_t)&ring;
        state.n_rings = 1;
        state.nic = GSH_NIC_STATE((uint64_t)(uintptr_t)&posts, 0u, 1u);
        device = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(device, &state);
    }
    ~adapter() { gshmemx_cpu_device_destroy(device); }
    adapter(const adapter &) = delete;

    /* A kernel has rung: all that it has rung for is complete. The thread that rings calls it,
     * while others may ring for other PEs. */
    void look()
    {
        std::lock_guard<std::mutex> hold(mutex);
        for (int pe = 0; pe < all_pes; pe++) {
            const auto doorbell = __atomic_load_n(&doorbells[pe], __ATOMIC_ACQUIRE);
            if (doorbell != seen[pe]) {
                uint32_t end = (uint32_t)(gsh_wq_be64(doorbell) >> 40) & 0xffff, last;
                uint32_t record = gsh_wq_be32(__atomic_load_n(&records[pe][1], __ATOMIC_RELAXED));
                CHECK_EQ(record, posts.queues[pe].record != 0 ? end : 0);
                seen[pe] = doorbell;
                n_rung[pe]++;
                CHECK_EQ(doorbell, gsh_wq_doorbell(end, posts.queues[pe].number));
                last = gsh_wq_be16((uint16_t)(end - 1)); /* and an opcode of 0: done */
                __atomic_store_n(
                    (uint32_t *)(void *)((char *)&completions[pe] + GSH_WQ_COMPLETION_LAST), last,
                    __ATOMIC_RELEASE);
            }
        }
    }

    template <class K, class... A> void run(K kernel, unsigned block, A... args)
    {
        gshmemx_cpu_device_bind(device);
        CHECK_EQ(gshmem_launch(kernel, dim3(1), dim3(block), 0, nullptr, args...), cudaSuccess);
        gshmemx_cpu_device_bind(nullptr);
        gshmemx_cpu_device_synchronize(device);
    }

    /* Entry i of the queue is the p of one of the lanes, which *mask gets. is_last: it asks for a
     * completion. */
    void check_entry(int pe, uint64_t i, uint32_t *mask, bool is_last = true)
    {
        const gsh_wq_block *e = &entries[pe][i % depth];
        const uint64_t off = gsh_wq_be64(e->word[2]), lane = off / 8;
        CHECK_EQ(e->word[0], gsh_wq_at_position(
                                 gsh_wq_pair(GSH_WQ_WRITE, posts.queues[pe].number << 8 | 3), i));
        CHECK_EQ(e->word[1] >> 24 & 0xff, is_last ? GSH_WQ_COMPLETE : 0);
        CHECK_EQ((uint32_t)e->word[3], gsh_wq_be32(posts.queues[pe].remote_key));
        CHECK(lane < lanes && (*mask >> lane & 1) == 0);
        CHECK_EQ((uint32_t)e->word[4], gsh_wq_inline_bytes(8));
        CHECK_EQ(e->word[4] >> 32 | e->word[5] << 32, 1000 + lane);
        *mask |= 1u << lane;
    }
};

__global__ void puts_of_warp(uint64_t *heap, int n_targets)
{
    gshmem_uint64_p(&heap[threadIdx.x], 1000 + threadIdx.x, 1 + (int)threadIdx.x % n_targets);
    gshmem_quiet();
}

/* Without waiting: by rounds, a p and a put of an element. */
__global__ void puts_in_laps(uint64_t *heap, int round)
{
    const uint64_t value = 1000 + threadIdx.x;
    if (round % 2 == 0)
        gshmem_uint64_p(&heap[threadIdx.x], value, 1);
    else
        gshmem_uint64_put(&heap[threadIdx.x], &value, 1, 1);
}

__global__ void puts_in_batch(uint64_t *heap)
{
    const uint64_t value = 1000 + threadIdx.x;
    gshmem::begin_batch();
    gshmem_uint64_put_nbi(&heap[threadIdx.x], &value, 1, 1 + (int)threadIdx.x % 2);
    gshmem::end_batch();
}

__global__ void fence_and_quiet()
{
    gshmem_fence();
    gshmem_quiet();
}

static void test_warp(int n_targets, bool has_records)
{
    adapter a(has_records);
    uint32_t mask = 0, listed = 0;
    a.posts.queues[3].gpu_head = 1; /* would never be complete */
    a.run(puts_of_warp, lanes, a.heap.data(), n_targets);
    for (int pe = 1; pe <= n_targets; pe++) {
        const gsh_nic_queue *q = &a.posts.queues[pe];
        const uint64_t n = (uint64_t)(lanes / n_targets);
        CHECK_EQ(q->gpu_head, n);
        CHECK_EQ(q->gpu_ready, n);
        CHECK_EQ(q->gpu_rung, n);
        CHECK_EQ(q->gpu_done, n);
        CHECK_EQ(a.n_rung[pe], 1);
        for (uint64_t i = 0; i < n; i++) {
            a.check_entry(pe, i, &mask);
        }
    }
    CHECK_EQ(mask, UINT32_MAX);
    for (uint64_t next = a.posts.nic.gpu_used[0]; next != 0;
         next = a.posts.queues[next - 1].gpu_next) {
        CHECK((listed >> next & 1) == 0);
        listed |= 1u << next;
    }
    CHECK_EQ(listed, ((1u << n_targets) - 1) << 2); /* PEs from 1 on, plus 1 */
    for (int pe = 0; pe < all_pes; pe++) {
        CHECK_EQ(a.used_queues[pe], pe >= 1 && pe <= n_targets);
    }
    CHECK_EQ(a.used_groups[0], 1);
    a.run(fence_and_quiet, 1);
    CHECK_EQ(a.n_rung[0] + a.n_rung[3], 0);
}

/* A warp's short puts, again and again: each has one reservation and one doorbell, and lies behind
 * the one before, also where the queue begins anew. */
static void test_laps(bool has_records)
{
    adapter a(has_records);
    for (int round = 0; round < 3 * depth / lanes; round++) {
        const gsh_nic_queue *q = &a.posts.queues[1];
        const uint64_t first = (uint64_t)round * lanes;
        uint32_t mask = 0;
        a.run(puts_in_laps, lanes, a.heap.data(), round);
        CHECK_EQ(q->gpu_head, first + lanes);
        CHECK_EQ(q->gpu_ready, first + lanes);
        CHECK_EQ(q->gpu_rung, first + lanes);
        CHECK_EQ(a.n_rung[1], (unsigned)round + 1);
        for (uint64_t i = first; i < first + lanes; i++) {
            a.check_entry(1, i, &mask);
        }
        CHECK_EQ(mask, UINT32_MAX);
    }
}

/* A batch has one reservation and one doorbell for each queue, and asks for one completion. */
static void test_batch()
{
    adapter a(true);
    uint32_t mask = 0;
    for (uint64_t round = 0; round < 3; round++) {
        mask = 0;
        a.run(puts_in_batch, lanes, a.heap.data());
        for (int pe = 1; pe <= 2; pe++) {
            const uint64_t first = round * lanes / 2, end = first + lanes / 2;
            CHECK_EQ(a.posts.queues[pe].gpu_head, end);
            CHECK_EQ(a.posts.queues[pe].gpu_rung, end);
            CHECK_EQ(a.n_rung[pe], round + 1);
            for (uint64_t i = first; i < end; i++) {
                a.check_entry(pe, i, &mask, i + 1 == end);
            }
        }
        CHECK_EQ(mask, UINT32_MAX);
    }
}

int main()
{
    test_batch();
    test_laps(true);
    test_laps(false);
    test_warp(1, true);
    test_warp(2, true);
    test_warp(2, false);
    return test_result();
}
