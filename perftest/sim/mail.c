/* SPDX-License-Identifier: Apache-2.0
 * See mail.h. */
#include "perftest/sim/mail.h"

#include <stdio.h>
#include <stdlib.h>

#define NONE SIM_NO_MESSAGE

void *sim_need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "the simulation has no memory left\n");
        exit(1);
    }
    return p;
}

/* n is a power of two. */
static uint32_t *list_of(const struct sim_mail *mail, int to, int from, uint32_t call, uint32_t key)
{
    const int whom = to == mail->anybody ? SIM_ANYBODY : from;
    uint64_t h = (uint64_t)(uint32_t)to << 32 | (uint32_t)whom;
    h = (h ^ ((uint64_t)call << 32 | key) * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return &mail->early[(h ^ h >> 32) & (mail->n - 1)];
}

void sim_mail_keep(struct sim_mail *mail, uint32_t m)
{
    struct sim_message *its = &mail->messages[m];
    uint32_t *list =
        list_of(mail, its->to, its->from, its->is_notice ? SIM_NOTICE_CALL : its->call, its->key);
    its->next = *list;
    *list = m;
}

static void grow(struct sim_mail *mail, uint32_t more)
{
    const uint32_t n = mail->n;
    uint32_t *before = mail->early;
    mail->messages =
        sim_need(realloc(mail->messages, ((size_t)n + more) * sizeof(*mail->messages)));
    mail->early = sim_need(malloc(((size_t)n + more) * sizeof(*mail->early)));
    mail->n = n + more;
    for (uint32_t i = 0; i < n + more; i++) {
        mail->early[i] = NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t m = before[i], next; m != NONE; m = next) {
            next = mail->messages[m].next;
            sim_mail_keep(mail, m);
        }
    }
    for (uint32_t i = n; i < n + more; i++) {
        mail->messages[i].next = i + 1 < n + more ? i + 1 : NONE;
    }
    mail->free = n;
    free(before);
}

void sim_mail_init(struct sim_mail *mail, int anybody)
{
    mail->anybody = anybody;
    grow(mail, 1024);
}

void sim_mail_finish(struct sim_mail *mail)
{
    free(mail->messages);
    free(mail->early);
}

uint32_t sim_mail_new(struct sim_mail *mail)
{
    if (mail->free == NONE) {
        grow(mail, mail->n);
    }
    const uint32_t m = mail->free;
    mail->free = mail->messages[m].next;
    return m;
}

void sim_mail_end(struct sim_mail *mail, uint32_t m)
{
    mail->messages[m].next = mail->free;
    mail->free = m;
}

uint32_t sim_mail_take(struct sim_mail *mail, int to, int from, uint32_t call, uint32_t key)
{
    uint32_t *m = list_of(mail, to, from, call, key);
    for (; *m != NONE; m = &mail->messages[*m].next) {
        const struct sim_message *its = &mail->messages[*m];
        if (its->to == to && (from == SIM_ANYBODY || from == its->from) && its->key == key &&
            (its->is_notice ? call == SIM_NOTICE_CALL : its->call == call)) {
            const uint32_t found = *m;
            *m = its->next;
            return found;
        }
    }
    return NONE;
}
