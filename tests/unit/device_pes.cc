/* SPDX-License-Identifier: Apache-2.0
 * Proves the device library between two PEs on the CPU device's executor, without the host library:
 * the constant blocks are made by hand, and both PEs are devices of this process on one range. */
#include <gshmem_device.cuh>

#include <vector>
#include "tests/rig/device_pes.h"

static const int rounds = 10, n = 1000;

/* ---- groups: put, get, strided, by a thread, a warp and a block ------------------------------ */

template <class G> __global__ void kernel_copies(char *heap, G (*make)())
{
    int me = gshmem_my_pe(), peer = 1 - me, *inbox = (int *)heap, *outbox = inbox + n;
    G g = make();
    for (int i = (int)g.rank(); i < n; i += (int)g.size())
        outbox[i] = 1000 * me + i;
    gshmem::put(g, inbox + 1, outbox, n - 1, peer); /* the group's own stores come first */
    gshmem::barrier_all(g);
    for (int i = (int)g.rank(); i < n - 1; i += (int)g.size())
        CHECK_EQ(inbox[i + 1], 1000 * peer + i);
    gshmem::sync_all(g);
    gshmem::barrier_all(g);
    gshmem::get(g, inbox, outbox + 3, n - 3, peer);
    for (int i = (int)g.rank(); i < n - 3; i += (int)g.size())
        CHECK_EQ(inbox[i], 1000 * peer + i + 3);
    gshmem::barrier_all(g);
    gshmem::iput(g, inbox, outbox, 3, 2, n / 3, peer);
    gshmem::barrier_all(g);
    for (int i = (int)g.rank(); i < n / 3; i += (int)g.size())
        CHECK_EQ(inbox[3 * i], 1000 * peer + 2 * i);
    gshmem::barrier_all(g);
    /* elements of 16 bytes at an odd address */
    gshmemx_iget128_block(heap + 1, outbox, 2, 1, 50, peer);
    int last[4];
    memcpy(last, heap + 1 + 32 * 49, sizeof last);
    CHECK_EQ(last[0], 1000 * peer + 4 * 49);
    CHECK_EQ(last[3], 1000 * peer + 4 * 49 + 3);
    gshmem::barrier_all(g);
}

/* One group of each kind makes the calls; iget128 above is the block's. */
static gshmem::group_thread one_thread()
{
    return {};
}
static gshmem::group_warp one_warp()
{
    return {};
}
static gshmem::group_block one_block()
{
    return {};
}

/* ---- words: p, g, atomics -------------------------------------------------------------------- */

__global__ void kernel_words(uint64_t *w, float *f)
{
    int me = gshmem_my_pe(), peer = 1 - me;
    gshmem_uint64_atomic_inc(w, 0);
    gshmem_uint64_atomic_fetch_add(w, 4, 0);
    gshmem_uint32_atomic_or((uint32_t *)(w + 1), 1u << me, 0);
    gshmem_uint32_atomic_xor((uint32_t *)(w + 1) + 1, 0xffu, 0);
    while (gshmem_uint64_atomic_compare_swap(w + 2, 0, 1, 0) != 0) { /* a lock */
    }
    gshmem_fence();
    uint64_t seen = gshmem_uint64_g(w + 3, 0);
    gshmem_uint64_p(w + 3, seen + 1, 0);
    gshmem_quiet();
    gshmem_uint64_atomic_set(w + 2, 0, 0);
    gshmem_float_atomic_set(f, 0.5f + (float)me, peer);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_uint64_atomic_fetch(w, 0), 10);
    CHECK_EQ(gshmem_uint32_g((uint32_t *)(w + 1), 0), 3);
    CHECK_EQ(gshmem_uint32_g((uint32_t *)(w + 1) + 1, 0), 0);
    CHECK_EQ(gshmem_uint64_g(w + 3, 0), 2);
    CHECK(gshmem_float_g(f, me) == 0.5f + (float)peer);
    CHECK(gshmem_float_atomic_swap(f, 9.0f, me) == 0.5f + (float)peer);
    gshmem_barrier_all(); /* both have seen the 10 */
    CHECK_EQ(gshmem_uint64_atomic_fetch_and(w, 8, me), me == 0 ? 10 : 0);
    CHECK_EQ(gshmem_int_test((int *)w, GSHMEM_CMP_EQ, me == 0 ? 8 : 0), 1);
    short *s = (short *)(f + 2);
    gshmem_short_p(s, (short)(-5 - me), peer);
    gshmem_short_wait_until(s, GSHMEM_CMP_LT, 0);
    CHECK_EQ(gshmem_short_g(s, me), -5 - peer);
    gshmem_barrier_all();
}

