/* SPDX-License-Identifier: Apache-2.0
 * How the ranks of a job that was not started by unique id come to ask each other: see uid_ask.h.
 * Whether TCP connects the hosts is not known before: a job whose hosts it does not connect goes on
 * without. */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include "base/log.h"
#include "bootstrap/agree.h"
#include "bootstrap/leg.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid_ask.h"

/* Nothing is published under it. */
#define NO_NUMBER (UINT64_MAX - 1)

static enum gsh_result open_listener(const uint8_t *secret, const char *ifname, const char *family,
                                     struct gsh_partner *mine, struct gsh_tcp_listener **out)
{
    struct gsh_address at;
    const bool is_named = ifname != NULL && ifname[0] != '\0';
    enum gsh_result r = gsh_netif_choose(ifname, family, "what PEs ask each other", &at);
    if (r != GSH_OK && !is_named) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "no address to listen at: %s", gsh_last_error());
    }
    if (r == GSH_OK) {
        r = gsh_random(mine->link, sizeof(mine->link));
    }
    if (r == GSH_OK) {
        r = gsh_tcp_listener_create(&at, mine->link, out);
    }
    if (r == GSH_OK) {
        gsh_tcp_listener_set_secret(*out, secret);
        mine->address = *gsh_tcp_listener_address(*out);
    }
    return r;
}

/* Whether each partner that listens answers; a quarter of the time limit is left for all of them,
 * while the others wait. */
static enum gsh_result ask_partners(const struct gsh_bootstrap *b,
                                    const struct gsh_partner *partners)
{
    const uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns / 4);
    enum gsh_result r = GSH_OK;
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, -1);) {
        const uint64_t now_ns = gsh_now_ns();
        const uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 1;
        void *bytes = NULL;
        size_t n;
        if (partners[leg.round].address.family != 0) {
            r = gsh_uid_look_up(b->asking, leg.from, NO_NUMBER, deadline_ns != 0 ? left_ns : 0,
                                &bytes, &n);
        }
        free(bytes);
    }
    return r == GSH_OK ? r
                       : gsh_note(GSH_ERR_UNSUPPORTED, "PE %d got no answer: %s", b->rank,
                                  gsh_last_error());
}

/* Collective: what all have come to. */
static enum gsh_result agree(struct gsh_bootstrap *b, enum gsh_result mine)
{
    struct gsh_agreement a;
    const struct gsh_vote vote = {
        .call = GSH_VOTE_STEP, .outcome = (uint16_t)mine, .args = {NO_NUMBER}};
    enum gsh_result r = gsh_agreement_init(&a, b);
    if (r == GSH_OK) {
        r = gsh_agree(&a, vote, NULL, NULL);
        gsh_agreement_finish(&a);
    }
    return r;
}

enum gsh_result gsh_uid_asking_begin(struct gsh_bootstrap *b,
                                     const uint8_t secret[GSH_SHA256_BYTES], const char *ifname,
                                     const char *family)
{
    struct gsh_partner mine = {0}, partners[GSH_UID_MAX_ROUNDS] = {0};
    struct gsh_tcp_listener *listener = NULL;
    enum gsh_result own = open_listener(secret, ifname, family, &mine, &listener);
    enum gsh_result r = b->ops->gather_ahead(b, &mine, sizeof(mine), partners);
    if (r == GSH_OK && own == GSH_OK) {
        own = gsh_uid_asking_create(b->rank, b->size, secret, partners, &b->asked, &listener,
                                    &b->asking);
    }
    if (r == GSH_OK && own == GSH_OK) {
        own = gsh_uid_publish(b->asking, NO_NUMBER, NULL, 0); /* starts the thread that answers */
    }
    if (r == GSH_OK && own == GSH_OK) {
        own = ask_partners(b, partners);
    }
    r = r == GSH_OK ? agree(b, own) : r;
    gsh_tcp_listener_destroy(&listener);
    if (r != GSH_OK) {
        gsh_uid_asking_destroy(&b->asking);
    }
    if (r == GSH_ERR_UNSUPPORTED) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP,
                "TCP does not connect all hosts, so all PEs tell all their addresses: %s",
                gsh_last_error());
        r = GSH_OK;
    }
    return r;
}
