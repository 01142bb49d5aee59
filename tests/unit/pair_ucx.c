/* SPDX-License-Identifier: Apache-2.0
 * Messages by proxy/pairs.h over UCX, here between two ends in one process: of any size, whole and
 * in order; more than the window holds, which waits for the receiver; the end of one side, which
 * waits for what is under way; the loss that another way tells. Without a plug-in it says why. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "proxy/pairs.h"
#include "tests/test.h"

#define LIMIT_NS UINT64_C(60000000000)
#define BRIEF_NS UINT64_C(50000000)

static uint32_t pairs[2];

static bool never(void *context)
{
    (void)context;
    return false;
}

static bool after_two(void *context)
{
    return ++*(int *)context > 2;
}

/* links[0]'s other side is links[1]. */
static void connect_two(bool (*is_lost)(void *context), void *context,
                        struct gsh_pair_link *links[2])
{
    uint64_t numbers[2];
    CHECK_EQ(gsh_pair_link_create(is_lost, context, &links[0], &numbers[0]), GSH_OK);
    CHECK_EQ(gsh_pair_link_create(NULL, NULL, &links[1], &numbers[1]), GSH_OK);
    CHECK(numbers[0] != numbers[1]);
    for (int i = 0; i < 2; i++) {
        gsh_pair_link_bind(links[i], pairs[i], numbers[1 - i]);
    }
    CHECK_EQ(gsh_pair_link_greet(links[0], LIMIT_NS), GSH_OK);
}

static void destroy_two(struct gsh_pair_link *links[2])
{
    gsh_pair_link_destroy(&links[0]);
    gsh_pair_link_destroy(&links[1]);
    CHECK(links[0] == NULL);
}

/* ---- messages ---- */

/* The i-th of a sequence: its size, and its bytes. */
static size_t size_of(unsigned i)
{
    uint64_t random = i + 1;
    static const size_t special[] = {1,
                                     64,
                                     65,
                                     256,
                                     257,
                                     7848,
                                     7849,
                                     7936,
                                     8000,
                                     15700,
                                     GSH_PAIR_MESSAGE_MAX - 1,
                                     GSH_PAIR_MESSAGE_MAX};
    if (i < sizeof(special) / sizeof(special[0])) {
        return special[i];
    }
    return 1 + test_random(&random) % (i % 3 == 0 ? GSH_PAIR_MESSAGE_MAX : 20000);
}

static uint8_t byte_of(unsigned i, size_t at)
{
    return (uint8_t)((size_t)i * 37 + at * 11 + (at >> 8));
}

struct sender {
    struct gsh_pair_link *link;
    unsigned n;
};

static void *send_all(void *arg)
{
    const struct sender *s = arg;
    uint8_t *data = malloc(GSH_PAIR_MESSAGE_MAX);
    for (unsigned i = 0; i < s->n; i++) {
        const size_t bytes = size_of(i), head = bytes < GSH_PAIR_HEAD_MAX || i % 2 == 0
                                                    ? bytes % (GSH_PAIR_HEAD_MAX + 1)
                                                    : GSH_PAIR_HEAD_MAX;
        for (size_t at = 0; at < bytes; at++) {
            data[at] = byte_of(i, at);
        }
        CHECK_EQ(gsh_pair_link_send(s->link, data, head, data + head, bytes - head, LIMIT_NS),
                 GSH_OK);
        memset(data, 0xee, bytes); /* may be reused */
    }
    free(data);
    return NULL;
}

static void expect(struct gsh_pair_link *link, uint8_t *data, unsigned i)
{
    size_t bytes = 0, wrong = 0;
    CHECK_EQ(gsh_pair_link_receive(link, data, GSH_PAIR_MESSAGE_MAX, &bytes, LIMIT_NS), GSH_OK);
    CHECK_EQ(bytes, size_of(i));
    for (size_t at = 0; at < bytes; at++) {
        wrong += data[at] != byte_of(i, at);
    }
    CHECK_EQ(wrong, 0);
}

