/* SPDX-License-Identifier: Apache-2.0
 * A thread that launches the kernel which joins the large puts of GIN
 * (../include/nccl_device/copy_slots.h): one for all device communicators of a job. */
#ifndef GSH_NCCL_COPIER_H
#define GSH_NCCL_COPIER_H

#include <stdbool.h>
#include "dialects/nccl/include/nccl_device/copy_slots.h"

struct gsh_nccl_copier;

/* For the calling thread's PE, on this device (as in runtime/layer.h), which has been set up. CUDA
 * may wait for running kernels in create and end; in no other call. NULL: there is no memory for
 * it, and puts copy by themselves. */
struct gsh_nccl_copier *gsh_nccl_copier_create(void *pe, int device);
/* From now on there is a thread; false: there is none. All that follow accept NULL. */
bool gsh_nccl_copier_need(struct gsh_nccl_copier *copier);
/* CUDA's error if it has refused to launch the kernel: since then puts copy by themselves. Else 0.
 */
int gsh_nccl_copier_error(const struct gsh_nccl_copier *copier);
/* leave: the thread ends soon. stop: it has ended. Kernels may still look at the slots. end: after
 * stop; frees them, too: no kernel of the program uses them any more. */
void gsh_nccl_copier_leave(struct gsh_nccl_copier *copier);
void gsh_nccl_copier_stop(struct gsh_nccl_copier *copier);
void gsh_nccl_copier_end(struct gsh_nccl_copier *copier);
/* For kernels. */
struct gsh_nccl_copy_slots *gsh_nccl_copier_slots(const struct gsh_nccl_copier *copier);
uint64_t *gsh_nccl_copier_asked(const struct gsh_nccl_copier *copier);

#endif
