/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects without a job: ranks that start up together, shared memory. */
#define _GNU_SOURCE 1
#include "runtime/layer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/private_fd.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid.h"
#include "bootstrap/uid_wire.h"
#include "heap/range.h"
#include "runtime/api/layer_outcome.h"
#include "runtime/init/registrable.h"

_Static_assert(GSHMEMX_LAYER_RANGE_KEY == sizeof(struct gsh_range_key), "layer.h");
_Static_assert(GSHMEMX_LAYER_RANGE_BYTES_AT == offsetof(struct gsh_range_key, bytes), "layer.h");

int gsh_layer_outcome(enum gsh_result r)
{
    switch (r) {
    case GSH_OK:
        return GSHMEMX_LAYER_DONE;
    case GSH_ERR_ARG:
    case GSH_ERR_UNSUPPORTED:
    case GSH_ERR_SYMMETRY:
    case GSH_ERR_STATE:
        return GSHMEMX_LAYER_WRONG;
    case GSH_ERR_TIMEOUT:
        return GSHMEMX_LAYER_LATE;
    case GSH_ERR_PEER:
        return GSHMEMX_LAYER_LOST;
    case GSH_ERR_BUG:
        return GSHMEMX_LAYER_BROKEN;
    default:
        return GSHMEMX_LAYER_LACKING;
    }
}

const char *gshmemx_layer_why(void)
{
    return gsh_last_error();
}

static uint64_t timeout_of_env(void)
{
    const struct gsh_env *env;
    return gsh_setup_env(&env) == GSH_OK ? env->bootstrap_timeout_ns : 0;
}

uint64_t gshmemx_layer_timeout_ns(void)
{
    return timeout_of_env();
}

int gshmemx_layer_wait_timeout(uint64_t *ns)
{
    const struct gsh_env *env;
    enum gsh_result r = gsh_setup_env(&env);
    *ns = r == GSH_OK ? env->wait_timeout_ns : 0;
    return gsh_layer_outcome(r);
}

/* ---- ranks ---- */

static enum gsh_result start(const struct gsh_uid *id, int rank, int n_ranks,
                             const struct gsh_uid_options *options, void **ranks)
{
    struct gsh_bootstrap *b = NULL;
    enum gsh_result r = gsh_bootstrap_uid_create(id, rank, n_ranks, options, &b);
    if (r == GSH_OK) {
        b->may_lose_ranks = true; /* who has no job says himself who is gone */
    }
    *ranks = b;
    return r;
}

int gshmemx_layer_ranks_start(const gshmemx_uniqueid_t *id, int rank, int n_ranks,
                              uint64_t timeout_ns, void **ranks)
{
    const struct gsh_env *env;
    struct gsh_uid uid;
    memcpy(uid.bytes, id->internal, sizeof(uid.bytes));
    enum gsh_result r = gsh_setup_env(&env);
    if (r == GSH_OK) {
        const struct gsh_uid_options options = {
            .ifname = env->uid_ifname, .family = env->uid_family, .timeout_ns = timeout_ns};
        r = start(&uid, rank, n_ranks, &options, ranks);
    }
    return gsh_layer_outcome(r);
}

/* *ifname becomes the text's interface, or "". */
static enum gsh_result parse_address(const char *text, char *ifname, size_t room,
                                     struct gsh_address *at)
{
    const char *colon = strchr(text, ':');
    ifname[0] = '\0';
    if (gsh_address_from_text(text, at)) {
        return GSH_OK;
    }
    if (colon != NULL && (size_t)(colon - text) < room && gsh_address_from_text(colon + 1, at)) {
        memcpy(ifname, text, (size_t)(colon - text));
        ifname[colon - text] = '\0';
        return GSH_OK;
    }
    return gsh_note(GSH_ERR_ARG, "\"%s\" is neither \"ip:port\" nor \"interface:ip:port\"", text);
}

/* Rank 0 may come later. */
static enum gsh_result await_listener(const struct gsh_address *at, uint64_t deadline_ns)
{
    int fd = -1;
    char text[GSH_ADDRESS_TEXT];
    enum gsh_result r;
    while ((r = gsh_socket_connect(at, deadline_ns, &fd)) == GSH_ERR_PEER &&
           gsh_deadline_poll_ms(deadline_ns) != 0) {
        (void)poll(NULL, 0, 20);
    }
    gsh_socket_close(&fd);
    return r == GSH_OK ? r
                       : gsh_note(GSH_ERR_TIMEOUT, "rank 0 does not listen at %s",
                                  gsh_address_text(at, text));
}

