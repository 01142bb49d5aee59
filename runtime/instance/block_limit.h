/* SPDX-License-Identifier: Apache-2.0
 * How many blocks the calling thread wants launches of collectives to have. */
#ifndef GSH_BLOCK_LIMIT_H
#define GSH_BLOCK_LIMIT_H

/* 0: no limit. */
struct gsh_block_limit {
    unsigned least, most;
};

/* Of the calling thread. */
void gsh_block_limit_set(struct gsh_block_limit limit);
struct gsh_block_limit gsh_block_limit_get(void);
/* The blocks of a launch for which `best` would be best, where at most `room` may run at once. */
static inline unsigned gsh_block_limit_apply(struct gsh_block_limit limit, unsigned best,
                                             unsigned room)
{
    const unsigned n = best < limit.least ? limit.least : best;
    const unsigned most = limit.most == 0 || limit.most > room ? room : limit.most;
    return n < most ? n : most;
}

#endif
