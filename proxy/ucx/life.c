/* SPDX-License-Identifier: Apache-2.0
 * See life.h. */
#include "proxy/ucx/life.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/util.h"
#include "proxy/ucx/call.h"
#include "proxy/ucx/carry.h"
#include "proxy/ucx/events.h"
#include "proxy/ucx/loss.h"
#include "proxy/ucx/message.h"
#include "proxy/ucx/post.h"
#include "proxy/ucx/region.h"

#define TICKS_BEFORE_ASKING 4 /* of 16 in the time limit */
#define TICKS_BEFORE_LOSS   15
#define PEERS_PER_TICK      1024
#define POLLS_PER_CLOCK     64 /* reading the clock costs as much as an empty progress */
#define LEAVE_NS            UINT64_C(2000000000)
#define POLLS_BEFORE_SLEEP  64
#define SLEEP_MS            10 /* UCX wakes it earlier */

/* ---- losing ---- */

static void remove_used(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx *u = peer->ucx;
    if (peer->used_index >= u->n_used || u->used[peer->used_index] != peer) {
        return; /* broken before it was used */
    }
    struct gsh_ucx_peer *last = u->used[--u->n_used];
    u->used[peer->used_index] = last;
    last->used_index = peer->used_index;
}

/* Closes the endpoint of a peer that took leave: UCX cancels everything it still has for it, at
 * once or in later progress. Other endpoints stay open; see ucx_destroy. */
static void close_by_force(struct gsh_ucx_peer *peer)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
    gsh_ucx_free_remotes(peer);
    for (unsigned path = 0; path <= peer->n_other_paths; path++) {
        const struct gsh_ucx_path *its = gsh_ucx_path(peer, path);
        ucp_ep_h ep = path == 0 ? peer->ep : its->ep;
        ucs_status_ptr_t request = ep != NULL ? ucp_ep_close_nbx(ep, &param) : NULL;
        if (UCS_PTR_IS_PTR(request)) {
            ucp_request_free(request);
        }
    }
}

void gsh_ucx_bury(struct gsh_ucx *u)
{
    while (u->broken != NULL) {
        struct gsh_ucx_peer *peer = u->broken;
        u->broken = peer->next_broken;
        peer->state = GSH_UCX_LOST;
        remove_used(peer);
        if (peer->reason != NULL && !u->is_leaving) {
            u->base.options.events.lost(u->base.options.events.context, peer->pe, peer->is_silent,
                                        peer->reason);
        }
        if (peer->ep != NULL && peer->reason != NULL) {
            u->has_lost = true;
        } else if (peer->ep != NULL) {
            close_by_force(peer);
        }
        peer->ep = NULL;
        for (unsigned path = 1; path <= peer->n_other_paths; path++) {
            gsh_ucx_path(peer, path)->ep = NULL;
        }
        gsh_ucx_end_transfers(peer);
        gsh_ucx_end_calls(peer);
    }
}

void gsh_ucx_go_deaf(struct gsh_ucx *u, ucs_status_t status)
{
    u->is_deaf = true;
    for (size_t i = 0; i < u->n_used; i++) {
        gsh_ucx_break(u->used[i],
                      "this PE does not hear of what arrives (UCX: %s): has the program closed a "
                      "descriptor of the library?",
                      ucs_status_string(status));
    }
}

/* ---- watching ---- */

/* Messages that have overtaken another one wait for it, but not for ever. */
static void look_for_gap(struct gsh_ucx_peer *peer)
{
    if (peer->early == NULL || peer->gap != peer->receive_sequence) {
        peer->gap = peer->receive_sequence;
        peer->gap_ticks = 0;
    } else if (++peer->gap_ticks >= TICKS_BEFORE_LOSS) {
        gsh_ucx_break(peer, "a message from it has not come, but later ones have");
    }
}

static void look_after(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    if (peer->state != GSH_UCX_USED) {
        return;
    }
    look_for_gap(peer);
    if (peer->is_heard) {
        peer->is_heard = false;
        peer->quiet_ticks = 0;
        return;
    }
    peer->quiet_ticks++;
    if (peer->quiet_ticks == TICKS_BEFORE_ASKING) {
        gsh_ucx_tell(peer, GSH_UCX_PING);
    } else if (peer->quiet_ticks >= TICKS_BEFORE_LOSS) {
        peer->is_silent = true;
        gsh_ucx_break(peer, "no answer for %.1f s (GSHMEM_PROXY_TIMEOUT is %.3g s)",
                      peer->quiet_ticks * (double)u->tick_ns * 1e-9,
                      (double)u->base.options.timeout_ns * 1e-9);
    }
}

