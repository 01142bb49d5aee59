/* SPDX-License-Identifier: Apache-2.0
 * Checking builds: the table of live allocations (wire/state.h) is written while kernels may read
 * it. */
#ifndef GSH_ALLOC_TABLE_H
#define GSH_ALLOC_TABLE_H

#include <stddef.h>
#include "base/atomic.h"
#include "wire/state.h"

/* From now on the table has the n ranges in now. table NULL: kernels no longer check. One thread at
 * a time. */
static inline void gsh_alloc_table_write(struct gsh_control *control, struct gsh_alloc_range *table,
                                         const struct gsh_alloc_range *now, uint64_t n)
{
    const uint64_t sequence = control->alloc_sequence;
    /* Releases: each pairs with the acquire of its word in is_allocated or is_in_table of
     * device/address.cuh, so that a kernel that has read a new word sees the odd sequence, too. */
    gsh_store_release_u64(&control->alloc_sequence, sequence + 1);
    for (uint64_t i = 0; table != NULL && i < n; i++) {
        gsh_store_release_u64(&table[i].off, now[i].off);
        gsh_store_release_u64(&table[i].bytes, now[i].bytes);
    }
    if (table == NULL) {
        gsh_store_release_u64(&control->alloc_table, 0);
    }
    gsh_store_release_u64(&control->n_allocs, n);
    gsh_store_release_u64(&control->alloc_sequence, sequence + 2);
}

#endif