static void test_messages(void)
{
    struct gsh_pair_link *links[2];
    uint8_t *data = malloc(GSH_PAIR_MESSAGE_MAX);
    const unsigned n = 200; /* about 10 MiB, each way */
    connect_two(never, NULL, links);
    CHECK(!gsh_pair_link_has_message(links[1]));
    for (int from = 0; from < 2; from++) {
        struct sender s = {links[from], n};
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, send_all, &s), 0);
        for (unsigned i = 0; i < n; i++) {
            expect(links[1 - from], data, i);
        }
        pthread_join(thread, NULL);
        CHECK(!gsh_pair_link_has_message(links[1 - from]));
    }
    size_t bytes;
    CHECK_EQ(gsh_pair_link_receive(links[1], data, 1, &bytes, BRIEF_NS), GSH_ERR_TIMEOUT);
    CHECK(!gsh_pair_link_is_lost(links[1]));
    destroy_two(links);
    free(data);
}

/* Nobody receives: the window fills, and no more than that is kept. */
static void test_window(void)
{
    struct gsh_pair_link *links[2];
    uint8_t *data = calloc(1, GSH_PAIR_MESSAGE_MAX);
    unsigned n_sent = 0;
    size_t bytes;
    enum gsh_result r;
    connect_two(never, NULL, links);
    while ((r = gsh_pair_link_send(links[0], NULL, 0, data, GSH_PAIR_MESSAGE_MAX, BRIEF_NS)) ==
           GSH_OK) {
        n_sent++;
    }
    CHECK_EQ(r, GSH_ERR_TIMEOUT);
    CHECK_EQ(n_sent, 15); /* of 256 KiB and 64 bytes each, in 4 MiB */
    CHECK_EQ(gsh_pair_link_send(links[0], NULL, 0, data, 1, BRIEF_NS), GSH_ERR_PEER); /* as TCP's */
    for (unsigned i = 0; i < n_sent; i++) {
        CHECK_EQ(gsh_pair_link_receive(links[1], data, GSH_PAIR_MESSAGE_MAX, &bytes, LIMIT_NS),
                 GSH_OK);
    }
    destroy_two(links);
    free(data);
}

/* ---- the end ---- */

struct reader {
    struct gsh_pair_link *link;
    unsigned n; /* atomic: received */
};

static void *receive_all(void *arg)
{
    struct reader *r = arg;
    uint8_t *data = malloc(GSH_PAIR_MESSAGE_MAX);
    size_t bytes;
    while (gsh_pair_link_receive(r->link, data, GSH_PAIR_MESSAGE_MAX, &bytes, LIMIT_NS) == GSH_OK) {
        __atomic_fetch_add(&r->n, 1, __ATOMIC_RELAXED);
    }
    free(data);
    return NULL;
}

static void test_end(void)
{
    struct gsh_pair_link *links[2];
    uint8_t *data = calloc(1, GSH_PAIR_MESSAGE_MAX);
    connect_two(never, NULL, links);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(gsh_pair_link_send(links[0], NULL, 0, data, GSH_PAIR_MESSAGE_MAX, LIMIT_NS),
                 GSH_OK);
    }
    gsh_pair_link_finish(links[0], BRIEF_NS); /* nobody receives yet */
    struct reader r = {links[1], 0};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, receive_all, &r), 0);
    gsh_pair_link_finish(links[0], LIMIT_NS);
    CHECK_EQ(__atomic_load_n(&r.n, __ATOMIC_RELAXED), 10);
    pthread_join(thread, NULL);
    CHECK(gsh_pair_link_is_lost(links[1]));
    destroy_two(links);
    free(data);
}

