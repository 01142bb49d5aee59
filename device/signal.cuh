/* SPDX-License-Identifier: Apache-2.0
 * Signals: a symmetric uint64_t that tells a PE that data has come. */
#ifndef GSHMEM_SIGNAL_CUH
#define GSHMEM_SIGNAL_CUH

#include "device/rma.cuh"
#include "gshmem/types.h"

namespace gshmem
{

namespace detail
{

__device__ __forceinline__ void check_signal(const char *call, const uint64_t *sig_addr, int op,
                                             int pe)
{
    check_value(call, op == GSHMEM_SIGNAL_SET || op == GSHMEM_SIGNAL_ADD, GSH_REPORT_BAD_SIGNAL_OP,
                op, pe);
    check_words(call, sig_addr, 1, pe);
}

/* Pairs with the acquire loads of wait.cuh; relaxed: what is to be seen with it has been fenced. */
__device__ __forceinline__ void send_signal(uint64_t *far, uint64_t value, int op)
{
    if (op == GSHMEM_SIGNAL_ADD)
        reduce_add(far, value);
    else
        store_relaxed(far, value);
}

} // namespace detail

/* Changes the signal on pe, like an AMO: fence first to order it after earlier puts. Leaving the
 * fence to the caller halves the time of a bare signal on NVLink. */
__device__ __forceinline__ void signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                          const char *call = "gshmem::signal_op")
{
    detail::check_signal(call, sig_addr, sig_op, pe);
    detail::send_signal(detail::peer_address(sig_addr, pe), signal, sig_op);
}

/* Puts, then changes the signal on the same PE. */
template <class G, class T>
__device__ __forceinline__ void put_signal(G g, T *dest, const T *source, size_t nelems,
                                           uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                           const char *call = "gshmem::put_signal")
{
    detail::check_signal(call, sig_addr, sig_op, pe);
    /* The synchronisation that put ends with brings the whole group's stores before the fence,
     * which serves "signal seen implies that the data is seen". */
    put(g, dest, source, nelems, pe, call);
    if (g.rank() == 0) {
        detail::fence_acq_rel();
        detail::send_signal(detail::peer_address(sig_addr, pe), signal, sig_op);
    }
}

/* This PE's own signal. What was sent before it is visible. */
__device__ __forceinline__ uint64_t signal_fetch(const uint64_t *sig_addr,
                                                 const char *call = "gshmem::signal_fetch")
{
    detail::check_words(call, sig_addr, 1, detail::state().my_pe);
    detail::poll_pause();
    return detail::load_acquire(sig_addr);
}

} // namespace gshmem

#endif
