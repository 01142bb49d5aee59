/* SPDX-License-Identifier: Apache-2.0
 * Kernels as users write them, for tests/unit/registers.py, which checks how many registers ptxas
 * gives them: alone_* make one kind of call, coll_* a collective, mix_* two or three kinds in a
 * loop. Nothing runs. PART: 1 is all but contexts and collectives, 2 contexts, 3 collectives; if it
 * is not defined, all of them. 4: copies again, which are compiled for device linking. 5: kernels
 * whose copies have no shared memory. 6: kernels that post to a NIC. LOOPS leaves out alone_*.
 * ptxas compiles what is called through pointers once more for each kernel of the file, and the
 * parts have different such functions. */
#if defined(PART) && PART == 5
#define GSHMEM_ARENA_BYTES 0
#endif
#if defined(PART) && PART == 6
#define GSHMEM_WITH_NIC   1
#define GSHMEM_BATCH_PUTS 16
#endif
#include <gshmem_device.cuh>

/* The operands of kernels, whatever the call. */
#define operands                                                                                   \
    float *dest, const float *source, size_t n, int pe, uint64_t *signal, uint64_t value, int cmp, \
        int *status, size_t *out, gshmem_ctx_t ctx, long *lock

#define KERNEL(NAME, ...)                     \
    extern "C" __global__ void NAME(operands) \
    {                                         \
        __VA_ARGS__;                          \
    }
#if defined(LOOPS) && !(defined(PART) && PART == 4)
#define ALONE(NAME, ...)
#else
#define ALONE(NAME, ...) KERNEL(alone_##NAME, __VA_ARGS__)
#endif

/* What a loop does besides. */
#define WORK(i) dest[threadIdx.x + (i)] = source[threadIdx.x + (i)] * 0.5f + dest[threadIdx.x]

#if !defined(PART) || PART == 1

/* ---- remote memory access -------------------------------------------------------------------- */

