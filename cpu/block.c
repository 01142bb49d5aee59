/* SPDX-License-Identifier: Apache-2.0
 * Schedules the CUDA threads of one block: start, yield, back-off. Threads hand the OS thread
 * directly to each other; its own stack runs only when none of them can. A block that can only spin
 * gives its core to another one (cores.h). */
#include "cpu/block.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cpu/here.h"
#include "cpu/overflow.h"
#include "cpu/report.h"
#include "cpu/sanitizer.h"
#include "cpu/thread.h"

#define DEFAULT_STACK_BYTES (128u << 10)

/* Stacks are kept for the next block: KEPT_STACKS with the OS thread, the others with the device.
 * When the devices of the process have more than MAX_SPARE, no more are added to them; a used stack
 * takes some 8 KiB of memory. */
#define MAX_SPARE   16384
#define KEPT_STACKS 128u

#define WARP_SIZE 32u

/* Rounds in which a block's threads all only spin: this many with a pause, this many more in which
 * it passes its core on or, if no other block wants it, yields to other processes; then it sleeps
 * for a quarter of the time it has waited, within these limits. With 4 PEs of 64 such blocks on two
 * cores, sleeping costs less than a core. The pauses take about half a microsecond, several times
 * what a PE on another core needs to answer: a system call between two polls would be most of such
 * a wait. If help has work, which is pause enough, there are more first rounds: microseconds, in
 * which a far PE on the same machine answers. */
#define PAUSE_ROUNDS 32u
#define HELP_ROUNDS  64u
#define YIELD_ROUNDS 60u
#define PASS_ROUNDS  15u /* as many of those as a pass counts for: others have run meanwhile */
#define CHECK_ROUNDS 16u /* as many go by between two looks for threads that can never go on */
#define MIN_SLEEP_NS 5000u
#define MAX_SLEEP_NS 2000000u
/* So long for each sleeping block of the process, if that is more: thousands of them would else
 * keep a core busy. */
#define SLEEP_EACH_NS 5000u

/* A stack without a thread may go to another OS thread. So fiber_main, which is there all the time,
 * must not keep the address of a thread-local variable: functions that use one are not part of it.
 */
#define NOT_INLINE __attribute__((noinline))

static int n_spare;       /* stacks of the process's devices; atomic */
static unsigned n_asleep; /* blocks in the process; atomic */

GSH_NO_TSAN static void fiber_main(struct gsh_fiber *self);

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what runs next -------------------------------------------------------------------------- */

/* After a sleep. */
GSH_NO_TSAN static void need_core(struct gsh_cpu_block *b)
{
    if (b->is_without_core) {
        b->is_without_core = false;
        gsh_core_take(&b->runner);
    }
}

GSH_NO_TSAN static void pass_core_if_asked(struct gsh_cpu_block *b)
{
    if (gsh_core_must_pass(&b->runner)) {
        gsh_core_pass(&b->runner, true);
    }
}

GSH_NO_TSAN void gsh_block_progress(struct gsh_cpu_block *b)
{
    need_core(b);
    b->idle_yields = 0;
    b->idle_rounds = 0;
}

GSH_NO_TSAN void gsh_block_wake(struct gsh_cpu_block *b, struct gsh_block_thread *t)
{
    uint32_t at = b->queue_head + b->queue_count++;
    t->state = GSH_THREAD_READY;
    b->queue[at < b->n_threads ? at : at - b->n_threads] = (uint16_t)t->self.rank;
}

static struct gsh_fiber *create_stack(struct gsh_cpu_block *b)
{
    size_t bytes = b->config->stack_bytes ? b->config->stack_bytes : DEFAULT_STACK_BYTES;
    /* Sanitizers make frames larger. */
    if (gsh_asan_is_on() || gsh_tsan_is_on()) {
        bytes *= 4;
    }
    struct gsh_fiber *fiber = gsh_fiber_create(bytes, fiber_main);
    if (!fiber && gsh_tsan_is_on()) {
        gsh_block_fatal(b, "more CUDA threads at a time than the thread sanitizer can follow; use "
                           "fewer or smaller blocks");
    }
    if (!fiber) {
        gsh_block_fatal(b, "no memory for the stack of another thread (%zu bytes)", bytes);
    }
    return fiber;
}

