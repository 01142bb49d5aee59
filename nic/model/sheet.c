/* SPDX-License-Identifier: Apache-2.0
 * See sheet.h. */
#include "nic/model/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/private_fd.h"
#include "base/process.h"
#include "base/util.h"
#include "nic/model/files.h"

#define SHEET_MAGIC 0x6472614du /* "Shee" */
#define PAGE_BYTES  4096u

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_model_port *ports;
static uint64_t n_ports;

/* ---- a port's life ---- */

static size_t sheet_bytes(uint32_t n_links)
{
    return gsh_align_up(sizeof(struct gsh_model_sheet) + n_links * sizeof(struct gsh_model_link),
                        PAGE_BYTES);
}

static bool map_sheet(struct gsh_model_port *port, bool is_one_process)
{
    int kind = is_one_process ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    if (!is_one_process) {
        port->fd = memfd_create("gshmem adapter", MFD_CLOEXEC);
        if (port->fd < 0 || ftruncate(port->fd, (off_t)port->sheet_bytes) != 0) {
            return false;
        }
        gsh_private_fd_add(port->fd);
    }
    void *p = mmap(NULL, port->sheet_bytes, PROT_READ | PROT_WRITE, kind, port->fd, 0);
    port->sheet = p != MAP_FAILED ? p : NULL;
    return port->sheet != NULL;
}

static void free_port(struct gsh_model_port *port)
{
    if (port->sheet != NULL) {
        munmap(port->sheet, port->sheet_bytes);
    }
    gsh_private_fd_close(&port->fd);
    pthread_rwlock_destroy(&port->lock);
    free(port);
}

struct gsh_model_port *gsh_model_port_create(uint32_t n_links, bool is_one_process)
{
    struct gsh_model_port *port = calloc(1, sizeof(*port));
    if (port == NULL || n_links > GSH_MODEL_QUEUES_MAX) {
        free(port);
        (void)gsh_note(GSH_ERR_NOMEM, "the model NIC: no memory for %u queues", n_links);
        return NULL;
    }
    port->fd = -1;
    port->users = 1;
    port->sheet_bytes = sheet_bytes(n_links);
    pthread_rwlock_init(&port->lock, NULL);
    if (!map_sheet(port, is_one_process)) {
        (void)gsh_note(GSH_ERR_NOMEM, "the model NIC: no memory for its sheet: %s",
                       strerror(errno));
        free_port(port);
        return NULL;
    }
    pthread_mutex_lock(&list_lock);
    port->id = ++n_ports;
    port->next = ports;
    ports = port;
    pthread_mutex_unlock(&list_lock);
    port->sheet->magic = SHEET_MAGIC;
    port->sheet->n_links = n_links;
    port->sheet->id = port->id;
    return port;
}

static void free_piece(struct gsh_model_port *port, unsigned i)
{
    struct gsh_model_piece *piece = &port->sheet->pieces[i];
    __atomic_store_n(&piece->generation, 0, __ATOMIC_RELEASE);
    gsh_private_fd_close(&piece->fd);
    port->address[i] = NULL;
}

void gsh_model_port_close(struct gsh_model_port *port)
{
    pthread_rwlock_wrlock(&port->lock);
    port->is_closed = true;
    for (unsigned i = 0; i < GSH_MODEL_PIECES; i++) {
        if (port->sheet->pieces[i].generation != 0) {
            free_piece(port, i);
        }
    }
    pthread_rwlock_unlock(&port->lock);
}

void gsh_model_port_release(struct gsh_model_port *port)
{
    bool is_last = false;
    pthread_mutex_lock(&list_lock);
    if (port != NULL && --port->users == 0) {
        struct gsh_model_port **at = &ports;
        while (*at != port) {
            at = &(*at)->next;
        }
        *at = port->next;
        is_last = true;
    }
    pthread_mutex_unlock(&list_lock);
    if (is_last) {
        free_port(port);
    }
}

/* NULL: none of this process has that number. */
static struct gsh_model_port *hold_port(uint64_t id)
{
    pthread_mutex_lock(&list_lock);
    struct gsh_model_port *port = ports;
    while (port != NULL && port->id != id) {
        port = port->next;
    }
    if (port != NULL) {
        port->users++;
    }
    pthread_mutex_unlock(&list_lock);
    return port;
}

/* ---- keys and pieces ---- */

uint32_t gsh_model_add_key(struct gsh_model_port *port, uint32_t domain, uint32_t rights,
                           bool is_everything)
{
    for (unsigned i = 0; i < GSH_MODEL_KEYS; i++) {
        struct gsh_model_key *key = &port->sheet->keys[i];
        if (key->value == 0) {
            /* as an adapter's: an index, and a byte that tells two keys in one site apart */
            *key = (struct gsh_model_key){.value = (i + 1) << 8 | (uint8_t)(0x40 + port->id),
                                          .domain = domain,
                                          .rights = rights,
                                          .is_everything = is_everything};
            return key->value;
        }
    }
    return 0;
}

