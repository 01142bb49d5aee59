/* SPDX-License-Identifier: Apache-2.0
 * What concerns a whole device and all that runs on it: waiting for it, and its end. */
#include "cpu/block.h"
#include "cpu/device.h"
#include "cpu/grid.h"
#include "cpu/stream.h"

void gshmemx_cpu_device_synchronize(struct gsh_cpu_device *device)
{
    gsh_streams_synchronize(device);
}

void gshmemx_cpu_device_destroy(struct gsh_cpu_device *device)
{
    if (!device) {
        return;
    }
    gsh_device_forget_default(device);
    struct CUstream_st *kept;
    gsh_streams_finish(device, &kept);
    if (kept) {
        gsh_streams_adopt(gsh_device_own(), kept);
    }
    gsh_pool_finish(device);
    gsh_block_drop_spare(device);
    gsh_device_release(device);
}
