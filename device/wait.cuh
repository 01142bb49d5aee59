/* SPDX-License-Identifier: Apache-2.0
 * Waits and tests on this PE's own symmetric words, and the one bounded spin that every wait of the
 * library uses. The loads are acquires at system scope, or followed by a fence that is: they pair
 * with the fence and store (or atomic) of signal.cuh, and with a peer's fence and p or atomic.
 *
 * The acquire is enough on the network's routes as well. The far PE's data and signal reach this PE
 * in that order through this PE's own proxy or its transport:
 * - CPU device: the transport completes the data in host memory, as its CPU sees it, before the
 *   proxy carries out the signal by a release on the same word. There is no further step.
 * - CUDA, staged: the proxy's copies into this GPU's memory and the signal's atomic go, in order,
 *   through streams of this GPU, so the data are written by the device that reads them before the
 *   word changes.
 * If on some route a NIC wrote into GPU memory directly while the signal took another way, those
 * writes would have to be flushed here, after the last load and before the return. */
#ifndef GSHMEM_WAIT_CUH
#define GSHMEM_WAIT_CUH

#include "address.cuh"
#include "trace.cuh"
#include "gshmem/types.h"

namespace gshmem
{

namespace detail
{

/* Now and then a wait checks whether its time limit has passed or the job is ending. A GPU does so
 * after this many failed polls, 0.6 ms on an H200; on the CPU device an iteration may sleep, and
 * checking is cheap. */
constexpr uint32_t looks_between = is_cpu_device ? 1 : 1024;

/* What a wait keeps from one check to the next: the time of the first check, and in the low bits
 * the number of checks. Only one check in this many reads the abort word, which is in host memory.
 * If all threads of a grid read it, the reads delay each other by milliseconds, during which none
 * of the threads polls its own word. */
constexpr uint64_t abort_bits = 63;

/* Whether nothing will write the word any more: gsh_lost_range. */
template <class Context> __device__ __forceinline__ bool is_lost(const Context &c, uint64_t address)
{
    const gsh_control *control = control_of(c);
    const uint32_t n = load_acquire(&control->n_lost); /* pairs with the release of the PE's host */
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < n && i < GSH_LOST_RANGES_MAX; i++)
        if (address - control->lost[i].begin < control->lost[i].bytes)
            return true;
    return false;
}

/* Does not return if the job is ending, the kernel is to be left, or the time limit has passed. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t look_around(const Context &c, uint64_t start, trouble *t)
{
    const gsh_state &s = state_of(c);
    const uint64_t now = clock_ns();
    uint64_t began = start & ~abort_bits;
    bool is_late = false;
    uint32_t request = 0;
    if (began == 0)
        began = now & ~abort_bits;
    else if (s.wait_timeout_ns != 0) {
        uint64_t limit = s.wait_timeout_ns;
        if (t->kind == GSH_REPORT_SYNC_TIMEOUT)
            limit = GSH_SYNC_LIMIT_NS(limit);
        /* Waits for other blocks of this PE: these may be waiting for another PE, and should report
         * that first. */
        if (t->kind == GSH_REPORT_SYNC_TIMEOUT && t->pe == s.my_pe)
            limit = GSH_SYNC_LIMIT_NS(limit);
        is_late = now - began >= limit;
    }
    /* No order needed: nothing but the clock is read after it. */
    if (is_late || (start & abort_bits) == abort_bits) {
        uint32_t abort_word = load_relaxed(&control_of(c)->abort_word);
        if (abort_word == GSH_ABORT_NONE && is_lost(c, t->address)) {
            store_relaxed(&control_of(c)->has_left_lost, 1u); /* the host only asks whether */
            abort_word = GSH_ABORT_LEAVE;
        }
        if (abort_word != GSH_ABORT_NONE)
            await_end(abort_word, t->kind, has_left_of(c));
        /* pairs with the release of the PE's host, which has made the table before */
        request = load_acquire(&control_of(c)->wait_request);
    }
    t->bytes = is_late ? 0 : now - began;
    if (is_late || request != 0)
        call_noinline<report_trouble<Context>>(c, t, is_late ? 0 : request);
    return began | ((start + 1) & abort_bits);
}