static void add_piece(struct gsh_model_port *port, unsigned i, uint64_t region_off,
                      struct gsh_model_piece piece, uint8_t *address)
{
    struct gsh_model_piece *to = &port->sheet->pieces[i];
    port->address[i] = address;
    port->owned_off[i] = region_off;
    to->off = piece.off;
    to->bytes = piece.bytes;
    to->file_off = piece.file_off;
    to->key = piece.key;
    to->fd = piece.fd;
    __atomic_store_n(&to->generation, ++port->n_generations, __ATOMIC_RELEASE);
}

/* The first free site from i on; GSH_MODEL_PIECES: none. */
static unsigned free_site(const struct gsh_model_port *port, unsigned i)
{
    while (i < GSH_MODEL_PIECES && port->sheet->pieces[i].generation != 0) {
        i++;
    }
    return i;
}

static enum gsh_result bind_locked(struct gsh_model_port *port, uint32_t key, uint8_t *memory,
                                   uint64_t off, uint64_t bytes)
{
    unsigned i = 0;
    for (uint64_t done = 0; done < bytes;) {
        struct gsh_model_piece piece = {
            .off = off + done, .bytes = bytes - done, .key = key, .fd = -1};
        i = free_site(port, i);
        if (i == GSH_MODEL_PIECES) {
            return gsh_note(GSH_ERR_NOMEM, "the model NIC: its memory is in more than %d pieces",
                            GSH_MODEL_PIECES);
        }
        if (port->fd >= 0) {
            enum gsh_result r =
                gsh_model_find_file((uint64_t)(uintptr_t)(memory + done), bytes - done, &piece.fd,
                                    &piece.file_off, &piece.bytes);
            if (r != GSH_OK) {
                return r;
            }
            gsh_private_fd_add(piece.fd);
        }
        add_piece(port, i, off, piece, memory + done);
        done += piece.bytes;
    }
    return GSH_OK;
}

static unsigned unbind_locked(struct gsh_model_port *port, uint32_t key, uint64_t off)
{
    unsigned n = 0;
    for (unsigned i = 0; i < GSH_MODEL_PIECES; i++) {
        const struct gsh_model_piece *piece = &port->sheet->pieces[i];
        if (piece->generation != 0 && piece->key == key && port->owned_off[i] == off) {
            free_piece(port, i);
            n++;
        }
    }
    return n;
}

enum gsh_result gsh_model_bind(struct gsh_model_port *port, uint32_t key, void *memory,
                               uint64_t off, uint64_t bytes)
{
    pthread_rwlock_wrlock(&port->lock);
    enum gsh_result r = bind_locked(port, key, memory, off, bytes);
    if (r != GSH_OK) {
        (void)unbind_locked(port, key, off);
    }
    pthread_rwlock_unlock(&port->lock);
    return r;
}

enum gsh_result gsh_model_unbind(struct gsh_model_port *port, uint32_t key, uint64_t off)
{
    pthread_rwlock_wrlock(&port->lock);
    unsigned n = unbind_locked(port, key, off);
    pthread_rwlock_unlock(&port->lock);
    return n > 0 ? GSH_OK
                 : gsh_note(GSH_ERR_ARG, "the model NIC: no region begins at offset %#llx",
                            (unsigned long long)off);
}

/* ---- views ---- */

static int open_theirs(int32_t pid, int32_t fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Maps [off, off + bytes) of the file, which must have them. NULL: it cannot be. */
static void *map_theirs(int fd, uint64_t off, uint64_t bytes)
{
    struct stat s;
    void *p = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &s) == 0 && s.st_size >= 0 &&
        gsh_range_fits(off, bytes, (uint64_t)s.st_size)) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
    }
    return p != MAP_FAILED ? p : NULL;
}

static bool open_sheet(struct gsh_model_view *view, const struct gsh_model_address *address)
{
    int fd = open_theirs(address->pid, address->fd);
    view->sheet_bytes = sheet_bytes(address->n_links);
    view->sheet = map_theirs(fd, 0, view->sheet_bytes);
    view->mappings = calloc(GSH_MODEL_PIECES, sizeof(*view->mappings));
    if (fd >= 0) {
        close(fd);
    }
    return view->sheet != NULL && view->mappings != NULL && view->sheet->magic == SHEET_MAGIC &&
           view->sheet->id == address->id && view->sheet->n_links == address->n_links;
}

