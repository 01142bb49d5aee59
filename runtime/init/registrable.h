/* SPDX-License-Identifier: Apache-2.0
 * Memory of the calling process, of the kind that init would choose, for programs that allocate it
 * before there is a PE. */
#ifndef GSH_SETUP_REGISTRABLE_H
#define GSH_SETUP_REGISTRABLE_H

#include <stdint.h>
#include "base/cuda.h"
#include "base/env.h"
#include "base/result.h"
#include "heap/memory.h"

#define GSH_SETUP_DEVICES_MAX 64

/* The kind of memory that init would choose, or has chosen. */
struct gsh_setup_kind {
    const struct gsh_memory_ops *ops;
    struct gsh_memory_options options; /* of memory that this process shares, or maps */
    CUdevice devices[GSH_SETUP_DEVICES_MAX];
};

/* These two: any thread, with or without a PE; failures are kept by gsh_note. The environment is
 * the PE's, or without one read once: each reading warns of unknown variables. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_env(const struct gsh_env **out);
/* *out must stay where it is. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_find_kind(struct gsh_setup_kind *out);

/* Any thread, with or without a PE. On GPUs it lies on the calling thread's current device. It is
 * mapped for this device and for all that can access it. Failures are kept by gsh_note;
 * heap/registrable.h frees it.
 * */
GSH_CHECK_RESULT enum gsh_result gsh_setup_registrable(uint64_t bytes, void **out);

#endif
