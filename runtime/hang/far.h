/* SPDX-License-Identifier: Apache-2.0
 * What other nodes say of their PEs, asked over the job's network by notices (gsh_proxy_notify),
 * which bear the job's key. The asker asks the first PE of each node, and if nothing has come for a
 * while the next one, which asks all processes of its node in turn (hang/ask.h):
 *
 *   asker -> PE   QUESTION
 *   PE -> asker   ANSWER with some records each: for each PE of the PE's node one of kind PE, then
 *                 its waits, or one of kind ABSENT; in the last one, END
 *
 * A notice may get lost: then a part of the report is missing. */
#ifndef GSH_HANG_FAR_H
#define GSH_HANG_FAR_H

#include "hang/record.h"

struct gsh_instance;

/* Asks all other nodes, for at most so long, and passes their records on until `put` returns
 * false. One thread of the process at a time; others wait. */
void gsh_hang_gather(struct gsh_instance *pe, unsigned patience_ms,
                     bool (*put)(void *to, const struct gsh_hang_record *record), void *to);

/* Answers a question: with what the processes of this PE's node say. */
void gsh_hang_answer_far(struct gsh_instance *pe, int to_pe, uint32_t serial);

/* A notice has come: whether it is one of these, and if so, its serial number. An answer has been
 * kept for the thread that gathers; a question is to be answered. Any thread. */
enum gsh_hang_far_notice { GSH_HANG_FAR_OTHER, GSH_HANG_FAR_QUESTION, GSH_HANG_FAR_ANSWER };
enum gsh_hang_far_notice gsh_hang_far_receive(int from_pe, const void *data, size_t bytes,
                                              uint32_t *serial);

#endif
