/* SPDX-License-Identifier: Apache-2.0
 * The sanitizers' interfaces, as weak symbols: a library compiled without them serves a program
 * compiled with them. */
#include "cpu/sanitizer.h"

/* GCC 12's thread sanitizer ends the process at about 8100 threads and fibers, including those of
 * other code. */
#define MAX_TSAN_CONTEXTS 7000

static int n_tsan_contexts;

#define WEAK __attribute__((weak))
WEAK void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
WEAK void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size);
WEAK void __asan_poison_memory_region(const volatile void *p, size_t bytes);
WEAK void __asan_unpoison_memory_region(const volatile void *p, size_t bytes);
WEAK void *__tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void *fiber);
WEAK void *__tsan_get_current_fiber(void);
WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);
WEAK void __tsan_acquire(void *address);
WEAK void __tsan_release(void *address);

/* Without it a switch would order everything before it against everything after it, hiding races
 * between the threads of a block. */
#define TSAN_NO_SYNC 1u

bool gsh_tsan_is_on(void)
{
    return __tsan_create_fiber != NULL;
}

void *gsh_tsan_create(void)
{
    if (!gsh_tsan_is_on()) {
        return NULL;
    }
    if (__atomic_add_fetch(&n_tsan_contexts, 1, __ATOMIC_RELAXED) > MAX_TSAN_CONTEXTS) {
        __atomic_sub_fetch(&n_tsan_contexts, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    return __tsan_create_fiber(0);
}

void gsh_tsan_destroy(void *context)
{
    if (!context) {
        return;
    }
    __tsan_destroy_fiber(context);
    __atomic_sub_fetch(&n_tsan_contexts, 1, __ATOMIC_RELAXED);
}

void *gsh_tsan_current(void)
{
    return gsh_tsan_is_on() ? __tsan_get_current_fiber() : NULL;
}

GSH_NO_TSAN void gsh_tsan_become(void *context)
{
    if (context) {
        __tsan_switch_to_fiber(context, TSAN_NO_SYNC);
    }
}

GSH_NO_TSAN void gsh_tsan_acquire(void *address)
{
    if (__tsan_acquire) {
        __tsan_acquire(address);
    }
}

GSH_NO_TSAN void gsh_tsan_release(void *address)
{
    if (__tsan_release) {
        __tsan_release(address);
    }
}

bool gsh_asan_is_on(void)
{
    return __asan_poison_memory_region != NULL;
}

void gsh_asan_poison(void *p, size_t bytes)
{
    if (gsh_asan_is_on() && bytes > 0) {
        __asan_poison_memory_region(p, bytes);
    }
}

void gsh_asan_unpoison(void *p, size_t bytes)
{
    if (gsh_asan_is_on() && bytes > 0) {
        __asan_unpoison_memory_region(p, bytes);
    }
}

GSH_NO_TSAN void gsh_asan_start_switch(void **fake, const void *bottom, size_t bytes)
{
    if (__sanitizer_start_switch_fiber) {
        __sanitizer_start_switch_fiber(fake, bottom, bytes);
    }
}

GSH_NO_TSAN void gsh_asan_finish_switch(void *fake)
{
    if (__sanitizer_finish_switch_fiber) {
        __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    }
}
