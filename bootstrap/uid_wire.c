/* SPDX-License-Identifier: Apache-2.0
 * The id's bytes and text, and the sealing and checking of handshake messages. */
#define _GNU_SOURCE 1
#include "bootstrap/uid_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static const uint8_t id_magic[7] = {'g', 's', 'h', 'm', 'u', 'i', 'd'};
#define ID_VERSION 1

int gsh_uid_rounds(int n_ranks)
{
    int rounds = 0;
    while ((int64_t)1 << rounds < n_ranks) {
        rounds++;
    }
    return rounds;
}

enum gsh_result gsh_random(void *out, size_t bytes)
{
    uint8_t *p = out;
    while (bytes > 0) {
        ssize_t n = getrandom(p, bytes, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return gsh_fail_errno(GSH_ERR_SYSTEM, "getrandom");
        }
        p += n;
        bytes -= (size_t)n;
    }
    return GSH_OK;
}

/* The last byte is the version of what follows. */
void gsh_magic(uint8_t magic[8])
{
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no text */
    memcpy(magic, "gshmhs\0\6", 8);
}

int gsh_magic_version(const uint8_t magic[8])
{
    uint8_t mine[8];
    gsh_magic(mine);
    return memcmp(magic, mine, 7) == 0 ? magic[7] : 0;
}

static bool is_magic(const uint8_t magic[8])
{
    uint8_t expected[8];
    gsh_magic(expected);
    return memcmp(magic, expected, sizeof(expected)) == 0;
}

/* ---- the id ---- */

static void checksum(const struct gsh_uid_content *content, uint8_t check[8])
{
    struct gsh_sha256 s;
    uint8_t digest[GSH_SHA256_BYTES];
    gsh_sha256_init(&s);
    gsh_sha256_update(&s, content, offsetof(struct gsh_uid_content, check));
    gsh_sha256_finish(&s, digest);
    memcpy(check, digest, 8);
}

enum gsh_result gsh_uid_encode(const struct gsh_address *address, struct gsh_uid *out)
{
    struct gsh_uid_content content = {.version = ID_VERSION, .address = *address};
    memcpy(content.magic, id_magic, sizeof(id_magic));
    enum gsh_result r = gsh_random(content.secret, sizeof(content.secret));
    if (r != GSH_OK) {
        return r;
    }
    checksum(&content, content.check);
    memcpy(out->bytes, &content, sizeof(content));
    return GSH_OK;
}

void gsh_uid_from_phrase(const struct gsh_address *address, const char *phrase, struct gsh_uid *out)
{
    struct gsh_uid_content content = {.version = ID_VERSION, .address = *address};
    struct gsh_hmac h;
    memcpy(content.magic, id_magic, sizeof(id_magic));
    gsh_hmac_init(&h, "phrase", 6);
    gsh_hmac_update(&h, phrase, strlen(phrase));
    gsh_hmac_finish(&h, content.secret);
    checksum(&content, content.check);
    memcpy(out->bytes, &content, sizeof(content));
}

enum gsh_result gsh_uid_decode(const struct gsh_uid *id, struct gsh_uid_content *out)
{
    uint8_t check[8];
    struct gsh_uid_content content;
    memcpy(&content, id->bytes, sizeof(content));
    if (memcmp(content.magic, id_magic, sizeof(id_magic)) != 0) {
        return gsh_fail(GSH_ERR_ARG, "this is not a unique id: it was made by no call of this "
                                     "library, or was damaged on the way");
    }
    if (content.version != ID_VERSION) {
        return gsh_fail(GSH_ERR_ARG, "the unique id has version %d, this library knows %d",
                        content.version, ID_VERSION);
    }
    checksum(&content, check);
    if (memcmp(check, content.check, sizeof(check)) != 0) {
        return gsh_fail(GSH_ERR_ARG, "the unique id was damaged on the way to this process");
    }
    *out = content;
    return GSH_OK;
}

