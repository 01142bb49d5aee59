/* SPDX-License-Identifier: Apache-2.0
 * Proves that every generic name chooses the right typed call for every type that it supports, with
 * and without a context in front, in C11 and (as generic_cxx.cc) in C++. Makes no call. */
#include <gshmem.h>
#include "tests/test.h"

/* The types promised for each name, spelled out again: a generated list would prove nothing. */
/* clang-format off */
#define RMA_TYPES(M)                                                                               \
    AMO_FLOATS(M) WAIT_TYPES(M) M(long double) M(gshmem_bfloat16_t) M(gshmem_half_t) M(char) M(signed char)       \
    M(unsigned char) M(int8_t) M(uint8_t)
#define WAIT_TYPES(M) AMO_TYPES(M) M(short) M(unsigned short) M(int16_t) M(uint16_t)
#define AMO_TYPES(M) BIT_TYPES(M) M(int) M(long) M(long long) M(size_t) M(ptrdiff_t)
#define BIT_TYPES(M)                                                                               \
    M(unsigned int) M(unsigned long) M(unsigned long long) M(int32_t) M(int64_t) M(uint32_t)       \
    M(uint64_t)
#define AMO_FLOATS(M) M(float) M(double)
/* clang-format on */

/* Never true, unknown to the compiler. */
static volatile int is_called;

static uint64_t signal_word;
static size_t found[4];
static int status[4];
static gshmem_ctx_t ctx;
#define WITH_CTX ctx,

#define RMA_IN(CTX, T)                                                                     \
    if (is_called) {                                                                       \
        static T dest[4];                                                                  \
        const T *source = dest;                                                            \
        gshmem_p(CTX dest, source[0], 0);                                                  \
        dest[1] = gshmem_g(CTX source, 0);                                                 \
        gshmem_p(CTX dest, gshmem_g(CTX source + 1, gshmem_my_pe()), 0);                   \
        gshmem_put(CTX dest, source, 4, 0);                                                \
        gshmem_get(CTX dest, source, 4, 0);                                                \
        gshmem_put_nbi(CTX dest, source, 4, 0);                                            \
        gshmem_get_nbi(CTX dest, source, 4, 0);                                            \
        gshmem_iput(CTX dest, source, 1, 2, 2, 0);                                         \
        gshmem_iget(CTX dest, source, 1, 2, 2, 0);                                         \
        gshmem_ibput(CTX dest, source, 2, 2, 2, 1, 0);                                     \
        gshmem_ibget(CTX dest, source, 2, 2, 2, 1, 0);                                     \
        gshmem_put_signal(CTX dest, source, 4, &signal_word, 1, GSHMEM_SIGNAL_SET, 0);     \
        gshmem_put_signal_nbi(CTX dest, source, 4, &signal_word, 1, GSHMEM_SIGNAL_ADD, 0); \
    }
#define RMA(T) RMA_IN(, T) RMA_IN(WITH_CTX, T)
#define AMO_IN(CTX, T)                                           \
    if (is_called) {                                             \
        T word[2] = {0, 0};                                      \
        word[1] = gshmem_atomic_compare_swap(CTX word, 1, 2, 0); \
        word[1] = gshmem_atomic_fetch_inc(CTX word, 0);          \
        gshmem_atomic_compare_swap_nbi(CTX word, word, 1, 2, 0); \
        gshmem_atomic_fetch_inc_nbi(CTX word, word, 0);          \
        gshmem_atomic_fetch_add_nbi(CTX word, word, 1, 0);       \
        gshmem_atomic_inc(CTX word, 0);                          \
        word[1] = gshmem_atomic_fetch_add(CTX word, 1, 0);       \
        gshmem_atomic_add(CTX word, 1, 0);                       \
    }
