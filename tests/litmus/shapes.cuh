/* SPDX-License-Identifier: Apache-2.0
 * The litmus shapes and their kernels. A shape is a few memory operations of two or three PEs after
 * which one outcome is forbidden; docs/internals/memory-model.md has the promises. It runs in many
 * lanes at once, each with its own memory and blocks, and in each lane some million times in one
 * kernel.
 *
 * Writers run ahead: a lane has `n_slots` slots, and a slot's round r is written when the reader
 * has acknowledged its round before. All values derive from the round's number, so stale data show.
 * Scattered words, flags and acknowledgements each have their own line. */
#ifndef GSH_TEST_LITMUS_SHAPES_CUH
#define GSH_TEST_LITMUS_SHAPES_CUH

#include "tests/rig/pe.cuh"

enum { n_slots = 4, line_words = 16, apart_bytes = 512 };

enum shape_kernel { messages, chain, free_running, buffering, barriers, collectives, by_host };
enum shape_group { thread, warp, block };
enum shape_data {
    with_p,
    with_amo,
    with_put,
    with_put_nbi,
    with_put_signal,
    with_put_signal_nbi,
    with_put_signal_beside, /* the word and the signal are the halves of 16 aligned bytes */
    with_get,               /* the writer stores in its own memory, and the reader gets it */
};
enum shape_order { then_nothing, then_fence, then_quiet };
enum shape_flag { flag_p, flag_set, flag_add, flag_inc, flag_swap, flag_put_signal };
enum shape_look {
    look_wait,
    look_all,
    look_signal,
    look_test,
    look_signal_fetch,
    look_atomic_fetch
};

struct shape {
    const char *name;
    shape_kernel kernel;
    /* Each group of the block's threads moves its own bytes; scattered words (with_p, with_amo) are
     * shared out among all threads, and the group is what synchronises before the flag. */
    shape_group group;
    unsigned threads;
    size_t bytes;
    unsigned misaligned; /* dest and source are misaligned by 1 and 6 bytes */
    shape_data data;
    shape_order order;
    shape_flag flag;
    shape_look look;
};

static HD bool is_scattered(const shape &s)
{
    return s.data == with_p || s.data == with_amo;
}

static HD unsigned parts_of(const shape &s)
{
    const unsigned size = s.group == thread ? 1 : s.group == warp ? 32 : s.threads;
    return is_scattered(s) ? 1 : s.threads / size;
}

static HD size_t slot_bytes_of(const shape &s)
{
    const size_t bytes = is_scattered(s) ? s.bytes / 8 * apart_bytes : s.bytes * parts_of(s) + 16;
    return (bytes + apart_bytes - 1) / apart_bytes * apart_bytes;
}

/* Symmetric. */
struct mail {
    char *data, *source; /* of slot_bytes for each lane and slot */
    size_t slot_bytes;
    uint64_t *flag, *relay; /* a line for each lane and slot */
    uint64_t *ack;          /* a line for each lane, on the PE that writes: rounds read */
};

/* One lane's slot. */
struct place {
    char *data, *source;
    uint64_t *flag, *relay;
};

static __device__ place place_of(const shape &s, const mail &m, unsigned lane, long r)
{
    const size_t at = (size_t)lane * n_slots + (size_t)(r % n_slots);
    if (s.data == with_put_signal_beside) {
        uint64_t *flag = m.flag + at * line_words + lane % 2, *data = flag + 1 - lane % 2 * 2;
        return {(char *)data, m.source + at * m.slot_bytes, flag, m.relay + at * line_words};
    }
    return {m.data + at * m.slot_bytes + (s.misaligned ? 1 : 0),
            m.source + at * m.slot_bytes + (s.misaligned ? 6 : 0), m.flag + at * line_words,
            m.relay + at * line_words};
}

/* ---- values ---------------------------------------------------------------------------------- */

template <class T> static HD T value_of(long r, size_t i)
{
    return sizeof(T) == 1 ? (T)(r * 37 + (long)i) : (T)((uint64_t)r << 20 | i);
}

static __device__ uint64_t lap_of(long r)
{
    return (uint64_t)((r - 1) / n_slots) + 1;
}

/* The flag's value after round r. */
static __device__ uint64_t flag_value(const shape &s, long r)
{
    if (s.order == then_nothing && parts_of(s) > 1) /* a signal from each part */
        return lap_of(r) * parts_of(s);
    return s.flag == flag_add || s.flag == flag_inc ? lap_of(r) : (uint64_t)r;
}

