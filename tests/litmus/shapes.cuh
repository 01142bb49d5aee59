/* SPDX-License-Identifier: Apache-2.0
 * The litmus shapes and their kernels. A shape is a few memory operations of two or three PEs after
 * which one outcome is forbidden; docs/internals/memory-model.md has the promises. It runs in many
 * replicas at once, each with its own memory and blocks, and in each replica some million times in
 * one kernel.
 *
 * Writers run ahead: a replica has `n_slots` slots, and a slot's round r is written when the reader
 * has acknowledged its round before. All values derive from the round's number, so stale data show.
 * Scattered words, flags and acknowledgements each have their own line. */
#ifndef GSH_TEST_LITMUS_SHAPES_CUH
#define GSH_TEST_LITMUS_SHAPES_CUH

#include <type_traits>
#include "tests/rig/pe.cuh"
#include "device/coll/lines.cuh"

enum { n_slots = 4, line_words = 16, apart_bytes = 512 };

enum shape_kernel {
    messages,
    chain,
    free_running,
    buffering,
    barriers,
    collectives,
    grid_collectives,
    lines,
    line_reads,
    pieces,
    by_host
};
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

static constexpr size_t KiB = 1024;

/* name, kernel, group, threads, bytes of each group, misaligned, data, order, flag, look */
static constexpr shape shapes[] = {
    {"message", messages, thread, 1, 128, 0, with_p, then_fence, flag_p, look_wait},
    {"message_all", messages, thread, 1, 128, 0, with_p, then_fence, flag_p, look_all},
    {"message_test", messages, thread, 1, 128, 0, with_p, then_fence, flag_swap, look_test},
    {"message_quiet", messages, thread, 1, 128, 0, with_p, then_quiet, flag_p, look_wait},
    {"message_free", free_running, thread, 1, 64, 0, with_p, then_fence, flag_p, look_signal_fetch},
    {"warp_fence", messages, warp, 32, 512, 0, with_p, then_fence, flag_set, look_signal},
    {"block_fence", messages, block, 128, 1024, 0, with_p, then_fence, flag_set, look_signal},
    {"amo_put", messages, thread, 1, 64, 0, with_amo, then_fence, flag_p, look_wait},
    {"amo_put_block", messages, block, 64, 512, 0, with_amo, then_fence, flag_p, look_wait},
    {"amo_flag", messages, thread, 1, 128, 0, with_p, then_fence, flag_inc, look_atomic_fetch},
    {"amo_flag_put", messages, warp, 32, 1024, 0, with_put, then_fence, flag_swap,
     look_atomic_fetch},
    {"put_fence", messages, thread, 1, 256, 0, with_put, then_fence, flag_p, look_wait},
    {"put_quiet", messages, thread, 64, 256, 0, with_put_nbi, then_quiet, flag_set, look_signal},
    {"signal_8", messages, thread, 1, 8, 0, with_put_signal, then_nothing, flag_set, look_signal},
    {"signal_beside", messages, thread, 1, 8, 0, with_put_signal_beside, then_nothing, flag_set,
     look_signal},
    {"signal_beside_block", messages, block, 128, 8, 0, with_put_signal_beside, then_nothing,
     flag_set, look_signal_fetch},
    {"signal_1k", messages, thread, 1, KiB, 0, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_64k", messages, thread, 1, 64 * KiB, 0, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_8_each", messages, thread, 64, 8, 0, with_put_signal, then_nothing, flag_add,
     look_signal},
    {"signal_1k_each", messages, thread, 64, KiB, 0, with_put_signal, then_nothing, flag_add,
     look_signal},
    {"signal_8_warp", messages, warp, 32, 8, 0, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_1k_warp", messages, warp, 32, KiB, 0, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_64k_warp", messages, warp, 32, 64 * KiB, 0, with_put_signal_nbi, then_nothing,
     flag_set, look_signal},
    {"signal_16k_each_warp", messages, warp, 128, 16 * KiB, 0, with_put_signal, then_nothing,
     flag_add, look_signal},
    {"signal_8_block", messages, block, 128, 8, 0, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_1k_block", messages, block, 128, KiB, 0, with_put_signal, then_nothing, flag_add,
     look_signal},
    {"signal_64k_block", messages, block, 128, 64 * KiB, 0, with_put_signal, then_nothing, flag_set,
     look_signal_fetch},
    {"signal_odd", messages, thread, 1, 1001, 1, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"signal_odd_warp", messages, warp, 32, 4099, 1, with_put_signal_nbi, then_nothing, flag_set,
     look_signal},
    {"signal_odd_block", messages, block, 128, 16385, 1, with_put_signal, then_nothing, flag_set,
     look_signal},
    {"bulk_signal_warp", messages, warp, 32, 64 * KiB, 0, with_put_nbi, then_fence, flag_put_signal,
     look_signal},
    {"bulk_signal_block", messages, block, 128, 64 * KiB, 0, with_put_nbi, then_fence,
     flag_put_signal, look_signal},
    {"bulk_quiet_block", messages, block, 128, 64 * KiB, 0, with_put_nbi, then_quiet, flag_add,
     look_signal},
    {"get_8", messages, thread, 1, 8, 0, with_get, then_fence, flag_set, look_signal},
    {"get_64k", messages, thread, 1, 64 * KiB, 0, with_get, then_fence, flag_set, look_signal},
    {"get_1k_each", messages, thread, 64, KiB, 0, with_get, then_fence, flag_set, look_signal},
    {"get_1k_warp", messages, warp, 32, KiB, 0, with_get, then_fence, flag_p, look_wait},
    {"get_64k_warp", messages, warp, 32, 64 * KiB, 0, with_get, then_fence, flag_set, look_signal},
    {"get_64k_block", messages, block, 128, 64 * KiB, 0, with_get, then_fence, flag_set,
     look_signal},
    {"get_odd_block", messages, block, 128, 4099, 1, with_get, then_fence, flag_set, look_signal},
    {"chain_quiet", chain, thread, 1, 128, 0, with_p, then_quiet, flag_p, look_wait},
    {"chain_put_block", chain, block, 64, KiB, 0, with_put, then_quiet, flag_put_signal,
     look_signal},
    {"chain_bulk_block", chain, block, 128, 64 * KiB, 0, with_put_nbi, then_quiet, flag_set,
     look_signal},
    /* Promised only where all three reach each other by loads and stores. */
    {"chain_fence", chain, thread, 1, 128, 0, with_p, then_fence, flag_p, look_wait},
    {"chain_fence_bulk", chain, block, 128, 64 * KiB, 0, with_put_nbi, then_fence, flag_set,
     look_signal},
    {"store_buffering", buffering, thread, 1, 8, 0, with_p, then_quiet, flag_p, look_wait},
    {"barrier", barriers, thread, 1, 256, 0, with_p, then_nothing, flag_p, look_wait},
    {"barrier_warp", barriers, warp, 32, KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"barrier_block", barriers, block, 128, 1024, 0, with_p, then_nothing, flag_p, look_wait},
    {"barrier_bulk", barriers, block, 128, 64 * KiB, 0, with_put_nbi, then_nothing, flag_p,
     look_wait},
    {"coll_small", collectives, block, 64, 256, 0, with_put, then_nothing, flag_p, look_wait},
    {"coll_bulk", collectives, block, 128, 512 * KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"coll_block", collectives, block, 128, 64 * KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"coll_grid", grid_collectives, block, 64, 64 * KiB, 0, with_put, then_nothing, flag_p,
     look_wait},
    {"coll_grid_small", grid_collectives, block, 32, 128, 0, with_put, then_nothing, flag_p,
     look_wait},
    {"whole_lines", lines, warp, 32, 8 * KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"read_source", line_reads, block, 32, 8 * KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"pieces", pieces, block, 64, 40 * KiB, 0, with_put, then_nothing, flag_p, look_wait},
    {"host", by_host, block, 64, KiB, 0, with_put_signal, then_nothing, flag_set, look_signal},
};

