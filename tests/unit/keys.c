/* Proves that SipHash gives the published results, and that keys and names derived from a job's
 * secret differ by purpose and by secret. SPDX-License-Identifier: Apache-2.0 */
#include "base/keys.h"
#include "base/siphash.h"
#include "tests/test.h"

/* The vectors that its authors publish: key 00..0f, inputs 00, 00 01, and so on. */
static void test_siphash(void)
{
    static const struct {
        size_t bytes;
        uint64_t expected;
    } rows[] = {{0, 0x726fdb47dd0e0e31u},
                {1, 0x74f839c593dc67fdu},
                {8, 0x93f5f5799a932462u},
                {15, 0xa129ca6149be45e5u}};
    uint8_t key[GSH_SIPHASH_KEY_BYTES], data[64];
    for (int i = 0; i < 64; i++) {
        data[i] = (uint8_t)i;
    }
    memcpy(key, data, sizeof(key));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK(gsh_siphash(key, data, rows[i].bytes) == rows[i].expected);
    }
}

static void test_derived(void)
{
    uint8_t secret[GSH_SECRET_BYTES] = {1, 2, 3}, a[GSH_KEY_BYTES], b[GSH_KEY_BYTES];
    char name[2 * 8 + 1], other[2 * 8 + 1];
    gsh_key_derive(secret, "messages", a);
    gsh_key_derive(secret, "messages", b);
    CHECK(memcmp(a, b, sizeof(a)) == 0);
    gsh_key_derive(secret, "monitor", b);
    CHECK(memcmp(a, b, sizeof(a)) != 0);
    gsh_key_name(secret, "watch name", 8, name);
    CHECK_EQ(strlen(name), 16);
    secret[15] = 1;
    gsh_key_name(secret, "watch name", 8, other);
    CHECK(strcmp(name, other) != 0);
}

/* Who knows only what the start-up has carried, or only the ranks' key, does not know the secret.
 */
static void test_secret(void)
{
    const uint8_t none[GSH_KEY_BYTES] = {0}, shared[GSH_KEY_BYTES] = {7};
    const uint8_t random[GSH_SECRET_BYTES] = {1, 2, 3}, again[GSH_SECRET_BYTES] = {1, 2, 4};
    uint8_t a[GSH_SECRET_BYTES], b[GSH_SECRET_BYTES];
    gsh_key_secret(shared, random, a);
    gsh_key_secret(shared, random, b);
    CHECK(memcmp(a, b, sizeof(a)) == 0);
    gsh_key_secret(none, random, b);
    CHECK(memcmp(a, b, sizeof(a)) != 0);
    CHECK(memcmp(b, random, sizeof(b)) != 0);
    gsh_key_secret(shared, again, b);
    CHECK(memcmp(a, b, sizeof(a)) != 0);
}

int main(void)
{
    test_secret();
    test_siphash();
    test_derived();
    return test_result();
}
