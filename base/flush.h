/* SPDX-License-Identifier: Apache-2.0
 * Saves output that an _exit would lose. */
#ifndef GSH_FLUSH_H
#define GSH_FLUSH_H

/* Before an _exit from the user's own thread: writes out stdout's buffer, unless another thread
 * holds stdout or its reader is not reading. */
void gsh_flush_stdout(void);

#endif
