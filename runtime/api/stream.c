/* SPDX-License-Identifier: Apache-2.0
 * Calls on a stream: the same checks as in host calls, then one row of the device table, which
 * enqueues the operation itself for a near PE, and a request for a far one. Scalars are copied at
 * the call. Blocking and _nbi forms are the same, since a stream is in order. */
#include <string.h>
#include "gshmemx.h"
#include "proxy/request.h"
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/team/team.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/stream.h"
#include "runtime/init/setup.h"

static const struct gsh_signal_arg no_signal;

/* ---- far PEs ---- */

static uint64_t offset_of(const struct gsh_instance *pe, const void *symmetric)
{
    return gsh_symmetric_off(pe, symmetric);
}

static void enqueue_far(struct gsh_instance *pe, const char *call,
                        const struct gsh_request *request, gsh_stream stream)
{
    gsh_require(pe, call, pe->device_ops->stream_far(pe, call, request, stream));
}

/* A put or get. */
static void copy_far(struct gsh_instance *pe, const char *call, enum gsh_far_op op,
                     const void *symmetric, const void *local, uint64_t bytes, int target,
                     gsh_stream stream)
{
    struct gsh_request request = {
        .op = (uint8_t)op,
        .pe = target,
        .remote_off = offset_of(pe, symmetric),
        .local = (void *)(uintptr_t)local,
        .bytes = bytes,
    };
    enqueue_far(pe, call, &request, stream);
}

static void copy_far_strided(struct gsh_instance *pe, const char *call, enum gsh_far_op op,
                             const void *symmetric, const void *local, ptrdiff_t remote_stride,
                             ptrdiff_t local_stride, size_t elem_bytes, size_t nelems, int target,
                             gsh_stream stream)
{
    struct gsh_request request = {
        .op = (uint8_t)op,
        .pe = target,
        .remote_off = offset_of(pe, symmetric),
        .local = (void *)(uintptr_t)local,
        .elem_bytes = elem_bytes,
        .nelems = nelems,
        .remote_stride = remote_stride,
        .local_stride = local_stride,
    };
    enqueue_far(pe, call, &request, stream);
}

/* bytes may be 0. */
static void put_signal_far(struct gsh_instance *pe, const char *call, const void *dest,
                           const void *source, uint64_t bytes, const uint64_t *sig_addr,
                           uint64_t signal, int sig_op, int target, gsh_stream stream)
{
    struct gsh_request request = {.pe = target, .sig_op = (uint8_t)sig_op};
    if (bytes == 0) {
        request.op = GSH_FAR_AMO;
        request.amo_op = gsh_amo_of_signal(sig_op);
        request.word_bytes = sizeof(uint64_t);
        request.remote_off = offset_of(pe, sig_addr);
        request.operand = signal;
    } else {
        request.op = GSH_FAR_PUT_SIGNAL;
        request.remote_off = offset_of(pe, dest);
        request.local = (void *)(uintptr_t)source;
        request.bytes = bytes;
        request.sig_off = offset_of(pe, sig_addr);
        request.signal = signal;
    }
    enqueue_far(pe, call, &request, stream);
}

/* ---- the bodies ---- */

void gsh_put_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                       size_t elem_bytes, int target, gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, source, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    GSH_TRACE_STREAM(pe, call, stream, .target = target, .data = dest, .bytes = bytes,
                     .word = bytes <= 8 ? dest : NULL, .op = GSH_TRACE_OP_CHANGE);
    if (bytes > 0 && remote == NULL) {
        copy_far(pe, call, GSH_FAR_PUT, dest, source, bytes, target, stream);
    } else if (bytes > 0) {
        gsh_require(pe, call,
                    pe->device_ops->stream_copy(pe, remote, source, bytes, no_signal, stream));
    }
}

void gsh_get_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                       size_t elem_bytes, int target, gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    uint64_t bytes = gsh_check_local(pe, call, dest, nelems, elem_bytes);
    const void *remote = gsh_peer_address(pe, call, source, bytes, target);
    GSH_TRACE_STREAM(pe, call, stream, .kind = GSH_TRACE_EVENT_GET, .target = target,
                     .data = source, .bytes = bytes);
    if (bytes > 0 && remote == NULL) {
        copy_far(pe, call, GSH_FAR_GET, source, dest, bytes, target, stream);
    } else if (bytes > 0) {
        gsh_require(pe, call,
                    pe->device_ops->stream_copy(pe, dest, remote, bytes, no_signal, stream));
    }
}