/* The same for a failed poll of one word. */
template <class Type, class Context>
__device__ __forceinline__ uint64_t look_around_at(const Context &c, uint64_t start, uint32_t kind,
                                                   const char *call, int pe, int cmp,
                                                   const Type *address, Type expected, Type seen)
{
    trouble t = {kind,
                 pe,
                 (uint32_t)cmp,
                 call,
                 reinterpret_cast<uint64_t>(address),
                 (uint64_t)expected,
                 (uint64_t)seen,
                 0};
    return call_noinline<look_around<Context>>(c, start, &t);
}

/* The spin: poll; after a failed poll call keep_polling() with the value, otherwise done(). For
 * waits that are rare or whose polls take long: each check reads the abort word. */
struct spin {
    static constexpr uint32_t polls_between = is_cpu_device ? 1 : 512;
    uint64_t start = 0;
    uint32_t polls = 0;

    template <class Type, class Context>
    __device__ __forceinline__ void keep_polling(const Context &c, uint32_t kind, const char *call,
                                                 int pe, int cmp, const Type *address,
                                                 Type expected, Type seen)
    {
        spin_pause();
        if (++polls % polls_between == 0)
            start =
                look_around_at(c, start | abort_bits, kind, call, pe, cmp, address, expected, seen);
    }
    __device__ __forceinline__ void done() const { spin_done(); }
};

/* Polls one word with load until is_enough accepts its value, and returns the value. Between two
 * polls there is only a counter: on NVLink half of that time is added to the latency of each flag.
 * Otherwise like spin. */
