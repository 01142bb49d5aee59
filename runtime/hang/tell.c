/* SPDX-License-Identifier: Apache-2.0
 * See tell.h. */
#include "runtime/hang/tell.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/array.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "hang/analyse.h"
#include "hang/ask.h"
#include "hang/print.h"
#include "runtime/hang/collect.h"
#include "runtime/hang/far.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/job_report.h"
#include "runtime/instance/waits.h"

#define TASKS_MAX       16   /* at a time; more are not begun */
#define FAR_PATIENCE_MS 1900 /* below GSH_HANG_FAR_PATIENCE_MS */

struct task {
    void (*run)(const struct task *);
    struct gsh_instance *pe;
    int fd, to_pe;
    uint32_t serial;
    int slot;              /* its own */
    struct notice *notice; /* likewise */
};

/* A wait that has lasted long. */
struct notice {
    const char *call;
    uint64_t since_ns;
    int n;     /* PEs that are to make the call */
    int pes[]; /* [n] */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_ended = PTHREAD_COND_INITIALIZER;
static struct gsh_instance **pes; /* [n_pes]: that tasks may use */
static size_t n_pes, room;
static struct gsh_instance *busy[TASKS_MAX]; /* whose task each slot has; NULL: none */

/* ---- threads ---- */

static void *task_main(void *arg)
{
    struct task *t = arg;
    gsh_log_set_pe(t->pe->my_pe);
    t->run(t);
    pthread_mutex_lock(&lock);
    busy[t->slot] = NULL;
    pthread_cond_broadcast(&has_ended);
    pthread_mutex_unlock(&lock);
    free(t->notice);
    free(t);
    return NULL;
}

static bool is_listed(const struct gsh_instance *pe)
{
    for (size_t i = 0; i < n_pes; i++) {
        if (pes[i] == pe) {
            return true;
        }
    }
    return false;
}

/* Under the lock: the first slot of that PE's, or TASKS_MAX. NULL: a free one. */
static int slot_of(const struct gsh_instance *pe)
{
    int slot = 0;
    while (slot < TASKS_MAX && busy[slot] != pe) {
        slot++;
    }
    return slot;
}

/* Under the lock. */
static bool begin(struct task task)
{
    pthread_t thread;
    task.slot = slot_of(NULL);
    struct task *t = task.slot < TASKS_MAX ? malloc(sizeof(*t)) : NULL;
    if (t == NULL) {
        return false;
    }
    *t = task;
    if (gsh_create_thread(&thread, NULL, task_main, t) != 0) {
        free(t);
        return false;
    }
    pthread_detach(thread);
    busy[task.slot] = task.pe;
    return true;
}

static bool begin_for(struct task task)
{
    pthread_mutex_lock(&lock);
    bool has_begun = is_listed(task.pe) && begin(task);
    pthread_mutex_unlock(&lock);
    return has_begun;
}

void gsh_hang_tell_begin(struct gsh_instance *pe)
{
    gsh_job_report_by(gsh_hang_tell_job);
    gsh_job_notice_by(gsh_hang_tell_notice);
    pthread_mutex_lock(&lock);
    if (gsh_array_reserve(&pes, &room, n_pes + 1, sizeof(struct gsh_instance *))) {
        pes[n_pes++] = pe;
    }
    pthread_mutex_unlock(&lock);
}

void gsh_hang_tell_end(struct gsh_instance *pe)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pes; i++) {
        if (pes[i] == pe) {
            pes[i] = pes[--n_pes];
            break;
        }
    }
    /* Not for those of other PEs: while somebody asks again and again, there is always one. */
    while (slot_of(pe) < TASKS_MAX) {
        pthread_cond_wait(&has_ended, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- tasks ---- */

static void print(const struct gsh_instance *pe)
{
    struct gsh_hang_jobs jobs;
    if (!gsh_hang_ask(&jobs, gsh_hang_job_of(pe), true)) {
        return;
    }
    const struct gsh_hang_job *job = gsh_hang_find(&jobs, gsh_hang_job_of(pe));
    char *text = job != NULL ? gsh_hang_text(job) : NULL;
    if (text != NULL) {
        gsh_log_text(text);
    }
    free(text);
    gsh_hang_jobs_free(&jobs);
}

static void print_for_signal(const struct task *t)
{
    print(t->pe);
}

static void print_for_limit(const struct task *t)
{
    print(t->pe);
    gsh_job_report_end(t->pe);
}

void gsh_hang_tell_all(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pes; i++) {
        bool is_new = true; /* one report for each job */
        for (size_t k = 0; k < i; k++) {
            is_new = is_new && gsh_hang_job_of(pes[k]) != gsh_hang_job_of(pes[i]);
        }
        if (is_new) {
            (void)begin((struct task){.run = print_for_signal, .pe = pes[i]});
        }
    }
    pthread_mutex_unlock(&lock);
}

bool gsh_hang_tell_job(struct gsh_instance *pe)
{
    return begin_for((struct task){.run = print_for_limit, .pe = pe});
}

static void print_notice(const struct task *t)
{
    const struct notice *n = t->notice;
    struct gsh_hang_jobs jobs;
    char missing[768];
    if (!gsh_hang_ask(&jobs, gsh_hang_job_of(t->pe), true)) {
        return;
    }
    const struct gsh_hang_job *job = gsh_hang_find(&jobs, gsh_hang_job_of(t->pe));
    if (job != NULL &&
        gsh_hang_word_missing(job, t->pe->my_pe, n->call, n->pes, n->n, missing, sizeof(missing))) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_SYNC,
                "%s has waited %.1f s, and waits on; these have not come: %s", n->call,
                (double)(gsh_now_ns() - n->since_ns) / 1e9, missing);
    }
    gsh_hang_jobs_free(&jobs);
}