static __device__ uint64_t *scattered(char *data, size_t i)
{
    return (uint64_t *)(data + i * apart_bytes);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Between the group's fill and the reader's check, only the library's own ordering applies. */
template <class T, class G>
static __device__ void move(G g, unsigned part, const shape &s, const place &at, long r, int to)
{
    const size_t n = s.bytes / sizeof(T);
    T *dest = (T *)at.data + part * n, *source = (T *)at.source + part * n;
    const bool adds = s.flag == flag_add || parts_of(s) > 1;
    const uint64_t signal = adds ? 1 : (uint64_t)r;
    const int op = adds ? GSHMEM_SIGNAL_ADD : GSHMEM_SIGNAL_SET;
    for (size_t i = g.rank(); i < n; i += g.size())
        source[i] = value_of<T>(r, part * n + i);
    if (s.data == with_put)
        gshmem::put(g, dest, source, n, to);
    else if (s.data == with_put_nbi)
        gshmem::put_nbi(g, dest, source, n, to);
    else if (s.data == with_put_signal || s.data == with_put_signal_beside)
        gshmem::put_signal(g, dest, source, n, at.flag, signal, op, to);
    else if (s.data == with_put_signal_nbi)
        gshmem::put_signal_nbi(g, dest, source, n, at.flag, signal, op, to);
}

/* Calls f with the group and the number of its part. */
template <class F> static __device__ void by_group(const shape &s, F f)
{
    if (s.group == thread)
        f(gshmem::group_thread(), threadIdx.x);
    else if (s.group == warp)
        f(gshmem::group_warp(), threadIdx.x / 32);
    else
        f(gshmem::group_block(), 0u);
}

static __device__ void change_atomically(uint64_t *word, long r, size_t i, int to)
{
    const uint64_t step = r <= n_slots ? value_of<uint64_t>(r, i) : (uint64_t)n_slots << 20;
    if (i % 3 == 0)
        gshmem_uint64_atomic_add(word, step, to);
    else if (i % 3 == 1)
        gshmem_uint64_atomic_set(word, value_of<uint64_t>(r, i), to);
    else
        (void)gshmem_uint64_atomic_swap(word, value_of<uint64_t>(r, i), to);
}

static __device__ void write_data(const shape &s, const place &at, long r, int to)
{
    if (is_scattered(s)) {
        for (size_t i = threadIdx.x; i < s.bytes / 8; i += s.threads) {
            if (s.data == with_p)
                gshmem_uint64_p(scattered(at.data, i), value_of<uint64_t>(r, i), to);
            else
                change_atomically(scattered(at.data, i), r, i, to);
        }
    } else {
        by_group(s, [&](auto g, unsigned part) {
            if (s.misaligned)
                move<uint8_t>(g, part, s, at, r, to);
            else
                move<uint64_t>(g, part, s, at, r, to);
        });
    }
}

/* Makes what the block's threads did visible to the thread that fences: the program's task, except
 * that a group's put has done it for its threads. */
static __device__ void join(const shape &s)
{
    const bool is_put = s.data == with_put || s.data == with_put_nbi;
    if (is_scattered(s) && s.group == warp)
        __syncwarp();
    else if (parts_of(s) > 1 || !is_put)
        __syncthreads();
}

static __device__ void raise_flag(const shape &s, uint64_t *flag, long r, int to)
{
    if (s.flag == flag_p)
        gshmem_uint64_p(flag, (uint64_t)r, to);
    else if (s.flag == flag_set)
        gshmemx_signal_op(flag, (uint64_t)r, GSHMEM_SIGNAL_SET, to);
    else if (s.flag == flag_add)
        gshmemx_signal_op(flag, 1, GSHMEM_SIGNAL_ADD, to);
    else if (s.flag == flag_inc)
        gshmem_uint64_atomic_inc(flag, to);
    else if (s.flag == flag_swap)
        (void)gshmem_uint64_atomic_swap(flag, (uint64_t)r, to);
    else /* something small goes with it */
        gshmem_uint64_put_signal(flag + 1, flag + 2, 1, flag, (uint64_t)r, GSHMEM_SIGNAL_SET, to);
}

/* Data to one PE, then, from the last thread, the flag to the same or another PE. */
static __device__ void write_round(const shape &s, const place &at, long r, int to, int flag_to)
{
    write_data(s, at, r, to);
    if (s.order == then_nothing)
        return;
    join(s);
    if (threadIdx.x != s.threads - 1)
        return;
    if (s.order == then_quiet)
        gshmem_quiet();
    else
        gshmem_fence();
    raise_flag(s, at.flag, r, flag_to);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static __device__ void look_until(const shape &s, uint64_t *flag, uint64_t value)
{
    const int me = gshmem_my_pe();
    switch (s.look) {
    case look_wait:
        gshmem_uint64_wait_until(flag, GSHMEM_CMP_GE, value);
        break;
    case look_all: { /* also at words that are never written */
        uint64_t values[] = {value, 0, 0};
        gshmem_uint64_wait_until_all_vector(flag, 3, nullptr, GSHMEM_CMP_GE, values);
        break;
    }
    case look_signal:
        gshmem_signal_wait_until(flag, GSHMEM_CMP_GE, value);
        break;
    case look_test:
        while (!gshmem_uint64_test(flag, GSHMEM_CMP_GE, value)) {
        }
        break;
    case look_signal_fetch:
        while (gshmem_signal_fetch(flag) < value) {
        }
        break;
    default:
        while (gshmem_uint64_atomic_fetch(flag, me) < value) {
        }
        gshmem_fence();
    }
}

/* From the last to the first, by plain loads: the latest write is looked for first. */
template <class T>
static __device__ void check_values(const shape &s, const place &at, long r, verdict *v)
{
    const size_t n = s.bytes * parts_of(s) / sizeof(T);
    for (size_t i = threadIdx.x; i < n; i += s.threads) {
        const size_t k = n - 1 - i;
        const T seen =
            is_scattered(s) ? (T)*scattered(at.data, k) : reinterpret_cast<const T *>(at.data)[k];
        EXPECT_AT(v, seen, value_of<T>(r, k), r);
    }
}

static __device__ void read_round(const shape &s, const place &at, uint64_t *flag, long r, int from,
                                  verdict *v)
{
    /* In turn: each thread has looked itself; one has, and the rest have synchronised with it. */
    if (r % 2 == 0 || threadIdx.x == 0)
        look_until(s, flag, flag_value(s, r));
    if (r % 2 != 0)
        __syncthreads();
    if (s.data == with_get) {
        by_group(s, [&](auto g, unsigned part) {
            const size_t n = s.misaligned ? s.bytes : s.bytes / 8;
            if (s.misaligned)
                gshmem::get(g, (uint8_t *)at.data + part * n, (uint8_t *)at.source + part * n, n,
                            from);
            else
                gshmem::get(g, (uint64_t *)at.data + part * n, (uint64_t *)at.source + part * n, n,
                            from);
        });
        if (parts_of(s) > 1)
            __syncthreads();
    }
    if (s.misaligned)
        check_values<uint8_t>(s, at, r, v);
    else
        check_values<uint64_t>(s, at, r, v);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Each lane has a block for each role: writer and reader, or in a chain writer (data to the third
 * PE, flag to the second), relay (flag on to the third), reader. */
__global__ void message_kernel(shape s, mail m, int roles, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), role = (int)blockIdx.x % roles;
    const unsigned lane = blockIdx.x / (unsigned)roles;
    const int next = (me + 1) % n, last = (me + roles - 1) % n, first = (me + n - roles + 1) % n;
    uint64_t *ack = m.ack + lane * line_words;
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, lane, r);
        if (role == 0) {
            if (threadIdx.x == 0 && r > n_slots)
                gshmem_signal_wait_until(ack, GSHMEM_CMP_GE, (uint64_t)(r - n_slots));
            __syncthreads();
            write_round(s, at, r, last, next);
        } else if (role == roles - 1) {
            read_round(s, at, roles == 2 ? at.flag : at.relay, r, first, v);
            __syncthreads();
            if (threadIdx.x == 0) { /* the block has read before it says so */
                gshmem_fence();
                gshmemx_signal_op(ack, (uint64_t)r, GSHMEM_SIGNAL_SET, first);
            }
        } else if (threadIdx.x == 0) {
            look_until(s, at.flag, flag_value(s, r));
            gshmem_fence();
            gshmemx_signal_op(at.relay, flag_value(s, r), GSHMEM_SIGNAL_SET, next);
        }
    }
    gshmem_quiet();
}