/* The device's most recently used stacks, for a block that has none; NULL: nor has the device. */
static struct gsh_fiber *take_spare(struct gsh_cpu_block *b)
{
    struct gsh_cpu_device *device = b->run->device;
    pthread_mutex_lock(&device->lock);
    struct gsh_fiber *first = device->spare, *last = first;
    if (first) {
        for (b->n_idle = 1; last->next && b->n_idle < KEPT_STACKS; b->n_idle++) {
            last = last->next;
        }
        device->spare = last->next;
        last->next = NULL;
        __atomic_sub_fetch(&n_spare, (int)b->n_idle, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&device->lock);
    return first;
}

/* A stack for the next thread to be started. */
GSH_NO_TSAN static struct gsh_fiber *take_stack(struct gsh_cpu_block *b)
{
    struct gsh_fiber *fiber = b->idle;
    if (gsh_tsan_is_on()) {
        return b->threads[b->n_started].fiber;
    }
    if (!fiber) {
        fiber = take_spare(b);
    }
    if (fiber) {
        b->n_idle--;
    } else {
        fiber = create_stack(b);
    }
    b->idle = fiber->next;
    fiber->owner = b;
    return fiber;
}

/* Under the thread sanitizer each thread has its own stack: what one thread leaves on a stack and
 * another overwrites would be reported as a race. The stacks come from the device, the longest
 * unused one first. Threads that used the same one look ordered; in a launch whose blocks have OS
 * threads of their own, none is used twice. */
static void take_tsan_stacks(struct gsh_cpu_block *b)
{
    struct gsh_cpu_device *device = b->run->device;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        pthread_mutex_lock(&device->lock);
        struct gsh_fiber *fiber = device->spare;
        if (fiber && b->run->is_one_block_each && fiber->last_run == b->run->number) {
            fiber = NULL;
        }
        if (fiber) {
            device->spare = fiber->next;
        }
        pthread_mutex_unlock(&device->lock);
        if (!fiber) {
            fiber = create_stack(b);
        }
        fiber->owner = b;
        fiber->last_run = b->run->number;
        b->threads[i].fiber = fiber;
    }
}

static void return_tsan_stacks(struct gsh_cpu_block *b)
{
    struct gsh_cpu_device *device = b->run->device;
    pthread_mutex_lock(&device->lock);
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct gsh_fiber *fiber = b->threads[i].fiber;
        if (!fiber) {
            continue; /* its thread has left it */
        }
        if (device->spare) {
            device->last_spare->next = fiber;
        } else {
            device->spare = fiber;
        }
        device->last_spare = fiber;
        fiber->next = NULL;
    }
    pthread_mutex_unlock(&device->lock);
}

static void drop_stacks(struct gsh_fiber *list)
{
    while (list) {
        struct gsh_fiber *fiber = list;
        list = fiber->next;
        gsh_fiber_destroy(fiber);
    }
}

void gsh_block_drop_spare(struct gsh_cpu_device *device)
{
    int n = 0;
    for (const struct gsh_fiber *f = device->spare; f && !gsh_tsan_is_on(); f = f->next) {
        n++;
    }
    __atomic_sub_fetch(&n_spare, n, __ATOMIC_RELAXED);
    drop_stacks(device->spare);
    device->spare = NULL;
}

/* All but a few go to the device. */
static void return_stacks(struct gsh_cpu_block *b)
{
    struct gsh_cpu_device *device = b->run->device;
    struct gsh_fiber *last_kept = b->idle;
    if (b->n_idle <= KEPT_STACKS) {
        return;
    }
    for (uint32_t n = 1; n < KEPT_STACKS; n++) {
        last_kept = last_kept->next;
    }
    struct gsh_fiber *first = last_kept->next, *last = first;
    int n = (int)(b->n_idle - KEPT_STACKS);
    last_kept->next = NULL;
    b->n_idle = KEPT_STACKS;
    if (__atomic_load_n(&n_spare, __ATOMIC_RELAXED) + n > MAX_SPARE) {
        drop_stacks(first);
        return;
    }
    __atomic_add_fetch(&n_spare, n, __ATOMIC_RELAXED);
    while (last->next) {
        last = last->next;
    }
    pthread_mutex_lock(&device->lock);
    last->next = device->spare;
    device->spare = first;
    pthread_mutex_unlock(&device->lock);
}

/* Gives the OS thread to a thread not yet started, else to the next in the queue, else to the main
 * stack; returns when the caller's turn comes. Threads not yet started come first, so a spin soon
 * has all the others at work. */
