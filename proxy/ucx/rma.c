/* SPDX-License-Identifier: Apache-2.0
 * See rma.h. */
#include "proxy/ucx/rma.h"

#include "base/util.h"
#include "proxy/ucx/call.h"
#include "proxy/ucx/carry.h"
#include "proxy/ucx/endpoint.h"
#include "proxy/ucx/loss.h"
#include "proxy/ucx/region.h"

/* The other fields are not used. */
static void set_param(ucp_request_param_t *param, struct gsh_ucx_call *call)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param->cb.send = gsh_ucx_sent;
    param->user_data = call;
}

/* How much of [off, off + bytes) is one piece, in *remote; 0 and NULL: it is in no region. */
static uint64_t next_piece(struct gsh_ucx_peer *peer, uint64_t off, uint64_t bytes,
                           struct gsh_ucx_remote **remote)
{
    *remote = gsh_ucx_find_remote(peer, off);
    if (*remote == NULL) {
        return 0;
    }
    uint64_t in_region = (*remote)->bytes - (off - (*remote)->off);
    return gsh_min_u64(bytes, gsh_min_u64(in_region, GSH_UCX_PIECE));
}

static size_t count_pieces(struct gsh_ucx_peer *peer, uint64_t off, uint64_t bytes)
{
    struct gsh_ucx_remote *remote;
    size_t n = 0;
    while (bytes > 0) {
        uint64_t piece = next_piece(peer, off, bytes, &remote);
        off += piece;
        bytes -= piece;
        n++;
    }
    return n;
}

/* Connects the path, and opens the keys that [off, off + bytes) needs; false: the peer is broken.
 */
static bool open_keys(struct gsh_ucx_peer *peer, unsigned path, uint64_t off, uint64_t bytes)
{
    ucp_ep_h ep = gsh_ucx_use_path(peer, path);
    while (bytes > 0 && ep != NULL) {
        struct gsh_ucx_remote *remote;
        uint64_t piece = next_piece(peer, off, bytes, &remote);
        if (!gsh_ucx_open_key(peer, ep, path, remote)) {
            return false;
        }
        off += piece;
        bytes -= piece;
    }
    return ep != NULL;
}

/* An operation to a broken peer: ends in the next progress, after the loss has been reported. */
static enum gsh_result post_to_broken(struct gsh_ucx_peer *peer, struct gsh_op *op,
                                      bool *is_pending)
{
    struct gsh_ucx_pool *pool = &peer->ucx->calls;
    enum gsh_result r = gsh_ucx_reserve_one(peer->ucx, pool);
    if (r != GSH_OK) {
        return r;
    }
    gsh_ucx_op_start(op, 1);
    *is_pending = gsh_ucx_posted(gsh_ucx_begin(pool, peer, op), UCS_STATUS_PTR(UCS_ERR_CANCELED));
    return GSH_OK;
}

/* The path's endpoint and the key exist. */
static ucs_status_ptr_t post_piece(bool is_put, struct gsh_ucx_peer *peer, unsigned path,
                                   const struct gsh_ucx_remote *remote, uint64_t off, char *local,
                                   uint64_t bytes, struct gsh_ucx_call *call)
{
    ucp_ep_h ep = path == 0 ? peer->ep : gsh_ucx_path(peer, path)->ep;
    ucp_rkey_h rkey = gsh_ucx_rkey(remote, path);
    ucp_request_param_t param;
    uint64_t address = remote->address + (off - remote->off);
    set_param(&param, call);
    return is_put ? ucp_put_nbx(ep, local, bytes, address, rkey, &param)
                  : ucp_get_nbx(ep, local, bytes, address, rkey, &param);
}

static enum gsh_result post_pieces(bool is_put, struct gsh_ucx_peer *peer, unsigned path,
                                   uint64_t off, char *local, uint64_t bytes, struct gsh_op *op,
                                   bool *is_pending)
{
    struct gsh_ucx *u = peer->ucx;
    struct gsh_ucx_remote *remote;
    size_t n_complete = 0;
    enum gsh_result r = gsh_ucx_check_remote(peer, off, bytes);
    if (r != GSH_OK) {
        return r;
    }
    if (peer->state == GSH_UCX_BROKEN) {
        return post_to_broken(peer, op, is_pending);
    }
    size_t n = count_pieces(peer, off, bytes);
    r = gsh_ucx_reserve(u, &u->calls, n);
    if (r != GSH_OK) {
        return r;
    }
    if (!open_keys(peer, path, off, bytes)) {
        return post_to_broken(peer, op, is_pending);
    }
    gsh_ucx_op_start(op, n + 1); /* one for this function */
    for (size_t i = 0; i < n; i++) {
        uint64_t piece = next_piece(peer, off, bytes, &remote);
        struct gsh_ucx_call *call = gsh_ucx_begin(&u->calls, peer, op);
        n_complete +=
            !gsh_ucx_posted(call, post_piece(is_put, peer, path, remote, off, local, piece, call));
        off += piece;
        local += piece;
        bytes -= piece;
    }
    *is_pending = gsh_ucx_op_posted(op, n_complete + 1);
    return GSH_OK;
}

