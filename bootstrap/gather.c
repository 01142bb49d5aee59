/* SPDX-License-Identifier: Apache-2.0
 * See gather.h. A bootstrap without such a call gathers both, and each rank folds all values. */
#include "bootstrap/gather.h"

#include <stdlib.h>
#include <string.h>
#include "bootstrap/agree.h"

enum gsh_result gsh_gather_combine(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                   void *all_out, void *value, size_t value_bytes,
                                   void (*fold)(void *into, const void *from))
{
    if (b->ops->gather_combine != NULL) {
        return b->ops->gather_combine(b, mine, bytes, all_out, value, value_bytes, fold);
    }
    const size_t n = (size_t)b->size, stride = value_bytes + bytes;
    uint8_t *all = malloc((n + 1) * stride);
    if (all == NULL) {
        return gsh_agree_abandon(
            b, gsh_fail(GSH_ERR_NOMEM, "allgather: no memory for %zu times %zu bytes", n, stride));
    }
    uint8_t *own = all + n * stride;
    memcpy(own, value, value_bytes);
    memcpy(own + value_bytes, mine, bytes);
    const enum gsh_result r = b->ops->allgather(b, own, stride, all);
    for (size_t rank = 0; r == GSH_OK && rank < n; rank++) {
        uint64_t theirs[GSH_GATHER_MAX_VALUE / sizeof(uint64_t)];
        memcpy(theirs, all + rank * stride, value_bytes);
        memcpy((uint8_t *)all_out + rank * bytes, all + rank * stride + value_bytes, bytes);
        fold(value, theirs);
        explicit_bzero(theirs, sizeof(theirs));
    }
    explicit_bzero(all, (n + 1) * stride); /* values may be secret */
    free(all);
    return r;
}

struct gsh_host_ranks gsh_host_range(const struct gsh_bootstrap *b)
{
    int number;
    return b->hosts.most == 0 ? gsh_host_ranks_from(0, b->size)
                              : gsh_host_layout_find(&b->hosts, b->size, b->rank, &number);
}

enum gsh_result gsh_gather_host(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                void *theirs, void *value, size_t value_bytes,
                                void (*fold)(void *into, const void *from))
{
    return b->hosts.most == 0
               ? gsh_gather_combine(b, mine, bytes, theirs, value, value_bytes, fold)
               : b->ops->gather_host(b, mine, bytes, theirs, value, value_bytes, fold);
}
