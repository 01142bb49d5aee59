/* SPDX-License-Identifier: Apache-2.0
 * Regions of one heap, which lie in memory as their offsets say. */
#ifndef GSH_LOOP_REGION_H
#define GSH_LOOP_REGION_H

#include <stdint.h>
#include "base/result.h"

struct gsh_loop_region {
    struct gsh_loop_region *next;
    uint64_t off, bytes;
    uint8_t *memory;
    void *made; /* the memory, if the region owns it */
};

/* NULL: no memory, noted. */
struct gsh_loop_region *gsh_loop_region_add(struct gsh_loop_region **regions, uint8_t *memory,
                                            uint64_t off, uint64_t bytes);
/* The same with its own memory, freed with the region. */
struct gsh_loop_region *gsh_loop_region_make(struct gsh_loop_region **regions, uint64_t off,
                                             uint64_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_loop_region_remove(struct gsh_loop_region **regions,
                                                        uint64_t off);
void gsh_loop_region_remove_all(struct gsh_loop_region **regions);
/* From off to the end of its region; 0: it is in none. */
uint64_t gsh_loop_region_left(const struct gsh_loop_region *regions, uint64_t off);
/* NULL: some of the range is in no region. */
uint8_t *gsh_loop_region_find(const struct gsh_loop_region *regions, uint64_t off, uint64_t bytes);

#endif
