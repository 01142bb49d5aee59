/* SPDX-License-Identifier: Apache-2.0
 * See serve.h. The process's list of PEs has a lock, which the thread holds while it collects: so
 * no PE ends meanwhile. */
#include "runtime/hang/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/private_fd.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/result.h"
#include "base/util.h"
#include "bootstrap/socket.h"
#include "hang/names.h"
#include "runtime/hang/collect.h"
#include "runtime/hang/look.h"
#include "runtime/hang/mark.h"
#include "runtime/hang/signal.h"
#include "runtime/hang/tell.h"
#include "runtime/instance/instance.h"

#define BACKLOG     16
#define PATIENCE_US 300000 /* for an asker that sends no question, or does not read */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_instance **pes; /* [n_pes] */
static size_t n_pes, room;
/* Held by those that begin and end PEs; taken before the other. */
static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;
/* While there are PEs: */
static int listener = -1, wake_fd = -1, signal_fd = -1;
static pthread_t thread;
static bool is_running;
static uint32_t is_stopping; /* atomic */

/* ---- answers ---- */

/* With a time limit, a process that is stopped and continued is interrupted here. */
static bool send_record(void *to, const struct gsh_hang_record *record)
{
    ssize_t n;
    do {
        n = send(*(int *)to, record, sizeof(*record), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*record);
}

static bool receive_question(int fd, struct gsh_hang_question *question)
{
    ssize_t n;
    do {
        n = recv(fd, question, sizeof(*question), MSG_TRUNC);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*question) && question->magic == GSH_HANG_MAGIC;
}

static bool has_asked(int fd, struct gsh_hang_question *question)
{
    const struct timeval limit = {.tv_usec = PATIENCE_US};
    return gsh_peer_is_of(fd, geteuid()) &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
           receive_question(fd, question);
}

/* Under the lock. */
static bool concerns_a_pe(const struct gsh_hang_question *question)
{
    bool is = question->job == 0;
    for (size_t i = 0; i < n_pes; i++) {
        is = is || gsh_hang_job_of(pes[i]) == question->job;
    }
    return is;
}

/* False: there is no descriptor for the asker, who waits in the kernel's queue. */
static bool answer(void)
{
    const struct gsh_hang_record end = {.magic = GSH_HANG_MAGIC, .kind = GSH_HANG_END};
    struct gsh_hang_question question = {0};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return !gsh_error_is_no_descriptor(errno);
    }
    bool is_asked = has_asked(fd, &question);
    if (is_asked && question.is_far != 0) {
        gsh_hang_tell_asker(fd, question.job);
        return true;
    }
    if (is_asked) {
        pthread_mutex_lock(&lock);
        if (concerns_a_pe(&question)) {
            gsh_hang_collect(pes, (int)n_pes, send_record, &fd);
        }
        pthread_mutex_unlock(&lock);
        (void)send_record(&fd, &end);
    }
    close(fd);
    return true;
}

static void *serve(void *unused)
{
    struct pollfd polls[] = {{.fd = listener, .events = POLLIN},
                             {.fd = wake_fd, .events = POLLIN},
                             {.fd = signal_fd, .events = POLLIN}};
    uint64_t count;
    (void)unused;
    for (;;) {
        bool is_paused = polls[0].fd < 0;
        int n = poll(polls, GSH_ARRAY_LEN(polls),
                     is_paused ? (int)(GSH_ACCEPT_RETRY_NS / 1000000) : -1);
        /* acquire: pairs with the release in stop */
        if (gsh_load_acquire_u32(&is_stopping) != 0) {
            return NULL;
        }
        if (n == 0) {
            polls[0].fd = listener;
        } else if (polls[0].revents != 0 && !answer()) {
            polls[0].fd = -1;
        }
        if (polls[2].revents != 0 && read(signal_fd, &count, sizeof(count)) == sizeof(count)) {
            gsh_hang_tell_all();
        }
    }
}

/* ---- its life: under life_lock ---- */

static bool open_listener(void)
{
    struct sockaddr_un at;
    socklen_t bytes = gsh_hang_name_listener(&at, gsh_process_id(), (int)getpid());
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return listener >= 0 && wake_fd >= 0 && signal_fd >= 0 &&
           bind(listener, (struct sockaddr *)&at, bytes) == 0 && listen(listener, BACKLOG) == 0;
}

static void close_all(void)
{
    gsh_private_fd_close(&listener);
    gsh_private_fd_close(&wake_fd);
    gsh_private_fd_close(&signal_fd);
}

/* A process that answers has taken the signal. */
static void start(const struct gsh_instance *pe)
{
    gsh_store_release_u32(&is_stopping, 0);
    if (open_listener()) {
        gsh_private_fd_add(listener);
        gsh_private_fd_add(wake_fd);
        gsh_private_fd_add(signal_fd);
        gsh_hang_signal_take(pe->env.hang_signal, signal_fd);
        is_running = gsh_create_thread(&thread, NULL, serve, NULL) == 0;
        if (is_running) {
            pthread_setname_np(thread, "gshmem-hang");
        }
    }
    if (!is_running) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "no hang reports: %s", strerror(errno));
        gsh_hang_signal_give_back();
        close_all();
    }
}

void gsh_hang_begin(struct gsh_instance *pe)
{
    pthread_mutex_lock(&life_lock);
    pthread_mutex_lock(&lock);
    bool is_in = gsh_array_reserve(&pes, &room, n_pes + 1, sizeof(struct gsh_instance *));
    if (is_in) {
        pes[n_pes++] = pe;
    }
    pthread_mutex_unlock(&lock);
    if (is_in && n_pes == 1) {
        start(pe);
    }
    if (is_in) {
        gsh_hang_mark_begin(pe);
    }
    gsh_hang_tell_begin(pe);
    pthread_mutex_unlock(&life_lock);
}

static void stop(void)
{
    const uint64_t one = 1;
    gsh_hang_signal_give_back();
    /* release: pairs with the acquire in serve */
    gsh_store_release_u32(&is_stopping, 1);
    (void)!write(wake_fd, &one, sizeof(one));
    pthread_join(thread, NULL);
    gsh_hang_look_stop();
    is_running = false;
    close_all();
}

void gsh_hang_end(struct gsh_instance *pe)
{
    gsh_hang_tell_end(pe); /* first, since tasks ask the thread */
    pthread_mutex_lock(&life_lock);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pes; i++) {
        if (pes[i] == pe) {
            gsh_hang_mark_end(pe);
            pes[i] = pes[--n_pes];
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    gsh_hang_look_await(pe);
    if (n_pes == 0 && is_running) {
        stop();
    }
    pthread_mutex_unlock(&life_lock);
}
