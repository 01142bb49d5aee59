/* SPDX-License-Identifier: Apache-2.0
 * Descriptors that a forked child does not keep: those that others watch to see this process die,
 * which would stay open while a child lives, and those that wake its threads. fork closes them in
 * the child, before it returns there. A child of vfork, of posix_spawn or of clone itself keeps
 * them until it becomes another program: they are to be close-on-exec. Any thread may call. */
#ifndef GSH_PRIVATE_FD_H
#define GSH_PRIVATE_FD_H

/* From now on. A child that another thread has forked since the descriptor was made keeps it, and
 * so does every child if there is no memory to note it. */
void gsh_private_fd_add(int fd);

/* Closes *fd, which need not have been added, unless it is negative, and makes it -1. Whatever was
 * added is closed by this alone: a later descriptor of its number is the child's, too. Keeps errno.
 */
void gsh_private_fd_close(int *fd);

/* One that was added and that somebody else has closed; -1: none. One whose number is another
 * file's by now is not seen. */
int gsh_private_fd_find_closed(void);

#endif
