/* SPDX-License-Identifier: Apache-2.0
 * Proves that every generic name chooses a typed call for every type it stands for, in C11 and (as
 * generic_cxx.cc) in C++, and that the choice is the right one. Makes no call. */
#include <gshmem.h>
#include "tests/test.h"

/* What each name is promised for: spelled here once more, since a stamped list would prove nothing.
 */
/* clang-format off */
#define RMA_TYPES(M)                                                                               \
    AMO_FLOATS(M) WAIT_TYPES(M) M(gshmem_bfloat16_t) M(gshmem_half_t) M(char) M(signed char)       \
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

#define RMA(T)                                                                         \
    if (is_called) {                                                                   \
        static T dest[4];                                                              \
        const T *source = dest;                                                        \
        gshmem_p(dest, source[0], 0);                                                  \
        dest[1] = gshmem_g(source, 0);                                                 \
        gshmem_p(dest, gshmem_g(source + 1, gshmem_my_pe()), 0);                       \
        gshmem_put(dest, source, 4, 0);                                                \
        gshmem_get(dest, source, 4, 0);                                                \
        gshmem_put_nbi(dest, source, 4, 0);                                            \
        gshmem_get_nbi(dest, source, 4, 0);                                            \
        gshmem_iput(dest, source, 1, 2, 2, 0);                                         \
        gshmem_iget(dest, source, 1, 2, 2, 0);                                         \
        gshmem_put_signal(dest, source, 4, &signal_word, 1, GSHMEM_SIGNAL_SET, 0);     \
        gshmem_put_signal_nbi(dest, source, 4, &signal_word, 1, GSHMEM_SIGNAL_ADD, 0); \
    }
#define AMO(T)                                               \
    if (is_called) {                                         \
        T word[2] = {0, 0};                                  \
        word[1] = gshmem_atomic_compare_swap(word, 1, 2, 0); \
        word[1] = gshmem_atomic_fetch_inc(word, 0);          \
        gshmem_atomic_inc(word, 0);                          \
        word[1] = gshmem_atomic_fetch_add(word, 1, 0);       \
        gshmem_atomic_add(word, 1, 0);                       \
    }
#define EXT(T)                                    \
    if (is_called) {                              \
        T word[2] = {0, 0};                       \
        const T *source = word;                   \
        word[1] = gshmem_atomic_fetch(source, 0); \
        gshmem_atomic_set(word, 1, 0);            \
        word[1] = gshmem_atomic_swap(word, 1, 0); \
    }
#define BIT(T)                                         \
    if (is_called) {                                   \
        T word[2] = {0, 0};                            \
        word[1] = gshmem_atomic_fetch_and(word, 1, 0); \
        gshmem_atomic_and(word, 1, 0);                 \
        word[1] = gshmem_atomic_fetch_or(word, 1, 0);  \
        gshmem_atomic_or(word, 1, 0);                  \
        word[1] = gshmem_atomic_fetch_xor(word, 1, 0); \
        gshmem_atomic_xor(word, 1, 0);                 \
    }
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
    /* the type of g is the type of what its argument points to */
    CHECK_EQ(sizeof(gshmem_g(&f, 0)), sizeof(float));
    CHECK_EQ(sizeof(gshmem_g(&u, 0)), sizeof(unsigned short));
    return test_result();
}
