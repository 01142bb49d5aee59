/* SPDX-License-Identifier: Apache-2.0
 * Objects that come and go on the data path: taken from a free list, allocated many at a time only
 * when more are in use than ever before. */
#ifndef GSH_POOL_H
#define GSH_POOL_H

#include <stddef.h>

/* Objects of one kind, allocated several at a time, kept until the proxy is destroyed. */
struct gsh_pool {
    struct gsh_pool_slab *slabs;
    void *free; /* each begins with the next one's address */
    size_t object_bytes, per_slab;
};

void gsh_pool_init(struct gsh_pool *pool, size_t object_bytes, size_t per_slab);
void *gsh_pool_grow_and_take(struct gsh_pool *pool);
/* NULL: no memory. */
static inline void *gsh_pool_take(struct gsh_pool *pool)
{
    void **object = pool->free;
    if (object == NULL) {
        return gsh_pool_grow_and_take(pool);
    }
    pool->free = *object;
    return object;
}
static inline void gsh_pool_give(struct gsh_pool *pool, void *object)
{
    *(void **)object = pool->free;
    pool->free = object;
}
void gsh_pool_empty(struct gsh_pool *pool);

#endif
