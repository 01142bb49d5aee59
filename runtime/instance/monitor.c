/* SPDX-License-Identifier: Apache-2.0
 * The monitor: a star of SOCK_SEQPACKET connections between the processes of a node, whose centre
 * is the node's lowest PE, made through its listener (bootstrap/uds.h). A connection that closes
 * without LEAVE is a death: forked children do not keep it open (base/private_fd.h). When gshmemrun
 * ends, the job must end: the processes that gshmemrun has started are killed, but not those that
 * these have started.
 * */
#include "runtime/instance/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/handler.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/private_fd.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/util.h"
#include "bootstrap/uds.h"
#include "bootstrap/socket.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/descriptors.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"

enum message_kind { MESSAGE_LEAVE = 1, MESSAGE_ABORT, MESSAGE_DEAD };

struct message {
    uint32_t kind;
    int32_t pe;
    int32_t status;
    uint32_t is_unsaid; /* DEAD: the finder has printed nothing */
};

/* After the links. */
enum own_poll { POLL_WAKE, POLL_LAUNCHER, N_OWN_POLLS };

struct gsh_monitor {
    struct gsh_instance *pe;
    int centre;
    bool is_centre;
    struct gsh_uds_key of;                /* until the links are made */
    struct gsh_uds_listener *listener;    /* the centre's, until all links are made */
    struct gsh_uds_connection connection; /* the others', until then */
    int wake_fd;                          /* written to end or to re-poll the thread */
    int n_links;
    struct pollfd *polls;       /* [n_links + N_OWN_POLLS], the last are enum own_poll's; a closed
                                 * link has fd -1 */
    int *link_pe;               /* [n_links] */
    struct message end;         /* put off, since it came while this PE's kernels leave; kind 0:
                                 * none */
    uint32_t is_stopping;       /* atomic */
    uint32_t is_device_watched; /* atomic; set after look */
    void (*look)(struct gsh_instance *pe);
    bool is_running;
    pthread_t thread;
};

#define WAIT_MS         1000 /* between looks at the clock */
#define FULL_BACKLOG_MS 1
#define BELL_MS         100 /* between looks at what the bell has no input for */
#define REPORT_POLL_MS  100
#define PUT_OFF_MS      20 /* between checks of whether to put it off still */
/* The PE that ends the job tells the others, then exits this much earlier than they do: a launcher
 * reports the first process to exit. */
#define ORIGIN_FIRST_NS 5000000

static void send_to(int fd, const struct message *m)
{
    if (fd >= 0) {
        /* a failure means that the other side is gone, which its EOF shows better */
        (void)!send(fd, m, sizeof(*m), MSG_NOSIGNAL);
    }
}

static void send_all(struct gsh_monitor *w, const struct message *m)
{
    for (int i = 0; i < w->n_links; i++) {
        send_to(w->polls[i].fd, m);
    }
}

/* The process's end after another PE's: nothing of this process is worth saving. */
static void __attribute__((noreturn))
end_process(struct gsh_monitor *w, int origin, int status, const char *why)
{
    const struct timespec nap = {.tv_nsec = ORIGIN_FIRST_NS};
    gsh_store_release_u32(&w->pe->page->control.abort_word, GSH_ABORT_END);
    gsh_end_notice_tell(w->pe, origin, status, why);
    gsh_process_say_follows();
    nanosleep(&nap, NULL);
    _exit(status);
}

/* One message for a death, however many find it: the first to take the dead PE's abort word prints
 * it. A PE that ended the job, or was told of its end, has set it already. */
static bool is_first_to_find(struct gsh_monitor *w, int dead_pe)
{
    struct gsh_host_page *page = gsh_page_of(w->pe, dead_pe);
    return page == NULL || gsh_page_end(page);
}

bool gsh_monitor_is_ended_by_launcher(const struct gsh_monitor *monitor, int dead_pe)
{
    int failed = -1;
    return monitor != NULL && monitor->polls[monitor->n_links + POLL_LAUNCHER].fd >= 0 &&
           gsh_process_ends_others(monitor->pe->env.launcher, &failed) && failed != dead_pe;
}

