/* SPDX-License-Identifier: Apache-2.0
 * The common bodies of collectives of the host and on a stream. */
#ifndef GSH_API_COLL_H
#define GSH_API_COLL_H

#include <stdbool.h>
#include "gshmem/types.h"
#include "runtime/api/lines.h"
#include "runtime/instance/device_ops.h"
#include "wire/coll.h"

/* A collective that moves data; elem_bytes is 1 for the mem forms. Unused arguments are 0. */
struct gsh_coll_move {
    enum gsh_coll coll;
    gshmem_team_t team;
    void *dest;
    const void *source;
    size_t nelems, elem_bytes;
    enum gsh_element element; /* for checking builds; bits in the mem forms */
    ptrdiff_t dst, sst;
    int root;
};

/* A collective that computes. coll: REDUCE, REDUCESCATTER, INSCAN or EXSCAN. */
struct gsh_coll_compute {
    enum gsh_coll coll;
    gshmem_team_t team;
    void *dest;
    const void *source;
    size_t nelems;
    enum gsh_reduce_op op;
    enum gsh_element element;
};

/* The result for the public call. */
int gsh_coll_move(struct gsh_coll_site site, const struct gsh_coll_move *m);
int gsh_coll_compute(struct gsh_coll_site site, const struct gsh_coll_compute *c);

#endif