/* ---- signals: data comes before its signal, many times --------------------------------------- */

__global__ void kernel_signals(int *data, const int *source, uint64_t *signals)
{
    int me = gshmem_my_pe(), peer = 1 - me;
    for (int r = 1; r <= rounds; r++) {
        if (me == r % 2) {
            gshmemx_int_put_signal_block(data, source + r, n - rounds, signals, (uint64_t)r,
                                         GSHMEM_SIGNAL_SET, peer);
        } else {
            if (threadIdx.x == 0)
                CHECK_EQ(gshmem_signal_wait_until(signals, GSHMEM_CMP_GE, (uint64_t)r), r);
            __syncthreads();
            for (int i = (int)threadIdx.x; i < n - rounds; i += (int)blockDim.x)
                CHECK_EQ(data[i], source[r + i]);
            __syncthreads();
            if (threadIdx.x == 0)
                gshmemx_signal_op(signals + 1, 1, GSHMEM_SIGNAL_ADD, peer);
        }
        if (me == r % 2 && threadIdx.x == 0)
            gshmem_uint64_wait_until(signals + 1, GSHMEM_CMP_EQ, (uint64_t)(r + 1) / 2);
        __syncthreads();
    }
}

/* ---- waits: every form, with words left out -------------------------------------------------- */

__global__ void kernel_waits(int *ivars, int *values, int *status, size_t *indices)
{
    int me = gshmem_my_pe(), peer = 1 - me;
    const int words = 8;
    const int *none = nullptr;
    for (int i = 0; i < words; i++) {
        values[i] = i + 1;
        status[i] = 1;
    }
    /* empty sets never wait */
    gshmem_int_wait_until_all(ivars, words, status, GSHMEM_CMP_EQ, 77);
    CHECK(gshmem_int_wait_until_any(ivars, words, status, GSHMEM_CMP_EQ, 77) == SIZE_MAX);
    CHECK_EQ(gshmem_int_wait_until_some(ivars, words, indices, status, GSHMEM_CMP_EQ, 77), 0);
    CHECK(gshmem_int_wait_until_any(ivars, 0, none, GSHMEM_CMP_EQ, 77) == SIZE_MAX);
    CHECK_EQ(gshmem_int_test_all(ivars, 0, none, GSHMEM_CMP_EQ, 77), 1);
    CHECK_EQ(gshmem_int_test_all(ivars, words, status, GSHMEM_CMP_EQ, 77), 1);
    CHECK_EQ(gshmem_int_test_all(ivars, words, none, GSHMEM_CMP_EQ, 77), 0);
    CHECK(gshmem_int_test_any(ivars, words, none, GSHMEM_CMP_EQ, 77) == SIZE_MAX);
    CHECK_EQ(gshmem_int_test_some(ivars, words, indices, none, GSHMEM_CMP_EQ, 77), 0);
    gshmem_barrier_all();

    gshmem_int_p(ivars + 5, 6, peer);
    CHECK_EQ(gshmem_int_wait_until_any(ivars, words, none, GSHMEM_CMP_NE, 0), 5);
    CHECK_EQ(gshmem_int_wait_until_any_vector(ivars, words, none, GSHMEM_CMP_EQ, values), 5);
    gshmem_barrier_all();
    gshmem_int_p(ivars + 2, 3, peer);
    status[2] = 0;
    CHECK_EQ(gshmem_int_wait_until_some(ivars, words, indices, status, GSHMEM_CMP_GT, 2), 1);
    CHECK_EQ(indices[0], 2);
    CHECK_EQ(gshmem_int_wait_until_some_vector(ivars, words, indices, none, GSHMEM_CMP_GE, values),
             2);
    CHECK_EQ(indices[0] + 10 * indices[1], 52);
    /* in a series of calls each word that satisfies is found */
    unsigned found = 0;
    while (found != ((1u << 5) | (1u << 2)))
        found |= 1u << gshmem_int_test_any(ivars, words, none, GSHMEM_CMP_NE, 0);
    gshmem_barrier_all();
    for (int i = 0; i < words; i++)
        gshmem_int_p(ivars + i, i + 1, peer);
    gshmem_int_wait_until_all_vector(ivars, words, none, GSHMEM_CMP_EQ, values);
    gshmem_int_wait_until_all(ivars, words, none, GSHMEM_CMP_LE, words);
    CHECK_EQ(gshmem_int_test_all_vector(ivars, words, none, GSHMEM_CMP_EQ, values), 1);
    CHECK_EQ(gshmem_int_test_some_vector(ivars, words, indices, none, GSHMEM_CMP_EQ, values),
             words);
    CHECK(gshmem_int_test_any_vector(ivars, words, none, GSHMEM_CMP_LT, values) == SIZE_MAX);
    gshmem_barrier_all();
}

