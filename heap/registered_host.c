/* SPDX-License-Identifier: Apache-2.0
 * The program's host memory that the heap also maps. Shared memory is mapped again through the
 * program's descriptor. Private memory becomes a mapping of its own file under the running program,
 * as its globals do, and private again when it is given back. */
#include "heap/registrable.h"
#include "heap/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/fault.h"
#include "base/util.h"

/* ---- what the memory is ---- */

/* About [start, end): its file, and where it begins there. */
struct found {
    uint64_t start, end;
    bool is_mapped; /* all of it */
    bool is_writable, is_shared, is_private, is_stack;
    bool is_ours;     /* part of it is a heap's, or already registered, by any PE of this process */
    bool is_one_file; /* in one piece */
    uint64_t at;
    dev_t device;
    ino_t inode;
};

/* Adds the part of one line of maps that is in [f->start, f->end); false: the line is after it. */
static bool add_line(const char *line, struct found *f, uint64_t *reached)
{
    unsigned long long start, end, off, inode;
    unsigned major, minor;
    char mode[5];
    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, mode, &off, &major, &minor,
               &inode) != 7 ||
        end <= f->start) {
        return true;
    }
    if (start >= f->end || start > *reached) {
        return false;
    }
    const bool is_first = start <= f->start;
    const uint64_t file_at = off + *reached - start;
    const dev_t device = makedev(major, minor);
    if (is_first) {
        f->at = file_at;
        f->device = device;
        f->inode = (ino_t)inode;
        f->is_writable = f->is_one_file = true;
    }
    f->is_one_file = f->is_one_file && device == f->device && (ino_t)inode == f->inode &&
                     file_at - f->at == *reached - f->start;
    f->is_writable = f->is_writable && mode[0] == 'r' && mode[1] == 'w';
    f->is_shared = f->is_shared || mode[3] == 's';
    f->is_private = f->is_private || mode[3] == 'p';
    f->is_stack = f->is_stack || strstr(line, "[stack]") != NULL;
    f->is_ours = f->is_ours || strstr(line, "memfd:gshmem") != NULL;
    *reached = end;
    f->is_mapped = end >= f->end;
    return !f->is_mapped;
}

static enum gsh_result look(uint64_t start, uint64_t end, struct found *out)
{
    char line[512];
    struct found f = {.start = start, .end = end};
    uint64_t reached = start;
    FILE *maps = gsh_fault() ? NULL : fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return gsh_note(GSH_ERR_SYSTEM, "cannot read /proc/self/maps: %s", strerror(errno));
    }
    bool goes_on = true;
    while (goes_on && fgets(line, sizeof(line), maps) != NULL) {
        const char *whole = strchr(line, '\n');
        goes_on = add_line(line, &f, &reached);
        while (whole == NULL && fgets(line, sizeof(line), maps) != NULL) {
            whole = strchr(line, '\n'); /* the rest of a long name */
        }
    }
    fclose(maps);
    *out = f;
    return GSH_OK;
}

/* ---- lending ---- */

/* Moves the contents to a file, whose mapping replaces the private pages. */
static enum gsh_result move(const struct found *f, int *out)
{
    const uint64_t bytes = f->end - f->start;
    void *copy = MAP_FAILED;
    int fd = gsh_fault() ? -1 : memfd_create("gshmem buffer", MFD_CLOEXEC);
    if (fd >= 0 && !gsh_fault() && gsh_file_may_have(bytes) &&
        fallocate(fd, 0, 0, (off_t)bytes) == 0) {
        copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (copy != MAP_FAILED) {
        gsh_pages_copy(copy, (const void *)(uintptr_t)f->start, bytes);
        if (gsh_pages_remap(copy, bytes, (void *)(uintptr_t)f->start, bytes)) {
            *out = fd;
            return GSH_OK;
        }
    }
    enum gsh_result r =
        gsh_note(GSH_ERR_NOMEM, "its %llu bytes cannot be moved to shared memory: %s",
                 (unsigned long long)bytes, strerror(errno));
    if (copy != MAP_FAILED) {
        munmap(copy, bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

/* A thread's stack is private memory like any other, but it cannot move while the thread runs. */
static bool is_own_stack(const struct found *f)
{
    pthread_attr_t attr;
    void *bottom = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) {
        return false;
    }
    const bool is_known = pthread_attr_getstack(&attr, &bottom, &bytes) == 0;
    pthread_attr_destroy(&attr);
    const uint64_t begin = (uint64_t)(uintptr_t)bottom;
    return is_known && f->start < begin + bytes && begin < f->end;
}

static enum gsh_result check(const struct found *f, bool may_be_ours)
{
    void *start = (void *)(uintptr_t)f->start;
    if (!f->is_mapped) {
        return gsh_note(GSH_ERR_ARG, "no memory is at %p, or ends there: freed, or never allocated",
                        start);
    }
    if (!f->is_writable) {
        return gsh_note(GSH_ERR_ARG, "the memory at %p cannot be read and written", start);
    }
    if (f->is_stack || is_own_stack(f)) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "%p is on the stack", start);
    }
    if (f->is_ours && !may_be_ours) {
        return gsh_note(GSH_ERR_ARG,
                        "a page at %p is symmetric memory already, or another buffer's", start);
    }
    if (f->is_shared && (f->is_private || !f->is_one_file)) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "the memory at %p is shared, but not all of it in one piece of one file",
                        start);
    }
    return GSH_OK;
}

/* PEs that are threads may examine each other's pages. */
static pthread_mutex_t register_range_lock = PTHREAD_MUTEX_INITIALIZER;

