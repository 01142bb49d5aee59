/* SPDX-License-Identifier: Apache-2.0
 * The program's own memory: made symmetric by the heap, or prepared for copies from and to it. */
#ifndef GSH_BUFFERS_H
#define GSH_BUFFERS_H

#include "runtime/instance/instance.h"

struct gsh_buffers;

/* Collective, after device set-up; failures are printed. */
GSH_CHECK_RESULT enum gsh_result gsh_buffers_add_symmetric(struct gsh_instance *pe, void *buffer,
                                                           size_t bytes, void **out);
GSH_CHECK_RESULT enum gsh_result gsh_buffers_remove_symmetric(struct gsh_instance *pe, void *out,
                                                              size_t bytes);
/* The same among the PEs of a group; collective over the group. */
GSH_CHECK_RESULT enum gsh_result gsh_buffers_add_among(struct gsh_instance *pe,
                                                       struct gsh_agreement *group, void *buffer,
                                                       size_t bytes, void **out);
GSH_CHECK_RESULT enum gsh_result gsh_buffers_remove_among(struct gsh_instance *pe,
                                                          struct gsh_agreement *group, void *out,
                                                          size_t bytes);

/* Any thread; failures are printed. remove: the registration that begins at buffer. */
GSH_CHECK_RESULT enum gsh_result gsh_buffers_add(struct gsh_instance *pe, void *buffer,
                                                 size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_buffers_remove(struct gsh_instance *pe, void *buffer);
/* Removes all that are left, while the proxy and the device still exist. */
void gsh_buffers_end(struct gsh_instance *pe);

#endif
