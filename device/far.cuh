/* SPDX-License-Identifier: Apache-2.0
 * Calls on far PEs, independent of the route: the only file that knows which routes exist. pe is
 * far in all of these; dest (of puts), source (of gets) and sig_addr are symmetric; call is the
 * public name, for reports. A group's call synchronises before and after, like the near one. The
 * routes' code is out of line, so the near paths stay small.
 *
 * Today there is one route to far PEs, the ring (ring.cuh). A second one would be chosen here, by
 * route_of(c, pe) (address.cuh); fence and quiet go to all routes. */
#ifndef GSHMEM_FAR_CUH
#define GSHMEM_FAR_CUH

#include "ring.cuh"

namespace gshmem
{
namespace detail
{

/* Blocking: on return the source may be used again. */
template <class Group, class Context>
__device__ __forceinline__ void far_put(const Context &c, Group g, void *dest, const void *source,
                                        size_t bytes, int pe, bool is_blocking, const char *call)
{
    ring_put(c, g, dest, source, bytes, pe, is_blocking, call);
}

/* Blocking: on return the data have arrived. */
template <class Group, class Context>
__device__ __forceinline__ void far_get(const Context &c, Group g, void *dest, const void *source,
                                        size_t bytes, int pe, bool is_blocking, const char *call)
{
    ring_get(c, g, dest, source, bytes, pe, is_blocking, call);
}

template <class Group, class Context>
__device__ __forceinline__ void far_iput(const Context &c, Group g, void *dest, const void *source,
                                         ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                         size_t nelems, int pe, const char *call)
{
    ring_iput(c, g, dest, source, dst, sst, elem_bytes, nelems, pe, call);
}

template <class Group, class Context>
__device__ __forceinline__ void far_iget(const Context &c, Group g, void *dest, const void *source,
                                         ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                         size_t nelems, int pe, const char *call)
{
    ring_iget(c, g, dest, source, dst, sst, elem_bytes, nelems, pe, call);
}

/* One element of 1, 2, 4 or 8 bytes; higher bits are ignored in arguments and 0 in results. */
template <class Context>
__device__ __forceinline__ void far_p(const Context &c, void *dest, uint64_t bits, uint32_t bytes,
                                      int pe, const char *call)
{
    call_indirect<ring_p<Context>>(c, dest, bits, bytes, pe, call);
}

template <class Context>
__device__ __forceinline__ uint64_t far_g(const Context &c, const void *source, uint32_t bytes,
                                          int pe, const char *call)
{
    return call_indirect<ring_g<Context>>(c, source, bytes, pe, call);
}

/* bytes is 2, 4 or 8. Returns the former value if is_fetch, else 0. */
template <class Context>
__device__ __forceinline__ uint64_t far_amo(const Context &c, gsh_amo_op op, void *dest,
                                            uint32_t bytes, uint64_t operand, uint64_t cond,
                                            bool is_fetch, int pe, const char *call)
{
    if (is_fetch)
        return call_indirect<ring_fetch_amo<Context>>(c, op, dest, bytes, operand, cond, pe, call);
    call_indirect<ring_amo<Context>>(c, op, dest, bytes, operand, pe, call);
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
    ring_put_signal(c, g, dest, source, bytes, sig_addr, signal, sig_op, pe, is_blocking, call);
}

/* The far part of fence; the caller issues the near part as well, before or after. Some peer is
 * far. */
template <class Context> __device__ __forceinline__ void far_fence(const Context &c)
{
    call_indirect<ring_fence<Context>>(c);
}

/* The far part of quiet; the near part's fence must come after it. */
template <class Context> __device__ __forceinline__ void far_quiet(const Context &c)
{
    call_indirect<ring_quiet<Context>>(c);
}

/* Returns when the sources of all earlier far puts may be used again. Some peer is far. */
template <class Context>
__device__ __forceinline__ void far_done(const Context &c, const char *call)
{
    call_indirect<await_done<Context>>(c, call);
}

} // namespace detail
} // namespace gshmem

#endif
