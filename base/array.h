/* SPDX-License-Identifier: Apache-2.0
 * Arrays that grow: a pointer to the elements, from malloc, and for how many there is room. Both
 * are zeroed at first; the owner counts what is in use, and frees the elements. */
#ifndef GSH_ARRAY_H
#define GSH_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As gsh_array_reserve, without room for some more at first: where there are many arrays, most of
 * them of one element. */
static inline bool gsh_array_reserve_least(void *elements, size_t *room, size_t n,
                                           size_t element_bytes)
{
    if (n <= *room) {
        return true;
    }
    size_t more = *room > SIZE_MAX / 2 ? n : 2 * *room, bytes;
    more = more < n ? n : more;
    if (__builtin_mul_overflow(more, element_bytes, &bytes)) {
        return false;
    }
    void *old;
    memcpy(&old, elements, sizeof(old));
    void *grown = realloc(old, bytes);
    if (grown == NULL) {
        return false;
    }
    memcpy(elements, &grown, sizeof(grown));
    *room = more;
    return true;
}

/* Makes room for n elements in all. elements: the address of the pointer to them, which may change.
 * The room at least doubles, so that n elements added one by one cost n copies. False: there is no
 * memory, or there are too many for a size_t, and nothing has changed. New elements have no value.
 */
static inline bool gsh_array_reserve(void *elements, size_t *room, size_t n, size_t element_bytes)
{
    enum { LEAST = 8 };
    return n <= *room ||
           gsh_array_reserve_least(elements, room, n < LEAST ? LEAST : n, element_bytes);
}

#endif
