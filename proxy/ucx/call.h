/* SPDX-License-Identifier: Apache-2.0
 * Requests of UCX that are under way, and the operations that wait for them. */
#ifndef GSH_UCX_CALL_H
#define GSH_UCX_CALL_H

#include "proxy/ucx/ucx.h"

/* n records can be taken. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_reserve(struct gsh_ucx *u, struct gsh_ucx_pool *pool,
                                                 size_t n);
static inline enum gsh_result gsh_ucx_reserve_one(struct gsh_ucx *u, struct gsh_ucx_pool *pool)
{
    return pool->free != NULL ? GSH_OK : gsh_ucx_reserve(u, pool, 1);
}
/* One of the reserved ones. */
struct gsh_ucx_call *gsh_ucx_begin(struct gsh_ucx_pool *pool, struct gsh_ucx_peer *peer,
                                   struct gsh_op *op);
/* It ends by the peer's answer, which brings the token back. */
uint64_t gsh_ucx_await(struct gsh_ucx_call *call);
/* The call of the pool that awaits an answer from the peer under the token; NULL: none. Any token.
 */
struct gsh_ucx_call *gsh_ucx_find_call(const struct gsh_ucx_pool *pool,
                                       const struct gsh_ucx_peer *peer, uint64_t token);
/* The answer has arrived: completes the operation. */
void gsh_ucx_end_call(struct gsh_ucx_call *call);
/* Takes UCX's result for the call; returns whether it is pending. The call may be gone. */
bool gsh_ucx_posted(struct gsh_ucx_call *call, ucs_status_ptr_t answer);
/* For struct ucp_request_param_t, with the call as user data. */
void gsh_ucx_sent(void *request, ucs_status_t status, void *call);
/* Ends all of a lost peer's operations. */
void gsh_ucx_end_calls(struct gsh_ucx_peer *peer);
void gsh_ucx_free_pool(struct gsh_ucx_pool *pool);

/* An operation of n calls; the last to end calls done. */
void gsh_ucx_op_start(struct gsh_op *op, size_t n);
/* That many calls ended at once; returns whether any is left. */
bool gsh_ucx_op_posted(struct gsh_op *op, size_t n_complete);
/* That many ended later, or never began; the last one calls done. */
void gsh_ucx_op_end(struct gsh_op *op, size_t n, enum gsh_result r);

#endif
