/* SPDX-License-Identifier: Apache-2.0
 * The public calls on the symmetric heap, and gshmem_ptr. */
#include <stdint.h>
#include "gshmemx.h"
#include "runtime/api/check.h"
#include "runtime/base/util.h"
#include "runtime/far/far.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/setup/setup.h"

static void *allocate(enum gsh_heap_call kind, const char *call, size_t alignment, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    void *p = NULL;
    enum gsh_result r = gsh_heap_alloc(pe->heap, kind, bytes, alignment, &p);
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    if (r != GSH_OK || gsh_setup_publish_allocations(pe) != GSH_OK) {
        return NULL;
    }
    if (kind == GSH_HEAP_CALLOC) {
        gsh_require(pe, call, gsh_heap_zero(pe->heap, p, bytes));
    }
    /* malloc's last barrier: no PE returns before all may use the memory */
    gsh_require(pe, call, pe->job_bootstrap->ops->barrier(pe->job_bootstrap));
    return p;
}

void *gshmem_malloc(size_t size)
{
    return allocate(GSH_HEAP_MALLOC, "gshmem_malloc", 0, size);
}

void *gshmem_align(size_t alignment, size_t size)
{
    return allocate(GSH_HEAP_ALIGN, "gshmem_align", alignment, size);
}

void *gshmem_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        bytes = SIZE_MAX; /* refused as too large, on all PEs alike */
    }
    return allocate(GSH_HEAP_CALLOC, "gshmem_calloc", 0, bytes);
}

void gshmem_free(void *ptr)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmem_free");
    if (ptr == NULL) {
        return;
    }
    gsh_require(pe, "gshmem_free", pe->device_ops->quiet(pe));
    gsh_far_quiet_all(pe, "gshmem_free");
    gsh_require(pe, "gshmem_free", gsh_heap_free(pe->heap, ptr));
    gsh_require(pe, "gshmem_free", gsh_setup_publish_allocations(pe));
}

void *gshmem_ptr(const void *dest, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmem_ptr");
    if (target < 0 || target >= pe->n_pes || !gsh_heap_contains(pe->heap, dest, 1) ||
        gsh_is_far(pe, target)) {
        return NULL;
    }
    return gsh_peer_address(pe, "gshmem_ptr", dest, 0, target);
}

int gshmemx_heap_info(gshmemx_heap_info_t *info)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_heap_info");
    struct gsh_heap_stats s;
    if (info == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "gshmemx_heap_info: the info is NULL"));
    }
    gsh_heap_stats_get(pe->heap, &s);
    *info = (gshmemx_heap_info_t){.range = s.range,
                                  .committed = s.committed,
                                  .used = s.used,
                                  .largest_free = s.largest_free,
                                  .high_water = s.high_water,
                                  .overhead = s.overhead};
    return 0;
}
