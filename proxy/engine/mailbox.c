/* SPDX-License-Identifier: Apache-2.0
 * Messages of the runtime, kept until received. Not on the data path, so each is allocated. */
#include "proxy/engine/mailbox.h"

#include <stdlib.h>
#include <string.h>

static struct gsh_mail_queue *bucket_of(struct gsh_mailbox *box, int pe, uint64_t tag)
{
    /* Any odd 64-bit number with well mixed bits spreads both: this one is 2^64 divided by the
     * golden ratio. */
    uint64_t hash = (tag + (uint64_t)pe * 31) * 0x9e3779b97f4a7c15u;
    return &box->bucket[(hash >> 32) % GSH_MAILBOX_BUCKETS];
}

enum gsh_result gsh_mailbox_put(struct gsh_mailbox *box, int pe, uint64_t tag, const void *data,
                                size_t bytes)
{
    struct gsh_mail_queue *bucket = bucket_of(box, pe, tag);
    struct gsh_mail *mail = malloc(sizeof(*mail) + bytes);
    if (mail == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for a message of %zu bytes", bytes);
    }
    *mail = (struct gsh_mail){.tag = tag, .pe = pe, .bytes = bytes};
    if (bytes > 0) {
        memcpy(mail->data, data, bytes);
    }
    if (bucket->head != NULL) {
        bucket->tail->next = mail;
    } else {
        bucket->head = mail;
    }
    bucket->tail = mail;
    return GSH_OK;
}

struct gsh_mail *gsh_mailbox_take(struct gsh_mailbox *box, int pe, uint64_t tag)
{
    struct gsh_mail_queue *bucket = bucket_of(box, pe, tag);
    struct gsh_mail *before = NULL, *mail = bucket->head;
    while (mail != NULL && (mail->pe != pe || mail->tag != tag)) {
        before = mail;
        mail = mail->next;
    }
    if (mail == NULL) {
        return NULL;
    }
    if (before != NULL) {
        before->next = mail->next;
    } else {
        bucket->head = mail->next;
    }
    if (bucket->tail == mail) {
        bucket->tail = before;
    }
    return mail;
}

void gsh_mailbox_finish(struct gsh_mailbox *box)
{
    for (int b = 0; b < GSH_MAILBOX_BUCKETS; b++) {
        struct gsh_mail *next;
        for (struct gsh_mail *mail = box->bucket[b].head; mail != NULL; mail = next) {
            next = mail->next;
            free(mail);
        }
    }
    *box = (struct gsh_mailbox){0};
}
