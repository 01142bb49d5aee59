/* SPDX-License-Identifier: Apache-2.0
 * The page of host memory each PE shares with the PEs of its node: what its kernels and host
 * report, and the flags of host synchronisation. Wire between processes of one build. */
#ifndef GSH_PAGE_H
#define GSH_PAGE_H

#include <stdint.h>
#include "bootstrap/shm.h"
#include "device/state.h"

#define GSH_PAGE_BYTES 8192

struct gsh_host_page {
    struct gsh_control control;
    struct gsh_shm_area node;
    /* The PE's latest arrival at a host sync on each team; written by the PE with release, read
     * with acquire by the members, never decreases within one job. */
    uint64_t team_epoch[GSH_TEAM_SLOTS];
    /* Of the first member of a node, for teams on several: the epoch in which all nodes have
     * arrived; written by it with release, read with acquire by the others of the node. */
    uint64_t team_released[GSH_TEAM_SLOTS];
    /* Of the first PE of a node: somebody of it has printed why the job ends. */
    uint32_t has_spoken;
};
_Static_assert(sizeof(struct gsh_host_page) <= GSH_PAGE_BYTES, "the page is too small");

#endif
