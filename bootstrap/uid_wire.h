/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the unique-id bootstrap share: the id's content and the messages that prove
 * knowledge of its secret. All fields are bytes, or little-endian as on every machine gshmem runs
 * on; otherwise the magic numbers do not match.
 *
 * One handshake serves both the rendezvous (a rank meets the id's creator) and a link (a rank
 * meets a partner):
 *
 *   acceptor -> client   struct gsh_challenge, fresh for this connection   (rendezvous only)
 *   client -> acceptor   struct gsh_hello, with a MAC over challenge and hello
 *   acceptor -> client   struct gsh_answer, its payload, and a MAC over both nonces and all of it
 *
 * In a large job a client may bring other ranks over its connection to the rendezvous, each by a
 * hello and an answer of its own (uid_relay.h).
 *
 * Each begins with 8 bytes that no version changes; only its last one, the version, differs.
 *
 * For a link the rendezvous has already passed on the acceptor's challenge, so no rank ever waits
 * for a greeting of a rank that waits for another's. Neither side learns anything about the secret
 * from the other, and no message can be replayed.
 *
 * What follows on a link is frames, each with a tag: SipHash of its head and data, under a key of
 * this link and direction that is derived from the secret and the hello. */
#ifndef GSH_UID_WIRE_H
#define GSH_UID_WIRE_H

#include "base/sha256.h"
#include "base/siphash.h"
#include "bootstrap/host_layout.h"
#include "bootstrap/socket.h"
#include "bootstrap/uid_id.h"

#define GSH_NONCE_BYTES    16
#define GSH_UID_MAX_RANKS  (1 << 20)
#define GSH_UID_MAX_ROUNDS 20 /* log2 of it */

/* With more ranks those of a host meet the rendezvous through relays, at most so many ranks through
 * each: their answers together fit a fresh connection's buffer. */
#define GSH_UID_MOST_DIRECT 1000
#define GSH_UID_GROUP       16
#define GSH_UID_MEMBERS     (GSH_UID_GROUP - 1) /* of a relay */

struct gsh_uid_content {
    uint8_t magic[7];
    uint8_t version;
    struct gsh_address address; /* of the rendezvous */
    uint8_t secret[GSH_SHA256_BYTES];
    uint8_t zero[GSH_UID_BYTES - 8 - 20 - GSH_SHA256_BYTES - 8];
    uint8_t check[8]; /* beginning of the SHA-256 of the fields before: detects damaged copies */
};
_Static_assert(sizeof(struct gsh_uid_content) == GSH_UID_BYTES, "the id's bytes");

enum gsh_hello_kind {
    GSH_HELLO_JOIN = 1,
    GSH_HELLO_LINK,
    GSH_HELLO_RELAY, /* a join of one that may bring others */
    GSH_HELLO_LOST,  /* of a relay: a rank that it has brought has ended */
    GSH_HELLO_ASK,   /* a question of a rank that has been started: uid_ask.h */
};

struct gsh_challenge {
    uint8_t magic[8];
    uint8_t nonce[GSH_NONCE_BYTES];
};

struct gsh_hello {
    uint8_t magic[8];
    uint32_t kind;
    uint32_t rank;                  /* the client's */
    uint32_t n_ranks;               /* as the client was told */
    uint32_t round;                 /* link: which of its partners it expects the acceptor to be;
                                     * join: not 0 if the client has come before */
    uint8_t host[8];                /* join: as in gsh_uid_options */
    struct gsh_address address;     /* join: where the client accepts links */
    uint8_t link[GSH_NONCE_BYTES];  /* join: its challenge to ranks that come there */
    uint8_t nonce[GSH_NONCE_BYTES]; /* its challenge to the acceptor */
    uint8_t mac[GSH_SHA256_BYTES];
};
_Static_assert(sizeof(struct gsh_hello) == 116, "no padding");

struct gsh_answer {
    uint8_t magic[8];
    uint32_t result; /* enum gsh_result: of the start-up as a whole */
    uint32_t bytes;  /* of the payload: a text without NUL on failure */
};
_Static_assert(sizeof(struct gsh_answer) == 16, "no padding");

struct gsh_partner {
    struct gsh_address address;
    uint8_t link[GSH_NONCE_BYTES];
};

