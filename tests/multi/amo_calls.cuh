/* SPDX-License-Identifier: Apache-2.0
 * Every AMO behind one signature, one row per type, and each one's sequential model. Used by
 * check_amo (values) and amo (concurrency). */
#ifndef GSH_TEST_AMO_CALLS_CUH
#define GSH_TEST_AMO_CALLS_CUH

#include <type_traits>
#include "tests/rig/pe.cuh"

/* clang-format off */
#define AMO_OPS(M)                                                                                 \
    M(fetch) M(set) M(swap)                                                                        \
    M(compare_swap) M(fetch_inc) M(inc) M(fetch_add) M(add)                                        \
    M(fetch_and) M(and) M(fetch_or) M(or) M(fetch_xor) M(xor)
/* clang-format on */
#define ENUM(OP) amo_##OP,
enum amo_op { AMO_OPS(ENUM) n_amo_ops };
#undef ENUM
#define NAME(OP) #OP,
static const char *const amo_names[n_amo_ops] = {AMO_OPS(NAME)};
#undef NAME

/* One AMO on *dest of pe. The bits of value and condition are the type's; a fetching form stores
 * the old value at result, if the caller can write. */
struct amo_call {
    void *dest;
    uint64_t value, cond;
    uint64_t *result;
    int pe;
};

template <class T> static inline HD T amo_from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> static inline HD uint64_t amo_to_bits(T value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/* The calls of one row that each set of the type table adds; none unless stamped below. */
struct amo_none {
    template <class T> static HD bool run(int, T *, T, T, T *, int) { return false; }
};
/* clang-format off */
template <class Row> struct amo_ext : amo_none {};
template <class Row> struct amo_std : amo_none {};
template <class Row> struct amo_bit : amo_none {};
#define TAG(NAME, T) struct NAME##_row { typedef T type; };
GSHMEM_TYPES_AMO_EXT(TAG) /* has every type that the other sets have */
#undef TAG
#define SET(NAME, T)                                                                               \
    template <> struct amo_ext<NAME##_row> {                                                       \
        static HD bool run(int op, T *d, T v, T, T *got, int pe)                                   \
        {                                                                                          \
            switch (op) {                                                                          \
            case amo_fetch: *got = gshmem_##NAME##_atomic_fetch(d, pe); return true;               \
            case amo_set: gshmem_##NAME##_atomic_set(d, v, pe); return true;                       \
            case amo_swap: *got = gshmem_##NAME##_atomic_swap(d, v, pe); return true;              \
            default: return false;                                                                 \
            }                                                                                      \
        }                                                                                          \
    };
GSHMEM_TYPES_AMO_EXT(SET)
#undef SET
#define SET(NAME, T)                                                                               \
    template <> struct amo_std<NAME##_row> {                                                       \
        static HD bool run(int op, T *d, T v, T cond, T *got, int pe)                              \
        {                                                                                          \
            switch (op) {                                                                          \
            case amo_compare_swap:                                                                 \
                *got = gshmem_##NAME##_atomic_compare_swap(d, cond, v, pe); return true;           \
            case amo_fetch_inc: *got = gshmem_##NAME##_atomic_fetch_inc(d, pe); return true;       \
            case amo_inc: gshmem_##NAME##_atomic_inc(d, pe); return true;                          \
            case amo_fetch_add: *got = gshmem_##NAME##_atomic_fetch_add(d, v, pe); return true;    \
            case amo_add: gshmem_##NAME##_atomic_add(d, v, pe); return true;                       \
            default: return false;                                                                 \
            }                                                                                      \
        }                                                                                          \
    };
GSHMEM_TYPES_AMO_STD(SET)
#undef SET
#define SET(NAME, T)                                                                               \
    template <> struct amo_bit<NAME##_row> {                                                       \
        static HD bool run(int op, T *d, T v, T, T *got, int pe)                                   \
        {                                                                                          \
            switch (op) {                                                                          \
            case amo_fetch_and: *got = gshmem_##NAME##_atomic_fetch_and(d, v, pe); return true;    \
            case amo_and: gshmem_##NAME##_atomic_and(d, v, pe); return true;                       \
            case amo_fetch_or: *got = gshmem_##NAME##_atomic_fetch_or(d, v, pe); return true;      \
            case amo_or: gshmem_##NAME##_atomic_or(d, v, pe); return true;                         \
            case amo_fetch_xor: *got = gshmem_##NAME##_atomic_fetch_xor(d, v, pe); return true;    \
            case amo_xor: gshmem_##NAME##_atomic_xor(d, v, pe); return true;                       \
            default: return false;                                                                 \
            }                                                                                      \
        }                                                                                          \
    };
