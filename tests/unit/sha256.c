/* Proves that SHA-256 and HMAC give the published results, however the input is split.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include "tests/test.h"

static void hex(const uint8_t *bytes, char text[2 * GSH_SHA256_BYTES + 1])
{
    for (int i = 0; i < GSH_SHA256_BYTES; i++) {
        sprintf(text + 2 * i, "%02x", bytes[i]);
    }
}

static void check_digest(const char *data, size_t bytes, const char *expected)
{
    for (size_t step = 1; step < 200; step += 37) {
        struct gsh_sha256 s;
        uint8_t digest[GSH_SHA256_BYTES];
        char text[2 * GSH_SHA256_BYTES + 1];
        gsh_sha256_init(&s);
        for (size_t off = 0; off < bytes; off += step) {
            gsh_sha256_update(&s, data + off, bytes - off < step ? bytes - off : step);
        }
        gsh_sha256_finish(&s, digest);
        hex(digest, text);
        CHECK_STR(text, expected);
    }
}

static void check_hmac(const void *key, size_t key_bytes, const void *data, size_t bytes,
                       const char *expected)
{
    struct gsh_hmac h;
    uint8_t mac[GSH_SHA256_BYTES];
    char text[2 * GSH_SHA256_BYTES + 1];
    gsh_hmac_init(&h, key, key_bytes);
    gsh_hmac_update(&h, data, bytes / 2);
    gsh_hmac_update(&h, (const char *)data + bytes / 2, bytes - bytes / 2);
    gsh_hmac_finish(&h, mac);
    hex(mac, text);
    CHECK_STR(text, expected);
}

/* FIPS 180-4's examples. */
static void test_sha256(void)
{
    static char million[1000000];
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest(two_blocks, strlen(two_blocks),
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(million, 'a', sizeof(million));
    check_digest(million, sizeof(million),
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* RFC 4231, cases 1, 2, 3 and 6. */
static void test_hmac(void)
{
    char key[131], data[50];
    const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
    memset(key, 0x0b, 20);
    check_hmac(key, 20, "Hi There", 8,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?", 28,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    memset(data, 0xdd, sizeof(data));
    check_hmac(key, 20, data, sizeof(data),
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    check_hmac(key, sizeof(key), text, strlen(text),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    uint8_t a[GSH_SHA256_BYTES] = {0}, b[GSH_SHA256_BYTES] = {0};
    test_sha256();
    test_hmac();
    CHECK(gsh_mac_equal(a, b));
    b[GSH_SHA256_BYTES - 1] = 1;
    CHECK(!gsh_mac_equal(a, b));
    return test_result();
}
