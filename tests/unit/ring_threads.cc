/* SPDX-License-Identifier: Apache-2.0
 * Proves the ring between kernels of the CPU device and a reader on a host thread: every request
 * comes out as it went in; many producers on full rings over many laps, with a reader that is
 * faster or slower, lose, double and mix up nothing; blocking calls, fence and quiet keep their
 * promises; waits are bounded. Under the thread sanitizer also that each access is ordered. */
#include <gshmem_device.cuh>

#include <atomic>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include "device/far.cuh"
#include "tests/test.h"
extern "C" {
#include "proxy/ring/reader.h"
}

using gshmem::default_context;
using namespace gshmem::detail;

enum { n_rings = 2, n_slots = GSH_RING_MIN_SLOTS, all_pes = 8, far_bytes = 2 << 20 };

/* A PE whose peers are all far: their heaps are arrays that only the reader touches. */
struct far_pe {
    gsh_control control = {};
    gsh_state state = {};
    gsh_ring rings[n_rings] = {};
    std::vector<gsh_ring_slot> slots[n_rings];
    gsh_ring_cpu cpu[n_rings] = {};
    gsh_ring_reader readers[n_rings];
    gsh_ring_wake wake;
    std::atomic<uint64_t> n_wakes{0};
    std::vector<char> heap;
    std::vector<gsh_peer_route> routes;
    gsh_cpu_device *device;

    explicit far_pe(uint64_t stride, uint64_t wait_timeout_ns = 0)
        : heap(far_bytes), routes(all_pes, {-1, GSH_ROUTE_RING})
    {
        wake.call = [](void *context) { static_cast<far_pe *>(context)->n_wakes++; };
        wake.context = this;
        for (int i = 0; i < n_rings; i++) {
            slots[i].resize(n_slots);
            rings[i].slots = (uint64_t)(uintptr_t)slots[i].data();
            rings[i].cpu = (uint64_t)(uintptr_t)&cpu[i];
            rings[i].wake = (uint64_t)(uintptr_t)&wake;
            rings[i].n_slots = n_slots;
            CHECK_EQ(gsh_ring_reader_init(&readers[i], slots[i].data(), n_slots, &cpu[i],
                                          heap.data(), all_pes),
                     GSH_OK);
        }
        state.magic = GSH_STATE_MAGIC;
        state.version = GSH_STATE_VERSION;
        state.bytes = sizeof state;
        state.n_pes = all_pes;
        state.n_slots = 1;
        state.base = (uint64_t)(uintptr_t)heap.data();
        state.stride = stride;
        state.routes = (uint64_t)(uintptr_t)routes.data();
        state.control = (uint64_t)(uintptr_t)&control;
        state.wait_timeout_ns = wait_timeout_ns;
        state.rings = (uint64_t)(uintptr_t)rings;
        state.n_rings = n_rings;
        device = gshmemx_cpu_device_create(nullptr);
        gshmemx_cpu_device_set_state(device, &state);
    }
    ~far_pe() { gshmemx_cpu_device_destroy(device); }
    far_pe(const far_pe &) = delete;

    template <class K, class... A> void launch(K kernel, unsigned grid, unsigned block, A... args)
    {
        gshmemx_cpu_device_bind(device);
        CHECK_EQ(gshmem_launch(kernel, dim3(grid), dim3(block), 0, nullptr, args...), cudaSuccess);
        gshmemx_cpu_device_bind(nullptr);
    }
    void synchronize() { gshmemx_cpu_device_synchronize(device); }
};

/* ---- every field comes out as it went in ---------------------------------------------------- */

/* Random bits, sometimes with some of the upper ones all set or clear. */
static uint64_t any_bits(uint64_t *seed)
{
    uint64_t bits = test_random(seed);
    switch (test_random(seed) % 4) {
    case 0:
        return bits | GSH_RING_LAP;
    case 1:
        return bits >> (test_random(seed) % 64);
    case 2:
        return UINT64_MAX;
    default:
        return bits;
    }
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return test_random(seed) % limit;
}

/* A call and the request that must reach the proxy. Offsets and addresses mean nothing here. */
struct expectation {
    gsh_request q;
    uint64_t width; /* for p, g and atomics */
    char source[GSH_RING_INLINE_MAX];
};

