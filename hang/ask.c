/* SPDX-License-Identifier: Apache-2.0
 * See ask.h. The names of sockets are read from /proc/net/unix, where other users' stand as well;
 * the kernel says which user answers. */
#include "hang/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/process.h"
#include "hang/names.h"

#define PROCESSES_MAX 8192
#define LIST_READS    4
#define JOBS_MAX      64 /* that one name may mean */

/* A process that has a listener, or what one says of other nodes. */
struct process {
    uint64_t id; /* 0: of other nodes */
    int os_pid;
    int fd;         /* -1: done */
    bool has_ended; /* its answer is complete */
    int left_out;   /* gsh_hang_take's */
};

struct asking {
    struct process *process;
    int n;
    struct gsh_hang_jobs *jobs;
    bool is_of_all;
    uint64_t wanted[JOBS_MAX]; /* [n_wanted]: else these jobs */
    int n_wanted;
    bool asks_far;
};

static bool is_wanted(const struct asking *a, uint64_t job)
{
    bool is = a->is_of_all;
    for (int i = 0; i < a->n_wanted; i++) {
        is = is || a->wanted[i] == job;
    }
    return is;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A descriptor of a connection over which the question has been sent; -1: none. */
static int send_question(const struct process *p, struct gsh_hang_question question)
{
    struct sockaddr_un at;
    socklen_t bytes = gsh_hang_name_listener(&at, p->id, p->os_pid);
    question.magic = GSH_HANG_MAGIC;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&at, bytes) != 0 || !gsh_peer_is_of(fd, geteuid()) ||
        send(fd, &question, sizeof(question), MSG_NOSIGNAL) != (ssize_t)sizeof(question)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A process whose name is listed; a name may be listed once more for each of its connections. With
 * is_last, also one that takes no more connections: it is stopped, and has been asked often. */
static void ask_process(struct asking *a, struct process p, uint64_t job, bool is_last)
{
    for (int i = 0; i < a->n; i++) {
        if (a->process[i].id == p.id) {
            return;
        }
    }
    errno = 0;
    p.fd = send_question(&p, (struct gsh_hang_question){.job = job});
    if (a->n < PROCESSES_MAX && (p.fd >= 0 || (is_last && errno == EAGAIN))) {
        a->process[a->n++] = p;
    } else if (p.fd >= 0) {
        close(p.fd);
    }
}

static bool read_list(struct asking *a, bool is_last)
{
    char line[512];
    FILE *list = fopen("/proc/net/unix", "re");
    if (list == NULL) {
        return false;
    }
    while (fgets(line, sizeof(line), list) != NULL) {
        struct process p = {.fd = -1, .left_out = -1};
        struct gsh_hang_mark mark;
        if (a->is_of_all && gsh_hang_read_listener(line, &p.id, &p.os_pid)) {
            ask_process(a, p, 0, is_last);
        } else if (!a->is_of_all && gsh_hang_read_mark(line, &mark) && is_wanted(a, mark.job)) {
            p.id = mark.process;
            p.os_pid = mark.os_pid;
            ask_process(a, p, mark.job, is_last);
        }
    }
    fclose(list);
    return true;
}

/* The kernel gives the list a page at a time, and leaves out a socket if one before it has been
 * closed since the page before; a listener may refuse a connection while many ask. So it is read
 * several times. */
static bool find_processes(struct asking *a)
{
    bool can_read = true;
    for (int i = 0; i < LIST_READS && can_read; i++) {
        can_read = read_list(a, i == LIST_READS - 1);
    }
    return can_read;
}

/* Adds the jobs that are called so, by their name or by a process's number. */
static bool read_marks(struct asking *a, const char *name)
{
    char line[512], own[24], *end;
    long number = strtol(name, &end, 10);
    FILE *list = fopen("/proc/net/unix", "re");
    if (list == NULL) {
        return false;
    }
    number = *end == '\0' && number > 0 ? number : -1;
    while (fgets(line, sizeof(line), list) != NULL && a->n_wanted < JOBS_MAX) {
        struct gsh_hang_mark mark;
        if (!gsh_hang_read_mark(line, &mark) || is_wanted(a, mark.job)) {
            continue;
        }
        snprintf(own, sizeof(own), "%08" PRIx64, mark.job);
        if (strcmp(own, name) == 0 || number == mark.os_pid || number == mark.launcher) {
            a->wanted[a->n_wanted++] = mark.job;
        }
    }
    fclose(list);
    return true;
}

static struct gsh_hang_job *job_of(struct gsh_hang_jobs *jobs, uint64_t name)
{
    for (int i = 0; i < jobs->n; i++) {
        if (jobs->job[i].job == name) {
            return &jobs->job[i];
        }
    }
    struct gsh_hang_job *more = realloc(jobs->job, ((size_t)jobs->n + 1) * sizeof(*more));
    if (more == NULL) {
        return NULL;
    }
    jobs->job = more;
    more[jobs->n] = (struct gsh_hang_job){.job = name};
    return &more[jobs->n++];
}

/* The first process of a job of several nodes that answers is asked what the other nodes say. */
static void ask_far(struct asking *a, const struct process *p, struct gsh_hang_job *job)
{
    struct process far = {.id = p->id, .os_pid = p->os_pid, .left_out = -1};
    if (!a->asks_far || job->has_asked_far || a->n == PROCESSES_MAX) {
        return;
    }
    job->has_asked_far = true;
    far.fd = send_question(&far, (struct gsh_hang_question){.is_far = 1, .job = job->job});
    far.id = 0;
    if (far.fd >= 0) {
        a->process[a->n++] = far;
    }
}

/* What has come; closes the connection once the answer is complete, or is none. */
static void receive(struct asking *a, struct process *p)
{
    struct gsh_hang_record r;
    for (;;) {
        ssize_t n = recv(p->fd, &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        bool is_sound = n > 0 && gsh_hang_is_sound(&r, (size_t)n);
        if (is_sound && r.kind != GSH_HANG_END && !is_wanted(a, r.job)) {
            continue; /* the process has PEs of another job, too */
        }
        struct gsh_hang_job *job =
            is_sound && r.kind != GSH_HANG_END ? job_of(a->jobs, r.job) : NULL;
        if (job != NULL && gsh_hang_take(job, &r, &p->left_out)) {
            if (r.kind == GSH_HANG_PE && p->id != 0 && p->left_out < 0) {
                job->members[r.about.pe].os_pid = p->os_pid;
            }
            if (r.kind == GSH_HANG_PE && p->id != 0 && r.about.n_nodes > 1) {
                ask_far(a, p, job);
            }
            continue;
        }
        p->has_ended = is_sound && r.kind == GSH_HANG_END;
        close(p->fd);
        p->fd = -1;
        return;
    }
}

static void await_answers(struct asking *a, struct pollfd *polls)
{
    uint64_t start = now_ms();
    for (;;) {
        int n_open = 0, n_far = 0;
        for (int i = 0; i < a->n; i++) {
            polls[i] = (struct pollfd){.fd = a->process[i].fd, .events = POLLIN};
            n_open += a->process[i].fd >= 0;
            n_far += a->process[i].fd >= 0 && a->process[i].id == 0;
        }
        uint64_t now = now_ms();
        uint64_t end = start + (n_far > 0 ? GSH_HANG_FAR_PATIENCE_MS : GSH_HANG_PATIENCE_MS);
        if (n_open == 0 || now >= end) {
            return;
        }
        if (poll(polls, (nfds_t)a->n, (int)(end - now)) <= 0) {
            continue;
        }
        for (int i = 0, n = a->n; i < n; i++) { /* more may be added */
            if (a->process[i].fd >= 0 && polls[i].revents != 0) {
                receive(a, &a->process[i]);
            }
        }
    }
}

/* 'R', 'S', 'T' ...; 0: there is no such process. */
static char state_of(int os_pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", os_pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return 0;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}

/* The PE's process, if it has a listener here; NULL: it has none. */
static const struct process *find_here(const struct asking *a, const struct gsh_hang_member *m)
{
    for (int i = 0; i < a->n && m->process != 0; i++) {
        if (a->process[i].id == m->process) {
            return &a->process[i];
        }
    }
    return NULL;
}

/* PEs of which nothing is known, on nodes of this machine of which something is. Of other machines'
 * PEs the answers may have come in part. */
static void name_ended(const struct asking *a, struct gsh_hang_job *job)
{
    bool *is_reached = calloc((size_t)job->n_pes, sizeof(*is_reached)); /* by node */
    for (int pe = 0; pe < job->n_pes && is_reached != NULL; pe++) {
        const struct gsh_hang_member *m = &job->members[pe];
        if (m->node >= 0 && m->node < job->n_pes && m->answer != GSH_HANG_UNKNOWN) {
            is_reached[m->node] = is_reached[m->node] || find_here(a, m) != NULL;
        }
    }
    for (int pe = 0; pe < job->n_pes && is_reached != NULL; pe++) {
        struct gsh_hang_member *m = &job->members[pe];
        m->has_ended = m->answer == GSH_HANG_UNKNOWN && m->node >= 0 && m->node < job->n_pes &&
                       is_reached[m->node];
    }
    free(is_reached);
}

/* PEs whose process has a listener, but has not answered. */
static void name_silent(struct asking *a)
{
    for (int k = 0; k < a->jobs->n; k++) {
        struct gsh_hang_job *job = &a->jobs->job[k];
        for (int pe = 0; pe < job->n_pes; pe++) {
            struct gsh_hang_member *m = &job->members[pe];
            const struct process *p = m->answer == GSH_HANG_UNKNOWN ? find_here(a, m) : NULL;
            if (p != NULL) {
                m->answer = GSH_HANG_SILENT;
                m->os_pid = p->os_pid;
                m->state = state_of(m->os_pid);
            }
        }
        name_ended(a, job);
    }
}

/* Nothing is known of any job: then of a process, at least. */
static void note_silent(struct asking *a)
{
    for (int i = 0; i < a->n && a->jobs->n == 0 && a->jobs->silent.os_pid == 0; i++) {
        const struct process *p = &a->process[i];
        char state = p->has_ended || p->id == 0 ? 0 : state_of(p->os_pid);
        if (state != 0) {
            a->jobs->silent = (struct gsh_hang_member){
                .answer = GSH_HANG_SILENT, .node = -1, .os_pid = p->os_pid, .state = state};
        }
    }
}

static bool ask(struct asking *a)
{
    struct pollfd *polls = calloc(PROCESSES_MAX, sizeof(*polls));
    a->process = calloc(PROCESSES_MAX, sizeof(struct process));
    bool is_done = a->process != NULL && polls != NULL && find_processes(a);
    if (is_done) {
        await_answers(a, polls);
        name_silent(a);
        note_silent(a);
    }
    for (int i = 0; i < a->n; i++) {
        if (a->process[i].fd >= 0) {
            close(a->process[i].fd);
        }
    }
    free(a->process);
    free(polls);
    return is_done;
}

bool gsh_hang_ask(struct gsh_hang_jobs *out, uint64_t job, bool asks_far)
{
    *out = (struct gsh_hang_jobs){0};
    struct asking a = {.jobs = out,
                       .is_of_all = job == 0,
                       .wanted = {job},
                       .n_wanted = job != 0,
                       .asks_far = asks_far};
    return ask(&a);
}

bool gsh_hang_ask_named(struct gsh_hang_jobs *out, const char *name, bool asks_far)
{
    *out = (struct gsh_hang_jobs){0};
    struct asking a = {.jobs = out, .asks_far = asks_far};
    bool can_read = true;
    for (int i = 0; i < LIST_READS && can_read; i++) { /* as find_processes */
        can_read = read_marks(&a, name);
    }
    return can_read && ask(&a);
}

void gsh_hang_jobs_free(struct gsh_hang_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++) {
        gsh_hang_free(&jobs->job[i]);
    }
    free(jobs->job);
    *jobs = (struct gsh_hang_jobs){0};
}

const struct gsh_hang_job *gsh_hang_find(const struct gsh_hang_jobs *jobs, uint64_t job)
{
    for (int i = 0; i < jobs->n; i++) {
        if (jobs->job[i].job == job) {
            return &jobs->job[i];
        }
    }
    return NULL;
}
