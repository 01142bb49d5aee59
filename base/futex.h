/* SPDX-License-Identifier: Apache-2.0
 * Sleeping until another thread, of any process that shares the memory, changes a word. For waits
 * of many threads for one, whose polls would take the cores from it.
 *
 * The word's new value is stored before the wake; a waiter looks at the word itself, in the order
 * that it needs, before and after it sleeps. */
#ifndef GSH_FUTEX_H
#define GSH_FUTEX_H

#include <stdint.h>

/* Sleeps while the word's lower half is that of `seen`, at most `limit_ns`, below a second; may
 * return at any time. */
void gsh_futex_wait(const uint64_t *word, uint64_t seen, uint32_t limit_ns);
void gsh_futex_wake_all(const uint64_t *word);

#endif
