/* SPDX-License-Identifier: Apache-2.0
 * What two ends tell each other of their queues' numbers: even ones come back whole from 16 bytes,
 * also past 24 bits; uneven ones are known as such; and what no PE sends is refused. */
#include "tests/test.h"
#include "runtime/far/nic_numbers.h"

enum { N = 34 };

static void check_even(uint32_t first, uint32_t step, uint32_t n)
{
    uint32_t numbers[N], back[N];
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = (first + i * step) & 0xffffff;
    }
    const struct gsh_nic_even even = gsh_nic_numbers_pack(numbers, n);
    CHECK_EQ(sizeof(even), 16);
    CHECK_EQ(even.is_even, 1);
    CHECK(gsh_nic_numbers_unpack(&even, back, n));
    CHECK_EQ(memcmp(numbers, back, n * sizeof(*numbers)), 0);
}

int main(void)
{
    uint32_t numbers[N], back[N];
    check_even(7, 1, N);
    check_even(7, 1, 1);
    check_even(0xfffff0, 1, N);
    check_even(0xfffff0, 0xfffffd, N); /* downwards */
    for (uint32_t i = 0; i < N; i++) {
        numbers[i] = 100 + i + (i == N - 1);
    }
    struct gsh_nic_even even = gsh_nic_numbers_pack(numbers, N);
    CHECK_EQ(even.is_even, 0);
    CHECK(gsh_nic_numbers_unpack(&even, back, N)); /* each follows in the next message */
    CHECK(!gsh_nic_numbers_unpack(&even, back, N - 1));
    even.is_even = 2;
    CHECK(!gsh_nic_numbers_unpack(&even, back, N));
    even.is_even = 1;
    even.first = 0x1000000;
    CHECK(!gsh_nic_numbers_unpack(&even, back, N));
    return test_result();
}