/* Payload of a successful join, with as many partners as there are rounds. Behind it come the
 * runs of hosts (host_layout.h), unless these are regular. */
struct gsh_welcome {
    uint32_t host_ranks, dealt_ranks;                /* of gsh_host_layout: most, and dealt_ranks */
    struct gsh_partner partners[GSH_UID_MAX_ROUNDS]; /* of round k: rank + 2^k */
};
_Static_assert(sizeof(struct gsh_welcome) == 8 + GSH_UID_MAX_ROUNDS * 36, "no padding");

static inline size_t gsh_welcome_bytes(int rounds)
{
    return offsetof(struct gsh_welcome, partners) + (size_t)rounds * sizeof(struct gsh_partner);
}

#define GSH_ANSWER_MAX_PAYLOAD \
    (sizeof(struct gsh_welcome) + GSH_HOST_RUNS_MAX * sizeof(struct gsh_host_run))

/* Rounds of dissemination among n ranks: the smallest k with 2^k >= n. */
int gsh_uid_rounds(int n_ranks);

/* A new id for a rendezvous at this address, with a fresh secret. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_encode(const struct gsh_address *address,
                                                struct gsh_uid *out);
/* The id for a rendezvous at this address that every process with this phrase makes. Its secret is
 * no better than the phrase. */
void gsh_uid_from_phrase(const struct gsh_address *address, const char *phrase,
                         struct gsh_uid *out);
GSH_CHECK_RESULT enum gsh_result gsh_uid_decode(const struct gsh_uid *id,
                                                struct gsh_uid_content *out);

GSH_CHECK_RESULT enum gsh_result gsh_random(void *out, size_t bytes);
void gsh_magic(uint8_t magic[8]);
/* Of another side's magic; 0: it is none. */
int gsh_magic_version(const uint8_t magic[8]);

/* Fills magic and mac; the rest of hello is the caller's. */
void gsh_hello_seal(struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                    const uint8_t challenge[GSH_NONCE_BYTES]);
bool gsh_hello_is_true(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                       const uint8_t challenge[GSH_NONCE_BYTES]);

enum gsh_frame_kind {
    GSH_FRAME_DATA = 0x67736801,
    GSH_FRAME_NOTICE,
    GSH_FRAME_COMBINE,
    GSH_FRAME_BOTH, /* a value to combine, and data behind it */
    GSH_FRAME_HOST, /* the same, with data for ranks of the same host alone */
};

struct gsh_frame {
    uint32_t kind;
    uint32_t call; /* which collective call of this bootstrap, so no frame comes twice; notice: enum
                    * gsh_result */
    uint64_t bytes; /* data: of one rank's blob; combine: of the value; both: of these two; notice:
                     * the culprit's rank */
    uint64_t tag;
};
_Static_assert(sizeof(struct gsh_frame) == 24, "no padding");

/* Of a link: what its client sends, and what its acceptor sends. */
struct gsh_link_keys {
    uint8_t of_client[GSH_SIPHASH_KEY_BYTES], of_acceptor[GSH_SIPHASH_KEY_BYTES];
};
_Static_assert(sizeof(struct gsh_link_keys) == GSH_SHA256_BYTES, "one derivation gives both");

/* hello: the link's, sealed. */
void gsh_link_keys(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                   struct gsh_link_keys *out);
/* The frame's tag, with these data. */
uint64_t gsh_frame_tag(const struct gsh_frame *frame, const void *data, size_t bytes,
                       const uint8_t key[GSH_SIPHASH_KEY_BYTES]);

/* Sends the answer to a client at once: it fits a fresh connection's buffer. If the client is gone,
 * returns false: that is not this side's failure. */
bool gsh_answer_send(int fd, const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                     enum gsh_result result, const void *payload, size_t bytes);
/* Receives and verifies the answer to hello. GSH_ERR_ARG, without a text, if the other side does
 * not have the secret. payload has room for GSH_ANSWER_MAX_PAYLOAD. */
GSH_CHECK_RESULT enum gsh_result gsh_answer_recv(int fd, const struct gsh_hello *hello,
                                                 const uint8_t secret[GSH_SHA256_BYTES],
                                                 struct gsh_answer *answer, void *payload,
                                                 uint64_t deadline_ns);

#endif
