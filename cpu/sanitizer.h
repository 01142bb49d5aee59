/* SPDX-License-Identifier: Apache-2.0
 * What the address and thread sanitizers must be told about fibers if they are in the process,
 * however this library was compiled. Without them every call here does nothing. */
#ifndef GSH_SANITIZER_H
#define GSH_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

/* All fibers of a block touch the scheduler's state, and the thread sanitizer takes them for
 * threads; also, a function may be entered in one and left in another. Such code is not
 * instrumented at all. (clang's no_sanitize would still record entries and exits.) */
#if defined(__clang__) && defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define GSH_NO_TSAN __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef GSH_NO_TSAN
#define GSH_NO_TSAN __attribute__((no_sanitize("thread")))
#endif

/* The thread sanitizer's contexts. Without it in the process: NULL, and nothing happens. */
bool gsh_tsan_is_on(void);
void *gsh_tsan_create(void); /* NULL also when the sanitizer's limit is reached */
void gsh_tsan_destroy(void *context);
void *gsh_tsan_current(void);
/* Adopts another context without leaving the stack. */
void gsh_tsan_become(void *context);
void gsh_tsan_acquire(void *address);
void gsh_tsan_release(void *address);

/* Around a switch to the stack [bottom, bottom + bytes); *fake: kept for the one that is left, NULL
 * when it holds nothing. */
void gsh_asan_start_switch(void **fake, const void *bottom, size_t bytes);
void gsh_asan_finish_switch(void *fake);
/* Makes the address sanitizer report accesses to [p, p + bytes), or allow them again. */
void gsh_asan_poison(void *p, size_t bytes);
void gsh_asan_unpoison(void *p, size_t bytes);
bool gsh_asan_is_on(void);

#endif
