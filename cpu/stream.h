/* SPDX-License-Identifier: Apache-2.0
 * A device's streams, as events and the end of the device see them. */
#ifndef GSH_STREAM_H
#define GSH_STREAM_H

#include "device.h"

/* Waits for all streams of the device. */
void gsh_streams_synchronize(struct gsh_cpu_device *device);
/* Pieces of work on all streams of the device that have not ended; *n_waiting: of these, how many
 * have not begun. */
uint64_t gsh_streams_count_unfinished(struct gsh_cpu_device *device, uint64_t *n_waiting);
/* As gsh_streams_synchronize, then ends their threads. The user's streams are another device's from
 * then on, since the program may still use and destroy them; *kept: their list, for
 * gsh_streams_adopt. */
void gsh_streams_finish(struct gsh_cpu_device *device, struct CUstream_st **kept);
void gsh_streams_adopt(struct gsh_cpu_device *device, struct CUstream_st *kept);

/* Enqueues. Returns in *seq what to ask gsh_stream_has_done for, and in *stream the stream itself
 * (never one of CUDA's constants) with a reference. */
int gsh_stream_mark(struct CUstream_st **stream, void (*function)(void *arg), const void *arg,
                    size_t arg_bytes, uint64_t *seq);
bool gsh_stream_has_done(const struct CUstream_st *stream, uint64_t seq);
/* The caller waits. */
void gsh_stream_wait(struct CUstream_st *stream, uint64_t seq);
/* Makes work enqueued on stream from now on wait. */
int gsh_stream_wait_for(struct CUstream_st *stream, struct CUstream_st *other, uint64_t seq);
/* A referenced stream can be queried and waited for even after it or its device is destroyed. */
struct CUstream_st *gsh_stream_ref(struct CUstream_st *stream);
void gsh_stream_unref(struct CUstream_st *stream); /* NULL is ignored */

#endif
