/* SPDX-License-Identifier: Apache-2.0
 * What calls work on: a context, which is a PE's state and a number. The default context uses this
 * unit's own copy of the state. Failures go through report(), which informs the host and does not
 * return. */
#ifndef GSHMEM_CONTEXT_CUH
#define GSHMEM_CONTEXT_CUH

#include "group.cuh"
#include "memory.cuh"
#include "gshmem/types.h"
#include "../wire/state.h"
#include "../wire/waits.h"

extern "C" void gshmemx_module_register(struct gsh_module *module);
extern "C" void gshmemx_module_unregister(struct gsh_module *module);

/* ---- the constant block ---------------------------------------------------------------------- */

#if defined(__CUDACC__)
/* Filled at device set-up; found by this name in modules loaded through the driver. Every
 * translation unit has its own; linking device code (-rdc=true) merges them into one. */
#if defined(GSHMEM_SHARED_DEVICE) && !defined(GSHMEM_LIBRARY_KERNELS)
#define GSHMEM_STATE_BLOCK struct gsh_shared_states
#else
#define GSHMEM_STATE_BLOCK struct gsh_state
#endif
#if defined(__CUDACC_RDC__)
inline __constant__ GSHMEM_STATE_BLOCK gshmem_state_block;
#else
static __constant__ GSHMEM_STATE_BLOCK gshmem_state_block;
#endif
#else
#define GSHMEM_STATE_BLOCK struct gsh_state
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
    if (bytes != sizeof(struct gsh_state))
        return (int)cudaErrorInvalidValue;
#if defined(GSHMEM_SHARED_DEVICE)
    const struct gsh_state *s = static_cast<const struct gsh_state *>(state);
    const cudaError_t error =
        cudaMemcpyToSymbol(gshmem_state_block, &s->part_of_sm, sizeof s->part_of_sm,
                           offsetof(struct gsh_shared_states, part_of_sm));
    return error != cudaSuccess
               ? (int)error
               : (int)cudaMemcpyToSymbol(gshmem_state_block, state, bytes, (size_t)s->part * bytes);
#else
    return (int)cudaMemcpyToSymbol(gshmem_state_block, state, bytes);
#endif
}
constexpr int (*fill)(const void *state, size_t bytes) = fill_state_block;
#else
constexpr int (*fill)(const void *state, size_t bytes) = nullptr;
#endif

struct module_registration {
    gsh_module module;
    module_registration() : module{GSH_STATE_VERSION, sizeof(GSHMEM_STATE_BLOCK), fill, nullptr}
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

#if defined(__CUDACC__) && defined(GSHMEM_SHARED_DEVICE) && !defined(GSHMEM_LIBRARY_KERNELS)
/* Not inlined, since it precedes every access to the state. */
__device__ __noinline__ inline const gsh_state *state_of_this_part()
{
    const uint8_t *part_of_sm = reinterpret_cast<const uint8_t *>(gshmem_state_block.part_of_sm);
    uint32_t sm, part = 0;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    if (part_of_sm != nullptr)
        part = part_of_sm[sm % GSH_SMS] % GSH_PARTS;
    return &gshmem_state_block.of[part];
}

__device__ __forceinline__ const gsh_state &unit_state()
{
    return *state_of_this_part();
}
#elif defined(__CUDACC__)
__device__ __forceinline__ const gsh_state &unit_state()
{
    return gshmem_state_block;
}
#else
/* Prints why, and ends the job with status 1. If the process has no PE, ends the process. Defined
 * in libgshmem. */
#pragma GCC visibility push(default)
extern "C" [[noreturn]] void gshmemx_cpu_refuse(const char *why);
#pragma GCC visibility pop

/* The caller is outside a kernel, or in one whose launching thread is no PE. */
[[noreturn]] inline void fail_without_state()
{
    gshmemx_cpu_refuse(gsh_cpu_self == nullptr
                           ? "a call that is for kernels alone was made by host code"
                           : "a kernel made a gshmem call before gshmem_init or after "
                             "gshmem_finalize");
}

inline const gsh_state &unit_state()
{
    const gsh_cpu_thread *self = gsh_cpu_self;
    const gsh_state *own = self == nullptr ? nullptr : self->state;
    if (__builtin_expect(own == nullptr, 0))
        fail_without_state();
    return *own;
}
#endif

} // namespace detail

