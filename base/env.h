/* SPDX-License-Identifier: Apache-2.0
 * The environment variables GSHMEM_*, parsed into one struct. env.def has one row for each. */
#ifndef GSH_ENV_H
#define GSH_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/result.h"

#define GSH_ENV_BOOL(f)    bool f;
#define GSH_ENV_SIZE(f)    uint64_t f##_bytes;
#define GSH_ENV_SECONDS(f) uint64_t f##_ns;
#define GSH_ENV_INT(f)     int f;
#define GSH_ENV_STRING(f)  char f[256];
#define GSH_ENV_CHOICE(f)  char f[32];

struct gsh_env {
#define ENV(field, name, kind, def, choices, doc) GSH_ENV_##kind(field)
#include "base/env.def"
#undef ENV
};

/* Fills *env from the environment, what was offered, and the files of settings (base/config.h), in
 * this order, and sets up the log. An unknown value of a known variable is GSH_ERR_ARG with a line
 * naming variable, value and what is allowed, and the file and line that it stands in. */
GSH_CHECK_RESULT enum gsh_result gsh_env_read(struct gsh_env *env);

/* Warns of GSHMEM_ variables that no row names, with the name that was probably meant, and of lines
 * of the files that are wrong: each only the first time in a process. PEs of a job have the same
 * environment, and PEs of a node the same files, so one of them speaks. Any thread. */
void gsh_env_warn(bool of_environment, bool of_files);

/* The variable's text as gsh_env_read takes it, NULL: it is unset, or no row has it. Any thread. */
const char *gsh_env_text(const char *name);

/* From now on value stands for the variable where the environment has none; the first one counts.
 * In place of setenv, which other threads' getenv may not meet. Any thread. False: there is no such
 * variable, or no memory. */
bool gsh_env_offer(const char *name, const char *value);

/* Prints each variable with its value (but not the unique id's), the origin of the value, and its
 * meaning. Returns how many variables, and lines of files, are unknown or wrong. */
int gsh_env_print(FILE *out);
/* The last part of it: what no row names. */
int gsh_env_print_unknown(FILE *out);

/* A number of bytes, as a SIZE row takes it. */
bool gsh_env_parse_size(const char *text, uint64_t *out);

#endif