bool gsh_hang_tell_notice(struct gsh_instance *pe, const struct gsh_waiting *what,
                          uint64_t since_ns)
{
    const int count = what->members != NULL ? what->n_members : pe->n_pes;
    struct notice *n = malloc(sizeof(*n) + (size_t)count * sizeof(n->pes[0]));
    if (n == NULL) {
        return false;
    }
    *n = (struct notice){.call = what->call, .since_ns = since_ns, .n = count};
    for (int i = 0; i < count; i++) {
        n->pes[i] = what->members != NULL ? what->members[i] : i;
    }
    bool has_begun = begin_for((struct task){.run = print_notice, .pe = pe, .notice = n});
    if (!has_begun) {
        free(n);
    }
    return has_begun;
}

static bool send_record(void *to, const struct gsh_hang_record *record)
{
    int fd = *(int *)to;
    return send(fd, record, sizeof(*record), MSG_NOSIGNAL) == (ssize_t)sizeof(*record);
}

static void gather_for_asker(const struct task *t)
{
    const struct gsh_hang_record end = {.magic = GSH_HANG_MAGIC, .kind = GSH_HANG_END};
    int fd = t->fd;
    gsh_hang_gather(t->pe, FAR_PATIENCE_MS, send_record, &fd);
    (void)send_record(&fd, &end);
    close(fd);
}

void gsh_hang_tell_asker(int fd, uint64_t job)
{
    bool has_begun = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pes && !has_begun; i++) {
        if (gsh_hang_job_of(pes[i]) == job && pes[i]->proxy != NULL) {
            has_begun = begin((struct task){.run = gather_for_asker, .pe = pes[i], .fd = fd});
        }
    }
    pthread_mutex_unlock(&lock);
    if (!has_begun) {
        close(fd);
    }
}

static void answer_far(const struct task *t)
{
    gsh_hang_answer_far(t->pe, t->to_pe, t->serial);
}

bool gsh_hang_receive(struct gsh_instance *pe, int from_pe, const void *data, size_t bytes)
{
    uint32_t serial = 0;
    enum gsh_hang_far_notice notice = gsh_hang_far_receive(from_pe, data, bytes, &serial);
    if (notice == GSH_HANG_FAR_QUESTION) {
        (void)begin_for(
            (struct task){.run = answer_far, .pe = pe, .to_pe = from_pe, .serial = serial});
    }
    return notice != GSH_HANG_FAR_OTHER;
}
