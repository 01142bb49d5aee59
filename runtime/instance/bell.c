/* SPDX-License-Identifier: Apache-2.0
 * See bell.h. Anybody in the network namespace may send to a bell; it heeds the job's PEs alone. */
#include "runtime/instance/bell.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include "base/private_fd.h"
#include "base/siphash.h"
#include "runtime/instance/instance.h"

/* The kernel chooses abstract names of so many hexadecimal digits (unix(7)). */
enum { NAME_DIGITS = 5 };

/* A bell may be full, of messages of strangers, too: its PE takes them when it next waits, or
 * rings. So many times in all who rings waits for room. */
#define FULL_TRIES  2000
#define FULL_NAP_NS 1000000
/* Messages taken in a row. */
#define MOST_AT_ONCE 64

struct gsh_bell {
    int fd;
    bool has_rung;
    uint8_t key[GSH_KEY_BYTES];
};

static socklen_t address_of(uint32_t name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%0*x", NAME_DIGITS, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + NAME_DIGITS);
}

enum gsh_result gsh_bell_open(struct gsh_bell **out, uint32_t *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof(address);
    struct gsh_bell *bell = calloc(1, sizeof(*bell));
    if (bell == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "init: no memory for a socket for PEs of the host");
    }
    bell->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bell->fd >= 0) {
        gsh_private_fd_add(bell->fd);
    }
    if (bell->fd < 0 || bind(bell->fd, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
        getsockname(bell->fd, (struct sockaddr *)&address, &bytes) != 0) {
        const int saved = errno;
        gsh_bell_close(&bell);
        return gsh_note(GSH_ERR_SYSTEM, "init: a socket for PEs of the host: %s", strerror(saved));
    }
    *name = (uint32_t)strtoul(address.sun_path + 1, NULL, 16); /* zeros follow it */
    *out = bell;
    return GSH_OK;
}

void gsh_bell_close(struct gsh_bell **bell)
{
    struct gsh_bell *b = *bell;
    *bell = NULL;
    if (b == NULL) {
        return;
    }
    if (b->fd >= 0) {
        gsh_private_fd_close(&b->fd);
    }
    explicit_bzero(b, sizeof(*b));
    free(b);
}

int gsh_bell_fd(const struct gsh_bell *bell)
{
    return bell->fd;
}

void gsh_bell_key(struct gsh_bell *bell, const uint8_t secret[GSH_SECRET_BYTES])
{
    gsh_key_derive(secret, "bell", bell->key);
}

static uint64_t tag_of(const uint8_t key[GSH_KEY_BYTES], const struct gsh_bell_message *m)
{
    _Static_assert(GSH_SIPHASH_KEY_BYTES <= GSH_KEY_BYTES, "is the key's beginning");
    return gsh_siphash(key, m, offsetof(struct gsh_bell_message, tag));
}

bool gsh_bell_is_true(const uint8_t key[GSH_KEY_BYTES], int to, const void *data, size_t bytes)
{
    struct gsh_bell_message m;
    if (bytes != sizeof(m)) {
        return false;
    }
    memcpy(&m, data, sizeof(m));
    return m.to == to && m.from != to && m.tag == tag_of(key, &m);
}

/* Takes what has come, and so makes room for more; strangers that send without end do not keep it.
 */
static void receive_all(struct gsh_instance *pe)
{
    uint8_t data[sizeof(struct gsh_bell_message) + 1];
    for (int i = 0; i < MOST_AT_ONCE; i++) {
        const ssize_t n = recv(pe->bell->fd, data, sizeof(data), MSG_DONTWAIT);
        if (n < 0 && errno != EINTR) {
            return;
        }
        pe->bell->has_rung = pe->bell->has_rung ||
                             (n > 0 && gsh_bell_is_true(pe->bell->key, pe->my_pe, data, (size_t)n));
    }
}

bool gsh_bell_has_rung(struct gsh_instance *pe)
{
    if (pe->bell == NULL) {
        return false;
    }
    receive_all(pe);
    if (pe->bell->has_rung) {
        (void)gsh_note(GSH_ERR_PEER, "another PE of the node has failed");
        return true;
    }
    struct gsh_bootstrap *b = pe->bootstrap;
    const bool has_lost = b->ops->has_lost != NULL && b->ops->has_lost(b);
    if (has_lost) {
        (void)gsh_note(GSH_ERR_PEER, "another PE has ended");
    }
    return has_lost;
}

/* False: the other's bell is full. */
static bool ring(const struct gsh_instance *pe, int other)
{
    struct sockaddr_un address;
    const socklen_t bytes = address_of(gsh_near_of(pe, other)->bell, &address);
    struct gsh_bell_message m = {.from = pe->my_pe, .to = other};
    m.tag = tag_of(pe->bell->key, &m);
    const ssize_t n = sendto(pe->bell->fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT,
                             (struct sockaddr *)&address, bytes);
    /* a PE without a bell waits for nobody */
    return n >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOBUFS);
}

/* Several may ring each other at once, and Linux lets a socket have 10 messages: who finds no room
 * makes some for those that wait for it. */
void gsh_bell_ring_all(struct gsh_instance *pe)
{
    const struct timespec nap = {.tv_nsec = FULL_NAP_NS};
    int tries = FULL_TRIES;
    for (int i = 0; pe->bell != NULL && i < pe->n_pes; i++) {
        if (i == pe->my_pe || gsh_near_of(pe, i) == NULL) {
            continue;
        }
        while (!ring(pe, i) && tries-- > 0) {
            receive_all(pe);
            nanosleep(&nap, NULL);
        }
    }
}