static expectation expect(uint64_t *seed, const far_pe &pe)
{
    static const uint8_t ops[] = {GSH_FAR_PUT,  GSH_FAR_GET,        GSH_FAR_P,
                                  GSH_FAR_G,    GSH_FAR_AMO,        GSH_FAR_IPUT,
                                  GSH_FAR_IGET, GSH_FAR_PUT_SIGNAL, GSH_FAR_FENCE};
    expectation e = {};
    gsh_request &q = e.q;
    q.op = ops[below(seed, sizeof ops)];
    q.pe = (int)below(seed, all_pes / 2) * 2; /* all in ring 0 */
    if (q.op == GSH_FAR_FENCE) {
        q.pe = 0;
        return e;
    }
    bool is_small = below(seed, 2);
    q.remote_off = below(seed, is_small ? 1ull << 30 : 1ull << 46);
    uint64_t local = is_small ? pe.state.base + below(seed, 1ull << 40) : test_random(seed) >> 2;
    q.bytes = 1 + (is_small ? below(seed, 1 << 19) : test_random(seed) >> 3);
    e.width = 4u << below(seed, 2);
    switch (q.op) {
    case GSH_FAR_PUT_SIGNAL:
        q.sig_op = below(seed, 2) ? GSHMEM_SIGNAL_SET : GSHMEM_SIGNAL_ADD;
        q.sig_off = below(seed, 1ull << 46);
        q.signal = any_bits(seed);
        if (is_small)
            q.bytes = 1 + below(seed, GSH_RING_SIGNAL_MAX);
        break;
    case GSH_FAR_P:
        q.bytes = 1 + below(seed, GSH_RING_INLINE_MAX);
        break;
    case GSH_FAR_PUT:
        q.bytes += GSH_RING_INLINE_MAX;
        break;
    case GSH_FAR_G:
        e.width = 1u << below(seed, 4);
        q.is_fetch = true;
        break;
    case GSH_FAR_AMO:
        q.amo_op = (uint8_t)below(seed, 8);
        q.is_fetch = below(seed, 2);
        q.operand = any_bits(seed);
        q.cond = q.is_fetch ? any_bits(seed) : 0;
        break;
    case GSH_FAR_IPUT:
    case GSH_FAR_IGET:
        q.elem_bytes = 1 + below(seed, 16);
        q.nelems = 1 + below(seed, 1000);
        q.remote_stride = 1 + (ptrdiff_t)below(seed, 1 << 20);
        q.local_stride = 1 + (ptrdiff_t)below(seed, 1 << 20);
        break;
    default:
        break;
    }
    bool is_inline =
        q.op == GSH_FAR_P || (q.op == GSH_FAR_PUT_SIGNAL && q.bytes <= GSH_RING_SIGNAL_MAX);
    bool has_word = q.op == GSH_FAR_G || q.op == GSH_FAR_AMO;
    for (char &c : e.source)
        c = (char)(is_inline ? any_bits(seed) : 0);
    q.local = is_inline || has_word ? nullptr : (void *)(uintptr_t)local;
    q.word_bytes = has_word ? (uint8_t)e.width : 0;
    if (has_word || q.op == GSH_FAR_IPUT || q.op == GSH_FAR_IGET)
        q.bytes = 0;
    return e;
}

/* The reader's answer. */
static uint64_t answer_to(const gsh_request &q)
{
    return q.remote_off * 0x9e3779b97f4a7c15u + q.ticket;
}