/* There is no wait: once the reader sees a flag, no word may be older than it. */
__global__ void free_running_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const place at = place_of(s, m, blockIdx.x / 2, 0);
    const size_t n_words = s.bytes / 8;
    if (blockIdx.x % 2 == 0) {
        for (long r = 1; r <= rounds; r++) {
            for (size_t i = 0; i < n_words; i++)
                gshmem_uint64_p(scattered(at.data, i), (uint64_t)r, (me + 1) % n);
            gshmem_fence();
            gshmem_uint64_p(at.flag, (uint64_t)r, (me + 1) % n);
        }
        gshmem_quiet();
        return;
    }
    for (uint64_t seen = 0; seen < (uint64_t)rounds;) {
        seen = gshmem_signal_fetch(at.flag);
        for (size_t i = n_words; i-- > 0;) {
            const uint64_t word = gshmem_uint64_g(scattered(at.data, i), me);
            expect(v, word >= seen, __LINE__, (long long)word, (long long)seen);
        }
    }
}

/* Store buffering: PEs 2i and 2i + 1 store to each other, complete, and load what the other stores;
 * neither waits. log[r - 1]: what the load after the store of r saw. */
__global__ void buffering_kernel(mail m, uint64_t *log, long rounds)
{
    const int partner = gshmem_my_pe() ^ 1;
    if (partner >= gshmem_n_pes())
        return;
    uint64_t *word = m.flag + blockIdx.x * n_slots * line_words,
             *meet = m.ack + blockIdx.x * line_words;
    log += blockIdx.x * rounds;
    gshmem_uint64_p(meet, 1, partner);
    gshmem_uint64_wait_until(meet, GSHMEM_CMP_EQ, 1);
    for (long r = 1; r <= rounds; r++) {
        gshmem_uint64_p(word, (uint64_t)r, partner);
        gshmem_quiet();
        log[r - 1] = gshmem::detail::load_relaxed(word); /* g without what a CPU adds */
    }
}

