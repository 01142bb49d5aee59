/* SPDX-License-Identifier: Apache-2.0
 * Calls on far PEs, independent of the route: the only file that knows which routes exist. pe is
 * far in all of these; dest (of puts), source (of gets) and sig_addr are symmetric; call is the
 * public name, for reports. A group's call synchronises before and after, like the near one. The
 * routes' code is out of line, so the near paths stay small.
 *
 * There are two routes to far PEs: the ring (ring.cuh), and an adapter to which kernels post by
 * themselves (nic.cuh). This file chooses one for each peer; fence and quiet go to both. Both
 * routes' functions have the same parameters, so a call costs only one comparison more than with a
 * single route. */
#ifndef GSHMEM_FAR_CUH
#define GSHMEM_FAR_CUH

#include "batch.cuh"
#include "nic.cuh"

namespace gshmem
{
namespace detail
{

/* Kernels post to an adapter for some peers. */
template <class Context> __device__ __forceinline__ bool has_nic(const Context &c)
{
    return may_use_nic && state_of(c).nic != 0;
}

template <class Context> __device__ __forceinline__ bool is_by_nic(const Context &c, int pe)
{
    return are_others_by_nic(c) || (has_nic(c) && look_up_route(c, pe).route == GSH_ROUTE_NIC);
}

/* Calls by_nic or by_ring through one pointer, like call_indirect. */
template <auto by_nic, auto by_ring, class Context, class... Arguments>
__device__ __forceinline__ auto call_route(const Context &c, bool is_nic, Arguments... a)
{
    if constexpr (may_use_nic)
        return call_either<by_nic, by_ring>(c, is_nic, a...);
    else
        return call_indirect<by_ring>(c, a...);
}

template <class Context>
__device__ __forceinline__ bool call_batch_put(const Context &c, bool is_nic, void *dest,
                                               const void *source, uint64_t bytes, int pe,
                                               const char *call)
{
    if constexpr (may_use_nic) {
        if (is_nic)
            return call_noinline<nic_batch_put<Context>>(c, dest, source, bytes, pe, call);
    }
    return call_noinline<batch_put<Context>>(c, dest, source, bytes, pe, call);
}

/* Groups of one thread, whose small puts a batch takes. */
template <class Group> constexpr bool is_single = false;
template <> inline constexpr bool is_single<group_thread> = true;

/* Blocking: on return the source may be used again. */
template <class Group, class Context>
__device__ __forceinline__ void far_put(const Context &c, Group g, void *dest, const void *source,
                                        size_t bytes, int pe, bool is_blocking, const char *call)
{
    if constexpr (has_batches && is_single<Group>) {
        if (!is_blocking && is_batching(c) &&
            call_batch_put(c, is_by_nic(c, pe), dest, source, (uint64_t)bytes, pe, call))
            return;
    }
    g.sync();
    call_route<nic_put_part<Context>, put_part<Context>>(c, is_by_nic(c, pe), rank_in_group_of(g),
                                                         dest, source, (uint64_t)bytes, pe,
                                                         is_blocking, call);
    g.sync();
}

/* Blocking: on return the data have arrived. */
template <class Group, class Context>
__device__ __forceinline__ void far_get(const Context &c, Group g, void *dest, const void *source,
                                        size_t bytes, int pe, bool is_blocking, const char *call)
{
    g.sync();
    call_route<nic_get_part<Context>, get_part<Context>>(c, is_by_nic(c, pe), rank_in_group_of(g),
                                                         dest, source, (uint64_t)bytes, pe,
                                                         is_blocking, call);
    g.sync();
}

template <class Group, class Context>
__device__ __forceinline__ void far_strided(const Context &c, Group g, strided *s)
{
    g.sync();
    call_route<nic_strided_part<Context>, strided_part<Context>>(c, is_by_nic(c, s->pe),
                                                                 rank_in_group_of(g), s);
    g.sync();
}

template <class Group, class Context>
__device__ __forceinline__ void far_iput(const Context &c, Group g, void *dest, const void *source,
                                         ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                         size_t nelems, int pe, const char *call)
{
    strided s = iput_of(dest, source, dst, sst, elem_bytes, nelems, pe, call);
    far_strided(c, g, &s);
}

template <class Group, class Context>
__device__ __forceinline__ void far_iget(const Context &c, Group g, void *dest, const void *source,
                                         ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                         size_t nelems, int pe, const char *call)
{
    strided s = iget_of(dest, source, dst, sst, elem_bytes, nelems, pe, call);
    far_strided(c, g, &s);
}

/* One element of 1, 2, 4 or 8 bytes; higher bits are ignored in arguments and 0 in results. */
template <class Context>
__device__ __forceinline__ void far_p(const Context &c, void *dest, uint64_t bits, uint32_t bytes,
                                      int pe, const char *call)
{
    call_route<nic_p<Context>, ring_p<Context>>(c, is_by_nic(c, pe), dest, bits, bytes, pe, call);
}

template <class Context>
__device__ __forceinline__ uint64_t far_g(const Context &c, const void *source, uint32_t bytes,
                                          int pe, const char *call)
{
    return call_route<nic_g<Context>, ring_g<Context>>(c, is_by_nic(c, pe), source, bytes, pe,
                                                       call);
}

/* bytes is 2, 4 or 8. Returns the former value if is_fetch, else 0. */
template <class Context>
__device__ __forceinline__ uint64_t far_amo(const Context &c, gsh_amo_op op, void *dest,
                                            uint32_t bytes, uint64_t operand, uint64_t cond,
                                            bool is_fetch, int pe, const char *call)
{
    bool is_nic = is_by_nic(c, pe) && has_nic_amos(c);
    if (is_nic && !is_nic_amo(op, bytes)) { /* by the proxy, behind what the adapter has */
        call_indirect<nic_await_all<Context>>(c, call);
        is_nic = false;
    }
    if (is_fetch)
        return call_route<nic_fetch_amo<Context>, ring_fetch_amo<Context>>(
            c, is_nic, op, dest, bytes, operand, cond, pe, call);
    call_route<nic_amo<Context>, ring_amo<Context>>(c, is_nic, op, dest, bytes, operand, pe, call);
    return 0;
}

/* Fence first to order it after earlier puts. */
template <class Context>
__device__ __forceinline__ void far_signal(const Context &c, uint64_t *sig_addr, uint64_t signal,
                                           int sig_op, int pe, const char *call)
{
    (void)far_amo(c, amo_of_signal(sig_op), sig_addr, 8, signal, 0, false, pe, call);
}

/* Puts the bytes, then the signal. */
template <class Group, class Context>
__device__ __forceinline__ void far_put_signal(const Context &c, Group g, void *dest,
                                               const void *source, size_t bytes, uint64_t *sig_addr,
                                               uint64_t signal, int sig_op, int pe,
                                               bool is_blocking, const char *call)
{
    signalled s = {dest, source, bytes, sig_addr, signal, sig_op, pe, is_blocking, false, call};
    bool is_nic =
        is_by_nic(c, pe) && (has_nic_amos(c) || (sig_op & ~GSH_SIGNAL_STRONG) == GSH_SIGNAL_SET);
    bool is_reachable = is_nic ? is_for_nic(c, source) : is_for_proxy(c, source);
    s.is_in_pieces = bytes > GSH_RING_SIGNAL_MAX && !is_reachable;
    g.sync();
    if (s.is_in_pieces) {
        call_route<nic_put_pieces<Context>, put_pieces<Context>>(
            c, is_nic, rank_in_group_of(g), dest, source, (uint64_t)bytes, pe, call);
        g.sync();
    }
    if (g.rank() == 0)
        call_route<nic_put_signal_part<Context>, put_signal_part<Context>>(c, is_nic,
                                                                           (const signalled *)&s);
    g.sync();
}

/* The far part of fence; the caller issues the near part as well, before or after. Some peer is
 * far. */
template <class Context> __device__ __forceinline__ void far_fence(const Context &c)
{
    publish_if_batching(c, "gshmem_fence");
    if (has_nic(c)) {
        call_indirect<nic_fence<Context>>(c);
        call_indirect<ring_quiet<Context>>(c); /* nothing else orders it with the adapter */
    } else {
        call_indirect<ring_fence<Context>>(c);
    }
}

/* As far_quiet, with a limit of cycles for the proxy's part: false once they have passed. */
template <class Context>
__device__ __forceinline__ bool far_quiet_within(const Context &c, uint64_t cycles)
{
    publish_if_batching(c, "gshmem_quiet");
    if (has_nic(c))
        call_indirect<nic_await_all<Context>>(c, "gshmem_quiet");
    return call_indirect<ring_quiet_within<Context>>(c, cycles);
}

/* The far part of quiet; the near part's fence must come after it. */
template <class Context> __device__ __forceinline__ void far_quiet(const Context &c)
{
    publish_if_batching(c, "gshmem_quiet");
    if (has_nic(c))
        call_indirect<nic_await_all<Context>>(c, number_of(c) == 0 ? "gshmem_quiet"
                                                                   : "gshmem_ctx_quiet");
    call_indirect<ring_quiet<Context>>(c);
}

/* Returns when the sources of all earlier far puts may be used again. Some peer is far. */
template <class Context>
__device__ __forceinline__ void far_done(const Context &c, const char *call)
{
    publish_if_batching(c, call);
    if (has_nic(c))
        call_indirect<nic_await_all<Context>>(c, call);
    call_indirect<await_done<Context>>(c, call);
}

} // namespace detail
} // namespace gshmem

#endif
