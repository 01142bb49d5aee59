/* SPDX-License-Identifier: Apache-2.0
 * Host memory: one memfd per PE that grows and shrinks at its end. Its descriptor is passed once,
 * with the first chunk; for later chunks peers map the descriptor that they already hold. Or one
 * memfd for the memory of many PEs, of which each has a part that it fills and empties (peer.h). */
#include "heap/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/fault.h"
#include "base/sanitizer.h"
#include "base/util.h"

struct host_memory {
    struct gsh_memory memory;
    int fd;          /* own memfd, or -1 */
    const int *file; /* the one of many PEs, or NULL */
    uint64_t file_off, file_bytes;
    uint64_t end; /* of what has been committed and not released */
    int n_slots;
    uint64_t lazy_bytes;
    int *peer_fd; /* [n_slots], -1: not passed */
};

static struct host_memory *host(const struct gsh_memory *memory)
{
    return (struct host_memory *)memory;
}

static int host_fd(const struct gsh_memory *memory)
{
    return host(memory)->file != NULL ? *host(memory)->file : host(memory)->fd;
}

/* bytes: 0: there is no size to report. */
static enum gsh_result note_errno(enum gsh_result r, const char *what, uint64_t bytes)
{
    const char *text = strerror(errno);
    if (bytes == 0) {
        return gsh_note(r, "%s: %s", what, text);
    }
    return gsh_note(r, "%s %llu bytes: %s", what, (unsigned long long)bytes, text);
}

/* ---- addresses ---- */

/* The thread sanitizer ends the process when a mapping leaves the 1.5 TiB it has shadow for. */
#ifdef GSH_UNDER_TSAN
static const uint64_t reserve_limit = (uint64_t)1 << 40;
#else
static const uint64_t reserve_limit = UINT64_MAX;
#endif

/* After a mapping of so many bytes has failed: errno is set. */
static enum gsh_result note_no_addresses(uint64_t bytes)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        return gsh_note(GSH_ERR_NOMEM,
                        "cannot reserve %llu bytes of addresses (GSHMEM_HEAP_RANGE): the limit of "
                        "addresses (ulimit -v) lets this process have %llu KiB",
                        (unsigned long long)bytes, (unsigned long long)limit.rlim_cur / 1024);
    }
    return note_errno(GSH_ERR_NOMEM, "cannot reserve addresses (GSHMEM_HEAP_RANGE) for", bytes);
}

static void *map_empty(void *where, uint64_t bytes, int fixed)
{
    return mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1,
                0);
}

static enum gsh_result host_reserve(uint64_t bytes, uint64_t align, struct gsh_reservation *out)
{
    bool is_too_much = bytes > reserve_limit || gsh_fault();
    void *p = MAP_FAILED;
    uint64_t slack = align;
    if (!is_too_much && align <= reserve_limit - bytes && !gsh_fault()) {
        p = map_empty(NULL, bytes + slack, 0);
    }
    if (p == MAP_FAILED) {
        align = slack = GSH_MEMORY_CHUNK;
        p = is_too_much ? MAP_FAILED : map_empty(NULL, bytes + slack, 0);
    }
    if (p == MAP_FAILED) {
        errno = ENOMEM;
        return note_no_addresses(bytes);
    }
    /* Give back what alignment did not need. */
    uint64_t raw = (uint64_t)(uintptr_t)p, base = gsh_align_up(raw, align);
    if (base > raw) {
        munmap(p, base - raw);
    }
    if (raw + slack > base) {
        munmap((void *)(uintptr_t)(base + bytes), raw + slack - base);
    }
    *out = (struct gsh_reservation){
        .base = base, .bytes = bytes, .align = align, .raw = base, .raw_bytes = bytes};
    return GSH_OK;
}

static void host_unreserve(struct gsh_reservation *reservation)
{
    if (reservation->raw_bytes) {
        munmap((void *)(uintptr_t)reservation->raw, reservation->raw_bytes);
    }
    memset(reservation, 0, sizeof(*reservation));
}

static void host_unmap(uint64_t addr, uint64_t bytes)
{
    /* Replacing a mapping keeps the addresses reserved. It can fail only if the kernel runs out of
     * memory for a structure; the old pages then stay mapped until the range is released. */
    (void)map_empty((void *)(uintptr_t)addr, bytes, MAP_FIXED);
}