/* This PE's store of r was complete before its load, which missed the partner's store of log + 1;
 * so that store was not complete, and the partner's load after it must have seen r. */
__global__ void buffering_check_kernel(const uint64_t *log, long rounds, verdict *v)
{
    const int partner = gshmem_my_pe() ^ 1;
    if (partner >= gshmem_n_pes())
        return;
    log += blockIdx.x * rounds;
    for (long r = 1 + (long)threadIdx.x; r <= rounds; r += (long)blockDim.x) {
        const uint64_t missed = log[r - 1] + 1;
        if (missed > (uint64_t)rounds)
            continue;
        const uint64_t theirs = gshmem_uint64_g(&log[missed - 1], partner);
        expect(v, theirs >= (uint64_t)r, __LINE__, (long long)theirs, r, (long long)missed);
    }
}

/* A block's put and its threads' scattered words, then a barrier in place of the flag. A slot is
 * written again after the barrier of the round in which the reader finished with it. */
__global__ void barrier_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, 0, r);
        write_data(s, at, r, next);
        if (s.group == thread)
            gshmem_barrier_all();
        else if (s.group == warp)
            gshmemx_barrier_all_warp();
        else
            gshmemx_barrier_all_block();
        check_values<uint64_t>(s, at, r, v);
    }
}

/* Source written, collective, dest read, by all threads of one block or several: the reading
 * threads are not the writing ones. Each member's part has as many values as a slot. */
enum { coll_blocks = 3 };
__global__ void coll_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const size_t nelems = s.bytes / 8 / (size_t)n, first = (size_t)me * nelems;
    const gshmem::group_blocks all = gshmem::group_grid();
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, 0, r);
        uint64_t *dest = (uint64_t *)at.data, *source = (uint64_t *)at.source;
        for (size_t i = all.rank(); i < nelems; i += all.size())
            source[i] = value_of<uint64_t>(r, first + i);
        if (gridDim.x == 1)
            gshmemx_uint64_fcollect_block(GSHMEM_TEAM_WORLD, dest, source, nelems);
        else
            gshmemx_uint64_fcollect_grid(GSHMEM_TEAM_WORLD, dest, source, nelems);
        for (size_t i = all.rank(); i < nelems * (size_t)n; i += all.size()) {
            const size_t k = nelems * (size_t)n - 1 - i;
            EXPECT_AT(v, dest[k], value_of<uint64_t>(r, k), r);
        }
    }
}

/* The previous PE's host writes, this block reads and writes back to that host. */
__global__ void host_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), previous = (me + n - 1) % n;
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, 0, r), back = place_of(s, m, 1, r);
        read_round(s, at, at.flag, r, previous, v);
        __syncthreads();
        move<uint64_t>(gshmem::group_block(), 0, s, back, r, previous);
        __syncthreads();
    }
    gshmem_quiet();
}

#endif
