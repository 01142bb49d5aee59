/* SPDX-License-Identifier: Apache-2.0
 * An OpenSHMEM program that makes one selected mistake, or asks for something with a defined
 * answer; trouble.py starts it and judges what is printed.
 *
 *     trouble CASE */
#include <inttypes.h>
#include <gshmemx.h>
#include <shmemx.h>
#include <unistd.h>
#include "tests/test.h"

#ifdef LARGER /* another program, with more static data */
static volatile char larger[1 << 20];
#endif

static long word, sync_words[SHMEM_REDUCE_SYNC_SIZE], sum_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* PE 1 ends the program last, by itself, without shmem_finalize. */
static int leave_out_finalize(const char *name, int me)
{
    static long done;
    if (strcmp(name, "exits_failed") == 0 && me == 1) {
        exit(3); /* while the others wait for a word from it */
    }
    if (strcmp(name, "implicit_waits") == 0 && me == 1) {
        for (int pe = 0; pe < shmem_n_pes(); pe++) {
            shmem_long_p(&done, 1, pe); /* the others are at their end already, or come to it */
        }
        shmem_long_wait_until(&done, SHMEM_CMP_EQ, 1);
        printf("PE 1 still works\n");
    } else if (strcmp(name, "exits_failed") == 0) {
        shmem_long_wait_until(&done, SHMEM_CMP_EQ, 1);
    } else if (strcmp(name, "implicit_forks") == 0 && fork() == 0) {
        exit(0); /* not a PE */
    }
    if (strcmp(name, "implicit_exit") == 0) {
        exit(test_result());
    }
    return test_result();
}

/* Cases with a defined answer in the standard. */
static void ask_invalid_team(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD, other = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {0};
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    const shmem_team_t none = SHMEM_TEAM_INVALID;
    CHECK(shmem_team_split_strided(none, 0, 1, 1, NULL, 0, &team) != 0 && team == none);
    team = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_2d(none, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    CHECK(team == none && other == none);
    CHECK(shmem_team_create_ctx(none, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    CHECK(shmem_team_get_config(none, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == none);
    CHECK_EQ(shmem_team_my_pe(none), -1);
    CHECK_EQ(shmem_team_n_pes(none), -1);
    CHECK_EQ(shmem_team_translate_pe(none, 0, SHMEM_TEAM_WORLD), -1);
    CHECK(shmem_team_ptr(none, &word, 0) == NULL);
    shmem_team_destroy(none);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

static void use_set(const char *name, int me, int n)
{
    long stack[SHMEM_BARRIER_SYNC_SIZE] = {0};
    if (strcmp(name, "set_beyond") == 0) {
        shmem_barrier(1, 0, n, sync_words);
    } else if (strcmp(name, "set_not_member") == 0 && me == 0) {
        shmem_sync(1, 0, n - 1, sync_words);
    } else if (strcmp(name, "set_stride") == 0) {
        shmem_broadcast64(&word, &word, 1, 0, 0, 40, 2, sync_words);
    } else if (strcmp(name, "set_negative") == 0) {
        shmem_long_sum_to_all(&word, &word, -1, 0, 0, n, sum_work, sync_words);
    } else if (strcmp(name, "sync_small") == 0) {
        shmem_barrier(0, 0, n, shmem_malloc(2 * sizeof(long)));
    } else if (strcmp(name, "sync_stack") == 0) {
        shmem_barrier(0, 0, n, stack);
    }
}

static int pe_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "nothing";
    if (strcmp(name, "before_init") == 0) {
        shmem_long_p(&word, 1, 0);
    }
    if (strcmp(name, "implicit_twice") == 0) {
        atexit(shmem_finalize);
    }
    if (strcmp(name, "implicit_start_pes") == 0) {
        start_pes(0);
        start_pes(0);
        return test_result();
    }
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    if (strncmp(name, "implicit", 8) == 0 || strcmp(name, "exits_failed") == 0) {
        return leave_out_finalize(name, me);
    }
#ifdef LARGER
    larger[0] = 1;
#endif
    if (strcmp(name, "invalid_team") == 0) {
        ask_invalid_team();
    } else if (strcmp(name, "static") == 0 && me == 0) {
        shmem_long_p(&word, 1, n - 1);
    } else if (strcmp(name, "range") == 0 && me == 0) {
        gshmemx_heap_info_t info;
        shmemx_heap_info(&info);
        printf("range %" PRIu64 "\n", (uint64_t)info.range);
    } else if (strcmp(name, "lock_twice") == 0 && me == 0) {
        shmem_set_lock(&word);
        shmem_clear_lock(&word);
        shmem_set_lock(&word); /* right so far */
        shmem_set_lock(&word);
    } else {
        use_set(name, me, n);
    }
    shmem_barrier_all();
    shmem_finalize();
    if (strcmp(name, "after_finalize") == 0) {
        shmem_quiet();
    }
    return test_result();
}

int main(int argc, char **argv)
{
    return getenv("GSHMEM_THREADS") != NULL ? gshmemx_run(pe_main, argc, argv)
                                            : pe_main(argc, argv);
}