/* Those of a list of names, commas between them; without a list all. */
static constexpr HD bool is_in_list(const char *list, const char *name)
{
    if (list == NULL || *list == '\0')
        return true;
    for (const char *at = list; *at; at += *at == ',') {
        const char *of_name = name;
        for (; *at && *at != ','; at++)
            of_name = of_name && *of_name == *at ? of_name + 1 : NULL;
        if (of_name && *of_name == '\0')
            return true;
    }
    return false;
}

/* A program for some shapes alone. It has no code but theirs, as what they do not use is discarded
 * before it is compiled: weaken.py builds many such programs. */
#ifndef LITMUS_SHAPES
#define LITMUS_SHAPES ""
#endif
template <class Value> static constexpr HD bool some_have(Value shape::*field, Value value)
{
    for (const shape &s : shapes)
        if (s.*field == value && is_in_list(LITMUS_SHAPES, s.name))
            return true;
    return false;
}

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
    char *data, *source; /* of slot_bytes for each replica and slot */
    size_t slot_bytes;
    uint64_t *flag, *relay; /* a line for each replica and slot */
    uint64_t *ack;          /* a line for each replica, on the PE that writes: rounds read */
    char *pieces;           /* kernel pieces: an inbox, and the slots */
};

/* One replica's slot. */
struct place {
    char *data, *source;
    uint64_t *flag, *relay;
};

