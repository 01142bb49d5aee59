/* SPDX-License-Identifier: Apache-2.0
 * Proves the fences of the device library by litmus shapes (shapes.cuh) between kernels of
 * different PEs, and between hosts and kernels: no forbidden outcome in many iterations. Prints for
 * each shape its iterations on each PE and the violations on all of them.
 *
 *     litmus [--count=N] [--shape=NAME[,NAME...]] [--replicas=N] [--list] */
#include "tests/litmus/shapes.cuh"

struct run {
    const test_pe *pe;
    shape s;
    mail m;
    unsigned replicas; /* by_host: one there, one back */
    long rounds;       /* in each replica */
    verdict *v;
    char *heap;
    size_t flags_off, heap_bytes;
};

/* Flags start at 0. */
static void clear_flags(const run *r)
{
    const size_t bytes = r->heap_bytes - r->flags_off;
    void *zero = calloc(1, bytes);
    gshmem_barrier_all();
    test_copy(r->heap + r->flags_off, zero, bytes);
    gshmem_barrier_all();
    free(zero);
}

static void allocate(run *r)
{
    const size_t slots = (size_t)r->replicas * n_slots, line = line_words * sizeof(uint64_t);
    r->m.slot_bytes = slot_bytes_of(r->s);
    r->flags_off = 2 * slots * r->m.slot_bytes;
    r->heap_bytes = r->flags_off + (2 * slots + r->replicas) * line;
    r->heap = (char *)test_heap(r->heap_bytes);
    r->m.data = r->heap;
    r->m.source = r->heap + slots * r->m.slot_bytes;
    r->m.flag = (uint64_t *)(r->heap + r->flags_off);
    r->m.relay = r->m.flag + slots * line_words;
    r->m.ack = r->m.relay + slots * line_words;
    r->m.pieces = NULL;
    if (r->s.kernel == pieces) {
        const uint32_t n_blocks = r->pe->is_cpu ? GSH_PIECES_BLOCKS_CPU : GSH_PIECES_BLOCKS_CUDA;
        const uint32_t n_warps = r->pe->is_cpu ? GSH_PIECES_WARPS_CPU : GSH_PIECES_WARPS_CUDA;
        const size_t bytes = pieces_inbox_bytes(r->replicas) +
                             gsh_pieces_slot_off(n_blocks, n_warps, n_blocks * n_warps);
        r->m.pieces = (char *)gshmem_align(128, bytes);
        void *zero = calloc(1, bytes);
        test_copy(r->m.pieces, zero, bytes);
        free(zero);
    }
}

/* In pieces: the loads of a piece are kept until the partner's are there too. */
template <shape_kernel kind = buffering> static void run_buffering(const run *r)
{
    const long piece = r->rounds < 65536 ? r->rounds : 65536;
    uint64_t *log = (uint64_t *)test_heap((size_t)r->replicas * (size_t)piece * sizeof *log);
    for (long done = 0; done < r->rounds; done += piece) {
        clear_flags(r);
        test_collective(r->pe, buffering_kernel<>, r->replicas, 1, r->m, log, piece);
        test_sync(r->pe);
        gshmem_barrier_all();
        gshmem_launch(buffering_check_kernel<>, dim3(r->replicas), dim3(64), 0, r->pe->stream,
                      (const uint64_t *)log, piece, r->v);
        test_sync(r->pe);
    }
    gshmem_barrier_all();
    gshmem_free(log);
}

/* One round from the host to the next PE's kernel: by put, fence and signal; by put_signal; by
 * put_signal on a stream that the kernel does not block. */
enum { n_manners = 3 };
inline void host_send(const run *r, const uint64_t *data, long round, int manner,
                      cudaStream_t other)
{
    const size_t bytes = r->s.bytes, at = (size_t)(round % n_slots) * r->m.slot_bytes;
    uint64_t *flag = r->m.flag + round % n_slots * line_words;
    const int to = r->pe->next;
    if (manner == 0) {
        gshmem_putmem(r->m.data + at, data, bytes, to);
        gshmem_fence();
        gshmemx_signal_op(flag, (uint64_t)round, GSHMEM_SIGNAL_SET, to);
    } else if (manner == 1) {
        gshmem_putmem_signal(r->m.data + at, data, bytes, flag, (uint64_t)round, GSHMEM_SIGNAL_SET,
                             to);
    } else {
        test_copy(r->m.source + at, data, bytes);
        gshmemx_putmem_signal_on_stream(r->m.data + at, r->m.source + at, bytes, flag,
                                        (uint64_t)round, GSHMEM_SIGNAL_SET, to, other);
    }
}