GSHMEM_TYPES_AMO_BIT(SET)
#undef SET
/* clang-format on */

/* Makes the call; returns false if the type does not have it. */
template <class Row> static HD bool amo_run(int op, const amo_call &c)
{
    typedef typename Row::type T;
    T *dest = (T *)c.dest;
    const T value = amo_from_bits<T>(c.value), cond = amo_from_bits<T>(c.cond);
    T got = T();
    const bool is_made = amo_ext<Row>::run(op, dest, value, cond, &got, c.pe) ||
                         amo_std<Row>::run(op, dest, value, cond, &got, c.pe) ||
                         amo_bit<Row>::run(op, dest, value, cond, &got, c.pe);
    *c.result = amo_to_bits(got);
    return is_made;
}

static inline bool amo_exists(int op, bool has_std, bool has_bit)
{
    return op < amo_compare_swap || (op < amo_fetch_and ? has_std : has_bit);
}

/* What the call makes of *word, and what it fetches (0 if nothing), as bits. */
template <class T>
static uint64_t amo_model(int op, T *word, uint64_t value_bits, uint64_t cond_bits)
{
    const T value = amo_from_bits<T>(value_bits);
    const uint64_t before = amo_to_bits(*word);
    if (op == amo_fetch)
        return before;
    if (op == amo_set || op == amo_swap) {
        memcpy(word, &value, sizeof value);
        return op == amo_set ? 0 : before;
    }
    if constexpr (std::is_integral<T>::value) {
        typedef typename std::make_unsigned<T>::type U;
        const U old = (U)*word, operand = (U)value;
        U now = old;
        switch (op) {
        case amo_compare_swap:
            now = old == amo_from_bits<U>(cond_bits) ? operand : old;
            break;
        case amo_fetch_inc:
        case amo_inc:
            now = old + 1;
            break;
        case amo_fetch_add:
        case amo_add:
            now = old + operand;
            break;
        case amo_fetch_and:
        case amo_and:
            now = old & operand;
            break;
        case amo_fetch_or:
        case amo_or:
            now = old | operand;
            break;
        default:
            now = old ^ operand;
            break;
        }
        *word = (T)now;
        const bool fetches = op == amo_compare_swap || op == amo_fetch_inc || op == amo_fetch_add ||
                             op == amo_fetch_and || op == amo_fetch_or || op == amo_fetch_xor;
        return fetches ? before : 0;
    }
    return 0;
}

/* One thread for each call. */
template <class Row> __global__ void amo_kernel(int op, const amo_call *calls, int n)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (int)(gridDim.x * blockDim.x))
        amo_run<Row>(op, calls[i]);
    gshmem_quiet();
}

template <class Row>
static void amo_launch(int op, const amo_call *calls, int n, unsigned grid, unsigned block,
                       cudaStream_t stream)
{
    gshmem_launch(amo_kernel<Row>, dim3(grid), dim3(block), 0, stream, op, calls, n);
}

struct amo_row {
    const char *name;
    size_t size;
    bool has_std, has_bit;
    bool (*on_host)(int op, const amo_call &c);
    void (*launch)(int op, const amo_call *calls, int n, unsigned grid, unsigned block,
                   cudaStream_t stream);
    uint64_t (*model)(int op, void *word, uint64_t value, uint64_t cond);
};

template <class T> static uint64_t amo_model_at(int op, void *word, uint64_t value, uint64_t cond)
{
    T now;
    memcpy(&now, word, sizeof now);
    const uint64_t fetched = amo_model<T>(op, &now, value, cond);
    memcpy(word, &now, sizeof now);
    return fetched;
}

static const amo_row amo_rows[] = {
#define TYPE(NAME, T)                                        \
    {#NAME,                                                  \
     sizeof(T),                                              \
     !std::is_base_of<amo_none, amo_std<NAME##_row>>::value, \
     !std::is_base_of<amo_none, amo_bit<NAME##_row>>::value, \
     amo_run<NAME##_row>,                                    \
     amo_launch<NAME##_row>,                                 \
     amo_model_at<T>},
    GSHMEM_TYPES_AMO_EXT(TYPE)
#undef TYPE
};
enum { n_amo_rows = sizeof amo_rows / sizeof amo_rows[0] };

#endif
