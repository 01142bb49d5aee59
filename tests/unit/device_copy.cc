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
using thread = gshmem::group_thread;
using warp = gshmem::group_warp;
using block = gshmem::group_block;

static const size_t guard = 64, most = 20000;
static std::vector<vec16> dest_room((most + 4 * guard) / 16), source_room((most + 4 * guard) / 16);

/* The path of a call, and the path for arbitrary arguments. */
enum way { chosen, any };

template <direction D, size_t align, class G>
static void copy_by(way w, uint32_t size, char *to, const char *from, size_t bytes)
{
    constexpr bool has_words = align >= 4;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (w == any)
            gshmem::detail::copy_ragged<D, has_words, G>(rank, size, to, from, bytes);
        else if (!gshmem::detail::is_word<align>(to, from, bytes))
            gshmem::detail::copy_dispatch<D, has_words, G>({rank, size}, to, from, bytes);
        else if (rank == 0)
            gshmem::detail::copy_word<D>(to, from, bytes);
    }
}

template <direction D, size_t align, class G>
static void one_copy(way w, uint32_t size, size_t dest_off, size_t source_off, size_t bytes)
{
    static std::vector<char> expected(most + 4 * guard);
    const size_t window = bytes + 3 * guard;
    char *dest = reinterpret_cast<char *>(dest_room.data()), *to = dest + guard + dest_off;
    const char *source = reinterpret_cast<char *>(source_room.data());
    const char *from = source + guard + source_off;
    if (!CHECK(bytes <= most))
        return;
    for (size_t i = 0; i < window; i++)
        dest[i] = (char)(i * 5 + 1);
    memcpy(expected.data(), dest, window);
    memcpy(expected.data() + guard + dest_off, from, bytes);
    HIDE(source, window);
    SHOW(from, bytes);
    copy_by<D, align, G>(w, size, to, from, bytes);
    SHOW(source, window);
    if (!CHECK(memcmp(dest, expected.data(), window) == 0))
        fprintf(stderr, "%s of %zu bytes by %u threads, dest + %zu, source + %zu\n",
                D == direction::put ? "put" : "get", bytes, size, dest_off, source_off);
}

/* All misalignments of both sides. */
template <size_t align, class G> static void all_offsets(uint32_t size, size_t bytes)
{
    for (size_t dest_off = 0; dest_off < 16; dest_off += align) {
        for (size_t source_off = 0; source_off < 16; source_off += align) {
            for (way w : {chosen, any}) {
                one_copy<direction::put, align, G>(w, size, dest_off, source_off, bytes);
                one_copy<direction::get, align, G>(w, size, dest_off, source_off, bytes);
            }
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
        all_offsets<1, thread>(1, bytes);
        if (bytes % 7 == 0)
            all_offsets<1, warp>(32, bytes);
        if (bytes % 4 == 0)
            all_offsets<4, thread>(1, bytes);
        if (bytes % 8 == 0)
            all_offsets<8, block>(64, bytes);
    }
    const size_t sizes[] = {128, 256, 300, 511, 1000, 1040};
    for (size_t bytes : sizes) {
        all_offsets<1, thread>(1, bytes);
        all_offsets<1, warp>(5, bytes); /* a block's last warp may be this small */
        all_offsets<1, block>(64, bytes);
        all_offsets<4, warp>(32, bytes & ~(size_t)3);
    }
    CHECK_EQ(gshmem::detail::unlike_vectors(nullptr, nullptr, ((size_t)1 << 35) - 16), 0);
    CHECK(gshmem::detail::unlike_vectors(nullptr, nullptr, (size_t)1 << 35) != 0);
    all_offsets<1, warp>(32, most - 16 * guard);
    all_offsets<8, block>(256, most - 16 * guard);
    return test_result();
}