template <class Type, class Load, class Test, class Context>
__device__ __forceinline__ Type spin_on(const Context &c, const Type *word, Load load,
                                        Test is_enough, uint32_t kind, const char *call, int pe,
                                        int cmp, Type expected)
{
    Type seen = load(word);
    for (uint64_t start = 0; !is_enough(seen);) {
        GSHMEM_NO_UNROLL
        for (uint32_t polls = looks_between; polls != 0; polls--) {
            spin_pause();
            seen = load(word);
            if (is_enough(seen)) {
                spin_done();
                return seen;
            }
        }
        start = look_around_at(c, is_cpu_device ? start | abort_bits : start, kind, call, pe, cmp,
                               word, expected, seen);
    }
    spin_done();
    return seen;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

#define GSHMEM_COMPARISON(NAME, OPERATOR)                                                      \
    struct NAME {                                                                              \
        template <class Type> __device__ __forceinline__ bool operator()(Type a, Type b) const \
        {                                                                                      \
            return a OPERATOR b;                                                               \
        }                                                                                      \
    };
GSHMEM_COMPARISON(is_equal, ==)
GSHMEM_COMPARISON(is_not_equal, !=)
GSHMEM_COMPARISON(is_greater, >)
GSHMEM_COMPARISON(is_less_equal, <=)
GSHMEM_COMPARISON(is_less, <)
GSHMEM_COMPARISON(is_greater_equal, >=)
#undef GSHMEM_COMPARISON

/* Calls f with the comparison as a type, so loops in f need not choose each time. */
template <class Function> __device__ __forceinline__ auto with_comparison(int cmp, Function f)
{
    switch (cmp) {
    case GSHMEM_CMP_EQ:
        return f(is_equal());
    case GSHMEM_CMP_NE:
        return f(is_not_equal());
    case GSHMEM_CMP_GT:
        return f(is_greater());
    case GSHMEM_CMP_LE:
        return f(is_less_equal());
    case GSHMEM_CMP_LT:
        return f(is_less());
    default:
        return f(is_greater_equal());
    }
}

/* The value that ivars[i] is compared with: one for all, or one each (the vector forms). */
template <class Type> struct one_value {
    Type value;
    __device__ __forceinline__ Type operator[](size_t) const { return value; }
};
template <class Type> __device__ __forceinline__ Type first_value(Type value)
{
    return value;
}
template <class Type> __device__ __forceinline__ Type first_value(const Type *values)
{
    return values[0];
}
template <class Type> struct each_value {
    const Type *values;
    __device__ __forceinline__ Type operator[](size_t i) const { return values[i]; }
};

/* status[i] != 0 excludes ivars[i]. */
__device__ __forceinline__ bool is_left_out(const int *status, size_t i)
{
    return status && status[i] != 0;
}

/* Where a pass over n words begins. The start keeps changing, so that over a series of calls each
 * word that satisfies its comparison is found. */
__device__ __forceinline__ size_t pass_start(size_t n)
{
    uint32_t random = (uint32_t)clock64() * 2654435761u;
    return n < 2 ? 0 : (size_t)((uint64_t)random * (uint32_t)n >> 32);
}

/* cmp is a comparison and the words are this PE's. */
template <class Type, class Context>
__device__ __forceinline__ void check_wait(const Context &c, const char *call, const Type *ivars,
                                           size_t nelems, int cmp)
{
    const int me = state_of(c).my_pe;
    check_value(c, call, cmp >= GSHMEM_CMP_EQ && cmp <= GSHMEM_CMP_GE, GSH_REPORT_BAD_CMP, cmp, me);
    check_words(c, call, ivars, nelems, me);
}

/* ---- all forms ------------------------------------------------------------------------------- */

/* Returns the value that satisfied the comparison. The caller acquires. */
template <class Type, class Test, class Context>
__device__ __forceinline__ Type look_until(const Context &c, const Type *ivar, Test test, int cmp,
                                           Type value, const char *call)
{
    return spin_on(
        c, ivar, [](const Type *p) { return load_awaited(p); },
        [=](Type v) { return test(v, value); }, GSH_REPORT_WAIT_TIMEOUT, call, -1, cmp, value);
}

template <class Type, class Test, class Context>
__device__ __forceinline__ Type wait_word(const Context &c, const Type *ivar, Test test, int cmp,
                                          Type value, const char *call)
{
    Type seen = look_until(c, ivar, test, cmp, value, call);
    acquire_awaited();
    return seen;
}

/* How many words a wait for all words polls at once, excluded ones included. It then waits for
 * those whose poll failed, one after another, and goes on with the next ones. */
constexpr uint32_t looks_at_once = 8;

template <class Type, class Values, class Context>
__device__ __forceinline__ void wait_all(const Context &c, const Type *ivars, size_t nelems,
                                         const int *status, int cmp, Values values,
                                         const char *call)
{
    check_wait(c, call, ivars, nelems, cmp);
    with_comparison(cmp, [&](auto test) {
        GSHMEM_NO_UNROLL
        for (size_t first = 0; first < nelems; first += looks_at_once) {
            Type seen[looks_at_once] = {};
            uint32_t in_vain = 0; /* bit k: word first + k */
            GSHMEM_UNROLL
            for (uint32_t k = 0; k < looks_at_once; k++)
                if (first + k < nelems)
                    seen[k] = load_awaited(ivars + first + k);
            GSHMEM_UNROLL
            for (uint32_t k = 0; k < looks_at_once; k++)
                if (first + k < nelems && !is_left_out(status, first + k) &&
                    !test(seen[k], (Type)values[first + k]))
                    in_vain |= 1u << k;
            GSHMEM_NO_UNROLL
            for (size_t i = first; in_vain != 0; i++, in_vain >>= 1)
                if (in_vain & 1)
                    look_until(c, ivars + i, test, cmp, (Type)values[i], call);
        }
    });
    acquire_awaited();
    spin_done();
}

template <class Type, class Values, class Context>
__device__ __forceinline__ int test_all(const Context &c, const Type *ivars, size_t nelems,
                                        const int *status, int cmp, Values values, const char *call)
{
    check_wait(c, call, ivars, nelems, cmp);
    return with_comparison(cmp, [&](auto test) {
        for (size_t i = 0; i < nelems; i++) {
            if (!is_left_out(status, i) && !test(load_awaited(ivars + i), (Type)values[i])) {
                spin_pause();
                return 0;
            }
        }
        acquire_awaited();
        return 1;
    });
}

/* The index of a word that satisfies its comparison; SIZE_MAX: none (test) or all excluded. */
template <bool is_wait, class Type, class Values, class Context>
__device__ __forceinline__ size_t find_any(const Context &c, const Type *ivars, size_t nelems,
                                           const int *status, int cmp, Values values,
                                           const char *call)
{
    check_wait(c, call, ivars, nelems, cmp);
    return with_comparison(cmp, [&](auto test) {
        spin s;
        size_t i = pass_start(nelems);
        for (;;) {
            size_t looked_at = SIZE_MAX;
            Type seen = 0;
            for (size_t pass = 0; pass < nelems; pass++) {
                i = i + 1 < nelems ? i + 1 : 0;
                if (is_left_out(status, i))
                    continue;
                looked_at = i;
                seen = load_awaited(ivars + i);
                if (test(seen, (Type)values[i])) {
                    acquire_awaited();
                    s.done();
                    return i;
                }
            }
            if (!is_wait)
                spin_pause();
            if (!is_wait || looked_at == SIZE_MAX)
                return (size_t)SIZE_MAX;
            s.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, call, -1, cmp, ivars + looked_at,
                           (Type)values[looked_at], seen);
        }
    });
}

