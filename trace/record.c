/* SPDX-License-Identifier: Apache-2.0
 * The recorder: hands out chunks of the part, numbers names, and writes slots. */
#include "trace/record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/log.h"

enum { NAMES = 4096, SPANS = 64 }; /* NAMES: a power of two, the most names a part can have */

struct name {
    const char *text; /* atomic; its address is what is looked up */
    uint32_t is_written;
};

struct kept {
    struct kept *next;
    char text[GSH_TRACE_TEXT_MAX + 1];
};

struct mapped {
    struct mapped *next;
    struct gsh_trace_chunk *chunk;
};

/* A thread's, from its first on. */
struct spans {
    struct spans *next;
    struct {
        const char *name;
        uint64_t begin_ns;
    } open[SPANS];
};

struct gsh_trace {
    uint64_t serial; /* tells it from an earlier one at the same address */
    int fd;
    char *path;
    uint64_t limit_bytes;
    struct gsh_trace_head *head;
    pthread_mutex_t lock; /* of what follows */
    uint64_t n_chunks;
    uint32_t n_tracks;
    bool is_full;
    struct mapped *mapped;
    struct kept *kept;
    struct spans *spans;
    struct name names[NAMES]; /* by a hash of the address */
};

uint32_t gsh_trace_is_on;

/* What a thread knows of the trace for which it has written last. Small: a library that is opened
 * at run time gets few bytes for such variables. */
static _Thread_local struct {
    uint64_t serial;
    uint32_t track;
    uint32_t used; /* slots of the chunk */
    struct gsh_trace_chunk *chunk;
    struct spans *spans; /* NULL: it has had none, or there was no memory */
    uint32_t n_spans;
} own;
static _Thread_local uint32_t depth; /* of scopes */
static _Thread_local const char *as; /* the name of outermost ones; NULL: their own */

/* ---- parts ---- */

enum gsh_result gsh_trace_create(const struct gsh_trace_options *o, struct gsh_trace **out)
{
    static uint64_t serials;
    char path[4096], host[64] = "";
    uint64_t serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
    gethostname(host, sizeof(host) - 1);
    struct gsh_trace *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the timeline");
    }
    int n = snprintf(path, sizeof(path), "%s" GSH_TRACE_PART_INFIX "%d.%s.%d.%llu", o->file, o->pe,
                     host, (int)getpid(), (unsigned long long)serial);
    t->fd = n > 0 && (size_t)n < sizeof(path)
                ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                : -1;
    int error = t->fd < 0 ? errno : posix_fallocate(t->fd, 0, GSH_TRACE_HEAD_BYTES);
    if (error != 0) {
        errno = error;
        enum gsh_result r = gsh_fail_errno(GSH_ERR_SYSTEM, "GSHMEM_TRACE: cannot make %s", path);
        if (t->fd >= 0) {
            unlink(path);
            close(t->fd);
        }
        free(t);
        return r;
    }
    t->head = mmap(NULL, GSH_TRACE_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->head == MAP_FAILED) {
        enum gsh_result r = gsh_fail_errno(GSH_ERR_NOMEM, "GSHMEM_TRACE: cannot map %s", path);
        close(t->fd);
        free(t);
        return r;
    }
    *t->head = (struct gsh_trace_head){.magic = GSH_TRACE_MAGIC,
                                       .pe = o->pe,
                                       .n_pes = o->n_pes,
                                       .job = o->job,
                                       .host = o->host,
                                       .pid = getpid(),
                                       .begin_ns = gsh_now_ns()};
    gsh_copy_name(t->head->host_name, sizeof(t->head->host_name), host);
    t->path = strdup(path); /* for a warning, which does without it */
    t->serial = serial;
    t->limit_bytes = o->limit_bytes;
    pthread_mutex_init(&t->lock, NULL);
    *out = t;
    __atomic_add_fetch(&gsh_trace_is_on, 1, __ATOMIC_RELAXED);
    return GSH_OK;
}

