/* SPDX-License-Identifier: Apache-2.0
 * Device communicators as kernels compiled with NCCL's own headers expect them. NCCL's device code
 * lies in its headers, so a program has it compiled in; what it reads are the device communicator,
 * whose layout depends on the version, records of windows (nccl_device/window_record.h), and the
 * memory of barriers, which is cleared and large enough for it. That is all for windows, pointers
 * to ranks of the LSA team, LSA barriers and LL all-to-all. Its GIN is a protocol with NCCL's
 * proxy, or with an adapter, and is not here. */
#ifndef GSH_NCCL_LAYOUT_H
#define GSH_NCCL_LAYOUT_H

#include "dialects/nccl/comm/comm.h"

/* A version's. */
struct gsh_nccl_layout {
    uint32_t requirements_bytes; /* by which it is known: each layout has other requirements */
    uint32_t bytes;
    /* offsets */
    uint32_t rank;                             /* followed by what all versions have after it */
    uint32_t resources_base, resources_stride; /* of the resource window, inlined */
    uint32_t lsa_barrier;
    uint32_t hybrid_lsa_barrier; /* 0: none */
    bool has_version;            /* in its first words */
};

/* The layout for requirements of so many bytes; NULL: of no known version. */
const struct gsh_nccl_layout *gsh_nccl_layout_find(size_t requirements_bytes);
/* The newest one. */
const struct gsh_nccl_layout *gsh_nccl_layout_newest(void);
/* Fills in out, of layout->bytes, from d. version: of the program. */
void gsh_nccl_layout_write(const struct gsh_nccl_layout *layout, unsigned version,
                           const ncclDevComm *d, void *out);
/* The resource window of such a device communicator. */
ncclWindow_t gsh_nccl_layout_window(const struct gsh_nccl_layout *layout, const void *devcomm);

#endif
