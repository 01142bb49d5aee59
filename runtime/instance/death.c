/* SPDX-License-Identifier: Apache-2.0
 * See death.h. */
#include "runtime/instance/death.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/private_fd.h"
#include "base/thread.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/descriptors.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/page.h"
#include "runtime/instance/vote.h"

/* The exchange of pipes is the second one over pe->fdpass: init's pages have tag 0. */
#define PIPES_TAG ((uint64_t)1 << 62)
/* Between a death and the end of kernels' waits for the PE. */
#define MOMENT_NS 500000000u

struct gsh_deaths {
    struct gsh_instance *pe;
    int own_fd;           /* to write to */
    int wake_fd;          /* written when the thread has something to do */
    int n;                /* pipes of others */
    struct pollfd *polls; /* [n + 1]; the last is wake_fd; a closed pipe has fd -1 */
    int *pe_of;           /* [n] */
    uint32_t *reported;   /* [n_pes], atomic: by gsh_deaths_report */
    bool *is_known;       /* [n_pes]: the thread has acted on it */
    uint64_t *late_ns;    /* [n_pes]: when its moment ends; 0: none */
    uint32_t is_stopping; /* atomic */
    bool is_running;
    pthread_t thread;
};

static gsh_death_fn *subscriber; /* atomic */

void gsh_deaths_subscribe(gsh_death_fn *subscriber_fn)
{
    /* release: pairs with the acquire in tell */
    __atomic_store_n(&subscriber, subscriber_fn, __ATOMIC_RELEASE);
}

static void tell(struct gsh_instance *pe, int dead)
{
    gsh_death_fn *subscriber_fn = __atomic_load_n(&subscriber, __ATOMIC_ACQUIRE);
    if (subscriber_fn != NULL) {
        subscriber_fn(pe, dead);
    }
}

enum gsh_result gsh_note_death(const char *call)
{
    return gsh_note(GSH_ERR_PEER, "%s: a PE has died or left", call);
}

/* Whether the two overlap or touch; then *a becomes both. */
static bool join(struct gsh_lost_range *a, struct gsh_lost_range b)
{
    uint64_t a_end = a->begin + a->bytes, b_end = b.begin + b.bytes;
    if (a->begin > b_end || b.begin > a_end) {
        return false;
    }
    a->begin = gsh_min_u64(a->begin, b.begin);
    a->bytes = gsh_max_u64(a_end, b_end) - a->begin;
    return true;
}

void gsh_deaths_tell_lost(struct gsh_instance *pe)
{
    /* release: pairs with the acquire in is_lost of device/wait.cuh */
    gsh_store_release_u32(&pe->page->control.n_lost, pe->n_lost);
}

bool gsh_deaths_lose(struct gsh_instance *pe, uint64_t begin, uint64_t bytes)
{
    struct gsh_control *control = &pe->page->control;
    struct gsh_lost_range *lost = control->lost, range = {.begin = begin, .bytes = bytes};
    const uint32_t n_told = control->n_lost; /* kernels may be reading these */
    for (uint32_t i = n_told; bytes > 0 && i < pe->n_lost; i++) {
        if (join(&range, lost[i])) {
            lost[i] = lost[--pe->n_lost];
            i = n_told - 1; /* what did not touch it may touch it now */
        }
    }
    if (bytes == 0 || pe->n_lost == GSH_LOST_RANGES_MAX) {
        return bytes == 0;
    }
    lost[pe->n_lost++] = range;
    return true;
}

/* A step is never taken back, whatever thread finds an earlier one later. */
static void mark(struct gsh_instance *pe, int dead, enum gsh_death death)
{
    /* releases: pair with the acquires in gsh_is_death_at; seq_cst: with open_reports */
    uint8_t *word = &pe->peers[dead].death, was = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (was < (uint8_t)death) {
        if (__atomic_compare_exchange_n(word, &was, (uint8_t)death, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            __atomic_fetch_add(&pe->n_deaths, 1, __ATOMIC_RELEASE);
            return;
        }
    }
}

void gsh_deaths_all(struct gsh_instance *pe, enum gsh_death death)
{
    for (int i = 0; i < pe->n_pes; i++) {
        if (i != pe->my_pe) {
            mark(pe, i, death);
        }
    }
    if (death == GSH_DEATH_KERNELS) {
        gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_LEAVE_FAR);
    }
}

