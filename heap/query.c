/* SPDX-License-Identifier: Apache-2.0
 * What any thread may ask of a heap, even during another thread's collective call. */
#include <pthread.h>
#include "base/fault.h"
#include "base/util.h"
#include "heap/heap_impl.h"
#include "heap/memory.h"
#include "wire/state.h"

uint64_t gsh_heap_base(const struct gsh_heap *heap)
{
    return heap->base;
}

uint64_t gsh_heap_stride(const struct gsh_heap *heap)
{
    return heap->stride;
}

bool gsh_heap_contains(const struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    return address >= heap->base && gsh_range_fits(address - heap->base, bytes, heap->stride);
}

/* Finds the live block, or the registered memory, that holds offset off; *has_all: all PEs have it.
 */
static bool find_block(struct gsh_heap *heap, uint64_t off, struct gsh_offset_block *block,
                       bool *has_all)
{
    pthread_rwlock_rdlock(&heap->offset_lock);
    bool found = gsh_offset_containing(heap->offset, off, block);
    const struct gsh_alias *alias = found ? NULL : gsh_aliases_find(&heap->aliases, off);
    *has_all = alias == NULL || alias->pes == NULL;
    if (alias != NULL) {
        *block = (struct gsh_offset_block){.off = alias->off, .bytes = alias->bytes};
        found = true;
    }
    pthread_rwlock_unlock(&heap->offset_lock);
    return found;
}

static bool is_allocated(struct gsh_heap *heap, const void *ptr, uint64_t bytes, bool *has_all)
{
    struct gsh_offset_block block;
    *has_all = true;
    if (!gsh_heap_contains(heap, ptr, bytes)) {
        return false;
    }
    uint64_t off = (uint64_t)(uintptr_t)ptr - heap->base;
    return bytes == 0 || (find_block(heap, off, &block, has_all) &&
                          gsh_range_fits(off - block.off, bytes, block.bytes));
}

bool gsh_heap_is_allocated(struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    bool has_all;
    return is_allocated(heap, ptr, bytes, &has_all);
}

bool gsh_heap_is_symmetric(struct gsh_heap *heap, const void *ptr, uint64_t bytes)
{
    bool has_all;
    return is_allocated(heap, ptr, bytes, &has_all) && has_all;
}

uint64_t gsh_heap_size_of(struct gsh_heap *heap, const void *ptr)
{
    struct gsh_offset_block block;
    bool has_all;
    uint64_t off = (uint64_t)(uintptr_t)ptr - heap->base;
    bool starts_here = gsh_heap_contains(heap, ptr, 1) && off >= heap->internal_bytes &&
                       off < heap->physical.committed && find_block(heap, off, &block, &has_all) &&
                       block.off == off;
    return starts_here ? block.bytes : 0;
}

uint64_t gsh_heap_next_data(const struct gsh_heap *heap, uint64_t off)
{
    const struct gsh_memory *memory = heap->physical.memory;
    return memory->ops->next_data == NULL ? off : memory->ops->next_data(memory, off);
}

enum gsh_result gsh_heap_zero(struct gsh_heap *heap, void *ptr, uint64_t bytes)
{
    struct gsh_memory *memory = heap->physical.memory;
    enum gsh_result r = memory->ops->zero(memory, (uint64_t)(uintptr_t)ptr, bytes);
    return r == GSH_OK ? r : gsh_fail(r, "%s", gsh_last_error());
}

void gsh_heap_stats_get(struct gsh_heap *heap, struct gsh_heap_stats *out)
{
    struct gsh_offset_stats s;
    pthread_rwlock_rdlock(&heap->offset_lock);
    gsh_offset_stats_get(heap->offset, &s);
    const uint64_t limit = gsh_aliases_limit(&heap->aliases);
    pthread_rwlock_unlock(&heap->offset_lock);
    uint64_t committed = s.size;
    *out = (struct gsh_heap_stats){
        .range = heap->stride,
        .committed = committed,
        .used = s.used - heap->internal_bytes,
        .largest_free = gsh_max_u64(s.largest_free, s.tail_free + limit - committed),
        .high_water = s.high_water - heap->internal_bytes,
        .overhead = heap->internal_bytes,
    };
}

uint64_t gsh_heap_allocations(struct gsh_heap *heap, struct gsh_alloc_range *out, uint64_t max)
{
    pthread_rwlock_rdlock(&heap->offset_lock);
    /* gsh_alloc_range is two uint64_t, offset and bytes. */
    uint64_t n = gsh_offset_list(heap->offset, heap->internal_bytes, (uint64_t(*)[2])out, max);
    for (int i = 0; i < heap->aliases.n; i++, n++) {
        if (n < max) {
            out[n] = (struct gsh_alloc_range){.off = heap->aliases.list[i].off,
                                              .bytes = heap->aliases.list[i].bytes};
        }
    }
    pthread_rwlock_unlock(&heap->offset_lock);
    return n;
}