/* Once before the kernel: what a host call loads when it is first made may wait for the GPU. */
inline void host_warm_up(const run *r, const uint64_t *data, cudaStream_t other)
{
    for (int manner = 0; manner < n_manners; manner++)
        host_send(r, data, 0, manner, other);
    gshmem_signal_wait_until(r->m.flag, GSHMEM_CMP_EQ, 0);
    CUDA(cudaStreamSynchronize(other));
    gshmem_barrier_all();
}

inline void host_receive(const run *r, uint64_t *data, long round)
{
    const size_t at = n_slots + (size_t)(round % n_slots); /* replica 1 */
    gshmem_signal_wait_until(r->m.flag + at * line_words, GSHMEM_CMP_GE, (uint64_t)round);
    test_copy(data, r->m.data + at * r->m.slot_bytes, r->s.bytes);
    for (size_t i = 0; i < r->s.bytes / 8; i++)
        expect(r->v, data[i] == value_of<uint64_t>(round, i), __LINE__, (long long)data[i],
               (long long)i, round);
}

template <shape_kernel kind = by_host> static void run_host(run *r)
{
    verdict *const of_kernel = r->v;
    verdict of_host = {};
    uint64_t *data = (uint64_t *)calloc(2, r->s.bytes);
    cudaStream_t other = NULL;
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    host_warm_up(r, data, other);
    test_collective(r->pe, host_kernel<>, 1, r->s.threads, r->s, r->m, r->rounds, of_kernel);
    r->v = &of_host;
    for (long round = 1; round <= r->rounds; round++) {
        for (size_t i = 0; i < r->s.bytes / 8; i++)
            data[i] = value_of<uint64_t>(round, i);
        host_send(r, data, round, (int)(round % n_manners), other);
        if (round > 1)
            host_receive(r, data + r->s.bytes / 8, round - 1);
    }
    host_receive(r, data, r->rounds);
    r->v = of_kernel;
    test_sync(r->pe);
    JUDGE(r->pe, &of_host, "what the host read");
    CUDA(cudaStreamDestroy(other));
    free(data);
}

/* What names a kernel is a template, as the kernels are: then no compiler makes those that only a
 * discarded branch names. */
static constexpr bool has_messages =
    some_have(&shape::kernel, messages) || some_have(&shape::kernel, chain);

template <class R> static void run_kernels(R *r)
{
    const shape_kernel kernel = r->s.kernel;
    const unsigned threads = r->s.threads;
    if constexpr (has_messages)
        if (kernel == messages || kernel == chain) {
            const int roles = kernel == chain ? 3 : 2;
            test_collective(r->pe, message_kernel<>, (unsigned)roles * r->replicas, threads, r->s,
                            r->m, roles, r->rounds, r->v);
        }
    if constexpr (some_have(&shape::kernel, free_running))
        if (kernel == free_running)
            test_collective(r->pe, free_running_kernel<>, 2 * r->replicas, 1, r->s, r->m, r->rounds,
                            r->v);
    if constexpr (some_have(&shape::kernel, barriers))
        if (kernel == barriers)
            test_collective(r->pe, barrier_kernel<>, 1, threads, r->s, r->m, r->rounds, r->v);
    if constexpr (some_have(&shape::kernel, collectives))
        if (kernel == collectives)
            test_collective(r->pe, coll_kernel<collectives>, 1, threads, r->s, r->m, r->rounds,
                            r->v);
    if constexpr (some_have(&shape::kernel, grid_collectives))
        if (kernel == grid_collectives)
            test_collective(r->pe, coll_kernel<grid_collectives>, (unsigned)coll_blocks, threads,
                            r->s, r->m, r->rounds, r->v);
    if constexpr (some_have(&shape::kernel, lines))
        if (kernel == lines)
            test_collective(r->pe, lines_kernel<>, r->replicas, threads, r->s, r->m, r->rounds,
                            r->v);
    if constexpr (some_have(&shape::kernel, line_reads))
        if (kernel == line_reads)
            test_collective(r->pe, line_reads_kernel<>, r->replicas, threads, r->s, r->m, r->rounds,
                            r->v);
    if constexpr (some_have(&shape::kernel, pieces))
        if (kernel == pieces)
            test_collective(r->pe, pieces_kernel<>, 2 * r->replicas, threads, r->s, r->m, r->rounds,
                            r->v);
    if constexpr (some_have(&shape::kernel, buffering))
        if (kernel == buffering)
            run_buffering(r);
    if constexpr (some_have(&shape::kernel, by_host))
        if (kernel == by_host)
            run_host(r);
    test_sync(r->pe);
}

/* Violations on all PEs. */
static uint64_t add_up(run *r)
{
    verdict found;
    test_copy(&found, r->v, sizeof found);
    uint64_t *sum = r->m.ack;
    clear_flags(r);
    gshmem_uint64_atomic_add(sum, found.n_failed, 0);
    gshmem_barrier_all();
    const uint64_t all = gshmem_uint64_atomic_fetch(sum, 0);
    gshmem_barrier_all();
    return all;
}