__device__ static void call(const expectation &e, uint64_t ticket)
{
    const gsh_request &q = e.q;
    gshmem::group_thread g;
    char *far = (char *)(unit_state().base + q.remote_off), *local = (char *)q.local;
    uint64_t *sig = (uint64_t *)(unit_state().base + q.sig_off);
    uint64_t got = 0;
    switch (q.op) {
    case GSH_FAR_PUT:
        far_put(default_context(), g, far, local, q.bytes, q.pe, q.bytes % 2 == 0, "put");
        break;
    case GSH_FAR_GET:
        far_get(default_context(), g, local, far, q.bytes, q.pe, q.bytes % 2 == 0, "get");
        break;
    case GSH_FAR_P:
        far_put(default_context(), g, far, e.source, q.bytes, q.pe, true, "put");
        break;
    case GSH_FAR_G:
        got = far_g(default_context(), far, (uint32_t)e.width, q.pe, "g");
        break;
    case GSH_FAR_AMO:
        got = far_amo(default_context(), (gsh_amo_op)q.amo_op, far, (uint32_t)e.width, q.operand,
                      q.cond, q.is_fetch, q.pe, "amo");
        break;
    case GSH_FAR_IPUT:
        far_iput(default_context(), g, far, local, q.remote_stride, q.local_stride, q.elem_bytes,
                 q.nelems, q.pe, "iput");
        break;
    case GSH_FAR_IGET:
        far_iget(default_context(), g, local, far, q.local_stride, q.remote_stride, q.elem_bytes,
                 q.nelems, q.pe, "iget");
        break;
    case GSH_FAR_PUT_SIGNAL:
        far_put_signal(default_context(), g, far, local ? local : e.source, q.bytes, sig, q.signal,
                       q.sig_op, q.pe, q.bytes % 2 == 0, "put_signal");
        break;
    default: /* right after another one it pushes nothing */
        far_p(default_context(), far, 1, 1, 0, "p");
        far_fence(default_context());
        far_fence(default_context());
    }
    gsh_request asked = q;
    asked.ticket = ticket;
    if (q.is_fetch)
        CHECK_EQ(got, answer_to(asked));
}

__global__ static void kernel_calls(const expectation *e, size_t n)
{
    uint64_t ticket = 0;
    for (size_t i = 0; i < n; i++) {
        call(e[i], ticket);
        ticket += e[i].q.is_fetch;
    }
}

/* Takes the next request of the ring and reports it complete. */
static gsh_request next_request(far_pe &pe, int ring)
{
    gsh_request q;
    memset((void *)&q, 0, sizeof q);
    bool has = false;
    while (!has) {
        if (!CHECK_EQ(gsh_ring_reader_next(&pe.readers[ring], &q, &has), GSH_OK))
            abort();
        if (!has)
            sched_yield();
    }
    if (q.is_fetch)
        gsh_ring_reader_reply(&pe.readers[ring], q.ticket, answer_to(q));
    gsh_ring_reader_done(&pe.readers[ring], q.position);
    return q;
}

static void test_encoding(uint64_t *seed)
{
    far_pe pe(1ull << 45);
    const size_t n = 4000;
    std::vector<expectation> es;
    for (size_t i = 0; i < n; i++)
        es.push_back(expect(seed, pe));
    pe.launch(kernel_calls, 1, 1, (const expectation *)es.data(), n);
    uint64_t position = 0, ticket = 0;
    for (const expectation &e : es) {
        if (e.q.op == GSH_FAR_FENCE)
            position = next_request(pe, 0).position;
        gsh_request q = next_request(pe, 0);
        CHECK(q.position > position && q.position <= position + GSH_RING_MAX_SLOTS);
        position = q.position;
        size_t bytes = q.local ? 0 : q.bytes;
        CHECK(memcmp(q.inline_data, e.source, bytes) == 0);
        if (q.is_fetch)
            CHECK_EQ(q.ticket, ticket++);
        q.position = q.ticket = 0;
        if (!CHECK(memcmp(&q, &e.q, offsetof(gsh_request, inline_data)) == 0)) {
            fprintf(stderr, "operation %u, %u expected\n", q.op, e.q.op);
            break;
        }
    }
    pe.synchronize();
    CHECK(pe.n_wakes >= n);
}

/* ---- many producers ------------------------------------------------------------------------- */

/* A reader that carries requests out, in order, on arrays. */
struct proxy_model {
    far_pe &pe;
    bool is_slow;
    std::vector<std::vector<char>> far;
    std::atomic<bool> is_over{false};
    uint64_t n_requests = 0;

    proxy_model(far_pe &p, bool slow)
        : pe(p), is_slow(slow), far(all_pes, std::vector<char>(far_bytes))
    {
    }

    static void add(char *at, uint64_t value)
    {
        uint64_t old;
        memcpy(&old, at, 8);
        old += value;
        memcpy(at, &old, 8);
    }

    /* AMO: only those that the test makes. */
    uint64_t atomic(const gsh_request &q, char *there)
    {
        uint64_t old = 0;
        memcpy(&old, there, q.word_bytes);
        if (q.amo_op == GSH_AMO_ADD)
            add(there, q.operand);
        else if (q.amo_op == GSH_AMO_CSWAP && old == q.cond)
            memcpy(there, &q.operand, q.word_bytes);
        return old;
    }

