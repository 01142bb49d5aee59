/* SPDX-License-Identifier: Apache-2.0
 * Each order of the route by a network adapter, by itself: kernels of the CPU device post to two
 * model adapters (nic/model), which this file lets work when it is their turn. Threads take turns
 * by words that order nothing, so that only the order in question keeps two plain accesses apart,
 * and the thread sanitizer reports its lack. weaken_nic.py builds this with headers that can leave
 * out each order by request, and shows accesses that are atomic as plain ones.
 *
 *     nic [SCENE [NAME]]     all scenes, or one, without the order NAME */
#ifdef NIC_CAN_LACK
/* Of headers and sources that weaken_nic.py has changed. */
extern "C" bool lacks(const char *name), shows(const char *name);
#endif
#include <gshmem_device.cuh>

#include <sys/mman.h>
#include <thread>
#include <vector>
#include "device/far.cuh"
#include "tests/test.h"
extern "C" {
#include "nic/model/model.h"
#include "nic/model/queue.h"
#include "nic/model/round.h"
}

using namespace gshmem::detail;

enum { heap_bytes = 8192, n_queues = 2, few = 4, many = 256 };

static const char *left_out = "", *shown = "";

#ifdef NIC_CAN_LACK
extern "C" bool lacks(const char *name)
{
    return strcmp(name, left_out) == 0;
}

extern "C" bool shows(const char *name)
{
    return strcmp(name, shown) == 0;
}
#endif

/* ---- turns ----------------------------------------------------------------------------------- */

static unsigned turn; /* relaxed: it orders nothing */

static void set_turn(unsigned n)
{
    __atomic_store_n(&turn, n, __ATOMIC_RELAXED);
}

static void await_turn(unsigned n)
{
    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) < n) {
        if (gsh_cpu_self != nullptr) {
            gshmemx_cpu_yield();
        } else {
            std::this_thread::yield();
        }
    }
}

/* ---- two PEs --------------------------------------------------------------------------------- */

struct table {
    gsh_nic nic = {};
    gsh_nic_queue queues[2 * n_queues] = {};
};

struct pe {
    gsh_adapter *adapter = nullptr;
    gsh_adapter_site sites[n_queues];
    uint8_t *heap = nullptr;
};

static void on_fail(void *, int, bool, const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(3);
}

/* PE 0 has kernels; PE 1 is where they put. */
struct job {
    alignas(GSH_NIC_ALIGNMENT) table posts;
    pe pes[2];
    gsh_control control = {};
    gsh_state state = {};
    gsh_ring ring = {};
    std::vector<gsh_peer_route> routes;
    uint8_t used_queues[2 * n_queues] = {}, used_groups[1] = {};
    gsh_nic_wake wake = {};
    gsh_cpu_device *device;

    explicit job(const char *settings = "", uint32_t depth = many) : routes(2, {-1, GSH_ROUTE_NIC})
    {
        turn = 0;
        for (int me = 0; me < 2; me++)
            make(me, settings, depth);
        for (int me = 0; me < 2; me++) {
            gsh_adapter *a = pes[me].adapter, *other = pes[1 - me].adapter;
            const void *blob;
            size_t bytes;
            CHECK_EQ(other->ops->address(other, &blob, &bytes), GSH_OK);
            CHECK_EQ(a->ops->set_peer(a, 1 - me, blob, bytes), GSH_OK);
            for (uint32_t i = 0; i < n_queues; i++)
                CHECK_EQ(a->ops->create_queue(a, i, &pes[me].sites[i]), GSH_OK);
        }
        connect(0);
        tell_kernels(depth);
        device = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(device, &state);
    }
    ~job()
    {
        gshmemx_cpu_device_destroy(device);
        for (pe &p : pes) {
            gsh_adapter_destroy(&p.adapter);
            munmap(p.heap, heap_bytes);
        }
    }
    job(const job &) = delete;

