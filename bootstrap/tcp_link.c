/* SPDX-License-Identifier: Apache-2.0
 * See tcp_link.h. */
#define _GNU_SOURCE 1
#include "bootstrap/tcp_link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/private_fd.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "bootstrap/netif.h"
#include "bootstrap/socket.h"
#include "bootstrap/tcp_listener.h"

static const uint8_t key_magic[8] = {'g', 's', 'h', 'l', 'i', 'n', 'k', 1};

struct gsh_tcp_link {
    struct gsh_tcp_link *next;   /* of its entry */
    struct gsh_tcp_entry *entry; /* NULL: the connector's */
    pthread_t thread;            /* an entry's */
    int fd;
    uint32_t from;
    bool is_lost; /* atomic */
    uint8_t send_key[GSH_SIPHASH_KEY_BYTES], receive_key[GSH_SIPHASH_KEY_BYTES];
    pthread_mutex_t send_lock;
    uint32_t n_sent;
    uint32_t n_received;
    void *own; /* the caller's */
};

struct gsh_tcp_entry {
    struct gsh_tcp_entry *next;
    uint32_t number;
    struct gsh_tcp_entry_calls calls;
    void *context;
    struct gsh_tcp_link *links;
};

/* The process's. */
static struct {
    pthread_mutex_t lock; /* for all of it */
    pid_t pid;            /* a forked child has no thread of its own, and begins anew */
    struct gsh_tcp_listener *listener;
    struct gsh_tcp_link_key key; /* of entry 0 */
    struct gsh_tcp_entry *entries;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool gsh_tcp_link_is_key(const void *data, size_t bytes, struct gsh_tcp_link_key *out)
{
    struct gsh_tcp_link_key key;
    if (bytes != sizeof(key)) {
        return false;
    }
    memcpy(&key, data, sizeof(key));
    *out = key;
    return memcmp(key.magic, key_magic, sizeof(key_magic)) == 0 && key.number > 0 &&
           (key.address.family == 4 || key.address.family == 6);
}

/* ---- a link ---- */

static struct gsh_tcp_link *new_link(int fd, const struct gsh_hello *hello,
                                     const uint8_t secret[GSH_SHA256_BYTES], bool is_connector)
{
    struct gsh_link_keys keys;
    struct gsh_tcp_link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        return NULL;
    }
    gsh_link_keys(hello, secret, &keys);
    memcpy(link->send_key, is_connector ? keys.of_client : keys.of_acceptor,
           sizeof(link->send_key));
    memcpy(link->receive_key, is_connector ? keys.of_acceptor : keys.of_client,
           sizeof(link->receive_key));
    explicit_bzero(&keys, sizeof(keys));
    pthread_mutex_init(&link->send_lock, NULL);
    link->fd = fd;
    link->from = hello->n_ranks;
    gsh_private_fd_add(fd);
    return link;
}

static void destroy_link(struct gsh_tcp_link *link)
{
    gsh_socket_hang_up(&link->fd);
    pthread_mutex_destroy(&link->send_lock);
    explicit_bzero(link, sizeof(*link));
    free(link);
}

uint32_t gsh_tcp_link_from(const struct gsh_tcp_link *link)
{
    return link->from;
}

void **gsh_tcp_link_own(struct gsh_tcp_link *link)
{
    return &link->own;
}

static void derive(const uint8_t from[GSH_SIPHASH_KEY_BYTES], const char *use,
                   uint8_t key[GSH_SIPHASH_KEY_BYTES])
{
    uint8_t made[GSH_SHA256_BYTES];
    struct gsh_hmac h;
    gsh_hmac_init(&h, from, GSH_SIPHASH_KEY_BYTES);
    gsh_hmac_update(&h, use, strlen(use));
    gsh_hmac_finish(&h, made);
    memcpy(key, made, GSH_SIPHASH_KEY_BYTES);
    explicit_bzero(&h, sizeof(h));
    explicit_bzero(made, sizeof(made));
}

void gsh_tcp_link_derive(const struct gsh_tcp_link *link, const char *use,
                         uint8_t send_key[GSH_SIPHASH_KEY_BYTES],
                         uint8_t receive_key[GSH_SIPHASH_KEY_BYTES])
{
    derive(link->send_key, use, send_key);
    derive(link->receive_key, use, receive_key);
}

