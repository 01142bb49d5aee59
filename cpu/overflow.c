/* SPDX-License-Identifier: Apache-2.0
 * Reports which kernel's stack overflowed; otherwise the process would just die of signal 11. The
 * handler is installed while the executor has threads; other faults go to the previous handler, and
 * the sanitizers, which report faults themselves, are left alone. */
#include "cpu/overflow.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "cpu/report.h"
#include "cpu/sanitizer.h"

/* The stack for wording the message and ending the job. */
#define SIGNAL_STACK_BYTES (128u << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_threads;       /* under lock, like what follows */
static bool is_kept;             /* another handler was installed over ours and may call it */
static struct sigaction earlier; /* read by the handler, which is not installed while it changes */
static __thread void *signal_stack; /* the calling thread's; NULL: its own or none */

static uintptr_t stack_pointer(const ucontext_t *u)
{
#if defined(__x86_64__)
    return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext.sp;
#else
    (void)u;
    return UINTPTR_MAX;
#endif
}

/* A frame larger than the guard page may step over it: the stack pointer is then below it as
 * well. */
static bool is_overflow(const struct gsh_fiber *fiber, uintptr_t address, uintptr_t sp)
{
    uintptr_t bottom = (uintptr_t)fiber->stack, guard = (uintptr_t)fiber->mapping;
    if (address >= bottom || !fiber->mapping) {
        return false;
    }
    return (fiber->has_guard && address >= guard) || (sp < bottom && address + 4096 > sp);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
    if (earlier.sa_flags & SA_SIGINFO) {
        earlier.sa_sigaction(sig, info, context);
    } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
        earlier.sa_handler(sig);
    } else {
        /* As if we were not here: the fault, or the signal that was sent, occurs again. */
        signal(sig, SIG_DFL);
        if (info->si_code <= 0) {
            raise(sig);
        }
    }
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const struct gsh_cpu_thread *self = gshmem_cpu_self;
    const struct gsh_fiber *fiber = self && self->block ? self->block->running : NULL;
    /* The fault was in the kernel's own code, so no lock of the library is held. */
    if (fiber && is_overflow(fiber, (uintptr_t)info->si_addr, stack_pointer(context))) {
        gsh_block_fatal(self->block,
                        "stack overflow in a CPU-device kernel thread, which has %zu bytes; raise "
                        "GSHMEM_CPU_STACK",
                        fiber->stack_bytes);
    }
    pass_on(sig, info, context);
}

static void give_signal_stack(void)
{
    stack_t now, own = {.ss_size = SIGNAL_STACK_BYTES};
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) {
        return;
    }
    own.ss_sp = mmap(NULL, SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own.ss_sp == MAP_FAILED) {
        return; /* overflows stay a bare signal 11 */
    }
    if (sigaltstack(&own, NULL) == 0) {
        signal_stack = own.ss_sp;
    } else {
        munmap(own.ss_sp, SIGNAL_STACK_BYTES);
    }
}

void gsh_overflow_enter_thread(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (gsh_asan_is_on() || gsh_tsan_is_on()) {
        return;
    }
    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    give_signal_stack();
    pthread_mutex_lock(&lock);
    if (n_threads++ == 0 && !is_kept && sigaction(SIGSEGV, NULL, &earlier) == 0) {
        (void)sigaction(SIGSEGV, &action, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void gsh_overflow_leave_thread(void)
{
    struct sigaction now;
    if (gsh_asan_is_on() || gsh_tsan_is_on()) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (--n_threads == 0 && !is_kept && sigaction(SIGSEGV, NULL, &now) == 0) {
        is_kept = now.sa_sigaction != on_fault;
        if (!is_kept) {
            (void)sigaction(SIGSEGV, &earlier, NULL);
        }
    }
    pthread_mutex_unlock(&lock);
    if (signal_stack) {
        stack_t none = {.ss_flags = SS_DISABLE};
        (void)sigaltstack(&none, NULL);
        munmap(signal_stack, SIGNAL_STACK_BYTES);
        signal_stack = NULL;
    }
}