void gsh_iput_on_stream(const char *call, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target,
                        gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, source, nelems, elem_bytes);
    gsh_check_span(pe, call, sst, nelems, elem_bytes);
    uint64_t span = gsh_check_span(pe, call, dst, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, span, target);
    GSH_TRACE_STREAM(pe, call, stream, .target = target, .data = dest,
                     .bytes = nelems * elem_bytes);
    if (nelems > 0 && remote == NULL) {
        copy_far_strided(pe, call, GSH_FAR_IPUT, dest, source, dst, sst, elem_bytes, nelems, target,
                         stream);
    } else if (nelems > 0) {
        gsh_require(pe, call,
                    pe->device_ops->stream_copy_strided(pe, remote, source, dst, sst, elem_bytes,
                                                        nelems, stream));
    }
}

void gsh_iget_on_stream(const char *call, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target,
                        gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_check_local(pe, call, dest, nelems, elem_bytes);
    gsh_check_span(pe, call, dst, nelems, elem_bytes);
    uint64_t span = gsh_check_span(pe, call, sst, nelems, elem_bytes);
    const void *remote = gsh_peer_address(pe, call, source, span, target);
    GSH_TRACE_STREAM(pe, call, stream, .kind = GSH_TRACE_EVENT_GET, .target = target,
                     .data = source, .bytes = nelems * elem_bytes);
    if (nelems > 0 && remote == NULL) {
        copy_far_strided(pe, call, GSH_FAR_IGET, source, dest, sst, dst, elem_bytes, nelems, target,
                         stream);
    } else if (nelems > 0) {
        gsh_require(pe, call,
                    pe->device_ops->stream_copy_strided(pe, dest, remote, dst, sst, elem_bytes,
                                                        nelems, stream));
    }
}

void gsh_p_on_stream(const char *call, void *dest, const void *value, size_t bytes, int target,
                     gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    GSH_TRACE_STREAM(pe, call, stream, .target = target, .data = dest, .bytes = bytes, .word = dest,
                     .op = GSH_TRACE_OP_SET, .value = bits);
    if (remote != NULL) {
        gsh_require(pe, call, pe->device_ops->stream_store(pe, remote, bits, bytes, stream));
        return;
    }
    struct gsh_request request = {
        .op = GSH_FAR_P, .pe = target, .remote_off = offset_of(pe, dest), .bytes = bytes};
    memcpy(request.inline_data, &bits, sizeof(bits));
    enqueue_far(pe, call, &request, stream);
}

void gsh_g_on_stream(const char *call, void *value, const void *source, size_t bytes, int target,
                     gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    bool is_far = gsh_peer_address(pe, call, source, bytes, target) == NULL;
    GSH_TRACE_GET(pe, call, target, source, bytes); /* the host waits for it */
    if (!is_far) {
        gsh_get_on_stream(call, value, source, 1, bytes, target, stream);
    }
    gsh_require(pe, call, pe->device_ops->stream_synchronize(pe, stream));
    if (is_far) {
        gsh_g(GSH_CONTEXT_DEFAULT, call, value, source, bytes, target);
    }
}

void gsh_put_signal_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                              size_t elem_bytes, uint64_t *sig_addr, uint64_t signal, int sig_op,
                              int target, gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    struct gsh_signal_arg s = gsh_check_signal(pe, call, sig_addr, signal, sig_op, target);
    uint64_t bytes = gsh_check_local(pe, call, source, nelems, elem_bytes);
    void *remote = gsh_peer_address(pe, call, dest, bytes, target);
    GSH_TRACE_STREAM(pe, call, stream, .target = target, .data = dest, .bytes = bytes,
                     .word = sig_addr, .op = gsh_trace_op_of_signal(sig_op), .value = signal);
    if (s.address == NULL) {
        put_signal_far(pe, call, dest, source, bytes, sig_addr, signal, sig_op, target, stream);
    } else if (bytes == 0) {
        gsh_require(pe, call, pe->device_ops->stream_signal(pe, s, stream));
    } else {
        gsh_require(pe, call, pe->device_ops->stream_copy(pe, remote, source, bytes, s, stream));
    }
}

void gsh_wait_on_stream(const struct gsh_wait_arg *wait, gsh_stream stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(wait->call);
    gsh_check_wait(pe, wait);
    GSH_TRACE_STREAM(pe, wait->call, stream, .kind = GSH_TRACE_EVENT_WAIT, .target = -1,
                     .bytes = wait->nelems == 1 ? 0 : wait->nelems * wait->kind.bytes,
                     .word = wait->ivars, .word_bytes = wait->kind.bytes,
                     .op = GSH_TRACE_OP_AWAIT + (uint32_t)wait->cmp, .value = wait->value);
    if (wait->nelems > 0) {
        gsh_require(pe, wait->call, pe->device_ops->stream_wait(pe, wait, stream));
    }
}

