/* Proves that start-up takes the interface and family the user asks for, and says what there is
 * when none fits. Only loopback is relied on. SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "bootstrap/netif.h"
#include "tests/test.h"

static bool choose(const char *ifname, const char *family, struct gsh_address *out)
{
    return gsh_netif_choose(ifname, family, "the test", out) == GSH_OK;
}

static bool is_loopback(const struct gsh_address *a)
{
    return a->family == 4 ? a->ip[0] == 127 : a->ip[15] == 1 && a->ip[0] == 0;
}

int main(void)
{
    struct gsh_address a;
    char text[GSH_ADDRESS_TEXT];
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    if (!choose("lo", "ipv4", &a)) {
        test_skip("a loopback interface that is up");
    }
    CHECK(is_loopback(&a) && a.family == 4);
    CHECK_STR(gsh_address_text(&a, text), "127.0.0.1:0");
    CHECK(choose("l", "ipv4", &a) && is_loopback(&a));
    CHECK(choose("lo", "any", &a) && a.family == 4);
    if (choose("lo", "ipv6", &a)) {
        CHECK(is_loopback(&a) && a.family == 6);
        CHECK_STR(gsh_address_text(&a, text), "[::1]:0");
    }
    CHECK(choose("", "any", &a));
    CHECK(choose(NULL, NULL, &a));
    if (choose("^lo", "any", &a)) {
        CHECK(!is_loopback(&a));
        CHECK(choose("", "any", &a) && !is_loopback(&a));
    } else {
        CHECK(strstr(gsh_last_error(), "GSHMEM_UID_IFNAME='^lo'"));
    }
    CHECK(!choose("no-such-interface", "any", &a));
    CHECK_EQ(gsh_last_error_code(), GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "there are: lo(ipv4)"));
    return test_result();
}
