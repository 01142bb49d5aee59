/* SPDX-License-Identifier: Apache-2.0
 * By unique id: a round of an exchange over a rank's links, and how it fails.
 *
 * A rank that fails in a call sends a notice naming the culprit over all its links and closes its
 * sending side; a rank that waits for it passes the notice on, so all ranks return within O(log n)
 * hops. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "bootstrap/uid_impl.h"

void gsh_uid_send_notice(struct gsh_uid_rank *u, enum gsh_result r, int culprit)
{
    struct gsh_frame notice = {
        .kind = GSH_FRAME_NOTICE, .call = (uint32_t)r, .bytes = (uint64_t)culprit};
    size_t moved;
    u->is_failed = true;
    for (int k = 0; k < u->rounds; k++) {
        if (u->out[k] >= 0 && !u->is_mid_frame[k]) {
            notice.tag = gsh_frame_tag(&notice, NULL, 0, u->out_keys[k].of_client);
            (void)!gsh_socket_send_some(u->out[k], &notice, sizeof(notice), &moved);
        }
        if (u->in[k] >= 0) {
            notice.tag = gsh_frame_tag(&notice, NULL, 0, u->in_keys[k].of_acceptor);
            (void)!gsh_socket_send_some(u->in[k], &notice, sizeof(notice), &moved);
        }
        if (u->out[k] >= 0) {
            (void)shutdown(u->out[k], SHUT_WR);
        }
        if (u->in[k] >= 0) {
            (void)shutdown(u->in[k], SHUT_WR);
        }
    }
}

/* A rank whose send to a partner fails may find that partner's notice on the same link. */
static bool find_notice(const struct gsh_uid_rank *u, int k, struct gsh_frame *out)
{
    size_t moved;
    struct gsh_frame f;
    if (gsh_socket_recv_some(u->out[k], &f, sizeof(f), &moved) != GSH_OK || moved != sizeof(f) ||
        f.kind != GSH_FRAME_NOTICE ||
        f.tag != gsh_frame_tag(&f, NULL, 0, u->out_keys[k].of_acceptor)) {
        return false;
    }
    *out = f;
    return true;
}

static enum gsh_result fail_for_loss(const struct gsh_uid_rank *u, const char *call, int culprit)
{
    static const char format[] = "%s: PE %d died or left";
    return u->base.may_lose_ranks ? gsh_note(GSH_ERR_PEER, format, call, culprit)
                                  : gsh_fail(GSH_ERR_PEER, format, call, culprit);
}

static enum gsh_result fail_by_notice(struct gsh_uid_rank *u, const char *call,
                                      const struct gsh_frame *notice)
{
    enum gsh_result r = notice->call > GSH_OK && notice->call < GSH_RESULT_COUNT
                            ? (enum gsh_result)notice->call
                            : GSH_ERR_PEER;
    int culprit = (int)notice->bytes;
    gsh_uid_send_notice(u, r, culprit);
    if (r == GSH_ERR_PEER) {
        return fail_for_loss(u, call, culprit);
    }
    return gsh_fail(r, "%s: failed on PE %d: %s", call, culprit, gsh_result_name(r));
}

static enum gsh_result fail_exchange(struct gsh_uid_rank *u, const char *call, enum gsh_result r,
                                     int round, const struct gsh_socket_part *out,
                                     const struct gsh_socket_part *in)
{
    int saved = errno;
    struct gsh_frame notice;
    int culprit = out->is_broken || in->done == in->bytes ? gsh_uid_partner(u, round, 1)
                                                          : gsh_uid_partner(u, round, -1);
    if (r == GSH_ERR_PEER && out->is_broken && find_notice(u, round, &notice)) {
        return fail_by_notice(u, call, &notice);
    }
    if (r == GSH_ERR_PEER) {
        gsh_uid_send_notice(u, r, culprit);
        return fail_for_loss(u, call, culprit);
    }
    if (r == GSH_ERR_TIMEOUT) {
        gsh_uid_send_notice(u, r, culprit);
        return gsh_fail(r, "%s: nothing from PE %d for %g s", call, culprit, gsh_uid_timeout_s(u));
    }
    gsh_uid_send_notice(u, GSH_ERR_PEER, u->base.rank);
    errno = saved;
    return gsh_fail_errno(r, "%s: link with PE %d", call, culprit);
}