    void make(int me, const char *settings, uint32_t depth)
    {
        gsh_adapter_options options = {};
        options.my_pe = me;
        options.n_pes = 2;
        options.name = "model";
        options.settings = settings;
        options.n_queues = n_queues;
        options.depth = depth;
        options.is_one_process = true;
        options.fail = on_fail;
        pe *p = &pes[me];
        p->heap = (uint8_t *)mmap(nullptr, heap_bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK_EQ(gsh_adapter_create(&options, &p->adapter), GSH_OK);
        CHECK_EQ(p->adapter->ops->add_region(p->adapter, p->heap, 0, heap_bytes), GSH_OK);
    }

    void connect(int me)
    {
        gsh_adapter *a = pes[me].adapter;
        for (uint32_t i = 0; i < n_queues; i++)
            CHECK_EQ(a->ops->connect_queue(a, i, 1 - me, i, 0), GSH_OK);
    }

    void tell_kernels(uint32_t depth)
    {
        gsh_adapter *a = pes[0].adapter;
        uint8_t *memory = (uint8_t *)a->memory;
        for (uint32_t i = 0; i < n_queues; i++) {
            const gsh_adapter_site &site = pes[0].sites[i];
            gsh_nic_queue *q = queue(i);
            q->entries = (uint64_t)(uintptr_t)(memory + site.entries);
            q->record = site.record != GSH_ADAPTER_NO_RECORD
                            ? (uint64_t)(uintptr_t)(memory + site.record)
                            : 0;
            q->doorbell = (uint64_t)(uintptr_t)(memory + site.doorbell);
            q->completion = (uint64_t)(uintptr_t)(memory + site.completion);
            q->number = site.number;
            q->depth = depth;
            q->remote_key = a->ops->remote_key(a, 1);
            q->local_key = a->local_key;
            q->pe = 1;
        }
        posts.nic.used_queues = (uint64_t)(uintptr_t)used_queues;
        posts.nic.used_groups = (uint64_t)(uintptr_t)used_groups;
        state.magic = GSH_STATE_MAGIC;
        state.version = GSH_STATE_VERSION;
        state.bytes = sizeof state;
        state.n_pes = 2;
        state.n_slots = 1;
        state.base = (uint64_t)(uintptr_t)pes[0].heap;
        state.stride = heap_bytes;
        state.routes = (uint64_t)(uintptr_t)routes.data();
        state.control = (uint64_t)(uintptr_t)&control;
        state.rings = (uint64_t)(uintptr_t)&ring;
        state.n_rings = 1;
        state.nic = GSH_NIC_STATE((uint64_t)(uintptr_t)&posts, a->flags, n_queues);
    }

    /* Queue k of the default context to PE 1. */
    gsh_nic_queue *queue(uint32_t k = 0) { return &posts.queues[n_queues + k]; }

    uint64_t *word(int me, unsigned i) { return (uint64_t *)(void *)pes[me].heap + i; }

    void round(int me = 0) { (void)gsh_model_round(gsh_model_of(pes[me].adapter)); }

    /* PE 0's adapter works until so many entries of both queues are complete. */
    void work(uint64_t n)
    {
        const gsh_model_queue *q = gsh_model_of(pes[0].adapter)->queues;
        while (q[0].completed + q[1].completed < n) {
            round();
            if (gsh_cpu_self != nullptr) {
                gshmemx_cpu_yield();
            } else {
                std::this_thread::yield();
            }
        }
    }

    template <class K, class... A> void run(K kernel, unsigned blocks, unsigned threads, A... args)
    {
        gshmemx_cpu_device_bind(device);
        CHECK_EQ(gshmem_launch(kernel, dim3(blocks), dim3(threads), 0, nullptr, this, args...),
                 cudaSuccess);
        gshmemx_cpu_device_bind(nullptr);
        gshmemx_cpu_device_synchronize(device);
    }
};

#ifndef GSHMEM_CPU_WHOLE_WARPS
/* ---- threads that post alone ----------------------------------------------------------------- */

/* Bytes at a multiple of 16 in the heaps, by plain accesses on both sides. */
static unsigned pair_words = 2;

static uint64_t read_pair(const uint64_t *at)
{
    return load_plain(at) + load_plain(at + 1);
}

/* What a thread has written, the adapter sees with the doorbell. */
__global__ void entries_kernel(job *j)
{
    if (threadIdx.x == 0) {
        gshmem_uint64_p(j->word(0, 1), 7, 1);
        set_turn(1);
    } else {
        await_turn(1);
        j->work(1);
    }
}

static void entries()
{
    job j("record=0");
    j.connect(1);
    j.run(entries_kernel, 1, 2);
    CHECK_EQ(*j.word(1, 1), 7);
}

/* The same with a record, which the adapter sees with the doorbell, too. */
static void record()
{
    job j;
    j.connect(1);
    j.run(entries_kernel, 1, 2);
    CHECK_EQ(*j.word(1, 1), 7);
}

/* The record is newer than the doorbell that the adapter has seen. */
__global__ void ahead_kernel(job *j, uint64_t *elsewhere)
{
    if (threadIdx.x == 0) {
        gshmem_uint64_p(j->word(0, 1), 7, 1);
        j->queue()->doorbell = (uint64_t)(uintptr_t)elsewhere;
        gshmem_uint64_p(j->word(0, 2), 8, 1);
        set_turn(1);
    } else {
        await_turn(1);
        j->work(2);
    }
}

static void ahead()
{
    job j;
    uint64_t elsewhere = 0;
    j.connect(1);
    j.run(ahead_kernel, 1, 2, &elsewhere);
    CHECK_EQ(*j.word(1, 2), 8);
}

/* A thread that has seen the completion sees what the adapter has brought. */
__global__ void completed_kernel(job *j)
{
    if (threadIdx.x == 0) {
        gshmem_uint64_get(j->word(0, 2), j->word(0, 4), pair_words, 1);
        *j->word(0, 0) = read_pair(j->word(0, 2));
    } else {
        j->work(1);
    }
}

static void completed()
{
    job j;
    j.connect(1);
    *j.word(1, 4) = 30;
    *j.word(1, 5) = 12;
    j.run(completed_kernel, 1, 2);
    CHECK_EQ(*j.word(0, 0), 42);
}

/* A thread writes an entry where an earlier one was whose completion another thread has seen. */
enum how { by_p, by_put, by_batch };
__global__ void room_kernel(job *j, how by)
{
    gshmem::begin_batch();
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < few; i++)
            gshmem_uint64_p(j->word(0, 8 + i), i, 1);
        gshmem_quiet();
        set_turn(1);
    } else if (threadIdx.x == 1) {
        const uint64_t pair[2] = {40, 2};
        await_turn(1);
        if (by == by_p) {
            gshmem_uint64_p(j->word(0, 2), 40, 1);
        } else if (by == by_put) {
            gshmem_uint64_put(j->word(0, 2), pair, 2, 1);
        } else {
            gshmem_uint64_put_nbi(j->word(0, 2), pair, 1, 1);
            gshmem_fence();
        }
        set_turn(2);
    } else {
        j->work(few);
        await_turn(2);
        j->work(few + 1);
    }
    gshmem::end_batch();
}

