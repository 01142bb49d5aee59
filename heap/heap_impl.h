/* SPDX-License-Identifier: Apache-2.0
 * A heap's parts, for the files that implement heap.h. */
#ifndef GSH_HEAP_IMPL_H
#define GSH_HEAP_IMPL_H

#include <pthread.h>
#include "heap/alias.h"
#include "heap/heap.h"
#include "heap/offset.h"
#include "heap/physical.h"

struct gsh_heap {
    struct gsh_physical physical;
    struct gsh_offset *offset; /* manages [0, physical.committed) */
    struct gsh_aliases aliases;
    /* Any thread may query while another one is in a collective call. Queries hold this lock
     * shared; the thread in the collective call holds it exclusively while it changes `offset` or
     * the list of aliases. The two are each other's partner; the lock protects nothing else. */
    pthread_rwlock_t offset_lock;
    uint64_t base, stride;
    uint64_t max_align;      /* that the base of every PE with a slot has */
    uint64_t internal_bytes; /* one allocation at offset 0 */
    uint64_t keep_bytes, first_bytes, room_bytes, large_bytes;
    struct gsh_heap_entry *entries; /* [size of the bootstrap], while the heap is made */
};

#endif