#define AMO(T) AMO_IN(, T) AMO_IN(WITH_CTX, T)
#define EXT_IN(CTX, T)                                \
    if (is_called) {                                  \
        T word[2] = {0, 0};                           \
        const T *source = word;                       \
        word[1] = gshmem_atomic_fetch(CTX source, 0); \
        gshmem_atomic_set(CTX word, 1, 0);            \
        word[1] = gshmem_atomic_swap(CTX word, 1, 0); \
        gshmem_atomic_fetch_nbi(CTX word, source, 0); \
        gshmem_atomic_swap_nbi(CTX word, word, 1, 0); \
    }
#define EXT(T) EXT_IN(, T) EXT_IN(WITH_CTX, T)
#define BIT_IN(CTX, T)                                     \
    if (is_called) {                                       \
        T word[2] = {0, 0};                                \
        word[1] = gshmem_atomic_fetch_and(CTX word, 1, 0); \
        gshmem_atomic_and(CTX word, 1, 0);                 \
        word[1] = gshmem_atomic_fetch_or(CTX word, 1, 0);  \
        gshmem_atomic_or(CTX word, 1, 0);                  \
        word[1] = gshmem_atomic_fetch_xor(CTX word, 1, 0); \
        gshmem_atomic_xor(CTX word, 1, 0);                 \
        gshmem_atomic_fetch_and_nbi(CTX word, word, 1, 0); \
        gshmem_atomic_fetch_or_nbi(CTX word, word, 1, 0);  \
        gshmem_atomic_fetch_xor_nbi(CTX word, word, 1, 0); \
    }
#define BIT(T) BIT_IN(, T) BIT_IN(WITH_CTX, T)
#define WAIT(T)                                                                                    \
    if (is_called) {                                                                               \
        T words[4] = {0, 0, 0, 0}, values[4] = {0, 0, 0, 0};                                       \
        gshmem_wait_until(words, GSHMEM_CMP_EQ, 0);                                                \
        gshmem_wait_until_all(words, 4, status, GSHMEM_CMP_EQ, 0);                                 \
        found[0] = gshmem_wait_until_any(words, 4, status, GSHMEM_CMP_EQ, 0);                      \
        found[0] += gshmem_wait_until_some(words, 4, found, status, GSHMEM_CMP_EQ, 0);             \
        gshmem_wait_until_all_vector(words, 4, status, GSHMEM_CMP_EQ, values);                     \
        found[0] += gshmem_wait_until_any_vector(words, 4, status, GSHMEM_CMP_EQ, values);         \
        found[0] += gshmem_wait_until_some_vector(words, 4, found, status, GSHMEM_CMP_EQ, values); \
        is_called += gshmem_test(words, GSHMEM_CMP_EQ, 0);                                         \
        is_called += gshmem_test_all(words, 4, status, GSHMEM_CMP_EQ, 0);                          \
        found[0] += gshmem_test_any(words, 4, status, GSHMEM_CMP_EQ, 0);                           \
        found[0] += gshmem_test_some(words, 4, found, status, GSHMEM_CMP_EQ, 0);                   \
        is_called += gshmem_test_all_vector(words, 4, status, GSHMEM_CMP_EQ, values);              \
        found[0] += gshmem_test_any_vector(words, 4, status, GSHMEM_CMP_EQ, values);               \
        found[0] += gshmem_test_some_vector(words, 4, found, status, GSHMEM_CMP_EQ, values);       \
    }

static void call_rma(void)
{
    RMA_TYPES(RMA)
}

static void call_words(void)
{
    AMO_TYPES(AMO)
    AMO_TYPES(EXT)
    AMO_FLOATS(EXT)
    BIT_TYPES(BIT)
    WAIT_TYPES(WAIT)
}

int main(void)
{
    float f = 0;
    unsigned short u = 0;
    call_rma();
    call_words();
    /* the type of g is the type that its argument points to */
    CHECK_EQ(sizeof(gshmem_g(&f, 0)), sizeof(float));
    CHECK_EQ(sizeof(gshmem_g(&u, 0)), sizeof(unsigned short));
    CHECK_EQ(sizeof(gshmem_g(ctx, &u, 0)), sizeof(unsigned short));
    return test_result();
}