GSH_NO_TSAN static NOT_INLINE void leave(struct gsh_cpu_block *b, bool is_parked)
{
    struct gsh_fiber *from = b->running, *to = &b->main;
    struct gsh_cpu_thread *self = NULL;
    pass_core_if_asked(b);
    if (b->n_started < b->n_threads) {
        to = take_stack(b);
    } else if (b->queue_count > 0) {
        struct gsh_block_thread *t = &b->threads[b->queue[b->queue_head]];
        b->queue_head = b->queue_head + 1 < b->n_threads ? b->queue_head + 1 : 0;
        b->queue_count--;
        to = t->fiber;
        self = &t->self;
        gshmem_cpu_thread_idx = self->thread_idx;
    }
    gshmem_cpu_self = self;
    b->running = to;
    gsh_fiber_switch(from, to, is_parked);
}

GSH_NO_TSAN void gsh_block_wait(struct gsh_cpu_block *b, struct gsh_block_thread *t,
                                enum gsh_thread_state state)
{
    t->state = (uint8_t)state;
    leave(b, false);
}

/* ---- the life of a thread -------------------------------------------------------------------- */

/* In the thread's context of the thread sanitizer. */
GSH_NO_TSAN static void end_thread(struct gsh_cpu_block *b, struct gsh_block_thread *t)
{
    gsh_tsan_release(&b->run->tsan_end);
    gsh_tsan_release(&b->tsan_block[b->block_parity]);
    t->state = GSH_THREAD_EXITED;
    b->n_exited++;
    gsh_block_progress(b);
}

GSH_NO_TSAN static NOT_INLINE void run_thread(struct gsh_cpu_block *b, struct gsh_block_thread *t)
{
    const struct gsh_cpu_uint3 dim = b->run->launch.block;
    t->self.rank = b->n_started++;
    t->self.thread_idx = b->next_thread;
    if (++b->next_thread.x == dim.x) {
        b->next_thread.x = 0;
        if (++b->next_thread.y == dim.y) {
            b->next_thread.y = 0;
            b->next_thread.z++;
        }
    }
    t->self.block_idx = b->index;
    t->self.worked = 0;
    t->self.saw_change = 0;
    for (int i = 0; i < GSH_CPU_LOOKS; i++) {
        t->self.looks[i] = 0;
    }
    t->self.state = b->run->state;
    t->self.dynamic_shared = b->shared;
    t->self.block = b;
    t->fiber = b->running;
    t->state = GSH_THREAD_READY;
    gsh_block_progress(b);
    gshmem_cpu_self = &t->self;
    gshmem_cpu_thread_idx = t->self.thread_idx;
    gsh_tsan_acquire(&b->tsan_made);
    gsh_tsan_acquire(&b->tsan_block[!b->block_parity]);
    gsh_tsan_acquire(&b->run->tsan_start);
    b->run->launch.entry((void *)(uintptr_t)b->run->launch.args);
    end_thread(b, t);
}

/* The life of a stack: it runs threads one after the other, then is parked until needed again. */
GSH_NO_TSAN static void fiber_main(struct gsh_fiber *self)
{
    bool is_shared = !gsh_tsan_is_on();
    for (;;) {
        struct gsh_cpu_block *b = self->owner;
        do {
            run_thread(b, &b->threads[b->n_started]);
        } while (is_shared && b->n_started < b->n_threads);
        if (is_shared) {
            self->next = b->idle;
            b->idle = self;
            b->n_idle++;
        }
        leave(b, true);
    }
}

/* ---- threads that leave ---------------------------------------------------------------------- */

/* The stack still has the frames of the thread's function: other threads of the block do not use
 * it. */
GSH_NO_TSAN static void leave_stack(struct gsh_cpu_block *b, struct gsh_block_thread *t)
{
    end_thread(b, t);
    t->fiber->next = b->left;
    b->left = t->fiber;
    t->fiber = NULL;
}

GSH_NO_TSAN void gshmemx_cpu_leave(void)
{
    struct gsh_cpu_thread *self = gsh_need_thread("the end of a CUDA thread");
    struct gsh_cpu_block *b = self->block;
    if (!b) {
        gsh_here_leave();
    }
    b->is_left = true;
    __atomic_store_n(&b->run->is_left, true, __ATOMIC_RELAXED);
    leave_stack(b, &b->threads[self->rank]);
    leave(b, true);
    abort();
}

/* The next block may use them: mapping memory for each thread takes longer than a short kernel, and
 * a stream may have thousands that are given up. */
