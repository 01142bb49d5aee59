/* SPDX-License-Identifier: Apache-2.0
 * See events.h. */
#include "proxy/ucx/events.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/util.h"

enum gsh_result gsh_ucx_open_events(struct gsh_ucx *u)
{
    struct epoll_event in = {.events = EPOLLIN};
    int ucx_fd;
    u->tick_ns = u->base.options.timeout_ns / 16;
    if (ucp_worker_get_efd(u->worker, &ucx_fd) != UCS_OK) {
        return GSH_OK; /* the proxy polls */
    }
    u->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    u->event_fd = epoll_create1(EPOLL_CLOEXEC);
    if (u->timer_fd < 0 || u->event_fd < 0 ||
        epoll_ctl(u->event_fd, EPOLL_CTL_ADD, ucx_fd, &in) < 0 ||
        epoll_ctl(u->event_fd, EPOLL_CTL_ADD, u->timer_fd, &in) < 0) {
        return u->core->fail(GSH_ERR_SYSTEM, "far PEs over UCX: no event descriptor (errno %d)",
                             errno);
    }
    return GSH_OK;
}

void gsh_ucx_close_events(struct gsh_ucx *u)
{
    if (u->event_fd >= 0) {
        close(u->event_fd);
    }
    if (u->timer_fd >= 0) {
        close(u->timer_fd);
    }
    u->event_fd = u->timer_fd = -1;
}

void gsh_ucx_sleep(struct gsh_ucx *u, int limit_ms)
{
    struct pollfd events = {.fd = u->event_fd, .events = POLLIN};
    if (u->event_fd >= 0 && ucp_worker_arm(u->worker) == UCS_OK) {
        (void)poll(&events, 1, limit_ms);
    } else {
        sched_yield();
    }
}

void gsh_ucx_monitor_peer(struct gsh_ucx *u)
{
    struct timespec tick = {.tv_sec = (time_t)(u->tick_ns / 1000000000u),
                            .tv_nsec = (long)(u->tick_ns % 1000000000u)};
    struct itimerspec every = {.it_interval = tick, .it_value = tick};
    if (u->next_tick_ns != 0 || u->tick_ns == 0) {
        return;
    }
    u->next_tick_ns = gsh_now_ns() + u->tick_ns;
    if (u->timer_fd >= 0) {
        timerfd_settime(u->timer_fd, 0, &every, NULL);
    }
}