    static void strided(char *to, uint64_t to_stride, const char *from, uint64_t from_stride,
                        const gsh_request &q)
    {
        for (uint64_t i = 0; i < q.nelems; i++)
            memcpy(to + i * to_stride * q.elem_bytes, from + i * from_stride * q.elem_bytes,
                   q.elem_bytes);
    }

    void carry_out(const gsh_request &q, gsh_ring_reader *reader)
    {
        char *there = &far[q.pe][q.remote_off], *here = (char *)q.local;
        uint64_t value = 0;
        switch (q.op) {
        case GSH_FAR_PUT:
        case GSH_FAR_P:
        case GSH_FAR_PUT_SIGNAL:
            memcpy(there, here ? here : (const char *)q.inline_data, q.bytes);
            if (q.op == GSH_FAR_PUT_SIGNAL)
                add(&far[q.pe][q.sig_off], q.signal);
            break;
        case GSH_FAR_GET:
            memcpy(here, there, q.bytes);
            break;
        case GSH_FAR_G:
            memcpy(&value, there, q.word_bytes);
            break;
        case GSH_FAR_AMO:
            value = atomic(q, there);
            break;
        case GSH_FAR_IPUT:
            strided(there, (uint64_t)q.remote_stride, here, (uint64_t)q.local_stride, q);
            break;
        case GSH_FAR_IGET:
            strided(here, (uint64_t)q.local_stride, there, (uint64_t)q.remote_stride, q);
            break;
        default:
            break;
        }
        if (q.is_fetch)
            gsh_ring_reader_reply(reader, q.ticket, value);
    }

    void run()
    {
        static gsh_request requests[100];
        while (!is_over.load()) {
            for (gsh_ring_reader &reader : pe.readers) {
                unsigned n;
                if (!CHECK_EQ(gsh_ring_reader_poll(&reader, requests, is_slow ? 3 : 100, &n),
                              GSH_OK))
                    abort();
                for (unsigned i = 0; i < n; i++)
                    carry_out(requests[i], &reader);
                if (n > 0)
                    gsh_ring_reader_done(&reader, requests[n - 1].position);
                n_requests += n;
                if (is_slow || n == 0)
                    sched_yield();
            }
        }
    }
};

/* The place of a thread on each far PE. */
enum { counter_off = 0, signal_off = 64, area_off = 4096, area_bytes = 2048 };

struct threads_args {
    char *heap;
    uint32_t *is_taken; /* by fetch-add: one bit for each value */
    int rounds;
};

__device__ static void do_bytes(char *mine, int pe, unsigned self, int round)
{
    gshmem::group_thread g;
    char source[300], back[300];
    unsigned bytes = 1 + (self * 7 + (unsigned)round * 31) % 300;
    for (unsigned i = 0; i < bytes; i++)
        source[i] = (char)(self + i + (unsigned)round);
    far_put(default_context(), g, mine, source, bytes, pe, true, "put");
    memset(source, 0, sizeof source); /* a blocking put allows it */
    far_quiet(default_context());
    fence_seq_cst();
    memset(back, 0, sizeof back);
    far_get(default_context(), g, back, mine, bytes, pe, true, "get");
    for (unsigned i = 0; i < bytes; i++)
        if (!CHECK_EQ(back[i], (char)(self + i + (unsigned)round)))
            break;
    far_iput(default_context(), g, mine + 512, back, 3, 2, 1, bytes / 2, pe, "iput");
    far_iget(default_context(), g, source, mine + 512, 2, 3, 1, bytes / 2, pe, "iget");
    for (unsigned i = 0; i < bytes / 2; i++)
        if (!CHECK_EQ(source[2 * i], back[2 * i]))
            break;
    far_get(default_context(), g, source, mine, bytes, pe, false, "get_nbi");
    far_quiet(default_context());
    fence_seq_cst();
    CHECK(memcmp(source, back, bytes) == 0);
}