template <how by> static void room()
{
    job j("", few);
    j.connect(1);
    j.run(room_kernel, 1, 3, by);
    CHECK_EQ(*j.word(1, 2), 40);
}

/* A thread that waits finds that another has seen its completion. */
static void stall(void *)
{
    if (threadIdx.x == 1) {
        set_turn(1);
        await_turn(2);
    }
}

__global__ void known_kernel(job *j)
{
    if (threadIdx.x == 0) {
        await_turn(1);
        gshmem_quiet();
        set_turn(2);
    } else if (threadIdx.x == 1) {
        gshmem_uint64_get(j->word(0, 2), j->word(0, 4), pair_words, 1);
        *j->word(0, 0) = read_pair(j->word(0, 2));
    } else {
        await_turn(1);
        j->work(1);
    }
}

static void known()
{
    job j;
    j.connect(1);
    j.wake.call = stall;
    j.posts.nic.wake = (uint64_t)(uintptr_t)&j.wake;
    *j.word(1, 4) = 42;
    j.run(known_kernel, 1, 3);
    CHECK_EQ(*j.word(0, 0), 42);
}

/* A quiet that need not wait, since another's has. */
__global__ void quiet_kernel(job *j)
{
    if (threadIdx.x == 0) {
        await_turn(1);
        gshmem_quiet();
        set_turn(2);
    } else if (threadIdx.x == 1) {
        gshmem_uint64_get_nbi(j->word(0, 2), j->word(0, 4), pair_words, 1);
        set_turn(1);
        await_turn(2);
        gshmem_quiet();
        *j->word(0, 0) = read_pair(j->word(0, 2));
    } else {
        await_turn(1);
        j->work(1);
    }
}