void gsh_trace_destroy(struct gsh_trace **trace, bool is_over)
{
    struct gsh_trace *t = *trace;
    if (t == NULL) {
        return;
    }
    *trace = NULL;
    __atomic_sub_fetch(&gsh_trace_is_on, 1, __ATOMIC_RELAXED);
    for (struct mapped *m = t->mapped, *next; m != NULL; m = next) {
        next = m->next;
        munmap(m->chunk, GSH_TRACE_CHUNK_BYTES);
        free(m);
    }
    for (struct kept *k = t->kept, *next; k != NULL; k = next) {
        next = k->next;
        free(k);
    }
    for (struct spans *s = t->spans, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    if (is_over) {
        __atomic_store_n(&t->head->is_over, 1, __ATOMIC_RELAXED);
    }
    munmap(t->head, GSH_TRACE_HEAD_BYTES);
    close(t->fd);
    pthread_mutex_destroy(&t->lock);
    free(t->path);
    free(t);
}

struct gsh_trace_head *gsh_trace_head(struct gsh_trace *trace)
{
    return trace->head;
}

/* ---- slots ---- */

/* Under the lock. The system gives the memory now: a store that finds the disk full would end the
 * process. NULL: there is none, and the head says why. */
static struct gsh_trace_chunk *map_chunk(struct gsh_trace *t)
{
    off_t at = (off_t)(GSH_TRACE_HEAD_BYTES + t->n_chunks * GSH_TRACE_CHUNK_BYTES);
    struct mapped *m = malloc(sizeof(*m));
    void *chunk = MAP_FAILED;
    bool is_within = (uint64_t)at + GSH_TRACE_CHUNK_BYTES <= t->limit_bytes;
    int error = m == NULL   ? ENOMEM
                : is_within ? posix_fallocate(t->fd, at, GSH_TRACE_CHUNK_BYTES)
                            : 0;
    if (is_within && error == 0) {
        chunk = mmap(NULL, GSH_TRACE_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, at);
        error = chunk == MAP_FAILED ? errno : 0;
    }
    if (chunk == MAP_FAILED) {
        t->head->full_errno = error;
        free(m);
        return NULL;
    }
    *m = (struct mapped){.next = t->mapped, .chunk = chunk};
    t->mapped = m;
    t->n_chunks++;
    return chunk;
}

/* A thread whose chunk is full is done with it. */
static void unmap_chunk(struct gsh_trace *t, struct gsh_trace_chunk *chunk)
{
    struct mapped **m = &t->mapped;
    while (*m != NULL && (*m)->chunk != chunk) {
        m = &(*m)->next;
    }
    if (*m != NULL) {
        struct mapped *found = *m;
        *m = found->next;
        munmap(chunk, GSH_TRACE_CHUNK_BYTES);
        free(found);
    }
}

static void put_slots(const struct gsh_trace_slot *slot, const void *data, size_t bytes);

/* Gives the calling thread a chunk of its own. False: the part is full. */
static bool take_chunk(struct gsh_trace *t)
{
    struct gsh_trace_slot track = {.kind = GSH_TRACE_TRACK, .pe = -1};
    bool is_new = own.serial != t->serial;
    pthread_mutex_lock(&t->lock);
    bool was_full = t->is_full;
    if (is_new) {
        own.serial = t->serial;
        own.chunk = NULL;
        own.n_spans = 0;
        own.spans = NULL;
        own.track = ++t->n_tracks;
    }
    if (own.chunk != NULL) {
        unmap_chunk(t, own.chunk);
    }
    own.chunk = t->is_full ? NULL : map_chunk(t);
    t->is_full = own.chunk == NULL;
    pthread_mutex_unlock(&t->lock);
    if (own.chunk == NULL) {
        if (!was_full) {
            int error = t->head->full_errno;
            gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "timeline: no room in %s: %s; what follows is lost",
                    t->path != NULL ? t->path : "the part",
                    error == 0 ? "GSHMEM_TRACE_LIMIT" : strerror(error));
        }
        return false;
    }
    own.chunk->track = own.track;
    own.chunk->magic = GSH_TRACE_MAGIC;
    own.used = 1;
    if (is_new) {
        char name[64], comm[32] = "";
        pid_t tid = (pid_t)syscall(SYS_gettid);
        pthread_getname_np(pthread_self(), comm, sizeof(comm));
        snprintf(name, sizeof(name), "%s %d", tid == getpid() ? "main thread" : comm, (int)tid);
        track.bytes = strlen(name);
        put_slots(&track, name, track.bytes);
    }
    return true;
}

/* n_events: how many are lost if there is none. */
static bool has_room(struct gsh_trace *t, uint32_t n_slots, uint64_t n_events)
{
    bool has =
        own.serial == t->serial && own.chunk != NULL && own.used + n_slots <= GSH_TRACE_CHUNK_SLOTS;
    if (!has && !take_chunk(t)) {
        __atomic_add_fetch(&t->head->n_dropped, n_events, __ATOMIC_RELAXED);
        return false;
    }
    return true;
}

static uint32_t slots_of(size_t bytes)
{
    return (uint32_t)((bytes + sizeof(struct gsh_trace_slot) - 1) / sizeof(struct gsh_trace_slot));
}

/* There is room. */
static void put_slots(const struct gsh_trace_slot *slot, const void *data, size_t bytes)
{
    struct gsh_trace_slot *at = (struct gsh_trace_slot *)own.chunk + own.used, copy = *slot;
    copy.kind = GSH_TRACE_UNFINISHED;
    *at = copy;
    if (bytes > 0) {
        memcpy(at + 1, data, bytes);
    }
    own.used += 1 + slots_of(bytes);
    /* release: a reader of the file of a process that was killed sees the slot whole */
    __atomic_store_n(&at->kind, slot->kind, __ATOMIC_RELEASE);
}

void gsh_trace_write_with(struct gsh_trace *t, struct gsh_trace_slot *slot, const void *data,
                          size_t bytes)
{
    uint64_t n_events = slot->kind == GSH_TRACE_KERNEL ? slot->bytes : 0; /* a text is none */
    if (has_room(t, 1 + slots_of(bytes), n_events)) {
        put_slots(slot, data, bytes);
    }
}

