/* SPDX-License-Identifier: Apache-2.0
 * See uid_ask.h. */
#define _GNU_SOURCE 1
#include "bootstrap/uid_ask.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/thread.h"

/* A way has at most as many ranks as there are rounds, and this one. */
#define MAX_STOPS (GSH_UID_MAX_ROUNDS + 1)
/* In all, on a way past ranks that are gone. */
#define MAX_QUESTIONS 256

struct entry {
    uint64_t number;
    size_t n;
    uint8_t *bytes;
};

/* Where a rank has been met. */
struct contact {
    uint32_t rank;
    struct gsh_partner at;
};

struct gsh_uid_asking {
    int rank, n_ranks, rounds;
    uint8_t secret[GSH_SHA256_BYTES];
    struct gsh_bootstrap_counts *asked; /* atomic */
    struct gsh_partner partners[GSH_UID_MAX_ROUNDS];
    struct gsh_tcp_listener *listener;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of the rest */
    struct entry *entries;
    size_t n_entries, entries_room;
    struct contact *contacts; /* by rank */
    size_t n_contacts, contacts_room;
};

static uint32_t distance(const struct gsh_uid_asking *a, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + (uint32_t)a->n_ranks - from;
}

/* The partner that is nearest before `rank`, or is it, and fewer than `below` after this rank; -1:
 * none. */
static int choose_partner(const struct gsh_uid_asking *a, uint32_t rank, uint32_t below)
{
    const uint32_t far = distance(a, (uint32_t)a->rank, rank);
    int k = a->rounds - 1;
    while (k >= 0 && ((uint32_t)1 << k > far || (uint32_t)1 << k >= below)) {
        k--;
    }
    return k;
}

static uint32_t rank_of_partner(const struct gsh_uid_asking *a, int k)
{
    return (uint32_t)(((uint64_t)a->rank + ((uint64_t)1 << k)) % (uint64_t)a->n_ranks);
}

/* ---- answering ---- */

/* Locked. */
static struct entry *find_entry(const struct gsh_uid_asking *a, uint64_t number)
{
    for (size_t i = 0; i < a->n_entries; i++) {
        if (a->entries[i].number == number) {
            return &a->entries[i];
        }
    }
    return NULL;
}

static size_t tell_bytes(struct gsh_uid_asking *a, const struct gsh_uid_question *q,
                         uint8_t payload[GSH_ANSWER_MAX_PAYLOAD])
{
    struct gsh_uid_told told = {.kind = GSH_UID_TOLD_NOTHING};
    size_t n = 0;
    pthread_mutex_lock(&a->lock);
    const struct entry *e = find_entry(a, q->number);
    if (e != NULL && q->at < e->n) {
        told = (struct gsh_uid_told){.kind = GSH_UID_TOLD_BYTES, .value = (uint32_t)e->n};
        n = gsh_min_u64(e->n - q->at, GSH_UID_TOLD_MAX_BYTES);
        memcpy(payload + sizeof(told), e->bytes + q->at, n);
    }
    pthread_mutex_unlock(&a->lock);
    memcpy(payload, &told, sizeof(told));
    return sizeof(told) + n;
}

static size_t refer(const struct gsh_uid_asking *a, uint32_t rank, uint32_t below,
                    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD])
{
    const int k = choose_partner(a, rank, below);
    const struct gsh_uid_told told = {
        .kind = k >= 0 ? GSH_UID_TOLD_RANK : GSH_UID_TOLD_NO_WAY,
        .value = k >= 0 ? rank_of_partner(a, k) : 0,
    };
    memcpy(payload, &told, sizeof(told));
    if (k < 0) {
        return sizeof(told);
    }
    memcpy(payload + sizeof(told), &a->partners[k], sizeof(a->partners[k]));
    return sizeof(told) + sizeof(a->partners[k]);
}