void gsh_ucx_tick(struct gsh_ucx *u)
{
    if (u->next_tick_ns == 0 || (++u->n_polls % POLLS_PER_CLOCK != 0 && !u->is_clock_due)) {
        return;
    }
    if (u->is_clock_due && u->timer_fd >= 0) {
        uint64_t expirations;
        ssize_t unused = read(u->timer_fd, &expirations, sizeof(expirations));
        (void)unused; /* read only so that it is no longer readable */
    }
    u->is_clock_due = false;
    uint64_t now = gsh_now_ns();
    if (now + u->tick_ns / 8 < u->next_tick_ns) { /* the timer may be a little early */
        return;
    }
    u->next_tick_ns = now + u->tick_ns;
    size_t n = gsh_min_u64(u->n_used, PEERS_PER_TICK);
    for (size_t i = 0; i < n; i++) {
        look_after(u, u->used[(u->tick_cursor + i) % u->n_used]);
    }
    u->tick_cursor += n;
}

/* ---- taking leave ---- */

static bool all_know(const struct gsh_ucx *u)
{
    for (size_t i = 0; i < u->n_used; i++) {
        if (u->used[i]->state == GSH_UCX_USED && !u->used[i]->is_bye_answered) {
            return false;
        }
    }
    return true;
}

/* Lets UCX work while this PE waits for others, which may need the core for their answers. n_idle:
 * in how many calls one after the other there was nothing to do. */
static void progress(struct gsh_ucx *u, unsigned *n_idle)
{
    *n_idle = ucp_worker_progress(u->worker) != 0 ? 0 : *n_idle + 1;
    if (*n_idle >= POLLS_BEFORE_SLEEP) {
        gsh_ucx_sleep(u, SLEEP_MS);
    }
}

static void say_bye(struct gsh_ucx *u, uint64_t deadline_ns)
{
    unsigned n_idle = 0;
    for (size_t i = 0; i < u->n_used; i++) {
        if (u->used[i]->state == GSH_UCX_USED) {
            gsh_ucx_tell(u->used[i], GSH_UCX_BYE);
        }
    }
    while (!all_know(u) && gsh_now_ns() < deadline_ns) {
        progress(u, &n_idle);
        gsh_ucx_bury(u);
    }
}

/* Endpoints that are being closed. */
struct closing {
    ucs_status_ptr_t *requests;
    size_t n, room;
};

static void begin_closing(struct closing *c, ucp_ep_h *ep, bool is_healthy)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = is_healthy ? 0 : UCP_EP_CLOSE_FLAG_FORCE};
    if (*ep == NULL) {
        return;
    }
    ucs_status_ptr_t request = ucp_ep_close_nbx(*ep, &param);
    *ep = NULL;
    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    if (gsh_array_reserve(&c->requests, &c->room, c->n + 1, sizeof(*c->requests))) {
        c->requests[c->n++] = request;
    } else {
        ucp_request_free(request); /* UCX closes it, and nobody waits */
    }
}

/* Does not wait again for peers that did not answer. */
static void close_peer(struct closing *c, struct gsh_ucx_peer *peer)
{
    bool is_healthy = peer->is_bye_answered || peer->state == GSH_UCX_LEFT;
    gsh_ucx_free_remotes(peer);
    for (unsigned path = 1; path <= peer->n_other_paths; path++) {
        begin_closing(c, &gsh_ucx_path(peer, path)->ep, is_healthy);
    }
    begin_closing(c, &peer->ep, is_healthy);
}

/* All at once: each waits for its peer, which has others to wait for. */
static void close_all(struct gsh_ucx *u, uint64_t deadline_ns)
{
    struct closing c = {0};
    unsigned n_idle = 0;
    for (size_t i = 0; i < u->n_used; i++) {
        close_peer(&c, u->used[i]);
    }
    for (size_t i = 0; i < c.n; i++) {
        while (ucp_request_check_status(c.requests[i]) == UCS_INPROGRESS &&
               gsh_now_ns() < deadline_ns) {
            progress(u, &n_idle);
        }
        ucp_request_free(c.requests[i]);
    }
    free(c.requests);
}

void gsh_ucx_leave(struct gsh_ucx *u)
{
    uint64_t deadline_ns = gsh_now_ns() + LEAVE_NS;
    u->is_leaving = true;
    gsh_ucx_bury(u);
    say_bye(u, deadline_ns);
    close_all(u, deadline_ns);
    u->n_used = 0;
}

void gsh_ucx_free_peers(struct gsh_ucx *u)
{
    for (int pe = 0; u->peers != NULL && pe < u->base.options.n_pes; pe++) {
        struct gsh_ucx_peer *peer = u->peers[pe];
        if (peer == NULL) {
            continue;
        }
        gsh_ucx_free_early(peer);
        gsh_ucx_free_transfers(peer);
        gsh_ucx_free_remotes(peer); /* for peers that were lost, or never used */
        gsh_ucx_forget_reason(peer);
        free(peer->pairing);
        free(peer->other_paths);
        free(peer->address);
        free(peer->remotes);
        free(peer);
    }
    free(u->peers);
    free(u->used);
}