static void say_death(struct gsh_monitor *w, int dead_pe)
{
    if (gsh_monitor_is_ended_by_launcher(w, dead_pe)) {
        return;
    }
    if (is_first_to_find(w, dead_pe)) {
        gsh_fail(GSH_ERR_PEER, "PE %d died or exited without gshmem_finalize; ending", dead_pe);
        gsh_handler_tell(w->pe->my_pe, 1, gsh_last_error());
    }
}

/* Puts off the end of the job that the message announces, because this PE's kernels leave their
 * waits and its host may have given up the job for good. The first message counts. */
static bool put_off(struct gsh_monitor *w, const struct message *m)
{
    bool is_leaving = gsh_page_is_leaving(w->pe->page);
    if (is_leaving && w->end.kind == 0) {
        w->end = *m;
    }
    return is_leaving;
}

static void end_for_death(struct gsh_monitor *w, int dead_pe)
{
    struct message m = {.kind = MESSAGE_DEAD, .pe = dead_pe, .status = 1};
    if (gsh_page_is_ending(w->pe->page)) {
        return; /* this PE is ending the job, with its own status */
    }
    /* others may still wait for the dead one, and report it */
    m.is_unsaid = gsh_page_is_leaving(w->pe->page);
    if (!m.is_unsaid) {
        say_death(w, dead_pe);
    }
    if (w->is_centre) {
        send_all(w, &m);
    }
    if (!put_off(w, &m)) {
        end_process(w, dead_pe, 1, "died");
    }
}

static void end_for_message(struct gsh_monitor *w, const struct message *m)
{
    if (m->kind == MESSAGE_ABORT) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "ending: PE %d ended the job", m->pe);
        gsh_report_print(w->pe); /* perhaps what that PE waited for */
        end_process(w, m->pe, m->status, "ended the job");
    }
    if (m->is_unsaid) {
        say_death(w, m->pe);
    }
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "ending: PE %d died", m->pe);
    end_process(w, m->pe, 1, "died");
}

static void handle(struct gsh_monitor *w, int link, const struct message *m)
{
    switch (m->kind) {
    case MESSAGE_LEAVE:
        gsh_socket_close(&w->polls[link].fd);
        break;
    case MESSAGE_ABORT:
        if (w->is_centre) {
            send_all(w, m);
        }
        /* fall through */
    case MESSAGE_DEAD:
        if (!put_off(w, m)) {
            end_for_message(w, m);
        }
        break;
    default:
        break;
    }
}

static void read_link(struct gsh_monitor *w, int link)
{
    struct message m;
    ssize_t n = recv(w->polls[link].fd, &m, sizeof(m), MSG_DONTWAIT);
    if (n == (ssize_t)sizeof(m)) {
        handle(w, link, &m);
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        gsh_descriptors_check(w->pe, GSH_IN_A_THREAD); /* before it forgets this one */
        gsh_socket_close(&w->polls[link].fd);
        if (!w->pe->outlives_deaths) { /* death.c sees it, too */
            end_for_death(w, w->link_pe[link]);
        }
    }
}

/* No PE is to blame; each process finds it by itself. */
static void end_for_launcher(struct gsh_monitor *w)
{
    gsh_descriptors_check(w->pe, GSH_IN_A_THREAD);
    gsh_fail(GSH_ERR_PEER, "gshmemrun has died; ending");
    gsh_handler_tell(w->pe->my_pe, 1, gsh_last_error());
    end_process(w, w->pe->my_pe, 1, "lost gshmemrun");
}

