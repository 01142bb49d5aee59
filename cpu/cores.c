/* SPDX-License-Identifier: Apache-2.0
 * The queue for cores. Its lock and its waits are futexes, which the thread sanitizer does not see:
 * its users are blocks, between which they must order nothing. */
#include "cpu/cores.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often the watch looks at the runners that have cores while others wait. A runner that it
 * finds on a core MAX_LOOKS times is asked to pass the core on, and one look later no longer
 * counts. */
#define LOOK_EVERY_NS 1000000
#define MAX_LOOKS     1u
/* The same if only spare runners wait: a new block is of use only if the block on the core waits
 * for it unseen, and may take as long to start as this. */
#define MAX_LOOKS_FOR_SPARE 8u

/* The same under the thread sanitizer, which slows the blocks down. */
#define LOOK_EVERY_TSAN_NS 20000000

/* Runners for each core of the machine. With one, two blocks of each of four processes that wait
 * for each other on two cores take a tenth longer: the system changes between two threads in less
 * time than a core is passed on. With four nothing is better than with two. */
#define PER_CORE 2u

/* A spare runner at the head of the queue lets others that can go on pass so often at most. */
#define MAX_SKIPS 64u

/* The most runners that get cores at one time when none of them ever passes its core on. */
#define MAX_ON_CORES 2048u

/* What a waiting runner is told. */
enum signal {
    NOTHING,
    HAS_CORE,
    IS_CANCELLED,
    IS_WATCH, /* it is the watch from now on: its waits have an end */
};

static uint32_t lock_word; /* 0: free, 1: held, 2: held and others wait */
/* Under the lock: */
static struct gsh_runner *head, *tail; /* the queue */
static unsigned n_busy;                /* of it */
static unsigned n_skips;               /* of a spare one at its head */
static struct gsh_runner *on_cores;    /* list */
static unsigned n_on_cores;
static unsigned limit; /* how many may be; more than cores while none passes its core on */
/* Atomic, written under the lock: */
static unsigned n_queued, n_spare; /* n_spare: of them */
static struct gsh_runner *watch;   /* one of the queue; NULL: the queue is empty */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned n_cores; /* that can be taken */

/* Futexes to wake once the lock is free. A runner may be gone by then; a wake of a futex without
 * waiters does nothing. */
struct wakes {
    uint32_t *word[4];
    unsigned n;
};

/* ---- futexes --------------------------------------------------------------------------------- */

/* Returns also for no reason. timeout: NULL: none. */
GSH_NO_TSAN static int futex_wait(uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0) == 0 ? 0 : errno;
}

GSH_NO_TSAN static void futex_wake(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The acquire pairs with the release of unlock. */
GSH_NO_TSAN static void lock(void)
{
    uint32_t seen = 0;
    if (__atomic_compare_exchange_n(&lock_word, &seen, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
        return;
    }
    while (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) != 0) {
        futex_wait(&lock_word, 2, NULL);
    }
}

GSH_NO_TSAN static void unlock(struct wakes *wakes)
{
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2) {
        futex_wake(&lock_word);
    }
    for (unsigned i = 0; wakes && i < wakes->n; i++) {
        futex_wake(wakes->word[i]);
    }
}

/* ---- the queue: under the lock --------------------------------------------------------------- */

GSH_NO_TSAN static void tell(struct gsh_runner *r, enum signal what, struct wakes *wakes)
{
    /* Pairs with the acquire in await: the runner sees what the lock's holder has written. */
    __atomic_store_n(&r->signal, what, __ATOMIC_RELEASE);
    if (wakes->n < sizeof(wakes->word) / sizeof(wakes->word[0])) {
        wakes->word[wakes->n++] = &r->signal;
    } else {
        futex_wake(&r->signal);
    }
}

GSH_NO_TSAN static void set_watch(struct gsh_runner *r, struct wakes *wakes)
{
    __atomic_store_n(&watch, r, __ATOMIC_RELAXED);
    if (r) {
        tell(r, IS_WATCH, wakes);
    }
}

GSH_NO_TSAN static void count_queued(int change, const struct gsh_runner *r)
{
    __atomic_store_n(&n_queued, n_queued + (unsigned)change, __ATOMIC_RELAXED);
    n_busy += r->is_busy ? (unsigned)change : 0;
    if (r->spare_of) {
        __atomic_store_n(&n_spare, n_spare + (unsigned)change, __ATOMIC_RELAXED);
    }
}