/* Fills indices with all that satisfy and returns their number; 0: none (test) or all excluded. */
template <bool is_wait, class Type, class Values, class Context>
__device__ __forceinline__ size_t find_some(const Context &c, const Type *ivars, size_t nelems,
                                            size_t *indices, const int *status, int cmp,
                                            Values values, const char *call)
{
    check_wait(c, call, ivars, nelems, cmp);
    return with_comparison(cmp, [&](auto test) {
        spin s;
        for (;;) {
            size_t found = 0, looked_at = SIZE_MAX;
            Type seen = 0;
            for (size_t i = 0; i < nelems; i++) {
                if (is_left_out(status, i))
                    continue;
                looked_at = i;
                seen = load_awaited(ivars + i);
                if (test(seen, (Type)values[i]))
                    indices[found++] = i;
            }
            if (!is_wait && found == 0)
                spin_pause();
            if (!is_wait || found > 0 || looked_at == SIZE_MAX) {
                acquire_awaited();
                s.done();
                return found;
            }
            s.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, call, -1, cmp, ivars + looked_at,
                           (Type)values[looked_at], seen);
        }
    });
}

} // namespace detail

/* ---- the public templates: contracts in gshmem/typed.h --------------------------------------- */

template <class Type, class Context>
__device__ __forceinline__ void wait_until(const Context &c, Type *ivar, int cmp, Type value,
                                           const char *call = "gshmem::wait_until")
{
    GSHMEM_TRACED_WAIT(c, call, ivar, 1, cmp, value);
    detail::check_wait(c, call, ivar, 1, cmp);
    detail::with_comparison(cmp, [&](auto test) {
        [[maybe_unused]] Type seen = detail::wait_word(c, ivar, test, cmp, value, call);
        GSHMEM_TRACED_SAW(seen);
    });
}

