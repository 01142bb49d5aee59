/* SPDX-License-Identifier: Apache-2.0
 * Messages of the runtime, kept until received. Not on the data path, so each is allocated. */
#include "proxy/engine/mailbox.h"

#include <stdlib.h>
#include <string.h>

static struct gsh_mailbox_queue *bucket_of(struct gsh_mailbox *box, int pe, uint64_t tag)
{
    /* Any odd 64-bit number with well mixed bits spreads both: this one is 2^64 divided by the
     * golden ratio. */
    uint64_t hash = (tag + (uint64_t)pe * 31) * 0x9e3779b97f4a7c15u;
    return &box->bucket[(hash >> 32) % GSH_MAILBOX_BUCKETS];
}

enum gsh_result gsh_mailbox_put(struct gsh_mailbox *box, int pe, uint64_t tag, const void *data,
                                size_t bytes)
{
    struct gsh_mailbox_queue *bucket = bucket_of(box, pe, tag);
    struct gsh_mailbox_entry *entry = malloc(sizeof(*entry) + bytes);
    if (entry == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for a message of %zu bytes", bytes);
    }
    *entry = (struct gsh_mailbox_entry){.tag = tag, .pe = pe, .bytes = bytes};
    if (bytes > 0) {
        memcpy(entry->data, data, bytes);
    }
    if (bucket->head != NULL) {
        bucket->tail->next = entry;
    } else {
        bucket->head = entry;
    }
    bucket->tail = entry;
    return GSH_OK;
}

struct gsh_mailbox_entry *gsh_mailbox_take(struct gsh_mailbox *box, int pe, uint64_t tag)
{
    struct gsh_mailbox_queue *bucket = bucket_of(box, pe, tag);
    struct gsh_mailbox_entry *before = NULL, *entry = bucket->head;
    while (entry != NULL && (entry->pe != pe || entry->tag != tag)) {
        before = entry;
        entry = entry->next;
    }
    if (entry == NULL) {
        return NULL;
    }
    if (before != NULL) {
        before->next = entry->next;
    } else {
        bucket->head = entry->next;
    }
    if (bucket->tail == entry) {
        bucket->tail = before;
    }
    return entry;
}

void gsh_mailbox_finish(struct gsh_mailbox *box)
{
    for (int b = 0; b < GSH_MAILBOX_BUCKETS; b++) {
        struct gsh_mailbox_entry *next;
        for (struct gsh_mailbox_entry *entry = box->bucket[b].head; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    *box = (struct gsh_mailbox){0};
}
