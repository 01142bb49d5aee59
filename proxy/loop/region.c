/* SPDX-License-Identifier: Apache-2.0
 * See region.h. A heap has few regions, so a list will do. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/fault.h"
#include "base/util.h"
#include "proxy/loop/region.h"

#define PAGE_BYTES 4096u

struct gsh_loop_region *gsh_loop_region_add(struct gsh_loop_region **regions, uint8_t *memory,
                                            uint64_t off, uint64_t bytes)
{
    struct gsh_loop_region *region = malloc(sizeof(*region));
    if (region == NULL) {
        (void)gsh_note(GSH_ERR_NOMEM, "no memory for a region");
        return NULL;
    }
    *region =
        (struct gsh_loop_region){.next = *regions, .off = off, .bytes = bytes, .memory = memory};
    *regions = region;
    return region;
}

struct gsh_loop_region *gsh_loop_region_make(struct gsh_loop_region **regions, uint64_t off,
                                             uint64_t bytes)
{
    void *made = gsh_fault() ? NULL : aligned_alloc(PAGE_BYTES, gsh_align_up(bytes, PAGE_BYTES));
    if (made == NULL) {
        (void)gsh_note(GSH_ERR_NOMEM, "no memory for %" PRIu64 " bytes of a region", bytes);
        return NULL;
    }
    struct gsh_loop_region *region = gsh_loop_region_add(regions, made, off, bytes);
    if (region != NULL) {
        region->made = made;
    } else {
        free(made);
    }
    return region;
}

enum gsh_result gsh_loop_region_remove(struct gsh_loop_region **regions, uint64_t off)
{
    struct gsh_loop_region **at = regions;
    while (*at != NULL && (*at)->off != off) {
        at = &(*at)->next;
    }
    struct gsh_loop_region *region = *at;
    if (region == NULL) {
        return gsh_fail(GSH_ERR_ARG, "no region begins at offset %#" PRIx64, off);
    }
    *at = region->next;
    free(region->made);
    free(region);
    return GSH_OK;
}

void gsh_loop_region_remove_all(struct gsh_loop_region **regions)
{
    while (*regions != NULL) {
        struct gsh_loop_region *region = *regions;
        *regions = region->next;
        free(region->made);
        free(region);
    }
}

static const struct gsh_loop_region *region_at(const struct gsh_loop_region *regions, uint64_t off)
{
    while (regions != NULL && off - regions->off >= regions->bytes) {
        regions = regions->next;
    }
    return regions;
}

uint64_t gsh_loop_region_left(const struct gsh_loop_region *regions, uint64_t off)
{
    const struct gsh_loop_region *region = region_at(regions, off);
    return region != NULL ? region->bytes - (off - region->off) : 0;
}

uint8_t *gsh_loop_region_find(const struct gsh_loop_region *regions, uint64_t off, uint64_t bytes)
{
    const struct gsh_loop_region *first = region_at(regions, off);
    uint64_t at = off;
    while (at - off < bytes) {
        const struct gsh_loop_region *region = region_at(regions, at);
        if (region == NULL) {
            return NULL;
        }
        at = region->off + region->bytes;
    }
    return first != NULL ? first->memory + (off - first->off) : NULL;
}
