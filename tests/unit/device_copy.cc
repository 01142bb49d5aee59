/* SPDX-License-Identifier: Apache-2.0
 * Proves that the copy algorithm of GPUs (device/copy.cuh, here thread after thread) moves exactly
 * the bytes it should, for every misalignment, and reads nothing outside the source. */
#include <gshmem_device.cuh>

#include <vector>
#include "tests/test.h"

/* The address sanitizer sees reads past the source's end, and before its start up to 8 bytes. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define SHOW(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define HIDE(p, n) ((void)(p), (void)(n))
#define SHOW(p, n) ((void)(p), (void)(n))
#endif

using gshmem::detail::direction;
using gshmem::detail::vec16;

static const size_t guard = 64, most = 20000;
static std::vector<vec16> dest_room((most + 4 * guard) / 16), source_room((most + 4 * guard) / 16);

template <direction D, size_t align, int U>
static void one_copy(size_t size, size_t dest_off, size_t source_off, size_t bytes)
{
    static std::vector<char> expected;
    const size_t window = bytes + 3 * guard;
    char *dest = reinterpret_cast<char *>(dest_room.data()), *to = dest + guard + dest_off;
    const char *source = reinterpret_cast<char *>(source_room.data());
    const char *from = source + guard + source_off;
    for (size_t i = 0; i < window; i++)
        dest[i] = (char)(i * 5 + 1);
    expected.assign(dest, dest + window);
    memcpy(expected.data() + guard + dest_off, from, bytes);
    HIDE(source, window);
    SHOW(from, bytes);
    for (size_t rank = 0; rank < size; rank++)
        gshmem::detail::copy_vectors<D, align, U>(rank, size, to, from, bytes);
    SHOW(source, window);
    if (!CHECK(memcmp(dest, expected.data(), window) == 0))
        fprintf(stderr, "%s of %zu bytes by %zu threads, dest + %zu, source + %zu\n",
                D == direction::put ? "put" : "get", bytes, size, dest_off, source_off);
}

/* All misalignments of both sides. */
template <size_t align, int U> static void all_offsets(size_t size, size_t bytes)
{
    for (size_t dest_off = 0; dest_off < 16; dest_off += align) {
        for (size_t source_off = 0; source_off < 16; source_off += align) {
            one_copy<direction::put, align, U>(size, dest_off, source_off, bytes);
            one_copy<direction::get, align, U>(size, dest_off, source_off, bytes);
        }
    }
}

int main(void)
{
    uint64_t seed = test_seed();
    for (vec16 &v : source_room)
        v = {(uint32_t)test_random(&seed), (uint32_t)test_random(&seed),
             (uint32_t)test_random(&seed), (uint32_t)test_random(&seed)};
    for (size_t bytes = 0; bytes < 100; bytes++) {
        all_offsets<1, 8>(1, bytes);
        if (bytes % 7 == 0)
            all_offsets<1, 8>(32, bytes);
        if (bytes % 4 == 0)
            all_offsets<4, 8>(1, bytes);
        if (bytes % 8 == 0)
            all_offsets<8, 4>(64, bytes);
    }
    const size_t sizes[] = {128, 256, 300, 511, 1000, 1040};
    for (size_t bytes : sizes) {
        all_offsets<1, 8>(1, bytes);
        all_offsets<1, 8>(5, bytes); /* a block's last warp may be this small */
        all_offsets<1, 4>(64, bytes);
        all_offsets<4, 8>(32, bytes & ~(size_t)3);
    }
    all_offsets<1, 8>(32, most - 16 * guard);
    all_offsets<8, 4>(256, most - 16 * guard);
    return test_result();
}