static enum gsh_result map_file(int fd, uint64_t addr, struct gsh_chunk chunk)
{
    void *p = gsh_fault() ? MAP_FAILED
                          : mmap((void *)(uintptr_t)addr, chunk.bytes, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, fd, (off_t)chunk.off);
    if (p == MAP_FAILED) {
        return note_errno(errno == ENOMEM ? GSH_ERR_NOMEM : GSH_ERR_SYSTEM, "cannot map",
                          chunk.bytes);
    }
    return GSH_OK;
}

/* ---- available memory ---- */

/* The number after `key` in a file ("" : the file's first word); UINT64_MAX when not found. */
static uint64_t number_in(const char *path, const char *key)
{
    char line[256];
    uint64_t value = UINT64_MAX;
    size_t length = strlen(key);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return value;
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        char *end;
        if (strncmp(line, key, length) != 0) {
            continue;
        }
        unsigned long long v = strtoull(line + length, &end, 10);
        if (end != line + length) {
            value = v;
        }
        break;
    }
    fclose(f);
    return value;
}

/* What a control group still allows; its page cache can be dropped, so it does not count. */
static uint64_t group_room(const char *max_path, const char *now_path, const char *stat_path,
                           const char *cache_key)
{
    uint64_t max = number_in(max_path, ""), now = number_in(now_path, "");
    uint64_t cache = number_in(stat_path, cache_key);
    if (max == UINT64_MAX || now == UINT64_MAX) {
        return UINT64_MAX;
    }
    if (cache != UINT64_MAX) {
        now -= gsh_min_u64(now, cache);
    }
    return max - gsh_min_u64(max, now);
}