int gshmemx_layer_ranks_start_at(const char *text, int rank, int n_ranks, uint64_t timeout_ns,
                                 void **ranks)
{
    char ifname[64];
    struct gsh_address at;
    struct gsh_uid id, served;
    const struct gsh_env *env;
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    enum gsh_result r = gsh_setup_env(&env);
    if (r == GSH_OK) {
        r = parse_address(text, ifname, sizeof(ifname), &at);
    }
    if (r != GSH_OK) {
        return gsh_layer_outcome(r);
    }
    /* the interface may differ between ranks, so it is not part of the phrase */
    gsh_uid_from_phrase(&at, "known-by-its-address", &id);
    struct gsh_uid_options options = {.ifname = ifname[0] ? ifname : env->uid_ifname,
                                      .family = env->uid_family,
                                      .timeout_ns = timeout_ns,
                                      .known = &id};
    r = rank == 0 ? gsh_uid_create(&options, &served) : await_listener(&at, deadline_ns);
    if (r == GSH_OK) {
        r = start(&id, rank, n_ranks, &options, ranks);
    }
    return gsh_layer_outcome(r);
}

int gshmemx_layer_ranks_allgather(void *ranks, const void *mine, size_t bytes, void *all)
{
    struct gsh_bootstrap *b = ranks;
    return gsh_layer_outcome(b->ops->allgather(b, mine, bytes, all));
}

int gshmemx_layer_ranks_barrier(void *ranks)
{
    struct gsh_bootstrap *b = ranks;
    return gsh_layer_outcome(b->ops->barrier(b));
}

void gshmemx_layer_ranks_end(void *ranks)
{
    struct gsh_bootstrap *b = ranks;
    if (b != NULL) {
        b->ops->destroy(b);
    }
}

/* ---- memory ---- */

int gshmemx_layer_range_export(void *memory, size_t bytes, void **range,
                               uint8_t key[GSHMEMX_LAYER_RANGE_KEY])
{
    struct gsh_setup_kind kind;
    struct gsh_range_key made = {0};
    struct gsh_range *out = NULL;
    enum gsh_result r = gsh_setup_find_kind(&kind);
    if (r == GSH_OK) {
        r = gsh_range_export(kind.ops, &kind.options, memory, bytes, &out, &made);
    }
    memcpy(key, &made, sizeof(made));
    *range = out;
    return gsh_layer_outcome(r);
}

void gshmemx_layer_range_release(void *range)
{
    struct gsh_range *r = range;
    gsh_range_release(&r);
}

int gshmemx_layer_range_open(const uint8_t key[GSHMEMX_LAYER_RANGE_KEY], void **opened,
                             void **memory)
{
    struct gsh_setup_kind kind;
    struct gsh_range_key given;
    struct gsh_opened_range *out = NULL;
    memcpy(&given, key, sizeof(given));
    enum gsh_result r = gsh_setup_find_kind(&kind);
    if (r == GSH_OK) {
        r = gsh_range_open(kind.ops, &kind.options, &given, timeout_of_env(), &out, memory);
    }
    *opened = out;
    return gsh_layer_outcome(r);
}

void gshmemx_layer_range_close(void *opened)
{
    struct gsh_opened_range *o = opened;
    gsh_range_close(&o);
}

int gshmemx_layer_process_key(uint8_t key[GSHMEMX_LAYER_RANGE_KEY])
{
    struct gsh_range_key made;
    enum gsh_result r = gsh_range_process_key(&made);
    memcpy(key, &made, sizeof(made));
    return gsh_layer_outcome(r);
}

struct watch {
    int fd; /* -1: this process */
};

int gshmemx_layer_process_watch(const uint8_t key[GSHMEMX_LAYER_RANGE_KEY], void **watch)
{
    struct gsh_range_key given;
    struct watch *w = malloc(sizeof(*w));
    memcpy(&given, key, sizeof(given));
    enum gsh_result r = w != NULL ? gsh_range_watch(&given, timeout_of_env(), &w->fd)
                                  : gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    if (r != GSH_OK) {
        free(w);
        w = NULL;
    }
    *watch = w;
    return gsh_layer_outcome(r);
}

bool gshmemx_layer_process_has_ended(const void *watch)
{
    const struct watch *w = watch;
    struct pollfd p = {.fd = w->fd, .events = POLLRDHUP};
    return w->fd >= 0 && poll(&p, 1, 0) > 0 && p.revents != 0;
}

void gshmemx_layer_process_forget(void *watch)
{
    struct watch *w = watch;
    if (w != NULL) {
        gsh_private_fd_close(&w->fd);
    }
    free(w);
}
