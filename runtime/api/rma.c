/* SPDX-License-Identifier: Apache-2.0
 * Host puts and gets: by byte count, strided, single elements, and put-with-signal. The typed
 * names are stamped in typed.c. */
#include <string.h>
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/far/far.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/call.h"

/* ---- far PEs ---- */

static struct gsh_request far_copy(const struct gsh_instance *pe, int op, const void *symmetric,
                                   const void *local, uint64_t bytes, int target)
{
    struct gsh_request request = gsh_far_request(pe, op, symmetric, target);
    request.local = (void *)(uintptr_t)local;
    request.bytes = bytes;
    return request;
}

static void far_strided(struct gsh_instance *pe, gsh_context ctx, const char *call, int op,
                        const void *symmetric, const void *local, ptrdiff_t remote_stride,
                        ptrdiff_t local_stride, size_t elem_bytes, size_t nelems, int target)
{
    struct gsh_request request = far_copy(pe, op, symmetric, local, 0, target);
    request.elem_bytes = elem_bytes;
    request.nelems = nelems;
    request.remote_stride = remote_stride;
    request.local_stride = local_stride;
    gsh_far_run(pe, ctx, call, &request);
}

static void far_signal(struct gsh_instance *pe, gsh_context ctx, const char *call,
                       uint64_t *sig_addr, struct gsh_signal_arg signal, int target)
{
    struct gsh_request request = gsh_far_request(pe, GSH_FAR_AMO, sig_addr, target);
    request.amo_op = gsh_amo_of_signal(signal.op);
    request.word_bytes = sizeof(uint64_t);
    request.operand = signal.value;
    gsh_far_run(pe, ctx, call, &request);
}

static void far_put_signal(struct gsh_instance *pe, gsh_context ctx, const char *call, void *dest,
                           const void *source, uint64_t bytes, uint64_t *sig_addr,
                           struct gsh_signal_arg signal, int target)
{
    if (bytes == 0) {
        far_signal(pe, ctx, call, sig_addr, signal, target);
        return;
    }
    struct gsh_request request = far_copy(pe, GSH_FAR_PUT_SIGNAL, dest, source, bytes, target);
    request.sig_op = (uint8_t)signal.op;
    request.sig_off = gsh_symmetric_off(pe, sig_addr);
    request.signal = signal.value;
    gsh_far_run(pe, ctx, call, &request);
}

/* ---- the bodies ---- */

void gsh_put(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
             size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, source, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    GSH_TRACE_SIGNAL(pe, call, target, dest, bytes, bytes <= 8 ? dest : NULL, GSH_TRACE_OP_CHANGE,
                     0);
    if (bytes > 0 && gsh_is_far(pe, target)) {
        gsh_far_put(pe, ctx, call, dest, source, bytes, target, false);
    } else if (bytes > 0) {
        gsh_require(pe, call, pe->device_ops->copy(pe, ctx, remote, source, bytes));
    }
}

void gsh_get(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
             size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, dest, nelems, elem_bytes);
    const void *remote = gsh_peer_address(pe, call, source, bytes, target);
    GSH_TRACE_GET(pe, call, target, source, bytes);
    if (bytes > 0 && gsh_is_far(pe, target)) {
        struct gsh_request request = far_copy(pe, GSH_FAR_GET, source, dest, bytes, target);
        gsh_far_run(pe, ctx, call, &request);
    } else if (bytes > 0) {
        gsh_require(pe, call, pe->device_ops->copy(pe, ctx, dest, remote, bytes));
    }
}

void gsh_put_nbi(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
                 size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, source, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    GSH_TRACE_SIGNAL(pe, call, target, dest, bytes, bytes <= 8 ? dest : NULL, GSH_TRACE_OP_CHANGE,
                     0);
    if (bytes > 0 && gsh_is_far(pe, target)) {
        gsh_far_put(pe, ctx, call, dest, source, bytes, target, true);
    } else if (bytes > 0) {
        gsh_require(pe, call, pe->device_ops->copy_nbi(pe, ctx, remote, source, bytes));
    }
}

void gsh_get_nbi(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
                 size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, dest, nelems, elem_bytes);
    const void *remote = gsh_peer_address(pe, call, source, bytes, target);
    GSH_TRACE_GET(pe, call, target, source, bytes);
    if (bytes > 0 && gsh_is_far(pe, target)) {
        struct gsh_request request = far_copy(pe, GSH_FAR_GET, source, dest, bytes, target);
        gsh_far_post(pe, ctx, call, &request);
    } else if (bytes > 0) {
        gsh_require(pe, call, pe->device_ops->copy_nbi(pe, ctx, dest, remote, bytes));
    }
}

