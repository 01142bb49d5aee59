/* SPDX-License-Identifier: Apache-2.0
 * The public calls on the symmetric heap, and gshmem_ptr. */
#include <stdint.h>
#include "base/util.h"
#include "gshmemx.h"
#include "runtime/api/check.h"
#include "runtime/context/context.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/sites.h"
#include "runtime/trace/call.h"

/* caller: where the public call returns to. */
static void *allocate(enum gsh_heap_call kind, const char *call, size_t alignment, size_t bytes,
                      const void *caller)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_CALL(pe, call);
    void *p = NULL;
    enum gsh_result r = gsh_heap_alloc(pe->heap, kind, bytes, alignment, &p);
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    if (r != GSH_OK || p == NULL || gsh_setup_publish_allocations(pe) != GSH_OK) {
        return NULL;
    }
    gsh_trace_memory(pe, call, p, bytes, GSH_TRACE_ALLOC);
    gsh_sites_note(pe, (uint64_t)(uintptr_t)p - pe->state.base, caller);
    /* All have called, and have the memory: the last vote says so, and is the barrier of malloc. */
    if (kind == GSH_HEAP_CALLOC) {
        gsh_require(pe, call, gsh_heap_zero(pe->heap, p, bytes));
        /* no PE writes before all have their zeros */
        gsh_require(pe, call, pe->job_bootstrap->ops->barrier(pe->job_bootstrap));
    }
    return p;
}

void *gshmem_malloc(size_t size)
{
    return allocate(GSH_HEAP_MALLOC, "gshmem_malloc", 0, size, __builtin_return_address(0));
}

void *gshmem_align(size_t alignment, size_t size)
{
    return allocate(GSH_HEAP_ALIGN, "gshmem_align", alignment, size, __builtin_return_address(0));
}

void *gshmem_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        bytes = SIZE_MAX; /* refused as too large, on all PEs */
    }
    return allocate(GSH_HEAP_CALLOC, "gshmem_calloc", 0, bytes, __builtin_return_address(0));
}

void *gshmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints; /* all memory is fit for all of them */
    return allocate(GSH_HEAP_MALLOC, "gshmem_malloc_with_hints", 0, size,
                    __builtin_return_address(0));
}

void *gshmem_realloc(void *ptr, size_t size)
{
    static const char call[] = "gshmem_realloc";
    if (ptr == NULL) {
        return allocate(GSH_HEAP_REALLOC, call, 0, size, __builtin_return_address(0));
    }
    if (size == 0) {
        gshmem_free(ptr);
        return NULL;
    }
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_CALL(pe, call);
    uint64_t before = gsh_heap_size_of(pe->heap, ptr);
    if (before == 0) {
        gsh_abort(pe, 1, "%s: no allocation starts at %p", call, ptr);
    }
    /* The others do so, too, before they agree: then the contents are stable. */
    gsh_contexts_quiet(pe, call);
    void *p = NULL;
    enum gsh_result r = gsh_heap_alloc(pe->heap, GSH_HEAP_REALLOC, size, 0, &p);
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    if (r != GSH_OK) {
        return NULL;
    }
    gsh_require(pe, call,
                pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, p, ptr, gsh_min_u64(before, size)));
    /* Detects pointers that differ. No PE returns before all have copied. */
    gsh_require(pe, call, gsh_heap_free(pe->heap, ptr));
    gsh_trace_memory(pe, call, p, size, GSH_TRACE_ALLOC);
    gsh_sites_note(pe, (uint64_t)(uintptr_t)p - pe->state.base, __builtin_return_address(0));
    gsh_trace_memory(pe, call, ptr, 0, GSH_TRACE_FREE);
    gsh_require(pe, call, gsh_setup_publish_allocations(pe));
    return p;
}

void gshmem_free(void *ptr)
{
    if (ptr == NULL) {
        gsh_instance_need("gshmem_free");
        return;
    }
    static const char call[] = "gshmem_free";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_CALL(pe, call);
    gsh_contexts_quiet(pe, call);
    gsh_require(pe, call, gsh_heap_free(pe->heap, ptr));
    gsh_trace_memory(pe, call, ptr, 0, GSH_TRACE_FREE);
    gsh_require(pe, call, gsh_setup_publish_allocations(pe));
}

void *gshmem_ptr(const void *dest, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmem_ptr");
    if (!gshmem_addr_accessible(dest, target) || gsh_is_far(pe, target)) {
        return NULL;
    }
    if (target == pe->my_pe) {
        return (void *)(uintptr_t)dest;
    }
    return gsh_peer_address(pe, "gshmem_ptr", dest, 0, target);
}

int gshmem_addr_accessible(const void *addr, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmem_addr_accessible");
    return pe->is_device_ready && target >= 0 && target < pe->n_pes &&
           gsh_symmetric_off(pe, addr) < pe->state.stride;
}

int gshmemx_is_symmetric(const void *addr, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_is_symmetric");
    const uint64_t in_globals = (uint64_t)(uintptr_t)addr - pe->statics.base;
    if (!pe->is_device_ready) {
        return 0;
    }
    return gsh_range_fits(in_globals, bytes, pe->statics.bytes) ||
           gsh_heap_is_allocated(pe->heap, addr, bytes);
}

int gshmemx_heap_info(gshmemx_heap_info_t *info)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_heap_info");
    struct gsh_heap_stats s;
    if (info == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "gshmemx_heap_info: the info is NULL"));
    }
    if (!pe->is_device_ready) {
        *info = (gshmemx_heap_info_t){0};
        return 0;
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