static void quiet()
{
    job j;
    j.connect(1);
    *j.word(1, 4) = 42;
    j.run(quiet_kernel, 1, 3);
    CHECK_EQ(*j.word(0, 0), 42);
}

/* A fence that need not wait for another block's queue. */
__global__ void fence_kernel(job *j)
{
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        gshmem_uint64_get_nbi(j->word(0, 2), j->word(0, 4), pair_words, 1);
        set_turn(1);
        gshmem_quiet();
        set_turn(2);
    } else if (blockIdx.x == 0 && threadIdx.x == 0) {
        await_turn(2);
        gshmem_fence();
        *j->word(0, 0) = read_pair(j->word(0, 2));
    } else if (blockIdx.x == 0) {
        await_turn(1);
        j->work(1);
    }
}

static void fence()
{
    job j;
    j.connect(1);
    *j.word(1, 4) = 42;
    j.run(fence_kernel, 2, 2);
    CHECK_EQ(*j.word(0, 0), 42);
}

/* A quiet, or a fence, looks at a queue that another thread has used first: it sees how far. */
__global__ void list_kernel(job *j, bool is_fence)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        gshmem_uint64_p(j->word(0, 1), 7, 1);
        set_turn(1);
    } else if (threadIdx.x == 0 && blockIdx.x == 1) {
        await_turn(1);
        if (is_fence)
            gshmem_fence();
        else
            gshmem_quiet();
    } else if (blockIdx.x == 0) {
        await_turn(1);
        j->work(1);
    }
}

template <bool is_fence> static void list()
{
    job j;
    j.connect(1);
    j.run(list_kernel, 2, 2, is_fence);
}

/* A reply cell is read before the next value comes into it. */
__global__ void cell_kernel(job *j)
{
    if (threadIdx.x == 0) {
        *j->word(0, 0) = gshmem_uint64_atomic_fetch_add(j->word(0, 1), 1, 1);
        set_turn(1);
        await_turn(2); /* its end would tell others */
    } else if (threadIdx.x == 1) {
        await_turn(1);
        __atomic_store_n(&j->posts.nic.gpu_ticket, (uint64_t)GSH_NIC_CELLS, __ATOMIC_RELAXED);
        *j->word(0, 2) = gshmem_uint64_atomic_fetch_add(j->word(0, 1), 1, 1);
        set_turn(2);
    } else {
        j->work(2);
    }
}

static void cell()
{
    job j;
    j.connect(1);
    *j.word(1, 1) = 42;
    j.run(cell_kernel, 1, 3);
    CHECK_EQ(*j.word(0, 0), 42);
    CHECK_EQ(*j.word(0, 2), 43);
}

/* Two threads leave the doorbell to one that rings already; one of them rings for both. */
__global__ void left_kernel(job *j, bool is_executed)
{
    if (threadIdx.x < 2) {
        gshmem_uint64_p(j->word(0, 1 + threadIdx.x), 7, 1);
        /* has rung, by this thread or the other */
        if (!is_executed)
            CHECK(load_plain((const uint64_t *)j->queue()->doorbell) != 0);
    } else if (threadIdx.x == 2) {
        while (load_relaxed(&j->queue()->gpu_ready) != (2 | GSH_NIC_RINGING))
            gshmemx_cpu_yield();
        reduce_and(&j->queue()->gpu_ready, ~GSH_NIC_RINGING);
    } else if (is_executed) {
        j->work(2);
    }
}

template <bool is_executed> static void left()
{
    job j("record=0");
    j.connect(1);
    j.queue()->gpu_ready = GSH_NIC_RINGING;
    j.run(left_kernel, 1, 4, is_executed);
    CHECK_EQ(*j.word(1, 2), is_executed ? 7 : 0);
}

/* Two threads ring one after the other. */
__global__ void again_kernel(job *j)
{
    await_turn(threadIdx.x);
    gshmem_uint64_p(j->word(0, 1), 7, 1);
    set_turn(threadIdx.x + 1);
}

