/* SPDX-License-Identifier: Apache-2.0
 * Signals: a signal is a symmetric uint64_t that tells a PE that data have arrived. */
#ifndef GSHMEM_SIGNAL_CUH
#define GSHMEM_SIGNAL_CUH

#include "rma.cuh"
#include "gshmem/types.h"

namespace gshmem
{

namespace detail
{

template <class Context>
__device__ __forceinline__ void check_signal(const Context &c, const char *call,
                                             const uint64_t *sig_addr, int op, int pe)
{
    const int kind = op & ~GSH_SIGNAL_STRONG;
    check_value(c, call, kind == GSHMEM_SIGNAL_SET || kind == GSHMEM_SIGNAL_ADD,
                GSH_REPORT_BAD_SIGNAL_OP, op, pe);
    check_words(c, call, sig_addr, 1, pe);
}

/* Pairs with the acquire loads of wait.cuh; relaxed, because a fence has already ordered the data
 * before it. */
__device__ __forceinline__ void send_signal(uint64_t *mapped, uint64_t value, int op)
{
    if (amo_of_signal(op) == GSH_AMO_ADD)
        reduce_add(mapped, value);
    else
        store_relaxed(mapped, value);
}

/* Whether a word and the signal to set form 16 aligned bytes. Then one store writes both, without a
 * fence between them. Only for a peer of the run, and not on the CPU device, where a fence costs
 * nothing. */
__device__ __forceinline__ bool is_beside(const void *dest, const void *source, size_t bytes,
                                          const uint64_t *sig_addr, int sig_op)
{
    uintptr_t to = reinterpret_cast<uintptr_t>(dest), from = reinterpret_cast<uintptr_t>(source),
              signal = reinterpret_cast<uintptr_t>(sig_addr);
    return !is_cpu_device && bytes == 8 && (to ^ signal) == 8 && ((to | from) & 7) == 0 &&
           sig_op == GSHMEM_SIGNAL_SET;
}

/* The GPU writes an aligned vector at once, into memory and over NVLink, so a reader that sees the
 * signal sees the word; PTX promises that only within each half
 * (docs/internals/memory-model.md). */
__device__ __forceinline__ void store_beside(const void *source, uint64_t *mapped_signal,
                                             uint64_t signal)
{
    uint64_t word = load_plain(static_cast<const uint64_t *>(source));
    bool is_high = (reinterpret_cast<uintptr_t>(mapped_signal) & 8) != 0;
    store_relaxed_words(reinterpret_cast<words2 *>(mapped_signal - (is_high ? 1 : 0)),
                        {is_high ? word : signal, is_high ? signal : word});
}

/* A signal sent once the data are stored. */
struct pending_signal {
    uint64_t *mapped, value;
    int64_t op; /* of 64 bits: no padding (spilled_during) */
};

/* Called when the group has stored: its synchronisation brings all stores before the fence, which
 * serves "signal seen implies that the data are seen". */
template <class Group>
__device__ __forceinline__ void finish_put_signal(Group g, const pending_signal &s)
{
    g.sync();
    if (g.rank() == 0) {
        fence_release();
        send_signal(s.mapped, s.value, (int)s.op);
    }
}

/* For any peer, group and size, like put_general. */
template <bool is_blocking, bool has_words, bool is_far_possible, class Group, class Context>
__device__ GSHMEM_NOINLINE_BODY void
put_signal_general(const Context &c, void *dest, const void *source, size_t bytes,
                   uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, const char *call)
{
    Group g;
    route(
        c, dest, pe,
        [&](void *mapped) {
            pending_signal s = {peer_address(c, sig_addr, pe), signal, sig_op};
            g.sync();
            spilled_during(&s, [&] {
                copy<direction::put, has_words, Group>({g.rank(), g.size()}, mapped, source, bytes);
            });
            finish_put_signal(g, s);
        },
        [&] {
            far_put_signal(c, g, dest, source, bytes, sig_addr, signal, sig_op, pe, is_blocking,
                           call);
        });
}

template <bool is_blocking, class Group, class Type, class Context>
__device__ __forceinline__ void
put_signal_dispatch(const Context &c, Group g, Type *dest, const Type *source, size_t nelems,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, const char *call)
{
    size_t bytes = nelems * sizeof(Type);
    uint32_t number = number_in_run(c, pe);
    check_signal(c, call, sig_addr, sig_op, pe);
    check(c, call, dest, bytes_of<Type>(nelems), pe);
    check_local(c, call, source, bytes_of<Type>(nelems), pe);
    if (is_vector_path(c, g, dest, source, bytes, number)) {
        rank_in_group at = g.early();
        pending_signal s = {address_in_run(c, sig_addr, number), signal, sig_op};
        g.sync();
        copy_whole_vectors<direction::put, Group>(at, address_in_run(c, dest, number), source,
                                                  bytes,
                                                  [&](auto copies) { spilled_during(&s, copies); });
        finish_put_signal(g, s);
    } else if (is_word_path<alignof(Type)>(c, dest, source, bytes, number)) {
        bool is_first = g.rank() == 0;
        g.sync();
        if (is_beside(dest, source, bytes, sig_addr, sig_op)) {
            if (is_first)
                store_beside(source, address_in_run(c, sig_addr, number), signal);
            g.sync();
            return;
        }
        if (is_first)
            copy_word<direction::put>(address_in_run(c, dest, number), source, bytes);
        finish_put_signal(g, {address_in_run(c, sig_addr, number), signal, sig_op});
    } else {
        call_noinline<
            put_signal_general<is_blocking, (alignof(Type) >= 4), may_be_far, Group, Context>>(
            c, dest, source, bytes, sig_addr, signal, sig_op, pe, call);
    }
}

/* signal_op for a peer outside the run. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void signal_elsewhere(const Context &c, uint64_t *sig_addr,
                                                      uint64_t signal, int sig_op, int pe,
                                                      const char *call)
{
    route(
        c, sig_addr, pe, [&](uint64_t *mapped) { send_signal(mapped, signal, sig_op); },
        [&] { far_signal(c, sig_addr, signal, sig_op, pe, call); });
}

} // namespace detail

/* Changes the signal on pe, like an AMO: fence first to order it after earlier puts. Leaving the
 * fence to the caller halves the time of a bare signal on NVLink. */
template <class Context>
__device__ __forceinline__ void signal_op(const Context &c, uint64_t *sig_addr, uint64_t signal,
                                          int sig_op, int pe,
                                          const char *call = "gshmem::signal_op")
{
    GSHMEM_TRACED_WORD(c, group_thread(), call, pe, 0, nullptr, sig_addr,
                       detail::trace_op_of(sig_op), signal);
    detail::check_signal(c, call, sig_addr, sig_op, pe);
    detail::route_word(
        c, sig_addr, pe, [&](uint64_t *mapped) { detail::send_signal(mapped, signal, sig_op); },
        [&] {
            detail::call_noinline<detail::signal_elsewhere<Context>>(c, sig_addr, signal, sig_op,
                                                                     pe, call);
        });
}

/* Puts, then changes the signal on the same PE. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void put_signal(const Context &c, Group g, Type *dest,
                                           const Type *source, size_t nelems, uint64_t *sig_addr,
                                           uint64_t signal, int sig_op, int pe,
                                           const char *call = "gshmem::put_signal")
{
    GSHMEM_TRACED_WORD(c, g, call, pe, nelems * sizeof(Type), dest, sig_addr,
                       detail::trace_op_of(sig_op), signal);
    detail::put_signal_dispatch<true>(c, g, dest, source, nelems, sig_addr, signal, sig_op, pe,
                                      call);
}

/* The same; source may be reused after quiet. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void put_signal_nbi(const Context &c, Group g, Type *dest,
                                               const Type *source, size_t nelems,
                                               uint64_t *sig_addr, uint64_t signal, int sig_op,
                                               int pe, const char *call = "gshmem::put_signal_nbi")
{
    GSHMEM_TRACED_WORD(c, g, call, pe, nelems * sizeof(Type), dest, sig_addr,
                       detail::trace_op_of(sig_op), signal);
    detail::put_signal_dispatch<false>(c, g, dest, source, nelems, sig_addr, signal, sig_op, pe,
                                       call);
}

/* Reads this PE's own signal. What was sent before it is visible. */
template <class Context>
__device__ __forceinline__ uint64_t signal_fetch(const Context &c, const uint64_t *sig_addr,
                                                 const char *call = "gshmem::signal_fetch")
{
    detail::check_words(c, call, sig_addr, 1, detail::state_of(c).my_pe);
    return detail::seen(sig_addr, detail::load_acquire(sig_addr));
}

} // namespace gshmem

#endif