/* An asker that is gone, or sends what no rank sends, changes nothing. */
static void answer(struct gsh_uid_asking *a, struct gsh_tcp_listener_event *event)
{
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    struct gsh_uid_question q;
    const struct gsh_hello *hello = &event->hello;
    memcpy(&q, hello->link, sizeof(q));
    if (hello->kind == GSH_HELLO_ASK && hello->n_ranks == (uint32_t)a->n_ranks &&
        hello->round < (uint32_t)a->n_ranks) {
        const size_t n = hello->round == (uint32_t)a->rank
                             ? tell_bytes(a, &q, payload)
                             : refer(a, hello->round, q.below, payload);
        (void)gsh_answer_send(event->fd, hello, a->secret, GSH_OK, payload, n);
    }
    gsh_socket_close(&event->fd);
}

static void *answer_all(void *arg)
{
    struct gsh_uid_asking *a = arg;
    for (;;) {
        struct gsh_tcp_listener_event event;
        const enum gsh_result r = gsh_tcp_listener_next(a->listener, 0, &event);
        if (r == GSH_OK) {
            answer(a, &event);
        } else if (!gsh_error_is_no_descriptor(errno)) {
            return NULL;
        }
        /* else the listener has waited, and there may be descriptors again */
    }
}

/* Locked. */
static enum gsh_result start(struct gsh_uid_asking *a)
{
    if (a->has_thread) {
        return GSH_OK;
    }
    gsh_tcp_listener_keep_from_children(a->listener);
    if (gsh_create_thread(&a->thread, NULL, answer_all, a) != 0) {
        return gsh_note(GSH_ERR_SYSTEM, "no thread that answers the other PEs");
    }
    a->has_thread = true;
    return GSH_OK;
}

/* Locked. */
static enum gsh_result set_entry(struct gsh_uid_asking *a, uint64_t number, const void *bytes,
                                 size_t n)
{
    struct entry *e = find_entry(a, number);
    uint8_t *copy = n > 0 ? malloc(n) : NULL;
    if (n > 0 && copy != NULL && e == NULL &&
        gsh_array_reserve(&a->entries, &a->entries_room, a->n_entries + 1, sizeof(*e))) {
        e = &a->entries[a->n_entries++];
        *e = (struct entry){.number = number};
    }
    if (n > 0 && (copy == NULL || e == NULL)) {
        free(copy);
        return gsh_note(GSH_ERR_NOMEM, "no host memory for what other PEs look up");
    }
    if (e != NULL) {
        free(e->bytes);
        e->bytes = copy;
        e->n = n;
    }
    if (e != NULL && n == 0) {
        *e = a->entries[--a->n_entries];
    } else if (n > 0) {
        memcpy(copy, bytes, n);
    }
    return GSH_OK;
}

enum gsh_result gsh_uid_publish(struct gsh_uid_asking *a, uint64_t number, const void *bytes,
                                size_t n)
{
    if (n > GSH_UID_PUBLISH_MAX_BYTES) {
        return gsh_note(GSH_ERR_BUG, "%zu bytes for other PEs to look up", n);
    }
    pthread_mutex_lock(&a->lock);
    enum gsh_result r = set_entry(a, number, bytes, n);
    if (r == GSH_OK) {
        r = start(a);
    }
    pthread_mutex_unlock(&a->lock);
    return r;
}

/* ---- asking ---- */

/* A rank on the way, and which of its partners come into question. */
struct stop {
    uint32_t rank, below;
    struct gsh_partner at; /* of another rank */
};

/* What was said. */
struct reply {
    struct gsh_uid_told told;
    size_t n; /* bytes after it */
    uint8_t bytes[GSH_ANSWER_MAX_PAYLOAD];
};

static void count(struct gsh_uid_asking *a, size_t n)
{
    __atomic_fetch_add(&a->asked->messages, 1, __ATOMIC_RELAXED); /* these order nothing */
    __atomic_fetch_add(&a->asked->bytes, n, __ATOMIC_RELAXED);
}