/* ---- teams and queries ----------------------------------------------------------------------- */

__global__ void kernel_teams(char *heap)
{
    int me = gshmem_my_pe();
    CHECK_EQ(gshmem_n_pes(), 2);
    CHECK_EQ(gshmem_team_n_pes(GSHMEM_TEAM_WORLD), 2);
    CHECK_EQ(gshmem_team_my_pe(GSHMEM_TEAM_SHARED), 1 - me); /* in reverse order */
    CHECK_EQ(gshmem_team_my_pe(7), -1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, 0, GSHMEM_TEAM_SHARED), 1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_SHARED, 0, GSHMEM_TEAM_WORLD), 1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, 2, GSHMEM_TEAM_SHARED), -1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, 1 - me, 3), -1);
    CHECK_EQ(gshmem_barrier(3), 0); /* of this PE alone */
    CHECK(gshmem_barrier(6) != 0 && gshmem_team_sync(-1) != 0);
    CHECK(gshmem_ptr(heap, me) == heap && gshmem_ptr(heap, 2) == nullptr);
    CHECK(gshmem_ptr(&me, me) == nullptr);
    for (int i = 0; i < rounds; i++) {
        CHECK_EQ(gshmem_barrier(GSHMEM_TEAM_SHARED), 0);
        gshmem_sync_all();
    }
}

/* ---- states that are not the launching PE's -------------------------------------------------- */

/* Thread `me` of the block is PE `me` of a job whose states it receives: all that the two do to
 * each other, and the launching PE's own state beside it. */
