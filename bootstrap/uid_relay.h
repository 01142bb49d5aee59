/* SPDX-License-Identifier: Apache-2.0
 * How ranks of one host meet the rendezvous of a large job over one connection, so that it holds
 * fewer of them than there are ranks. A host has names 0, 1, 2, ... for the job (uds.h). The first
 * rank to take a name is a relay; the others connect to it, until it has GSH_UID_GROUP - 1 members,
 * and then go on to the next name:
 *
 *   relay -> member       struct gsh_relay_greeting, where members are reached as the relay is, or
 *                         that there is no place
 *   member -> relay       struct gsh_hello, which the relay seals
 *   relay -> rendezvous   its own hello, of kind RELAY; then those of members as they come; or a
 *                         hello of kind LOST, with the rank of a member that came and has ended
 *   rendezvous -> relay   struct gsh_answer for the relay; if the start-up succeeds, then for each
 *                         member that has come, in that order; if it fails, the text has before
 *                         it a uint16_t with a bit for each hello of a member: who has come
 *   relay -> member       struct gsh_relay_answer; of a failure only if the rendezvous says that it
 *                         has come. Others come again, by themselves: each is told once
 *
 * What passes between relay and member needs no MAC (uds.h). The relay serves them while it waits
 * for its own answer, which comes when all ranks have come. If it ends before, its members come
 * again, and the rendezvous tells them why the job has failed. */
#ifndef GSH_UID_RELAY_H
#define GSH_UID_RELAY_H

#include "bootstrap/uds.h"
#include "bootstrap/uid_wire.h"

struct gsh_relay_greeting {
    struct gsh_address at; /* port 0; family 0: no place */
};

struct gsh_relay_answer {
    uint32_t result, bytes; /* as in gsh_answer */
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
};

struct gsh_relay_member {
    int fd; /* -1: none */
    int rank;
    int index; /* of its hello among those that the relay has brought; -1: it has said none */
    struct gsh_hello hello; /* as sealed for the rendezvous */
};

/* A rank's; {.fd = -1} before gsh_relay_enter. */
struct gsh_relay {
    struct gsh_uds_key key;
    int rank;
    int fd; /* to the relay */
    struct gsh_uds_listener *listener;
    struct gsh_relay_member members[GSH_UID_MEMBERS]; /* of a relay */
    int n_brought;
};

enum gsh_relay_role {
    GSH_RELAY_NONE,    /* there can be no relay here: the rank goes to the rendezvous by itself */
    GSH_RELAY_LEADS,   /* it is the relay */
    GSH_RELAY_FOLLOWS, /* it has one */
};

/* Takes a name of the host, or connects to a rank that has one. at: written if this rank follows.
 * Past the deadline there is no relay. */
enum gsh_relay_role gsh_relay_enter(struct gsh_relay *relay, const uint8_t secret[GSH_SHA256_BYTES],
                                    int rank, uint64_t deadline_ns, struct gsh_address *at);

/* Of one that follows: says hello, and waits for the answer. GSH_ERR_PEER: the relay has ended, or
 * had no place; GSH_ERR_TIMEOUT. Neither has a text. payload has room for GSH_ANSWER_MAX_PAYLOAD.
 */
GSH_CHECK_RESULT enum gsh_result gsh_relay_ask(struct gsh_relay *relay,
                                               const struct gsh_hello *hello,
                                               struct gsh_answer *answer, void *payload,
                                               uint64_t deadline_ns);

/* Of a relay that has said hello on fd, with this challenge: brings its members until the answer
 * comes, and hands theirs on. Results as those of gsh_answer_recv, for its own. */
GSH_CHECK_RESULT enum gsh_result
gsh_relay_serve(struct gsh_relay *relay, int fd, const uint8_t challenge[GSH_NONCE_BYTES],
                const uint8_t secret[GSH_SHA256_BYTES], const struct gsh_hello *hello,
                struct gsh_answer *answer, void *payload, uint64_t deadline_ns);

/* Closes what is open; members then come again. */
void gsh_relay_leave(struct gsh_relay *relay);

#endif
