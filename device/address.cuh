/* SPDX-License-Identifier: Apache-2.0
 * Where things are: this unit's copy of the state block, and from a symmetric address to the same
 * object on a peer. In checking builds (GSHMEM_CHECKS) each address and PE is looked at first.
 * Failures go through report(), which tells the host and does not come back. */
#ifndef GSHMEM_ADDRESS_CUH
#define GSHMEM_ADDRESS_CUH

#include "device/memory.cuh"
#include "device/state.h"

extern "C" void gshmemx_module_register(struct gsh_module *module);
extern "C" void gshmemx_module_unregister(struct gsh_module *module);

/* ---- the state block ------------------------------------------------------------------------- */

#if defined(__CUDACC__)
/* Filled at device set-up; found by this name in modules loaded through the driver. Every
 * translation unit has its own; where device code is linked (-rdc=true) they become one. */
#if defined(__CUDACC_RDC__)
inline __constant__ struct gsh_state gshmem_state_block;
#else
static __constant__ struct gsh_state gshmem_state_block;
#endif
#endif

#if !defined(__CUDACC_RTC__) && !defined(GSHMEM_LIBRARY_KERNELS)
namespace gshmem
{
namespace detail
{
namespace
{

#if defined(__CUDACC__)
inline int fill_state_block(const void *state, size_t bytes)
{
    if (bytes != sizeof gshmem_state_block)
        return (int)cudaErrorInvalidValue;
    return (int)cudaMemcpyToSymbol(gshmem_state_block, state, bytes);
}
constexpr int (*fill)(const void *state, size_t bytes) = fill_state_block;
#else
constexpr int (*fill)(const void *state, size_t bytes) = nullptr;
#endif

struct module_registration {
    gsh_module module;
    module_registration() : module{GSH_STATE_VERSION, sizeof(struct gsh_state), fill, nullptr}
    {
        gshmemx_module_register(&module);
    }
    ~module_registration() { gshmemx_module_unregister(&module); }
    module_registration(const module_registration &) = delete;
    module_registration &operator=(const module_registration &) = delete;
};

module_registration registration_of_this_unit;

} // namespace
} // namespace detail
} // namespace gshmem
#endif

