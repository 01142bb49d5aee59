/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of a job on several nodes ask each other, one by one, over TCP: bytes that a rank
 * has published under a number, such as its address on a network. Nobody keeps what all have
 * published, nor where all can be asked. A rank knows where rank + 2^k (modulo n) listens, and asks
 * the one of these that comes nearest before the rank in question. That one refers the asker to the
 * nearest that it knows, and so on. Each referral halves the distance at least: there are as many
 * questions as the distance has bits that are 1, at most log2(n).
 *
 * These partners come from the rendezvous, and the secret is the unique id's.
 *
 *   asker -> rank   struct gsh_hello, kind GSH_HELLO_ASK, as for a link: `round` is the rank in
 *                   question, and `link` a struct gsh_uid_question
 *   rank -> asker   struct gsh_answer, whose payload is a struct gsh_uid_told and what follows it
 *
 * Both sides prove the secret, and the answer is tied to the question. A question that is
 * replayed gets its answer again, and changes nothing.
 *
 * A thread of each rank answers, whatever the rank itself does; it waits for nobody. A rank on the
 * way that is gone is passed by: the one before it refers to another, which is not as near. */
#ifndef GSH_UID_ASK_H
#define GSH_UID_ASK_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/uid_wire.h"

struct gsh_uid_asking;

/* In a hello. */
struct gsh_uid_question {
    uint64_t number;
    uint32_t at;    /* from this byte on */
    uint32_t below; /* refer only to ranks that are fewer ranks after the one that is asked */
};
_Static_assert(sizeof(struct gsh_uid_question) == GSH_NONCE_BYTES, "in a hello's link");

enum gsh_uid_told_kind {
    GSH_UID_TOLD_BYTES = 1, /* some of the bytes; value: of how many in all */
    GSH_UID_TOLD_NOTHING,   /* the rank has published nothing under the number */
    GSH_UID_TOLD_RANK,      /* a struct gsh_partner: ask there; value: its rank */
    GSH_UID_TOLD_NO_WAY,    /* there is no such rank */
};

struct gsh_uid_told {
    uint32_t kind, value;
};

#define GSH_UID_TOLD_MAX_BYTES (GSH_ANSWER_MAX_PAYLOAD - sizeof(struct gsh_uid_told))
/* The most that a rank publishes under one number. */
#define GSH_UID_PUBLISH_MAX_BYTES ((size_t)1 << 20)

/* asked, as in struct gsh_bootstrap, and what is in it: kept by the caller, for as long as this
 * exists. partners: [gsh_uid_rounds(n_ranks)]. Takes the listener, where others have been told to
 * find this rank; NULL stays there instead. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_asking_create(int rank, int n_ranks, const uint8_t *secret,
                                                       const struct gsh_partner *partners,
                                                       struct gsh_bootstrap_counts *asked,
                                                       struct gsh_tcp_listener **listener,
                                                       struct gsh_uid_asking **out);
/* The thread ends: others that still ask this rank find that it has left. Accepts NULL. */
void gsh_uid_asking_destroy(struct gsh_uid_asking **asking);

/* These two by any thread, not collective; failures are kept by gsh_note. Others can look up these
 * bytes under the number from now on; n 0: no longer. The first call starts the thread; without it
 * others wait in vain. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_publish(struct gsh_uid_asking *asking, uint64_t number,
                                                 const void *bytes, size_t n);
/* What rank, another one, has published, from malloc; *n 0: nothing. Waits for no call of that
 * rank. GSH_ERR_PEER: it is gone; GSH_ERR_TIMEOUT. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_look_up(struct gsh_uid_asking *asking, int rank,
                                                 uint64_t number, uint64_t timeout_ns, void **bytes,
                                                 size_t *n);

#endif
