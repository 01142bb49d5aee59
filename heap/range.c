/* SPDX-License-Identifier: Apache-2.0
 * See range.h. */
#define _GNU_SOURCE 1
#include "heap/range.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/array.h"
#include "base/limits.h"
#include "base/private_fd.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/util.h"
#include "bootstrap/descriptor.h"
#include "bootstrap/socket.h"
#include "bootstrap/uds.h"
#include "heap/range_ipc.h"
#include "heap/range_table.h"

static const char purpose[] = "range";

/* The process's. */
static struct {
    pthread_mutex_t lock; /* for all of it, and the table */
    pid_t pid;            /* a forked child has no thread of its own, and begins anew */
    struct gsh_range_key key;
    struct gsh_uds_listener *listener;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the owner ---- */

/* False: the client goes. */
static bool answer(int fd)
{
    struct gsh_range_request request;
    uint8_t data[sizeof(request) + 1];
    ssize_t got;
    int passed, piece_fd = -1;
    bool is_sent = false;
    if (gsh_descriptor_receive(fd, data, sizeof(data), &got, &passed) != GSH_OK) {
        return false;
    }
    gsh_socket_close(&passed);
    if (got < 0) {
        return true;
    }
    if ((size_t)got != sizeof(request)) {
        return false;
    }
    memcpy(&request, data, sizeof(request));
    if (request.number == 0) {
        return true;
    }
    struct gsh_range_piece piece = {.result = GSH_ERR_PEER};
    pthread_mutex_lock(&service.lock);
    const struct gsh_range *range = gsh_range_table_find(request.number);
    if (range != NULL && range->is_cuda != (request.kind == 1)) {
        piece.result = GSH_ERR_UNSUPPORTED;
    } else if (range != NULL) {
        gsh_range_table_piece(range, request.piece, &piece, &piece_fd);
    }
    pthread_mutex_unlock(&service.lock);
    enum gsh_result r = gsh_descriptor_send(fd, &piece, sizeof(piece), piece_fd, &is_sent);
    gsh_socket_close(&piece_fd);
    return r == GSH_OK && is_sent;
}

struct clients {
    struct pollfd *polls; /* [n]; the first is the listener's */
    size_t n, room;
};

static void admit_all(struct clients *c, struct gsh_uds_listener *listener)
{
    int fd = -1, from;
    while (gsh_uds_accept(listener, &fd, &from) == GSH_OK && fd >= 0) {
        if (!gsh_array_reserve(&c->polls, &c->room, c->n + 1, sizeof(*c->polls))) {
            gsh_socket_close(&fd);
            return;
        }
        c->polls[c->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        gsh_private_fd_add(fd);
    }
}

static void *serve(void *arg)
{
    struct gsh_uds_listener *listener = arg;
    struct clients c = {0};
    if (!gsh_array_reserve(&c.polls, &c.room, 1, sizeof(*c.polls))) {
        return NULL;
    }
    c.polls[c.n++] = (struct pollfd){.fd = gsh_uds_fd(listener), .events = POLLIN};
    for (;;) {
        if (poll(c.polls, c.n, gsh_uds_poll_ms(listener, -1)) < 0 && errno != EINTR) {
            return NULL;
        }
        for (size_t i = c.n - 1; i > 0; i--) {
            struct pollfd *p = &c.polls[i];
            if ((p->revents & POLLIN) != 0 ? !answer(p->fd) : p->revents != 0) {
                gsh_private_fd_close(&p->fd);
                *p = c.polls[--c.n];
            }
        }
        admit_all(&c, listener);
    }
}

/* Starts a thread that takes none of the process's signals. The service is locked. */
static enum gsh_result start_service(void)
{
    struct gsh_uds_key of;
    pthread_t thread;
    if (service.listener != NULL && service.pid == getpid()) {
        return GSH_OK;
    }
    gsh_range_mark(&service.key);
    service.key.process = gsh_process_id();
    if (service.key.process == 0 ||
        getrandom(service.key.secret, GSH_SECRET_BYTES, 0) != GSH_SECRET_BYTES) {
        return gsh_note(GSH_ERR_SYSTEM, "there are no random numbers: %s", strerror(errno));
    }
    gsh_uds_key(&of, service.key.secret, purpose);
    enum gsh_result r = gsh_uds_listen(&of, 0, &service.listener);
    if (r != GSH_OK) {
        return gsh_note(r, "cannot listen for processes that share memory: %s", strerror(errno));
    }
    errno = gsh_create_thread(&thread, NULL, serve, service.listener);
    if (errno != 0) {
        gsh_uds_close(&service.listener);
        return gsh_note(GSH_ERR_SYSTEM, "no thread to share memory with other processes: %s",
                        strerror(errno));
    }
    pthread_detach(thread); /* for as long as the process lives */
    service.pid = getpid();
    return GSH_OK;
}

enum gsh_result gsh_range_process_key(struct gsh_range_key *key)
{
    pthread_mutex_lock(&service.lock);
    enum gsh_result r = start_service();
    *key = service.key;
    pthread_mutex_unlock(&service.lock);
    return r;
}

enum gsh_result gsh_range_export(const struct gsh_memory_ops *ops,
                                 const struct gsh_memory_options *options, void *ptr,
                                 uint64_t bytes, struct gsh_range **out, struct gsh_range_key *key)
{
    const uint64_t addr = (uint64_t)(uintptr_t)ptr;
    if (ptr == NULL || bytes == 0 || bytes > UINT64_MAX - addr - ops->granule()) {
        return gsh_note(GSH_ERR_ARG, "%llu bytes at %p are no memory to share",
                        (unsigned long long)bytes, ptr);
    }
    pthread_mutex_lock(&service.lock);
    enum gsh_result r = start_service();
    if (r == GSH_OK) {
        r = gsh_range_table_add(ops, options, addr, bytes, out);
    }
    if (r == GSH_OK) {
        *key = service.key;
        key->number = (*out)->number;
        key->at = gsh_range_table_at(*out);
        key->bytes = bytes;
    }
    pthread_mutex_unlock(&service.lock);
    return r;
}

void gsh_range_release(struct gsh_range **range)
{
    pthread_mutex_lock(&service.lock);
    gsh_range_table_remove(*range);
    pthread_mutex_unlock(&service.lock);
    *range = NULL;
}

/* ---- the opener ---- */

struct gsh_opened_range {
    const struct gsh_memory_ops *ops; /* NULL: this process's own */
    struct gsh_memory *memory;        /* NULL: host memory's */
    struct gsh_reservation reservation;
    struct gsh_range_piece *pieces; /* [n_pieces] */
    int *fds;                       /* [n_pieces], until they are mapped */
    uint32_t n_pieces, n_mapped;
    CUdevice device;   /* of the next */
    uint64_t ipc_base; /* 0: not such memory */
};

static bool wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, gsh_deadline_poll_ms(deadline_ns)) > 0 || errno == EINTR;
}