static void *monitor_main(void *arg)
{
    struct gsh_monitor *w = arg;
    gsh_log_set_pe(w->pe->my_pe);
    for (;;) {
        /* acquire: pairs with the release in gsh_monitor_device */
        bool has_device = gsh_load_acquire_u32(&w->is_device_watched) != 0;
        int limit_ms = w->end.kind != 0 ? PUT_OFF_MS : has_device ? REPORT_POLL_MS : -1;
        int n = poll(w->polls, (nfds_t)w->n_links + N_OWN_POLLS, limit_ms);
        /* acquire: pairs with the release in gsh_monitor_destroy */
        if (gsh_load_acquire_u32(&w->is_stopping) != 0) {
            return NULL;
        }
        if (has_device) {
            w->look(w->pe);
        }
        if (w->end.kind != 0 && !gsh_page_is_leaving(w->pe->page)) {
            end_for_message(w, &w->end);
        }
        for (int i = 0; n > 0 && i < w->n_links; i++) {
            if (w->polls[i].fd >= 0 && w->polls[i].revents != 0) {
                read_link(w, i);
            }
        }
        if (n > 0 && w->polls[w->n_links + POLL_LAUNCHER].revents != 0) {
            end_for_launcher(w);
        }
        if (w->polls[w->n_links + POLL_WAKE].revents != 0) {
            uint64_t drained;
            (void)!read(w->wake_fd, &drained, sizeof(drained));
        }
    }
}

static void wake(struct gsh_monitor *w)
{
    uint64_t one = 1;
    (void)!write(w->wake_fd, &one, sizeof(one));
}

/* Waits for input, at most that long. GSH_ERR_TIMEOUT, without a text, past the deadline;
 * GSH_ERR_PEER, noted, if another PE of the node has failed. */
static enum gsh_result wait_for(struct gsh_monitor *w, int fd, int most_ms, uint64_t deadline_ns)
{
    struct pollfd p[2] = {
        {.fd = fd, .events = POLLIN},
        {.fd = w->pe->bell != NULL ? gsh_bell_fd(w->pe->bell) : -1, .events = POLLIN}};
    int limit_ms = gsh_deadline_poll_ms(deadline_ns);
    if (limit_ms == 0) {
        return GSH_ERR_TIMEOUT;
    }
    limit_ms = gsh_poll_ms_at_most(limit_ms, most_ms);
    (void)poll(p, 2, w->pe->bell != NULL ? gsh_poll_ms_at_most(limit_ms, BELL_MS) : limit_ms);
    return gsh_bell_has_rung(w->pe) ? GSH_ERR_PEER : GSH_OK;
}

static bool is_linked_to(const struct gsh_monitor *w, int other)
{
    for (int i = 0; i < w->n_links; i++) {
        if (w->polls[i].fd >= 0 && w->link_pe[i] == other) {
            return true;
        }
    }
    return false;
}

static bool is_of_node(const struct gsh_instance *pe, int other)
{
    return other >= 0 && other < pe->n_pes && other != pe->my_pe &&
           pe->peers[other].node == pe->peers[pe->my_pe].node;
}

static enum gsh_result fail_missing(const struct gsh_monitor *w, int n_missing)
{
    int first = 0;
    while (!is_of_node(w->pe, first) || is_linked_to(w, first)) {
        first++;
    }
    return gsh_note(GSH_ERR_TIMEOUT, "PE %d, one of %d missing, did not connect to PE %d in %g s",
                    first, n_missing, w->pe->my_pe, (double)w->pe->env.bootstrap_timeout_ns * 1e-9);
}

static enum gsh_result accept_links(struct gsh_monitor *w)
{
    uint64_t deadline_ns = gsh_deadline_in(w->pe->env.bootstrap_timeout_ns);
    for (int got = 0; got < w->n_links;) {
        int fd, from;
        enum gsh_result r = gsh_uds_accept(w->listener, &fd, &from);
        if (r != GSH_OK) {
            return gsh_note(r, "connections of the monitor: %s", strerror(errno));
        }
        if (fd < 0) {
            r = wait_for(w, gsh_uds_fd(w->listener), gsh_uds_poll_ms(w->listener, WAIT_MS),
                         deadline_ns);
        } else if (is_of_node(w->pe, from) && !is_linked_to(w, from)) {
            w->polls[got].fd = fd;
            gsh_private_fd_add(fd);
            w->link_pe[got++] = from;
        } else {
            close(fd);
        }
        if (r != GSH_OK) {
            return r == GSH_ERR_TIMEOUT ? fail_missing(w, w->n_links - got) : r;
        }
    }
    return GSH_OK;
}

