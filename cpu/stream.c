/* SPDX-License-Identifier: Apache-2.0
 * Streams: a queue of work and a thread that runs it in order. */
#include "cpu/stream.h"

#include <stdlib.h>
#include <string.h>
#include "cpu/block.h"
#include "cpu/fatal.h"
#include "cpu/grid.h"

struct item {
    struct item *next;
    void (*function)(void *arg);
    _Alignas(16) char arg[];
};

struct CUstream_st {
    struct gsh_cpu_device *device;
    struct CUstream_st *next;
    struct CUstream_st *next_kept; /* while its device ends */
    bool is_nonblocking;
    bool is_closing;  /* destroyed: the thread ends when the queue is empty */
    bool has_started; /* the thread exists */
    unsigned n_refs;  /* by the user, the thread, events and waits; atomic */
    unsigned n_waiters;
    pthread_t thread;
    pthread_cond_t work; /* something was enqueued, or is_closing */
    pthread_cond_t done; /* n_done has changed and a thread waits */
    struct item *head, **tail;
    uint64_t n_enqueued, n_done; /* n_done: also read without the lock */
    uint64_t default_seen;       /* blocking streams: the default stream is waited for up to here */
    uint64_t seen_by_default;    /* the reverse */
    struct gsh_cpu_block block;  /* the thread's, for launches of one block */
};

/* ---- handles: no lock ------------------------------------------------------------------------ */

/* The streams that the program may name, so that no other address is read. A stream is at the first
 * free entry from the one that its address gives. The words are handles alone and order nothing: a
 * thread that passes a handle to another one has ordered what the handle stands for. */
enum { HANDLES = 1 << 12 };
static struct CUstream_st *handles[HANDLES];
static unsigned n_unlisted; /* streams for which there was no entry: no handle is refused now */

static unsigned first_index(const struct CUstream_st *s)
{
    return (unsigned)((uintptr_t)s / 64 * 0x9e3779b1u >> 8) % HANDLES;
}