static void lose(struct gsh_tcp_link *link)
{
    __atomic_store_n(&link->is_lost, true, __ATOMIC_RELAXED); /* orders nothing */
}

void gsh_tcp_link_hang_up(struct gsh_tcp_link *link)
{
    lose(link);
    (void)shutdown(link->fd, SHUT_RDWR);
}

bool gsh_tcp_link_is_lost(struct gsh_tcp_link *link)
{
    struct pollfd p = {.fd = link->fd, .events = POLLRDHUP};
    if (!__atomic_load_n(&link->is_lost, __ATOMIC_RELAXED) && poll(&p, 1, 0) > 0 &&
        (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        lose(link);
    }
    return __atomic_load_n(&link->is_lost, __ATOMIC_RELAXED);
}

bool gsh_tcp_link_has_message(const struct gsh_tcp_link *link)
{
    struct pollfd p = {.fd = link->fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* The tag covers head and data, which need not lie together. */
static uint64_t tag_of(const struct gsh_frame *frame, const void *head, size_t head_bytes,
                       const void *data, size_t bytes, const uint8_t key[GSH_SIPHASH_KEY_BYTES])
{
    const uint64_t parts[2] = {head_bytes > 0 ? gsh_siphash(key, head, head_bytes) : 0,
                               bytes > 0 ? gsh_siphash(key, data, bytes) : 0};
    return gsh_frame_tag(frame, parts, sizeof(parts), key);
}

/* Of a frame's body: the first bytes, at most so many, are its head. */
#define HEAD_BYTES ((size_t)64)

enum gsh_result gsh_tcp_link_send(struct gsh_tcp_link *link, const void *head, size_t head_bytes,
                                  const void *data, size_t bytes, uint64_t timeout_ns)
{
    uint8_t first[sizeof(struct gsh_frame) + HEAD_BYTES];
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    if (head_bytes > HEAD_BYTES || bytes > GSH_TCP_LINK_MAX_BYTES - HEAD_BYTES ||
        head_bytes + bytes == 0 || (bytes > 0 && head_bytes != HEAD_BYTES)) {
        return GSH_ERR_BUG;
    }
    pthread_mutex_lock(&link->send_lock);
    struct gsh_frame frame = {
        .kind = GSH_FRAME_DATA, .call = ++link->n_sent, .bytes = head_bytes + bytes};
    frame.tag = tag_of(&frame, head, head_bytes, data, bytes, link->send_key);
    memcpy(first, &frame, sizeof(frame));
    memcpy(first + sizeof(frame), head, head_bytes);
    enum gsh_result r =
        __atomic_load_n(&link->is_lost, __ATOMIC_RELAXED)
            ? GSH_ERR_PEER
            : gsh_socket_send(link->fd, first, sizeof(frame) + head_bytes, deadline_ns);
    if (r == GSH_OK && bytes > 0) {
        r = gsh_socket_send(link->fd, data, bytes, deadline_ns);
    }
    if (r != GSH_OK) {
        lose(link); /* part of a frame may have gone */
    }
    pthread_mutex_unlock(&link->send_lock);
    return r;
}

/* data has room for GSH_TCP_LINK_MAX_BYTES, or for `room`. */
static enum gsh_result receive(struct gsh_tcp_link *link, void *data, size_t room, size_t *bytes,
                               uint64_t deadline_ns)
{
    struct gsh_frame frame;
    enum gsh_result r = gsh_socket_recv(link->fd, &frame, sizeof(frame), deadline_ns);
    if (r == GSH_OK && (frame.kind != GSH_FRAME_DATA || frame.call != link->n_received + 1 ||
                        frame.bytes == 0 || frame.bytes > room)) {
        r = GSH_ERR_BUG;
    }
    if (r == GSH_OK) {
        r = gsh_socket_recv(link->fd, data, frame.bytes, deadline_ns);
    }
    if (r == GSH_OK) {
        const size_t head = gsh_min_u64(frame.bytes, HEAD_BYTES);
        const uint64_t tag = tag_of(&frame, data, head, (const char *)data + head,
                                    frame.bytes - head, link->receive_key);
        r = tag == frame.tag ? GSH_OK : GSH_ERR_BUG;
    }
    if (r != GSH_OK) {
        lose(link);
        return r;
    }
    link->n_received++;
    *bytes = frame.bytes;
    return GSH_OK;
}

enum gsh_result gsh_tcp_link_receive(struct gsh_tcp_link *link, void *data, size_t room,
                                     size_t *bytes, uint64_t timeout_ns)
{
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    struct pollfd p = {.fd = link->fd, .events = POLLIN};
    int n;
    do {
        n = poll(&p, 1, gsh_deadline_poll_ms(deadline_ns));
    } while (n < 0 && errno == EINTR);
    return n == 0 ? GSH_ERR_TIMEOUT : receive(link, data, room, bytes, deadline_ns);
}

/* ---- connecting ---- */

static enum gsh_result fail_connect(const struct gsh_tcp_link_key *key, enum gsh_result r)
{
    char text[GSH_ADDRESS_TEXT];
    gsh_address_text(&key->address, text);
    if (r == GSH_ERR_TIMEOUT) {
        return gsh_note(r, "the process at %s did not answer in time", text);
    }
    if (r == GSH_ERR_ARG) {
        return gsh_note(GSH_ERR_PEER, "the process at %s does not have the key's secret", text);
    }
    if (r == GSH_ERR_PEER) {
        return gsh_note(r, "the process at %s has ended, or cannot be reached: %s", text,
                        strerror(errno));
    }
    return gsh_note(r, "connecting to the process at %s: %s", text, strerror(errno));
}

enum gsh_result gsh_tcp_link_connect(const struct gsh_tcp_link_key *given, uint32_t from,
                                     uint64_t timeout_ns, struct gsh_tcp_link **out)
{
    const uint64_t deadline_ns = gsh_deadline_in(timeout_ns);
    struct gsh_tcp_link_key key;
    struct gsh_answer answer;
    char payload[GSH_ANSWER_MAX_PAYLOAD];
    int fd = -1;
    if (!gsh_tcp_link_is_key(given, sizeof(*given), &key)) {
        return gsh_note(GSH_ERR_ARG, "these bytes are no key of a process to connect to");
    }
    struct gsh_hello hello = {.kind = GSH_HELLO_LINK, .rank = key.number, .n_ranks = from};
    enum gsh_result r = gsh_random(hello.nonce, sizeof(hello.nonce));
    if (r != GSH_OK) {
        return r;
    }
    gsh_hello_seal(&hello, key.secret, key.challenge);
    r = gsh_socket_connect(&key.address, deadline_ns, &fd);
    if (r == GSH_OK) {
        r = gsh_socket_send(fd, &hello, sizeof(hello), deadline_ns);
    }
    if (r == GSH_OK) {
        r = gsh_answer_recv(fd, &hello, key.secret, &answer, payload, deadline_ns);
    }
    if (r != GSH_OK) {
        r = fail_connect(&key, r);
    } else if (answer.result != GSH_OK) {
        r = gsh_note(GSH_ERR_PEER, "the other end has closed");
    } else if ((*out = new_link(fd, &hello, key.secret, true)) == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    }
    if (r != GSH_OK) {
        gsh_socket_close(&fd);
    }
    explicit_bzero(&key, sizeof(key));
    return r;
}

void gsh_tcp_link_close(struct gsh_tcp_link **link)
{
    if (*link != NULL) {
        destroy_link(*link);
    }
    *link = NULL;
}

/* ---- entries ---- */

static void *read_all(void *arg)
{
    struct gsh_tcp_link *link = arg;
    void *data = malloc(GSH_TCP_LINK_MAX_BYTES);
    size_t bytes = 0;
    while (data != NULL && receive(link, data, GSH_TCP_LINK_MAX_BYTES, &bytes, 0) == GSH_OK &&
           link->entry->calls.receive(link->entry->context, link, data, bytes)) {
    }
    free(data);
    gsh_tcp_link_hang_up(link); /* the connector is to know */
    link->entry->calls.lost(link->entry->context, link);
    return NULL;
}

/* The service is locked. */
static void admit(struct gsh_tcp_listener_event *event)
{
    struct gsh_tcp_entry *entry = service.entries;
    struct gsh_tcp_link *link = NULL;
    while (entry != NULL && entry->number != event->hello.rank) {
        entry = entry->next;
    }
    if (entry != NULL && event->hello.kind == GSH_HELLO_LINK) {
        link = new_link(event->fd, &event->hello, service.key.secret, false);
    }
    if (link == NULL) {
        (void)gsh_answer_send(event->fd, &event->hello, service.key.secret, GSH_ERR_PEER, NULL, 0);
        gsh_socket_hang_up(&event->fd);
        return;
    }
    link->entry = entry;
    if (!gsh_answer_send(link->fd, &event->hello, service.key.secret, GSH_OK, NULL, 0) ||
        gsh_create_thread(&link->thread, NULL, read_all, link) != 0) {
        destroy_link(link);
        return;
    }
    link->next = entry->links;
    entry->links = link;
}

static void *admit_all(void *arg)
{
    struct gsh_tcp_listener *listener = arg;
    for (;;) {
        struct gsh_tcp_listener_event event;
        enum gsh_result r = gsh_tcp_listener_next(listener, 0, &event);
        if (r != GSH_OK && gsh_error_is_no_descriptor(errno)) {
            continue; /* the listener has waited, and there may be descriptors again */
        }
        if (r != GSH_OK) {
            return NULL;
        }
        pthread_mutex_lock(&service.lock);
        admit(&event);
        pthread_mutex_unlock(&service.lock);
    }
}

/* The service is locked. */
static enum gsh_result start_service(const char *ifname, const char *family)
{
    struct gsh_address at;
    pthread_t thread;
    if (service.listener != NULL && service.pid == getpid()) {
        return GSH_OK;
    }
    service.entries = NULL;
    service.listener = NULL;
    memcpy(service.key.magic, key_magic, sizeof(key_magic));
    enum gsh_result r = gsh_netif_choose(ifname, family, "connections without a job", &at);
    if (r == GSH_OK) {
        r = gsh_random(service.key.challenge, sizeof(service.key.challenge));
    }
    if (r == GSH_OK) {
        r = gsh_random(service.key.secret, sizeof(service.key.secret));
    }
    if (r == GSH_OK) {
        r = gsh_tcp_listener_create(&at, service.key.challenge, &service.listener);
    }
    if (r != GSH_OK) {
        return r;
    }
    gsh_tcp_listener_set_secret(service.listener, service.key.secret);
    service.key.address = *gsh_tcp_listener_address(service.listener);
    if (gsh_create_thread(&thread, NULL, admit_all, service.listener) != 0) {
        gsh_tcp_listener_destroy(&service.listener);
        return gsh_fail(GSH_ERR_SYSTEM, "no thread for connections without a job");
    }
    pthread_detach(thread); /* for as long as the process lives */
    service.pid = getpid();
    return GSH_OK;
}

enum gsh_result gsh_tcp_entry_open(const char *ifname, const char *family,
                                   const struct gsh_tcp_entry_calls *calls, void *context,
                                   struct gsh_tcp_entry **out, struct gsh_tcp_link_key *key)
{
    struct gsh_tcp_entry *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no host memory for a connection");
    }
    pthread_mutex_lock(&service.lock);
    enum gsh_result r = start_service(ifname, family);
    if (r == GSH_OK) {
        *entry = (struct gsh_tcp_entry){.next = service.entries,
                                        .number = ++service.key.number,
                                        .calls = *calls,
                                        .context = context};
        service.entries = entry;
        *key = service.key;
        *out = entry;
    }
    pthread_mutex_unlock(&service.lock);
    if (r != GSH_OK) {
        free(entry);
    }
    return r;
}

void gsh_tcp_entry_close(struct gsh_tcp_entry **entry_p)
{
    struct gsh_tcp_entry *entry = *entry_p;
    *entry_p = NULL;
    if (entry == NULL) {
        return;
    }
    pthread_mutex_lock(&service.lock);
    struct gsh_tcp_entry **p = &service.entries;
    while (*p != NULL && *p != entry) {
        p = &(*p)->next;
    }
    if (*p != NULL) {
        *p = entry->next;
    }
    pthread_mutex_unlock(&service.lock);
    while (entry->links != NULL) {
        struct gsh_tcp_link *link = entry->links;
        entry->links = link->next;
        (void)shutdown(link->fd, SHUT_RDWR);
        pthread_join(link->thread, NULL);
        destroy_link(link);
    }
    free(entry);
}
