/* SPDX-License-Identifier: Apache-2.0
 * The limit of memory that a process may lock, which adapters of InfiniBand and RoCE do with what
 * is registered: for messages about a registration that has failed. Header alone, for plug-ins. */
#ifndef GSH_MEMLOCK_H
#define GSH_MEMLOCK_H

#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

#define GSH_MEMLOCK_TEXT 128

/* Writes what to add to such a message: the limit and what to set; "" if there is no limit, which
 * then is not the cause. Returns text. */
static inline const char *gsh_memlock_hint(char text[GSH_MEMLOCK_TEXT])
{
    struct rlimit limit;
    text[0] = '\0';
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        snprintf(text, GSH_MEMLOCK_TEXT,
                 " (RLIMIT_MEMLOCK is %llu KiB: set it with ulimit -l unlimited)",
                 (unsigned long long)limit.rlim_cur / 1024);
    }
    return text;
}

#endif