static __device__ place place_of(const shape &s, const mail &m, unsigned replica, long r)
{
    const size_t at = (size_t)replica * n_slots + (size_t)(r % n_slots);
    if (s.data == with_put_signal_beside) {
        uint64_t *flag = m.flag + at * line_words + replica % 2, *data = flag + 1 - replica % 2 * 2;
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

/* Whether a shape of the program moves words (uint64_t) or bytes (uint8_t) of this data by this
 * group. */
template <class T, class G> static constexpr HD bool some_move(shape_data data)
{
    constexpr shape_group group = std::is_same<G, gshmem::group_thread>::value ? thread
                                  : std::is_same<G, gshmem::group_warp>::value ? warp
                                                                               : block;
    for (const shape &s : shapes)
        if (s.data == data && s.group == group && (s.misaligned != 0) == (sizeof(T) == 1) &&
            is_in_list(LITMUS_SHAPES, s.name))
            return true;
    return false;
}

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
    if constexpr (some_move<T, G>(with_put))
        if (s.data == with_put)
            gshmem::put(g, dest, source, n, to);
    if constexpr (some_move<T, G>(with_put_nbi))
        if (s.data == with_put_nbi)
            gshmem::put_nbi(g, dest, source, n, to);
    if constexpr (some_move<T, G>(with_put_signal) || some_move<T, G>(with_put_signal_beside))
        if (s.data == with_put_signal || s.data == with_put_signal_beside)
            gshmem::put_signal(g, dest, source, n, at.flag, signal, op, to);
    if constexpr (some_move<T, G>(with_put_signal_nbi))
        if (s.data == with_put_signal_nbi)
            gshmem::put_signal_nbi(g, dest, source, n, at.flag, signal, op, to);
}

template <class T, class G>
static __device__ void fetch(G g, unsigned part, const shape &s, const place &at, int from)
{
    const size_t n = s.bytes / sizeof(T);
    if constexpr (some_move<T, G>(with_get))
        gshmem::get(g, (T *)at.data + part * n, (T *)at.source + part * n, n, from);
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

inline __device__ void change_atomically(uint64_t *word, long r, size_t i, int to)
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
            if constexpr (some_have(&shape::data, with_amo))
                if (s.data == with_amo)
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
    if constexpr (some_have(&shape::flag, flag_p))
        if (s.flag == flag_p)
            gshmem_uint64_p(flag, (uint64_t)r, to);
    if constexpr (some_have(&shape::flag, flag_set))
        if (s.flag == flag_set)
            gshmemx_signal_op(flag, (uint64_t)r, GSHMEM_SIGNAL_SET, to);
    if constexpr (some_have(&shape::flag, flag_add))
        if (s.flag == flag_add)
            gshmemx_signal_op(flag, 1, GSHMEM_SIGNAL_ADD, to);
    if constexpr (some_have(&shape::flag, flag_inc))
        if (s.flag == flag_inc)
            gshmem_uint64_atomic_inc(flag, to);
    if constexpr (some_have(&shape::flag, flag_swap))
        if (s.flag == flag_swap)
            (void)gshmem_uint64_atomic_swap(flag, (uint64_t)r, to);
    if constexpr (some_have(&shape::flag, flag_put_signal))
        if (s.flag == flag_put_signal)
            /* something small goes with it */
            gshmem_uint64_put_signal(flag + 1, flag + 2, 1, flag, (uint64_t)r, GSHMEM_SIGNAL_SET,
                                     to);
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
    if constexpr (some_have(&shape::look, look_wait))
        if (s.look == look_wait)
            gshmem_uint64_wait_until(flag, GSHMEM_CMP_GE, value);
    if constexpr (some_have(&shape::look, look_all))
        if (s.look == look_all) { /* at words that nobody writes, too */
            uint64_t values[] = {value, 0, 0};
            gshmem_uint64_wait_until_all_vector(flag, 3, nullptr, GSHMEM_CMP_GE, values);
        }
    if constexpr (some_have(&shape::look, look_signal))
        if (s.look == look_signal)
            gshmem_signal_wait_until(flag, GSHMEM_CMP_GE, value);
    if constexpr (some_have(&shape::look, look_test))
        if (s.look == look_test)
            while (!gshmem_uint64_test(flag, GSHMEM_CMP_GE, value)) {
            }
    if constexpr (some_have(&shape::look, look_signal_fetch))
        if (s.look == look_signal_fetch)
            while (gshmem_signal_fetch(flag) < value) {
            }
    if constexpr (some_have(&shape::look, look_atomic_fetch))
        if (s.look == look_atomic_fetch) {
            while (gshmem_uint64_atomic_fetch(flag, gshmem_my_pe()) < value) {
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
            if (s.misaligned)
                fetch<uint8_t>(g, part, s, at, from);
            else
                fetch<uint64_t>(g, part, s, at, from);
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

/* Each replica has a block for each role: writer and reader, or in a chain writer (data to the
 * third PE, flag to the second), relay (flag on to the third), reader. */
template <shape_kernel kind = messages>
__global__ void message_kernel(shape s, mail m, int roles, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), role = (int)blockIdx.x % roles;
    const unsigned replica = blockIdx.x / (unsigned)roles;
    const int next = (me + 1) % n, last = (me + roles - 1) % n, first = (me + n - roles + 1) % n;
    uint64_t *ack = m.ack + replica * line_words;
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, replica, r);
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

/* Nobody waits: the reader sees a flag, and no word may then be older than it. */
template <shape_kernel kind = free_running>
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
template <shape_kernel kind = buffering>
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
template <shape_kernel kind = buffering>
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
 * written again after the barrier of the round in which the reader was done with it. */
template <shape_kernel kind = barriers>
__global__ void barrier_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, 0, r);
        write_data(s, at, r, next);
        if constexpr (some_have(&shape::group, thread))
            if (s.group == thread)
                gshmem_barrier_all();
        if constexpr (some_have(&shape::group, warp))
            if (s.group == warp)
                gshmemx_barrier_all_warp();
        if constexpr (some_have(&shape::group, block))
            if (s.group == block)
                gshmemx_barrier_all_block();
        check_values<uint64_t>(s, at, r, v);
    }
}