#define COPY(CALL)                                                       \
    ALONE(CALL##_thread, gshmem_float_##CALL(dest, source, n, pe))       \
    ALONE(CALL##_warp, gshmemx_float_##CALL##_warp(dest, source, n, pe)) \
    ALONE(CALL##_block, gshmemx_float_##CALL##_block(dest, source, n, pe))
COPY(put)
COPY(get)
#undef COPY
#define COPY(CALL)                                                 \
    ALONE(CALL##_thread, gshmem_##CALL(dest, source, n, pe))       \
    ALONE(CALL##_warp, gshmemx_##CALL##_warp(dest, source, n, pe)) \
    ALONE(CALL##_block, gshmemx_##CALL##_block(dest, source, n, pe))
COPY(putmem)
COPY(getmem)
COPY(put128)
COPY(get128)
#undef COPY
#define STRIDED(CALL)                                                              \
    ALONE(CALL##_thread, gshmem_float_##CALL(dest, source, cmp, cmp, n, pe))       \
    ALONE(CALL##_warp, gshmemx_float_##CALL##_warp(dest, source, cmp, cmp, n, pe)) \
    ALONE(CALL##_block, gshmemx_float_##CALL##_block(dest, source, cmp, cmp, n, pe))
STRIDED(iput)
STRIDED(iget)
#undef STRIDED
#define STRIDED(CALL)                                                        \
    ALONE(CALL##_thread, gshmem_##CALL(dest, source, cmp, cmp, n, pe))       \
    ALONE(CALL##_warp, gshmemx_##CALL##_warp(dest, source, cmp, cmp, n, pe)) \
    ALONE(CALL##_block, gshmemx_##CALL##_block(dest, source, cmp, cmp, n, pe))
STRIDED(iput128)
STRIDED(iget128)
#undef STRIDED
ALONE(p, gshmem_float_p(dest, 1.0f, pe))
ALONE(p_double, gshmem_double_p((double *)dest, 1.0, pe))
ALONE(p_char, gshmem_char_p((char *)dest, 1, pe))
ALONE(g, *dest = gshmem_float_g(source, pe))
ALONE(g_double, *(double *)dest = gshmem_double_g((const double *)source, pe))
ALONE(ptr, *out = (size_t)gshmem_ptr(dest, pe))

/* ---- signals and order ----------------------------------------------------------------------- */

#define SIGNALLED(CALL)                                                                      \
    ALONE(CALL##_thread, gshmem_float_##CALL(dest, source, n, signal, value, cmp, pe))       \
    ALONE(CALL##_warp, gshmemx_float_##CALL##_warp(dest, source, n, signal, value, cmp, pe)) \
    ALONE(CALL##_block, gshmemx_float_##CALL##_block(dest, source, n, signal, value, cmp, pe))
SIGNALLED(put_signal)
#undef SIGNALLED
#define SIGNALLED(CALL)                                                                \
    ALONE(CALL##_thread, gshmem_##CALL(dest, source, n, signal, value, cmp, pe))       \
    ALONE(CALL##_warp, gshmemx_##CALL##_warp(dest, source, n, signal, value, cmp, pe)) \
    ALONE(CALL##_block, gshmemx_##CALL##_block(dest, source, n, signal, value, cmp, pe))
SIGNALLED(putmem_signal)
#undef SIGNALLED
ALONE(signal_op, gshmemx_signal_op(signal, value, cmp, pe))
ALONE(signal_fetch, *out = gshmem_signal_fetch(signal))
ALONE(signal_wait, *out = gshmem_signal_wait_until(signal, cmp, value))
ALONE(signal_wait_ge, *out = gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, value))
ALONE(fence, gshmem_fence())
ALONE(quiet, gshmem_quiet())

/* ---- atomics --------------------------------------------------------------------------------- */

#define AMO(NAME, T)                                                                         \
    ALONE(fetch_##NAME, *out = (size_t)gshmem_##NAME##_atomic_fetch((T *)dest, pe))          \
    ALONE(set_##NAME, gshmem_##NAME##_atomic_set((T *)dest, (T)value, pe))                   \
    ALONE(swap_##NAME, *out = (size_t)gshmem_##NAME##_atomic_swap((T *)dest, (T)value, pe))  \
    ALONE(compare_swap_##NAME,                                                               \
          *out = (size_t)gshmem_##NAME##_atomic_compare_swap((T *)dest, (T)n, (T)value, pe)) \
    ALONE(fetch_inc_##NAME, *out = (size_t)gshmem_##NAME##_atomic_fetch_inc((T *)dest, pe))  \
    ALONE(inc_##NAME, gshmem_##NAME##_atomic_inc((T *)dest, pe))                             \
    ALONE(fetch_add_##NAME,                                                                  \
          *out = (size_t)gshmem_##NAME##_atomic_fetch_add((T *)dest, (T)value, pe))          \
    ALONE(add_##NAME, gshmem_##NAME##_atomic_add((T *)dest, (T)value, pe))                   \
    ALONE(fetch_xor_##NAME,                                                                  \
          *out = (size_t)gshmem_##NAME##_atomic_fetch_xor((T *)dest, (T)value, pe))          \
    ALONE(xor_##NAME, gshmem_##NAME##_atomic_xor((T *)dest, (T)value, pe))
AMO(uint64, uint64_t)
#undef AMO

/* ---- waits ----------------------------------------------------------------------------------- */

#define WAIT(NAME, T)                                                                              \
    ALONE(wait_##NAME, gshmem_##NAME##_wait_until((T *)signal, cmp, (T)value))                     \
    ALONE(test_##NAME, *out = (size_t)gshmem_##NAME##_test((T *)signal, cmp, (T)value))            \
    ALONE(wait_all_##NAME, gshmem_##NAME##_wait_until_all((T *)signal, n, status, cmp, (T)value))  \
    ALONE(wait_any_##NAME,                                                                         \
          *out = gshmem_##NAME##_wait_until_any((T *)signal, n, status, cmp, (T)value))            \
    ALONE(wait_some_##NAME,                                                                        \
          *out = gshmem_##NAME##_wait_until_some((T *)signal, n, out, status, cmp, (T)value))      \
    ALONE(test_all_##NAME,                                                                         \
          *out = (size_t)gshmem_##NAME##_test_all((T *)signal, n, status, cmp, (T)value))          \
    ALONE(test_any_##NAME, *out = gshmem_##NAME##_test_any((T *)signal, n, status, cmp, (T)value)) \
    ALONE(test_some_##NAME,                                                                        \
          *out = gshmem_##NAME##_test_some((T *)signal, n, out, status, cmp, (T)value))            \
    ALONE(wait_all_vector_##NAME,                                                                  \
          gshmem_##NAME##_wait_until_all_vector((T *)signal, n, status, cmp, (T *)dest))           \
    ALONE(wait_any_vector_##NAME,                                                                  \
          *out = gshmem_##NAME##_wait_until_any_vector((T *)signal, n, status, cmp, (T *)dest))    \
    ALONE(wait_some_vector_##NAME, *out = gshmem_##NAME##_wait_until_some_vector(                  \
                                       (T *)signal, n, out, status, cmp, (T *)dest))
WAIT(uint64, uint64_t)
#undef WAIT

/* ---- teams ----------------------------------------------------------------------------------- */

ALONE(barrier_all_thread, gshmem_barrier_all())
ALONE(barrier_all_warp, gshmemx_barrier_all_warp())
ALONE(barrier_all_block, gshmemx_barrier_all_block())
ALONE(sync_all_thread, gshmem_sync_all())
ALONE(sync_all_warp, gshmemx_sync_all_warp())
ALONE(sync_all_block, gshmemx_sync_all_block())
ALONE(barrier_thread, *out = (size_t)gshmem_barrier(cmp))
ALONE(barrier_warp, *out = (size_t)gshmemx_barrier_warp(cmp))
ALONE(barrier_block, *out = (size_t)gshmemx_barrier_block(cmp))
ALONE(team_sync_thread, *out = (size_t)gshmem_team_sync(cmp))
ALONE(team_sync_warp, *out = (size_t)gshmemx_team_sync_warp(cmp))
ALONE(team_sync_block, *out = (size_t)gshmemx_team_sync_block(cmp))
ALONE(translate, *out = (size_t)gshmem_team_translate_pe(cmp, pe, 1))

/* ---- two or three of them in a loop, with a little work -------------------------------------- */

#define MIX(NAME, ...)                              \
    extern "C" __global__ void mix_##NAME(operands) \
    {                                               \
        for (size_t i = 0; i < n; i++) {            \
            __VA_ARGS__;                            \
        }                                           \
    }

MIX(put_warp_wait, gshmemx_float_put_warp(dest + 32 * i, source + 32 * i, n, pe); gshmem_fence();
    gshmemx_signal_op(signal, i, GSHMEM_SIGNAL_SET, pe);
    gshmem_signal_wait_until(signal + 1, GSHMEM_CMP_GE, i))
MIX(put_thread_wait, gshmem_float_put(dest + i, source + i, n, pe); gshmem_uint64_p(signal, i, pe);
    gshmem_uint64_wait_until(signal + 1, GSHMEM_CMP_GE, i))
MIX(put_block_barrier, gshmemx_float_put_block(dest + i * blockDim.x, source, n, pe);
    gshmemx_barrier_all_block(); WORK(i))
MIX(get_put_barrier, gshmemx_float_get_block(dest, source + i * blockDim.x, n, pe); WORK(0);
    gshmemx_float_put_block(dest + n, source, n, pe); gshmemx_barrier_all_block())
MIX(get_warp_put_warp, gshmemx_float_get_warp(dest, source + i, n, pe); WORK(0);
    gshmemx_float_put_warp(dest + n, source, n, pe + 1); gshmemx_barrier_warp(0))
MIX(get_thread_put_thread, gshmem_float_get(dest, source + i, n, pe);
    gshmem_float_put(dest + n, source, n, pe); gshmem_quiet())
MIX(
    put_signal_wait_amo,
    gshmemx_float_put_signal_block(dest + i, source, n, signal, i, GSHMEM_SIGNAL_SET, pe);
    if (threadIdx.x == 0) {
        gshmem_uint64_wait_until(signal + 1, GSHMEM_CMP_GE, i);
        gshmem_uint64_atomic_add(signal + 2, 1, pe);
    } __syncthreads();
    WORK(i))
MIX(put_signal_warp_wait,
    gshmemx_float_put_signal_nbi_warp(dest + i, source, n, signal, 1, GSHMEM_SIGNAL_ADD, pe);
    gshmem_signal_wait_until(signal + 1, GSHMEM_CMP_GE, i); WORK(i))
MIX(put_signal_thread_wait,
    gshmem_float_put_signal(dest + i, source, n, signal, i, GSHMEM_SIGNAL_SET, pe);
    gshmem_signal_wait_until(signal + 1, GSHMEM_CMP_EQ, i); WORK(i))
MIX(p_quiet_wait, gshmem_float_p(dest + i, source[i], pe); gshmem_quiet();
    gshmem_int_wait_until(status, GSHMEM_CMP_NE, 0))
MIX(g_p_amo, float v = gshmem_float_g(source + i, pe); gshmem_float_p(dest + i, v, pe);
    gshmem_uint64_atomic_inc(signal, pe))
MIX(amo_lock, while (gshmem_uint64_atomic_compare_swap(signal, 0, 1, 0) != 0){}; gshmem_fence();
    WORK(i); gshmem_quiet(); gshmem_uint64_atomic_set(signal, 0, 0))
MIX(fetch_add_put_warp, size_t at = gshmem_uint64_atomic_fetch_add(signal, n, pe);
    gshmemx_float_put_nbi_warp(dest + at, source, n, pe))
MIX(iput_barrier, gshmemx_float_iput_block(dest, source, 2, 1, n, pe); gshmemx_barrier_all_block();
    WORK(i))
MIX(wait_any_get, size_t k = gshmem_uint64_wait_until_any(signal, n, status, GSHMEM_CMP_GE, i);
    gshmem_float_get(dest + k, source + k, 1, pe); status[k] = 1)
MIX(test_some_put, size_t k = gshmem_uint64_test_some(signal, n, out, status, GSHMEM_CMP_GE, i);
    gshmemx_float_put_warp(dest + k, source + k, n, pe))
MIX(sync_get_sync, gshmemx_sync_all_block(); gshmemx_float_get_block(dest, source + i, n, pe);
    gshmemx_sync_all_block())
MIX(sizes, gshmemx_putmem_nbi_warp(dest, source, n, pe);
    gshmemx_getmem_nbi_block(dest, source, n, pe); gshmem_quiet())

#endif
#if !defined(PART) || PART == 2

/* ---- contexts, locks, channels, blocks of elements: those that no call above has the code of
 * -------
 */

ALONE(ibput, gshmem_float_ibput(dest, source, cmp, cmp, n, value, pe))
ALONE(ibget, gshmem_float_ibget(dest, source, cmp, cmp, n, value, pe))
ALONE(ctx_put_thread, gshmem_ctx_float_put(ctx, dest, source, n, pe))
ALONE(ctx_put_warp, gshmemx_ctx_float_put_warp(ctx, dest, source, n, pe))
ALONE(ctx_get_block, gshmemx_ctx_float_get_block(ctx, dest, source, n, pe))
ALONE(ctx_put_signal_warp,
      gshmemx_ctx_float_put_signal_warp(ctx, dest, source, n, signal, value, cmp, pe))
ALONE(ctx_iget, gshmem_ctx_float_iget(ctx, dest, source, cmp, cmp, n, pe))
ALONE(ctx_p, gshmem_ctx_float_p(ctx, dest, 1.0f, pe))
ALONE(ctx_g, *dest = gshmem_ctx_float_g(ctx, source, pe))
ALONE(ctx_fetch_add, *out = gshmem_ctx_uint64_atomic_fetch_add(ctx, signal, value, pe))
ALONE(ctx_quiet, gshmem_ctx_quiet(ctx))
ALONE(fetch_add_nbi, gshmem_uint64_atomic_fetch_add_nbi(signal + 1, signal, value, pe))
ALONE(set_lock, gshmem_set_lock(lock))
ALONE(test_lock, *status = gshmem_test_lock(lock))
ALONE(clear_lock, gshmem_clear_lock(lock))
ALONE(barrier_channel_block, *status = gshmemx_barrier_channel_block(cmp, pe))

#endif
#if !defined(PART) || PART == 3

/* ---- collectives: each once, and each kind of group -------------------------------------------
 */

#define COLL(NAME, CALL) KERNEL(coll_##NAME, *status = CALL)
COLL(broadcast_warp, gshmemx_float_broadcast_warp(cmp, dest, source, n, pe))
COLL(collect_thread, gshmem_float_collect(cmp, dest, source, n))
COLL(fcollect_grid, gshmemx_float_fcollect_grid(cmp, dest, source, n))
COLL(alltoall_block, gshmemx_float_alltoall_block(cmp, dest, source, n))
COLL(alltoalls_block, gshmemx_float_alltoalls_block(cmp, dest, source, pe, pe, n))
COLL(reduce_thread, gshmem_float_sum_reduce(cmp, dest, source, n))
COLL(reduce_block, gshmemx_float_sum_reduce_block(cmp, dest, source, n))
COLL(reduce_half_grid, gshmemx_half_sum_reduce_grid(cmp, (__half *)dest, (const __half *)source, n))
COLL(reducescatter_warp, gshmemx_float_sum_reducescatter_warp(cmp, dest, source, n))
COLL(inscan_block, gshmemx_float_sum_inscan_block(cmp, dest, source, n))
KERNEL(
    coll_mix_reduce_put, for (size_t i = 0; i < n; i++) {
        gshmemx_float_sum_reduce_block(cmp, dest, source, n);
        gshmemx_float_put_block(dest + n, source, n, pe);
        WORK(i);
    })

#endif
#if defined(PART) && PART == 4

/* ---- -rdc=true: the functions that copy, by each kind of group ------------------------------- */

#define COPY(CALL)                                                       \
    ALONE(CALL##_thread, gshmem_float_##CALL(dest, source, n, pe))       \
    ALONE(CALL##_warp, gshmemx_float_##CALL##_warp(dest, source, n, pe)) \
    ALONE(CALL##_block, gshmemx_float_##CALL##_block(dest, source, n, pe))
COPY(put)
COPY(get)
#undef COPY
ALONE(getmem_thread, gshmem_getmem(dest, source, n, pe))
ALONE(getmem_block, gshmemx_getmem_block(dest, source, n, pe))
ALONE(putmem_signal_warp, gshmemx_putmem_signal_warp(dest, source, n, signal, value, cmp, pe))
ALONE(barrier_all_block, gshmemx_barrier_all_block())

#endif
#if defined(PART) && PART == 5

/* ---- as programs of NVSHMEM, whose blocks use all of their shared memory ----------------------
 */

/* Each block sends rows to the PEs of their experts, a part of a row by each warp. */
extern "C" __global__ void mix_route_put_warp(const float *rows, float *inbox,
                                              const int *source_row, const int *expert_of,
                                              const long *first_of, const long *ends, int repeats,
                                              int nrows, int me, int npes, int width, int share)
{
    const int experts = 32 / npes, nwarps = blockDim.x / 32, part = width / nwarps;
    const int warp = threadIdx.x / 32;
    int begin = blockIdx.x * share;
    for (int i = 0; i < share; i++) {
        int row = begin + i;
        if (row < nrows) {
            int expert = expert_of[row], pe = expert / experts, from = source_row[row] / repeats;
            long base =
                expert % experts == 0 && me == 0 ? 0 : ends[expert % experts * npes + me - 1];
            long at = row - first_of[expert];
            gshmemx_float_put_nbi_warp(inbox + (base + at) * width + warp * part,
                                       rows + (long)from * width + warp * part, part, pe);
        }
    }
}

/* Each block sends those rows that a list names, a part of a row by each warp. */
extern "C" __global__ void mix_gather_put_warp(const float *rows, float *inbox, const int *row_of,
                                               const long *begin_of, const long *offset_of,
                                               int nrows, int width, int npes)
{
    const int nwarps = blockDim.x / 32, part = width / nwarps, warp = threadIdx.x / 32;
    for (int i = blockIdx.x; i < nrows; i += gridDim.x) {
        const int pe = row_of[i] % npes;
        const long at = begin_of[pe] + offset_of[i];
        gshmemx_float_put_nbi_warp(inbox + at * width + warp * part,
                                   rows + (long)row_of[i] * width + warp * part, part, pe);
    }
}

#endif
#if defined(PART) && PART == 6

/* ---- what posts to a NIC --------------------------------------------------------------------- */

KERNEL(nic_copies, gshmemx_float_put_block(dest, source, n, pe);
       gshmemx_float_get_block(dest, source, n, pe); gshmemx_barrier_all_block())
KERNEL(nic_words,
       gshmemx_float_put_signal_block(dest, source, n, signal, value, GSHMEM_SIGNAL_ADD, pe);
       *out = gshmem_uint64_atomic_fetch_add(signal, value, pe);
       gshmem_float_p(dest, gshmem_float_g(source, pe), pe))
KERNEL(nic_batch, gshmem::begin_batch();
       for (size_t i = 0; i < n; i++) gshmem_ctx_float_put_nbi(ctx, dest + i, source + i, 1, pe);
       gshmem::end_batch())

#endif
