/* SPDX-License-Identifier: Apache-2.0
 * Programs that close descriptors of the library, as with a loop over all numbers. Without them it
 * can neither wake its threads nor tell other PEs. */
#ifndef GSH_DESCRIPTORS_H
#define GSH_DESCRIPTORS_H

struct gsh_instance;

/* Ends the process with a line if the program has done so. By any thread. call: the program's call,
 * or GSH_IN_A_THREAD. A thread of the library asks before it takes the end of a connection for
 * another process's end. */
#define GSH_IN_A_THREAD "in a thread of the library"
void gsh_descriptors_check(struct gsh_instance *pe, const char *call);

#endif