static enum gsh_result connect_centre(struct gsh_monitor *w)
{
    const struct gsh_uds_key *of = &w->of;
    const int centre = w->centre;
    uint64_t deadline_ns = gsh_deadline_in(w->pe->env.bootstrap_timeout_ns);
    for (;;) {
        bool is_in = false;
        enum gsh_result r = gsh_uds_connect(&w->connection, of, w->pe->my_pe, centre);
        if (r == GSH_OK && w->connection.has_sent_hello) {
            r = gsh_uds_receive_answer(&w->connection, of, &is_in);
        }
        /* a thread of this process may not be as far, nor have met this one */
        const bool is_early = r == GSH_ERR_PEER && gsh_instance_of(w->pe, centre) != NULL;
        if (r != GSH_OK && !is_early) {
            return gsh_uds_fail(r, "init: the monitor", centre);
        }
        if (is_in) {
            w->polls[0].fd = w->connection.fd;
            gsh_private_fd_add(w->connection.fd);
            w->link_pe[0] = centre;
            w->connection.fd = -1;
            return GSH_OK;
        }
        r = w->connection.has_sent_hello ? wait_for(w, w->connection.fd, WAIT_MS, deadline_ns)
                                         : wait_for(w, -1, FULL_BACKLOG_MS, deadline_ns);
        if (r == GSH_ERR_PEER) {
            return r;
        }
        if (r != GSH_OK) {
            return gsh_note(r, "PE %d did not let PE %d in within %g s", centre, w->pe->my_pe,
                            (double)w->pe->env.bootstrap_timeout_ns * 1e-9);
        }
    }
}

static bool has_other_process(const struct gsh_instance *pe, int node)
{
    for (int i = 0; i < pe->n_pes; i++) {
        if (pe->peers[i].node == node && gsh_instance_of(pe, i) == NULL) {
            return true;
        }
    }
    return false;
}

/* Links: from each PE of the node to the lowest one. PEs that are threads of the centre's process
 * need none, but get one so that all PEs behave alike. What may be missing is made before the
 * others rely on this PE. */
static enum gsh_result prepare(struct gsh_monitor *w)
{
    struct gsh_instance *pe = w->pe;
    int node = pe->peers[pe->my_pe].node;
    int members = 0;
    w->centre = -1;
    for (int i = 0; i < pe->n_pes; i++) {
        if (pe->peers[i].node == node) {
            w->centre = w->centre < 0 ? i : w->centre;
            members++;
        }
    }
    bool is_linked = has_other_process(pe, node);
    w->is_centre = w->centre == pe->my_pe;
    w->n_links = !is_linked ? 0 : w->is_centre ? members - 1 : 1;
    w->polls = calloc((size_t)w->n_links + N_OWN_POLLS, sizeof(*w->polls));
    w->link_pe = calloc((size_t)w->n_links + 1, sizeof(*w->link_pe));
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->polls == NULL || w->link_pe == NULL || w->wake_fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM, "cannot make the monitor: %s", strerror(errno));
    }
    gsh_private_fd_add(w->wake_fd);
    for (int i = 0; i < w->n_links; i++) {
        w->polls[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    }
    w->polls[w->n_links + POLL_WAKE] = (struct pollfd){.fd = w->wake_fd, .events = POLLIN};
    /* PEs that are all threads of one process lose no peer with the launcher */
    int launcher = pe->is_one_process ? -1 : gsh_process_note_ancestor(pe->env.launcher);
    w->polls[w->n_links + POLL_LAUNCHER] = (struct pollfd){.fd = launcher, .events = POLLIN};
    gsh_uds_key(&w->of, pe->secret, "monitor");
    if (!is_linked) {
        return GSH_OK;
    }
    enum gsh_result r = w->is_centre ? gsh_uds_listen(&w->of, w->centre, &w->listener)
                                     : gsh_uds_connection_create(&w->connection);
    return r == GSH_OK ? r : gsh_note(r, "socket of the monitor: %s", strerror(errno));
}