static void again()
{
    job j;
    j.connect(1);
    j.run(again_kernel, 1, 2);
    CHECK_EQ(j.queue()->gpu_rung, 2);
}

/* A thread finds that another has fenced what it would fence. */
__global__ void fenced_kernel(job *j)
{
    if (threadIdx.x == 0) {
        gshmem_uint64_get_nbi(j->word(0, 2), j->word(0, 4), pair_words, 1);
        *j->word(0, 1) = 42;
        gshmem_fence();
        set_turn(1);
    } else {
        await_turn(1);
        gshmem_fence();
        *j->word(0, 0) = *j->word(0, 1);
    }
}

static void fenced()
{
    job j;
    j.connect(1);
    j.run(fenced_kernel, 1, 2);
    CHECK_EQ(*j.word(0, 0), 42);
    CHECK_EQ(j.queue()->gpu_head, 2);
}

/* ---- the model's ----------------------------------------------------------------------------- */

__global__ void get_kernel(job *j)
{
    gshmem_uint64_get_nbi(j->word(0, 2), j->word(0, 4), pair_words, 1);
}

/* A host that finds a queue idle sees what its entries have brought. */
static void idle()
{
    job j;
    j.connect(1);
    *j.word(1, 4) = 42;
    std::thread adapter([&] {
        await_turn(1);
        j.work(1);
    });
    j.run(get_kernel, 1, 1);
    set_turn(1);
    gsh_adapter *a = j.pes[0].adapter;
    while (!a->ops->is_idle(a, 0, n_queues))
        std::this_thread::yield();
    CHECK_EQ(read_pair(j.word(0, 2)), 42);
    adapter.join();
}

/* An adapter that finds the other end joined sees to which queue. */
static void joined()
{
    job j;
    std::thread adapter([&] {
        await_turn(1);
        j.work(1);
    });
    j.run(get_kernel, 1, 1);
    j.connect(1);
    set_turn(1);
    adapter.join();
}

/* An entry that only a host posts, by one doorbell. */
static void post_immediate(job *j)
{
    gsh_nic_queue *q = j->queue();
    uint64_t *to = (uint64_t *)q->entries;
    gsh_wq_fill_control(to, GSH_WQ_WRITE_IMM, 0, q->number, 3, GSH_WQ_COMPLETE);
    to[0] = gsh_wq_at_position(to[0], 0);
    to[1] |= (uint64_t)gsh_wq_be32(77) << 32;
    gsh_wq_fill_remote(to, 8, q->remote_key);
    to[4] = gsh_wq_inline_bytes(4) | (uint64_t)5 << 32;
    to[5] = 0;
    __atomic_store_n((uint32_t *)q->record, gsh_wq_record(1), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)q->doorbell, gsh_wq_doorbell(1, q->number), __ATOMIC_RELEASE);
}

/* The other end sees an immediate that it is told of. */
static void letter()
{
    job j;
    j.connect(1);
    gsh_model *there = gsh_model_of(j.pes[1].adapter);
    there->queues[0].link->n_receives = 1;
    std::thread adapter([&] {
        await_turn(1);
        j.work(1);
        set_turn(2);
    });
    std::thread other([&] {
        await_turn(2);
        j.round(1);
    });
    post_immediate(&j);
    set_turn(1);
    adapter.join();
    other.join();
    CHECK_EQ(there->queues[0].n_letters, 1);
}

/* Data are there with the atomic behind them, and come after what its word told. */
__global__ void atomic_kernel(job *j)
{
    if (threadIdx.x == 0) {
        const uint64_t pair[2] = {40, 2};
        while (gshmem_uint64_atomic_fetch_add(j->word(0, 6), 0, 1) == 0) {
        }
        gshmem_uint64_put_signal(j->word(0, 2), pair, 2, j->word(0, 8), 1, GSHMEM_SIGNAL_ADD, 1);
        gshmem_quiet();
        set_turn(1);
    } else {
        while (__atomic_load_n(&turn, __ATOMIC_RELAXED) == 0) {
            j->round();
            gshmemx_cpu_yield();
        }
    }
}