static enum gsh_result carry(bool is_put, struct gsh_ucx_peer *peer, uint64_t off, char *local,
                             uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    enum gsh_result r = gsh_ucx_check_remote(peer, off, bytes);
    if (r != GSH_OK) {
        return r;
    }
    if (peer->ep == NULL || peer->state == GSH_UCX_BROKEN) {
        return post_to_broken(peer, op, is_pending);
    }
    return is_put ? gsh_ucx_carry_put(peer, off, local, bytes, op, is_pending)
                  : gsh_ucx_carry_get(peer, off, local, bytes, op, is_pending);
}

/* Gets use path 0. */
static enum gsh_result post(bool is_put, struct gsh_ucx *u, int pe, unsigned path, uint64_t off,
                            char *local, uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    struct gsh_ucx_peer *peer;
    struct gsh_ucx_remote *remote;
    *is_pending = false;
    enum gsh_result r = gsh_ucx_use(u, pe, &peer);
    if (r != GSH_OK || bytes == 0) {
        return r;
    }
    path = peer->is_carried ? 0 : path;
    if (path != 0 && (r = gsh_ucx_make_path(peer, path)) != GSH_OK) {
        return r;
    }
    gsh_ucx_path(peer, path)->is_unflushed |= is_put;
    if (peer->is_carried) {
        return carry(is_put, peer, off, local, bytes, op, is_pending);
    }
    /* The usual case: one piece, whose key is open. */
    if (next_piece(peer, off, bytes, &remote) != bytes || gsh_ucx_rkey(remote, path) == NULL ||
        peer->ep == NULL) {
        return post_pieces(is_put, peer, path, off, local, bytes, op, is_pending);
    }
    r = gsh_ucx_reserve_one(u, &u->calls);
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_ucx_call *call = gsh_ucx_begin(&u->calls, peer, op);
    gsh_ucx_op_start(op, 1);
    *is_pending =
        gsh_ucx_posted(call, post_piece(is_put, peer, path, remote, off, local, bytes, call));
    return GSH_OK;
}

enum gsh_result gsh_ucx_put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                            const void *source, uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    return post(true, (struct gsh_ucx *)t, pe, path, off, (char *)(uintptr_t)source, bytes, op,
                is_pending);
}

enum gsh_result gsh_ucx_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                            uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    return post(false, (struct gsh_ucx *)t, pe, 0, off, dest, bytes, op, is_pending);
}

enum gsh_result gsh_ucx_flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                              bool *is_pending)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    struct gsh_ucx_peer *peer;
    ucp_request_param_t param;
    *is_pending = false;
    enum gsh_result r = gsh_ucx_use(u, pe, &peer);
    if (r != GSH_OK) {
        return r;
    }
    path = peer->is_carried ? 0 : path;
    struct gsh_ucx_path *its = gsh_ucx_path(peer, path);
    if (its == NULL || (!its->is_unflushed && its->n_flushes == 0)) {
        return GSH_OK; /* no put since the last flush, which is complete */
    }
    ucp_ep_h ep = gsh_ucx_use_path(peer, path);
    if (ep == NULL) {
        return post_to_broken(peer, op, is_pending);
    }
    if (peer->is_carried) {
        return gsh_ucx_carry_flush(peer, op, is_pending);
    }
    r = gsh_ucx_reserve_one(u, &u->calls);
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_ucx_call *call = gsh_ucx_begin(&u->calls, peer, op);
    call->is_flush = true;
    call->path = (uint8_t)path;
    set_param(&param, call);
    gsh_ucx_op_start(op, 1);
    its->is_unflushed = false;
    *is_pending = gsh_ucx_posted(call, ucp_ep_flush_nbx(ep, &param));
    return GSH_OK;
}
