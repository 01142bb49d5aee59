/* SPDX-License-Identifier: Apache-2.0
 * See thread.h. */
#include "proxy/engine/thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/limits.h"
#include "base/private_fd.h"
#include "base/thread.h"
#include "base/util.h"
#include "proxy/engine/round.h"
#include "proxy/engine/spin.h"

/* A GPU cannot wake the thread. Polling 2000 times a second for a few microseconds each costs a
 * core less than 2 %, and delays the first request after a pause by half a millisecond. */
#define NAP_NS 500000

/* For how many polls the thread leaves rounds to waiting host threads. */
#define POLITE_POLLS 64u
/* While host threads make calls they make progress themselves, and the lock and the core are best
 * left to them: the thread checks only this often whether that is still so. A request just after
 * the last call waits this long. With fewer cores than threads each poll takes a core from another
 * thread: at 50 us a put between hosts took twice as long over TCP as at 250 us. */
#define POLITE_NS       250000
#define POLITE_SLACK_NS 1000u

void gsh_thread_wake(struct gsh_proxy *proxy)
{
    uint64_t one = 1;
    if (__atomic_exchange_n(&proxy->is_asleep, 0, __ATOMIC_ACQ_REL) == 0) {
        return;
    }
    while (write(proxy->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static void wake_from_ring(void *context)
{
    gsh_thread_wake(context);
}

/* How long it may sleep; NULL: until it is woken. */
static const struct timespec *sleep_limit(const struct gsh_proxy *proxy, int transport_fd)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    bool is_woken_by_kernels = proxy->n_rings == 0 || proxy->memory.is_host;
    return transport_fd >= 0 && is_woken_by_kernels ? NULL : &nap;
}

static void go_to_sleep(struct gsh_proxy *proxy)
{
    uint64_t count;
    struct gsh_transport *t = proxy->transport;
    struct pollfd fds[2] = {{.fd = proxy->event_fd, .events = POLLIN}, {.events = POLLIN}};
    __atomic_exchange_n(&proxy->is_asleep, 1, __ATOMIC_ACQ_REL);

    gsh_lock_take(&proxy->lock);
    bool may_sleep = gsh_engine_round(proxy, 1) == 0 && !gsh_load_acquire_u32(&proxy->is_stopping);
    fds[1].fd = t->ops->event_fd(t); /* poll skips -1 */
    if (may_sleep && fds[1].fd >= 0) {
        may_sleep = t->ops->arm(t);
    }
    const struct timespec *limit = sleep_limit(proxy, fds[1].fd);
    if (may_sleep) {
        (limit != NULL ? &proxy->n_naps : &proxy->n_sleeps)[0]++;
    }
    gsh_lock_give(&proxy->lock);

    if (may_sleep) {
        (void)ppoll(fds, 2, limit, NULL);
    }
    if (__atomic_exchange_n(&proxy->is_asleep, 0, __ATOMIC_ACQ_REL) == 1) {
        return;
    }
    /* Another thread cleared it, and has written or is about to. */
    while (read(proxy->event_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

/* Whether host threads have made calls, or progress, since the last check. */
static bool host_is_at_it(const struct gsh_proxy *proxy, uint32_t *seen)
{
    uint32_t calls = gsh_load_relaxed_u32(&proxy->n_host_calls);
    bool is_new = calls != *seen;
    *seen = calls;
    return is_new;
}

static void stand_back(void)
{
    static const struct timespec pause = {.tv_nsec = POLITE_NS};
    (void)nanosleep(&pause, NULL);
}

static unsigned round_unless_host(struct gsh_proxy *proxy, unsigned *n_skipped)
{
    unsigned n = 0;
    if (gsh_load_relaxed_u32(&proxy->n_waiting) > 0 && ++*n_skipped < POLITE_POLLS) {
        return 0;
    }
    *n_skipped = 0;
    if (!gsh_lock_try(&proxy->lock)) {
        return 0;
    }
    n = gsh_engine_round(proxy, 1);
    gsh_lock_give(&proxy->lock);
    return n;
}

static void *thread_main(void *context)
{
    struct gsh_proxy *proxy = context;
    uint64_t idle_since = 0;
    uint32_t seen = 0;
    unsigned n_skipped = 0, backoff = 0;
    if (proxy->options.thread_start != NULL) {
        proxy->options.thread_start(proxy->options.context);
    }
    (void)prctl(PR_SET_TIMERSLACK, POLITE_SLACK_NS);
    while (!gsh_load_acquire_u32(&proxy->is_stopping)) {
        if (host_is_at_it(proxy, &seen)) {
            stand_back();
            idle_since = 0;
        }
        if (round_unless_host(proxy, &n_skipped) > 0) {
            idle_since = 0;
            backoff = 0;
            continue;
        }
        uint64_t now = gsh_now_ns();
        if (idle_since == 0) {
            idle_since = now;
        }
        if (now - idle_since < proxy->options.spin_ns) {
            gsh_spin(&backoff);
            continue;
        }
        go_to_sleep(proxy);
    }
    return NULL;
}

enum gsh_result gsh_thread_start(struct gsh_proxy *proxy)
{
    int error = gsh_create_thread(&proxy->thread, NULL, thread_main, proxy);
    if (error != 0) {
        return gsh_fail(GSH_ERR_SYSTEM, "the proxy's thread: %s%s", strerror(error),
                        gsh_limits_hint(error, &(struct gsh_limits_text){0}));
    }
    pthread_setname_np(proxy->thread, "gshmem-proxy");
    proxy->has_thread = true;
    return GSH_OK;
}

void gsh_thread_stop(struct gsh_proxy *proxy)
{
    if (!proxy->has_thread) {
        return;
    }
    gsh_store_release_u32(&proxy->is_stopping, 1);
    gsh_thread_wake(proxy);
    pthread_join(proxy->thread, NULL);
    proxy->has_thread = false;
}

enum gsh_result gsh_thread_create_event(struct gsh_proxy *proxy)
{
    proxy->wake = (struct gsh_ring_wake){.call = wake_from_ring, .context = proxy};
    proxy->event_fd = eventfd(0, EFD_CLOEXEC);
    if (proxy->event_fd < 0) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "eventfd");
    }
    gsh_private_fd_add(proxy->event_fd);
    return GSH_OK;
}

void gsh_thread_destroy_event(struct gsh_proxy *proxy)
{
    gsh_private_fd_close(&proxy->event_fd);
}
