/* SPDX-License-Identifier: Apache-2.0
 * The common bodies of the typed and sized public calls, by byte count and element width. Every
 * body finds the PE, checks its arguments, forms the peer's address and calls one row of the device
 * table. `ctx` is the number of the context whose fence and quiet cover the operation; `call` is
 * the public name, for messages. */
#ifndef GSH_HOST_CALLS_H
#define GSH_HOST_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proxy/request.h"
#include "runtime/instance/device_ops.h"

struct gsh_instance;

/* ---- rma.c ---- */
void gsh_put(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
             size_t elem_bytes, int target);
void gsh_get(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
             size_t elem_bytes, int target);
void gsh_put_nbi(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
                 size_t elem_bytes, int target);
void gsh_get_nbi(gsh_context ctx, const char *call, void *dest, const void *source, size_t nelems,
                 size_t elem_bytes, int target);
void gsh_iput(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
              ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target);
void gsh_iget(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
              ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target);
/* nblocks of bsize elements, strides in elements. */
void gsh_ibput(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
               ptrdiff_t sst, size_t bsize, size_t nblocks, size_t elem_bytes, int target);
void gsh_ibget(gsh_context ctx, const char *call, void *dest, const void *source, ptrdiff_t dst,
               ptrdiff_t sst, size_t bsize, size_t nblocks, size_t elem_bytes, int target);
/* One element of 1, 2, 4, 8 or 16 bytes. */
void gsh_p(gsh_context ctx, const char *call, void *dest, const void *value, size_t bytes,
           int target);
void gsh_g(gsh_context ctx, const char *call, void *value, const void *source, size_t bytes,
           int target);
void gsh_put_signal(gsh_context ctx, const char *call, void *dest, const void *source,
                    size_t nelems, size_t elem_bytes, uint64_t *sig_addr, uint64_t signal,
                    int sig_op, int target);
void gsh_put_signal_nbi(gsh_context ctx, const char *call, void *dest, const void *source,
                        size_t nelems, size_t elem_bytes, uint64_t *sig_addr, uint64_t signal,
                        int sig_op, int target);

/* ---- amo.c: a word of 4 or 8 bytes; cond and old may be NULL ---- */
void gsh_amo(gsh_context ctx, const char *call, enum gsh_amo_op op, const void *dest, size_t bytes,
             const void *value, const void *cond, void *old, int target);

/* Stores the old value in fetch, which may be any memory of this PE. */
void gsh_amo_nbi(gsh_context ctx, const char *call, enum gsh_amo_op op, const void *dest,
                 size_t bytes, const void *value, const void *cond, void *fetch, int target);

/* ---- wait.c ---- */

static inline struct gsh_wait_arg gsh_wait_for_signal(const char *call, uint64_t *sig_addr, int cmp,
                                                      uint64_t cmp_value)
{
    return (struct gsh_wait_arg){.ivars = sig_addr,
                                 .nelems = 1,
                                 .cmp = cmp,
                                 .kind = {sizeof(*sig_addr), false},
                                 .value = cmp_value,
                                 .call = call};
}
/* These check the caller's argument. */
void gsh_wait_all(const struct gsh_wait_arg *wait);
size_t gsh_wait_any(const struct gsh_wait_arg *wait);
size_t gsh_wait_some(const struct gsh_wait_arg *wait, size_t *indices);
int gsh_test_all(const struct gsh_wait_arg *wait);
size_t gsh_test_any(const struct gsh_wait_arg *wait);
size_t gsh_test_some(const struct gsh_wait_arg *wait, size_t *indices);
/* Ends the job when cmp is no comparison or the words are not this PE's symmetric memory. */
void gsh_check_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait);

/* ---- stream.c ---- */
void gsh_put_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                       size_t elem_bytes, int target, gsh_stream stream);
void gsh_get_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                       size_t elem_bytes, int target, gsh_stream stream);
void gsh_iput_on_stream(const char *call, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target,
                        gsh_stream stream);
void gsh_iget_on_stream(const char *call, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem_bytes, int target,
                        gsh_stream stream);
void gsh_p_on_stream(const char *call, void *dest, const void *value, size_t bytes, int target,
                     gsh_stream stream);
/* Waits for the stream. */
void gsh_g_on_stream(const char *call, void *value, const void *source, size_t bytes, int target,
                     gsh_stream stream);
void gsh_put_signal_on_stream(const char *call, void *dest, const void *source, size_t nelems,
                              size_t elem_bytes, uint64_t *sig_addr, uint64_t signal, int sig_op,
                              int target, gsh_stream stream);
void gsh_wait_on_stream(const struct gsh_wait_arg *wait, gsh_stream stream);

#endif
