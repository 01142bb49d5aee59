/* SPDX-License-Identifier: Apache-2.0
 * Changes to the heap's offset allocator, each under the heap's lock. */
#include "heap/offset_locked.h"

enum gsh_result gsh_heap_offset_prepare(struct gsh_heap *heap, uint64_t size)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_prepare(heap->offset, size);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

enum gsh_result gsh_heap_offset_grow(struct gsh_heap *heap)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_grow(heap->offset, heap->physical.committed);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

enum gsh_result gsh_heap_offset_alloc(struct gsh_heap *heap, uint64_t bytes, uint64_t align,
                                      uint64_t *off)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_alloc(heap->offset, bytes, align, off);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

enum gsh_result gsh_heap_offset_free(struct gsh_heap *heap, uint64_t off)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    enum gsh_result r = gsh_offset_free(heap->offset, off);
    pthread_rwlock_unlock(&heap->offset_lock);
    return r;
}

void gsh_heap_offset_shrink(struct gsh_heap *heap)
{
    pthread_rwlock_wrlock(&heap->offset_lock);
    gsh_offset_shrink(heap->offset, heap->physical.committed);
    pthread_rwlock_unlock(&heap->offset_lock);
}
