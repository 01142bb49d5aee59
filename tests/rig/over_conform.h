/* SPDX-License-Identifier: Apache-2.0
 * What a launcher's bootstrap must do so that ranks go on by a unique id (bootstrap/uid.h), for the
 * tests of such. All are collective. */
#ifndef OVER_CONFORM_H
#define OVER_CONFORM_H

#include <sys/resource.h>
#include "bootstrap/uid.h"
#include "tests/rig/asking_conform.h"

/* All get what rank 0 gives, and nothing of others. */
static inline void over_conform_spread(struct gsh_bootstrap *b)
{
    for (int round = 0; round < 3; round++) {
        uint8_t bytes[GSH_SPREAD_MAX_BYTES];
        size_t wrong = 0;
        for (size_t i = 0; i < sizeof(bytes); i++) {
            bytes[i] = conform_byte(b->rank, i, round);
        }
        CHECK_EQ(b->ops->spread(b, bytes, sizeof(bytes)), GSH_OK);
        for (size_t i = 0; i < sizeof(bytes); i++) {
            wrong += bytes[i] != conform_byte(0, i, round);
        }
        CHECK_EQ(wrong, 0);
    }
}

/* Whether all go on by a unique id. The same host: 0 is the system's. */
static inline bool over_conform_go(struct gsh_bootstrap **b, const char *ifname, uint64_t host,
                                   bool has_nodes, enum gsh_result expected)
{
    const struct gsh_bootstrap *launcher = *b;
    const struct gsh_uid_options options = {.ifname = ifname, .family = "ipv4", .host = host};
    CHECK_EQ(gsh_bootstrap_uid_over(b, &options, has_nodes), expected);
    CHECK((*b == launcher) == ((*b)->launcher == NULL));
    return *b != launcher;
}

/* One rank can open nothing. */
static inline void over_conform_without(struct gsh_bootstrap **b, int rank)
{
    const int free_fd = dup(STDERR_FILENO);
    const uint64_t timeout_ns = (*b)->timeout_ns;
    struct rlimit limit, none;
    CHECK(free_fd >= 0 && close(free_fd) == 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)free_fd;
    (*b)->timeout_ns = 8 * SECOND; /* the others wait a quarter of it */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, (*b)->rank == rank ? &none : &limit), 0);
    CHECK(!over_conform_go(b, (*b)->rank == rank ? NULL : "lo", 1, true, GSH_OK));
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    (*b)->timeout_ns = timeout_ns;
    conform_allgather(*b, 100, 0);
}

/* Of five ranks of which the launcher has the same host; ends it. */
static inline void over_conform(struct gsh_bootstrap *b)
{
    over_conform_spread(b);
    CHECK(!over_conform_go(&b, "lo", 1, false, GSH_OK)); /* they need no TCP */
    for (int wrong = 0; wrong < 2; wrong++) {
        const char *ifname = b->rank == wrong ? "no such interface" : "lo";
        (*b).timeout_ns = 8 * SECOND;
        CHECK(!over_conform_go(&b, ifname, 1, true, GSH_ERR_ARG));
        over_conform_without(&b, wrong);
    }
    (*b).timeout_ns = 60 * SECOND;
    /* rank 0's word counts */
    if (CHECK(over_conform_go(&b, "lo", 1 + (uint64_t)b->rank / 2, b->rank == 0, GSH_OK))) {
        CHECK_EQ(b->timeout_ns, 60 * SECOND);
        CHECK_EQ(b->hosts.most, 2);
        conform_exchange(b, 4096);
        asking_conform(b);
        asking_conform_past(b);
    }
    b->ops->destroy(b);
}

#endif