void gsh_iput(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
              ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, source, nelems, elem_bytes);
    gsh_check_span(pe, call, sst, nelems, elem_bytes);
    uint64_t span = gsh_check_span(pe, call, dst, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, span, target);
    GSH_TRACE_DATA(pe, call, target, dest, nelems * elem_bytes);
    if (nelems > 0 && gsh_is_far(pe, target)) {
        far_strided(pe, ctx, call, GSH_FAR_IPUT, dest, source, dst, sst, elem_bytes, nelems,
                    target);
    } else if (nelems > 0) {
        gsh_require(
            pe, call,
            pe->device_ops->copy_strided(pe, ctx, remote, source, dst, sst, elem_bytes, nelems));
    }
}

void gsh_iget(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
              ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, dest, nelems, elem_bytes);
    gsh_check_span(pe, call, dst, nelems, elem_bytes);
    uint64_t span = gsh_check_span(pe, call, sst, nelems, elem_bytes);
    const void *remote = gsh_peer_address(pe, call, source, span, target);
    GSH_TRACE_GET(pe, call, target, source, nelems * elem_bytes);
    if (nelems > 0 && gsh_is_far(pe, target)) {
        far_strided(pe, ctx, call, GSH_FAR_IGET, source, dest, sst, dst, elem_bytes, nelems,
                    target);
    } else if (nelems > 0) {
        gsh_require(
            pe, call,
            pe->device_ops->copy_strided(pe, ctx, dest, remote, dst, sst, elem_bytes, nelems));
    }
}

/* ---- blocks ---- */

/* The bytes that the blocks span; 0: there are none. */
static uint64_t check_blocks(struct gsh_instance *pe, const char *call, ptrdiff_t stride,
                             size_t bsize, size_t nblocks, size_t elem_bytes)
{
    if (bsize == 0 || nblocks == 0) {
        return 0;
    }
    uint64_t starts = gsh_check_span(pe, call, stride, nblocks, 1), elems;
    if (__builtin_add_overflow(starts - 1, bsize, &elems)) {
        gsh_abort(pe, 1, "%s: %zu blocks of %zu elements with stride %td are more than any memory",
                  call, nblocks, bsize, stride);
    }
    return gsh_check_bytes(pe, call, elems, elem_bytes);
}

/* One copy for each block. Those to near PEs run concurrently. */
static void copy_blocks(struct gsh_instance *pe, gsh_context ctx, const char *call, char *dest,
                        const char *source, size_t dest_step, size_t source_step,
                        size_t block_bytes, size_t nblocks)
{
    for (size_t i = 0; i < nblocks; i++) {
        gsh_require(pe, call,
                    pe->device_ops->copy_nbi(pe, ctx, dest + i * dest_step,
                                             source + i * source_step, block_bytes));
    }
    gsh_require(pe, call, pe->device_ops->quiet(pe, ctx));
}

void gsh_ibput(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
               ptrdiff_t sst, size_t bsize, size_t nblocks, size_t elem_bytes, int target)
{
    if (bsize == 1) {
        gsh_iput(ctx, call, dest, source, dst, sst, nblocks, elem_bytes, target);
        return;
    }
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, source, bsize, nblocks);
    check_blocks(pe, call, sst, bsize, nblocks, elem_bytes);
    uint64_t bytes = check_blocks(pe, call, dst, bsize, nblocks, elem_bytes);
    char *remote = gsh_peer_address(pe, call, dest, bytes, target);
    GSH_TRACE_DATA(pe, call, target, dest, bsize * nblocks * elem_bytes);
    size_t to = (size_t)dst * elem_bytes, from = (size_t)sst * elem_bytes;
    if (bytes > 0 && !gsh_is_far(pe, target)) {
        copy_blocks(pe, ctx, call, remote, source, to, from, bsize * elem_bytes, nblocks);
        return;
    }
    for (size_t i = 0; bytes > 0 && i < nblocks; i++) {
        gsh_far_put(pe, ctx, call, (char *)dest + i * to, (const char *)source + i * from,
                    bsize * elem_bytes, target, false);
    }
}

void gsh_ibget(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
               ptrdiff_t sst, size_t bsize, size_t nblocks, size_t elem_bytes, int target)
{
    if (bsize == 1) {
        gsh_iget(ctx, call, dest, source, dst, sst, nblocks, elem_bytes, target);
        return;
    }
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, dest, bsize, nblocks);
    check_blocks(pe, call, dst, bsize, nblocks, elem_bytes);
    uint64_t bytes = check_blocks(pe, call, sst, bsize, nblocks, elem_bytes);
    const char *remote = gsh_peer_address(pe, call, source, bytes, target);
    GSH_TRACE_GET(pe, call, target, source, bsize * nblocks * elem_bytes);
    size_t to = (size_t)dst * elem_bytes, from = (size_t)sst * elem_bytes;
    if (bytes > 0 && !gsh_is_far(pe, target)) {
        copy_blocks(pe, ctx, call, dest, remote, to, from, bsize * elem_bytes, nblocks);
        return;
    }
    for (size_t i = 0; bytes > 0 && i < nblocks; i++) {
        struct gsh_request request = far_copy(pe, GSH_FAR_GET, (const char *)source + i * from,
                                              (char *)dest + i * to, bsize * elem_bytes, target);
        gsh_far_run(pe, ctx, call, &request);
    }
}

