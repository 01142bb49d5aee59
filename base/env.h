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

/* Fills *env from the environment and sets up the log. An unknown value of a known variable is
 * GSH_ERR_ARG with a line naming variable, value and what is allowed; a GSHMEM_ variable that no
 * row names is only warned about. */
GSH_CHECK_RESULT enum gsh_result gsh_env_read(struct gsh_env *env);

/* From now on value stands for the variable where the environment has none; the first one counts.
 * In place of setenv, which other threads' getenv may not meet. Any thread. False: there is no such
 * variable, or no memory. */
bool gsh_env_offer(const char *name, const char *value);

/* Prints each variable with its value (but not the unique id's), the origin of the value, and its
 * meaning. Returns how many variables in the environment are unknown or have an invalid value. */
int gsh_env_print(FILE *out);

/* A number of bytes, as a SIZE row takes it. */
bool gsh_env_parse_size(const char *text, uint64_t *out);

#endif
