/* SPDX-License-Identifier: Apache-2.0
 * Messages to the user: levels, subsystems, one sink (stderr or GSHMEM_LOG_FILE). Each line is
 * written by one write(2), so lines of several PEs do not mix. */
#ifndef GSH_LOG_H
#define GSH_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum gsh_log_level {
    GSH_LOG_NONE,
    GSH_LOG_ERROR,
    GSH_LOG_WARN,
    GSH_LOG_INFO,
    GSH_LOG_TRACE,
};

enum gsh_log_subsys {
    GSH_LOG_INIT = 1 << 0,
    GSH_LOG_BOOTSTRAP = 1 << 1,
    GSH_LOG_HEAP = 1 << 2,
    GSH_LOG_DEVICE = 1 << 3,
    GSH_LOG_RMA = 1 << 4,
    GSH_LOG_SYNC = 1 << 5,
    GSH_LOG_PROXY = 1 << 6,
    GSH_LOG_ALL = (1 << 7) - 1,
};

/* Process-wide settings, taken from the environment once; later calls change nothing. path may
 * hold %h (host name), %p (process id), and %r (number of the PE that a thread acts for): then each
 * PE has a file of its own, and lines of threads without a PE go to stderr. NULL is stderr. */
void gsh_log_setup(enum gsh_log_level level, unsigned subsys_mask, const char *path);

/* Lines are JSON objects from now on (base/log_json.h). */
void gsh_log_use_json(void);

/* The word for one subsystem; NULL: for none or several. */
const char *gsh_log_subsys_name(unsigned bit);

/* Later lines have this prefix in place of the gshmem of gshmem_ and gshmemx_. The pointer is kept,
 * not copied. */
void gsh_log_set_prefix(const char *prefix);
/* The text with that prefix, as a line has it. */
void gsh_log_rename(const char *text, char *out, size_t room);

/* The PE that this thread acts for; -1: not known yet (nothing is printed for it). */
void gsh_log_set_pe(int pe);

bool gsh_log_enabled(enum gsh_log_level level, enum gsh_log_subsys subsys);
void gsh_log(enum gsh_log_level level, enum gsh_log_subsys subsys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A text of several lines, as it is, where errors go: by one write, so that no line comes in
 * between. In JSON each of its lines is a message. */
void gsh_log_text(const char *text);

#endif