static void take_back_left(struct gsh_cpu_block *b)
{
    if (gsh_asan_is_on() || gsh_tsan_is_on()) {
        drop_stacks(b->left);
        b->left = NULL;
        return;
    }
    while (b->left) {
        struct gsh_fiber *fiber = b->left;
        b->left = fiber->next;
        gsh_fiber_rewind(fiber);
        fiber->next = b->idle;
        b->idle = fiber;
        b->n_idle++;
    }
}

/* None can run: the threads that are left wait for threads that have exited. */
GSH_NO_TSAN static void end_waiting(struct gsh_cpu_block *b)
{
    for (uint32_t i = 0; i < b->n_threads; i++) {
        struct gsh_block_thread *t = &b->threads[i];
        if (t->state == GSH_THREAD_AT_BARRIER || t->state == GSH_THREAD_AT_GROUP ||
            t->state == GSH_THREAD_AT_WARP) {
            gsh_tsan_become(t->fiber->tsan);
            leave_stack(b, t);
            gsh_tsan_become(b->main.tsan);
        }
    }
}

/* ---- yield and back-off ---------------------------------------------------------------------- */

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Not as the CUDA thread: the work is not the kernel's, and must not switch stacks. */
GSH_NO_TSAN static bool help(struct gsh_cpu_block *b)
{
    struct gsh_cpu_thread *self = gshmem_cpu_self;
    gshmem_cpu_self = NULL;
    gsh_tsan_become(b->main.tsan);
    bool has_work = b->config->help(b->config->context);
    gsh_tsan_become(b->running->tsan);
    gshmem_cpu_self = self;
    return has_work;
}

/* Sleeps, and returns without a core: the threads' next look at what they wait for needs none. */
GSH_NO_TSAN static void sleep_for(struct gsh_cpu_block *b, uint64_t ns)
{
    uint64_t most = __atomic_add_fetch(&n_asleep, 1, __ATOMIC_RELAXED) * (uint64_t)SLEEP_EACH_NS;
    most = most > MAX_SLEEP_NS ? most : MAX_SLEEP_NS;
    struct timespec t = {0, (long)(ns < most ? ns : most)};
    if (!b->is_without_core) {
        b->is_without_core = true;
        gsh_core_leave(&b->runner);
    }
    nanosleep(&t, NULL);
    __atomic_sub_fetch(&n_asleep, 1, __ATOMIC_RELAXED);
}

/* All runnable threads of the block only spin. */
GSH_NO_TSAN static void idle_round(struct gsh_cpu_block *b)
{
    uint32_t round = b->idle_rounds++;
    b->idle_yields = 0;
    pass_core_if_asked(b);
    /* Under the thread sanitizer it would write to the CUDA thread's stack as another thread. */
    bool is_helped = b->config->help && !gsh_tsan_is_on() && help(b);
    uint32_t first = is_helped && !gsh_cores_are_wanted() ? HELP_ROUNDS : PAUSE_ROUNDS;
    if (round < first) {
        if (!is_helped) {
            pause_core();
        }
        b->idle_since_ns = 0;
        return;
    }
    if (b->idle_since_ns == 0) {
        b->idle_since_ns = now_ns();
    }
    uint64_t sleep_ns = round - first < YIELD_ROUNDS ? 0 : (now_ns() - b->idle_since_ns) / 4;
    if (sleep_ns >= MIN_SLEEP_NS) {
        if (round % CHECK_ROUNDS == 0 && gsh_block_is_stuck(b)) {
            gsh_block_fatal_stuck(b);
        }
        sleep_for(b, sleep_ns);
    } else if (!b->is_without_core && gsh_core_pass(&b->runner, false)) {
        b->idle_rounds += PASS_ROUNDS - 1;
    } else {
        sched_yield();
    }
}

GSH_NO_TSAN void gshmemx_cpu_yield(void)
{
    struct gsh_cpu_thread *self = gshmem_cpu_self;
    if (!self) {
        sched_yield();
        return;
    }
    struct gsh_cpu_block *b = self->block;
    if (!b) {
        gsh_here_yield(self);
        return;
    }
    if (self->worked) {
        self->worked = 0;
        gsh_block_progress(b);
    }
    if (self->saw_change) { /* restart the back-off */
        self->saw_change = 0;
        b->idle_since_ns = 0;
        need_core(b);
    }
    if (b->n_started == b->n_threads) {
        if (++b->idle_yields > b->queue_count) {
            idle_round(b);
        }
        if (b->queue_count == 0) {
            return;
        }
    }
    gsh_block_wake(b, &b->threads[self->rank]);
    leave(b, false);
}