/* Source written, collective, dest read, by all threads of one block or several: the reading
 * threads are not the writing ones. Each member's part has as many values as a slot. */
enum { coll_blocks = 3 };
template <shape_kernel kind> __global__ void coll_kernel(shape s, mail m, long rounds, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const size_t nelems = s.bytes / 8 / (size_t)n, first = (size_t)me * nelems;
    const gshmem::group_blocks all = gshmem::group_grid();
    for (long r = 1; r <= rounds; r++) {
        const place at = place_of(s, m, 0, r);
        uint64_t *dest = (uint64_t *)at.data, *source = (uint64_t *)at.source;
        for (size_t i = all.rank(); i < nelems; i += all.size())
            source[i] = value_of<uint64_t>(r, first + i);
        if constexpr (kind == collectives)
            gshmemx_uint64_fcollect_block(GSHMEM_TEAM_WORLD, dest, source, nelems);
        else
            gshmemx_uint64_fcollect_grid(GSHMEM_TEAM_WORLD, dest, source, nelems);
        for (size_t i = all.rank(); i < nelems * (size_t)n; i += all.size()) {
            const size_t k = nelems * (size_t)n - 1 - i;
            EXPECT_AT(v, dest[k], value_of<uint64_t>(r, k), r);
        }
    }
}

