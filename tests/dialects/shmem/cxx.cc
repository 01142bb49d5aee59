// SPDX-License-Identifier: Apache-2.0
// The same header in C++: overloads with and without a context, barrier and sync by their
// arguments.
#include <shmem.h>
#include <complex>
#include "tests/test.h"

template <class T> static void exchange(T value, int me, int next, int previous)
{
    T *dest = static_cast<T *>(shmem_malloc(2 * sizeof(T)));
    const T source[2] = {static_cast<T>(value + me), static_cast<T>(value)};
    shmem_put(dest, source, 2, next);
    shmem_barrier_all();
    CHECK(dest[0] == static_cast<T>(value + previous));
    CHECK(shmem_g(dest, next) == source[0]);
    shmem_barrier_all();
    shmem_ctx_t ctx;
    CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    shmem_p(ctx, dest + 1, static_cast<T>(value + 2), next);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    CHECK(dest[1] == static_cast<T>(value + 2));
    shmem_free(dest);
}

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n,
              previous = (me + n - 1) % n;
    exchange<char>('a', me, next, previous);
    exchange<short>(7, me, next, previous);
    exchange<unsigned long long>(1ull << 60, me, next, previous);
    exchange<double>(0.5, me, next, previous);
    exchange<long double>(0.25L, me, next, previous);
    long *word = static_cast<long *>(shmem_calloc(1, sizeof(long)));
    shmem_atomic_inc(word, 0);
    shmem_finc(word, 0); // its former name
    long *sync_words = static_cast<long *>(shmem_calloc(SHMEM_REDUCE_SYNC_SIZE, sizeof(long)));
    shmem_barrier(0, 0, n, sync_words);
    CHECK_EQ(shmem_barrier(SHMEM_TEAM_WORLD), 0);
    CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0);
    CHECK_EQ(shmem_fetch(word, 0), 2 * n);
    auto *z = static_cast<std::complex<float> *>(shmem_malloc(sizeof(std::complex<float>)));
    *z = {1, static_cast<float>(me)};
    shmem_complexf_sum_to_all(z, z, 1, 0, 0, n, nullptr, sync_words);
    CHECK(z->real() == static_cast<float>(n) && z->imag() == static_cast<float>(n * (n - 1) / 2));
    shmem_finalize();
    return test_result();
}
