/* SPDX-License-Identifier: Apache-2.0
 * Address translation: from a symmetric address to the same object on a peer. Checking builds
 * (GSHMEM_CHECKS) check each address and PE first. */
#ifndef GSHMEM_ADDRESS_CUH
#define GSHMEM_ADDRESS_CUH

#include "context.cuh"
#include "memory.cuh"
#include "gshmem/types.h"
#include "../wire/far_op.h"
#include "../wire/nic.h"
#include "../wire/state.h"

namespace gshmem
{
namespace detail
{

/* ---- peers ----------------------------------------------------------------------------------- */

/* The run: consecutive PEs mapped in consecutive slots; most peers belong to it. A peer belongs to
 * it if and only if its number in the run is below run_n. */
template <class Context> __device__ __forceinline__ uint32_t number_in_run(const Context &c, int pe)
{
    return (uint32_t)pe - (uint32_t)state_of(c).run_first_pe;
}

template <class Context>
__device__ __forceinline__ bool is_of_run(const Context &c, uint32_t number)
{
    return number < (uint32_t)state_of(c).run_n;
}

template <class Context>
__device__ __forceinline__ int32_t slot_in_run(const Context &c, uint32_t number)
{
    return state_of(c).run_first_slot + (int32_t)number;
}

/* For a PE outside the run: one load fetches both. */
template <class Context>
__device__ __forceinline__ gsh_peer_route look_up_route(const Context &c, int pe)
{
    word<gsh_peer_route> both =
        reinterpret_cast<const word<gsh_peer_route> *>(state_of(c).routes)[pe];
    return bit_cast<gsh_peer_route>(both);
}

/* pe is in range. The run's slot is computed unconditionally; otherwise its constants would be
 * loaded only after the branch. */
template <class Context>
__device__ __forceinline__ gsh_peer_route route_of(const Context &c, int pe)
{
    uint32_t number = number_in_run(c, pe);
    gsh_peer_route peer = {slot_in_run(c, number), GSH_ROUTE_NEAR};
    if (__builtin_expect(!is_of_run(c, number), 0))
        peer = look_up_route(c, pe);
    return peer;
}

template <class Context> __device__ __forceinline__ bool is_near(const Context &c, int pe)
{
    return route_of(c, pe).route == GSH_ROUTE_NEAR;
}

/* Where a symmetric object lies in this PE's heap. On the CPU device the address may be one of the
 * program's globals, which lie in the heap as well. */
template <class Context>
__device__ __forceinline__ uint64_t address_in_heap(const Context &c, const void *symmetric)
{
    uint64_t address = reinterpret_cast<uint64_t>(symmetric);
    if constexpr (is_cpu_device) {
        const gsh_state &s = state_of(c);
        if (__builtin_expect(address - s.base >= s.stride && s.statics != 0, 0)) {
            const gsh_static_data *d = reinterpret_cast<const gsh_static_data *>(s.statics);
            if (address - d->base < d->bytes)
                address += s.base + d->off - d->base;
        }
    }
    return address;
}

/* The address rule of state.h. */
template <class Type, class Context>
__device__ __forceinline__ Type *address_in_slot(const Context &c, Type *symmetric, int32_t at)
{
    const gsh_state &s = state_of(c);
    uint64_t mapped = address_in_heap(c, symmetric);
    if constexpr (is_cpu_device) {
        mapped += (uint64_t)((int64_t)(at - s.my_slot) * (int64_t)s.stride);
    } else { /* the low half of the stride is 0, so one instruction is enough */
        uint32_t high =
            (uint32_t)(mapped >> 32) + (uint32_t)(at - s.my_slot) * (uint32_t)(s.stride >> 32);
        mapped = (uint64_t)high << 32 | (uint32_t)mapped;
    }
    return as_global(reinterpret_cast<Type *>(mapped));
}

template <class Type, class Context>
__device__ __forceinline__ Type *address_in_run(const Context &c, Type *symmetric, uint32_t number)
{
    return address_in_slot(c, symmetric, slot_in_run(c, number));
}

/* pe is near. */
template <class Type, class Context>
__device__ __forceinline__ Type *peer_address(const Context &c, Type *symmetric, int pe)
{
    return address_in_slot(c, symmetric, route_of(c, pe).slot);
}

/* Whether kernels of this file may meet far peers at all. If not, the far route's code is left out:
 * it costs registers in every kernel that might take it. */
#if defined(GSHMEM_NEAR_ONLY)
constexpr bool may_be_far = false;
#else
constexpr bool may_be_far = true;
#endif

/* Whether kernels of this file may post to a network adapter by themselves. If not, they reach all
 * far peers by the proxy, whatever the route. For GPUs a file asks for it by GSHMEM_WITH_NIC: every
 * kernel with a call that may be far would get the route's code, and up to two registers more than
 * with the ring alone; and no adapter that reaches the memory of GPUs has been tried so far. */
#if defined(GSHMEM_NEAR_ONLY) || (defined(__CUDACC__) && !defined(GSHMEM_WITH_NIC))
constexpr bool may_use_nic = false;
#else
constexpr bool may_use_nic = true;
#endif

/* Every peer outside the run is reached by an adapter: no route needs to be looked up. */
template <class Context> __device__ __forceinline__ bool are_others_by_nic(const Context &c)
{
    return may_use_nic && (GSH_NIC_FLAGS(state_of(c).nic) & GSH_NIC_ALL_OTHERS) != 0;
}

/* Some peer is far. */
template <class Context> __device__ __forceinline__ bool has_far(const Context &c)
{
    return may_be_far && __builtin_expect(state_of(c).rings != 0, 0);
}

/* Chooses the route: calls near(mapped address) if pe is mapped, else far(). For a peer of the run,
 * the usual case, this costs only the slot computation. */
template <class Type, class Near, class Far, class Context>
__device__ __forceinline__ auto route(const Context &c, Type *symmetric, int pe, Near near, Far far)
{
    uint32_t number = number_in_run(c, pe);
    int32_t at = slot_in_run(c, number);
    if (__builtin_expect(!is_of_run(c, number), 0)) {
        gsh_peer_route peer = {0, GSH_ROUTE_NIC};
        if (!are_others_by_nic(c))
            peer = look_up_route(c, pe);
        at = peer.slot;
        if (peer.route != GSH_ROUTE_NEAR) {
            if constexpr (may_be_far)
                return far();
            else
                report(c, GSH_REPORT_BAD_PE, "a call compiled with GSHMEM_NEAR_ONLY", pe, 0, 0, 0,
                       0, 0);
        }
    }
    return near(address_in_slot(c, symmetric, at));
}

/* The same for a near() of an instruction or two. For a peer of the run the address takes two
 * instructions, which a loop over words of one peer executes once. Every other peer goes to
 * `elsewhere`, which is not inlined and is called directly. It uses route() and calls the far part
 * through call_indirect. The caller does not use call_indirect itself: around a call through a
 * pointer the compiler keeps at most 16 registers. That is too few for the caller's own parameters,
 * and a loop would reload them in each iteration. */
template <class Type, class Near, class Elsewhere, class Context>
__device__ __forceinline__ auto route_word(const Context &c, Type *symmetric, int pe, Near near,
                                           Elsewhere elsewhere)
{
    uint32_t number = number_in_run(c, pe);
    if (__builtin_expect(is_of_run(c, number), 1))
        return near(address_in_run(c, symmetric, number));
    if constexpr (may_be_far)
        return elsewhere();
    else
        return route(c, symmetric, pe, near, elsewhere);
}

/* Whether the address lies in this PE's range of the heap. */
template <class Context>
__device__ __forceinline__ bool is_symmetric(const Context &c, const void *address)
{
    return address_in_heap(c, address) - state_of(c).base < state_of(c).stride;
}

/* ---- what other PEs say ---------------------------------------------------------------------- */

/* Where this offset of the heap lies in this PE's. A word of PE pe says it, or words of some PEs
 * (pe is -1): bytes from there on that leave the heap end the job. */
template <class Context>
__device__ __forceinline__ uint8_t *said_address(const Context &c, const char *call, int pe,
                                                 uint64_t off, uint64_t bytes)
{
    const gsh_state &s = state_of(c);
    if (__builtin_expect(off > s.stride || bytes > s.stride - off, 0))
        report(c, GSH_REPORT_BEYOND_HEAP, call, pe, 0, 0, s.stride, off, bytes);
    return reinterpret_cast<uint8_t *>(s.base + off);
}

/* A PE that a word of another PE says, by its number + 1: one that does not exist ends the job. */
template <class Context>
__device__ __forceinline__ int said_pe(const Context &c, const char *call, uint32_t number)
{
    const int pe = (int)(number - 1);
    if (__builtin_expect((uint32_t)pe >= (uint32_t)state_of(c).n_pes, 0))
        report(c, GSH_REPORT_BAD_PE, call, pe, 0, 0, 0, 0, 0);
    return pe;
}

/* ---- waits and signals ----------------------------------------------------------------------- */

/* Returns the element's value; the caller may be looping until it changes. */
template <class Type> __device__ __forceinline__ Type seen(const Type *symmetric, Type value)
{
    if constexpr (sizeof(Type) <= 8)
        poll_pause(symmetric, bit_cast<word<Type>>(value));
    else
        poll_pause(symmetric);
    return value;
}

/* The atomic operation of a signal: sig_op is SET or ADD. */
__device__ __forceinline__ gsh_amo_op amo_of_signal(int sig_op)
{
    return gsh_amo_of_signal(sig_op);
}

/* ---- checks ---------------------------------------------------------------------------------- */

#if defined(GSHMEM_CHECKS)

template <class Context>
__device__ __forceinline__ void check_pe(const Context &c, const char *call, int pe)
{
    if (pe < 0 || pe >= state_of(c).n_pes || (state_of(c).rings == 0 && !is_near(c, pe)))
        report(c, GSH_REPORT_BAD_PE, call, pe, 0, 0, 0, 0, 0);
}

/* The same in the table as it is, perhaps while the host writes it. Each load is an acquire, and
 * pairs with a release of the PE's host in gsh_alloc_table_write. */
__device__ inline bool is_in_table(const gsh_control *control, uint64_t off, uint64_t bytes)
{
    const gsh_alloc_range *table =
        reinterpret_cast<const gsh_alloc_range *>(load_acquire(&control->alloc_table));
    if (!table)
        return true;
    uint64_t low = 0; /* the last range that starts at or before off */
    uint64_t high = load_acquire(&control->n_allocs);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (load_acquire(&table[middle].off) <= off)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uint64_t inside = off - load_acquire(&table[low - 1].off);
    uint64_t its_bytes = load_acquire(&table[low - 1].bytes);
    return inside <= its_bytes && bytes <= its_bytes - inside;
}

/* Whether [off, off + bytes) is inside one live allocation. */
template <class Context>
__device__ inline bool is_allocated(const Context &c, uint64_t off, uint64_t bytes)
{
    const gsh_control *control = control_of(c);
    for (;;) {
        /* these two pair with the releases in gsh_alloc_table_write */
        const uint64_t sequence = load_acquire(&control->alloc_sequence);
        const bool is_inside = is_in_table(control, off, bytes);
        if (sequence % 2 == 0 && load_acquire(&control->alloc_sequence) == sequence)
            return is_inside;
    }
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void report_range(const Context &c, const char *call,
                                                  const void *address, uint64_t bytes, int pe)
{
    uint64_t value = reinterpret_cast<uint64_t>(address);
    if (!is_symmetric(c, address))
        report(c, GSH_REPORT_NOT_SYMMETRIC, call, pe, 0, value, 0, 0, bytes);
    else if (!is_allocated(c, address_in_heap(c, address) - state_of(c).base, bytes))
        report(c, GSH_REPORT_NOT_ALLOCATED, call, pe, 0, value, 0, 0, bytes);
}

template <class Context>
__device__ __forceinline__ void check_range(const Context &c, const char *call, const void *address,
                                            uint64_t bytes, int pe)
{
    if (bytes != 0)
        call_noinline<report_range<Context>>(c, call, address, bytes, pe);
}

/* Checks a number that the caller chose, in a call that concerns pe; kind says which number. */
template <class Context>
__device__ __forceinline__ void check_value(const Context &c, const char *call, bool is_valid,
                                            uint32_t kind, int64_t value, int pe)
{
    if (!is_valid)
        report(c, kind, call, pe, 0, 0, 0, (uint64_t)value, 0);
}

/* Checks that words of elem_bytes at the address can be read and written by one access each. */
template <class Context>
__device__ __forceinline__ void check_aligned(const Context &c, const char *call,
                                              const void *address, uint64_t elem_bytes, int pe)
{
    uint64_t value = reinterpret_cast<uint64_t>(address);
    if (value % elem_bytes != 0)
        report(c, GSH_REPORT_MISALIGNED, call, pe, 0, value, 0, 0, elem_bytes);
}

/* Checks this PE's side of a copy of that many bytes to or from pe. */
template <class Context>
__device__ __forceinline__ void check_local(const Context &c, const char *call, const void *local,
                                            uint64_t bytes, int pe)
{
    if (local == nullptr && bytes > 0)
        report(c, GSH_REPORT_NULL_LOCAL, call, pe, 0, 0, 0, 0, bytes);
}

#else
__device__ __forceinline__ void check_pe(const context &, const char *, int) {}
__device__ __forceinline__ void check_range(const context &, const char *, const void *, uint64_t,
                                            int)
{
}
__device__ __forceinline__ void check_value(const context &, const char *, bool, uint32_t, int64_t,
                                            int)
{
}
__device__ __forceinline__ void check_aligned(const context &, const char *, const void *, uint64_t,
                                              int)
{
}
__device__ __forceinline__ void check_local(const context &, const char *, const void *, uint64_t,
                                            int)
{
}
#endif

/* The size of nelems elements, capped at UINT64_MAX, for check(): no allocation is that large. */
template <class Type> __device__ __forceinline__ uint64_t bytes_of(size_t nelems)
{
    return nelems > UINT64_MAX / sizeof(Type) ? UINT64_MAX : nelems * sizeof(Type);
}

/* Checks pe, and that [address, address + bytes) is symmetric; pe is this PE for its own words. */
template <class Context>
__device__ __forceinline__ void check(const Context &c, const char *call, const void *address,
                                      uint64_t bytes, int pe)
{
    check_pe(c, call, pe);
    check_range(c, call, address, bytes, pe);
}

/* The same for nelems words that are waited on or changed atomically. */
template <class Type, class Context>
__device__ __forceinline__ void check_words(const Context &c, const char *call, const Type *words,
                                            size_t nelems, int pe)
{
    check_aligned(c, call, words, sizeof(Type), pe);
    check(c, call, words, bytes_of<Type>(nelems), pe);
}

/* Bytes from the first to the last of nelems elements that are stride elements apart. */
__device__ __forceinline__ uint64_t strided_bytes(uint64_t elem_bytes, ptrdiff_t stride,
                                                  size_t nelems)
{
    return nelems == 0 ? 0 : ((nelems - 1) * (uint64_t)stride + 1) * elem_bytes;
}

} // namespace detail

/* ---- for kernels ---------------------------------------------------------------------------- */

template <class Context> __device__ __forceinline__ int my_pe(const Context &c)
{
    return detail::state_of(c).my_pe;
}

template <class Context> __device__ __forceinline__ int n_pes(const Context &c)
{
    return detail::state_of(c).n_pes;
}

/* NULL if there is no such PE, it is not near, or the address is not symmetric. */
template <class Context>
__device__ __forceinline__ void *ptr(const Context &c, const void *dest, int pe)
{
    if (pe < 0 || pe >= detail::state_of(c).n_pes || !detail::is_near(c, pe) ||
        !detail::is_symmetric(c, dest))
        return nullptr;
    return detail::peer_address(c, const_cast<void *>(dest), pe);
}

} // namespace gshmem

#endif