/* Each line of a collective in lines is seen whole with its flag: pairs of PEs exchange lines, in
 * two buffers by turns, of which each word says its round. */
template <shape_kernel kind = lines>
__global__ void lines_kernel(shape s, mail m, long rounds, verdict *v)
{
    using namespace gshmem::detail;
    const int partner = gshmem_my_pe() ^ 1;
    if (partner >= gshmem_n_pes())
        return;
    const line_thread t = {threadIdx.x % line_threads, !is_cpu_device};
    const size_t room = t.is_whole ? GSH_LINE_ROOM_WHOLE : GSH_LINE_ROOM_WORDS;
    for (long r = 1; r <= rounds; r++) {
        char *slot = m.data + (size_t)(blockIdx.x * n_slots + r % 2) * m.slot_bytes;
        slot += (128 - reinterpret_cast<uint64_t>(slot) % 128) % 128 +
                threadIdx.x / line_threads * room;
        words2 *const line = reinterpret_cast<words2 *>(slot);
        line_part p;
        for (uint32_t w = 0; w < part_words; w++)
            p.word[w] = value_of<uint64_t>(r, word_of_line(t.index, w));
        t.send(static_cast<words2 *>(gshmem_ptr(line, partner)), (uint64_t)r, p, true);
        seen_part seen = t.look(line, true);
        while (!all_of_warp(t.is_here(seen, (uint64_t)r, true))) {
            spin_pause();
            seen = t.look(line, true);
        }
        spin_done();
        p = t.data_of(seen);
        for (uint32_t w = 0; w < part_words; w++)
            if (has_word(t.index, w))
                expect(v, p.word[w] == value_of<uint64_t>(r, word_of_line(t.index, w)), __LINE__,
                       (long long)p.word[w], (long long)w, r);
    }
    (void)s;
}

/* What one of two PEs says may be read where it lies is read as it was written before, and before
 * it changes: lines say both (device/coll/lines_read.cuh). Their inbox has the flags' memory. */
