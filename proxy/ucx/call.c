/* SPDX-License-Identifier: Apache-2.0
 * See call.h. */
#include "proxy/ucx/call.h"

#include <stdlib.h>

#include "base/array.h"
#include "proxy/ucx/loss.h"

#define RECORDS_PER_SLAB 32

struct gsh_ucx_slab {
    struct gsh_ucx_slab *next;
    _Alignas(max_align_t) uint8_t records[];
};

static void give_back(struct gsh_ucx_call *call)
{
    call->generation++; /* its token is of no use any more */
    call->is_awaited = false;
    call->link.next = (struct gsh_ucx_link *)call->pool->free;
    call->pool->free = call;
}

static struct gsh_ucx_call *take(struct gsh_ucx_pool *pool)
{
    struct gsh_ucx_call *call = pool->free;
    pool->free = (struct gsh_ucx_call *)call->link.next;
    return call;
}

static size_t count_free(const struct gsh_ucx_pool *pool, size_t enough)
{
    size_t n = 0;
    for (const struct gsh_ucx_link *at = (const struct gsh_ucx_link *)pool->free;
         at != NULL && n < enough; at = at->next) {
        n++;
    }
    return n;
}

enum gsh_result gsh_ucx_reserve(struct gsh_ucx *u, struct gsh_ucx_pool *pool, size_t n)
{
    for (size_t n_free = count_free(pool, n); n_free < n; n_free += RECORDS_PER_SLAB) {
        size_t n_all = pool->n_records + RECORDS_PER_SLAB;
        struct gsh_ucx_slab *slab = malloc(sizeof(*slab) + RECORDS_PER_SLAB * pool->record_bytes);
        if (slab == NULL || !gsh_array_reserve(&pool->records, &pool->records_room, n_all,
                                               sizeof(struct gsh_ucx_call *))) {
            free(slab);
            return u->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for a request");
        }
        slab->next = pool->slabs;
        pool->slabs = slab;
        for (size_t i = 0; i < RECORDS_PER_SLAB; i++) {
            struct gsh_ucx_call *call = (void *)(slab->records + i * pool->record_bytes);
            call->pool = pool;
            call->index = (uint32_t)pool->n_records;
            call->generation = 0;
            pool->records[pool->n_records++] = call;
            give_back(call);
        }
    }
    return GSH_OK;
}

struct gsh_ucx_call *gsh_ucx_begin(struct gsh_ucx_pool *pool, struct gsh_ucx_peer *peer,
                                   struct gsh_op *op)
{
    struct gsh_ucx_call *call = take(pool);
    call->peer = peer;
    call->op = op;
    call->is_flush = call->is_piece = false;
    call->path = 0;
    call->dest = NULL;
    return call;
}

static void append(struct gsh_ucx_link *head, struct gsh_ucx_call *call)
{
    call->link.prev = head->prev;
    call->link.next = head;
    head->prev->next = &call->link;
    head->prev = &call->link;
}

static void unlink_call(struct gsh_ucx_call *call)
{
    call->link.prev->next = call->link.next;
    call->link.next->prev = call->link.prev;
}

/* transport[0] counts the calls that have not ended. */
void gsh_ucx_op_start(struct gsh_op *op, size_t n)
{
    op->transport[0] = (void *)n;
}

bool gsh_ucx_op_posted(struct gsh_op *op, size_t n_complete)
{
    size_t left = (size_t)op->transport[0] - n_complete;
    op->transport[0] = (void *)left;
    return left > 0;
}

void gsh_ucx_op_end(struct gsh_op *op, size_t n, enum gsh_result r)
{
    if (!gsh_ucx_op_posted(op, n)) {
        op->done(op, r);
    }
}

/* enlist puts the call into the list of those that have not ended; delist removes it. */
static void enlist(struct gsh_ucx_call *call, bool is_with_ucx)
{
    call->is_with_ucx = is_with_ucx;
    gsh_ucx_path(call->peer, call->path)->n_flushes += call->is_flush;
    call->peer->n_pieces += call->is_piece;
    append(&call->peer->calls, call);
}

static void delist(struct gsh_ucx_call *call)
{
    unlink_call(call);
    gsh_ucx_path(call->peer, call->path)->n_flushes -= call->is_flush;
    call->peer->n_pieces -= call->is_piece;
    call->is_flush = call->is_piece = false;
}

uint64_t gsh_ucx_await(struct gsh_ucx_call *call)
{
    enlist(call, false);
    call->is_awaited = true;
    return (uint64_t)call->generation << 32 | call->index;
}

struct gsh_ucx_call *gsh_ucx_find_call(const struct gsh_ucx_pool *pool,
                                       const struct gsh_ucx_peer *peer, uint64_t token)
{
    uint32_t index = (uint32_t)token;
    struct gsh_ucx_call *call = index < pool->n_records ? pool->records[index] : NULL;
    bool is_it =
        call != NULL && call->is_awaited && call->generation == token >> 32 && call->peer == peer;
    return is_it ? call : NULL;
}

void gsh_ucx_end_call(struct gsh_ucx_call *call)
{
    struct gsh_op *op = call->op;
    enum gsh_result r = call->peer->state == GSH_UCX_LOST ? GSH_ERR_PEER : GSH_OK;
    delist(call);
    give_back(call);
    if (op != NULL) {
        gsh_ucx_op_end(op, 1, r);
    }
}

bool gsh_ucx_posted(struct gsh_ucx_call *call, ucs_status_ptr_t answer)
{
    if (answer == NULL) { /* complete; no callback comes */
        give_back(call);
        return false;
    }
    enlist(call, UCS_PTR_IS_PTR(answer));
    if (!call->is_with_ucx) {
        gsh_ucx_break_for(call->peer, UCS_PTR_STATUS(answer));
    }
    return true;
}

void gsh_ucx_sent(void *request, ucs_status_t status, void *user_data)
{
    struct gsh_ucx_call *call = user_data;
    struct gsh_ucx_peer *peer = call->peer;
    ucp_request_free(request);
    call->is_with_ucx = false;
    if (status == UCS_OK) {
        peer->is_heard = true;
    } else if (peer->state != GSH_UCX_LOST) {
        gsh_ucx_break_for(peer, status);
        return; /* the call stays in the list, so that `lost` comes before its end */
    }
    gsh_ucx_end_call(call);
}

/* done may start new operations, but not to this peer. */
void gsh_ucx_end_calls(struct gsh_ucx_peer *peer)
{
    struct gsh_ucx_link with_ucx = {&with_ucx, &with_ucx};
    while (peer->calls.next != &peer->calls) {
        struct gsh_ucx_call *call = (struct gsh_ucx_call *)peer->calls.next;
        struct gsh_op *op = call->op;
        delist(call);
        call->op = NULL;
        if (call->is_with_ucx) {
            append(&with_ucx, call);
        } else {
            give_back(call);
        }
        if (op != NULL) {
            gsh_ucx_op_end(op, 1, GSH_ERR_PEER);
        }
    }
    while (with_ucx.next != &with_ucx) { /* until their callbacks come */
        struct gsh_ucx_call *call = (struct gsh_ucx_call *)with_ucx.next;
        unlink_call(call);
        append(&peer->calls, call);
    }
}

void gsh_ucx_free_pool(struct gsh_ucx_pool *pool)
{
    while (pool->slabs != NULL) {
        struct gsh_ucx_slab *next = pool->slabs->next;
        free(pool->slabs);
        pool->slabs = next;
    }
    free(pool->records);
    pool->records = NULL;
    pool->n_records = 0;
    pool->free = NULL;
}