/* Replaces what the entry holds, from the stream's first entry on; false: no entry holds that. */
static bool replace_handle(struct CUstream_st *s, struct CUstream_st *what, struct CUstream_st *by)
{
    unsigned first = first_index(s);
    for (unsigned i = 0; i < HANDLES; i++) {
        struct CUstream_st *held = what;
        if (__atomic_compare_exchange_n(&handles[(first + i) % HANDLES], &held, by, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return true;
        }
    }
    return false;
}

static void list_handle(struct CUstream_st *s)
{
    if (!replace_handle(s, NULL, s)) {
        __atomic_add_fetch(&n_unlisted, 1, __ATOMIC_RELAXED);
    }
}

/* False: there is no such handle, so it is not one of a stream. */
static bool unlist_handle(struct CUstream_st *s)
{
    return replace_handle(s, s, NULL) || __atomic_load_n(&n_unlisted, __ATOMIC_RELAXED) > 0;
}

static bool is_handle(const struct CUstream_st *s)
{
    unsigned first = first_index(s);
    for (unsigned i = 0; i < HANDLES; i++) {
        if (__atomic_load_n(&handles[(first + i) % HANDLES], __ATOMIC_RELAXED) == s) {
            return true;
        }
    }
    return __atomic_load_n(&n_unlisted, __ATOMIC_RELAXED) > 0;
}

/* ---- streams: under the device's lock unless stated otherwise -------------------------------- */

static struct CUstream_st *ref(struct CUstream_st *s)
{
    __atomic_add_fetch(&s->n_refs, 1, __ATOMIC_RELAXED);
    return s;
}

/* Needs no lock. */
static void unref(struct CUstream_st *s)
{
    if (!s || __atomic_sub_fetch(&s->n_refs, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->done);
    free(s);
}

/* Waits until the first seq things enqueued are done. */
static void wait_done(struct CUstream_st *s, uint64_t seq)
{
    ref(s);
    s->n_waiters++;
    while (s->n_done < seq) {
        pthread_cond_wait(&s->done, &s->device->lock);
    }
    s->n_waiters--;
    unref(s);
}

static void *stream_main(void *arg)
{
    struct CUstream_st *s = arg;
    struct gsh_cpu_device *device = s->device;
    gsh_device_enter_thread(device);
    gsh_block_init(&s->block, &device->config);
    pthread_mutex_lock(&device->lock);
    while (s->head || !s->is_closing) {
        struct item *item = s->head;
        if (!item) {
            pthread_cond_wait(&s->work, &device->lock);
            continue;
        }
        s->head = item->next;
        if (!s->head) {
            s->tail = &s->head;
        }
        pthread_mutex_unlock(&device->lock);
        item->function(item->arg);
        free(item);
        pthread_mutex_lock(&device->lock);
        /* Pairs with the acquire in event_is_done: what the item wrote can be read after that. */
        __atomic_store_n(&s->n_done, s->n_done + 1, __ATOMIC_RELEASE);
        if (s->n_waiters > 0) {
            pthread_cond_broadcast(&s->done);
        }
    }
    pthread_mutex_unlock(&device->lock);
    gsh_block_finish(&s->block);
    return NULL;
}

/* With arg NULL the caller fills in the bytes. */
static struct item *create_item(void (*function)(void *), const void *arg, size_t bytes)
{
    struct item *item = aligned_alloc(16, (sizeof(*item) + bytes + 15) / 16 * 16);
    if (!item) {
        return NULL;
    }
    item->next = NULL;
    item->function = function;
    if (arg && bytes > 0) {
        memcpy(item->arg, arg, bytes);
    }
    return item;
}

static int append(struct CUstream_st *s, struct item *item)
{
    if (!s->has_started) {
        if (pthread_create(&s->thread, NULL, stream_main, s) != 0) {
            return GSH_CPU_ERR_NOMEM;
        }
        s->has_started = true;
        ref(s);
    }
    *s->tail = item;
    s->tail = &item->next;
    if (s->head == item) {
        pthread_cond_signal(&s->work);
    }
    s->n_enqueued++;
    return GSH_CPU_OK;
}

struct wait {
    struct CUstream_st *stream; /* a reference */
    uint64_t seq;
};

static void run_wait(void *arg)
{
    struct wait *w = arg;
    struct gsh_cpu_device *device = w->stream->device;
    pthread_mutex_lock(&device->lock);
    wait_done(w->stream, w->seq);
    pthread_mutex_unlock(&device->lock);
    unref(w->stream);
}

/* Makes s wait for the first seq things of other; both belong to one device. */
static int append_wait(struct CUstream_st *s, struct CUstream_st *other, uint64_t seq)
{
    struct wait w = {other, seq};
    struct item *item = create_item(run_wait, &w, sizeof(w));
    int r = item ? append(s, item) : GSH_CPU_ERR_NOMEM;
    if (r != GSH_CPU_OK) {
        free(item);
    } else {
        ref(other);
    }
    return r;
}

/* Makes the default stream and the blocking ones wait for each other. */
static int append_default_waits(struct CUstream_st *s)
{
    struct gsh_cpu_device *device = s->device;
    struct CUstream_st *def = device->default_stream;
    int r = GSH_CPU_OK;
    if (s != def) {
        if (def && !s->is_nonblocking && def->n_done < def->n_enqueued &&
            s->default_seen < def->n_enqueued) {
            r = append_wait(s, def, def->n_enqueued);
            s->default_seen = def->n_enqueued;
        }
        return r;
    }
    for (struct CUstream_st *o = device->streams; o && r == GSH_CPU_OK; o = o->next) {
        if (o == def || o->is_nonblocking || o->n_done == o->n_enqueued ||
            o->seen_by_default == o->n_enqueued) {
            continue;
        }
        r = append_wait(def, o, o->n_enqueued);
        o->seen_by_default = o->n_enqueued;
    }
    return r;
}

static struct CUstream_st *create_stream(struct gsh_cpu_device *device, bool is_nonblocking)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));
    if (!s) {
        return NULL;
    }
    s->device = device;
    s->is_nonblocking = is_nonblocking;
    s->n_refs = 1;
    s->tail = &s->head;
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->done, NULL);
    s->next = device->streams;
    device->streams = s;
    return s;
}

