/* SPDX-License-Identifier: Apache-2.0
 * What every module needs: alignment, bounds, array length, names and plurals, monotonic time. */
#ifndef GSH_UTIL_H
#define GSH_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define GSH_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What follows a noun in a message that counts: "%d PE%s". */
#define GSH_PLURAL(n) ((n) == 1 ? "" : "s")

static inline bool gsh_is_pow2(uint64_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

/* align is a power of two; the caller makes sure that v + align - 1 does not overflow. */
static inline uint64_t gsh_align_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

static inline uint64_t gsh_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t gsh_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whether [off, off + bytes) lies in [0, limit), without overflow. */
static inline bool gsh_range_fits(uint64_t off, uint64_t bytes, uint64_t limit)
{
    return off <= limit && bytes <= limit - off;
}

/* As much of the name as there is room for, and a NUL. */
static inline void gsh_copy_name(char *to, size_t room, const char *name)
{
    const size_t n = strnlen(name, room - 1);
    memcpy(to, name, n);
    to[n] = '\0';
}

/* The next name of a list, whose names are divided by commas, with or without spaces; *list goes
 * behind it. NULL: there is none any more. */
static inline const char *gsh_list_next(const char **list, size_t *length)
{
    static const char *const between = ", \t";
    const char *name = *list + strspn(*list, between);
    *length = strcspn(name, between);
    *list = name + *length;
    return *length > 0 ? name : NULL;
}

/* Whether such a list has this name. */
static inline bool gsh_list_has(const char *list, const char *name)
{
    const size_t length = strlen(name);
    size_t n = 0;
    for (const char *next = gsh_list_next(&list, &n); next != NULL;
         next = gsh_list_next(&list, &n)) {
        if (n == length && memcmp(next, name, n) == 0) {
            return true;
        }
    }
    return false;
}

static inline uint64_t gsh_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
