/* SPDX-License-Identifier: Apache-2.0
 * Host calls for which gshmem has no name of its own: regions, flush, and what is refused. */
#include <gshmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include "nvshmem.h"

/* This thread's regions. A handle is one of these bits. */
static _Thread_local uint32_t open_regions, open_batches;

static bool is_right(const nvshmemx_region_attrs_t *attrs)
{
    uint32_t other = attrs->hints & ~(uint32_t)NVSHMEMX_REGION_HINT_BATCH_RMA;
    for (size_t i = 0; i < sizeof(attrs->reserved); i++) {
        other |= (unsigned char)attrs->reserved[i];
    }
    return other == 0;
}

int nvshmemx_region_start(nvshmemx_region_handle_t *handle, const nvshmemx_region_attrs_t *attrs)
{
    uint32_t bit = ~open_regions & (open_regions + 1);
    if (handle == NULL || attrs == NULL || !is_right(attrs)) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    if (bit == 0) {
        return NVSHMEMX_ERROR_OUT_OF_MEMORY; /* 32 are open */
    }
    open_regions |= bit;
    open_batches |= attrs->hints != 0 ? bit : 0;
    *handle = bit;
    return 0;
}

int nvshmemx_region_stop(nvshmemx_region_handle_t handle)
{
    if (handle == 0 || (handle & (handle - 1)) != 0 || (handle & open_regions) != handle) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    open_regions &= ~(uint32_t)handle;
    open_batches &= ~(uint32_t)handle;
    return 0;
}

int nvshmemx_region_is_active(uint32_t hints, int *active)
{
    if (active == NULL || hints > NVSHMEMX_REGION_HINT_BATCH_RMA) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    *active = (hints != 0 ? open_batches : open_regions) != 0;
    return 0;
}

void nvshmemx_flush(void)
{
    gshmem_quiet();
}

void nvshmemx_flush_on_stream(gshmemx_stream_t stream)
{
    gshmemx_quiet_on_stream(stream);
}

void *nvshmemx_buffer_register_symmetric_at_preferred_address(void *buf_ptr, size_t size,
                                                              void *preferred_addr, int flags)
{
    (void)preferred_addr;
    return gshmemx_buffer_register_symmetric(buf_ptr, size, flags);
}

void nvshmemx_signal_counted_reset(uint64_t *signal_addr)
{
    (void)signal_addr;
    fprintf(stderr,
            "gshmem: error: nvshmemx_signal_counted_reset: counted signals are not supported\n");
    gshmem_global_exit(NVSHMEMX_ERROR_NOT_SUPPORTED);
}