/* While the owner's queue is full, or its answer has not come. */
static enum gsh_result connect_to(const struct gsh_range_key *key, uint64_t deadline_ns, int *fd)
{
    struct gsh_uds_key of;
    struct gsh_uds_connection connection = {.fd = -1};
    bool is_in = false;
    enum gsh_result r = GSH_OK;
    gsh_uds_key(&of, key->secret, purpose);
    while (r == GSH_OK && !is_in) {
        r = gsh_uds_connect(&connection, &of, 1, 0);
        if (r == GSH_OK && connection.has_sent_hello) {
            (void)!wait_for(connection.fd, POLLIN, deadline_ns);
            r = gsh_uds_receive_answer(&connection, &of, &is_in);
        } else if (r == GSH_OK) {
            (void)poll(NULL, 0, 1);
        }
        if (r == GSH_OK && !is_in && gsh_deadline_poll_ms(deadline_ns) == 0) {
            gsh_socket_close(&connection.fd);
            return gsh_note(GSH_ERR_TIMEOUT, "the memory's owner did not answer in time");
        }
    }
    explicit_bzero(&of, sizeof(of));
    *fd = connection.fd;
    if (r == GSH_ERR_PEER || r == GSH_ERR_ARG) {
        return gsh_note(GSH_ERR_PEER, "the memory's owner has ended, or runs on another node");
    }
    return r == GSH_OK ? r : gsh_note(r, "connecting to the memory's owner: %s", strerror(errno));
}

