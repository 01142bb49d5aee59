/* SPDX-License-Identifier: Apache-2.0
 * Who is still there: peers that have not been heard of for a while are asked, and lost when they
 * do not answer, since UCX notices a cut link only when the system does (minutes, over TCP). And
 * taking leave, so that an orderly end is told apart from a death. Time counts only while progress
 * is made: a process that was stopped does not find that all others were silent. */
#include "proxy/ucx/ucx.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/base/util.h"

#define TICKS_BEFORE_ASKING 4 /* of 16 in the time limit */
#define TICKS_BEFORE_LOSS   15
#define PEERS_PER_TICK      1024
#define TURNS_PER_CLOCK     64 /* reading the clock costs as much as an empty progress */
#define LEAVE_NS            UINT64_C(2000000000)

/* ---- what the sleeping proxy polls ---- */

enum gsh_result gsh_ucx_open_events(struct gsh_ucx *u)
{
    struct epoll_event in = {.events = EPOLLIN};
    int ucx_fd;
    u->tick_ns = u->base.options.timeout_ns / 16;
    if (ucp_worker_get_efd(u->worker, &ucx_fd) != UCS_OK)
        return GSH_OK; /* the proxy polls */
    u->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    u->event_fd = epoll_create1(EPOLL_CLOEXEC);
    if (u->timer_fd < 0 || u->event_fd < 0 ||
        epoll_ctl(u->event_fd, EPOLL_CTL_ADD, ucx_fd, &in) < 0 ||
        epoll_ctl(u->event_fd, EPOLL_CTL_ADD, u->timer_fd, &in) < 0)
        return u->core->fail(GSH_ERR_SYSTEM, "far PEs over UCX: no event descriptor (errno %d)",
                             errno);
    return GSH_OK;
}

void gsh_ucx_close_events(struct gsh_ucx *u)
{
    if (u->event_fd >= 0)
        close(u->event_fd);
    if (u->timer_fd >= 0)
        close(u->timer_fd);
    u->event_fd = u->timer_fd = -1;
}

void gsh_ucx_watch(struct gsh_ucx *u)
{
    struct timespec tick = {.tv_sec = (time_t)(u->tick_ns / 1000000000u),
                            .tv_nsec = (long)(u->tick_ns % 1000000000u)};
    struct itimerspec every = {.it_interval = tick, .it_value = tick};
    if (u->next_tick_ns != 0 || u->tick_ns == 0)
        return;
    u->next_tick_ns = gsh_now_ns() + u->tick_ns;
    if (u->timer_fd >= 0)
        timerfd_settime(u->timer_fd, 0, &every, NULL);
}

/* ---- watching ---- */

static void look_after(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    if (peer->state != GSH_UCX_USED)
        return;
    if (peer->is_heard) {
        peer->is_heard = false;
        peer->quiet_ticks = 0;
        return;
    }
    peer->quiet_ticks++;
    if (peer->quiet_ticks == TICKS_BEFORE_ASKING)
        gsh_ucx_tell(peer, GSH_UCX_PING);
    else if (peer->quiet_ticks >= TICKS_BEFORE_LOSS)
        gsh_ucx_break(peer, "no answer for %.1f s", peer->quiet_ticks * (double)u->tick_ns * 1e-9);
}

void gsh_ucx_tick(struct gsh_ucx *u)
{
    if (u->next_tick_ns == 0 || (++u->turn % TURNS_PER_CLOCK != 0 && !u->is_clock_due))
        return;
    if (u->is_clock_due && u->timer_fd >= 0) {
        uint64_t expirations;
        ssize_t unused = read(u->timer_fd, &expirations, sizeof expirations);
        (void)unused; /* only so that it is no longer readable */
    }
    u->is_clock_due = false;
    uint64_t now = gsh_now_ns();
    if (now + u->tick_ns / 8 < u->next_tick_ns) /* the timer may be a little early */
        return;
    u->next_tick_ns = now + u->tick_ns;
    size_t n = gsh_min_u64(u->n_used, PEERS_PER_TICK);
    for (size_t i = 0; i < n; i++)
        look_after(u, u->used[(u->tick_cursor + i) % u->n_used]);
    u->tick_cursor += n;
}

/* ---- taking leave ---- */

static bool all_know(const struct gsh_ucx *u)
{
    for (size_t i = 0; i < u->n_used; i++)
        if (u->used[i]->state == GSH_UCX_USED && !u->used[i]->is_bye_answered)
            return false;
    return true;
}

static void say_bye(struct gsh_ucx *u, uint64_t deadline_ns)
{
    for (size_t i = 0; i < u->n_used; i++)
        if (u->used[i]->state == GSH_UCX_USED)
            gsh_ucx_tell(u->used[i], GSH_UCX_BYE);
    while (!all_know(u) && gsh_now_ns() < deadline_ns) {
        ucp_worker_progress(u->worker);
        gsh_ucx_bury(u);
    }
}

/* Those that did not answer are not waited for again. */
static void close_endpoint(struct gsh_ucx *u, struct gsh_ucx_peer *peer, uint64_t deadline_ns)
{
    bool is_healthy = peer->is_bye_answered || peer->state == GSH_UCX_LEFT;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = is_healthy ? 0 : UCP_EP_CLOSE_FLAG_FORCE};
    gsh_ucx_free_remotes(peer);
    if (!peer->ep)
        return;
    ucs_status_ptr_t request = ucp_ep_close_nbx(peer->ep, &param);
    peer->ep = NULL;
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && gsh_now_ns() < deadline_ns)
        ucp_worker_progress(u->worker);
    ucp_request_free(request);
}

void gsh_ucx_leave(struct gsh_ucx *u)
{
    uint64_t deadline_ns = gsh_now_ns() + LEAVE_NS;
    u->is_leaving = true;
    gsh_ucx_bury(u);
    say_bye(u, deadline_ns);
    for (size_t i = 0; i < u->n_used; i++)
        close_endpoint(u, u->used[i], deadline_ns);
    u->n_used = 0;
}