GSH_NO_TSAN static void enqueue(struct gsh_runner *r, bool is_busy, struct wakes *wakes)
{
    r->is_busy = is_busy;
    r->state = GSH_RUNNER_QUEUED;
    r->next = NULL;
    r->previous = tail;
    *(tail ? &tail->next : &head) = r;
    tail = r;
    count_queued(1, r);
    if (!watch) {
        set_watch(r, wakes);
    }
}

/* The watch goes to the last in the queue, which will be in it for the longest. */
GSH_NO_TSAN static void dequeue(struct gsh_runner *r, struct wakes *wakes)
{
    *(r->previous ? &r->previous->next : &head) = r->next;
    *(r->next ? &r->next->previous : &tail) = r->previous;
    count_queued(-1, r);
    if (watch == r) {
        set_watch(tail, wakes);
    }
}

GSH_NO_TSAN static void put_on_core(struct gsh_runner *r)
{
    r->state = GSH_RUNNER_ON_CORE;
    r->n_looks = 0;
    __atomic_store_n(&r->must_pass, 0, __ATOMIC_RELAXED);
    r->spare_of = NULL;
    r->previous = NULL;
    r->next = on_cores;
    if (on_cores) {
        on_cores->previous = r;
    }
    on_cores = r;
    n_on_cores++;
}

GSH_NO_TSAN static void take_off_core(struct gsh_runner *r)
{
    *(r->previous ? &r->previous->next : &on_cores) = r->next;
    if (r->next) {
        r->next->previous = r->previous;
    }
    n_on_cores--;
}

/* The runner's own doing, so cores change hands. */
GSH_NO_TSAN static void give_core(struct gsh_runner *r)
{
    if (r->state == GSH_RUNNER_ON_CORE) {
        take_off_core(r);
    }
    __atomic_store_n(&r->must_pass, 0, __ATOMIC_RELAXED);
    limit = n_cores;
}

/* Not NULL. */
GSH_NO_TSAN static struct gsh_runner *next_runner(void)
{
    struct gsh_runner *r = head;
    if (r->spare_of && n_busy > 0 && n_skips < MAX_SKIPS) {
        n_skips++;
        while (r->spare_of) {
            r = r->next;
        }
        return r;
    }
    n_skips = 0;
    return r;
}

