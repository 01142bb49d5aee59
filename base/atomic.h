/* SPDX-License-Identifier: Apache-2.0
 * Ordered access to memory shared with other PEs, a GPU or a NIC, from host code. The words
 * themselves are plain fixed-width integers. Each use names its partner in a comment. */
#ifndef GSH_ATOMIC_H
#define GSH_ATOMIC_H

#include <sched.h>
#include <stdint.h>

static inline uint32_t gsh_load_acquire_u32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline uint64_t gsh_load_acquire_u64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline uint64_t gsh_load_relaxed_u64(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint32_t gsh_load_relaxed_u32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void gsh_store_release_u32(uint32_t *p, uint32_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline void gsh_store_release_u64(uint64_t *p, uint64_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Pauses for tens of nanoseconds, in which the core does little. */
static inline void gsh_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* One poll of a host spin: *backoff counts up from 0. Pauses, then yields the core, then sleeps up
 * to 50 us, so that more PEs than cores make progress. */
void gsh_backoff(unsigned *backoff);
/* So many threads of this machine, all processes together, may wait at the same time on so many
 * cores: the latest call counts for the process. */
void gsh_backoff_crowd(int n_waiters, int n_cores);
/* As gsh_backoff, for a spin whose work in each poll is pause enough. */
void gsh_backoff_busy(unsigned *backoff);

#endif
