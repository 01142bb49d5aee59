/* SPDX-License-Identifier: Apache-2.0
 * See port.h. Messages and a PE's life have separate locks. Copies take only the second, shared, so
 * locking orders them with nothing. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/atomic.h"
#include "proxy/loop/port.h"

struct gsh_loop_port *gsh_loop_port_create(int n_pes)
{
    struct gsh_loop_port *port = calloc(1, sizeof(*port) + (size_t)n_pes * sizeof(port->from[0]));
    if (port == NULL) {
        return NULL;
    }
    port->magic = GSH_LOOP_PORT_MAGIC;
    port->n_holders = 1;
    port->n_pes = n_pes;
    port->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (port->event_fd < 0) {
        free(port);
        return NULL;
    }
    pthread_rwlock_init(&port->life, NULL);
    pthread_mutex_init(&port->lock, NULL);
    return port;
}

void gsh_loop_port_hold(struct gsh_loop_port *port)
{
    __atomic_add_fetch(&port->n_holders, 1, __ATOMIC_RELAXED);
}

static void free_letters(struct gsh_loop_letters *letters)
{
    struct gsh_loop_letter *next;
    for (struct gsh_loop_letter *letter = letters->head; letter != NULL; letter = next) {
        next = letter->next;
        gsh_loop_port_release(letter->sender);
        free(letter);
    }
    letters->head = NULL;
}

void gsh_loop_port_release(struct gsh_loop_port *port)
{
    /* release: this thread is done with it; acquire: for the last one, so are all others */
    if (port == NULL || __atomic_sub_fetch(&port->n_holders, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    close(port->event_fd);
    pthread_rwlock_destroy(&port->life);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

bool gsh_loop_port_enter(struct gsh_loop_port *port)
{
    pthread_rwlock_rdlock(&port->life);
    if (!port->is_gone) {
        return true;
    }
    pthread_rwlock_unlock(&port->life);
    return false;
}

void gsh_loop_port_leave(struct gsh_loop_port *port)
{
    pthread_rwlock_unlock(&port->life);
}

void gsh_loop_port_close(struct gsh_loop_port *port)
{
    pthread_rwlock_wrlock(&port->life);
    port->is_gone = true;
    pthread_rwlock_unlock(&port->life);
    for (int pe = 0; pe < port->n_pes; pe++) { /* they may hold ports that hold this one */
        free_letters(&port->from[pe]);
    }
}

static void make_readable(struct gsh_loop_port *port)
{
    uint64_t one = 1;
    if (port->is_armed && write(port->event_fd, &one, sizeof(one)) == sizeof(one)) {
        port->is_armed = false;
    }
}

void gsh_loop_port_stir(struct gsh_loop_port *port)
{
    pthread_mutex_lock(&port->lock);
    make_readable(port);
    pthread_mutex_unlock(&port->lock);
}

static struct gsh_loop_letter *write_letter(const void *header, size_t header_bytes,
                                            const void *data, size_t bytes)
{
    struct gsh_loop_letter *letter = malloc(sizeof(*letter) + header_bytes + bytes);
    if (letter == NULL) {
        return NULL;
    }
    *letter = (struct gsh_loop_letter){.header_bytes = header_bytes, .bytes = bytes};
    memcpy(letter->data, header, header_bytes);
    if (bytes > 0) {
        memcpy(letter->data + header_bytes, data, bytes);
    }
    return letter;
}

/* Under the lock. */
static void count_letters(struct gsh_loop_port *port, int change)
{
    __atomic_store_n(&port->n_letters, port->n_letters + (uint32_t)change, __ATOMIC_RELAXED);
}

bool gsh_loop_port_post(struct gsh_loop_port *port, int from_pe, struct gsh_loop_port *sender,
                        const void *header, size_t header_bytes, const void *data, size_t bytes)
{
    struct gsh_loop_letter *letter = write_letter(header, header_bytes, data, bytes);
    if (letter == NULL) {
        return false;
    }
    letter->sender = sender;
    gsh_loop_port_hold(sender);
    pthread_mutex_lock(&port->lock);
    struct gsh_loop_letters *letters = &port->from[from_pe];
    if (letters->head != NULL) {
        letters->tail->next = letter;
    } else {
        letters->head = letter;
    }
    letters->tail = letter;
    count_letters(port, 1);
    make_readable(port);
    pthread_mutex_unlock(&port->lock);
    return true;
}

bool gsh_loop_port_has_letters(const struct gsh_loop_port *port)
{
    /* relaxed: orders nothing; a letter's content is ordered by the lock under which it is taken */
    return gsh_load_relaxed_u32(&port->n_letters) > 0;
}

struct gsh_loop_letter *gsh_loop_port_take(struct gsh_loop_port *port, int from_pe)
{
    pthread_mutex_lock(&port->lock);
    struct gsh_loop_letter *letter = port->from[from_pe].head;
    if (letter != NULL) {
        port->from[from_pe].head = letter->next;
        count_letters(port, -1);
    }
    pthread_mutex_unlock(&port->lock);
    return letter;
}

bool gsh_loop_port_arm(struct gsh_loop_port *port)
{
    uint64_t count;
    bool is_empty = true;
    pthread_mutex_lock(&port->lock);
    for (int pe = 0; pe < port->n_pes; pe++) {
        is_empty = is_empty && port->from[pe].head == NULL;
    }
    if (is_empty) {
        (void)!read(port->event_fd, &count, sizeof(count)); /* from an earlier arming, or nothing */
        port->is_armed = true;
    }
    pthread_mutex_unlock(&port->lock);
    return is_empty;
}