/* An overcommitting kernel grants any size and later kills a process, so check first. */
static uint64_t available_bytes(void)
{
    uint64_t kib = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t room = kib == UINT64_MAX ? kib : kib * 1024;
    room =
        gsh_min_u64(room, group_room("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                                     "/sys/fs/cgroup/memory.stat", "inactive_file "));
    return gsh_min_u64(room,
                       group_room("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                  "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                  "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "));
}

static enum gsh_result host_admit(const struct gsh_memory *memory, uint64_t bytes)
{
    /* All PEs of the node grow at once. */
    uint64_t room = gsh_fault() ? 0 : available_bytes();
    uint64_t n = (uint64_t)host(memory)->n_slots;
    if (room / n >= bytes) {
        return GSH_OK;
    }
    return gsh_note(GSH_ERR_NOMEM,
                    "%llu bytes of host memory for each of %llu PEs: %llu are available in all",
                    (unsigned long long)bytes, (unsigned long long)n, (unsigned long long)room);
}

/* ---- one PE's memory ---- */

static void host_destroy(struct gsh_memory **memory)
{
    struct host_memory *m = *memory != NULL ? host(*memory) : NULL;
    *memory = NULL;
    if (m == NULL) {
        return;
    }
    for (int s = 0; m->peer_fd != NULL && s < m->n_slots; s++) {
        if (m->peer_fd[s] >= 0) {
            close(m->peer_fd[s]);
        }
    }
    if (m->fd >= 0) {
        close(m->fd);
    }
    free(m->peer_fd);
    free(m);
}

static enum gsh_result host_create(const struct gsh_memory_options *options,
                                   struct gsh_memory **out)
{
    struct host_memory *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's bookkeeping");
    }
    struct gsh_memory *memory = &m->memory;
    memory->ops = &gsh_memory_host;
    m->fd = -1;
    m->n_slots = options->n_slots;
    m->lazy_bytes = options->lazy_bytes;
    m->file = options->file;
    m->file_off = options->file_off;
    m->file_bytes = options->file_bytes;
    m->peer_fd = gsh_fault() ? NULL : malloc((size_t)m->n_slots * sizeof(*m->peer_fd));
    for (int s = 0; m->peer_fd != NULL && s < m->n_slots; s++) {
        m->peer_fd[s] = -1;
    }
    if (m->peer_fd != NULL && m->file == NULL) {
        /* registered_host.c refuses memory of files whose names begin with gshmem */
        const char *name = options->is_registrable ? "registrable gshmem" : "gshmem";
        m->fd = gsh_fault() ? -1 : memfd_create(name, MFD_CLOEXEC);
    }
    if (m->peer_fd == NULL || (m->fd < 0 && m->file == NULL)) {
        enum gsh_result r = note_errno(GSH_ERR_SYSTEM, "cannot make a memfd", 0);
        host_destroy(&memory);
        return r;
    }
    *out = memory;
    return GSH_OK;
}

static int set_size(int fd, uint64_t bytes)
{
    int rc;
    while ((rc = ftruncate(fd, (off_t)bytes)) != 0 && errno == EINTR) {
        continue;
    }
    return rc;
}

/* Physical pages for [off, off + bytes) of the file, but for the first lazy_bytes: running out is
 * an error here, not a signal at the first touch. In steps, so that an interrupting signal does not
 * restart all of it. */
static enum gsh_result extend_file(int fd, struct gsh_chunk chunk, uint64_t lazy_bytes)
{
    const uint64_t step = (uint64_t)64 << 20;
    if (!gsh_file_may_have(chunk.off + chunk.bytes)) {
        return gsh_note(GSH_ERR_NOMEM, "the file size limit (ulimit -f) stops the heap at %llu",
                        (unsigned long long)chunk.off);
    }
    if (lazy_bytes > 0 && set_size(fd, chunk.off + lazy_bytes) != 0) {
        return note_errno(GSH_ERR_NOMEM, "no host memory for", chunk.bytes);
    }
    for (uint64_t done = lazy_bytes; done < chunk.bytes;) {
        uint64_t n = gsh_min_u64(step, chunk.bytes - done);
        int rc = gsh_fault() ? -1 : fallocate(fd, 0, (off_t)(chunk.off + done), (off_t)n);
        if (rc == 0) {
            done += n;
        } else if (errno != EINTR) {
            return note_errno(GSH_ERR_NOMEM, "no host memory for", chunk.bytes);
        }
    }
    return GSH_OK;
}

/* The same in the part of a file that has its size already. */
static enum gsh_result fill_part(const struct host_memory *m, struct gsh_chunk chunk,
                                 uint64_t lazy_bytes)
{
    const uint64_t step = (uint64_t)64 << 20;
    for (uint64_t done = lazy_bytes; done < chunk.bytes;) {
        const uint64_t n = gsh_min_u64(step, chunk.bytes - done);
        const off_t at = (off_t)(m->file_off + chunk.off + done);
        if (!gsh_fault() && fallocate(*m->file, FALLOC_FL_KEEP_SIZE, at, (off_t)n) == 0) {
            done += n;
        } else if (errno != EINTR) {
            return note_errno(GSH_ERR_NOMEM, "no host memory for", chunk.bytes);
        }
    }
    return GSH_OK;
}

/* What comes there again is zeros. */
static void empty_part(const struct host_memory *m, uint64_t off)
{
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    while (off < m->end &&
           fallocate(*m->file, mode, (off_t)(m->file_off + off), (off_t)(m->end - off)) != 0 &&
           errno == EINTR) {
        continue;
    }
}

static void host_release(struct gsh_memory *memory, uint64_t off)
{
    struct host_memory *m = host(memory);
    if (m->file != NULL) {
        empty_part(m, off);
    } else {
        (void)set_size(m->fd, off);
    }
    m->end = gsh_min_u64(m->end, off);
}

static enum gsh_result host_commit(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk)
{
    struct host_memory *m = host(memory);
    const uint64_t lazy_end = gsh_min_u64(m->lazy_bytes, chunk.off + chunk.bytes);
    const uint64_t lazy_bytes = lazy_end > chunk.off ? lazy_end - chunk.off : 0;
    m->end = chunk.off + chunk.bytes;
    enum gsh_result r =
        m->file != NULL ? fill_part(m, chunk, lazy_bytes) : extend_file(m->fd, chunk, lazy_bytes);
    if (r == GSH_OK) {
        const struct gsh_chunk in_file = {.off = m->file_off + chunk.off, .bytes = chunk.bytes};
        r = map_file(host_fd(memory), addr, in_file);
    }
    if (r != GSH_OK) {
        host_release(memory, chunk.off);
    }
    return r;
}

static enum gsh_result host_zero(struct gsh_memory *memory, uint64_t addr, uint64_t bytes)
{
    (void)memory;
    memset((void *)(uintptr_t)addr, 0, bytes);
    return GSH_OK;
}

static uint64_t host_next_data(const struct gsh_memory *memory, uint64_t off)
{
    const struct host_memory *m = host(memory);
    const off_t at = lseek(host_fd(memory), (off_t)(m->file_off + off), SEEK_DATA);
    if (at < 0) {
        return errno == ENXIO ? UINT64_MAX : off;
    }
    const uint64_t found = (uint64_t)at - m->file_off;
    return m->file == NULL || found < m->file_bytes ? found : UINT64_MAX;
}

/* ---- one file for many ---- */

#define FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static enum gsh_result host_make_file(uint64_t bytes, int *fd)
{
    if (!gsh_file_may_have(bytes)) {
        return gsh_note(
            GSH_ERR_SYSTEM,
            "the file size limit (ulimit -f) is below the %llu bytes of all heaps of the "
            "node; GSHMEM_HEAP_RANGE makes that less",
            (unsigned long long)bytes);
    }
    *fd = gsh_fault() ? -1 : memfd_create("gshmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || set_size(*fd, bytes) != 0 || fcntl(*fd, F_ADD_SEALS, FILE_SEALS) != 0) {
        enum gsh_result r = note_errno(GSH_ERR_SYSTEM, "cannot make a memfd", 0);
        if (*fd >= 0) {
            close(*fd);
        }
        *fd = -1;
        return r;
    }
    return GSH_OK;
}

/* Not part of a core dump, which would visit all of it. */
static enum gsh_result host_map_file(int fd, uint64_t addr, uint64_t off, uint64_t bytes)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & FILE_SEALS) != FILE_SEALS || !gsh_host_holds(fd, off, bytes)) {
        return gsh_note(GSH_ERR_BUG, "what a PE sent is no file of heaps");
    }
    enum gsh_result r = map_file(fd, addr, (struct gsh_chunk){.off = off, .bytes = bytes});
    if (r == GSH_OK) {
        (void)madvise((void *)(uintptr_t)addr, bytes, MADV_DONTDUMP);
    }
    return r;
}