enum gsh_result gsh_monitor_link(struct gsh_monitor *w)
{
    enum gsh_result r = GSH_OK;
    if (w->n_links > 0) {
        r = w->is_centre ? accept_links(w) : connect_centre(w);
        gsh_uds_close(&w->listener); /* those that are still outside need not wait */
    }
    explicit_bzero(&w->of, sizeof(w->of));
    return r;
}

static enum gsh_result start(struct gsh_monitor *w)
{
    int e = gsh_create_thread(&w->thread, NULL, monitor_main, w);
    if (e != 0) {
        return gsh_note(GSH_ERR_SYSTEM, "cannot start the monitor: %s%s", strerror(e),
                        gsh_limits_hint(e, &(struct gsh_limits_text){0}));
    }
    pthread_setname_np(w->thread, "gshmem-monitor");
    w->is_running = true;
    return GSH_OK;
}

enum gsh_result gsh_monitor_prepare(struct gsh_instance *pe, struct gsh_monitor **out)
{
    struct gsh_monitor *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the monitor");
    }
    w->pe = pe;
    w->connection.fd = w->wake_fd = -1;
    enum gsh_result r = prepare(w);
    if (r != GSH_OK) {
        gsh_monitor_destroy(&w);
        return r;
    }
    *out = w;
    return GSH_OK;
}

enum gsh_result gsh_monitor_start(struct gsh_monitor *monitor)
{
    const bool has_work =
        monitor->n_links > 0 || monitor->polls[monitor->n_links + POLL_LAUNCHER].fd >= 0;
    return has_work ? start(monitor) : GSH_OK;
}

enum gsh_result gsh_monitor_device(struct gsh_instance *pe, void (*look)(struct gsh_instance *pe))
{
    struct gsh_monitor *w = pe->monitor;
    w->look = look;
    /* release: pairs with the acquire in monitor_main */
    gsh_store_release_u32(&w->is_device_watched, 1);
    if (w->is_running) {
        wake(w);
        return GSH_OK;
    }
    return gsh_blame(start(w), "init");
}

void gsh_monitor_tell_abort(struct gsh_monitor *monitor, int status)
{
    if (monitor != NULL) {
        struct message m = {.kind = MESSAGE_ABORT, .pe = monitor->pe->my_pe, .status = status};
        send_all(monitor, &m);
    }
}

void gsh_monitor_destroy(struct gsh_monitor **monitor)
{
    struct gsh_monitor *w = *monitor;
    if (w == NULL) {
        return;
    }
    if (w->is_running) {
        /* release: pairs with the acquire in monitor_main */
        gsh_store_release_u32(&w->is_stopping, 1);
        wake(w);
        pthread_join(w->thread, NULL);
    }
    if (w->polls != NULL) {
        struct message m = {.kind = MESSAGE_LEAVE, .pe = w->pe->my_pe};
        send_all(w, &m);
        for (int i = 0; i < w->n_links; i++) {
            gsh_socket_close(&w->polls[i].fd);
        }
        if (w->polls[w->n_links + POLL_LAUNCHER].fd >= 0) {
            close(w->polls[w->n_links + POLL_LAUNCHER].fd);
        }
    }
    gsh_private_fd_close(&w->wake_fd);
    gsh_socket_close(&w->connection.fd);
    gsh_uds_close(&w->listener);
    explicit_bzero(&w->of, sizeof(w->of));
    free(w->polls);
    free(w->link_pe);
    free(w);
    *monitor = NULL;
}