/* Removes destroyed streams that have done their work; all: waits for the others. */
static void reap(struct gsh_cpu_device *device, bool all)
{
    struct CUstream_st **link = &device->streams;
    while (*link) {
        struct CUstream_st *s = *link;
        if (!s->is_closing || !(all || s->n_done == s->n_enqueued)) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        if (s->has_started) {
            pthread_mutex_unlock(&device->lock);
            pthread_join(s->thread, NULL);
            pthread_mutex_lock(&device->lock);
            unref(s);
            link = &device->streams; /* the list may have changed meanwhile */
        }
        unref(s);
    }
}

/* CUDA's handles for its default streams are 0, 1 and 2. NULL: there is no such stream. Not under
 * the lock. */
static struct CUstream_st *resolve(struct CUstream_st *stream)
{
    if ((uintptr_t)stream > 2) {
        return is_handle(stream) ? stream : NULL;
    }
    struct gsh_cpu_device *device = gshmemx_cpu_device_current();
    pthread_mutex_lock(&device->lock);
    if (!device->default_stream) {
        device->default_stream = create_stream(device, false);
    }
    stream = device->default_stream;
    pthread_mutex_unlock(&device->lock);
    if (!stream) {
        gsh_device_fatal(&device->config, "no memory for the default stream");
    }
    return stream;
}

struct CUstream_st *gshmemx_cpu_stream_create(int is_nonblocking)
{
    struct gsh_cpu_device *device = gshmemx_cpu_device_current();
    pthread_mutex_lock(&device->lock);
    reap(device, false);
    struct CUstream_st *s = create_stream(device, is_nonblocking != 0);
    pthread_mutex_unlock(&device->lock);
    if (s) {
        list_handle(s);
    }
    return s;
}

int gshmemx_cpu_stream_destroy(struct CUstream_st *stream)
{
    if ((uintptr_t)stream <= 2) {
        return GSH_CPU_OK;
    }
    if (!unlist_handle(stream)) {
        return GSH_CPU_ERR_STREAM;
    }
    struct gsh_cpu_device *device = stream->device;
    pthread_mutex_lock(&device->lock);
    stream->is_closing = true;
    pthread_cond_signal(&stream->work);
    reap(device, false);
    pthread_mutex_unlock(&device->lock);
    return GSH_CPU_OK;
}

/* Takes ownership of the item. s: NULL if there is no such stream. *seq, unless NULL: it is done
 * when n_done reaches this. Not under the lock. */
static int enqueue(struct CUstream_st *s, struct item *item, uint64_t *seq)
{
    if (!s) {
        free(item);
        return GSH_CPU_ERR_STREAM;
    }
    if (!item) {
        return GSH_CPU_ERR_NOMEM;
    }
    pthread_mutex_lock(&s->device->lock);
    int r = append_default_waits(s);
    if (r == GSH_CPU_OK) {
        r = append(s, item);
    }
    if (r == GSH_CPU_OK && seq) {
        *seq = s->n_enqueued;
    }
    pthread_mutex_unlock(&s->device->lock);
    if (r != GSH_CPU_OK) {
        free(item);
    }
    return r;
}

int gshmemx_cpu_stream_enqueue(struct CUstream_st *stream, void (*function)(void *arg),
                               const void *arg, size_t arg_bytes)
{
    return enqueue(resolve(stream), create_item(function, arg, arg_bytes), NULL);
}