/* ---- sharing ---- */

static enum gsh_share_kind host_share_kind(const struct gsh_memory *memory, uint64_t off)
{
    (void)memory;
    return off == 0 ? GSH_SHARE_FD : GSH_SHARE_NOTHING;
}

static int duplicate(int fd)
{
    return gsh_fault() ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static enum gsh_result host_share(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk,
                                  struct gsh_share *out)
{
    (void)addr;
    (void)chunk;
    int fd = duplicate(host(memory)->fd);
    if (fd < 0) {
        return note_errno(GSH_ERR_SYSTEM, "cannot duplicate a descriptor", 0);
    }
    out->fd = fd;
    return GSH_OK;
}

static enum gsh_result host_accept(struct gsh_memory *memory, int slot, uint64_t addr,
                                   struct gsh_chunk chunk, const struct gsh_share *share)
{
    int *held = &host(memory)->peer_fd[slot];
    if (host_share_kind(memory, chunk.off) == GSH_SHARE_FD) {
        if (share->fd < 0) {
            return gsh_note(GSH_ERR_SYSTEM, "no descriptor of the memory of slot %d", slot);
        }
        int fd = duplicate(share->fd);
        if (fd < 0) {
            return note_errno(GSH_ERR_SYSTEM, "cannot duplicate a descriptor", 0);
        }
        if (*held >= 0) {
            close(*held);
        }
        *held = fd;
    }
    /* the file may still become shorter: it is another PE's, and shrinks by agreement */
    if (!gsh_host_holds(*held, chunk.off, chunk.bytes)) {
        return gsh_note(GSH_ERR_BUG, "the memory of slot %d is shorter than its PE says", slot);
    }
    return map_file(*held, addr, chunk);
}

const struct gsh_memory_ops gsh_memory_host = {
    .name = "host",
    .reserve = host_reserve,
    .unreserve = host_unreserve,
    .unmap = host_unmap,
    .make_file = host_make_file,
    .map_file = host_map_file,
    .create = host_create,
    .destroy = host_destroy,
    .admit = host_admit,
    .commit = host_commit,
    .release = host_release,
    .is_born_zero = true,
    .zero = host_zero,
    .next_data = host_next_data,
    .fd = host_fd,
    .share_kind = host_share_kind,
    .share = host_share,
    .accept = host_accept,
    .granule = gsh_page_size,
    .register_range = gsh_host_register_range,
    .give_back = gsh_host_give_back,
    .settle = gsh_host_settle,
    .attach = gsh_host_attach,
    .share_piece = gsh_host_share_piece,
    .accept_piece = gsh_host_accept_piece,
};
