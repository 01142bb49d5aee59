/* SPDX-License-Identifier: Apache-2.0
 * The CPU row's entries on a stream, in stream.c. The rest of the row is in device.c. */
#ifndef GSH_DEVICE_CPU_H
#define GSH_DEVICE_CPU_H

#include "runtime/instance/device_ops.h"

GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_copy(struct gsh_instance *pe, void *dest,
                                                     const void *source, size_t bytes,
                                                     struct gsh_signal_arg signal,
                                                     gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result
gsh_cpu_stream_signal(struct gsh_instance *pe, struct gsh_signal_arg signal, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_copy_strided(struct gsh_instance *pe, void *dest,
                                                             const void *source, ptrdiff_t dst,
                                                             ptrdiff_t sst, size_t elem_bytes,
                                                             size_t nelems, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_store(struct gsh_instance *pe, void *dest,
                                                      uint64_t bits, size_t bytes,
                                                      gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result
gsh_cpu_stream_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_sync(struct gsh_instance *pe, const char *call,
                                                     const struct gsh_team *team, bool is_barrier,
                                                     gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_trace(struct gsh_instance *pe,
                                                      const struct gsh_kernel_trace_args *events,
                                                      gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_coll(struct gsh_instance *pe,
                                              const struct gsh_coll_launch *launch);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_coll(struct gsh_instance *pe,
                                                     const struct gsh_coll_launch *launch,
                                                     gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_quiet(struct gsh_instance *pe, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_far(struct gsh_instance *pe, const char *call,
                                                    const struct gsh_request *request,
                                                    gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cpu_stream_synchronize(struct gsh_instance *pe,
                                                            gsh_stream stream);

/* Launches one of the library's kernels as one thread, since one is as fast as many here. */
GSH_CHECK_RESULT enum gsh_result gsh_cpu_launch_kernel(struct gsh_instance *pe,
                                                       void (*entry)(void *), const void *args,
                                                       size_t bytes, gsh_stream stream);

#endif
