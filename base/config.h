/* SPDX-License-Identifier: Apache-2.0
 * Files of settings, for variables that the environment lacks: lines NAME = VALUE with the names of
 * env.def. They are read once in a process, in this order, and of several that name a variable the
 * first counts:
 *   1. the file that GSHMEM_CONFIG names ("none": no file at all is read)
 *   2. .config/gshmem.conf in the folder that HOME names
 *   3. /etc/gshmem.conf
 * Blanks around NAME and VALUE do not count, nor do double quotes around all of VALUE. A # at the
 * beginning of a line or after a blank begins a comment. The second file must belong to this user
 * or root, and no other may write to it. A program that has more rights than the user who started
 * it reads only the third. */
#ifndef GSH_CONFIG_H
#define GSH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct gsh_config_line {
    const char *name, *value;
    const char *file;
    int number;  /* of the line in the file, from 1 */
    bool counts; /* no file before it, and no line before it in its file, has the name */
};

/* All lines with a setting, in the order above; *n of them. They stay where they are. Any thread.
 */
const struct gsh_config_line *gsh_config_lines(size_t *n);

/* The line that counts for that variable; NULL: none. */
const struct gsh_config_line *gsh_config_find(const char *name);

/* What is wrong with the at-th file that cannot be read or line that cannot be understood, from 0:
 * one line with the file's name and the line's number. NULL: there are no more. */
const char *gsh_config_fault(size_t at);

/* For tests: reads these files, of which those that are NULL are not there, in place of the ones
 * above. Lines that were returned before are gone. */
void gsh_config_read(const char *named, const char *of_user, const char *of_system);

#endif
