/* The arithmetic of util.h holds at its edges: powers of two, alignment, ranges near overflow; and
 * a waiting thread can back off for ever without overflow of its counter. Arrays grow with their
 * elements, and not beyond what a size can count. A launch has as many blocks as its caller wants,
 * as far as they all fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/atomic.h"
#include "base/util.h"
#include "runtime/instance/block_limit.h"
#include "tests/test.h"

/* Until a wait has reached its longest nap, where it stays. */
static unsigned count_polls(void)
{
    unsigned backoff = 0, last = 0, n = 0;
    for (int i = 0; i < 600; i++) {
        last = backoff;
        gsh_backoff(&backoff);
        CHECK(backoff >= last);
        n += backoff > last;
    }
    CHECK_EQ(backoff, last);
    return n;
}

int main(void)
{
    CHECK(!gsh_is_pow2(0) && gsh_is_pow2(1) && gsh_is_pow2(1ull << 63));
    CHECK(!gsh_is_pow2(3) && !gsh_is_pow2(UINT64_MAX));

    CHECK_EQ(gsh_align_up(0, 512), 0);
    CHECK_EQ(gsh_align_up(1, 512), 512);
    CHECK_EQ(gsh_align_up(512, 512), 512);
    CHECK_EQ(gsh_align_up(5, 1), 5);
    CHECK(gsh_align_up(UINT64_MAX - 511, 512) == UINT64_MAX - 511);

    CHECK_EQ(gsh_min_u64(1, UINT64_MAX), 1);
    CHECK(gsh_max_u64(1, UINT64_MAX) == UINT64_MAX);

    CHECK(gsh_range_fits(0, 10, 10) && gsh_range_fits(10, 0, 10));
    CHECK(!gsh_range_fits(1, 10, 10) && !gsh_range_fits(11, 0, 10));
    CHECK(!gsh_range_fits(UINT64_MAX, 2, UINT64_MAX) && !gsh_range_fits(2, UINT64_MAX, 100));

    CHECK_EQ(gsh_block_limit_apply((struct gsh_block_limit){0, 0}, 5, 64), 5);
    CHECK_EQ(gsh_block_limit_apply((struct gsh_block_limit){8, 0}, 5, 64), 8);
    CHECK_EQ(gsh_block_limit_apply((struct gsh_block_limit){8, 0}, 9, 64), 9);
    CHECK_EQ(gsh_block_limit_apply((struct gsh_block_limit){0, 3}, 5, 64), 3);
    CHECK_EQ(gsh_block_limit_apply((struct gsh_block_limit){100, 200}, 5, 64), 64);

    int *numbers = NULL;
    size_t room = 0, n_moves = 0;
    for (size_t n = 0; n < 1000; n++) {
        const size_t was = room;
        CHECK(gsh_array_reserve(&numbers, &room, n + 1, sizeof(*numbers)) && room > n);
        n_moves += room != was;
        numbers[n] = (int)n;
        CHECK_EQ(numbers[n / 2], n / 2);
    }
    CHECK(n_moves <= 10);
    int *const kept = numbers;
    const size_t kept_room = room;
    CHECK(gsh_array_reserve(&numbers, &room, 1, sizeof(*numbers)));
    CHECK(!gsh_array_reserve(&numbers, &room, SIZE_MAX / sizeof(*numbers) + 1, sizeof(*numbers)));
    CHECK(!gsh_array_reserve(&numbers, &room, SIZE_MAX, sizeof(*numbers)));
    room = SIZE_MAX / 2 + 2; /* twice it is no size */
    CHECK(!gsh_array_reserve(&numbers, &room, room + 1, sizeof(*numbers)));
    CHECK(numbers == kept && kept_room >= 1000 && numbers[999] == 999);
    free(numbers);

    uint64_t before = gsh_now_ns();
    CHECK(gsh_now_ns() >= before);

    /* also if many wait on each core: naps are longer, and begin sooner */
    unsigned n_polls[2];
    for (int i = 0; i < 2; i++) {
        n_polls[i] = count_polls();
        gsh_backoff_crowd(40, 1);
    }
    CHECK(n_polls[1] < n_polls[0]);
    gsh_backoff_crowd(8, 1);
    CHECK_EQ(count_polls(), n_polls[0]);
    return test_result();
}
