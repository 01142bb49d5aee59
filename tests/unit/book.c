/* SPDX-License-Identifier: Apache-2.0
 * Proves that what far PEs have told is found when it is asked for, and only then: PEs of a node
 * find blobs that one of them has written to the memory that they share, of several parts, also
 * before it has written and in places that others have left; they keep little themselves; bytes
 * that another process has changed there are noticed, wherever they are, and never used; without
 * room each has its own. And that the proxy gives the transport address and keys of a PE when that
 * is needed, and nothing of others. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "proxy/engine/learn.h"
#include "runtime/instance/book.h"
#include "tests/test.h"

enum { N_PES = 45, N_BOOKS = 3, ROOM = N_PES * GSH_BOOK_PE_BYTES, BLOB = 200 };

/* What all PEs tell in a part. */
struct told {
    uint8_t blobs[N_PES][BLOB];
    uint32_t lengths[N_PES];
};

static uint64_t memory[ROOM / sizeof(uint64_t)];
static struct gsh_book *books[N_BOOKS]; /* of one node; the first PE's is the writer's */

static void open_books(uint64_t room)
{
    memset(memory, 0, sizeof(memory));
    for (int b = 0; b < N_BOOKS; b++) {
        CHECK_EQ(gsh_book_create(memory, room, b == 0, N_PES, &books[b]), GSH_OK);
    }
}

static void close_books(void)
{
    for (int b = 0; b < N_BOOKS; b++) {
        gsh_book_destroy(&books[b]);
    }
}

static struct told make_told(uint64_t number, uint32_t longest)
{
    struct told t;
    for (uint32_t pe = 0; pe < N_PES; pe++) {
        t.lengths[pe] = pe == 0   ? longest
                        : pe == 7 ? 0
                                  : 1 + (pe * 31 + (uint32_t)number) % longest;
        memset(t.blobs[pe], (int)(pe ^ (number * 13)), BLOB);
    }
    return t;
}

static void add(struct gsh_book *book, uint64_t number, const struct told *t)
{
    const struct gsh_book_source from = {.blobs = t->blobs,
                                         .lengths = t->lengths,
                                         .blob_stride = BLOB,
                                         .length_stride = sizeof(t->lengths[0])};
    CHECK_EQ(gsh_book_add(book, number, &from), GSH_OK);
}

static void add_to_all(uint64_t number, const struct told *t)
{
    for (int b = N_BOOKS - 1; b >= 0; b--) { /* the writer last */
        add(books[b], number, t);
    }
    for (int b = 0; b < N_BOOKS; b++) {
        gsh_book_settle(books[b], number);
    }
}

/* How many of the PEs' blobs are not found. */
static int check_part(struct gsh_book *book, uint64_t number, const struct told *t)
{
    int n_missing = 0;
    for (int pe = 0; pe < N_PES; pe++) {
        const void *blob = NULL;
        size_t bytes = 0;
        if (gsh_book_look_up(book, number, pe, &blob, &bytes) != GSH_OK) {
            n_missing++;
            continue;
        }
        CHECK_EQ(bytes, t->lengths[pe]);
        CHECK(memcmp(blob, t->blobs[pe], bytes) == 0);
    }
    return n_missing;
}

static void check_all(uint64_t number, const struct told *t)
{
    for (int b = 0; b < N_BOOKS; b++) {
        CHECK_EQ(check_part(books[b], number, t), 0);
    }
}

