/* SPDX-License-Identifier: Apache-2.0
 * A process's pairs, their links and the service that drives them, for the files that implement
 * pairs.h: pair_service.c has the service and the pairs, pair_link.c what a link sends and
 * receives. */
#ifndef GSH_PAIRS_IMPL_H
#define GSH_PAIRS_IMPL_H

#include <errno.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>
#include "proxy/pairs.h"
#include "proxy/transport.h"

/* Numbers that a process has for others; each is given once. */
#define GSH_PAIRS_MAX 16384
/* Of a link: what has been sent and not been received, by costs. */
#define GSH_PAIR_WINDOW UINT64_C(4194304)

struct gsh_pair_message {
    struct gsh_pair_message *next;
    size_t bytes, filled;
    uint8_t data[];
};

struct gsh_pair {
    uint32_t as;
    bool is_set, is_lost, is_own; /* own: this process began it */
    uint8_t id[GSH_PAIR_ID_BYTES];
    char reason[256];
};

struct gsh_pair_out;

struct gsh_pair_link {
    struct gsh_pair_service *service;
    bool (*is_lost_there)(void *context);
    void *context;
    pthread_cond_t changed;
    struct gsh_pair *pair; /* NULL: not bound */
    uint32_t pair_number;
    uint64_t number, number_there;
    bool is_greeted, is_lost, is_finished, is_finish_answered, is_closed_there;
    uint64_t n_sent, n_taken; /* costs; taken: by the other side, as it says */
    struct gsh_pair_message *first, *last;
    size_t n_complete;
    uint64_t n_arrived, n_received, n_told;
};

/* A process's. */
struct gsh_pair_service {
    pthread_mutex_t lock; /* for all of it, and every call of the transport */
    uint32_t n_waiting;   /* atomic: threads that want the lock; the service's own gives way */
    pid_t pid;
    uint64_t spin_ns;
    struct gsh_transport *transport; /* NULL: UCX cannot be had */
    char why[512];
    pthread_t thread;
    int event_fd;
    bool is_asleep, is_stopping, has_ended;
    struct gsh_pair *pairs[GSH_PAIRS_MAX]; /* from 1 on */
    uint32_t n_pairs;
    struct gsh_pair_out *kept;    /* until the process ends */
    struct gsh_pair_link **links; /* by the low half of their number */
    uint32_t *uses;               /* the high half */
    size_t n_links, links_room, uses_room;
};

static inline void gsh_pairs_take(struct gsh_pair_service *s)
{
    __atomic_fetch_add(&s->n_waiting, 1, __ATOMIC_RELAXED); /* a hint */
    pthread_mutex_lock(&s->lock);
    __atomic_fetch_sub(&s->n_waiting, 1, __ATOMIC_RELAXED);
}

static inline void gsh_pairs_give(struct gsh_pair_service *s)
{
    pthread_mutex_unlock(&s->lock);
}

/* The service is locked. */
static inline void gsh_pairs_wake(struct gsh_pair_service *s)
{
    const uint64_t one = 1;
    if (!s->is_asleep) {
        return;
    }
    s->is_asleep = false;
    while (write(s->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* pair_link.c: the service is locked. */
/* Nothing goes over the link any more; messages that are there can be received. */
void gsh_pair_link_end(struct gsh_pair_link *link);
/* A piece that is one word. If it cannot be sent, the link ends. */
void gsh_pair_link_tell(struct gsh_pair_link *link, enum gsh_pair_kind kind, uint64_t value);
/* The transport's event; service: a struct gsh_pair_service. In progress(). */
void gsh_pair_link_take(void *service, int from, const void *header, size_t header_bytes,
                        const void *data, size_t bytes);

#endif