__device__ static void do_words(const threads_args &a, char *mine, int pe, unsigned self, int round)
{
    uint64_t value = (uint64_t)self << 56 | (uint64_t)round << 1 | GSH_RING_LAP;
    far_p(default_context(), mine + 1040, value, 8, pe, "p");
    far_fence(default_context());
    far_amo(default_context(), GSH_AMO_ADD, a.heap + counter_off + 8, 8, 3, 0, false, pe, "add");
    CHECK_EQ(far_g(default_context(), mine + 1040, 8, pe, "g"), value);
    CHECK_EQ(far_g(default_context(), mine + 1041, 2, pe, "g"), (value >> 8) & 0xffff);
    uint64_t old = far_amo(default_context(), GSH_AMO_ADD, a.heap + counter_off, 8, 1, 0, true, 0,
                           "fetch_add");
    uint32_t bit = 1u << (old % 32);
    CHECK_EQ(atomicOr(&a.is_taken[old / 32], bit) & bit, 0);
    CHECK_EQ(far_amo(default_context(), GSH_AMO_CSWAP, mine + 1040, 8, 5, value, true, pe, "swap"),
             value);
    CHECK_EQ(far_g(default_context(), mine + 1040, 4, pe, "g"), 5);
}

__global__ static void kernel_threads(threads_args a)
{
    unsigned self = blockIdx.x * blockDim.x + threadIdx.x;
    char *mine = a.heap + area_off + self * area_bytes;
    uint64_t *signal = (uint64_t *)(a.heap + signal_off);
    for (int round = 0; round < a.rounds; round++) {
        int pe = (int)(self + (unsigned)round) % all_pes;
        for (int i = 0; i < 20; i++) /* faster than the reader: the ring is full */
            far_p(default_context(), mine + 1200 + 8 * i, (uint64_t)i, 8, pe, "p");
        do_bytes(mine, pe, self, round);
        do_words(a, mine, pe, self, round);
        far_put_signal(default_context(), gshmem::group_thread(), mine + 1100, &a, sizeof a, signal,
                       1, GSHMEM_SIGNAL_ADD, 1, false, "put_signal");
    }
    char text[200];
    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    __syncthreads(); /* groups: one request for all */
    far_put_signal(default_context(), gshmem::group_block(),
                   a.heap + area_off + blockIdx.x * blockDim.x * area_bytes, text, sizeof text,
                   signal, 1, GSHMEM_SIGNAL_ADD, 1, true, "put_signal_block");
    far_put(default_context(), gshmem::group_warp(), mine, text, 0, 1, true, "nothing");
    far_quiet(default_context());
}

static void test_threads(bool is_slow)
{
    /* More threads than there are cells. Behind a slow reader a round takes ten times as long; two
     * are dozens of laps of each ring. */
    int rounds = is_slow ? 2 : 8, grid = 4, block = 128;
#if defined(GSHMEM_CPU_TSAN)
    rounds = 3, grid = 3, block = 16;
#elif defined(__SANITIZE_ADDRESS__)
    rounds = is_slow ? 2 : 3;
#endif
    far_pe pe(far_bytes);
    proxy_model model(pe, is_slow);
    const uint64_t n = (uint64_t)rounds * grid * block;
    std::vector<uint32_t> is_taken(n / 32 + 1);
    threads_args a = {pe.heap.data(), is_taken.data(), rounds};
    pe.launch(kernel_threads, grid, block, a);
    if (is_slow) /* the rings fill before the reader looks */
        while (__atomic_load_n(&pe.rings[0].gpu_head, __ATOMIC_RELAXED) < n_slots)
            sched_yield();
    std::thread reader([&] { model.run(); });
    pe.synchronize();
    model.is_over = true;
    reader.join();
    uint64_t counter, sum = 0, signals;
    memcpy(&counter, &model.far[0][counter_off], 8);
    CHECK_EQ(counter, n);
    for (uint64_t i = 0; i < n; i++)
        CHECK(is_taken[i / 32] >> (i % 32) & 1);
    for (const std::vector<char> &far : model.far) {
        memcpy(&counter, &far[counter_off + 8], 8);
        sum += counter;
    }
    CHECK_EQ(sum, 3 * n);
    memcpy(&signals, &model.far[1][signal_off], 8);
    CHECK_EQ(signals, n + grid);
    for (int i = 0; i < grid; i++)
        CHECK_EQ(model.far[1][area_off + i * block * area_bytes + 150], (char)150);
    for (int i = 0; i < n_rings; i++) {
        CHECK_EQ(pe.cpu[i].cpu_done, pe.rings[i].gpu_head);
        CHECK_EQ(pe.cpu[i].cpu_tail, pe.rings[i].gpu_head);
        CHECK(pe.rings[i].gpu_head > 10 * n_slots);
    }
    printf("%s reader: %" PRIu64 " requests\n", is_slow ? "slow" : "fast", model.n_requests);
}