namespace gshmem
{
namespace detail
{

#if defined(__CUDACC__)
__device__ __forceinline__ const gsh_state &state()
{
    return gshmem_state_block;
}
#else
/* A kernel was launched by a thread that is no PE. */
[[noreturn]] inline void fail_without_state()
{
    fprintf(stderr,
            "gshmem: a kernel made a gshmem call before gshmem_init or after gshmem_finalize\n");
    exit(1);
}

inline const gsh_state &state()
{
    const gsh_state *own = gsh_cpu_self->state;
    if (__builtin_expect(own == nullptr, 0))
        fail_without_state();
    return *own;
}
#endif

__device__ __forceinline__ gsh_control *control()
{
    return reinterpret_cast<gsh_control *>(state().control);
}

/* Function f, which is never inlined, for a rare call from a path that must stay small. The
 * compiler does not see through the pointer: so a kernel has the registers of the larger of the
 * two, not of both together, and what is live in the kernel goes to the stack only where the call
 * is made. */
template <class F> __device__ __forceinline__ F *out_of_line(F *f)
{
#if defined(__CUDACC__)
    asm("" : "+l"(f));
#endif
    return f;
}

/* ---- the end of the job ---------------------------------------------------------------------- */

constexpr uint64_t host_time_to_act_ns = 10000000000u;

/* The job is ending: stands still until the host ends it; if it does not, stops this device. */
__device__ __noinline__ inline void await_end()
{
#if !defined(__CUDACC__)
    gshmemx_cpu_report(); /* on a GPU the host's watch looks for reports itself */
#endif
    uint64_t start = clock_ns();
    while (clock_ns() - start < host_time_to_act_ns) {
        spin_pause();
        __nanosleep(1000);
    }
#if defined(__CUDACC__)
    __trap();
#else
    fprintf(stderr, "gshmem: a kernel failed and its host did not end the job\n");
    abort();
#endif
}

/* What a report says (state.h); call is the public name. Handed over by address: registers that
 * what is called takes would be taken from every kernel with a wait. */
struct trouble {
    uint32_t kind;
    int32_t pe;
    uint32_t cmp;
    const char *call;
    uint64_t address, expected, seen, bytes;
};

/* Tells the host what went wrong (state.h has the protocol) and does not come back. The first
 * report of a PE counts. */
__device__ __noinline__ inline void report_trouble(const trouble *t)
{
    gsh_report *r = &control()->report;
    if (claim(&r->state)) {
        r->kind = t->kind;
        r->pe = t->pe;
        r->cmp = t->cmp;
        r->address = t->address;
        r->expected = t->expected;
        r->seen = t->seen;
        r->bytes = t->bytes;
        r->block[0] = blockIdx.x;
        r->block[1] = blockIdx.y;
        r->block[2] = blockIdx.z;
        r->thread[0] = threadIdx.x;
        r->thread[1] = threadIdx.y;
        r->thread[2] = threadIdx.z;
        uint32_t n = 0;
        GSHMEM_NO_UNROLL
        while (n + 1 < sizeof r->call && t->call[n] != '\0') {
            r->call[n] = t->call[n];
            n++;
        }
        r->call[n] = '\0';
        store_release(&r->state, (uint32_t)2); /* pairs with the acquire of the host's watch */
    }
    await_end();
}

__device__ __forceinline__ void report(uint32_t kind, const char *call, int32_t pe, uint32_t cmp,
                                       uint64_t address, uint64_t expected, uint64_t seen,
                                       uint64_t bytes)
{
    trouble t = {kind, pe, cmp, call, address, expected, seen, bytes};
    report_trouble(&t);
}

/* ---- peers ----------------------------------------------------------------------------------- */

/* The run: consecutive PEs, mapped in consecutive slots; the usual peer is one of it. pe's number
 * there is below run_n then. */
__device__ __forceinline__ uint32_t number_in_run(int pe)
{
    return (uint32_t)pe - (uint32_t)state().run_first_pe;
}

__device__ __forceinline__ bool is_of_run(uint32_t number)
{
    return number < (uint32_t)state().run_n;
}

__device__ __forceinline__ int32_t slot_in_run(uint32_t number)
{
    return state().run_first_slot + (int32_t)number;
}

/* -1: far, not reachable by loads and stores. pe is in range. The run's slot is computed whether it
 * counts or not: its constants would otherwise be loaded only after the question. */
__device__ __forceinline__ int32_t slot(int pe)
{
    uint32_t number = number_in_run(pe);
    int32_t at = slot_in_run(number);
    if (__builtin_expect(!is_of_run(number), 0))
        at = reinterpret_cast<const int32_t *>(state().slot_of)[pe];
    return at;
}

/* The address rule of state.h. */
template <class T> __device__ __forceinline__ T *address_in_slot(T *symmetric, int32_t at)
{
    const gsh_state &s = state();
    uint64_t mapped = reinterpret_cast<uint64_t>(symmetric);
    if constexpr (is_cpu_device) {
        mapped += (uint64_t)((int64_t)(at - s.my_slot) * (int64_t)s.stride);
    } else { /* the low half of the stride is 0, so one instruction is enough */
        uint32_t high =
            (uint32_t)(mapped >> 32) + (uint32_t)(at - s.my_slot) * (uint32_t)(s.stride >> 32);
        mapped = (uint64_t)high << 32 | (uint32_t)mapped;
    }
    return as_global(reinterpret_cast<T *>(mapped));
}

template <class T> __device__ __forceinline__ T *address_in_run(T *symmetric, uint32_t number)
{
    return address_in_slot(symmetric, slot_in_run(number));
}

/* pe is near. */
template <class T> __device__ __forceinline__ T *peer_address(T *symmetric, int pe)
{
    return address_in_slot(symmetric, slot(pe));
}

/* Whether kernels of this file may meet far peers at all. Without them the code of the far route,
 * which takes registers from every kernel that might take it, is left out. */
#if defined(GSHMEM_NEAR_ONLY)
constexpr bool may_be_far = false;
#else
constexpr bool may_be_far = true;
#endif

/* Some peer is far. */
__device__ __forceinline__ bool has_far()
{
    return may_be_far && __builtin_expect(state().rings != 0, 0);
}

/* Where the two routes part: near(mapped address) when pe is mapped, else far(). For a peer of the
 * run, the usual case, that costs nothing beyond the look for its slot. */
template <class T, class Near, class Far>
__device__ __forceinline__ auto route(T *symmetric, int pe, Near near, Far far)
{
    uint32_t number = number_in_run(pe);
    int32_t at = slot_in_run(number);
    if (__builtin_expect(!is_of_run(number), 0)) {
        at = reinterpret_cast<const int32_t *>(state().slot_of)[pe];
        if (at < 0) {
            if constexpr (may_be_far)
                return far();
            else
                report(GSH_REPORT_BAD_PE, "a call compiled with GSHMEM_NEAR_ONLY", pe, 0, 0, 0, 0,
                       0);
        }
    }
    return near(address_in_slot(symmetric, at));
}

/* The same for a near of an instruction or two: for a peer of the run the address costs two
 * instructions, which a loop over words of one peer makes once. All other peers are elsewhere's,
 * which is out of line, is called directly, takes route() and calls what is far out_of_line: around
 * a call through a pointer the compiler keeps 16 registers at most, and has fewer left for the
 * caller's own parameters, which a loop then loads anew in each turn. */
template <class T, class Near, class Elsewhere>
__device__ __forceinline__ auto route_word(T *symmetric, int pe, Near near, Elsewhere elsewhere)
{
    uint32_t number = number_in_run(pe);
    if (__builtin_expect(is_of_run(number), 1))
        return near(address_in_run(symmetric, number));
    if constexpr (may_be_far)
        return elsewhere();
    else
        return route(symmetric, pe, near, elsewhere);
}

/* Whether the address lies in this PE's range of the heap. */
__device__ __forceinline__ bool is_symmetric(const void *address)
{
    return reinterpret_cast<uint64_t>(address) - state().base < state().stride;
}

/* The value of an element, at which the caller's loop may be looking until it changes. */
template <class T> __device__ __forceinline__ T seen(const T *symmetric, T value)
{
    if constexpr (sizeof(T) <= 8)
        poll_pause(symmetric, bit_cast<word<T>>(value));
    else
        poll_pause(symmetric);
    return value;
}

/* ---- checks ---------------------------------------------------------------------------------- */

#if defined(GSHMEM_CHECKS)

__device__ __forceinline__ void check_pe(const char *call, int pe)
{
    if (pe < 0 || pe >= state().n_pes || (state().rings == 0 && slot(pe) < 0))
        report(GSH_REPORT_BAD_PE, call, pe, 0, 0, 0, 0, 0);
}

/* Whether [off, off + bytes) is inside one live allocation. */
__device__ inline bool is_allocated(uint64_t off, uint64_t bytes)
{
    const gsh_alloc_range *table =
        reinterpret_cast<const gsh_alloc_range *>(control()->alloc_table);
    if (!table)
        return true;
    uint64_t low = 0, high = control()->n_allocs; /* the last range that starts at or before off */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table[middle].off <= off)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uint64_t inside = off - table[low - 1].off;
    return inside <= table[low - 1].bytes && bytes <= table[low - 1].bytes - inside;
}

__device__ __noinline__ inline void check_range(const char *call, const void *address,
                                                uint64_t bytes, int pe)
{
    if (bytes == 0)
        return;
    uint64_t value = reinterpret_cast<uint64_t>(address);
    if (!is_symmetric(address))
        report(GSH_REPORT_NOT_SYMMETRIC, call, pe, 0, value, 0, 0, bytes);
    else if (!is_allocated(value - state().base, bytes))
        report(GSH_REPORT_NOT_ALLOCATED, call, pe, 0, value, 0, 0, bytes);
}

/* A number that the caller chose, in a call that concerns pe; kind says which number it is. */
__device__ __forceinline__ void check_value(const char *call, bool is_valid, uint32_t kind,
                                            int64_t value, int pe)
{
    if (!is_valid)
        report(kind, call, pe, 0, 0, 0, (uint64_t)value, 0);
}

/* Words of elem_bytes at the address can be read and written by one access each. */
__device__ __forceinline__ void check_aligned(const char *call, const void *address,
                                              uint64_t elem_bytes, int pe)
{
    uint64_t value = reinterpret_cast<uint64_t>(address);
    if (value % elem_bytes != 0)
        report(GSH_REPORT_MISALIGNED, call, pe, 0, value, 0, 0, elem_bytes);
}

/* This PE's side of a copy of so many bytes to or from pe. */
__device__ __forceinline__ void check_local(const char *call, const void *local, uint64_t bytes,
                                            int pe)
{
    if (local == nullptr && bytes > 0)
        report(GSH_REPORT_NULL_LOCAL, call, pe, 0, 0, 0, 0, bytes);
}

#else
__device__ __forceinline__ void check_pe(const char *, int) {}
__device__ __forceinline__ void check_range(const char *, const void *, uint64_t, int) {}
__device__ __forceinline__ void check_value(const char *, bool, uint32_t, int64_t, int) {}
__device__ __forceinline__ void check_aligned(const char *, const void *, uint64_t, int) {}
__device__ __forceinline__ void check_local(const char *, const void *, uint64_t, int) {}
#endif

/* Of nelems elements, at most UINT64_MAX, which is no allocation's size: for check(). */
template <class T> __device__ __forceinline__ uint64_t bytes_of(size_t nelems)
{
    return nelems > UINT64_MAX / sizeof(T) ? UINT64_MAX : nelems * sizeof(T);
}

/* pe is a PE and [address, address + bytes) is symmetric; for words of this PE pe is its own. */
__device__ __forceinline__ void check(const char *call, const void *address, uint64_t bytes, int pe)
{
    check_pe(call, pe);
    check_range(call, address, bytes, pe);
}

/* The same for nelems words that are waited for or changed atomically. */
template <class T>
__device__ __forceinline__ void check_words(const char *call, const T *words, size_t nelems, int pe)
{
    check_aligned(call, words, sizeof(T), pe);
    check(call, words, bytes_of<T>(nelems), pe);
}

/* Bytes from the first to the last of nelems elements that are stride elements apart. */
__device__ __forceinline__ uint64_t strided_bytes(uint64_t elem_bytes, ptrdiff_t stride,
                                                  size_t nelems)
{
    return nelems == 0 ? 0 : ((nelems - 1) * (uint64_t)stride + 1) * elem_bytes;
}

} // namespace detail
} // namespace gshmem

#endif
