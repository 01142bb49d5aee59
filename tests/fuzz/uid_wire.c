/* SPDX-License-Identifier: Apache-2.0
 * Ids as bytes and as text, hellos and answers that anybody may send: only what was sealed with the
 * job's secret passes, whole or in pieces, and what passes is what was sent. Questions of ranks,
 * and what ranks tell: no referral leads further away, and bytes come whole. */
#include "tests/fuzz/fuzz.h"

#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bootstrap/uid.h"
#include "bootstrap/uid_ask.c"
#include "bootstrap/uid_wire.h"

enum { DAMAGE = 1, SHORT = 2, FORGED = 4 };

static const uint8_t secret[GSH_SHA256_BYTES] = "the secret of this job";

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

static void check_text(const char *text)
{
    struct gsh_uid id;
    char again[2 * GSH_UID_BYTES + 1];
    if (gsh_uid_from_text(text, &id) == GSH_OK) {
        gsh_uid_to_text(&id, again);
        FUZZ_CHECK(strcasecmp(text, again) == 0);
    }
}

/* The rest of the input is the id; its checksum is right unless FORGED. */
static void fuzz_id(struct fuzz_input *in, unsigned mode)
{
    struct gsh_uid id;
    struct gsh_uid_content content, decoded;
    struct gsh_sha256 s;
    uint8_t digest[GSH_SHA256_BYTES];
    char text[2 * GSH_UID_BYTES + 1];
    fuzz_take_bytes(in, &content, sizeof(content));
    if (!(mode & FORGED)) {
        gsh_sha256_init(&s);
        gsh_sha256_update(&s, &content, offsetof(struct gsh_uid_content, check));
        gsh_sha256_finish(&s, digest);
        memcpy(content.check, digest, sizeof(content.check));
    }
    memcpy(&id, &content, sizeof(id));
    if (gsh_uid_decode(&id, &decoded) == GSH_OK) {
        char address[GSH_ADDRESS_TEXT];
        FUZZ_CHECK(memcmp(&decoded, &content, sizeof(content)) == 0);
        FUZZ_CHECK(strlen(gsh_address_text(&decoded.address, address)) < sizeof(address));
    }
    gsh_uid_to_text(&id, text);
    check_text(text);
    if (mode & DAMAGE) {
        text[fuzz_take(in, 1) % sizeof(text)] = (char)fuzz_take(in, 1);
        text[sizeof(text) - 1] = '\0';
        check_text(text);
    }
}

static void fuzz_hello(struct fuzz_input *in, unsigned mode)
{
    struct gsh_hello hello;
    uint8_t challenge[GSH_NONCE_BYTES];
    fuzz_take_bytes(in, challenge, sizeof(challenge));
    fuzz_take_bytes(in, &hello, sizeof(hello));
    if (mode & FORGED) {
        FUZZ_CHECK(!gsh_hello_is_true(&hello, secret, challenge));
        return;
    }
    gsh_hello_seal(&hello, secret, challenge);
    FUZZ_CHECK(gsh_hello_is_true(&hello, secret, challenge));
    if (mode & DAMAGE) {
        ((uint8_t *)&hello)[fuzz_take(in, 1) % sizeof(hello)] ^= (uint8_t)(fuzz_take(in, 1) | 1);
        FUZZ_CHECK(!gsh_hello_is_true(&hello, secret, challenge));
    }
}