static void test_parts(void)
{
    enum { N_PARTS = 5 };
    struct told t[N_PARTS + 1];
    open_books(ROOM);
    for (uint64_t i = 0; i <= N_PARTS; i++) {
        t[i] = make_told(i, i == N_PARTS ? 30 : 40 + 30 * (uint32_t)i);
    }
    for (uint64_t i = 0; i < N_PARTS; i++) {
        add_to_all(i, &t[i]);
    }
    for (uint64_t i = 0; i < N_PARTS; i++) {
        check_all(i, &t[i]);
    }
    for (int b = 0; b < N_BOOKS; b++) {
        CHECK(gsh_book_own_bytes(books[b]) < 4096);
        gsh_book_remove(books[b], 1);
        gsh_book_remove(books[b], 99); /* there is none */
    }
    CHECK_EQ(check_part(books[1], 1, &t[1]), N_PES);
    add_to_all(N_PARTS, &t[N_PARTS]); /* where part 1 was */
    for (uint64_t i = 0; i <= N_PARTS; i++) {
        if (i != 1) {
            check_all(i, &t[i]);
        }
    }
    const void *blob;
    size_t bytes;
    CHECK_EQ(gsh_book_look_up(books[0], 0, N_PES, &blob, &bytes), GSH_ERR_BUG);
    CHECK_EQ(gsh_book_look_up(books[0], 0, -1, &blob, &bytes), GSH_ERR_BUG);
    close_books();
}

/* Until it is settled each has its own, as the writer may be late. */
static void test_unsettled(void)
{
    const struct told t = make_told(1, BLOB);
    open_books(ROOM);
    add(books[1], 1, &t);
    CHECK_EQ(check_part(books[1], 1, &t), 0);
    add(books[0], 1, &t);
    gsh_book_settle(books[1], 1);
    CHECK_EQ(check_part(books[1], 1, &t), 0);
    close_books();
}

/* A byte changes, anywhere: PEs of its group are not found, all others are; and no other bytes are
 * ever returned (check_part). */
static void test_changed(void)
{
    const struct told t = make_told(3, BLOB);
    uint8_t *bytes = (uint8_t *)memory;
    open_books(ROOM);
    add_to_all(3, &t);
    for (size_t at = 64; at < 64 + N_PES * (BLOB + sizeof(uint32_t)); at += 7) {
        bytes[at] ^= 0x5a;
        const int n = check_part(books[1], 3, &t);
        CHECK(n == GSH_BOOK_GROUP || n == N_PES % GSH_BOOK_GROUP);
        bytes[at] ^= 0x5a;
    }
    memset(memory, 0xff, 64); /* the head means nothing */
    CHECK_EQ(check_part(books[1], 3, &t), 0);
    memset(memory, 0xff, sizeof(memory));
    CHECK_EQ(check_part(books[1], 3, &t), N_PES);
    close_books();
}

static void test_without_room(void)
{
    const struct told t = make_told(1, BLOB), small = make_told(2, 8);
    open_books(4096);
    add_to_all(1, &t);
    add_to_all(2, &small); /* has room */
    memset(memory, 0xff, sizeof(memory));
    check_all(1, &t);
    CHECK_EQ(check_part(books[2], 2, &small), N_PES);
    close_books();
    CHECK_EQ(gsh_book_create(NULL, 0, true, N_PES, &books[0]), GSH_OK);
    add(books[0], 1, &t);
    gsh_book_settle(books[0], 1);
    CHECK_EQ(check_part(books[0], 1, &t), 0);
    close_books();
}

/* One thread adds and removes parts while another one looks up. */
static void *look_up_main(void *arg)
{
    const struct told *t = arg;
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(check_part(books[0], 1, t), 0);
    }
    return NULL;
}

static void test_threads(void)
{
    struct told t = make_told(1, BLOB), more = make_told(2, 40);
    pthread_t thread;
    open_books(ROOM);
    add_to_all(1, &t);
    CHECK_EQ(pthread_create(&thread, NULL, look_up_main, &t), 0);
    for (uint64_t i = 2; i < 100; i++) {
        add(books[0], i, &more);
        gsh_book_settle(books[0], i);
        gsh_book_remove(books[0], i / 2 > 1 ? i / 2 : i);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    close_books();
}

/* ---- a proxy that learns late ---- */

enum { N_REGIONS = 3, N_FAR = 4 };

/* A transport's, and what is asked for. */
static bool has_address[N_FAR], has_region[N_FAR][N_REGIONS];
static int n_asked, fails_at; /* the question that is not answered; 0: none */
static bool is_nothing;       /* nothing is told */

static enum gsh_result set_peer(struct gsh_transport *t, int pe, const void *blob, size_t bytes)
{
    (void)t;
    CHECK(!has_address[pe] && bytes == sizeof(pe) && memcmp(blob, &pe, bytes) == 0);
    has_address[pe] = true;
    return GSH_OK;
}

static enum gsh_result add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                       uint64_t bytes, const void *key, size_t key_bytes)
{
    (void)t;
    CHECK(!has_region[pe][off] && bytes == 1 && key_bytes == 1 && *(const char *)key == 'k');
    has_region[pe][off] = true;
    return GSH_OK;
}