/* GSH_ERR_SYSTEM: this process cannot ask anybody now; GSH_ERR_PEER: not that one. */
static enum gsh_result ask(struct gsh_uid_asking *a, const struct gsh_partner *at, uint32_t rank,
                           const struct gsh_uid_question *q, uint64_t deadline_ns,
                           struct reply *reply)
{
    struct gsh_hello hello = {.kind = GSH_HELLO_ASK,
                              .rank = (uint32_t)a->rank,
                              .n_ranks = (uint32_t)a->n_ranks,
                              .round = rank};
    struct gsh_answer answer;
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    int fd = -1;
    memcpy(hello.link, q, sizeof(*q));
    enum gsh_result r = gsh_random(hello.nonce, sizeof(hello.nonce));
    bool is_own_fault = r != GSH_OK;
    if (r == GSH_OK) {
        gsh_hello_seal(&hello, a->secret, at->link);
        r = gsh_socket_connect(&at->address, deadline_ns, &fd);
        is_own_fault = r == GSH_ERR_SYSTEM && gsh_error_is_no_descriptor(errno);
    }
    if (r == GSH_OK) {
        r = gsh_socket_send(fd, &hello, sizeof(hello), deadline_ns);
    }
    if (r == GSH_OK) {
        r = gsh_answer_recv(fd, &hello, a->secret, &answer, payload, deadline_ns);
    }
    gsh_socket_close(&fd);
    if (r == GSH_ERR_SYSTEM && !is_own_fault) {
        r = GSH_ERR_PEER;
    }
    if (r == GSH_OK && (answer.result != GSH_OK || answer.bytes < sizeof(reply->told))) {
        r = GSH_ERR_BUG;
    }
    if (r == GSH_OK) {
        count(a, sizeof(hello) + sizeof(answer) + answer.bytes + GSH_SHA256_BYTES);
        memcpy(&reply->told, payload, sizeof(reply->told));
        reply->n = answer.bytes - sizeof(reply->told);
        memcpy(reply->bytes, payload + sizeof(reply->told), reply->n);
    }
    return r;
}

