/* SPDX-License-Identifier: Apache-2.0
 * Looks at a device's memory with a limit. A kernel that CUDA loads while another one runs
 * makes all later copies wait for that one, and a call that waits in the driver holds up others;
 * either may be the very hang of which a report is made. So a thread of its own looks. */
#ifndef GSH_HANG_LOOK_H
#define GSH_HANG_LOOK_H

#include <stdbool.h>
#include <stddef.h>

struct gsh_instance;

#define GSH_HANG_LOOK_BYTES 640

enum gsh_hang_looked {
    GSH_HANG_LOOK_DONE,
    GSH_HANG_LOOK_HELD, /* it has not returned, or an earlier one about the PE has not */
    GSH_HANG_LOOK_NONE, /* one about another PE has not returned, or there is no thread */
};

/* Calls look with a copy of *work, and waits until it has returned, 100 ms at most. If it has,
 * *work becomes what it has left in the copy; otherwise it is unchanged. After HELD the PE's device
 * is best left alone. One caller at a time. */
enum gsh_hang_looked gsh_hang_look(const struct gsh_instance *pe, void (*look)(void *copy),
                                   void *work, size_t bytes);

/* Waits for a look under way that is about the PE. */
void gsh_hang_look_await(const struct gsh_instance *pe);
/* Ends the thread, if there is one; no look is under way. */
void gsh_hang_look_stop(void);

#endif