static void atomic()
{
    job j;
    j.connect(1);
    *j.word(1, 2) = 5;
    std::thread owner([&] {
        CHECK_EQ(read_pair(j.word(1, 2)), 5);
        __atomic_store_n(j.word(1, 6), (uint64_t)1, __ATOMIC_RELEASE);
        while (__atomic_load_n(j.word(1, 8), __ATOMIC_ACQUIRE) == 0)
            std::this_thread::yield();
        CHECK_EQ(read_pair(j.word(1, 2)), 42);
    });
    j.run(atomic_kernel, 1, 2);
    owner.join();
}

/* Of several completions, one is written again only when it has been read. */
__global__ void put_kernel(job *j)
{
    gshmem_uint64_p(j->word(0, 1), 7, 1);
}

static void consumed()
{
    job j;
    j.connect(1);
    uint32_t taken = 0;
    gsh_model_queue *q = &gsh_model_of(j.pes[0].adapter)->queues[0];
    q->consumed = &taken;
    std::thread adapter([&] {
        await_turn(1);
        j.work(1);
        set_turn(2);
        await_turn(3);
        j.work(2);
    });
    j.run(put_kernel, 1, 1);
    set_turn(1);
    await_turn(2);
    j.run(put_kernel, 1, 1);
    const uint8_t *completion = (const uint8_t *)j.queue()->completion;
    while (gsh_wq_completed_opcode(__atomic_load_n(
               (const uint32_t *)(completion + GSH_WQ_COMPLETION_LAST), __ATOMIC_ACQUIRE)) !=
           GSH_WQ_DONE)
        std::this_thread::yield();
    CHECK_EQ(load_plain((const uint32_t *)(completion + 36)), 0u); /* no immediate */
    __atomic_store_n(&taken, gsh_wq_be32(1), __ATOMIC_RELEASE);
    set_turn(3);
    adapter.join();
}

#else
/* ---- warps that post as one ------------------------------------------------------------------ */

/* Who rings for a warp has synchronised with its other threads. */
enum how { late, at_once, in_batch };
__global__ void warp_kernel(job *j, how by)
{
    const uint64_t pair[2] = {threadIdx.x, 0};
    if (threadIdx.x < 32 && by != in_batch) {
        gshmem_uint64_p(j->word(0, 2 * threadIdx.x), threadIdx.x, 1);
        if (by == at_once)
            gshmem_uint64_p(j->word(0, 2 * threadIdx.x), threadIdx.x, 1);
    } else if (threadIdx.x < 32) {
        gshmem_uint64_put(j->word(0, 2 * threadIdx.x), pair, 2, 1);
    }
    if (threadIdx.x == 0)
        set_turn(1);
    if (threadIdx.x == 32) {
        await_turn(1);
        j->work(by == at_once ? 64 : 32);
    }
}

template <how by> static void warp()
{
    job j("record=0");
    j.connect(1);
    j.run(warp_kernel, 1, 64, by);
    CHECK_EQ(*j.word(1, 62), 31);
}
#endif

static const struct {
    const char *name;
    void (*play)();
} scenes[] = {
#ifndef GSHMEM_CPU_WHOLE_WARPS
    {"entries", entries},
    {"record", record},
    {"ahead", ahead},
    {"completed", completed},
    {"room_p", room<by_p>},
    {"room_put", room<by_put>},
    {"room_batch", room<by_batch>},
    {"known", known},
    {"quiet", quiet},
    {"fence", fence},
    {"list_quiet", list<false>},
    {"list_fence", list<true>},
    {"cell", cell},
    {"left", left<true>},
    {"rung", left<false>},
    {"again", again},
    {"fenced", fenced},
    {"idle", idle},
    {"joined", joined},
    {"letter", letter},
    {"atomic", atomic},
    {"consumed", consumed},
#else
    {"warp_late", warp<late>},
    {"warp_at_once", warp<at_once>},
    {"warp_batch", warp<in_batch>},
#endif
};

int main(int argc, char **argv)
{
    bool is_played = false;
    left_out = argc > 2 ? argv[2] : "";
    for (const auto &scene : scenes) {
        if (argc > 1 && strcmp(argv[1], scene.name) != 0)
            continue;
        shown = scene.name;
        scene.play();
        is_played = true;
    }
    CHECK(is_played); /* no such scene */
    return test_result();
}
