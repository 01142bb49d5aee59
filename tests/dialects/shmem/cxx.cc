// SPDX-License-Identifier: Apache-2.0
// The same header in C++: overloads with and without a context, barrier and sync by their
// arguments.
#include <shmem.h>
#include <complex> // the calls do without it
#include <gshmemx.h>
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

// Complex numbers, the compiler's and the library's: Z consists of two Parts.
template <class Z, class Part> static void add_complex(int me, int n)
{
    Z *z = static_cast<Z *>(shmem_calloc(2, sizeof(Z)));
    Part *part = reinterpret_cast<Part *>(z); // the real one, then the imaginary one
    part[0] = 1, part[1] = static_cast<Part>(me);
    CHECK_EQ(shmem_sum_reduce(SHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(part[2] == n && part[3] == n * (n - 1) / 2);
    part[2] = part[3] = -1; // the library's own calls are the same
    CHECK_EQ(gshmem_sum_reduce(GSHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(part[2] == n && part[3] == n * (n - 1) / 2);
    CHECK_EQ(shmem_sum_inscan(SHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(part[2] == me + 1 && part[3] == me * (me + 1) / 2);
    CHECK_EQ(shmem_sum_exscan(SHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(part[2] == me && part[3] == me * (me - 1) / 2);
    part[0] = 0, part[1] = 1; // i, of which the powers are i, -1, -i and 1
    CHECK_EQ(shmem_prod_reduce(SHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(part[2] == (n % 2 ? 0 : n % 4 ? -1 : 1) && part[3] == (n % 2 ? 2 - n % 4 : 0));
    shmem_barrier_all();
    shmem_free(z);
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
    shmem_barrier_all(); // sync_words is used again
    auto *c = static_cast<float _Complex *>(shmem_calloc(1, sizeof(float _Complex)));
    *c = 2;
    shmem_complexf_sum_to_all(c, c, 1, 0, 0, n, nullptr, sync_words);
    CHECK(__real__(*c) == static_cast<float>(2 * n) && __imag__(*c) == 0);
    CHECK_EQ(shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, c, c, 1), 0);
    CHECK_EQ(shmem_complexf_prod_reduce(SHMEM_TEAM_WORLD, z, z, 1), 0);
    CHECK(__real__(*c) == static_cast<float>(2 * n * n));
    add_complex<std::complex<float>, float>(me, n);
    add_complex<std::complex<double>, double>(me, n);
    add_complex<float _Complex, float>(me, n);
    add_complex<double _Complex, double>(me, n);
    // the last one: nothing here waits for the stream
    CHECK_EQ(gshmemx_complexf_sum_reduce_on_stream(GSHMEM_TEAM_WORLD, z, z, 1, nullptr), 0);
    shmem_finalize();
    return test_result();
}
