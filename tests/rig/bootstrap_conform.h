/* SPDX-License-Identifier: Apache-2.0
 * What every bootstrap must do, for the tests of each kind. */
#ifndef BOOTSTRAP_CONFORM_H
#define BOOTSTRAP_CONFORM_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/gather.h"
#include "tests/rig/pes.h"

#define SECOND UINT64_C(1000000000)

static inline uint8_t conform_byte(int rank, size_t i, int round)
{
    return (uint8_t)((unsigned)rank * 31u + (unsigned)i * 7u + (unsigned)round * 3u);
}

static inline void conform_allgather(struct gsh_bootstrap *b, size_t bytes, int round)
{
    size_t n = (size_t)b->size, wrong = 0;
    uint8_t *mine = malloc(bytes + 1), *all = malloc(n * bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        mine[i] = conform_byte(b->rank, i, round);
    }
    all[n * bytes] = 0x5a;
    CHECK_EQ(b->ops->allgather(b, mine, bytes, all), GSH_OK);
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < bytes; i++) {
            wrong += all[r * bytes + i] != conform_byte((int)r, i, round);
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(all[n * bytes], 0x5a);
    free(mine);
    free(all);
}

static inline void conform_fold(void *into, const void *from)
{
    uint64_t *a = into;
    const uint64_t *b = from;
    a[0] |= b[0];
    a[1] = b[1] > a[1] ? b[1] : a[1];
}

static inline void conform_combine(struct gsh_bootstrap *b, uint64_t round)
{
    uint64_t value[2] = {UINT64_C(1) << b->rank % 64, round + (uint64_t)b->rank};
    CHECK_EQ(b->ops->combine(b, value, sizeof(value), conform_fold), GSH_OK);
    CHECK_EQ(value[0], b->size >= 64 ? UINT64_MAX : (UINT64_C(1) << b->size) - 1);
    CHECK_EQ(value[1], round + (uint64_t)b->size - 1);
}

/* Groups of `width` ranks, and of those that are left, have combined already. */
static inline void conform_combine_groups(struct gsh_bootstrap *b, int width)
{
    const int n_groups = b->size / width,
              group = b->rank / width < n_groups ? b->rank / width : n_groups - 1,
              end = group == n_groups - 1 ? b->size : (group + 1) * width;
    uint64_t value[2] = {0, (uint64_t)end - 1};
    for (int i = group * width; i < end; i++) {
        value[0] |= UINT64_C(1) << i % 64;
    }
    CHECK_EQ(b->ops->combine_groups(b, value, sizeof(value), conform_fold, width), GSH_OK);
    CHECK_EQ(value[0], b->size >= 64 ? UINT64_MAX : (UINT64_C(1) << b->size) - 1);
    CHECK_EQ(value[1], (uint64_t)b->size - 1);
}

/* Blobs that are longer or shorter than the value, and none. */
static inline void conform_gather_combine(struct gsh_bootstrap *b, size_t bytes, uint64_t round)
{
    uint64_t value[GSH_GATHER_MAX_VALUE / 8] = {UINT64_C(1) << b->rank % 64,
                                                round + (uint64_t)b->rank};
    const size_t n = (size_t)b->size, value_bytes = round % 2 == 0 ? sizeof(value) : 16;
    uint8_t mine[256] = {0}, *all = malloc(n * bytes + 1);
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        mine[i] = conform_byte(b->rank, i, (int)round);
    }
    all[n * bytes] = 0x5a;
    CHECK_EQ(gsh_gather_combine(b, mine, bytes, all, value, value_bytes, conform_fold), GSH_OK);
    for (size_t i = 0; i < n * bytes; i++) {
        wrong += all[i] != conform_byte((int)(i / bytes), i % bytes, (int)round);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(all[n * bytes], 0x5a);
    CHECK_EQ(value[0], b->size >= 64 ? UINT64_MAX : (UINT64_C(1) << b->size) - 1);
    CHECK_EQ(value[1], round + (uint64_t)b->size - 1);
    free(all);
}

/* Within hosts, where the bootstrap knows them, else among all. */
static inline void conform_gather_host(struct gsh_bootstrap *b, size_t bytes, int round)
{
    uint64_t value[2] = {UINT64_C(1) << b->rank % 64, (uint64_t)round + (uint64_t)b->rank};
    const struct gsh_host_ranks host = gsh_host_range(b);
    const size_t n_bytes = (size_t)host.n * bytes;
    uint8_t mine[256] = {0}, *theirs = malloc(n_bytes + 1);
    size_t wrong = 0;
    CHECK(gsh_host_ranks_index(&host, b->rank) >= 0);
    for (size_t i = 0; i < bytes; i++) {
        mine[i] = conform_byte(b->rank, i, round);
    }
    theirs[n_bytes] = 0x5a;
    CHECK_EQ(gsh_gather_host(b, mine, bytes, theirs, value, sizeof(value), conform_fold), GSH_OK);
    for (size_t i = 0; i < n_bytes; i++) {
        wrong +=
            theirs[i] != conform_byte(gsh_host_ranks_at(&host, (int)(i / bytes)), i % bytes, round);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(theirs[n_bytes], 0x5a);
    CHECK_EQ(value[0], b->size >= 64 ? UINT64_MAX : (UINT64_C(1) << b->size) - 1);
    CHECK_EQ(value[1], (uint64_t)round + (uint64_t)b->size - 1);
    free(theirs);
}

/* Many calls, small and large blobs, by ranks that are not in step. */
static inline void conform_exchange(struct gsh_bootstrap *b, size_t largest_bytes)
{
    static const size_t sizes[] = {1, 8, 0, 3, 100, 4096, 65537, 1000000};
    CHECK(b->rank >= 0 && b->rank < b->size);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        if (sizes[s] <= largest_bytes) {
            conform_allgather(b, sizes[s], (int)s);
        }
    }
    for (int round = 0; round < 20; round++) {
        conform_allgather(b, 16, round);
        if (round % 3 == 0) {
            CHECK_EQ(b->ops->barrier(b), GSH_OK);
        }
        if (b->ops->combine != NULL) {
            conform_combine(b, (uint64_t)round);
        }
        for (int width = 1; b->ops->combine_groups != NULL && width <= b->size; width *= 2) {
            conform_combine_groups(b, width);
        }
        conform_gather_combine(b, (size_t)round % 4 * 64, (uint64_t)round);
        conform_gather_host(b, 1 + (size_t)round * 13, round);
    }
}

struct conform_child {
    test_pe_main *main;
    void *arg;
};

static inline void conform_child(int rank, int n, void *arg)
{
    const struct conform_child *child = arg;
    child->main(rank, n, child->arg);
    fflush(NULL);
    _exit(test_result());
}

/* In forked processes, while this one may have threads: the leak check at exit would wait for locks
 * that they held. */
static inline void conform_fork(int n, test_pe_main *f, void *arg)
{
    struct conform_child child = {.main = f, .arg = arg};
    test_in_processes(n, conform_child, &child);
}

#endif