/* ---- the calls by bytes, signals and order ---- */

void gshmemx_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                              gshmemx_stream_t stream)
{
    gsh_put_on_stream("gshmemx_putmem_on_stream", dest, source, bytes, 1, pe, stream);
}

void gshmemx_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                              gshmemx_stream_t stream)
{
    gsh_get_on_stream("gshmemx_getmem_on_stream", dest, source, bytes, 1, pe, stream);
}

void gshmemx_putmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                  gshmemx_stream_t stream)
{
    gsh_put_on_stream("gshmemx_putmem_nbi_on_stream", dest, source, bytes, 1, pe, stream);
}

void gshmemx_getmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                  gshmemx_stream_t stream)
{
    gsh_get_on_stream("gshmemx_getmem_nbi_on_stream", dest, source, bytes, 1, pe, stream);
}

void gshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                     gshmemx_stream_t stream)
{
    gsh_put_signal_on_stream("gshmemx_putmem_signal_on_stream", dest, source, bytes, 1, sig_addr,
                             signal, sig_op, pe, stream);
}

void gshmemx_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t bytes,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                         gshmemx_stream_t stream)
{
    gsh_put_signal_on_stream("gshmemx_putmem_signal_nbi_on_stream", dest, source, bytes, 1,
                             sig_addr, signal, sig_op, pe, stream);
}

void gshmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                 gshmemx_stream_t stream)
{
    static const char call[] = "gshmemx_signal_op_on_stream";
    struct gsh_instance *self = gsh_instance_need_device(call);
    struct gsh_signal_arg s = gsh_check_signal(self, call, sig_addr, signal, sig_op, pe);
    GSH_TRACE_STREAM(self, call, stream, .target = pe, .word = sig_addr,
                     .op = gsh_trace_op_of_signal(sig_op), .value = signal);
    if (s.address == NULL) {
        put_signal_far(self, call, NULL, NULL, 0, sig_addr, signal, sig_op, pe, stream);
    } else {
        gsh_require(self, call, self->device_ops->stream_signal(self, s, stream));
    }
}

void gshmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                         gshmemx_stream_t stream)
{
    const struct gsh_wait_arg wait =
        gsh_wait_for_signal("gshmemx_signal_wait_until_on_stream", sig_addr, cmp, cmp_value);
    gsh_wait_on_stream(&wait, stream);
}

void gshmemx_quiet_on_stream(gshmemx_stream_t stream)
{
    static const char call[] = "gshmemx_quiet_on_stream";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    GSH_TRACE_STREAM(pe, call, stream, .target = -1);
    if (pe->is_device_ready) { /* before, nothing can be outstanding */
        gsh_require(pe, call, pe->device_ops->stream_quiet(pe, stream));
    }
}

static int sync_team(const char *call, gshmem_team_t team, bool is_barrier, gshmemx_stream_t stream)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    GSH_TRACE_STREAM(pe, call, stream, .target = -1, .team = &team);
    struct gsh_team *t;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r == GSH_OK) {
        r = gsh_blame(pe->device_ops->stream_sync(pe, call, t, is_barrier, stream), call);
    }
    return gsh_public_error(r);
}

static void sync_all(const char *call, bool is_barrier, gshmemx_stream_t stream)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    const gshmem_team_t world = GSHMEM_TEAM_WORLD;
    GSH_TRACE_STREAM(pe, call, stream, .target = -1, .team = &world);
    gsh_require(pe, call,
                pe->device_ops->stream_sync(pe, call, gsh_team_find(pe, GSHMEM_TEAM_WORLD),
                                            is_barrier, stream));
}

int gshmemx_barrier_on_stream(gshmem_team_t team, gshmemx_stream_t stream)
{
    return sync_team("gshmemx_barrier_on_stream", team, true, stream);
}

int gshmemx_team_sync_on_stream(gshmem_team_t team, gshmemx_stream_t stream)
{
    return sync_team("gshmemx_team_sync_on_stream", team, false, stream);
}

void gshmemx_barrier_all_on_stream(gshmemx_stream_t stream)
{
    sync_all("gshmemx_barrier_all_on_stream", true, stream);
}

void gshmemx_sync_all_on_stream(gshmemx_stream_t stream)
{
    sync_all("gshmemx_sync_all_on_stream", false, stream);
}