static enum gsh_result ask(int fd, const struct gsh_range_request *request, uint64_t granule,
                           uint64_t deadline_ns, struct gsh_range_piece *piece, int *passed)
{
    uint8_t data[sizeof(*piece) + 1];
    ssize_t got = -1;
    bool is_sent = false;
    enum gsh_result r = gsh_descriptor_send(fd, request, sizeof(*request), -1, &is_sent);
    *passed = -1;
    if (r != GSH_OK || !is_sent) {
        return gsh_note(GSH_ERR_PEER, "the memory's owner has ended");
    }
    while (got < 0) {
        if (!wait_for(fd, POLLIN, deadline_ns)) {
            return gsh_note(GSH_ERR_TIMEOUT, "the memory's owner did not answer in time");
        }
        r = gsh_descriptor_receive(fd, data, sizeof(data), &got, passed);
        if (r != GSH_OK || got == 0) {
            return gsh_note(GSH_ERR_PEER, "the memory's owner has ended");
        }
    }
    if (!gsh_range_is_piece(data, (size_t)got, *passed >= 0, granule, piece)) {
        return gsh_note(GSH_ERR_BUG, "the memory's owner sent what is no answer");
    }
    if (piece->result == GSH_ERR_PEER) {
        return gsh_note(GSH_ERR_PEER, "its owner has released this memory");
    }
    if (piece->result != GSH_OK) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "its owner cannot share this memory: %s",
                        gsh_result_name((enum gsh_result)piece->result));
    }
    if (piece->has_fd == 1 && *passed < 0) {
        return gsh_note(GSH_ERR_SYSTEM,
                        "a descriptor did not arrive: has this process all of the %llu open files "
                        "that it may have? (ulimit -n)",
                        (unsigned long long)gsh_limits_files());
    }
    return GSH_OK;
}

/* *total: of all pieces. */
static enum gsh_result fetch(struct gsh_opened_range *o, int fd, const struct gsh_range_key *key,
                             uint64_t deadline_ns, uint64_t *total)
{
    struct gsh_range_request request = {.number = key->number, .kind = o->ops != &gsh_memory_host};
    *total = 0;
    for (uint32_t n = 1, i = 0; i < n; i++) {
        struct gsh_range_piece piece;
        int passed;
        request.piece = i;
        enum gsh_result r = ask(fd, &request, o->ops->granule(), deadline_ns, &piece, &passed);
        if (r == GSH_OK && i == 0) {
            n = piece.n_pieces;
            o->pieces = calloc(n, sizeof(*o->pieces));
            o->fds = calloc(n, sizeof(*o->fds));
        }
        if (r == GSH_OK && (o->pieces == NULL || o->fds == NULL)) {
            r = gsh_note(GSH_ERR_NOMEM, "no host memory for %u pieces of memory", n);
        }
        if (r == GSH_OK && piece.n_pieces != n) {
            r = gsh_note(GSH_ERR_BUG, "the memory's owner contradicts itself");
        }
        if (r != GSH_OK) {
            gsh_socket_close(&passed);
            return r;
        }
        o->pieces[i] = piece;
        o->fds[i] = passed;
        o->n_pieces = i + 1;
        *total += piece.bytes; /* 4096 times 2^47 is less than 2^64 */
    }
    return *total >= key->at && *total - key->at >= key->bytes
               ? GSH_OK
               : gsh_note(GSH_ERR_ARG, "the key says more bytes than its owner shares");
}

static enum gsh_result map(struct gsh_opened_range *o, const struct gsh_memory_options *options,
                           uint64_t total)
{
    enum gsh_result r = GSH_OK;
    if (o->pieces[0].is_ipc) {
        if (o->ops == &gsh_memory_host) {
            return gsh_note(GSH_ERR_BUG, "the memory's owner sent what is no answer");
        }
        o->device = options->cuda_device;
        return gsh_range_ipc_open(o->device, o->pieces[0].handle, &o->ipc_base);
    }
    if (o->ops != &gsh_memory_host) {
        r = o->ops->create(options, &o->memory);
    }
    if (r == GSH_OK) {
        r = o->ops->reserve(total, o->ops->granule(), &o->reservation);
    }
    uint64_t at = o->reservation.base;
    for (uint32_t i = 0; i < o->n_pieces && r == GSH_OK; i++) {
        const struct gsh_piece piece = {.bytes = o->pieces[i].bytes, .at = o->pieces[i].at};
        struct gsh_share share = {.fd = o->fds[i]};
        memcpy(share.bytes, o->pieces[i].handle, sizeof(share.bytes));
        r = o->ops->accept_piece(o->memory, 0, at, &piece, &share);
        if (r == GSH_OK) {
            o->n_mapped = i + 1;
            at += piece.bytes;
        }
    }
    return r;
}