/* What a call works on, and its first argument: the state of a PE, and the number of one of its
 * contexts, 0 being the default. The state may lie anywhere that kernels can read (a kernel's
 * argument, shared or global memory), and outlives the call. A context takes few registers, so
 * functions that are not inlined take it by value. */
struct context {
    const gsh_state &state;
    uint32_t id;
#if defined(GSHMEM_CALL_SITES)
    const char *file = nullptr; /* of the call; nullptr: not known */
    uint32_t line = 0;
#endif
};

/* The default context of the PE for which this unit was set up. On a GPU it is a separate type
 * without members, so its state is always read from constant memory and takes no register; it
 * converts to a context on demand. */
#if defined(__CUDACC__)
struct unit_context {
    __device__ __forceinline__ operator context() const { return {detail::unit_state(), 0}; }
};
#else
typedef context unit_context;
#endif

/* Another context of that PE, by number. On a GPU a separate type for the same reason. */
#if defined(__CUDACC__)
struct numbered_context {
    uint32_t id;
    __device__ __forceinline__ operator context() const { return {detail::unit_state(), id}; }
};
#else
typedef context numbered_context;
#endif

__device__ __forceinline__ unit_context default_context()
{
#if defined(__CUDACC__)
    return {};
#else
    return {detail::unit_state(), 0};
#endif
}

