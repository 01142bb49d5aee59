/* SPDX-License-Identifier: Apache-2.0
 * See endpoint.h. */
#include "proxy/ucx/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proxy/ucx/events.h"
#include "proxy/ucx/loss.h"
#include "proxy/ucx/post.h"

struct gsh_ucx_peer *gsh_ucx_peer(struct gsh_ucx *u, int pe)
{
    if (pe < 0 || pe >= u->base.options.n_pes) {
        return NULL;
    }
    struct gsh_ucx_peer *peer = u->peers[pe];
    if (peer == NULL && (peer = calloc(1, sizeof(*peer))) != NULL) {
        peer->ucx = u;
        peer->pe = pe;
        peer->calls.next = peer->calls.prev = &peer->calls;
        u->peers[pe] = peer;
    }
    return peer;
}

enum gsh_result gsh_ucx_set_peer(struct gsh_transport *t, int pe, const void *blob, size_t bytes)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    if (pe < 0 || pe >= t->options.n_pes) {
        return u->core->fail(GSH_ERR_ARG, "far PEs over UCX: there is no PE %d", pe);
    }
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, pe);
    void *address = malloc(bytes);
    if (peer == NULL || address == NULL) {
        free(address);
        return u->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for PE %d", pe);
    }
    memcpy(address, blob, bytes);
    free(peer->address);
    peer->address = address;
    return GSH_OK;
}

enum gsh_result gsh_ucx_set_pair(struct gsh_transport *t, int pe,
                                 const struct gsh_transport_pairing *pairing, const void *blob,
                                 size_t bytes)
{
    struct gsh_transport_pairing *copy = malloc(sizeof(*copy));
    enum gsh_result r =
        copy != NULL ? gsh_ucx_set_peer(t, pe, blob, bytes)
                     : ((struct gsh_ucx *)t)
                           ->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for PE %d", pe);
    if (r != GSH_OK) {
        free(copy);
        return r;
    }
    struct gsh_ucx_peer *peer = ((struct gsh_ucx *)t)->peers[pe];
    *copy = *pairing;
    free(peer->pairing);
    peer->pairing = copy;
    return GSH_OK;
}

/* ---- how the peer is reached ---- */

/* Appends "tcp/lo" for each line "... lane[0]: 2:tcp/lo.0 md[...] ..." of UCX's own description. */
static void collect_lanes(const char *text, char *lanes, size_t room)
{
    size_t used = 0;
    lanes[0] = '\0';
    for (const char *at = text; (at = strstr(at, "lane[")) != NULL; at++) {
        char name[64];
        if (sscanf(at, "lane[%*d]: %*d:%63[^. \n]", name) != 1 || strstr(lanes, name) != NULL) {
            continue;
        }
        int n = snprintf(lanes + used, room - used, "%s%s", used ? ", " : "", name);
        if (n < 0 || (size_t)n >= room - used) {
            return;
        }
        used += (size_t)n;
    }
}

/* Whether only messages reach its memory, because all its lanes are of that kind. */
static bool must_carry(const struct gsh_ucx *u, const char *lanes)
{
    /* Over shared memory UCX copies by itself, or by the system's calls (cma): all of a put within
     * one call, under the proxy's lock, in which this PE would answer nobody for seconds. */
    static const char *const without_memory[] = {"tcp/",   "ud_verbs/", "ud_mlx5/", "cma/",
                                                 "posix/", "sysv/",     "self/"};
    bool must = lanes[0] != '\0' && !u->base.reads_cuda; /* memory may not be host memory */
    if (!u->has_rma) {
        return true;
    }
    for (const char *at = lanes; must && at != NULL; at = strchr(at, ',')) {
        bool is_without = false;
        at += strspn(at, ", ");
        for (size_t i = 0; i < sizeof(without_memory) / sizeof(without_memory[0]); i++) {
            is_without |= strncmp(at, without_memory[i], strlen(without_memory[i])) == 0;
        }
        must = is_without;
    }
    return must;
}

static void log_lanes(struct gsh_ucx *u, const struct gsh_ucx_peer *peer, const char *lanes,
                      char *text)
{
    const struct gsh_ucx_core *core = u->core;
    char *rest = NULL;
    if (strcmp(lanes, u->lanes) != 0) { /* not repeated for each of a thousand PEs */
        core->log(GSH_LOG_INFO, GSH_LOG_PROXY, "%s %d is reached over UCX by %s%s",
                  peer->pairing != NULL ? "process" : "PE", peer->pe, lanes,
                  peer->is_carried ? ", its memory by messages" : "");
        snprintf(u->lanes, sizeof(u->lanes), "%s", lanes);
    }
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        core->log(GSH_LOG_TRACE, GSH_LOG_PROXY, "PE %d: %s", peer->pe, line);
    }
}

static void look_at_lanes(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    char lanes[sizeof(u->lanes)], *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    peer->is_carried = !u->has_rma;
    if (out == NULL) {
        return;
    }
    ucp_ep_print_info(peer->ep, out);
    fclose(out);
    collect_lanes(text, lanes, sizeof(lanes));
    peer->is_carried = must_carry(u, lanes);
    if (u->core->log_enabled(GSH_LOG_INFO, GSH_LOG_PROXY)) {
        log_lanes(u, peer, lanes, text);
    }
    free(text);
}

/* ---- connecting ---- */

const char *gsh_ucx_settings(char text[GSH_UCX_SETTINGS_MAX])
{
    const char *tls = secure_getenv("UCX_TLS"), *devices = secure_getenv("UCX_NET_DEVICES");
    snprintf(text, GSH_UCX_SETTINGS_MAX, "%s%.60s%s%.60s", tls != NULL ? ", with UCX_TLS=" : "",
             tls != NULL ? tls : "", devices != NULL ? ", with UCX_NET_DEVICES=" : "",
             devices != NULL ? devices : "");
    return text;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)ep;
    gsh_ucx_break_for(arg, status);
}