/* ---- single elements and signals ---- */

void gsh_p(gsh_context ctx, const char *call, void *dest, const void *value, size_t bytes,
           int target)
{
    if (bytes > sizeof(uint64_t)) {
        gsh_put(ctx, call, dest, value, 1, bytes, target);
        return;
    }
    struct gsh_instance *pe = gsh_instance_need_device(call);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    GSH_TRACE_SIGNAL(pe, call, target, dest, bytes, dest, GSH_TRACE_OP_SET, bits);
    if (gsh_is_far(pe, target)) {
        gsh_far_store(pe, ctx, call, dest, bits, bytes, target);
    } else {
        gsh_require(pe, call, pe->device_ops->store(pe, ctx, remote, bits, bytes));
    }
}

void gsh_g(gsh_context ctx, const char *call, void *value, const void *source, size_t bytes,
           int target)
{
    if (bytes > sizeof(uint64_t)) {
        gsh_get(ctx, call, value, source, 1, bytes, target);
        return;
    }
    struct gsh_instance *pe = gsh_instance_need_device(call);
    const void *remote = gsh_peer_address(pe, call, source, bytes, target);
    GSH_TRACE_GET(pe, call, target, source, bytes);
    if (gsh_is_far(pe, target)) {
        uint64_t bits = gsh_far_load(pe, ctx, call, source, bytes, target);
        memcpy(value, &bits, bytes);
    } else {
        gsh_require(pe, call, pe->device_ops->load(pe, remote, bytes, 1, value));
    }
}

/* The atomic is ordered after the copy and returns when both are done (device_ops.h). */
static void signal_after_copy(struct gsh_instance *pe, gsh_context ctx, const char *call,
                              struct gsh_signal_arg signal)
{
    enum gsh_amo_op op = gsh_amo_of_signal(signal.op);
    gsh_require(
        pe, call,
        pe->device_ops->amo(pe, ctx, op, signal.address, sizeof(uint64_t), signal.value, 0, NULL));
}

void gsh_put_signal(gsh_context ctx, const char *call, void *dest, const void *source,
                    size_t nelems, size_t elem_bytes, uint64_t *sig_addr, uint64_t signal,
                    int sig_op, int target)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    struct gsh_signal_arg s = gsh_check_signal(pe, call, sig_addr, signal, sig_op, target);
    GSH_TRACE_SIGNAL(pe, call, target, dest, nelems * elem_bytes, sig_addr,
                     gsh_trace_op_of_signal(sig_op), signal);
    if (gsh_is_far(pe, target)) {
        uint64_t bytes = gsh_check_local(pe, call, source, nelems, elem_bytes);
        gsh_peer_address(pe, call, dest, bytes, target);
        far_put_signal(pe, ctx, call, dest, source, bytes, sig_addr, s, target);
        return;
    }
    gsh_put_nbi(ctx, call, dest, source, nelems, elem_bytes, target);
    signal_after_copy(pe, ctx, call, s);
}

/* The signal has to follow the data, and only the host can order it here: the same as blocking. */
void gsh_put_signal_nbi(gsh_context ctx, const char *call, void *dest, const void *source,
                        size_t nelems, size_t elem_bytes, uint64_t *sig_addr, uint64_t signal,
                        int sig_op, int target)
{
    gsh_put_signal(ctx, call, dest, source, nelems, elem_bytes, sig_addr, signal, sig_op, target);
}

static void change_signal(const char *call, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    struct gsh_instance *self = gsh_instance_need_device(call);
    struct gsh_signal_arg s = gsh_check_signal(self, call, sig_addr, signal, sig_op, pe);
    GSH_TRACE_SIGNAL(self, call, pe, NULL, 0, sig_addr, gsh_trace_op_of_signal(sig_op), signal);
    if (gsh_is_far(self, pe)) {
        far_signal(self, GSH_CONTEXT_DEFAULT, call, sig_addr, s, pe);
    } else {
        signal_after_copy(self, GSH_CONTEXT_DEFAULT, call, s);
    }
}

void gshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    change_signal("gshmemx_signal_op", sig_addr, signal, sig_op, pe);
}

void gshmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe)
{
    change_signal("gshmem_signal_add", sig_addr, signal, GSHMEM_SIGNAL_ADD, pe);
}

void gshmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)
{
    change_signal("gshmem_signal_set", sig_addr, signal, GSHMEM_SIGNAL_SET, pe);
}