__global__ void kernel_other_job(const gsh_state *states, char *heap0, char *heap1, char *own)
{
    using namespace gshmem;
    int me = (int)threadIdx.x, peer = 1 - me;
    const context c = {states[me], 0};
    char *heap = me == 0 ? heap0 : heap1;
    int *data = (int *)heap, *source = data + 8, *word = data + 16;
    uint64_t *signal = (uint64_t *)(heap + 128);
    CHECK_EQ(my_pe(c), me);
    CHECK_EQ(n_pes(c), 2);
    CHECK(ptr(c, heap, peer) == (me == 0 ? heap1 : heap0));
    CHECK_EQ(team_my_pe(c, GSHMEM_TEAM_SHARED), peer);
    for (int i = 0; i < 8; i++)
        source[i] = 100 * me + i;
    put(c, group_thread(), data, source, 8, peer);
    barrier_all(c, group_thread());
    for (int i = 0; i < 8; i++)
        CHECK_EQ(data[i], 100 * peer + i);
    get(c, group_thread(), data, source + 1, 4, peer);
    CHECK_EQ(data[3], 100 * peer + 4);
    p(c, word, 7 + me, peer);
    wait_until(c, word, GSHMEM_CMP_EQ, 7 + peer);
    CHECK_EQ(g(c, word, peer), 7 + me);
    (void)atomic_fetch_add(c, word + 1, 1 + me, 0);
    barrier_all(c, group_thread());
    CHECK_EQ(atomic_fetch(c, word + 1, 0), 3);
    put_signal(c, group_thread(), data, source, 8, signal, 1, GSHMEM_SIGNAL_ADD, peer);
    CHECK(signal_wait_until(c, signal, GSHMEM_CMP_GE, 1) >= 1);
    CHECK_EQ(data[7], 100 * peer + 7);
    signal_op(c, signal, 5, GSHMEM_SIGNAL_SET, peer);
    (void)signal_wait_until(c, signal, GSHMEM_CMP_EQ, 5);
    quiet(c);
    /* The unit's own state has not changed. */
    if (me == 0) {
        gshmem_int_p((int *)own, 1 + gshmem_my_pe(), 1 - gshmem_my_pe());
        gshmem_barrier_all();
        CHECK_EQ(*(int *)own, 2 - gshmem_my_pe());
    }
}

static void run_all(pes &p)
{
    const size_t words = 64;
    for (int block : {1, 32, 40, 96}) {
        gshmem::group_block (*of_block)() = one_block;
        p.run(kernel_copies<gshmem::group_block>, dim3((unsigned)block), p.heap(0), p.heap(1),
              of_block);
    }
    p.run(kernel_copies<gshmem::group_warp>, dim3(4, 4, 2), p.heap(0), p.heap(1), one_warp);
    p.run(kernel_copies<gshmem::group_warp>, dim3(7), p.heap(0), p.heap(1), one_warp);
    p.run(kernel_copies<gshmem::group_thread>, dim3(1), p.heap(0), p.heap(1), one_thread);
    p.clear();
    p.run_on([&](int pe) {
        uint64_t *w = (uint64_t *)p.heap(pe);
        return gshmem_launch(kernel_words, dim3(1), dim3(1), 0, nullptr, w, (float *)(w + 8));
    });
    p.clear();
    std::vector<int> source(n);
    for (int i = 0; i < n; i++)
        source[(size_t)i] = i * 7;
    p.run_on([&](int pe) {
        uint64_t *w = (uint64_t *)p.heap(pe);
        return gshmem_launch(kernel_signals, dim3(1), dim3(64), 0, nullptr, (int *)(w + words),
                             (const int *)source.data(), w);
    });
    p.clear();
    std::vector<int> values(2 * words), status(2 * words);
    std::vector<size_t> indices(2 * words);
    p.run_on([&](int pe) {
        size_t at = words * (size_t)pe;
        return gshmem_launch(kernel_waits, dim3(1), dim3(1), 0, nullptr, (int *)p.heap(pe),
                             &values[at], &status[at], &indices[at]);
    });
    p.run_on([&](int pe) {
        return gshmem_launch(kernel_teams, dim3(1), dim3(1), 0, nullptr, p.heap(pe));
    });
}

int main(void)
{
    pes p;
    run_all(p);
    p.clear();
    p.drop_run();
    run_all(p);
    pes other[2]; /* each PE also makes calls in its own job */
    p.run_on([&](int pe) {
        return gshmem_launch(kernel_other_job, dim3(1), dim3(2), 0, nullptr,
                             (const gsh_state *)other[pe].states, other[pe].heap(0),
                             other[pe].heap(1), p.heap(pe));
    });
    return test_result();
}