/* Everything is known about memory that was made to be registered. */
static bool is_made_for_it(uint64_t start, uint64_t end, struct found *f, int *fd)
{
    *f = (struct found){.start = start, .end = end, .is_shared = true};
    *fd = gsh_registrable_fd(start, end - start, &f->at);
    return *fd >= 0;
}

static enum gsh_result register_range(uint64_t addr, uint64_t bytes, bool may_be_ours,
                                      struct gsh_registration *out)
{
    const uint64_t page = gsh_page_size();
    const uint64_t start = addr & -page, end = gsh_align_up(addr + bytes, page);
    struct found f;
    struct stat s = {0};
    int fd = -1;
    enum gsh_result r = GSH_OK;
    if (!is_made_for_it(start, end, &f, &fd)) {
        r = look(start, end, &f);
        r = r == GSH_OK ? check(&f, may_be_ours) : r;
    }
    struct gsh_piece *piece = r == GSH_OK && !gsh_fault() ? calloc(1, sizeof(*piece)) : NULL;
    if (r == GSH_OK && piece == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "no host memory for the buffer's pieces");
    }
    if (r == GSH_OK && f.is_private) {
        f.at = 0;
        r = move(&f, &fd);
    } else if (r == GSH_OK && fd < 0) {
        fd = gsh_file_find_descriptor(f.device, f.inode);
        r = fd >= 0 ? GSH_OK
                    : gsh_note(GSH_ERR_UNSUPPORTED,
                               "it is shared memory of which this process holds no open "
                               "descriptor for reading and writing, through which others could "
                               "map it");
    }
    if (r != GSH_OK) {
        if (fd >= 0) {
            close(fd);
        }
        free(piece);
        return r;
    }
    (void)!fstat(fd, &s);
    *piece = (struct gsh_piece){.bytes = f.end - f.start, .at = f.at, .handle = (uint64_t)fd};
    *out = (struct gsh_registration){.start = f.start,
                                     .bytes = f.end - f.start,
                                     .pieces = piece,
                                     .n_pieces = 1,
                                     .is_open = true,
                                     .is_moved = f.is_private,
                                     .inode = s.st_ino};
    return GSH_OK;
}

enum gsh_result gsh_host_register_range(struct gsh_memory *memory, uint64_t addr, uint64_t bytes,
                                        struct gsh_registration *out)
{
    (void)memory;
    pthread_mutex_lock(&register_range_lock);
    enum gsh_result r = register_range(addr, bytes, false, out);
    pthread_mutex_unlock(&register_range_lock);
    return r;
}

enum gsh_result gsh_host_share_range(uint64_t addr, uint64_t bytes, struct gsh_registration *out)
{
    pthread_mutex_lock(&register_range_lock);
    enum gsh_result r = register_range(addr, bytes, true, out);
    pthread_mutex_unlock(&register_range_lock);
    return r;
}

void gsh_host_settle(struct gsh_registration *registration)
{
    if (registration->is_open) {
        close((int)registration->pieces[0].handle);
    }
    registration->is_open = false;
}

/* The program may have unmapped it, and mapped something else there. */
void gsh_host_give_back(struct gsh_memory *memory, struct gsh_registration *registration)
{
    struct found f;
    (void)memory;
    if (registration->is_moved &&
        look(registration->start, registration->start + registration->bytes, &f) == GSH_OK &&
        f.is_mapped && f.is_shared && f.is_one_file && f.at == 0 &&
        f.inode == registration->inode) {
        (void)gsh_pages_make_private((void *)(uintptr_t)registration->start, registration->bytes);
    }
    gsh_host_settle(registration);
    free(registration->pieces);
    *registration = (struct gsh_registration){0};
}

/* ---- mapping ---- */

static enum gsh_result map_piece(int fd, uint64_t addr, const struct gsh_piece *piece)
{
    void *p = gsh_fault() ? MAP_FAILED
                          : mmap((void *)(uintptr_t)addr, piece->bytes, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, fd, (off_t)piece->at);
    if (p == MAP_FAILED) {
        return gsh_note(errno == ENOMEM ? GSH_ERR_NOMEM : GSH_ERR_SYSTEM,
                        "cannot map %llu bytes of a buffer: %s", (unsigned long long)piece->bytes,
                        strerror(errno));
    }
    return GSH_OK;
}

enum gsh_result gsh_host_attach(struct gsh_memory *memory, uint64_t addr,
                                const struct gsh_piece *piece)
{
    (void)memory;
    return map_piece((int)piece->handle, addr, piece);
}

enum gsh_result gsh_host_share_piece(struct gsh_memory *memory, const struct gsh_piece *piece,
                                     struct gsh_share *out)
{
    (void)memory;
    out->fd = gsh_fault() ? -1 : fcntl((int)piece->handle, F_DUPFD_CLOEXEC, 0);
    return out->fd >= 0
               ? GSH_OK
               : gsh_note(GSH_ERR_SYSTEM, "cannot duplicate a descriptor: %s", strerror(errno));
}

bool gsh_host_holds(int fd, uint64_t off, uint64_t bytes)
{
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < 0) {
        return false;
    }
    return !S_ISREG(s.st_mode) ||
           gsh_range_fits(off, bytes, gsh_align_up((uint64_t)s.st_size, gsh_page_size()));
}

enum gsh_result gsh_host_accept_piece(struct gsh_memory *memory, int slot, uint64_t addr,
                                      const struct gsh_piece *piece, const struct gsh_share *share)
{
    (void)memory;
    if (share->fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM, "no descriptor of the buffer of slot %d", slot);
    }
    if (!gsh_host_holds(share->fd, piece->at, piece->bytes)) {
        return gsh_note(GSH_ERR_BUG, "the buffer of slot %d is shorter than its PE says", slot);
    }
    return map_piece(share->fd, addr, piece);
}
