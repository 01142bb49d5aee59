/* SPDX-License-Identifier: Apache-2.0
 * See futex.h. */
#define _GNU_SOURCE 1
#include "base/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A futex has 32 bits. */
static const uint32_t *lower_half(const uint64_t *word)
{
    return (const uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void gsh_futex_wait(const uint64_t *word, uint64_t seen, uint32_t limit_ns)
{
    const struct timespec limit = {.tv_nsec = (long)limit_ns};
    (void)syscall(SYS_futex, lower_half(word), FUTEX_WAIT, (uint32_t)seen, &limit, NULL, 0);
}

void gsh_futex_wake_all(const uint64_t *word)
{
    (void)syscall(SYS_futex, lower_half(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
