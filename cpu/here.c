/* SPDX-License-Identifier: Apache-2.0
 * A kernel's code as one CUDA thread on a host thread's own stack: for library calls that would
 * wait for a launch in any case. It has no block: what a block would do for a single thread is done
 * here. */
#include "cpu/here.h"

#include <sched.h>
#include <setjmp.h>
#include <time.h>
#include "cpu/device.h"
#include "cpu/sanitizer.h"

/* Failed polls: this many with a pause, this many more with a yield of the core; then it sleeps for
 * a quarter of the time it has waited, within these limits. In a job of several nodes one poll in a
 * few also does the proxy's work and takes microseconds: a wait for a PE that shares its core must
 * not keep it off the core that long. */
#define PAUSE_ROUNDS 256u
#define HELP_ROUNDS  8u
#define HELP_EVERY   4u /* tried on two cores with four PEs: 1, 4, 8, 16 */
#define YIELD_ROUNDS 2000u
#define MIN_SLEEP_NS 5000u
#define MAX_SLEEP_NS 500000u

static __thread unsigned n_rounds;
static __thread uint64_t since_ns;
static __thread struct gsh_cpu_device *device;
static __thread jmp_buf *way_out; /* of the running kernel */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool help(const struct gsh_cpu_config *config, struct gsh_cpu_thread *self)
{
    if (!config->help) {
        return false;
    }
    gshmem_cpu_self = NULL; /* the work is not the kernel's */
    bool has_work = config->help(config->context);
    gshmem_cpu_self = self;
    return has_work;
}

GSH_NO_TSAN void gsh_here_yield(struct gsh_cpu_thread *self)
{
    if (self->worked) {
        self->worked = 0;
        n_rounds = 0;
    }
    unsigned round = n_rounds++;
    bool is_helped = round % HELP_EVERY == 0 && help(&device->config, self);
    unsigned first = device->config.help ? HELP_ROUNDS : PAUSE_ROUNDS;
    if (round < first) {
        if (!is_helped) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            __asm__ volatile("yield");
#endif
        }
        return;
    }
    if (round == first) {
        since_ns = now_ns();
    }
    uint64_t sleep_ns = round < first + YIELD_ROUNDS ? 0 : (now_ns() - since_ns) / 4;
    if (sleep_ns < MIN_SLEEP_NS) {
        sched_yield();
        return;
    }
    struct timespec t = {0, (long)(sleep_ns < MAX_SLEEP_NS ? sleep_ns : MAX_SLEEP_NS)};
    nanosleep(&t, NULL);
}

const struct gsh_cpu_config *gsh_here_config(void)
{
    return &device->config;
}

void gsh_here_leave(void)
{
    longjmp(*way_out, 1);
}

void gsh_cpu_execute(struct gsh_cpu_device *whose, void (*entry)(void *args), void *args)
{
    static const struct gsh_cpu_uint3 one = {1, 1, 1}, zero = {0, 0, 0};
    device = whose;
    struct gsh_cpu_thread self = {
        /* pairs with the release in gshmemx_cpu_device_set_state */
        .state = __atomic_load_n(&device->state, __ATOMIC_ACQUIRE),
    };
    n_rounds = 0;
    gshmem_cpu_thread_idx = gshmem_cpu_block_idx = zero;
    gshmem_cpu_block_dim = gshmem_cpu_grid_dim = one;
    gshmem_cpu_self = &self;
    jmp_buf here;
    way_out = &here;
    if (setjmp(here) == 0) {
        entry(args);
    }
    way_out = NULL;
    gshmem_cpu_self = NULL;
}
