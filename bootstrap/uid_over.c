/* SPDX-License-Identifier: Apache-2.0
 * Start-up by a unique id that a launcher's bootstrap carries: uid.h. Whether TCP connects the
 * hosts is not known before; a job whose hosts it does not connect goes on as it was started. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "bootstrap/netif.h"
#include "bootstrap/uid.h"

/* What rank 0 tells. */
struct invitation {
    uint32_t is_needed, is_given; /* the ranks need TCP; rank 0 serves the id */
    struct gsh_uid id;
};
_Static_assert(sizeof(struct invitation) == 132, "the same in every version");

struct hosts {
    uint64_t least, most;
};

static void fold_hosts(void *into, const void *from)
{
    struct hosts *mine = into;
    const struct hosts *theirs = from;
    mine->least = gsh_min_u64(mine->least, theirs->least);
    mine->most = gsh_max_u64(mine->most, theirs->most);
}

/* Collective. *is_one: all ranks are of one host; where b cannot combine, the launcher says so. */
static enum gsh_result find_one_host(struct gsh_bootstrap *b, uint64_t host, bool *is_one)
{
    struct hosts hosts = {host, host};
    *is_one = b->is_on_one_node;
    if (b->ops->combine == NULL) {
        return GSH_OK;
    }
    const enum gsh_result r = b->ops->combine(b, &hosts, sizeof(hosts), fold_hosts);
    *is_one = hosts.least == hosts.most && host != 0;
    return r;
}

#define LIMIT_NS UINT64_C(15000000000) /* where there is none otherwise */

/* The time limit of joining; the others wait meanwhile. */
static uint64_t limit_ns(const struct gsh_bootstrap *b)
{
    return b->timeout_ns > 0 ? b->timeout_ns / 4 : LIMIT_NS;
}

/* GSH_ERR_PEER, to which any other failure comes first: TCP does not connect the hosts. */
static enum gsh_result lack_tcp(void)
{
    return gsh_note(GSH_ERR_PEER, "%s", gsh_last_error());
}

static enum gsh_result check_ifname(const struct gsh_uid_options *options)
{
    struct gsh_address at;
    return options->ifname == NULL || options->ifname[0] == '\0'
               ? GSH_OK
               : gsh_netif_choose(options->ifname, options->family, "start-up", &at);
}

static enum gsh_result invite(const struct gsh_bootstrap *b, const struct gsh_uid_options *options,
                              struct invitation *invitation)
{
    struct gsh_uid_options serving = *options;
    serving.timeout_ns = limit_ns(b);
    const enum gsh_result r = check_ifname(options);
    invitation->is_needed = 1;
    invitation->is_given = r == GSH_OK && gsh_uid_create(&serving, &invitation->id) == GSH_OK;
    return r != GSH_OK || invitation->is_given != 0 ? r : lack_tcp();
}

/* Collective. GSH_OK on a rank: all ranks have links with their partners. */
static enum gsh_result join(const struct gsh_bootstrap *b, const struct gsh_uid_options *options,
                            const struct invitation *invitation, struct gsh_bootstrap **out)
{
    struct gsh_uid_options joining = *options;
    joining.timeout_ns = limit_ns(b);
    enum gsh_result r = check_ifname(options);
    if (r != GSH_OK) {
        return r;
    }
    if (invitation->is_given == 0) {
        return gsh_note(GSH_ERR_PEER, "PE 0 cannot serve a unique id");
    }
    r = gsh_bootstrap_uid_create(&invitation->id, b->rank, b->size, &joining, out);
    if (r == GSH_OK) {
        r = (*out)->ops->barrier(*out); /* of those with all their links */
    }
    if (r != GSH_OK && *out != NULL) {
        (*out)->ops->destroy(*out);
        *out = NULL;
    }
    return r == GSH_OK ? r : lack_tcp();
}

/* Collective, over the launcher: no rank has joined, this one for that reason. (If the time limit
 * ends between two ranks' last messages, one may have joined: it fails in its next call, since its
 * partners have left, and the others when their time limit ends.) */
static enum gsh_result go_on_without(struct gsh_bootstrap *b, enum gsh_result mine)
{
    const struct gsh_vote vote = {.call = GSH_VOTE_STEP, .outcome = (uint16_t)mine};
    char words[512];
    struct gsh_agreement a;
    snprintf(words, sizeof(words), "%s", gsh_last_error());
    enum gsh_result r = gsh_agreement_init(&a, b);
    if (r != GSH_OK) {
        return r;
    }
    r = gsh_agree(&a, vote, NULL, NULL);
    gsh_agreement_finish(&a);
    if (mine != GSH_ERR_PEER) {
        return gsh_fail(mine, "%s", words);
    }
    if (r == GSH_ERR_PEER) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP,
                "TCP does not connect all hosts, so all PEs tell all their addresses: %s", words);
        return GSH_OK;
    }
    return r;
}

enum gsh_result gsh_bootstrap_uid_over(struct gsh_bootstrap **b,
                                       const struct gsh_uid_options *options, bool has_nodes)
{
    struct gsh_bootstrap *launcher = *b, *joined = NULL;
    struct invitation invitation = {0};
    bool is_one_host = true;
    if (launcher->size == 1 || launcher->ops->spread == NULL) {
        return GSH_OK;
    }
    enum gsh_result mine = GSH_OK, r = find_one_host(launcher, options->host, &is_one_host);
    if (r != GSH_OK) {
        return r;
    }
    const bool before = gsh_expect_failures(true);
    if (launcher->rank == 0 && (has_nodes || !is_one_host)) {
        mine = invite(launcher, options, &invitation);
    }
    gsh_expect_failures(before);
    r = launcher->ops->spread(launcher, &invitation, sizeof(invitation));
    if (r != GSH_OK || invitation.is_needed == 0) {
        return r;
    }
    gsh_expect_failures(true);
    if (mine == GSH_OK) {
        mine = join(launcher, options, &invitation, &joined);
    }
    gsh_expect_failures(before);
    if (mine != GSH_OK && launcher->rank == 0 && invitation.is_given != 0) {
        gsh_uid_drop(&invitation.id); /* those who still wait need not */
    }
    explicit_bzero(&invitation, sizeof(invitation));
    if (mine != GSH_OK) {
        return go_on_without(launcher, mine);
    }
    joined->launcher = launcher;
    joined->timeout_ns = launcher->timeout_ns;
    *b = joined;
    return GSH_OK;
}
