/* SPDX-License-Identifier: Apache-2.0
 * See pool.h. */
#include "proxy/engine/pool.h"

#include <stdlib.h>
#include "base/util.h"

struct gsh_pool_slab {
    struct gsh_pool_slab *next;
    _Alignas(64) uint8_t objects[];
};

void gsh_pool_init(struct gsh_pool *pool, size_t object_bytes, size_t per_slab)
{
    *pool = (struct gsh_pool){.object_bytes = gsh_align_up(object_bytes, 64), .per_slab = per_slab};
}

void *gsh_pool_grow_and_take(struct gsh_pool *pool)
{
    struct gsh_pool_slab *slab =
        aligned_alloc(64, sizeof(*slab) + pool->object_bytes * pool->per_slab);
    if (slab == NULL) {
        return NULL;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (size_t i = pool->per_slab; i-- > 1;) {
        gsh_pool_give(pool, slab->objects + i * pool->object_bytes);
    }
    return slab->objects;
}

void gsh_pool_empty(struct gsh_pool *pool)
{
    struct gsh_pool_slab *next;
    for (struct gsh_pool_slab *slab = pool->slabs; slab != NULL; slab = next) {
        next = slab->next;
        free(slab);
    }
    *pool = (struct gsh_pool){0};
}
