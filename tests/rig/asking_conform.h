/* SPDX-License-Identifier: Apache-2.0
 * What ranks look up of each other (bootstrap/uid_ask.h), for the tests of bootstraps that have it.
 * All are collective. */
#ifndef ASKING_CONFORM_H
#define ASKING_CONFORM_H

#include "bootstrap/uid_ask.h"
#include "tests/rig/bootstrap_conform.h"

#define ASKING_ANSWER GSH_UID_TOLD_MAX_BYTES
static const size_t asking_published[] = {
    1, 100, ASKING_ANSWER - 1, ASKING_ANSWER, ASKING_ANSWER + 1, 7 * ASKING_ANSWER};
enum {
    ASKING_N_PUBLISHED = sizeof(asking_published) / sizeof(asking_published[0]),
    ASKING_UNKNOWN = 99,
    ASKING_N_QUESTIONS = 4 + 2 + 7 + 1, /* about all of these, and one that is unknown */
};

static inline void asking_publish_all(struct gsh_bootstrap *b)
{
    uint8_t bytes[7 * ASKING_ANSWER];
    for (int k = 0; k < ASKING_N_PUBLISHED; k++) {
        for (size_t i = 0; i < asking_published[k]; i++) {
            bytes[i] = conform_byte(b->rank, i, k);
        }
        CHECK_EQ(gsh_uid_publish(b->asking, (uint64_t)k, bytes, asking_published[k]), GSH_OK);
    }
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
}

/* Not collective. A number with nothing under it has 0 bytes. */
static inline void asking_check_told(struct gsh_bootstrap *b, int rank, uint64_t number,
                                     size_t expected)
{
    void *bytes = NULL;
    size_t n = 1, wrong = 0;
    if (!CHECK_EQ(gsh_uid_look_up(b->asking, rank, number, 60 * SECOND, &bytes, &n), GSH_OK) ||
        !CHECK_EQ(n, expected)) {
        free(bytes);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        wrong += ((const uint8_t *)bytes)[i] != conform_byte(rank, i, (int)number);
    }
    CHECK_EQ(wrong, 0);
    free(bytes);
}

/* Each rank learns of those that it asks for, and of no others: the questions are counted. */
static inline void asking_conform(struct gsh_bootstrap *b)
{
    const int n = b->size;
    uint64_t n_questions = b->asked.messages;
    asking_publish_all(b);
    for (int other = 0; other < n; other++) {
        for (int k = 0; k < ASKING_N_PUBLISHED && other != b->rank; k++) {
            asking_check_told(b, other, (uint64_t)k, asking_published[k]);
        }
        if (other != b->rank) {
            asking_check_told(b, other, ASKING_UNKNOWN, 0);
            n_questions +=
                (uint64_t)__builtin_popcount((unsigned)(other - b->rank + n) % (unsigned)n);
            n_questions += ASKING_N_QUESTIONS - 1;
        }
        CHECK_EQ(b->asked.messages, n_questions);
    }
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    CHECK_EQ(gsh_uid_publish(b->asking, 1, NULL, 0), GSH_OK);
    CHECK_EQ(gsh_uid_publish(b->asking, ASKING_UNKNOWN, NULL, 0), GSH_OK);
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    asking_check_told(b, (b->rank + 1) % n, 1, 0);
    asking_check_told(b, (b->rank + 1) % n, 2, asking_published[2]);
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
}

/* One rank no longer answers: ways that led over it find others, and it is missed by those who ask
 * for it. */
static inline void asking_conform_past(struct gsh_bootstrap *b)
{
    const int gone = b->size / 2;
    void *bytes = NULL;
    size_t n_bytes;
    asking_publish_all(b);
    if (b->rank == gone) {
        gsh_uid_asking_destroy(&b->asking);
    }
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    for (int other = 0; other < b->size && b->rank != gone; other++) {
        if (other != b->rank && other != gone) {
            asking_check_told(b, other, 1, asking_published[1]);
        }
    }
    if (b->rank != gone) {
        CHECK_EQ(gsh_uid_look_up(b->asking, gone, 1, 60 * SECOND, &bytes, &n_bytes), GSH_ERR_PEER);
        CHECK(strstr(gsh_last_error(), "died or left") != NULL);
    }
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
}

#endif