static void test_loss(void)
{
    struct gsh_pair_link *links[2];
    uint8_t byte = 0;
    size_t bytes;
    int n_asked;
    connect_two(never, NULL, links);
    CHECK_EQ(gsh_pair_link_send(links[1], &byte, 1, NULL, 0, LIMIT_NS), GSH_OK);
    while (!gsh_pair_link_has_message(links[0])) {
    }
    gsh_pair_link_lose(links[0]); /* what has come can be received */
    CHECK_EQ(gsh_pair_link_receive(links[0], &byte, 1, &bytes, LIMIT_NS), GSH_OK);
    CHECK_EQ(gsh_pair_link_receive(links[0], &byte, 1, &bytes, LIMIT_NS), GSH_ERR_PEER);
    CHECK_EQ(gsh_pair_link_send(links[0], &byte, 1, NULL, 0, LIMIT_NS), GSH_ERR_PEER);
    destroy_two(links);
    n_asked = INT_MIN / 2; /* however long connecting takes */
    connect_two(after_two, &n_asked, links);
    n_asked = 0;
    CHECK_EQ(gsh_pair_link_receive(links[0], &byte, 1, &bytes, LIMIT_NS), GSH_ERR_PEER);
    CHECK(n_asked > 2);
    /* what is sent to a link that is no more goes nowhere */
    gsh_pair_link_destroy(&links[0]);
    CHECK_EQ(gsh_pair_link_send(links[1], &byte, 1, NULL, 0, LIMIT_NS), GSH_OK);
    struct gsh_pair_link *others[2];
    connect_two(never, NULL, others);
    CHECK(!gsh_pair_link_has_message(others[0]));
    destroy_two(others);
    gsh_pair_link_destroy(&links[1]);
}

/* ---- pairs ---- */

static void test_pairs(const void *address, size_t bytes)
{
    static const uint8_t keys[2][16] = {"from 0 to 1", "from 1 to 0"};
    uint8_t id[GSH_PAIR_ID_BYTES] = {7};
    uint32_t as = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(gsh_pair_reserve(&pairs[i]), GSH_OK);
    }
    CHECK_EQ(gsh_pair_set(pairs[0], 0, id, keys[0], keys[1], address, bytes), GSH_ERR_BUG);
    CHECK_EQ(gsh_pair_set(pairs[0], pairs[1], id, keys[0], keys[1], address, 0), GSH_ERR_BUG);
    CHECK_EQ(gsh_pair_find(id, &as), 0);
    CHECK_EQ(gsh_pair_set(pairs[0], pairs[1], id, keys[0], keys[1], address, bytes), GSH_OK);
    CHECK_EQ(gsh_pair_set(pairs[1], pairs[0], NULL, keys[1], keys[0], address, bytes), GSH_OK);
    CHECK_EQ(gsh_pair_find(id, &as), pairs[0]);
    CHECK_EQ(as, pairs[1]);
    CHECK(gsh_pair_is_begun_by(pairs[1], pairs[0]));
    CHECK(!gsh_pair_is_begun_by(pairs[0], pairs[1]) && !gsh_pair_is_begun_by(pairs[1], 9) &&
          !gsh_pair_is_begun_by(0, 1) && !gsh_pair_is_begun_by(1000, 1));
    id[0] = 8;
    CHECK_EQ(gsh_pair_find(id, &as), 0);
}

/* The plug-in's file, if it is built. */
int main(int argc, char **argv)
{
    const struct gsh_pairs_options options = {.plugin = argc > 1 ? argv[1] : "libgshmem_none.so",
                                              .timeout_ns = LIMIT_NS,
                                              .spin_ns = 50000};
    const void *address;
    size_t bytes;
    alarm(300);
    const enum gsh_result r = gsh_pairs_open(&options, &address, &bytes);
    if (argc < 2) {
        CHECK_EQ(r, GSH_ERR_UNSUPPORTED);
        CHECK_EQ(gsh_pairs_open(&options, &address, &bytes), GSH_ERR_UNSUPPORTED);
        CHECK(strstr(gsh_last_error(), "libgshmem_none.so") != NULL);
        return test_result();
    }
    if (!CHECK_EQ(r, GSH_OK)) {
        return test_result();
    }
    test_pairs(address, bytes);
    test_messages();
    test_window();
    test_end();
    test_loss();
    return test_result();
}
