/* SPDX-License-Identifier: Apache-2.0
 * The signal at which a process prints the report of its job. The handler writes to a descriptor
 * and does nothing else; serve.c's thread waits for that. */
#ifndef GSH_HANG_SIGNAL_H
#define GSH_HANG_SIGNAL_H

/* name: GSHMEM_HANG_SIGNAL's. Takes the signal, unless the program handles or ignores it; fd: an
 * eventfd. One at a time in a process. */
void gsh_hang_signal_take(const char *name, int fd);
/* Gives it back, unless the program has taken it over; then fd may be closed. */
void gsh_hang_signal_give_back(void);

#endif
