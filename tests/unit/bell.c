/* Proves that a PE's bell heeds what another PE of its job sends it, and nothing else: no other
 * length, key, receiver or sender; and that all PEs of a full node can ring each other at the same
 * time, none of which then listens. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include "base/siphash.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/instance.h"
#include "tests/test.h"

/* Many more than a bell has room for (net.unix.max_dgram_qlen). */
enum { N = 64 };

static const uint8_t secret[GSH_SECRET_BYTES] = {4, 2};
static const struct gsh_bootstrap_ops ops;
static struct gsh_bootstrap bootstrap = {.ops = &ops};
static struct gsh_peer peers[N];
static struct gsh_near near[N];
static struct gsh_instance pes[N];

static void open_bells(int n)
{
    for (int i = 0; i < n; i++) {
        peers[i].node_index = (unsigned)i;
        pes[i] = (struct gsh_instance){
            .my_pe = i, .n_pes = n, .bootstrap = &bootstrap, .peers = peers, .near = near};
        if (!CHECK(gsh_bell_open(&pes[i].bell, &near[i].bell) == GSH_OK)) {
            exit(test_result());
        }
        gsh_bell_key(pes[i].bell, secret);
    }
}

static void close_bells(int n)
{
    for (int i = 0; i < n; i++) {
        gsh_bell_close(&pes[i].bell);
        CHECK(pes[i].bell == NULL);
    }
}

/* What PE 1 sends PE 0. */
static void take_message(uint8_t *data, size_t room, size_t bytes)
{
    open_bells(2);
    gsh_bell_ring_all(&pes[1]);
    CHECK_EQ(recv(gsh_bell_fd(pes[0].bell), data, room, MSG_DONTWAIT), bytes);
    CHECK(!gsh_bell_has_rung(&pes[0]));
    close_bells(2);
}

static void test_message(void)
{
    enum { BYTES = sizeof(struct gsh_bell_message) };
    uint8_t data[BYTES + 1] = {0}, key[GSH_KEY_BYTES];
    struct gsh_bell_message m;
    take_message(data, sizeof(data), BYTES);
    gsh_key_derive(secret, "bell", key);
    CHECK(gsh_bell_is_true(key, 0, data, BYTES));
    for (size_t n = 0; n <= BYTES + 1; n++) {
        CHECK_EQ(gsh_bell_is_true(key, 0, data, n), n == BYTES);
    }
    for (int bit = 0; bit < 8 * BYTES; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(!gsh_bell_is_true(key, 0, data, BYTES));
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(!gsh_bell_is_true(key, 1, data, BYTES));
    CHECK(!gsh_bell_is_true(key, -1, data, BYTES));
    memcpy(&m, data, sizeof(m));
    CHECK_EQ(m.from, 1);
    CHECK_EQ(m.to, 0);
    m.from = 0; /* itself */
    m.tag = gsh_siphash(key, &m, offsetof(struct gsh_bell_message, tag));
    CHECK(!gsh_bell_is_true(key, 0, &m, BYTES));
    gsh_key_derive(secret, "monitor", key);
    CHECK(!gsh_bell_is_true(key, 0, data, BYTES));
}

/* The name is known to all on the host. */
static void test_strangers(void)
{
    uint8_t data[sizeof(struct gsh_bell_message)] = {0};
    open_bells(3);
    gsh_bell_key(pes[2].bell, (const uint8_t[GSH_SECRET_BYTES]){1}); /* is of another job */
    gsh_bell_ring_all(&pes[2]);
    CHECK(!gsh_bell_has_rung(&pes[0]));
    gsh_bell_ring_all(&pes[1]);
    CHECK_EQ(recv(gsh_bell_fd(pes[2].bell), data, sizeof(data), MSG_DONTWAIT), sizeof(data));
    CHECK(gsh_bell_has_rung(&pes[0]));
    CHECK(gsh_bell_has_rung(&pes[0])); /* it stays so */
    CHECK(!gsh_bell_has_rung(&pes[1]));
    close_bells(3);
}

static pthread_barrier_t all_are_there;

static void *fail_main(void *arg)
{
    struct gsh_instance *pe = arg;
    pthread_barrier_wait(&all_are_there);
    gsh_bell_ring_all(pe);
    return NULL;
}

static void test_all_at_once(void)
{
    pthread_t threads[N];
    open_bells(N);
    pthread_barrier_init(&all_are_there, NULL, N);
    for (int i = 0; i < N; i++) {
        if (!CHECK_EQ(pthread_create(&threads[i], NULL, fail_main, &pes[i]), 0)) {
            exit(test_result());
        }
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < N; i++) {
        CHECK(gsh_bell_has_rung(&pes[i]));
    }
    pthread_barrier_destroy(&all_are_there);
    close_bells(N);
}

int main(void)
{
    test_message();
    test_strangers();
    test_all_at_once();
    return test_result();
}