namespace detail
{

__device__ __forceinline__ numbered_context numbered(uint32_t id)
{
#if defined(__CUDACC__)
    return {id};
#else
    return {unit_state(), id};
#endif
}

/* For templates over the context's type, which is one of these. */
__device__ __forceinline__ const gsh_state &state_of(const context &c)
{
    return c.state;
}

#if defined(__CUDACC__)
__device__ __forceinline__ const gsh_state &state_of(unit_context)
{
    return unit_state();
}

__device__ __forceinline__ const gsh_state &state_of(numbered_context)
{
    return unit_state();
}
#endif

__device__ __forceinline__ uint32_t number_of(const context &c)
{
    return c.id;
}

#if defined(__CUDACC__)
__device__ __forceinline__ uint32_t number_of(unit_context)
{
    return 0;
}

__device__ __forceinline__ uint32_t number_of(numbered_context c)
{
    return c.id;
}
#endif

template <class Context> __device__ __forceinline__ gsh_control *control_of(const Context &c)
{
    return reinterpret_cast<gsh_control *>(state_of(c).control);
}

/* ---- calls that are not inlined -------------------------------------------------------------- */

/* The same function, hidden from the optimiser. */
template <class Function> __device__ __forceinline__ Function *hide_function(Function *f)
{
#if defined(__CUDACC__)
    asm("" : "+l"(f));
#endif
    return f;
}

/* Marks a function, with a context as its first argument, that its callers do not inline. Call it
 * only through call_noinline() or call_indirect(): on GPUs these make the call that is not
 * inlined. */
#if defined(__CUDACC__)
#define GSHMEM_NOINLINE_BODY __forceinline__

/* The functions into which f is inlined, one for each kind of context; they are not inlined
 * themselves. The default context is not passed as an argument, because it would take a
 * register. */
template <auto f, class Function = decltype(f)> struct noinline_wrapper;
template <auto f, class Result, class Context, class... Parameters>
struct noinline_wrapper<f, Result (*)(const Context &, Parameters...)> {
    static __device__ __noinline__ Result in_unit(Parameters... p)
    {
        return f(unit_context(), p...);
    }
    static __device__ __noinline__ Result in_number(numbered_context c, Parameters... p)
    {
        return f(c, p...);
    }
    static __device__ __noinline__ Result in_context(context c, Parameters... p)
    {
        return f(c, p...);
    }
};

/* Calls f, which is not inlined. */
template <auto f, class... Arguments>
__device__ __forceinline__ auto call_noinline(unit_context, Arguments... a)
{
    return noinline_wrapper<f>::in_unit(a...);
}

template <auto f, class... Arguments>
__device__ __forceinline__ auto call_noinline(numbered_context c, Arguments... a)
{
    return noinline_wrapper<f>::in_number(c, a...);
}

template <auto f, class... Arguments>
__device__ __forceinline__ auto call_noinline(const context &c, Arguments... a)
{
    return noinline_wrapper<f>::in_context(c, a...);
}

/* The same for a rare call from a path that must stay small. The compiler cannot see through the
 * pointer, so the kernel needs the registers of the larger of the two, not of both together, and
 * live values go to the stack only where the call is made. */
template <auto f, class... Arguments>
__device__ __forceinline__ auto call_indirect(unit_context, Arguments... a)
{
    return hide_function(&noinline_wrapper<f>::in_unit)(a...);
}

template <auto f, class... Arguments>
__device__ __forceinline__ auto call_indirect(numbered_context c, Arguments... a)
{
    return hide_function(&noinline_wrapper<f>::in_number)(c, a...);
}

template <auto f, class... Arguments>
__device__ __forceinline__ auto call_indirect(const context &c, Arguments... a)
{
    return hide_function(&noinline_wrapper<f>::in_context)(c, a...);
}

/* The same with one of two functions of one type: f if is_first, else g. */
template <auto f, auto g, class... Arguments>
__device__ __forceinline__ auto call_either(unit_context, bool is_first, Arguments... a)
{
    return hide_function(is_first ? &noinline_wrapper<f>::in_unit
                                  : &noinline_wrapper<g>::in_unit)(a...);
}

template <auto f, auto g, class... Arguments>
__device__ __forceinline__ auto call_either(numbered_context c, bool is_first, Arguments... a)
{
    return hide_function(is_first ? &noinline_wrapper<f>::in_number
                                  : &noinline_wrapper<g>::in_number)(c, a...);
}

template <auto f, auto g, class... Arguments>
__device__ __forceinline__ auto call_either(const context &c, bool is_first, Arguments... a)
{
    return hide_function(is_first ? &noinline_wrapper<f>::in_context
                                  : &noinline_wrapper<g>::in_context)(c, a...);
}
#else
#define GSHMEM_NOINLINE_BODY __attribute__((noinline))

template <auto f, class... Arguments> inline auto call_noinline(const context &c, Arguments... a)
{
    return f(c, a...);
}

template <auto f, auto g, class... Arguments>
inline auto call_either(const context &c, bool is_first, Arguments... a)
{
    return is_first ? f(c, a...) : g(c, a...);
}

template <auto f, class... Arguments> inline auto call_indirect(const context &c, Arguments... a)
{
    return f(c, a...);
}
#endif

/* ---- the end of the job ---------------------------------------------------------------------- */

constexpr uint64_t host_time_to_act_ns = 10000000000u;

/* Ends the calling thread of the kernel. On a GPU, threads that wait for it at a barrier of the
 * block, or in a call of the warp, go on. The CPU device ends them, too. */
__device__ __forceinline__ void leave_kernel()
{
#if defined(__CUDACC__)
    asm volatile("exit;");
#else
    gshmemx_cpu_leave();
#endif
}

template <class Context> __device__ __forceinline__ uint32_t *has_left_of(const Context &c)
{
    return &reinterpret_cast<gsh_sync_area *>(state_of(c).base + GSH_WORLD_SYNC_OFF)->has_left;
}

/* Called when the abort word is not 0; kind is that of the report if the wait lasted too long. If
 * the job is ending, waits until the host ends it; if the host does not, stops this device. If the
 * kernel is to be left, leaves it, or returns from a wait that must not be left. */
__device__ __noinline__ inline void await_end(uint32_t abort_word, uint32_t kind,
                                              uint32_t *has_left)
{
    if (abort_word == GSH_ABORT_LEAVE && kind == GSH_REPORT_FAR_TIMEOUT)
        return;
    if (abort_word >= GSH_ABORT_LEAVE) {
#if defined(__CUDACC__)
        store_relaxed(has_left, 1u); /* seen by the kernels that follow this one: is_given_up */
#else
        (void)has_left;
#endif
        leave_kernel();
    }
#if !defined(__CUDACC__)
    gshmemx_cpu_report(); /* on a GPU the host's monitor looks for reports itself */
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

/* Each of the library's own kernels calls this before it sends anything to other PEs, and ends if
 * the result is true. An earlier kernel of its stream may have been left. Then the data on which
 * this one builds are missing or incomplete, and a PE that still waits would take what this kernel
 * sends for the earlier kernel's. has_left: the result of load_has_left, which is called early, so
 * that other loads need not wait for it. A GPU reads the abort word, which is in the host's memory,
 * only once some kernel has been left. No order needed: a kernel that follows another sees all that
 * the other has seen and written. */
template <class Context> __device__ __forceinline__ uint32_t load_has_left(const Context &c)
{
#if defined(__CUDACC__)
    return load_relaxed(has_left_of(c));
#else
    (void)c;
    return 1;
#endif
}
template <class Context>
__device__ __forceinline__ bool is_given_up(const Context &c, uint32_t has_left)
{
    return has_left != 0 && load_relaxed(&control_of(c)->abort_word) >= GSH_ABORT_LEAVE;
}

template <class Context>
__device__ __forceinline__ void leave_if_given_up(const Context &c, uint32_t has_left)
{
    if (is_given_up(c, has_left))
        leave_kernel();
}

/* By all threads of a block, which get the same answer. */
template <class Context> __device__ __forceinline__ bool is_given_up(const Context &c)
{
    const bool is_to_end = threadIdx.x == 0 && is_given_up(c, load_has_left(c));
    return any_of_block(is_to_end);
}

/* What a report says (state.h); call is the public name. Passed by address: registers used by the
 * callee would otherwise count against every kernel with a wait. */
struct trouble {
    uint32_t kind;
    int32_t pe;
    uint32_t cmp;
    const char *call;
    uint64_t address, expected, seen, bytes;
};

__device__ __forceinline__ void name_call(char *to, uint32_t bytes, const char *call)
{
    uint32_t n = 0;
    GSHMEM_NO_UNROLL
    while (n + 1 < bytes && call[n] != '\0') {
        to[n] = call[n];
        n++;
    }
    to[n] = '\0';
}

#if defined(GSHMEM_CALL_SITES)
/* A file's name without its folders. */
__device__ __forceinline__ const char *without_folders(const char *file)
{
    const char *name = file;
    GSHMEM_NO_UNROLL
    for (; *file != '\0'; file++)
        name = *file == '/' ? file + 1 : name;
    return name;
}

__device__ __forceinline__ void note_site(const context &c, gsh_waits_site *site, uint32_t request)
{
    if (c.file != nullptr) {
        site->line = c.line;
        name_call(site->file, sizeof site->file, without_folders(c.file));
        site->request = request;
    }
}
#endif

/* The entry of the table (waits.h) in which this thread answers the request; NULL: none. */
template <class Context>
__device__ __forceinline__ gsh_report *take_entry(const Context &c, const trouble *t)
{
    gsh_waits_table *table = reinterpret_cast<gsh_waits_table *>(control_of(c)->wait_table);
    const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const uint32_t bit =
        GSH_WAITS_BIT(block * blockDim.x * blockDim.y * blockDim.z + thread, t->address);
    if ((atomic_or(&table->answered[bit / 32], 1u << bit % 32) >> bit % 32 & 1) != 0)
        return nullptr;
    const uint32_t taken = atomic_add(&table->taken, 1u);
    if ((int32_t)(taken - load_relaxed(&table->limit)) >= 0)
        return nullptr;
    return &table->entry[taken % GSH_WAITS_ENTRIES];
}

/* Tells the host what went wrong (protocol in state.h) and does not return. Only a PE's first
 * report counts. If kernels are to leave their waits, leaves this kernel instead: the mistake may
 * come from another kernel that was left before it had finished.
 *
 * With a request, which is not 0: answers what this thread waits for, for so long as t->bytes says,
 * and returns. Both are one function, since what a wait calls takes registers of every kernel that
 * waits. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void report_trouble(const Context &c, const trouble *t,
                                                    uint32_t request)
{
    gsh_report *r = &control_of(c)->report;
    bool is_own;
    if (request != 0) {
        r = take_entry(c, t);
        is_own = r != nullptr;
    } else {
        const uint32_t abort_word = load_relaxed(&control_of(c)->abort_word);
        if (abort_word >= GSH_ABORT_LEAVE && t->kind != GSH_REPORT_GLOBAL_EXIT)
            await_end(abort_word, t->kind, has_left_of(c));
        is_own = claim(&r->state);
    }
    if (is_own) {
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
        r->host_thread = 0;
        r->team = -1;
        name_call(r->call, sizeof r->call, t->call);
#if defined(GSHMEM_CALL_SITES)
        gsh_waits_table *table = reinterpret_cast<gsh_waits_table *>(control_of(c)->wait_table);
        if (request != 0)
            note_site(c, &table->site[r - table->entry], request);
        else if (table != nullptr)
            note_site(c, &table->site[GSH_WAITS_ENTRIES], 1);
#endif
        /* pairs with the acquire of the host's monitor, or in gsh_waits_read */
        store_release(&r->state, request != 0 ? request : (uint32_t)2);
    }
    if (request == 0)
        await_end(GSH_ABORT_END, GSH_REPORT_NONE, has_left_of(c));
}