/* Locked. The place of the rank, or where it belongs. */
static size_t contact_position(const struct gsh_uid_asking *a, uint32_t rank)
{
    size_t low = 0, high = a->n_contacts;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (a->contacts[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* False: it has not been met. */
static bool find_contact(struct gsh_uid_asking *a, uint32_t rank, struct gsh_partner *at)
{
    pthread_mutex_lock(&a->lock);
    const size_t i = contact_position(a, rank);
    const bool is_there = i < a->n_contacts && a->contacts[i].rank == rank;
    if (is_there) {
        *at = a->contacts[i].at;
    }
    pthread_mutex_unlock(&a->lock);
    return is_there;
}

/* Without memory it is sought again the next time. */
static void keep_contact(struct gsh_uid_asking *a, uint32_t rank, const struct gsh_partner *at)
{
    pthread_mutex_lock(&a->lock);
    const size_t i = contact_position(a, rank);
    const bool is_there = i < a->n_contacts && a->contacts[i].rank == rank;
    if (!is_there && gsh_array_reserve(&a->contacts, &a->contacts_room, a->n_contacts + 1,
                                       sizeof(*a->contacts))) {
        memmove(&a->contacts[i + 1], &a->contacts[i], (a->n_contacts++ - i) * sizeof(*a->contacts));
        a->contacts[i] = (struct contact){.rank = rank, .at = *at};
    }
    pthread_mutex_unlock(&a->lock);
}

/* To whom the reply of `from` refers; only nearer to the rank. */
static enum gsh_result read_referral(const struct gsh_uid_asking *a, const struct stop *from,
                                     uint32_t rank, const struct reply *reply, struct stop *next)
{
    if (reply->told.kind != GSH_UID_TOLD_RANK || reply->n != sizeof(next->at)) {
        return GSH_ERR_PEER;
    }
    *next = (struct stop){.rank = reply->told.value, .below = UINT32_MAX};
    memcpy(&next->at, reply->bytes, sizeof(next->at));
    if (next->rank >= (uint32_t)a->n_ranks) {
        return GSH_ERR_BUG;
    }
    const uint32_t step = distance(a, from->rank, next->rank);
    const bool is_nearer = step > 0 && step <= distance(a, from->rank, rank) && step < from->below;
    return is_nearer ? GSH_OK : GSH_ERR_BUG;
}

/* To whom a rank on the way refers; this one refers itself. */
static enum gsh_result next_stop(struct gsh_uid_asking *a, const struct stop *from, uint32_t rank,
                                 uint64_t deadline_ns, struct stop *next)
{
    struct reply reply;
    if (from->rank == (uint32_t)a->rank) {
        const int k = choose_partner(a, rank, from->below);
        if (k < 0) {
            return GSH_ERR_PEER;
        }
        *next =
            (struct stop){.rank = rank_of_partner(a, k), .below = UINT32_MAX, .at = a->partners[k]};
        return GSH_OK;
    }
    const struct gsh_uid_question q = {.below = from->below};
    const enum gsh_result r = ask(a, &from->at, rank, &q, deadline_ns, &reply);
    return r == GSH_OK ? read_referral(a, from, rank, &reply, next) : r;
}

/* Finds where the rank can be asked. Goes back where there is no way on. */
static enum gsh_result find_way(struct gsh_uid_asking *a, uint32_t rank, uint64_t timeout_ns,
                                uint64_t deadline_ns, struct gsh_partner *at)
{
    struct stop stops[MAX_STOPS + 1] = {{.rank = (uint32_t)a->rank, .below = UINT32_MAX}};
    int n = 1;
    for (int i = 0; i < MAX_QUESTIONS && n > 0; i++) {
        /* one that is silent is passed by, too, while there is time */
        const uint64_t its_ns = gsh_deadline_in(timeout_ns / 4);
        const enum gsh_result r =
            n <= MAX_STOPS
                ? next_stop(a, &stops[n - 1], rank,
                            its_ns != 0 && its_ns < deadline_ns ? its_ns : deadline_ns, &stops[n])
                : GSH_ERR_BUG;
        if (r == GSH_ERR_SYSTEM ||
            (r == GSH_ERR_TIMEOUT && deadline_ns != 0 && gsh_deadline_poll_ms(deadline_ns) == 0)) {
            return r;
        }
        if (r != GSH_OK) {
            if (--n > 0) { /* whoever has referred to it refers to one that is not as near */
                stops[n - 1].below = distance(a, stops[n - 1].rank, stops[n].rank);
            }
        } else if (stops[n++].rank == rank) {
            *at = stops[n - 1].at;
            return GSH_OK;
        }
    }
    return GSH_ERR_PEER;
}

/* Takes the bytes of one answer. */
static enum gsh_result take_bytes(const struct reply *reply, uint8_t **all, size_t *n, size_t *at)
{
    const size_t total = reply->told.value;
    if (reply->told.kind == GSH_UID_TOLD_NOTHING) {
        *n = *at = 0; /* or no more */
        return GSH_OK;
    }
    if (reply->told.kind != GSH_UID_TOLD_BYTES || total > GSH_UID_PUBLISH_MAX_BYTES ||
        (*all != NULL && total != *n) || reply->n == 0 || *at > total || reply->n > total - *at) {
        return GSH_ERR_BUG;
    }
    if (*all == NULL && (*all = malloc(total)) == NULL) {
        return GSH_ERR_NOMEM;
    }
    *n = total;
    memcpy(*all + *at, reply->bytes, reply->n);
    *at += reply->n;
    return GSH_OK;
}

static enum gsh_result fetch(struct gsh_uid_asking *a, const struct gsh_partner *at, uint32_t rank,
                             uint64_t number, uint64_t deadline_ns, void **bytes, size_t *n)
{
    uint8_t *all = NULL;
    size_t got = 0;
    enum gsh_result r;
    *n = 0;
    do {
        struct reply reply;
        const struct gsh_uid_question q = {.number = number, .at = (uint32_t)got};
        r = ask(a, at, rank, &q, deadline_ns, &reply);
        r = r == GSH_OK ? take_bytes(&reply, &all, n, &got) : r;
    } while (r == GSH_OK && got < *n);
    if (r != GSH_OK || *n == 0) {
        free(all);
        all = NULL;
    }
    *bytes = all;
    return r;
}

enum gsh_result gsh_uid_look_up(struct gsh_uid_asking *a, int rank, uint64_t number,
                                uint64_t timeout_ns, void **bytes, size_t *n)
{
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    struct gsh_partner at;
    if (rank < 0 || rank >= a->n_ranks || rank == a->rank) {
        return gsh_note(GSH_ERR_BUG, "a question to PE %d of %d", rank, a->n_ranks);
    }
    enum gsh_result r = GSH_OK;
    const bool is_met = find_contact(a, (uint32_t)rank, &at);
    if (!is_met) {
        r = find_way(a, (uint32_t)rank, timeout_ns, deadline_ns, &at);
    }
    if (r == GSH_OK) {
        r = fetch(a, &at, (uint32_t)rank, number, deadline_ns, bytes, n);
    }
    switch (r) {
    case GSH_OK:
        if (!is_met) {
            keep_contact(a, (uint32_t)rank, &at);
        }
        return GSH_OK;
    case GSH_ERR_TIMEOUT:
        return gsh_note(r, "PE %d has not answered a question for %g s", rank,
                        (double)timeout_ns * 1e-9);
    case GSH_ERR_NOMEM:
        return gsh_note(r, "no host memory for what PE %d tells", rank);
    case GSH_ERR_SYSTEM:
        return gsh_note(r, "no descriptor, or no memory for one, to ask PE %d", rank);
    case GSH_ERR_BUG:
        return gsh_note(r, "PE %d answers what no PE answers", rank);
    default:
        return gsh_note(GSH_ERR_PEER, "PE %d died or left, or cannot be reached over TCP", rank);
    }
}

/* ---- making and ending ---- */

enum gsh_result gsh_uid_asking_create(int rank, int n_ranks, const uint8_t *secret,
                                      const struct gsh_partner *partners,
                                      struct gsh_bootstrap_counts *asked,
                                      struct gsh_tcp_listener **listener,
                                      struct gsh_uid_asking **out)
{
    struct gsh_uid_asking *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over TCP");
    }
    a->rank = rank;
    a->n_ranks = n_ranks;
    a->rounds = gsh_uid_rounds(n_ranks);
    memcpy(a->secret, secret, sizeof(a->secret));
    a->asked = asked;
    memcpy(a->partners, partners, (size_t)a->rounds * sizeof(*partners));
    a->listener = *listener;
    *listener = NULL;
    pthread_mutex_init(&a->lock, NULL);
    *out = a;
    return GSH_OK;
}

void gsh_uid_asking_destroy(struct gsh_uid_asking **handle)
{
    struct gsh_uid_asking *a = *handle;
    if (a == NULL) {
        return;
    }
    if (a->has_thread) {
        gsh_tcp_listener_shutdown(a->listener);
        pthread_join(a->thread, NULL);
    }
    gsh_tcp_listener_destroy(&a->listener);
    for (size_t i = 0; i < a->n_entries; i++) {
        free(a->entries[i].bytes);
    }
    free(a->entries);
    free(a->contacts);
    pthread_mutex_destroy(&a->lock);
    explicit_bzero(a->secret, sizeof(a->secret));
    free(a);
    *handle = NULL;
}