static void run_shape(run *r)
{
    allocate(r);
    gshmem_barrier_all();
    const double start = test_now_ns();
    run_kernels(r);
    const double seconds = (test_now_ns() - start) / 1e9;
    const uint64_t violations = add_up(r);
    if (r->pe->me == 0) {
        const long iterations = r->s.kernel == by_host ? r->rounds : r->rounds * (long)r->replicas;
        printf("%-22s %11ld iterations on each of %d PEs %8" PRIu64 " violations %8.2f s\n",
               r->s.name, iterations, r->pe->n, violations, seconds);
        fflush(stdout);
    }
    JUDGE(r->pe, r->v, r->s.name);
    gshmem_free(r->m.pieces);
    gshmem_free(r->heap);
}

/* Why the shape cannot run here; NULL: it can. */
static const char *what_lacks(const test_pe *pe, const shape &s, bool are_near)
{
    if ((s.kernel == buffering || s.kernel == lines) && pe->n < 2)
        return "needs 2 PEs";
    if ((s.kernel == line_reads || s.kernel == pieces) && pe->n != 2)
        return "needs two PEs alone";
    if ((s.kernel == lines || s.kernel == line_reads || s.kernel == pieces) && !are_near)
        return "needs near PEs";
    if (s.kernel != chain)
        return NULL;
    return pe->n < 3                            ? "needs 3 PEs"
           : s.order == then_fence && !are_near ? "no promise between far PEs"
                                                : NULL;
}

/* Iterations on each PE: what was asked for, else what takes seconds in all. A host's take longer.
 */
static long count_of(const test_pe *pe, const shape &s, long asked)
{
    const bool is_large = s.bytes * parts_of(s) > 8 * KiB;
    const long on_cpu = is_large ? 400 : 4000, slower = 20 * (1 + (long)s.threads / 4);
    const long usual = !pe->is_cpu      ? 200000
                       : TEST_SANITIZED ? on_cpu / slower + n_slots + 2
                                        : on_cpu;
    const long count = asked > 0 ? asked : usual;
    return s.kernel == by_host ? count / (pe->is_cpu ? 10 : 1000) + n_slots : count;
}

/* All blocks must be there at once; only one barrier of a team may be under way. */
template <class P> static unsigned replicas_of(const P *pe, const shape &s, unsigned wanted)
{
    int most_blocks = 0;
    if (s.kernel == barriers || s.kernel == collectives || s.kernel == grid_collectives)
        return 1;
    if (s.kernel == by_host) /* there and back */
        return 2;
    if (s.kernel == pieces && pe->is_cpu) /* that share slots */
        return 2;
    if (pe->is_cpu) /* threads take turns */
        return wanted;
    const dim3 block(s.threads);
    int failed;
    if constexpr (has_messages)
        failed = gshmemx_collective_launch_query_gridsize(message_kernel<>, block, NULL, 0,
                                                          &most_blocks);
    else
        failed = gshmemx_collective_launch_query_gridsize(buffering_kernel<>, block, NULL, 0,
                                                          &most_blocks);
    if (failed)
        test_fatal("no grid size for a launch");
    const unsigned most = (unsigned)most_blocks / 3;
    return wanted < most ? wanted : most;
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const char *wanted = test_option(argc, argv, "shape");
    const bool only_lists = test_option(argc, argv, "list") != NULL;
    const long count = (long)test_number(argc, argv, "count", 0);
    const unsigned usual_replicas = !pe.is_cpu ? 64 : TEST_SANITIZED ? 1 : 2;
    const unsigned replicas = (unsigned)test_number(argc, argv, "replicas", usual_replicas);
    verdict *v = test_verdict();
    void *somewhere = test_heap(1);
    bool are_near = true;
    int n_run = 0;
    for (int i = 0; i < pe.n; i++)
        are_near = are_near && gshmem_ptr(somewhere, i) != NULL;
    for (const shape &s : shapes) {
        if (!is_in_list(LITMUS_SHAPES, s.name) || !is_in_list(wanted, s.name))
            continue;
        const char *lack = only_lists ? "" : what_lacks(&pe, s, are_near);
        n_run++;
        if (lack != NULL) {
            if (pe.me == 0)
                printf(*lack ? "%-22s not run: %s\n" : "%s%s\n", s.name, lack);
            continue;
        }
        run r = {};
        r.pe = &pe;
        r.s = s;
        r.replicas = replicas_of(&pe, s, replicas);
        const unsigned writers = s.kernel == by_host ? 1 : r.replicas;
        r.rounds = (count_of(&pe, s, count) + (long)writers - 1) / (long)writers;
        r.v = v;
        run_shape(&r);
    }
    CHECK(n_run > 0); /* no such shape */
    gshmem_free(somewhere);
    CUDA(cudaFree(v));
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