static enum gsh_result remove_peer_region(struct gsh_transport *t, int pe, uint64_t off)
{
    (void)t;
    has_region[pe][off] = false;
    return GSH_OK;
}

static enum gsh_result look_up(void *context, int pe, uint64_t number, const void **blob,
                               size_t *bytes)
{
    static int address;
    (void)context;
    if (++n_asked == fails_at) {
        return GSH_ERR_PEER;
    }
    address = pe;
    *blob = number == GSH_PROXY_ADDRESS ? (const void *)&address : "k";
    *bytes = is_nothing ? 0 : number == GSH_PROXY_ADDRESS ? sizeof(address) : 1;
    return GSH_OK;
}

static void check_peer(int pe, bool is_known, const char *regions)
{
    CHECK_EQ(has_address[pe], is_known);
    for (int i = 0; i < N_REGIONS; i++) {
        CHECK_EQ(has_region[pe][i], regions[i] == '1');
    }
}

static void test_learning(void)
{
    static const struct gsh_transport_ops ops = {.set_peer = set_peer,
                                                 .add_peer_region = add_peer_region,
                                                 .remove_peer_region = remove_peer_region};
    struct gsh_transport transport = {.ops = &ops};
    struct gsh_proxy proxy = {
        .transport = &transport, .is_native = true, .options = {.look_up = look_up}};
    for (uint64_t i = 0; i < N_REGIONS; i++) {
        CHECK_EQ(gsh_learn_add_region(&proxy, i, 1), GSH_OK);
    }
    CHECK_EQ(n_asked, 0);
    CHECK_EQ(gsh_learn_peer(&proxy, 2), GSH_OK);
    check_peer(2, true, "000"); /* keys come when they are needed */
    CHECK_EQ(gsh_learn_region(&proxy, 2, 1), GSH_OK);
    CHECK_EQ(gsh_learn_peer(&proxy, 3), GSH_OK);
    CHECK_EQ(gsh_learn_region(&proxy, 3, 1), GSH_OK);
    CHECK_EQ(gsh_learn_region(&proxy, 3, 2), GSH_OK);
    check_peer(2, true, "010");
    check_peer(3, true, "011");
    gsh_learn_remove_region(&proxy, 1);
    gsh_learn_remove_region(&proxy, 1); /* has gone */
    check_peer(2, true, "000");
    check_peer(3, true, "001");
    const int n = n_asked;
    CHECK_EQ(gsh_learn_region(&proxy, 2, 1), GSH_OK); /* there is none */
    CHECK_EQ(n_asked, n);
    is_nothing = true; /* it has gone at the other PE already */
    CHECK_EQ(gsh_learn_region(&proxy, 2, 0), GSH_OK);
    CHECK_EQ(gsh_learn_peer(&proxy, 1), GSH_ERR_BUG);
    is_nothing = false;
    check_peer(2, true, "000");
    fails_at = n_asked + 1;
    CHECK_EQ(gsh_learn_peer(&proxy, 0), GSH_ERR_PEER);
    fails_at = n_asked + 1;
    CHECK_EQ(gsh_learn_region(&proxy, 2, 0), GSH_ERR_PEER);
    check_peer(0, false, "000");
    check_peer(1, false, "000");
    check_peer(2, true, "000");
    has_address[3] = false; /* the transport has not kept it */
    CHECK_EQ(gsh_learn_peer(&proxy, 3), GSH_OK);
    check_peer(3, true, "001");
    CHECK_EQ(proxy.n_known, 2);
    gsh_learn_finish(&proxy);
}

int main(void)
{
    test_parts();
    test_unsettled();
    test_changed();
    test_without_room();
    test_threads();
    test_learning();
    return test_result();
}
