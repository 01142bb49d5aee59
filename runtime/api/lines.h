/* SPDX-License-Identifier: Apache-2.0
 * Collectives through an inbox, from and to any memory: from the call to what the kernel is told
 * (wire/lines.h). All members of the team are near. */
#ifndef GSH_API_LINES_H
#define GSH_API_LINES_H

#include <stdbool.h>
#include "base/result.h"
#include "runtime/instance/block_limit.h"
#include "runtime/instance/device_ops.h"
#include "wire/coll.h"
#include "wire/lines.h"

struct gsh_team;

/* Where a collective's steps go: to a stream, or, one after the other, to the calling thread. */
struct gsh_coll_site {
    const char *call;
    bool is_on_stream;
    gsh_stream stream;
};

enum gsh_lines_kind {
    GSH_LINES_ALL_REDUCE,
    GSH_LINES_REDUCE,
    GSH_LINES_REDUCE_SCATTER,
    GSH_LINES_ALL_GATHER,
    GSH_LINES_ALL_TO_ALL,
    GSH_LINES_BROADCAST,
    GSH_LINES_GATHER,
    GSH_LINES_SCATTER
};

struct gsh_lines_call {
    enum gsh_lines_kind kind;
    int root;
    void *dest;
    const void *source;
    uint64_t bytes; /* of one block, at least 1 */
    /* of those that compute */
    enum gsh_reduce_op op;
    enum gsh_element element;
    enum gsh_lines_scaling scaling;
    uint64_t scalar;
    const void *scalar_at;
    /* Of a reduce, broadcast, gather or scatter of two members. may_read: the other may read the
     * source of the one that gives, the same on both. readable: its symmetric address; NULL: it has
     * none. */
    bool may_read;
    const void *readable;
    /* Two members' slots for pieces, at the same symmetric address on both; NULL: none. Whether
     * other communicators of the two use them, too; the same on both. */
    const void *pieces;
    bool shares_pieces;
    struct gsh_block_limit blocks;
    uint32_t site; /* of the call in the program (instance/waits.h); 0: the calling thread's */
};

/* Whether elements are computed with in lines. */
bool gsh_lines_can(enum gsh_reduce_op op, enum gsh_element element);
/* The team's inbox in its units of the pool; false: it has none. */
bool gsh_lines_inbox_of_team(const struct gsh_instance *pe, const struct gsh_team *team,
                             struct gsh_lines_inbox *inbox);
/* An inbox in other memory; false: it is too small. */
bool gsh_lines_inbox_in(const struct gsh_instance *pe, const struct gsh_team *team, uint64_t off,
                        uint64_t bytes, struct gsh_lines_inbox *inbox);
/* Whether the call takes one round and has a short kernel, on memory that is aligned as its
 * elements usually are; the same on all members. */
bool gsh_lines_have_short(const struct gsh_lines_inbox *inbox, int n_members,
                          const struct gsh_lines_call *call);
/* How many bytes the slots for pieces of two members take; they begin with so many bytes that are
 * 0.
 */
uint64_t gsh_lines_pieces_bytes(const struct gsh_instance *pe, uint64_t *zeroes);
/* At most GSH_LINES_ITEMS_MAX calls, bytes of none 0: one launch, or several if some go in pieces.
 * These go together where they follow each other and are of one kind; whether they do depends on
 * the bytes of all of them. */
GSH_CHECK_RESULT enum gsh_result
gsh_lines_launch(struct gsh_coll_site site, struct gsh_instance *pe, const struct gsh_team *team,
                 const struct gsh_lines_inbox *inbox, const struct gsh_lines_call *calls, int n);

#endif