GSH_NO_TSAN static void fill_cores(struct wakes *wakes)
{
    while (head && n_on_cores < limit) {
        struct gsh_runner *r = next_runner();
        dequeue(r, wakes);
        put_on_core(r);
        tell(r, HAS_CORE, wakes);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* What the watch does at times. If not one of those on cores has passed it on, twice as many get
 * one: a block may spin unseen for what many others do. */
GSH_NO_TSAN static void look(void)
{
    struct wakes wakes = {.n = 0};
    unsigned n_kept = 0;
    lock();
    unsigned most = n_queued > n_spare ? MAX_LOOKS : MAX_LOOKS_FOR_SPARE;
    for (struct gsh_runner *r = on_cores, *next; r; r = next) {
        next = r->next;
        if (++r->n_looks <= most || !r->must_pass) {
            __atomic_store_n(&r->must_pass, r->n_looks >= most, __ATOMIC_RELAXED);
            n_kept++;
        } else {
            take_off_core(r);
            r->state = GSH_RUNNER_UNCOUNTED;
        }
    }
    if (n_kept == 0) {
        limit = 2 * limit < MAX_ON_CORES ? 2 * limit : MAX_ON_CORES;
    }
    fill_cores(&wakes);
    unlock(&wakes);
}

/* Until the runner, which is in the queue or asleep, has a core; false: it is cancelled. */
GSH_NO_TSAN static bool await(struct gsh_runner *self)
{
    static const struct timespec usual = {0, LOOK_EVERY_NS}, slow = {0, LOOK_EVERY_TSAN_NS};
    for (;;) {
        uint32_t told = __atomic_load_n(&self->signal, __ATOMIC_ACQUIRE);
        if (told == IS_WATCH) {
            (void)__atomic_compare_exchange_n(&self->signal, &told, NOTHING, false,
                                              __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
        }
        if (told == HAS_CORE || told == IS_CANCELLED) {
            __atomic_store_n(&self->signal, NOTHING, __ATOMIC_RELAXED);
            return told == HAS_CORE;
        }
        bool is_watch = __atomic_load_n(&watch, __ATOMIC_RELAXED) == self;
        const struct timespec *end = !is_watch ? NULL : gsh_tsan_is_on() ? &slow : &usual;
        if (futex_wait(&self->signal, NOTHING, end) == ETIMEDOUT) {
            look();
        }
    }
}

/* The child of a fork has none of the threads. */
GSH_NO_TSAN static void forget_threads(void)
{
    lock_word = 0;
    head = tail = on_cores = watch = NULL;
    n_on_cores = n_queued = n_spare = n_busy = 0;
    limit = n_cores;
}

GSH_NO_TSAN static void count_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    n_cores = limit = PER_CORE * (n > 0 ? (unsigned)n : 1);
    (void)pthread_atfork(NULL, NULL, forget_threads);
}

/* ---- for the executor ------------------------------------------------------------------------ */

GSH_NO_TSAN unsigned gsh_cores_count(void)
{
    pthread_once(&once, count_cores);
    return n_cores;
}

void gsh_runner_init(struct gsh_runner *self)
{
    (void)gsh_cores_count();
    memset(self, 0, sizeof(*self));
}

GSH_NO_TSAN static bool take(struct gsh_runner *self, const void *owner)
{
    struct wakes wakes = {.n = 0};
    lock();
    if (!head && n_on_cores < limit) {
        put_on_core(self);
        unlock(NULL);
        return true;
    }
    self->spare_of = owner;
    enqueue(self, owner == NULL, &wakes);
    fill_cores(&wakes);
    unlock(&wakes);
    return await(self);
}

GSH_NO_TSAN void gsh_core_take(struct gsh_runner *self)
{
    (void)take(self, NULL);
}

GSH_NO_TSAN bool gsh_core_take_spare(struct gsh_runner *self, const void *owner)
{
    return take(self, owner);
}

GSH_NO_TSAN void gsh_cores_cancel(const void *owner)
{
    struct wakes wakes = {.n = 0};
    if (__atomic_load_n(&n_spare, __ATOMIC_RELAXED) == 0) {
        return;
    }
    lock();
    for (struct gsh_runner *r = head, *next; r; r = next) {
        next = r->next;
        if (r->spare_of == owner) {
            dequeue(r, &wakes);
            r->state = GSH_RUNNER_OUT;
            r->spare_of = NULL;
            tell(r, IS_CANCELLED, &wakes);
        }
    }
    unlock(&wakes);
}

GSH_NO_TSAN void gsh_core_leave(struct gsh_runner *self)
{
    struct wakes wakes = {.n = 0};
    lock();
    give_core(self);
    self->state = GSH_RUNNER_OUT;
    fill_cores(&wakes);
    unlock(&wakes);
}

GSH_NO_TSAN bool gsh_cores_are_wanted(void)
{
    return __atomic_load_n(&n_queued, __ATOMIC_RELAXED) >
           __atomic_load_n(&n_spare, __ATOMIC_RELAXED);
}

GSH_NO_TSAN bool gsh_core_pass(struct gsh_runner *self, bool is_busy)
{
    struct wakes wakes = {.n = 0};
    if (__atomic_load_n(&n_queued, __ATOMIC_RELAXED) == 0 && !gsh_core_must_pass(self)) {
        return false;
    }
    lock();
    give_core(self);
    if (!head && n_on_cores < limit) {
        put_on_core(self);
        unlock(NULL);
        return false;
    }
    enqueue(self, is_busy, &wakes);
    fill_cores(&wakes);
    unlock(&wakes);
    return await(self);
}

GSH_NO_TSAN void gsh_core_sleep(struct gsh_runner *self)
{
    struct wakes wakes = {.n = 0};
    lock();
    if (self->is_woken) {
        self->is_woken = false;
        unlock(NULL);
        return;
    }
    give_core(self);
    self->state = GSH_RUNNER_ASLEEP;
    fill_cores(&wakes);
    unlock(&wakes);
    (void)await(self);
}

GSH_NO_TSAN void gsh_core_wake(struct gsh_runner *runner)
{
    struct wakes wakes = {.n = 0};
    lock();
    if (runner->state == GSH_RUNNER_ASLEEP) {
        enqueue(runner, true, &wakes);
        fill_cores(&wakes);
    } else {
        runner->is_woken = true;
    }
    unlock(&wakes);
}
