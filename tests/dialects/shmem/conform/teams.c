/* SPDX-License-Identifier: Apache-2.0
 * 9.4: predefined teams, splits by stride and in two dimensions, translation, configurations. */
#include "conform.h"

static void check_predefined(const struct conform *c)
{
    CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), c->me);
    CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_WORLD), c->n);
    CHECK_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
    CHECK_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
    const int n_shared = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    CHECK(n_shared >= 1 && n_shared <= c->n);
    long *word = conform_memory(sizeof(long));
    for (int i = 0; i < n_shared; i++) {
        const int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
        CHECK(shmem_ptr(word, pe) != NULL);
        CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, word, i) == shmem_ptr(word, pe));
    }
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, c->n, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
    CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
    shmem_free(word);
}

static void check_strided(const struct conform *c, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team), 0);
    const int from = c->me - start;
    const int is_in = from >= 0 && from % stride == 0 && from / stride < size;
    CHECK_EQ(team != SHMEM_TEAM_INVALID, is_in);
    if (is_in) {
        CHECK_EQ(shmem_team_my_pe(team), from / stride);
        CHECK_EQ(shmem_team_n_pes(team), size);
        for (int i = 0; i < size; i++) {
            CHECK_EQ(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD), start + i * stride);
            CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, start + i * stride, team), i);
        }
        if (stride > 1) {
            CHECK_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, start + 1, team), -1);
        }
        CHECK_EQ(shmem_team_sync(team), 0);
    }
    shmem_team_destroy(team);
}

static void check_2d(const struct conform *c, int xrange)
{
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &x, NULL, 0, &y), 0);
    const int row = c->me / xrange, column = c->me % xrange;
    const int in_row = row == (c->n - 1) / xrange ? c->n - row * xrange : xrange;
    CHECK_EQ(shmem_team_my_pe(x), column);
    CHECK_EQ(shmem_team_n_pes(x), xrange < c->n ? in_row : c->n);
    CHECK_EQ(shmem_team_my_pe(y), row);
    CHECK_EQ(shmem_team_n_pes(y), (c->n - column + xrange - 1) / xrange);
    CHECK_EQ(shmem_team_translate_pe(y, 0, SHMEM_TEAM_WORLD), column);
    CHECK_EQ(shmem_team_sync(x), 0);
    CHECK_EQ(shmem_team_sync(y), 0);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
}

/* A team of a team; several teams at a time. */
static void check_nested(const struct conform *c)
{
    shmem_team_t odd = SHMEM_TEAM_INVALID, first = SHMEM_TEAM_INVALID;
    shmem_team_config_t config = {.num_contexts = 3}, got = {.num_contexts = -1};
    const int n_odd = c->n / 2;
    if (n_odd == 0) {
        return;
    }
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n_odd, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &odd),
             0);
    if (odd != SHMEM_TEAM_INVALID) {
        CHECK_EQ(shmem_team_get_config(odd, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
        CHECK_EQ(got.num_contexts, 3);
        CHECK_EQ(shmem_team_get_config(odd, 0, NULL), 0);
        CHECK_EQ(shmem_team_split_strided(odd, 0, 1, (n_odd + 1) / 2, NULL, 0, &first), 0);
        if (first != SHMEM_TEAM_INVALID) {
            CHECK_EQ(shmem_team_translate_pe(first, shmem_team_my_pe(first), odd),
                     shmem_team_my_pe(odd));
            CHECK_EQ(shmem_team_translate_pe(first, 0, SHMEM_TEAM_WORLD), 1);
        }
    } else {
        CHECK(shmem_team_get_config(odd, SHMEM_TEAM_NUM_CONTEXTS, &got) != 0);
        CHECK(shmem_team_split_strided(odd, 0, 1, 1, NULL, 0, &first) != 0);
        CHECK(first == SHMEM_TEAM_INVALID);
    }
    shmem_barrier_all();
    shmem_team_destroy(first);
    shmem_team_destroy(odd);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

int conform_teams(const struct conform *c)
{
    check_predefined(c);
    check_strided(c, 0, 1, c->n);
    check_strided(c, c->n - 1, 1, 1);
    check_strided(c, 0, 2, (c->n + 1) / 2);
    check_strided(c, c->n / 2, 1, c->n - c->n / 2);
    check_strided(c, 0, 3, (c->n + 2) / 3);
    for (int xrange = 1; xrange <= c->n + 1; xrange++) {
        check_2d(c, xrange);
    }
    check_nested(c);
    return test_result();
}
