/* SPDX-License-Identifier: Apache-2.0
 * This process: as other processes of its job tell it from theirs, and as programs that it starts
 * find out that the job's variables in their environment are not for them. Process numbers do not
 * serve for that: two containers with one network both have a process 1.
 *
 * A process that has been a PE holds, until it ends or becomes another program, a mapping whose
 * name /proc shows. A program is a PE's child if an ancestor has such a mapping and got the very
 * variables that would make the program a PE; between the two, all ancestors got them. A launcher
 * did not: it sets them for others. */
#ifndef GSH_PROCESS_H
#define GSH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A random number, the same for each call of a process, another one in a forked child. Any thread.
 * 0: there is no randomness, and errno says why. */
uint64_t gsh_process_id(void);

/* How many threads it has; 0: the system does not say. */
int gsh_process_n_threads(void);

/* This process is a PE, or several. Any thread; the first call counts. Without memory for it a
 * child may take itself for the PE. */
void gsh_process_mark(void);

/* Whether an ancestor that is a PE got its number by the same variables: all that are set here of
 * those named, which a NULL ends. False where /proc does not say. */
bool gsh_process_is_child_of_pe(const char *const *names);

/* A descriptor that poll finds readable once that ancestor of this process has ended; the caller
 * closes it. -1: it is no ancestor, as /proc numbers them, or the system does not say. */
int gsh_process_note_ancestor(int pid);

/* When a job ends, its processes are gone within milliseconds, and others see no more than that. So
 * a process that ends the job first puts the reason into its own name. /proc shows the name even
 * when the process has ended, as long as its parent has not waited for it. */

/* gshmemrun ends the job's other processes since PE `pe` has failed; -1: for another reason. */
void gsh_process_say_ends_others(int pe);
/* Whether the process of that number does, and for which PE. */
bool gsh_process_ends_others(int pid, int *pe);
/* This process ends since it has lost another PE, or has heard that the job ends. */
void gsh_process_say_follows(void);
/* Whether the child of that number has done so. */
bool gsh_process_follows(int pid);

/* Whether the process at the other end of a Unix socket, which listens or has connected, was of
 * that user then. */
bool gsh_peer_is_of(int socket, uid_t user);

#endif
