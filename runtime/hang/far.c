/* SPDX-License-Identifier: Apache-2.0
 * See far.h. */
#include "runtime/hang/far.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/array.h"
#include "base/util.h"
#include "hang/ask.h"
#include "proxy/proxy.h"
#include "runtime/hang/collect.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/instance.h"
#include "runtime/team/absent.h"

#define RECORDS_AT_ONCE 2
#define NEXT_PE_MS      200 /* until a node's next PE is asked */
#define STEP_MS         2
#define RECEIVED_MAX    (1 << 18) /* records that nobody has taken yet */
#define NODES_MAX       512       /* that are asked */

enum notice_kind { QUESTION = 1, ANSWER };

struct notice {
    uint32_t magic;
    uint32_t kind;
    uint32_t serial; /* the asker's */
    uint32_t n;      /* ANSWER: records */
    uint32_t reserved[4];
    struct gsh_hang_record records[RECORDS_AT_ONCE];
};
#define NOTICE_BYTES(n) (offsetof(struct notice, records) + (n) * sizeof(struct gsh_hang_record))
_Static_assert(sizeof(struct notice) <= GSH_PROXY_NOTICE_MAX, "an answer is one notice");
/* Their lengths tell them from the other notices. */
#define DIFFERS(n) \
    (sizeof(struct gsh_end_notice) != NOTICE_BYTES(n) && GSH_ABSENT_NOTICE_BYTES != NOTICE_BYTES(n))
_Static_assert(DIFFERS(0) && DIFFERS(1) && DIFFERS(2), "no length is another's");

/* ---- what has come for the thread that gathers ---- */

struct received {
    int from_pe;
    struct gsh_hang_record record;
};

static pthread_mutex_t gather_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the other */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* of what follows */
static uint32_t open_serial;                                    /* 0: nobody gathers */
static struct received *received;                               /* [n_received] */
static size_t n_received, room;

static void keep(int from_pe, const struct notice *n)
{
    pthread_mutex_lock(&lock);
    bool fits = n->serial == open_serial && n_received + n->n <= RECEIVED_MAX &&
                gsh_array_reserve(&received, &room, n_received + n->n, sizeof(*received));
    for (uint32_t i = 0; fits && i < n->n; i++) {
        received[n_received++] = (struct received){from_pe, n->records[i]};
    }
    pthread_mutex_unlock(&lock);
}

/* All that has come, which is the caller's now. */
static size_t take_received(struct received **out)
{
    pthread_mutex_lock(&lock);
    size_t n = n_received;
    *out = received;
    received = NULL;
    n_received = room = 0;
    pthread_mutex_unlock(&lock);
    return n;
}

static void set_serial(uint32_t serial)
{
    struct received *rest;
    pthread_mutex_lock(&lock);
    open_serial = serial;
    pthread_mutex_unlock(&lock);
    (void)take_received(&rest);
    free(rest);
}

enum gsh_hang_far_notice gsh_hang_far_receive(int from_pe, const void *data, size_t bytes,
                                              uint32_t *serial)
{
    struct notice n;
    if (bytes < NOTICE_BYTES(0) || bytes > sizeof(n)) {
        return GSH_HANG_FAR_OTHER;
    }
    memset(&n, 0, sizeof(n));
    memcpy(&n, data, bytes);
    if (n.magic != GSH_HANG_MAGIC || n.n > RECORDS_AT_ONCE || bytes != NOTICE_BYTES(n.n)) {
        return GSH_HANG_FAR_OTHER;
    }
    *serial = n.serial;
    if (n.kind == ANSWER) {
        keep(from_pe, &n);
    }
    return n.kind == QUESTION ? GSH_HANG_FAR_QUESTION : GSH_HANG_FAR_ANSWER;
}

/* ---- gathering ---- */

struct node {
    int next_pe;       /* to ask; n_pes: none is left */
    unsigned quiet_ms; /* since one was asked, and nothing came */
    bool has_ended;
};

/* The node's first PE from that number on. */
static int pe_of_node(const struct gsh_instance *pe, int node, int from)
{
    while (from < pe->n_pes && pe->peers[from].node != node) {
        from++;
    }
    return from;
}

static void ask_next(struct gsh_instance *pe, struct node *node, int index)
{
    struct notice n = {.magic = GSH_HANG_MAGIC, .kind = QUESTION, .serial = open_serial};
    int at = pe_of_node(pe, index, node->next_pe);
    node->quiet_ms = 0;
    if (at < pe->n_pes) {
        gsh_proxy_notify(pe->proxy, at, &n, NOTICE_BYTES(0));
    }
    node->next_pe = at < pe->n_pes ? at + 1 : at;
}

/* False: `put` has refused. */
static bool pass_on(struct gsh_instance *pe, struct node *nodes, int n_nodes,
                    bool (*put)(void *to, const struct gsh_hang_record *record), void *to)
{
    struct received *all;
    size_t n = take_received(&all);
    bool is_taken = true;
    for (size_t i = 0; i < n && is_taken; i++) {
        int node = all[i].from_pe >= 0 && all[i].from_pe < pe->n_pes
                       ? pe->peers[all[i].from_pe].node
                       : n_nodes;
        if (node >= n_nodes || nodes[node].has_ended ||
            !gsh_hang_is_sound(&all[i].record, sizeof(all[i].record))) {
            continue;
        }
        nodes[node].quiet_ms = 0;
        nodes[node].has_ended = all[i].record.kind == GSH_HANG_END;
        is_taken = nodes[node].has_ended || put(to, &all[i].record);
    }
    free(all);
    return is_taken;
}

