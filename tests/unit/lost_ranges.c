/* What is lost together is told to kernels together, without gaps as one range, in whatever order
 * it is given; what they have been told stays as it is; and where there is no room for more, that
 * is said.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "tests/test.h"

static struct gsh_instance pe;

static void check_range(int i, uint64_t begin, uint64_t bytes)
{
    CHECK_EQ(pe.page->control.lost[i].begin, begin);
    CHECK_EQ(pe.page->control.lost[i].bytes, bytes);
}

static void tell(uint32_t n)
{
    gsh_deaths_tell_lost(&pe);
    CHECK_EQ(pe.page->control.n_lost, n);
}

static void lose_together(void)
{
    CHECK(gsh_deaths_lose(&pe, 100, 10));
    CHECK(gsh_deaths_lose(&pe, 130, 10));
    CHECK(gsh_deaths_lose(&pe, 200, 10));
    CHECK(gsh_deaths_lose(&pe, 120, 10)); /* before one */
    CHECK(gsh_deaths_lose(&pe, 105, 2));  /* within one */
    CHECK(gsh_deaths_lose(&pe, 300, 0));
    CHECK(gsh_deaths_lose(&pe, 108, 12)); /* fills a gap, and overlaps */
    CHECK_EQ(pe.page->control.n_lost, 0);
    tell(2);
    check_range(0, 200, 10);
    check_range(1, 100, 40);
}

static void lose_more(void)
{
    CHECK(gsh_deaths_lose(&pe, 140, 10)); /* touches one that has been told */
    tell(3);
    check_range(0, 200, 10);
    check_range(1, 100, 40);
    check_range(2, 140, 10);
}

static void fill(void)
{
    for (uint64_t i = 3; i < GSH_LOST_RANGES_MAX; i++) {
        CHECK(gsh_deaths_lose(&pe, 1000 * i, 10));
    }
    CHECK(!gsh_deaths_lose(&pe, 500, 10));
    CHECK(gsh_deaths_lose(&pe, 500, 0));
    CHECK(gsh_deaths_lose(&pe, 3010, 10)); /* takes no room */
    tell(GSH_LOST_RANGES_MAX);
    CHECK(!gsh_deaths_lose(&pe, 3020, 10));
    tell(GSH_LOST_RANGES_MAX);
}

int main(void)
{
    pe.page = calloc(1, sizeof(*pe.page));
    lose_together();
    lose_more();
    fill();
    free(pe.page);
    return test_result();
}
