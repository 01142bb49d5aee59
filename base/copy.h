/* SPDX-License-Identifier: Apache-2.0
 * Copies between memory that kernels and other PEs access and private memory. Words are written and
 * read whole, as networks do, because a thread may be polling them. */
#ifndef GSH_COPY_H
#define GSH_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/util.h"

static inline bool gsh_copy_is_word(const void *shared, uint64_t bytes)
{
    return bytes <= 8 && gsh_is_pow2(bytes) && (uintptr_t)shared % bytes == 0;
}

/* Release: pairs with the acquire of the thread that polls the word. */
static inline void gsh_copy_to_shared(void *shared, const void *source, uint64_t bytes)
{
    uint64_t word = 0;
    if (!gsh_copy_is_word(shared, bytes)) {
        memmove(shared, source, bytes);
        return;
    }
    memcpy(&word, source, bytes);
    if (bytes == 8) {
        __atomic_store_n((uint64_t *)shared, word, __ATOMIC_RELEASE);
    } else if (bytes == 4) {
        __atomic_store_n((uint32_t *)shared, (uint32_t)word, __ATOMIC_RELEASE);
    } else if (bytes == 2) {
        __atomic_store_n((uint16_t *)shared, (uint16_t)word, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((uint8_t *)shared, (uint8_t)word, __ATOMIC_RELEASE);
    }
}

/* Acquire: pairs with the release of the thread that wrote the word. */
static inline void gsh_copy_from_shared(void *dest, const void *shared, uint64_t bytes)
{
    uint64_t word;
    if (!gsh_copy_is_word(shared, bytes)) {
        memmove(dest, shared, bytes);
        return;
    }
    if (bytes == 8) {
        word = __atomic_load_n((const uint64_t *)shared, __ATOMIC_ACQUIRE);
    } else if (bytes == 4) {
        word = __atomic_load_n((const uint32_t *)shared, __ATOMIC_ACQUIRE);
    } else if (bytes == 2) {
        word = __atomic_load_n((const uint16_t *)shared, __ATOMIC_ACQUIRE);
    } else {
        word = __atomic_load_n((const uint8_t *)shared, __ATOMIC_ACQUIRE);
    }
    memcpy(dest, &word, bytes);
}

#endif