template <class Context>
__device__ __forceinline__ void report(const Context &c, uint32_t kind, const char *call,
                                       int32_t pe, uint32_t cmp, uint64_t address,
                                       uint64_t expected, uint64_t seen, uint64_t bytes)
{
    trouble t = {kind, pe, cmp, call, address, expected, seen, bytes};
    call_noinline<report_trouble<Context>>(c, &t, 0u);
}

#if defined(GSHMEM_CHECKS)
/* Tells the host why a call returns an error. Only a PE's first refusal counts. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void tell_refusal(const Context &c, const trouble *t)
{
    gsh_refusal *n = &control_of(c)->refusal;
    if (!claim(&n->state))
        return;
    n->what = t->kind;
    n->value = (int32_t)t->seen;
    n->of = (int32_t)t->expected;
    name_call(n->call, sizeof n->call, t->call);
    store_release(&n->state, (uint32_t)2); /* pairs with the acquire of the host's monitor */
#if !defined(__CUDACC__)
    gshmemx_cpu_report();
#endif
}
#endif

/* A collective's result for impossible arguments. In checking builds one thread of the group also
 * says what is wrong; the library's own kernels do so themselves. */
template <class Context, class Group>
__device__ __forceinline__ int refuse(const Context &c, Group g, const char *call, uint32_t what,
                                      int value, int of)
{
#if defined(GSHMEM_CHECKS) && !defined(GSHMEM_SILENT_REFUSALS)
    if (g.rank() == 0) {
        trouble t = {what, -1, 0, call, 0, (uint64_t)of, (uint64_t)value, 0};
        call_noinline<tell_refusal<Context>>(c, &t);
    }
#else
    (void)c, (void)g, (void)call, (void)what, (void)value, (void)of;
#endif
    return GSHMEMX_ERROR_INVALID_VALUE;
}

} // namespace detail

/* Ends the job. */
template <class Context> __device__ __forceinline__ void global_exit(const Context &c, int status)
{
    detail::report(c, GSH_REPORT_GLOBAL_EXIT, "gshmem_global_exit", -1, 0, 0,
                   (uint64_t)(int64_t)status, 0, 0);
}

} // namespace gshmem

#endif