static enum gsh_result add_used(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    if (!gsh_array_reserve(&u->used, &u->used_room, u->n_used + 1, sizeof(struct gsh_ucx_peer *))) {
        return u->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for PE %d", peer->pe);
    }
    peer->used_index = u->n_used;
    u->used[u->n_used++] = peer;
    return GSH_OK;
}

/* Whether UCX is to be given the address again, which is rare, rather than kept. */
static bool can_learn_again(const struct gsh_ucx_peer *peer)
{
    return peer->ucx->base.options.events.learn != NULL && peer->pairing == NULL;
}

/* NULL: the peer is broken. The peer has an address. */
static ucp_ep_h connect_endpoint(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = peer->address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = peer},
    };
    ucp_ep_h ep;
    ucs_status_t status = ucp_ep_create(u->worker, &params, &ep);
    if (status != UCS_OK) {
        char settings[GSH_UCX_SETTINGS_MAX];
        gsh_ucx_break(peer, "cannot connect: %s%s", ucs_status_string(status),
                      gsh_ucx_settings(settings));
        return NULL;
    }
    if (can_learn_again(peer)) {
        free(peer->address);
        peer->address = NULL;
    }
    return ep;
}

static enum gsh_result connect_peer(struct gsh_ucx *u, struct gsh_ucx_peer *peer)
{
    if (peer->address == NULL) {
        return u->core->fail(GSH_ERR_STATE, "far PEs over UCX: the address of PE %d is not known",
                             peer->pe);
    }
    enum gsh_result r = add_used(u, peer);
    if (r != GSH_OK) {
        return r;
    }
    peer->state = GSH_UCX_USED;
    peer->ep = connect_endpoint(u, peer);
    if (peer->ep == NULL) {
        return GSH_OK;
    }
    look_at_lanes(u, peer);
    gsh_ucx_monitor_peer(u);
    gsh_ucx_tell(peer, GSH_UCX_PING); /* so that it tells this PE when it leaves */
    return GSH_OK;
}

/* A peer that has sent something, or of which something is known, may not have an address yet. */
static enum gsh_result learn(struct gsh_ucx *u, int pe)
{
    const struct gsh_transport_events *events = &u->base.options.events;
    const struct gsh_ucx_peer *peer = u->peers[pe];
    const bool is_known = peer != NULL && (peer->state != GSH_UCX_UNUSED || peer->address != NULL);
    return is_known || events->learn == NULL ? GSH_OK : events->learn(events->context, pe);
}

bool gsh_ucx_is_lost_by(struct gsh_ucx_peer *peer, enum gsh_result r)
{
    const bool is_lost = r == GSH_ERR_PEER || r == GSH_ERR_TIMEOUT;
    if (is_lost && !peer->ucx->is_leaving) {
        gsh_ucx_break(peer, "it does not tell its address or key");
    }
    return is_lost && !peer->ucx->is_leaving;
}

enum gsh_result gsh_ucx_use(struct gsh_ucx *u, int pe, struct gsh_ucx_peer **out)
{
    const bool is_in_job = pe >= 0 && pe < u->base.options.n_pes;
    enum gsh_result r = is_in_job ? learn(u, pe) : GSH_OK;
    struct gsh_ucx_peer *peer = is_in_job ? gsh_ucx_peer(u, pe) : NULL;
    if (r != GSH_OK && (peer == NULL || !gsh_ucx_is_lost_by(peer, r))) {
        return r;
    }
    if (peer == NULL) {
        return u->core->fail(GSH_ERR_ARG, "far PEs over UCX: PE %d is not known", pe);
    }
    *out = peer;
    if (peer->state == GSH_UCX_LOST) {
        return GSH_ERR_PEER;
    }
    return peer->state == GSH_UCX_UNUSED ? connect_peer(u, peer) : GSH_OK;
}

/* A peer without memory for its record has nothing under way. */
void gsh_ucx_lose(struct gsh_transport *t, int pe, const char *reason)
{
    struct gsh_ucx_peer *peer = gsh_ucx_peer((struct gsh_ucx *)t, pe);
    if (peer != NULL) {
        gsh_ucx_break(peer, "%s", reason);
    }
}

ucp_ep_h gsh_ucx_use_path(struct gsh_ucx_peer *peer, unsigned path)
{
    if (path == 0 || peer->ep == NULL) {
        return peer->ep;
    }
    struct gsh_ucx_path *its = gsh_ucx_path(peer, path);
    const struct gsh_transport_events *events = &peer->ucx->base.options.events;
    if (its->ep == NULL && peer->address == NULL && can_learn_again(peer) &&
        events->learn(events->context, peer->pe) != GSH_OK) {
        gsh_ucx_break(peer, "its address is not to be had a second time");
        return NULL;
    }
    if (its->ep == NULL) {
        its->ep = connect_endpoint(peer->ucx, peer);
    }
    return its->ep;
}

enum gsh_result gsh_ucx_make_path(struct gsh_ucx_peer *peer, unsigned path)
{
    const unsigned n = peer->n_other_paths;
    if (path <= n) {
        return GSH_OK;
    }
    struct gsh_ucx_path *grown = realloc(peer->other_paths, path * sizeof(*grown));
    if (grown == NULL) {
        return peer->ucx->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for PE %d",
                                     peer->pe);
    }
    memset(grown + n, 0, (path - n) * sizeof(*grown));
    peer->other_paths = grown;
    peer->n_other_paths = path;
    return GSH_OK;
}