static void gather(struct gsh_instance *pe, struct node *nodes, int n_nodes, unsigned patience_ms,
                   bool (*put)(void *to, const struct gsh_hang_record *record), void *to)
{
    const struct timespec nap = {.tv_nsec = STEP_MS * 1000000L};
    uint64_t start_ns = gsh_now_ns();
    bool is_over = false;
    for (int i = 0; i < n_nodes; i++) {
        if (i == pe->peers[pe->my_pe].node) {
            nodes[i].has_ended = true;
        } else {
            ask_next(pe, &nodes[i], i);
        }
    }
    while (!is_over && gsh_now_ns() - start_ns < patience_ms * UINT64_C(1000000)) {
        gsh_proxy_help(pe->proxy);
        nanosleep(&nap, NULL);
        is_over = !pass_on(pe, nodes, n_nodes, put, to);
        bool have_all = true;
        for (int i = 0; i < n_nodes && !is_over; i++) {
            have_all = have_all && nodes[i].has_ended;
            nodes[i].quiet_ms += STEP_MS;
            if (!nodes[i].has_ended && nodes[i].quiet_ms >= NEXT_PE_MS) {
                ask_next(pe, &nodes[i], i);
            }
        }
        is_over = is_over || have_all;
    }
}

void gsh_hang_gather(struct gsh_instance *pe, unsigned patience_ms,
                     bool (*put)(void *to, const struct gsh_hang_record *record), void *to)
{
    static uint32_t last_serial; /* under gather_lock */
    int n_nodes = pe->n_nodes < NODES_MAX ? pe->n_nodes : NODES_MAX;
    struct node *nodes = calloc((size_t)n_nodes, sizeof(*nodes));
    if (nodes != NULL && pe->proxy != NULL) {
        pthread_mutex_lock(&gather_lock);
        last_serial = last_serial + 1 != 0 ? last_serial + 1 : 1;
        set_serial(last_serial);
        gather(pe, nodes, n_nodes, patience_ms, put, to);
        set_serial(0);
        pthread_mutex_unlock(&gather_lock);
    }
    free(nodes);
}

/* ---- answering ---- */

struct answer {
    struct gsh_instance *pe;
    int to_pe;
    struct notice notice;
};

static void flush(struct answer *a)
{
    if (a->notice.n > 0) {
        gsh_proxy_notify(a->pe->proxy, a->to_pe, &a->notice, NOTICE_BYTES(a->notice.n));
        a->notice.n = 0;
    }
}

static void add(struct answer *a, const struct gsh_hang_record *r)
{
    a->notice.records[a->notice.n++] = *r;
    if (a->notice.n == RECORDS_AT_ONCE) {
        flush(a);
    }
}

static void add_member(struct answer *a, const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_member *m = &job->members[pe];
    bool has_answered = m->answer == GSH_HANG_ANSWERED;
    struct gsh_hang_record r = {.magic = GSH_HANG_MAGIC,
                                .kind = has_answered ? GSH_HANG_PE : GSH_HANG_ABSENT,
                                .job = job->job,
                                .pe = pe};
    r.about = m->about;
    r.about.pe = pe;
    r.about.n_pes = job->n_pes;
    r.about.n_nodes = a->pe->n_nodes;
    r.about.node = a->pe->peers[pe].node;
    r.about.os_pid = has_answered ? m->about.os_pid : m->os_pid;
    r.about.state = (unsigned char)m->state;
    add(a, &r);
    r.kind = GSH_HANG_WAIT;
    for (int i = 0; i < job->n_waits && has_answered; i++) {
        if (job->waits[i].pe == pe) {
            r.wait = job->waits[i].wait;
            add(a, &r);
        }
    }
}

void gsh_hang_answer_far(struct gsh_instance *pe, int to_pe, uint32_t serial)
{
    struct answer a = {.pe = pe,
                       .to_pe = to_pe,
                       .notice = {.magic = GSH_HANG_MAGIC, .kind = ANSWER, .serial = serial}};
    const struct gsh_hang_record end = {.magic = GSH_HANG_MAGIC, .kind = GSH_HANG_END};
    struct gsh_hang_jobs jobs;
    if (!gsh_hang_ask(&jobs, gsh_hang_job_of(pe), false)) {
        return;
    }
    const struct gsh_hang_job *job = gsh_hang_find(&jobs, gsh_hang_job_of(pe));
    for (int k = 0; job != NULL && k < job->n_pes; k++) {
        if (k < pe->n_pes && pe->peers[k].node == pe->peers[pe->my_pe].node) {
            add_member(&a, job, k);
        }
    }
    add(&a, &end);
    flush(&a);
    gsh_hang_jobs_free(&jobs);
}
