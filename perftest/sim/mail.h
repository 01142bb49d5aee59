/* SPDX-License-Identifier: Apache-2.0
 * Messages under way, and those that have come before their receiver awaits them. */
#ifndef SIM_MAIL_H
#define SIM_MAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/bootstrap.h"

struct sim_message {
    uint32_t next;
    int32_t from, to;
    uint16_t call;
    uint8_t way, is_notice;
    uint32_t key;   /* what the receiver awaits in the call */
    uint32_t parts; /* messages on the wire, one behind the other */
    uint32_t depth; /* of the chain of messages that it ends (engine.h) */
    uint64_t bytes; /* of all */
    uint64_t value[GSH_COMBINE_MAX_BYTES / 8];
};

/* Whom a PE awaits, if it is no PE's number. */
enum { SIM_ANYBODY = -1, SIM_NOBODY = -2 };

#define SIM_NO_MESSAGE  UINT32_MAX
#define SIM_NOTICE_CALL UINT32_MAX /* instead of a call: a notice, whatever its call */

struct sim_mail {
    struct sim_message *messages; /* by their numbers; they move when one is added */
    uint32_t *early;              /* [n], lists of those that are kept, by what is awaited */
    uint32_t n, free;
    int anybody; /* the PE that awaits anybody */
};

/* Memory that malloc has given, or the end of the process with a line. */
void *sim_need(void *p);

void sim_mail_init(struct sim_mail *mail, int anybody);
void sim_mail_finish(struct sim_mail *mail);
/* A new message's number. */
uint32_t sim_mail_new(struct sim_mail *mail);
void sim_mail_end(struct sim_mail *mail, uint32_t m);
/* Keeps it until its receiver takes it. */
void sim_mail_keep(struct sim_mail *mail, uint32_t m);
/* Takes what PE `to` awaits; SIM_NO_MESSAGE: it has not come. */
uint32_t sim_mail_take(struct sim_mail *mail, int to, int from, uint32_t call, uint32_t key);

#endif