/* More threads wait for an answer than there are cells. */
__global__ static void kernel_tickets(char *heap, uint32_t *is_taken)
{
    uint64_t old = far_amo(default_context(), GSH_AMO_ADD, heap, 8, 1, 0, true, 0, "fetch_add");
    uint32_t bit = 1u << (old % 32);
    CHECK_EQ(atomicOr(&is_taken[old / 32], bit) & bit, 0);
}

static void test_tickets()
{
    const unsigned grid = 20, block = 32, n = grid * block;
    far_pe pe(far_bytes, 30000000000u);
    proxy_model model(pe, false);
    std::vector<uint32_t> is_taken(n / 32);
    pe.launch(kernel_tickets, grid, block, pe.heap.data(), is_taken.data());
    while (__atomic_load_n(&pe.rings[0].gpu_ticket, __ATOMIC_RELAXED) < n)
        sched_yield();
    std::thread reader([&] { model.run(); });
    pe.synchronize();
    model.is_over = true;
    reader.join();
    for (uint32_t bits : is_taken)
        CHECK_EQ(bits, UINT32_MAX);
}

/* Fence and quiet push nothing after no traffic, and one token for each ring with traffic. */
__global__ static void kernel_order(const gsh_ring *rings, const char *heap)
{
    far_fence(default_context());
    far_quiet(default_context());
    CHECK_EQ(rings[0].gpu_head + rings[1].gpu_head, 0);
    far_p(default_context(), (void *)heap, 1, 4, 1, "p"); /* ring 1 */
    far_fence(default_context());
    far_fence(default_context());
    CHECK_EQ(rings[1].gpu_head, 3);
    far_quiet(default_context());
    far_quiet(default_context());
    far_fence(default_context());
    CHECK_EQ(rings[1].gpu_head, 4);
    CHECK_EQ(rings[0].gpu_head, 0);
    far_put(default_context(), gshmem::group_thread(), (void *)heap, heap, 0, 0, true, "put");
    far_get(default_context(), gshmem::group_thread(), (void *)heap, heap, 0, 0, true, "get");
    far_iput(default_context(), gshmem::group_thread(), (void *)heap, heap, 1, 1, 4, 0, 0, "iput");
    CHECK_EQ(rings[0].gpu_head, 0);
}

static void test_order()
{
    far_pe pe(far_bytes);
    pe.launch(kernel_order, 1, 1, (const gsh_ring *)pe.rings, (const char *)pe.heap.data());
    static const uint8_t ops[] = {GSH_FAR_P, GSH_FAR_FENCE, GSH_FAR_QUIET};
    for (uint8_t op : ops)
        CHECK_EQ(next_request(pe, 1).op, op);
    pe.synchronize();
}

/* ---- waits are bounded ---------------------------------------------------------------------- */

enum trouble { NO_DONE, NO_ANSWER, NO_ROOM, TROUBLES };

__global__ static void kernel_trouble(int what, char *heap)
{
    if (what == NO_DONE)
        far_get(default_context(), gshmem::group_thread(), heap, heap, 8, 3, true, "the call");
    else if (what == NO_ANSWER)
        far_g(default_context(), heap, 8, 3, "the call");
    else
        for (;;)
            far_p(default_context(), heap, 0, 4, 3, "the call");
}

/* In a child process, because the kernel stands still after its report. */
static void test_timeout(int what)
{
    pid_t pid = fork();
    if (pid == 0) {
        far_pe pe(far_bytes, 20000000);
        pe.launch(kernel_trouble, 1, 1, what, pe.heap.data());
        gsh_report &r = pe.control.report;
        while (__atomic_load_n(&r.state, __ATOMIC_ACQUIRE) != 2)
            sched_yield();
        CHECK_EQ(r.kind, GSH_REPORT_FAR_TIMEOUT);
        CHECK_EQ(r.pe, 3);
        CHECK_STR(r.call, "the call");
        _exit(test_result());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main()
{
    uint64_t seed = test_seed();
    for (int what = 0; what < TROUBLES; what++)
        test_timeout(what);
    test_encoding(&seed);
    test_order();
    test_tickets();
    test_threads(false);
    test_threads(true);
    return test_result();
}