/* ---- names ---- */

void gsh_trace_write_name(struct gsh_trace *t, uint64_t key, const char *text)
{
    char shown[GSH_TRACE_TEXT_MAX + 1];
    gsh_log_rename(text, shown, sizeof(shown));
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_NAME, .value = key, .bytes = strlen(shown)};
    gsh_trace_write_with(t, &slot, shown, slot.bytes);
}

uint16_t gsh_trace_name(struct gsh_trace *t, const char *name)
{
    uint32_t at = (uint32_t)(((uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
    for (uint32_t i = 0; name != NULL && i < NAMES - 1; i++, at++) {
        at = at % NAMES == 0 ? at + 1 : at; /* number 0 is no name's */
        struct name *n = &t->names[at % NAMES];
        const char *found = __atomic_load_n(&n->text, __ATOMIC_RELAXED);
        if (found == NULL && __atomic_compare_exchange_n(&n->text, &found, name, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            gsh_trace_write_name(t, at % NAMES, name);
            return (uint16_t)(at % NAMES);
        }
        if (found == name) {
            return (uint16_t)(at % NAMES);
        }
    }
    return 0;
}

const char *gsh_trace_keep(struct gsh_trace *t, const char *text)
{
    char wanted[GSH_TRACE_TEXT_MAX + 1];
    gsh_copy_name(wanted, sizeof(wanted), text);
    pthread_mutex_lock(&t->lock);
    struct kept *k = t->kept;
    while (k != NULL && strcmp(k->text, wanted) != 0) {
        k = k->next;
    }
    if (k == NULL && (k = malloc(sizeof(*k))) != NULL) {
        memcpy(k->text, wanted, sizeof(wanted));
        k->next = t->kept;
        t->kept = k;
    }
    pthread_mutex_unlock(&t->lock);
    return k == NULL ? "" : k->text;
}

void gsh_trace_write(struct gsh_trace *t, const char *name, struct gsh_trace_slot *slot)
{
    slot->name = gsh_trace_name(t, name);
    if (has_room(t, 1, 1)) {
        put_slots(slot, NULL, 0);
    }
}

void gsh_trace_name_track(struct gsh_trace *t, const char *name)
{
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_TRACK, .pe = -1, .bytes = strlen(name)};
    gsh_trace_write_with(t, &slot, name, slot.bytes);
}

/* ---- scopes ---- */

void gsh_trace_as(const char *name)
{
    as = name;
}

void gsh_trace_begin_scope(struct gsh_trace_scope *scope, struct gsh_trace *trace, const char *name,
                           int pe)
{
    if (trace == NULL) {
        return;
    }
    scope->trace = trace;
    scope->is_inner = depth++ > 0;
    scope->name = as != NULL ? as : name;
    scope->slot = (struct gsh_trace_slot){.kind = GSH_TRACE_CALL,
                                          .pe = pe,
                                          .off = GSH_TRACE_NONE,
                                          .word_off = GSH_TRACE_NONE,
                                          .begin_ns = scope->is_inner ? 0 : gsh_now_ns()};
}

void gsh_trace_end_scope(struct gsh_trace_scope *scope)
{
    depth--;
    if (!scope->is_inner) {
        scope->slot.end_ns = gsh_now_ns();
        gsh_trace_write(scope->trace, scope->name, &scope->slot);
    }
}

/* ---- spans ---- */

static struct spans *need_spans(struct gsh_trace *t)
{
    if (own.spans == NULL && (own.spans = calloc(1, sizeof(*own.spans))) != NULL) {
        pthread_mutex_lock(&t->lock);
        own.spans->next = t->spans;
        t->spans = own.spans;
        pthread_mutex_unlock(&t->lock);
    }
    return own.spans;
}

void gsh_trace_span_begin(struct gsh_trace *t, const char *name)
{
    const char *kept = gsh_trace_keep(t, name);
    if (own.serial != t->serial && !has_room(t, 1, 1)) {
        return;
    }
    struct spans *spans = need_spans(t);
    if (spans == NULL) {
        return;
    }
    if (own.n_spans < SPANS) {
        spans->open[own.n_spans].name = kept;
        spans->open[own.n_spans].begin_ns = gsh_now_ns();
    }
    own.n_spans++;
}

void gsh_trace_span_end(struct gsh_trace *t)
{
    if (own.serial != t->serial || own.n_spans == 0) {
        return;
    }
    own.n_spans--;
    if (own.n_spans < SPANS) {
        struct gsh_trace_slot slot = {.kind = GSH_TRACE_SPAN,
                                      .pe = -1,
                                      .off = GSH_TRACE_NONE,
                                      .word_off = GSH_TRACE_NONE,
                                      .begin_ns = own.spans->open[own.n_spans].begin_ns,
                                      .end_ns = gsh_now_ns()};
        gsh_trace_write(t, own.spans->open[own.n_spans].name, &slot);
    }
}