void gsh_uid_to_text(const struct gsh_uid *id, char text[2 * GSH_UID_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < GSH_UID_BYTES; i++) {
        text[2 * i] = digits[id->bytes[i] >> 4];
        text[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    text[(size_t)2 * GSH_UID_BYTES] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

enum gsh_result gsh_uid_from_text(const char *text, struct gsh_uid *out)
{
    struct gsh_uid id;
    struct gsh_uid_content content;
    const size_t length = (size_t)2 * GSH_UID_BYTES;
    if (strlen(text) != length) {
        return gsh_fail(GSH_ERR_ARG, "a unique id as text has %zu characters, this has %zu", length,
                        strlen(text));
    }
    for (size_t i = 0; i < GSH_UID_BYTES; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return gsh_fail(GSH_ERR_ARG, "a unique id as text consists of hex digits only");
        }
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    enum gsh_result r = gsh_uid_decode(&id, &content);
    if (r == GSH_OK) {
        *out = id;
    }
    return r;
}

/* ---- the handshake ---- */

static void hello_mac(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                      const uint8_t challenge[GSH_NONCE_BYTES], uint8_t mac[GSH_SHA256_BYTES])
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, secret, GSH_SHA256_BYTES);
    gsh_hmac_update(&h, "hello", 5);
    gsh_hmac_update(&h, challenge, GSH_NONCE_BYTES);
    gsh_hmac_update(&h, hello, offsetof(struct gsh_hello, mac));
    gsh_hmac_finish(&h, mac);
}

void gsh_hello_seal(struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                    const uint8_t challenge[GSH_NONCE_BYTES])
{
    gsh_magic(hello->magic);
    hello_mac(hello, secret, challenge, hello->mac);
}

bool gsh_hello_is_true(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                       const uint8_t challenge[GSH_NONCE_BYTES])
{
    uint8_t mac[GSH_SHA256_BYTES];
    hello_mac(hello, secret, challenge, mac);
    return is_magic(hello->magic) && gsh_mac_equal(mac, hello->mac);
}

/* The hello's own MAC covers its nonce, the challenge, and the speaker. */
static void answer_mac(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                       const struct gsh_answer *answer, const void *payload,
                       uint8_t mac[GSH_SHA256_BYTES])
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, secret, GSH_SHA256_BYTES);
    gsh_hmac_update(&h, "answer", 6);
    gsh_hmac_update(&h, hello->mac, sizeof(hello->mac));
    gsh_hmac_update(&h, answer, sizeof(*answer));
    gsh_hmac_update(&h, payload, answer->bytes);
    gsh_hmac_finish(&h, mac);
}

bool gsh_answer_send(int fd, const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                     enum gsh_result result, const void *payload, size_t bytes)
{
    uint8_t message[sizeof(struct gsh_answer) + GSH_ANSWER_MAX_PAYLOAD + GSH_SHA256_BYTES];
    struct gsh_answer answer = {.result = (uint32_t)result, .bytes = (uint32_t)bytes};
    size_t moved, total = sizeof(answer) + bytes + GSH_SHA256_BYTES;
    gsh_magic(answer.magic);
    memcpy(message, &answer, sizeof(answer));
    if (bytes > 0) {
        memcpy(message + sizeof(answer), payload, bytes);
    }
    answer_mac(hello, secret, &answer, message + sizeof(answer), message + sizeof(answer) + bytes);
    return gsh_socket_send_some(fd, message, total, &moved) == GSH_OK && moved == total;
}

enum gsh_result gsh_answer_recv(int fd, const struct gsh_hello *hello,
                                const uint8_t secret[GSH_SHA256_BYTES], struct gsh_answer *answer,
                                void *payload, uint64_t deadline_ns)
{
    uint8_t mac[GSH_SHA256_BYTES], expected[GSH_SHA256_BYTES];
    enum gsh_result r = gsh_socket_recv(fd, answer, sizeof(*answer), deadline_ns);
    if (r == GSH_OK && (!is_magic(answer->magic) || answer->bytes > GSH_ANSWER_MAX_PAYLOAD)) {
        return GSH_ERR_ARG;
    }
    if (r == GSH_OK) {
        r = gsh_socket_recv(fd, payload, answer->bytes, deadline_ns);
    }
    if (r == GSH_OK) {
        r = gsh_socket_recv(fd, mac, sizeof(mac), deadline_ns);
    }
    if (r != GSH_OK) {
        return r;
    }
    answer_mac(hello, secret, answer, payload, expected);
    return gsh_mac_equal(mac, expected) ? GSH_OK : GSH_ERR_ARG;
}

/* ---- frames ---- */

void gsh_link_keys(const struct gsh_hello *hello, const uint8_t secret[GSH_SHA256_BYTES],
                   struct gsh_link_keys *out)
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, secret, GSH_SHA256_BYTES);
    gsh_hmac_update(&h, "frames", 6);
    gsh_hmac_update(&h, hello->mac, sizeof(hello->mac)); /* of the challenge and the nonce, too */
    gsh_hmac_finish(&h, (uint8_t *)out);
    explicit_bzero(&h, sizeof(h));
}

uint64_t gsh_frame_tag(const struct gsh_frame *frame, const void *data, size_t bytes,
                       const uint8_t key[GSH_SIPHASH_KEY_BYTES])
{
    struct gsh_frame tagged = *frame;
    tagged.tag = bytes > 0 ? gsh_siphash(key, data, bytes) : 0;
    return gsh_siphash(key, &tagged, sizeof(tagged));
}