void gsh_range_close(struct gsh_opened_range **opened)
{
    struct gsh_opened_range *o = *opened;
    *opened = NULL;
    if (o == NULL) {
        return;
    }
    uint64_t at = o->reservation.base;
    if (o->ipc_base != 0) {
        gsh_range_ipc_close(o->device, o->ipc_base);
    }
    for (uint32_t i = 0; i < o->n_pieces; i++) {
        if (i < o->n_mapped) {
            o->ops->unmap(at, o->pieces[i].bytes);
            at += o->pieces[i].bytes;
        }
        gsh_socket_close(&o->fds[i]);
    }
    if (o->ops != NULL) {
        o->ops->unreserve(&o->reservation);
    }
    if (o->memory != NULL) {
        o->ops->destroy(&o->memory);
    }
    free(o->pieces);
    free(o->fds);
    free(o);
}

static enum gsh_result find_own(const struct gsh_range_key *key, void **ptr)
{
    pthread_mutex_lock(&service.lock);
    const struct gsh_range *range = gsh_range_table_find(key->number);
    const bool is_true = range != NULL && range->bytes == key->bytes &&
                         memcmp(key->secret, service.key.secret, sizeof(key->secret)) == 0;
    *ptr = is_true ? (void *)(uintptr_t)range->ptr : NULL;
    pthread_mutex_unlock(&service.lock);
    return is_true ? GSH_OK : gsh_note(GSH_ERR_PEER, "its owner has released this memory");
}

enum gsh_result gsh_range_open(const struct gsh_memory_ops *ops,
                               const struct gsh_memory_options *options,
                               const struct gsh_range_key *given, uint64_t timeout_ns,
                               struct gsh_opened_range **out, void **ptr)
{
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    struct gsh_range_key key;
    int fd = -1;
    uint64_t total = 0;
    if (!gsh_range_is_key(given, sizeof(*given), &key) || key.number == 0) {
        return gsh_note(GSH_ERR_ARG, "these bytes are no key of memory");
    }
    struct gsh_opened_range *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory to map another process's");
    }
    enum gsh_result r;
    if (key.process == gsh_process_id()) {
        r = find_own(&key, ptr);
    } else {
        o->ops = ops;
        r = connect_to(&key, deadline_ns, &fd);
        r = r == GSH_OK ? fetch(o, fd, &key, deadline_ns, &total) : r;
        r = r == GSH_OK ? map(o, options, total) : r;
        *ptr = (void *)(uintptr_t)(o->reservation.base + o->ipc_base + key.at); /* one is 0 */
        gsh_socket_close(&fd);
        for (uint32_t i = 0; i < o->n_pieces; i++) {
            gsh_socket_close(&o->fds[i]);
        }
    }
    if (r != GSH_OK) {
        gsh_range_close(&o);
    }
    *out = o;
    return r;
}

enum gsh_result gsh_range_watch(const struct gsh_range_key *given, uint64_t timeout_ns, int *fd)
{
    const struct gsh_range_request request = {0};
    struct gsh_range_key key;
    bool is_sent = false;
    *fd = -1;
    if (!gsh_range_is_key(given, sizeof(*given), &key)) {
        return gsh_note(GSH_ERR_ARG, "these bytes are no key of a process");
    }
    if (key.process == gsh_process_id()) {
        return GSH_OK;
    }
    enum gsh_result r = connect_to(&key, gsh_deadline_in(timeout_ns), fd);
    if (r == GSH_OK) {
        r = gsh_descriptor_send(*fd, &request, sizeof(request), -1, &is_sent);
        gsh_private_fd_add(*fd);
    }
    if (r != GSH_OK) {
        gsh_socket_close(fd);
    }
    return r;
}
