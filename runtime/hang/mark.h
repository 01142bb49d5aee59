/* SPDX-License-Identifier: Apache-2.0
 * The marks of this process's jobs, by which askers find it (hang/names.h). */
#ifndef GSH_HANG_MARK_H
#define GSH_HANG_MARK_H

struct gsh_instance;

/* Counts the job's PEs of this process: the first one's call makes the mark, and the last one's end
 * takes it away. One caller at a time. Without a mark the process is asked only with all others. */
void gsh_hang_mark_begin(const struct gsh_instance *pe);
void gsh_hang_mark_end(const struct gsh_instance *pe);

#endif