bool gsh_deaths_have_reached_kernels(const struct gsh_instance *pe)
{
    const struct gsh_control *control = &pe->page->control;
    return gsh_load_relaxed_u32(&control->has_left_lost) != 0 ||
           gsh_load_relaxed_u32(&control->abort_word) == GSH_ABORT_LEAVE_FAR ||
           (pe->proxy != NULL && gsh_proxy_n_dropped(pe->proxy) > 0);
}

void gsh_deaths_await_moment(void)
{
    const struct timespec moment = {.tv_nsec = MOMENT_NS};
    nanosleep(&moment, NULL);
}

/* ---- what the thread finds ---- */

/* The nearest PE, at least that far before this one, that lives; this one if there is none. */
static int living_before(const struct gsh_instance *pe, int distance)
{
    int to = (pe->my_pe - distance + pe->n_pes) % pe->n_pes;
    while (to != pe->my_pe && gsh_is_death_among(pe, &to, 1)) {
        to = (to - 1 + pe->n_pes) % pe->n_pes;
    }
    return to;
}

/* Each PE tells the PEs 1, 2, 4, ... before it of all deaths that it knows; for a dead one it tells
 * the next living one instead. It tells all deaths, also earlier ones: the PE that was to tell the
 * receiver of these may have died. */
static void tell_others(struct gsh_instance *pe)
{
    for (int distance = 1, last = pe->my_pe; distance < pe->n_pes; distance *= 2) {
        int to = living_before(pe, distance);
        for (int dead = 0; to != pe->my_pe && to != last && dead < pe->n_pes; dead++) {
            if (gsh_is_death_among(pe, &dead, 1)) {
                gsh_end_notice_tell_loss(pe, to, dead);
            }
        }
        last = to;
    }
}

/* The first time: the host's waits end, and the others hear of it. */
static void lose(struct gsh_deaths *d, int dead)
{
    struct gsh_instance *pe = d->pe;
    if (d->is_known[dead]) {
        return;
    }
    d->is_known[dead] = true;
    mark(pe, dead, GSH_DEATH_HOST);
    if (pe->proxy != NULL) {
        gsh_proxy_lose(pe->proxy, dead);
        tell_others(pe);
    }
    d->late_ns[dead] = gsh_now_ns() + MOMENT_NS;
}

/* Nothing is ever written to it, so it has closed. */
static void end_pipe(struct gsh_deaths *d, int i)
{
    int dead = d->pe_of[i];
    close(d->polls[i].fd);
    d->polls[i].fd = -1;
    /* acquire: pairs with the release in gsh_deaths_destroy, which came before it closed the pipe
     */
    if (gsh_load_acquire_u32(&gsh_page_of(d->pe, dead)->has_ended) != 0) {
        return;
    }
    gsh_descriptors_check(d->pe, GSH_IN_A_THREAD);
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "PE %d died or exited", dead);
    lose(d, dead);
}

static void end_moment(struct gsh_deaths *d, int dead)
{
    d->late_ns[dead] = 0;
    mark(d->pe, dead, GSH_DEATH_KERNELS); /* before any of them leaves */
    tell(d->pe, dead);
}

/* Ends moments that have passed; returns the milliseconds to the end of the next one, -1: none. */
static int end_moments(struct gsh_deaths *d)
{
    uint64_t now = gsh_now_ns(), next = 0;
    for (int i = 0; i < d->pe->n_pes; i++) {
        if (d->late_ns[i] != 0 && d->late_ns[i] <= now) {
            end_moment(d, i);
        } else if (d->late_ns[i] != 0) {
            next = next == 0 ? d->late_ns[i] : gsh_min_u64(next, d->late_ns[i]);
        }
    }
    return next == 0 ? -1 : (int)((next - now) / 1000000) + 1;
}