GSH_NO_TSAN void gshmemx_cpu_fence(void)
{
    static char every_fence;
    __sync_synchronize();
    gsh_tsan_acquire(&every_fence);
    gsh_tsan_release(&every_fence);
}

/* ---- a whole block --------------------------------------------------------------------------- */

/* Makes room for n threads and for their dynamic shared memory. */
static void reserve(struct gsh_cpu_block *b, uint32_t n, size_t shared_bytes)
{
    bool has_grown = n > b->capacity || shared_bytes > b->shared_capacity;
    if (n > b->capacity) {
        uint32_t n_warps = (n + WARP_SIZE - 1) / WARP_SIZE;
        b->threads = realloc(b->threads, n * sizeof(*b->threads));
        b->queue = realloc(b->queue, n * sizeof(*b->queue));
        b->warp_waiting = realloc(b->warp_waiting, n_warps * sizeof(*b->warp_waiting));
        if (!b->threads || !b->queue || !b->warp_waiting) {
            gsh_block_fatal(b, "no memory for %u threads", n);
        }
        memset(b->threads + b->capacity, 0, (n - b->capacity) * sizeof(*b->threads));
        b->capacity = n;
    }
    if (shared_bytes > b->shared_capacity) {
        gsh_asan_unpoison(b->shared, b->shared_capacity);
        free(b->shared);
        b->shared_capacity = (shared_bytes + 127) / 128 * 128;
        b->shared = aligned_alloc(128, b->shared_capacity);
        if (!b->shared) {
            gsh_block_fatal(b, "no memory for %zu bytes of shared memory", shared_bytes);
        }
    }
    if (b->shared) {
        gsh_asan_unpoison(b->shared, shared_bytes);
        gsh_asan_poison((char *)b->shared + shared_bytes, b->shared_capacity - shared_bytes);
    }
    if (has_grown) {
        gsh_tsan_release(&b->tsan_made);
    }
}

void gsh_block_init(struct gsh_cpu_block *b, const struct gsh_cpu_config *config)
{
    memset(b, 0, sizeof(*b));
    b->config = config;
    gsh_runner_init(&b->runner);
    gsh_fiber_init_thread(&b->main);
    gsh_overflow_enter_thread();
}

void gsh_block_finish(struct gsh_cpu_block *b)
{
    gsh_overflow_leave_thread();
    drop_stacks(b->idle);
    gsh_asan_unpoison(b->shared, b->shared_capacity);
    free(b->shared);
    free(b->threads);
    free(b->queue);
    free(b->warp_waiting);
    memset(b, 0, sizeof(*b));
}

GSH_NO_TSAN void gsh_block_run(struct gsh_cpu_block *b, struct gsh_cpu_run *run,
                               struct gsh_cpu_uint3 index)
{
    uint32_t n = run->launch.block.x * run->launch.block.y * run->launch.block.z;
    b->run = run;
    b->config = &run->owner->config;
    b->index = index;
    b->block_parity ^= 1;
    reserve(b, n, run->launch.shared_bytes);
    b->n_threads = n;
    if (gsh_tsan_is_on()) {
        take_tsan_stacks(b);
    }
    b->n_started = b->n_exited = 0;
    b->is_left = false;
    b->next_thread = (struct gsh_cpu_uint3){0, 0, 0};
    b->queue_head = b->queue_count = 0;
    b->n_waiting = b->n_true = 0;
    b->grid_parity = 0;
    memset(b->group_waiting, 0, sizeof(b->group_waiting));
    for (uint32_t i = 0; i < n; i++) {
        b->threads[i].state = GSH_THREAD_UNSTARTED;
    }
    for (uint32_t w = 0; w < (n + WARP_SIZE - 1) / WARP_SIZE; w++) {
        b->warp_waiting[w] = 0;
    }
    gsh_block_progress(b);
    gshmem_cpu_block_idx = index;
    gshmem_cpu_block_dim = run->launch.block;
    gshmem_cpu_grid_dim = run->launch.grid;
    b->running = &b->main;
    leave(b, false);
    if (b->n_exited < n && b->is_left) {
        end_waiting(b);
    }
    if (b->n_exited < n) {
        gsh_block_fatal_stuck(b);
    }
    take_back_left(b);
    if (gsh_tsan_is_on()) {
        return_tsan_stacks(b);
    } else {
        return_stacks(b);
    }
    b->run = NULL;
}