template <shape_kernel kind = line_reads>
__global__ void line_reads_kernel(shape s, mail m, long rounds, verdict *v)
{
    using namespace gshmem::detail;
    const auto c = gshmem::default_context();
    const uint64_t base = state_of(c).base;
    const size_t at = (size_t)blockIdx.x * n_slots * m.slot_bytes;
    uint64_t *const dest = (uint64_t *)(m.data + at), *const source = (uint64_t *)(m.source + at);
    const int giver = (int)(blockIdx.x % 2);
    const bool is_giver = gshmem_my_pe() == giver;
    gsh_kernel_lines_args h = {};
    gsh_lines_item &t = h.item[0];
    h.team = *find_team(c, GSHMEM_TEAM_WORLD);
    h.inbox.off = reinterpret_cast<uint64_t>(m.flag) - base;
    h.inbox.n_channels = gridDim.x;
    h.inbox.slot_lines = 1;
    h.inbox.line_room = GSH_LINE_ROOM_WORDS;
    h.inbox.line_bytes = is_cpu_device ? GSH_LINE_BYTES_CPU : GSH_LINE_BYTES_CUDA;
    h.n_items = 1;
    t.source = reinterpret_cast<uint64_t>(source);
    t.dest = reinterpret_cast<uint64_t>(dest);
    t.block_bytes = t.total_bytes = s.bytes;
    t.lines = t.n_rounds = 1;
    t.first_block = (uint16_t)blockIdx.x;
    t.n_blocks = 1;
    t.root = giver;
    t.way = GSH_LINES_MOVE;
    t.gives = is_giver ? GSH_LINES_ALL : GSH_LINES_NOBODY;
    t.takes = is_giver ? GSH_LINES_NOBODY : GSH_LINES_ROOT;
    t.may_read = 1;
    t.readable = is_giver ? t.source - base + 1 : 0;
    for (long r = 1; r <= rounds; r++) {
        if (is_giver)
            for (size_t i = threadIdx.x; i < s.bytes / 8; i += blockDim.x)
                source[i] = value_of<uint64_t>(r, i);
        __syncthreads();
        run_lines<line_ways::read_move>(c, h);
        if (!is_giver)
            for (size_t i = threadIdx.x; i < s.bytes / 8; i += blockDim.x)
                EXPECT_AT(v, dest[i], value_of<uint64_t>(r, i), r);
        __syncthreads();
    }
}

/* Where the slots begin behind the inbox of so many channels. */
enum { pieces_lines = 16 };
static HD size_t pieces_inbox_bytes(unsigned n_channels)
{
    return gsh_lines_words_bytes(n_channels) +
           (size_t)n_channels * GSH_LINES_BUFFERS * pieces_lines * GSH_LINE_ROOM_WORDS;
}

static __device__ float pieces_value(int pe, size_t i, long r)
{
    return (float)((i + 31 * (size_t)r) % 4096 + 4096 * (size_t)pe);
}

/* Two PEs stream data in pieces through slots (device/coll/lines_pieces.cuh), one way, the other
 * way, as sums, and both ways: each gets what the other had when the call began. Two replicas share
 * a lock and slots; the one that does not get them sends lines. Behind the replicas' blocks come
 * their helpers, which learn by flags of the source, and say that they are through. */