template <class Context>
__device__ __forceinline__ uint64_t
signal_wait_until(const Context &c, uint64_t *sig_addr, int cmp, uint64_t value,
                  const char *call = "gshmem::signal_wait_until")
{
    GSHMEM_TRACED_WAIT(c, call, sig_addr, 1, cmp, value);
    detail::check_wait(c, call, sig_addr, 1, cmp);
    const uint64_t seen = detail::with_comparison(
        cmp, [&](auto test) { return detail::wait_word(c, sig_addr, test, cmp, value, call); });
    GSHMEM_TRACED_SAW(seen);
    return seen;
}

template <class Type, class Context>
__device__ __forceinline__ int test(const Context &c, Type *ivar, int cmp, Type value,
                                    const char *call = "gshmem::test")
{
    return detail::test_all(c, ivar, 1, nullptr, cmp, detail::one_value<Type>{value}, call);
}

/* Each form twice: one value for all, and (vector) one for each. */
#define GSHMEM_FORMS(SUFFIX, V, ARGUMENT, VALUES)                                                  \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ void wait_until_all##SUFFIX(                                        \
        const Context &c, Type *ivars, size_t nelems, const int *status, int cmp, ARGUMENT,        \
        const char *call = "gshmem::wait_until_all" #SUFFIX)                                       \
    {                                                                                              \
        GSHMEM_TRACED_WAIT(c, call, ivars, nelems, cmp, detail::first_value(VALUES));              \
        detail::wait_all(c, ivars, nelems, status, cmp, detail::V<Type>{VALUES}, call);            \
    }                                                                                              \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ size_t wait_until_any##SUFFIX(                                      \
        const Context &c, Type *ivars, size_t nelems, const int *status, int cmp, ARGUMENT,        \
        const char *call = "gshmem::wait_until_any" #SUFFIX)                                       \
    {                                                                                              \
        GSHMEM_TRACED_WAIT(c, call, ivars, nelems, cmp, detail::first_value(VALUES));              \
        return detail::find_any<true>(c, ivars, nelems, status, cmp, detail::V<Type>{VALUES},      \
                                      call);                                                       \
    }                                                                                              \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ size_t wait_until_some##SUFFIX(                                     \
        const Context &c, Type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
        ARGUMENT, const char *call = "gshmem::wait_until_some" #SUFFIX)                            \
    {                                                                                              \
        GSHMEM_TRACED_WAIT(c, call, ivars, nelems, cmp, detail::first_value(VALUES));              \
        return detail::find_some<true>(c, ivars, nelems, indices, status, cmp,                     \
                                       detail::V<Type>{VALUES}, call);                             \
    }                                                                                              \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ int test_all##SUFFIX(const Context &c, Type *ivars, size_t nelems,  \
                                                    const int *status, int cmp, ARGUMENT,          \
                                                    const char *call = "gshmem::test_all" #SUFFIX) \
    {                                                                                              \
        return detail::test_all(c, ivars, nelems, status, cmp, detail::V<Type>{VALUES}, call);     \
    }                                                                                              \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ size_t test_any##SUFFIX(                                            \
        const Context &c, Type *ivars, size_t nelems, const int *status, int cmp, ARGUMENT,        \
        const char *call = "gshmem::test_any" #SUFFIX)                                             \
    {                                                                                              \
        return detail::find_any<false>(c, ivars, nelems, status, cmp, detail::V<Type>{VALUES},     \
                                       call);                                                      \
    }                                                                                              \
    template <class Type, class Context>                                                           \
    __device__ __forceinline__ size_t test_some##SUFFIX(                                           \
        const Context &c, Type *ivars, size_t nelems, size_t *indices, const int *status, int cmp, \
        ARGUMENT, const char *call = "gshmem::test_some" #SUFFIX)                                  \
    {                                                                                              \
        return detail::find_some<false>(c, ivars, nelems, indices, status, cmp,                    \
                                        detail::V<Type>{VALUES}, call);                            \
    }
GSHMEM_FORMS(, one_value, Type value, value)
GSHMEM_FORMS(_vector, each_value, const Type *values, values)
#undef GSHMEM_FORMS

} // namespace gshmem

#endif
