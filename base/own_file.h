/* SPDX-License-Identifier: Apache-2.0
 * Files that the library writes under a name that others can predict. In a folder that they may
 * write to, it must not lead elsewhere: a link there is followed only if root or this user made it.
 * NULL or -1: errno says why not. Any thread. */
#ifndef GSH_OWN_FILE_H
#define GSH_OWN_FILE_H

#include <stdio.h>

/* Opens the file for writing, with O_APPEND or O_TRUNC, and creates it. */
int gsh_own_file_open(const char *name, int flags);
/* A new file in place of what has that name. */
FILE *gsh_own_file_create(const char *name);

#endif