enum gsh_result gsh_model_view_open(struct gsh_model_view *view, int pe,
                                    const struct gsh_model_address *address)
{
    bool is_here = address->process == gsh_process_id();
    view->pid = address->pid;
    view->n_links = address->n_links;
    if (address->n_links > GSH_MODEL_QUEUES_MAX) {
        return gsh_note(GSH_ERR_ARG, "the model NIC: PE %d has %u queues", pe, address->n_links);
    }
    if (is_here) {
        view->port = hold_port(address->id);
        view->sheet = view->port != NULL ? view->port->sheet : NULL;
    }
    if (is_here ? view->port == NULL || view->sheet->n_links != address->n_links
                : !open_sheet(view, address)) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "the model NIC joins PEs of one machine and user: PE %d cannot be seen "
                        "from here",
                        pe);
    }
    return GSH_OK;
}

static void unmap(struct gsh_model_mapping *m)
{
    if (m->generation != 0) {
        munmap(m->address - m->slack, m->bytes + m->slack);
    }
    m->generation = 0;
}

void gsh_model_view_close(struct gsh_model_view *view)
{
    gsh_model_port_release(view->port);
    for (unsigned i = 0; view->mappings != NULL && i < GSH_MODEL_PIECES; i++) {
        unmap(&view->mappings[i]);
    }
    if (view->port == NULL && view->sheet != NULL) {
        munmap(view->sheet, view->sheet_bytes);
    }
    free(view->mappings);
    *view = (struct gsh_model_view){0};
}

bool gsh_model_view_enter(struct gsh_model_view *view)
{
    bool is_open = true;
    if (view->port != NULL) {
        pthread_rwlock_rdlock(&view->port->lock);
        is_open = !view->port->is_closed;
        if (!is_open) {
            pthread_rwlock_unlock(&view->port->lock);
        }
    }
    return is_open;
}

void gsh_model_view_leave(struct gsh_model_view *view)
{
    if (view->port != NULL) {
        pthread_rwlock_unlock(&view->port->lock);
    }
}

/* NULL: such a key does not exist, or not for that. */
static const struct gsh_model_key *find_key(const struct gsh_model_sheet *sheet, uint32_t value,
                                            uint32_t domain, uint32_t rights)
{
    const unsigned i = (value >> 8) - 1;
    const struct gsh_model_key *key = i < GSH_MODEL_KEYS ? &sheet->keys[i] : NULL;
    bool is_good = key != NULL && value != 0 && key->value == value && key->domain == domain &&
                   (key->rights & rights) == rights;
    return is_good ? key : NULL;
}

/* Where this process has the piece of another process, whose values have been read: they may change
 * meanwhile. */
static uint8_t *map_piece(struct gsh_model_view *view, unsigned i,
                          const struct gsh_model_piece *piece)
{
    struct gsh_model_mapping *m = &view->mappings[i];
    if (m->generation == piece->generation && m->bytes == piece->bytes) {
        return m->address;
    }
    unmap(m);
    uint64_t slack = piece->file_off % PAGE_BYTES;
    if (piece->bytes > UINT64_MAX / 2 || piece->fd < 0) {
        return NULL;
    }
    int fd = open_theirs(view->pid, piece->fd);
    uint8_t *p = map_theirs(fd, piece->file_off - slack, piece->bytes + slack);
    if (fd >= 0) {
        close(fd);
    }
    if (p != NULL) {
        *m = (struct gsh_model_mapping){piece->generation, p + slack, piece->bytes, slack};
    }
    return p != NULL ? p + slack : NULL;
}

uint8_t *gsh_model_view_find(struct gsh_model_view *view, bool is_own, uint32_t key,
                             uint32_t domain, uint32_t rights, uint64_t address, uint64_t bytes,
                             uint64_t *found)
{
    const struct gsh_model_key *k = find_key(view->sheet, key, domain, rights);
    if (k == NULL) {
        return NULL;
    }
    if (k->is_everything) {
        *found = bytes;
        return is_own ? (uint8_t *)(uintptr_t)address : NULL;
    }
    for (unsigned i = 0; i < GSH_MODEL_PIECES; i++) {
        /* acquire: pairs with add_piece, so the rest is there */
        struct gsh_model_piece piece = {
            .generation = __atomic_load_n(&view->sheet->pieces[i].generation, __ATOMIC_ACQUIRE)};
        if (piece.generation == 0) {
            continue;
        }
        const uint64_t generation = piece.generation;
        piece = view->sheet->pieces[i];
        piece.generation = generation;
        if (piece.key == key && address - piece.off < piece.bytes) {
            uint8_t *start =
                view->port != NULL ? view->port->address[i] : map_piece(view, i, &piece);
            uint64_t inside = address - piece.off;
            *found = gsh_min_u64(bytes, piece.bytes - inside);
            return start != NULL ? start + inside : NULL;
        }
    }
    return NULL;
}
