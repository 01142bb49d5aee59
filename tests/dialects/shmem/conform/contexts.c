/* SPDX-License-Identifier: Apache-2.0
 * 9.5: contexts on all PEs and on teams, with every option; what they order and complete. */
#include "conform.h"

static void use(const struct conform *c, shmem_ctx_t ctx, long *words)
{
    const long mine[3] = {c->me, c->me + 1, c->me + 2};
    long back[3] = {-1, -1, -1};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK_EQ(shmem_ctx_get_team(ctx, &team), 0);
    CHECK(team == SHMEM_TEAM_WORLD);
    shmem_ctx_long_put(ctx, words, mine, 3, c->next);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_p(ctx, words + 1, -5, c->next);
    shmem_ctx_quiet(ctx);
    shmem_ctx_long_get_nbi(ctx, back, words, 3, c->next);
    shmem_ctx_quiet(ctx);
    CHECK(back[0] == c->me && back[1] == -5 && back[2] == c->me + 2);
    CHECK_EQ(shmem_ctx_long_g(ctx, words + 2, c->next), c->me + 2);
    CHECK_EQ(shmem_ctx_long_atomic_fetch_add(ctx, words, 10, c->next), c->me);
    CHECK_EQ(shmem_ctx_long_atomic_fetch(ctx, words, c->next), c->me + 10);
    shmem_ctx_pe_quiet(ctx, &c->next, 1);
}

static void use_team(const struct conform *c, long *words)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, got = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    const int size = (c->n + 1) / 2;
    words[4] = 0;
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &team), 0);
    shmem_barrier_all();
    if (team == SHMEM_TEAM_INVALID) {
        CHECK(shmem_team_create_ctx(team, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    } else {
        const int me = shmem_team_my_pe(team);
        CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &ctx), 0);
        CHECK_EQ(shmem_ctx_get_team(ctx, &got), 0);
        CHECK(got == team);
        shmem_ctx_long_p(ctx, words + 4, 70 + me, (me + 1) % size); /* the team's number */
        shmem_ctx_quiet(ctx);
        CHECK_EQ(shmem_team_sync(team), 0);
        CHECK_EQ(words[4], 70 + (me + size - 1) % size);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    CHECK_EQ(team != SHMEM_TEAM_INVALID || words[4] == 0, 1);
    shmem_team_destroy(team);
}

int conform_contexts(const struct conform *c)
{
    const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                            SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    long *words = conform_memory(8 * sizeof(long));
    shmem_team_t team = SHMEM_TEAM_INVALID;
    for (int i = 0; i < 5; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        CHECK_EQ(shmem_ctx_create(options[i], &ctx), 0);
        shmem_barrier_all();
        if ((options[i] & SHMEM_CTX_NOSTORE) == 0) {
            use(c, ctx, words);
        }
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
    use(c, SHMEM_CTX_DEFAULT, words);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    use_team(c, words);

    /* several at a time; quiet of one does not affect the others, and each can be completed */
    shmem_ctx_t many[12];
    for (int i = 0; i < 12; i++) {
        CHECK_EQ(shmem_ctx_create(0, &many[i]), 0);
    }
    shmem_barrier_all();
    for (int i = 0; i < 12; i++) {
        const long value = 300 + i;
        shmem_ctx_long_put_nbi(many[i], words + i % 8, &value, 1, c->next);
        shmem_ctx_quiet(many[i]);
        CHECK_EQ(shmem_ctx_long_g(many[i], words + i % 8, c->next), 300 + i);
    }
    for (int i = 0; i < 12; i++) {
        shmem_ctx_destroy(many[(i * 5) % 12]);
    }
    shmem_barrier_all();
    shmem_free(words);
    return test_result();
}