template <shape_kernel kind = pieces>
__global__ void pieces_kernel(shape s, mail m, long rounds, verdict *v)
{
    using namespace gshmem::detail;
    constexpr arithmetic computes = arithmetic::float_sums;
    const auto c = gshmem::default_context();
    using context = decltype(gshmem::default_context());
    const uint64_t base = state_of(c).base;
    const unsigned n = gridDim.x / 2, replica = blockIdx.x % n, block = replica / 2;
    const bool is_helper = blockIdx.x >= n;
    const int me = gshmem_my_pe();
    const size_t at = (size_t)replica * n_slots * m.slot_bytes, n_floats = s.bytes / sizeof(float);
    float *const dest = (float *)(m.data + at), *const source = (float *)(m.source + at);
    uint64_t *const is_ready = m.flag + replica * n_slots * line_words, *const is_done =
                                                                            is_ready + line_words;
    gsh_kernel_lines_args h = {};
    gsh_lines_item &t = h.item[0];
    h.team = *find_team(c, GSHMEM_TEAM_WORLD);
    h.inbox.off = reinterpret_cast<uint64_t>(m.pieces) - base;
    h.inbox.n_channels = n;
    h.inbox.slot_lines = pieces_lines;
    h.inbox.line_room = GSH_LINE_ROOM_WORDS;
    h.inbox.line_bytes = (uint32_t)line_data_bytes;
    h.inbox.pieces = h.inbox.off + pieces_inbox_bytes(n) + 1;
    h.n_items = 1;
    t.lines = pieces_lines;
    t.n_rounds = (uint32_t)((s.bytes + pieces_lines * line_data_bytes - 1) /
                            (pieces_lines * line_data_bytes));
    const uint64_t before = (uint64_t)block * t.n_rounds * t.lines * line_data_bytes;
    t.source = reinterpret_cast<uint64_t>(source) - before;
    t.dest = t.result = reinterpret_cast<uint64_t>(dest) - before;
    t.block_bytes = t.total_bytes = before + s.bytes;
    t.n_blocks = (uint16_t)n;
    t.has_helpers = t.shares_slots = 1;
    t.element = GSH_ELEMENT_float;
    t.fold = GSH_LINES_FOLD_sum_float;
    uint64_t *const count = reinterpret_cast<uint64_t *>(m.pieces) + replica;
    for (long r = 1; r <= rounds; r++) {
        const int giver = (int)(r % 4); /* 2: both, as sums; 3: both */
        const bool is_sum = giver == 2, do_both = giver >= 2;
        const bool i_give = do_both || giver == me, i_take = do_both || giver != me;
        t.root = do_both ? 0 : giver;
        t.way = is_sum ? GSH_LINES_ADD : GSH_LINES_MOVE;
        t.gives = i_give ? GSH_LINES_ALL : GSH_LINES_NOBODY;
        t.takes = do_both ? GSH_LINES_ALL : i_take ? GSH_LINES_ROOT : GSH_LINES_NOBODY;
        if (!is_helper)
            for (size_t i = threadIdx.x; i < n_floats; i += blockDim.x)
                source[i] = pieces_value(me, i, r);
        __syncthreads();
        if (!is_helper && threadIdx.x == 0)
            store_release(is_ready, (uint64_t)r);
        while (is_helper && load_acquire(is_ready) < (uint64_t)r)
            spin_pause();
        spin_done();
        const line_worker<computes, context> worker(c, h, t);
        const line_pieces<computes, context> streamed(worker);
        const line_streams<computes, context> lined(worker);
        uint64_t so_far = *count;
        const bool has_slots =
            is_helper ? streamed.await_agreed(replica) : streamed.agree(block, replica, so_far);
        if (has_slots && is_sum)
            streamed.run_part<true>(block, block, is_helper ? 1 : 0);
        else if (has_slots)
            streamed.run_part<false>(block, block, is_helper ? 1 : 0);
        else if (!is_helper && is_sum)
            so_far = lined.run_streams<true, true>(block, so_far);
        else if (!is_helper)
            so_far = lined.run_streams<false, true>(block, so_far);
        if (has_slots)
            streamed.leave(block);
        __syncthreads();
        if (is_helper) {
            if (threadIdx.x == 0)
                store_release(is_done, (uint64_t)r);
            continue;
        }
        if (threadIdx.x == 0)
            *count = so_far;
        while (load_acquire(is_done) < (uint64_t)r)
            spin_pause();
        spin_done();
        for (size_t i = threadIdx.x; i < n_floats && i_take; i += blockDim.x)
            EXPECT_AT(v, dest[i],
                      is_sum    ? pieces_value(0, i, r) + pieces_value(1, i, r)
                      : do_both ? pieces_value(1 - me, i, r)
                                : pieces_value(giver, i, r),
                      r);
        __syncthreads();
    }
}

/* The previous PE's host writes, this block reads and writes back to that host. */
template <shape_kernel kind = by_host>
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