static enum gsh_result check_tag(struct gsh_uid_rank *u, const char *call, int round,
                                 const struct gsh_frame *theirs, const void *data, size_t bytes)
{
    if (theirs->tag == gsh_frame_tag(theirs, data, bytes, u->in_keys[round].of_client)) {
        return GSH_OK;
    }
    gsh_uid_send_notice(u, GSH_ERR_BUG, u->base.rank);
    return gsh_fail(GSH_ERR_BUG, "%s: what came from PE %d is not what it has sent", call,
                    gsh_uid_partner(u, round, -1));
}

static enum gsh_result check_frame(struct gsh_uid_rank *u, const char *call, int round,
                                   const struct gsh_frame *mine, const struct gsh_frame *theirs)
{
    int from = gsh_uid_partner(u, round, -1);
    if (theirs->kind == GSH_FRAME_NOTICE) {
        enum gsh_result r = check_tag(u, call, round, theirs, NULL, 0);
        return r == GSH_OK ? fail_by_notice(u, call, theirs) : r;
    }
    if (theirs->kind == mine->kind && theirs->call == mine->call && theirs->bytes == mine->bytes) {
        return GSH_OK;
    }
    gsh_uid_send_notice(u, GSH_ERR_SYMMETRY, from);
    if (theirs->kind != mine->kind || theirs->call != mine->call) {
        return gsh_fail(GSH_ERR_BUG, "%s: PE %d is in another start-up call than this PE", call,
                        from);
    }
    return gsh_fail(GSH_ERR_SYMMETRY, "%s: PE %d gives %llu bytes, this PE %llu", call, from,
                    (unsigned long long)theirs->bytes, (unsigned long long)mine->bytes);
}

/* The whole frame is sent before the partner's is checked, so a notice may follow it. */
enum gsh_result gsh_uid_round(struct gsh_uid_rank *u, const char *call, int k,
                              struct gsh_frame *mine, size_t out_bytes, void *in_data,
                              size_t in_bytes, uint64_t deadline_ns)
{
    struct gsh_frame theirs;
    struct gsh_socket_part out = {
        .fd = u->out[k], .data = mine, .bytes = sizeof(*mine) + out_bytes, .may_lag = true};
    struct gsh_socket_part head = {.fd = u->in[k], .data = &theirs, .bytes = sizeof(theirs)};
    struct gsh_socket_part in = {.fd = u->in[k], .data = in_data, .bytes = in_bytes};
    mine->tag = gsh_frame_tag(mine, mine + 1, out_bytes, u->out_keys[k].of_client);
    enum gsh_result r = gsh_socket_exchange(&out, &head, deadline_ns);
    u->is_mid_frame[k] = out.done > 0 && out.done < out.bytes;
    if (r != GSH_OK) {
        return fail_exchange(u, call, r, k, &out, &head);
    }
    r = check_frame(u, call, k, mine, &theirs);
    if (r != GSH_OK) {
        return r;
    }
    out.may_lag = false;
    r = gsh_socket_exchange(&out, &in, deadline_ns);
    u->is_mid_frame[k] = out.done < out.bytes;
    if (r == GSH_OK) {
        gsh_uid_count_sent(u, out.bytes);
    }
    return r == GSH_OK ? check_tag(u, call, k, &theirs, in_data, in_bytes)
                       : fail_exchange(u, call, r, k, &out, &in);
}

enum gsh_result gsh_uid_check_alive(const struct gsh_uid_rank *u, const char *call)
{
    if (!u->is_failed) {
        return GSH_OK;
    }
    return gsh_fail(GSH_ERR_PEER, "%s: an earlier start-up call of this job failed", call);
}

enum gsh_result gsh_uid_fail_for_memory(struct gsh_uid_rank *u, size_t n, size_t bytes)
{
    gsh_uid_send_notice(u, GSH_ERR_NOMEM, u->base.rank);
    return gsh_fail(GSH_ERR_NOMEM, "allgather: no memory for %zu times %zu bytes", n, bytes);
}

void gsh_uid_fold(void *value, const void *theirs, size_t bytes,
                  void (*fold)(void *into, const void *from))
{
    uint64_t aligned[GSH_GATHER_MAX_VALUE / sizeof(uint64_t)];
    memcpy(aligned, theirs, bytes);
    fold(value, aligned);
    explicit_bzero(aligned, sizeof(aligned)); /* a value may be secret */
}