/* What an acceptor sends: gsh_answer_send's bytes, unless FORGED; damaged, or cut off. */
static void fuzz_answer(struct fuzz_input *in, unsigned mode)
{
    struct gsh_hello hello;
    struct gsh_answer answer;
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD], received[GSH_ANSWER_MAX_PAYLOAD], bytes[2048];
    int fds[2];
    size_t n, moved;
    memset(&hello, 0, sizeof(hello));
    fuzz_take_bytes(in, hello.mac, 8);
    uint32_t result = (uint32_t)fuzz_take(in, 1);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    size_t n_payload = fuzz_take(in, 2) % (sizeof(payload) + 1);
    if (mode & FORGED) {
        n = n_payload;
        fuzz_take_bytes(in, bytes, n);
        if (!(mode & SHORT)) {
            gsh_magic(bytes);
        }
    } else {
        fuzz_take_bytes(in, payload, n_payload);
        FUZZ_CHECK(gsh_answer_send(fds[0], &hello, secret, result, payload, n_payload));
        FUZZ_CHECK(gsh_socket_recv_some(fds[1], bytes, sizeof(bytes), &n) == GSH_OK);
    }
    if (mode & DAMAGE && n > 0) {
        bytes[fuzz_take(in, 2) % n] ^= (uint8_t)(fuzz_take(in, 1) | 1);
    }
    if (mode & SHORT && !(mode & FORGED)) {
        n = fuzz_take(in, 2) % n;
    }
    FUZZ_CHECK(gsh_socket_send_some(fds[0], bytes, n, &moved) == GSH_OK && moved == n);
    close(fds[0]);
    enum gsh_result r = gsh_answer_recv(fds[1], &hello, secret, &answer, received, 0);
    FUZZ_CHECK((r == GSH_OK) == (mode == 0));
    if (r == GSH_OK) {
        FUZZ_CHECK(answer.result == result && answer.bytes == n_payload);
        FUZZ_CHECK(memcmp(payload, received, n_payload) == 0);
    }
    close(fds[1]);
}

/* A question, and a rank's answer to one, by ranks of a job of any size. */
static void fuzz_referral(struct fuzz_input *in)
{
    struct gsh_uid_asking a = {.n_ranks = 1 + (int)fuzz_take(in, 2)};
    const uint32_t n = (uint32_t)a.n_ranks;
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    a.rounds = gsh_uid_rounds(a.n_ranks);
    a.rank = (int)(fuzz_take(in, 2) % n);
    const uint32_t rank = (uint32_t)fuzz_take(in, 2) % n;
    struct stop from = {.rank = (uint32_t)a.rank, .below = (uint32_t)fuzz_take(in, 4)}, next;
    struct reply reply = {.n = refer(&a, rank, from.below, payload)};
    FUZZ_CHECK(reply.n >= sizeof(reply.told) && reply.n <= sizeof(payload));
    memcpy(&reply.told, payload, sizeof(reply.told));
    reply.n -= sizeof(reply.told);
    enum gsh_result r = read_referral(&a, &from, rank, &reply, &next);
    FUZZ_CHECK((r == GSH_OK) == (reply.told.kind == GSH_UID_TOLD_RANK));
    reply.told.kind = (uint32_t)fuzz_take(in, 1) % 6;
    reply.told.value = (uint32_t)fuzz_take(in, 4);
    reply.n = fuzz_take(in, 1) % 2 ? sizeof(next.at) : fuzz_take(in, 2) % sizeof(reply.bytes);
    r = read_referral(&a, &from, rank, &reply, &next);
    FUZZ_CHECK(r != GSH_OK ||
               (next.rank < n && distance(&a, next.rank, rank) < distance(&a, from.rank, rank)));
}

/* Answers about the same bytes, one after another. */
static void fuzz_told(struct fuzz_input *in)
{
    uint8_t *all = NULL;
    size_t n = 0, got = 0;
    enum gsh_result r = GSH_OK;
    do {
        struct reply reply = {
            .told = {.kind = 1 + (fuzz_take(in, 1) == 255), .value = (uint32_t)fuzz_take(in, 3)}};
        reply.n = fuzz_take(in, 2) % (GSH_UID_TOLD_MAX_BYTES + 1);
        fuzz_take_bytes(in, reply.bytes, reply.n);
        r = take_bytes(&reply, &all, &n, &got);
        FUZZ_CHECK(r != GSH_OK || (got <= n && n <= GSH_UID_PUBLISH_MAX_BYTES));
    } while (r == GSH_OK && got < n && in->bytes > 0);
    free(all);
}

/* First byte: what is made of the rest, and how it is damaged. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    unsigned mode = (unsigned)fuzz_take(&in, 1), what = mode >> 3 & 7;
    mode &= 7;
    if (what == 0) {
        fuzz_id(&in, mode);
    } else if (what == 1) {
        fuzz_hello(&in, mode);
    } else if (what == 2) {
        fuzz_answer(&in, mode);
    } else if (what == 4) {
        fuzz_referral(&in);
    } else if (what == 5) {
        fuzz_told(&in);
    } else {
        char *text = fuzz_take_text(&in);
        check_text(text);
        free(text);
    }
    return 0;
}
