/* SPDX-License-Identifier: Apache-2.0
 * What another PE's message must be like. Its fields are checked here, before anything is done; the
 * state of staging that it names, where that is kept. */
#ifndef GSH_CHECK_H
#define GSH_CHECK_H

#include <stddef.h>
#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* NULL, or what is wrong with a message that has that many bytes of data. Before there is memory,
 * ranges are not checked: the code that accesses memory reports bad
 * ones. */
const char *gsh_message_fault(const struct gsh_engine_peer *peer, const struct gsh_message *m,
                              size_t bytes);
/* The kind of answer that it is; VALUE: to an AMO, and so on; 0: none. */
unsigned gsh_message_answers(const struct gsh_message *m);

#endif