static void take_reports(struct gsh_deaths *d)
{
    uint64_t count;
    (void)!read(d->wake_fd, &count, sizeof(count));
    for (int i = 0; i < d->pe->n_pes; i++) {
        if (gsh_load_acquire_u32(&d->reported[i]) != 0) { /* pairs with gsh_deaths_report */
            lose(d, i);
        }
    }
}

static void *deaths_main(void *arg)
{
    struct gsh_deaths *d = arg;
    gsh_log_set_pe(d->pe->my_pe);
    for (;;) {
        int n = poll(d->polls, (nfds_t)d->n + 1, end_moments(d));
        if (gsh_load_acquire_u32(&d->is_stopping) != 0) { /* pairs with gsh_deaths_destroy */
            return NULL;
        }
        if (n > 0 && d->polls[d->n].revents != 0) {
            take_reports(d);
        }
        for (int i = 0; n > 0 && i < d->n; i++) {
            if (d->polls[i].fd >= 0 && d->polls[i].revents != 0) {
                end_pipe(d, i);
            }
        }
    }
}

static void wake(const struct gsh_deaths *d)
{
    const uint64_t one = 1;
    (void)!write(d->wake_fd, &one, sizeof(one));
}

bool gsh_deaths_report(struct gsh_instance *pe, int dead)
{
    mark(pe, dead, GSH_DEATH_HOST);
    /* seq_cst, as the store of the mark, and as both in open_reports: at least one of the two
     * threads sees the other's store */
    struct gsh_deaths *d = __atomic_load_n(&pe->deaths, __ATOMIC_SEQ_CST);
    if (d == NULL) {
        return false;
    }
    gsh_store_release_u32(&d->reported[dead], 1); /* pairs with take_reports */
    wake(d);
    return true;
}

/* From now on the thread hears of deaths that are found, and of those found before. */
static void open_reports(struct gsh_deaths *d)
{
    struct gsh_instance *pe = d->pe;
    __atomic_store_n(&pe->deaths, d, __ATOMIC_SEQ_CST);
    for (int i = 0; i < pe->n_pes; i++) {
        if (__atomic_load_n(&pe->peers[i].death, __ATOMIC_SEQ_CST) != GSH_DEATH_NONE) {
            gsh_store_release_u32(&d->reported[i], 1);
            wake(d);
        }
    }
}

/* ---- making and ending ---- */

static enum gsh_result start(struct gsh_deaths *d)
{
    d->polls[d->n] = (struct pollfd){.fd = d->wake_fd, .events = POLLIN};
    int e = gsh_create_thread(&d->thread, NULL, deaths_main, d);
    if (e != 0) {
        return gsh_note(GSH_ERR_SYSTEM, "cannot start the thread that sees deaths: %s%s",
                        strerror(e), gsh_limits_hint(e, &(struct gsh_limits_text){0}));
    }
    pthread_setname_np(d->thread, "gshmem-deaths");
    d->is_running = true;
    return GSH_OK;
}

static enum gsh_result allocate(struct gsh_deaths *d, int n)
{
    d->own_fd = d->wake_fd = -1;
    d->reported = calloc((size_t)n, sizeof(*d->reported));
    d->is_known = calloc((size_t)n, sizeof(*d->is_known));
    d->polls = calloc((size_t)n + 1, sizeof(*d->polls));
    for (int i = 0; d->polls != NULL && i <= n; i++) {
        d->polls[i].fd = -1;
    }
    d->pe_of = calloc((size_t)n + 1, sizeof(*d->pe_of));
    d->late_ns = calloc((size_t)n + 1, sizeof(*d->late_ns));
    d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->reported == NULL || d->is_known == NULL || d->polls == NULL || d->pe_of == NULL ||
        d->late_ns == NULL || d->wake_fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM, "cannot watch %d processes: %s", n, strerror(errno));
    }
    gsh_private_fd_add(d->wake_fd);
    return GSH_OK;
}

