/* SPDX-License-Identifier: Apache-2.0
 * What the front ends check of their arguments. */
#include "runtime/api/check.h"

#include <inttypes.h>
#include "gshmem.h"
#include "runtime/init/setup.h"
#include "runtime/init/statics.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"

__attribute__((noreturn)) static void not_symmetric(struct gsh_instance *pe, const char *call,
                                                    const void *address, uint64_t bytes)
{
    const char *hint = "";
    if (address == NULL) {
        gsh_abort(pe, 1, "%s: the symmetric address of %" PRIu64 " bytes is NULL", call, bytes);
    }
    if (gsh_statics_contain(address)) {
        hint = ": it is a global or static of the program, which is symmetric only on the CPU "
               "device, between processes, and if init was asked for it";
    }
    gsh_abort(pe, 1, "%s: [%p, %p + %" PRIu64 ") is not symmetric: outside this PE's heap%s", call,
              address, address, bytes, hint);
}

static void check_range(struct gsh_instance *pe, const char *call, const void *symmetric,
                        uint64_t bytes)
{
    if (!gsh_heap_contains(pe->heap, symmetric, bytes)) {
        not_symmetric(pe, call, symmetric, bytes);
    }
    bool is_users = (uint64_t)symmetric - pe->state.base >= pe->state.user_off;
    if (!is_users || !gsh_heap_is_allocated(pe->heap, symmetric, bytes)) {
        gsh_abort(pe, 1, "%s: [%p, %p + %" PRIu64 ") is not inside one live allocation", call,
                  symmetric, symmetric, bytes);
    }
}

void gsh_check_pe(struct gsh_instance *pe, const char *call, int target)
{
    if (target < 0 || target >= pe->n_pes) {
        gsh_abort(pe, 1, "%s: PE %d is out of range: the job has PEs 0 to %d", call, target,
                  pe->n_pes - 1);
    }
}

void *gsh_peer_address(struct gsh_instance *pe, const char *call, const void *symmetric,
                       uint64_t bytes, int target)
{
    gsh_check_pe(pe, call, target);
    if (!pe->is_device_ready) {
        if (bytes > 0) {
            gsh_abort(pe, 1,
                      "%s: there is no symmetric memory yet: neither gshmem_malloc nor "
                      "gshmemx_device_setup has been called",
                      call);
        }
        return NULL;
    }
    uint64_t off = gsh_symmetric_off(pe, symmetric);
    if (bytes > pe->state.stride) {
        gsh_abort(pe, 1, "%s: %" PRIu64 " bytes are more than the heap's range of %" PRIu64, call,
                  bytes, pe->state.stride);
    }
    if (__builtin_expect(off >= pe->state.stride, 0) && bytes > 0) {
        not_symmetric(pe, call, symmetric, bytes);
    }
    if (GSH_CHECKS && bytes > 0) {
        check_range(pe, call, (const void *)(uintptr_t)(pe->state.base + off), bytes);
    }
    if (gsh_is_far(pe, target)) {
        return NULL;
    }
    int slots = pe->near[pe->peers[target].node_index].slot - pe->my_slot;
    return (void *)(pe->state.base + off + (uint64_t)((int64_t)slots * (int64_t)pe->state.stride));
}

uint64_t gsh_check_bytes(struct gsh_instance *pe, const char *call, size_t nelems,
                         size_t elem_bytes)
{
    uint64_t bytes;
    if ((ptrdiff_t)nelems < 0) {
        gsh_abort(pe, 1, "%s: the number of elements is %td; it is at least 0", call,
                  (ptrdiff_t)nelems);
    }
    if (__builtin_mul_overflow(nelems, elem_bytes, &bytes)) {
        gsh_abort(pe, 1, "%s: %zu elements of %zu bytes are more than any memory", call, nelems,
                  elem_bytes);
    }
    return bytes;
}

uint64_t gsh_check_local(struct gsh_instance *pe, const char *call, const void *local,
                         size_t nelems, size_t elem_bytes)
{
    uint64_t bytes = gsh_check_bytes(pe, call, nelems, elem_bytes);
    if (local == NULL && bytes > 0) {
        gsh_abort(pe, 1, "%s: the local address of %" PRIu64 " bytes is NULL", call, bytes);
    }
    return bytes;
}

uint64_t gsh_check_span(struct gsh_instance *pe, const char *call, ptrdiff_t stride, size_t nelems,
                        size_t elem_bytes)
{
    if (stride < 1) {
        gsh_abort(pe, 1, "%s: a stride is %td; strides are at least 1", call, stride);
    }
    if (nelems == 0) {
        return 0;
    }
    uint64_t elems;
    if (__builtin_mul_overflow(nelems - 1, (size_t)stride, &elems) || elems == SIZE_MAX) {
        gsh_abort(pe, 1, "%s: %zu elements with stride %td are more than any memory", call, nelems,
                  stride);
    }
    return gsh_check_bytes(pe, call, elems + 1, elem_bytes);
}

struct gsh_signal_arg gsh_check_signal(struct gsh_instance *pe, const char *call,
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int target)
{
    if (sig_op != GSHMEM_SIGNAL_SET && sig_op != GSHMEM_SIGNAL_ADD) {
        gsh_abort(pe, 1, "%s: sig_op %d is neither GSHMEM_SIGNAL_SET nor GSHMEM_SIGNAL_ADD", call,
                  sig_op);
    }
    if ((uintptr_t)sig_addr % sizeof(*sig_addr) != 0) {
        gsh_abort(pe, 1, "%s: the signal's address %p is not a multiple of 8", call,
                  (void *)sig_addr);
    }
    return (struct gsh_signal_arg){
        .address = gsh_peer_address(pe, call, sig_addr, sizeof(*sig_addr), target),
        .value = signal,
        .op = sig_op,
    };
}