/* The default stream is done only once the blocking ones are done as well. */
static bool is_done(const struct CUstream_st *s)
{
    if (s->n_done < s->n_enqueued || s != s->device->default_stream) {
        return s->n_done == s->n_enqueued;
    }
    for (struct CUstream_st *o = s->device->streams; o; o = o->next) {
        if (!o->is_nonblocking && o->n_done < o->n_enqueued) {
            return false;
        }
    }
    return true;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

int gshmemx_cpu_stream_synchronize(struct CUstream_st *stream)
{
    struct CUstream_st *s = resolve(stream);
    if (!s) {
        return GSH_CPU_ERR_STREAM;
    }
    pthread_mutex_lock(&s->device->lock);
    if (s == s->device->default_stream && !is_done(s)) {
        /* Waits for all that the blocking streams hold now; without memory, for its own part
         * only. */
        struct item *item = create_item(do_nothing, NULL, 0);
        if (item && (append_default_waits(s) != GSH_CPU_OK || append(s, item) != GSH_CPU_OK)) {
            free(item);
        }
    }
    wait_done(s, s->n_enqueued);
    pthread_mutex_unlock(&s->device->lock);
    return GSH_CPU_OK;
}

int gshmemx_cpu_stream_is_done(struct CUstream_st *stream, bool *done)
{
    struct CUstream_st *s = resolve(stream);
    if (!s) {
        return GSH_CPU_ERR_STREAM;
    }
    pthread_mutex_lock(&s->device->lock);
    *done = is_done(s);
    pthread_mutex_unlock(&s->device->lock);
    return GSH_CPU_OK;
}

struct gsh_cpu_device *gshmemx_cpu_stream_device(struct CUstream_st *stream)
{
    const struct CUstream_st *s = resolve(stream);
    return s ? s->device : NULL;
}

/* ---- launches -------------------------------------------------------------------------------- */

struct launch_item {
    struct gsh_cpu_run run;
    struct CUstream_st *stream;
    _Alignas(16) char args[];
};

static void run_launch(void *arg)
{
    struct launch_item *item = arg;
    item->run.launch.args = item->args;
    gsh_run_execute(&item->run, &item->stream->block);
}

static int check_launch(const struct gsh_cpu_launch *l)
{
    const struct gsh_cpu_uint3 *g = &l->grid, *b = &l->block;
    if (g->x == 0 || g->y == 0 || g->z == 0 || b->x == 0 || b->y == 0 || b->z == 0 ||
        g->x > 0x7fffffffu || g->y > 65535 || g->z > 65535 || b->x > GSH_CPU_MAX_THREADS ||
        b->y > GSH_CPU_MAX_THREADS || b->z > 64 || b->x * b->y * b->z > GSH_CPU_MAX_THREADS ||
        l->shared_bytes > GSH_CPU_MAX_SHARED) {
        return GSH_CPU_ERR_ARG;
    }
    if (l->is_cooperative && (uint64_t)g->x * g->y * g->z > GSH_CPU_MAX_COOPERATIVE) {
        return GSH_CPU_ERR_TOO_LARGE;
    }
    return GSH_CPU_OK;
}

int gshmemx_cpu_launch(const struct gsh_cpu_launch *launch, struct CUstream_st *stream)
{
    int r = check_launch(launch);
    if (r != GSH_CPU_OK) {
        return r;
    }
    struct CUstream_st *s = resolve(stream);
    if (!s) {
        return GSH_CPU_ERR_STREAM;
    }
    struct item *item =
        create_item(run_launch, NULL, sizeof(struct launch_item) + launch->args_bytes);
    if (!item) {
        return GSH_CPU_ERR_NOMEM;
    }
    struct launch_item *l = (struct launch_item *)(void *)item->arg;
    memset(l, 0, sizeof(*l));
    l->run.launch = *launch;
    l->run.device = s->device;
    l->run.owner = launch->device ? launch->device : s->device;
    l->run.state = __atomic_load_n(&l->run.owner->state, __ATOMIC_ACQUIRE);
    l->stream = s;
    if (launch->args_bytes > 0) {
        memcpy(l->args, launch->args, launch->args_bytes);
    }
    return enqueue(s, item, NULL);
}

/* ---- for events.c ---------------------------------------------------------------------------- */

int gsh_stream_mark(struct CUstream_st **stream, void (*function)(void *arg), const void *arg,
                    size_t arg_bytes, uint64_t *seq)
{
    struct CUstream_st *s = resolve(*stream);
    int r = enqueue(s, create_item(function, arg, arg_bytes), seq);
    if (r == GSH_CPU_OK) {
        *stream = ref(s);
    }
    return r;
}

bool gsh_stream_has_done(const struct CUstream_st *stream, uint64_t seq)
{
    /* Pairs with the release in stream_main. */
    return __atomic_load_n(&stream->n_done, __ATOMIC_ACQUIRE) >= seq;
}

void gsh_stream_wait(struct CUstream_st *stream, uint64_t seq)
{
    pthread_mutex_lock(&stream->device->lock);
    wait_done(stream, seq);
    pthread_mutex_unlock(&stream->device->lock);
}

int gsh_stream_wait_for(struct CUstream_st *stream, struct CUstream_st *other, uint64_t seq)
{
    struct CUstream_st *s = resolve(stream);
    struct wait w = {other, seq};
    ref(other);
    int r = enqueue(s, create_item(run_wait, &w, sizeof(w)), NULL);
    if (r != GSH_CPU_OK) {
        unref(other);
    }
    return r;
}

struct CUstream_st *gsh_stream_ref(struct CUstream_st *stream)
{
    return ref(stream);
}

void gsh_stream_unref(struct CUstream_st *stream)
{
    unref(stream);
}

/* ---- for device.c ---------------------------------------------------------------------------- */

void gsh_streams_synchronize(struct gsh_cpu_device *device)
{
    pthread_mutex_lock(&device->lock);
    for (struct CUstream_st *s = device->streams; s;) {
        if (s->n_done == s->n_enqueued) {
            s = s->next;
            continue;
        }
        wait_done(s, s->n_enqueued);
        s = device->streams; /* the list may have changed meanwhile */
    }
    reap(device, false);
    pthread_mutex_unlock(&device->lock);
}

uint64_t gsh_streams_count_unfinished(struct gsh_cpu_device *device, uint64_t *n_waiting)
{
    uint64_t n = 0;
    *n_waiting = 0;
    pthread_mutex_lock(&device->lock);
    for (struct CUstream_st *s = device->streams; s; s = s->next) {
        n += s->n_enqueued - s->n_done;
        for (const struct item *item = s->head; item; item = item->next) {
            ++*n_waiting;
        }
    }
    pthread_mutex_unlock(&device->lock);
    return n;
}

void gsh_streams_finish(struct gsh_cpu_device *device, struct CUstream_st **kept)
{
    *kept = NULL;
    pthread_mutex_lock(&device->lock);
    for (struct CUstream_st *s = device->streams; s; s = s->next) {
        if (!s->is_closing && s != device->default_stream) {
            s->next_kept = *kept;
            *kept = ref(s); /* the user's, in place of that which reap gives back */
        }
        s->is_closing = true;
        pthread_cond_signal(&s->work);
    }
    device->default_stream = NULL;
    reap(device, true);
    pthread_mutex_unlock(&device->lock);
}

void gsh_streams_adopt(struct gsh_cpu_device *device, struct CUstream_st *kept)
{
    pthread_mutex_lock(&device->lock);
    while (kept) {
        struct CUstream_st *s = kept;
        kept = s->next_kept;
        s->device = device;
        s->is_closing = s->has_started = false;
        s->default_seen = s->seen_by_default = 0;
        s->next = device->streams;
        device->streams = s;
    }
    pthread_mutex_unlock(&device->lock);
}