/* Its thread has ended or never begun. NULL: nothing. */
static void release(struct gsh_deaths *d)
{
    if (d == NULL) {
        return;
    }
    gsh_private_fd_close(&d->own_fd);
    for (int i = 0; d->polls != NULL && i < d->n; i++) {
        if (d->polls[i].fd >= 0) {
            close(d->polls[i].fd);
        }
    }
    gsh_private_fd_close(&d->wake_fd);
    free(d->polls);
    free(d->reported);
    free(d->is_known);
    free(d->pe_of);
    free(d->late_ns);
    free(d);
}

/* The other processes of the node. */
static int list_others(const struct gsh_instance *pe, int *others)
{
    int n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        if (pe->peers[i].node == pe->peers[pe->my_pe].node && gsh_instance_of(pe, i) == NULL) {
            others[n++] = i;
        }
    }
    return n;
}

/* What may be missing. read_end: of this PE's pipe, for the others. */
static enum gsh_result prepare(struct gsh_deaths *d, int *read_end)
{
    int ends[2];
    enum gsh_result r = allocate(d, d->pe->n_pes);
    bool has_others = d->pe->fdpass != NULL; /* other processes on this node */
    if (r == GSH_OK && has_others && pipe2(ends, O_CLOEXEC) != 0) {
        r = gsh_note(GSH_ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    }
    if (r == GSH_OK && has_others) {
        *read_end = ends[0];
        d->own_fd = ends[1];
        gsh_private_fd_add(ends[1]);
        d->n = list_others(d->pe, d->pe_of);
    }
    return r;
}

static enum gsh_result exchange(struct gsh_deaths *d, int read_end)
{
    int *fds = calloc((size_t)d->n, sizeof(*fds));
    if (fds == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory to watch %d processes", d->n);
    }
    enum gsh_result r =
        gsh_fdpass_exchange(d->pe->fdpass, d->pe_of, d->n, PIPES_TAG, read_end, fds);
    for (int i = 0; r == GSH_OK && i < d->n; i++) {
        d->polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    free(fds);
    return r;
}

int gsh_deaths_n_fds(const struct gsh_instance *pe, int n)
{
    /* The descriptors that the pages used serve for the monitor's links. In addition: a pipe of
     * each other process, one end of this PE's pipe, and the descriptor that wakes the thread. */
    return pe->outlives_deaths ? n + 2 : 0;
}

/* Two votes: no PE waits for the pipe of a PE that has none, and none goes on unwatched because
 * another has failed. */
enum gsh_result gsh_deaths_create(struct gsh_instance *pe)
{
    if (!gsh_deaths_are_single(pe)) {
        return GSH_OK;
    }
    struct gsh_deaths *d = calloc(1, sizeof(*d));
    int read_end = -1;
    enum gsh_result r = GSH_OK;
    if (d != NULL) {
        d->pe = pe;
        r = prepare(d, &read_end);
    } else {
        r = gsh_note(GSH_ERR_NOMEM, "no memory to watch the other processes");
    }
    if (r == GSH_OK) {
        open_reports(d); /* if a later step fails, init destroys it */
    } else {
        release(d);
    }
    r = gsh_init_vote(pe, GSH_STEP_PIPES, r);
    if (r == GSH_OK) {
        r = pe->fdpass != NULL ? exchange(d, read_end) : GSH_OK;
        r = r == GSH_OK ? start(d) : r;
        r = gsh_init_vote(pe, GSH_STEP_DEATHS, r);
    }
    if (read_end >= 0) {
        close(read_end);
    }
    return r;
}

void gsh_deaths_destroy(struct gsh_instance *pe)
{
    struct gsh_deaths *d = pe->deaths;
    if (d == NULL) {
        return;
    }
    if (d->is_running) {
        gsh_store_release_u32(&d->is_stopping, 1); /* pairs with deaths_main */
        wake(d);
        pthread_join(d->thread, NULL);
    }
    /* release: pairs with the acquire in end_pipe */
    gsh_store_release_u32(&pe->page->has_ended, 1);
    pe->deaths = NULL;
    release(d);
}
