/* SPDX-License-Identifier: Apache-2.0
 * Messages of the runtime that have arrived and wait to be received: in order for each sender and
 * tag. The caller locks. */
#ifndef GSH_MAILBOX_H
#define GSH_MAILBOX_H

#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

#define GSH_MAILBOX_BUCKETS 64

struct gsh_mailbox_entry {
    struct gsh_mailbox_entry *next;
    uint64_t tag;
    int pe;
    size_t bytes;
    uint8_t data[];
};

/* What a message takes here. */
static inline uint64_t gsh_mailbox_cost(size_t bytes)
{
    return sizeof(struct gsh_mailbox_entry) + bytes;
}

/* Zeroed: empty. */
struct gsh_mailbox {
    struct gsh_mailbox_queue {
        struct gsh_mailbox_entry *head, *tail;
    } bucket[GSH_MAILBOX_BUCKETS];
};

/* Copies the data. Out of memory is noted, not reported. */
GSH_CHECK_RESULT enum gsh_result gsh_mailbox_put(struct gsh_mailbox *box, int pe, uint64_t tag,
                                                 const void *data, size_t bytes);
/* The oldest from pe with the tag; the caller frees it. NULL: there is none. */
struct gsh_mailbox_entry *gsh_mailbox_take(struct gsh_mailbox *box, int pe, uint64_t tag);
void gsh_mailbox_finish(struct gsh_mailbox *box);

#endif
