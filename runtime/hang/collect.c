/* SPDX-License-Identifier: Apache-2.0
 * See collect.h. A wait answers when its thread looks around next: on GPUs within some 40 ms, on
 * the CPU device and the host when its thread runs next. */
#include "runtime/hang/collect.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/keys.h"
#include "base/sanitizer.h"
#include "base/util.h"
#include "gshmem/types.h"
#include "heap/heap.h"
#include "proxy/proxy.h"
#include "runtime/far/far.h"
#include "runtime/hang/look.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/sites.h"
#include "runtime/instance/waits.h"
#include "runtime/team/absent.h"
#include "wire/lock.h"

/* At least, and at most; in between until no new answer has come for as long as `quiet`. */
#define LEAST_MS       60
#define QUIET_MS       60
#define MOST_MS        400
#define STEP_MS        5
#define OBJECTS        4096
#define NEARBY         32 /* words on either side */
#define WORDS_LEAST    3  /* that several threads wait for, each for its own */
#define WORDS_DISTANCE 64 /* bytes, at most */
#define WAITS_MAX      (GSH_WAITS_ENTRIES + 1)

/* One PE's part. */
struct part {
    struct gsh_instance *pe;
    bool is_set_up;
    bool is_held;                 /* the device gives back no word of its memory */
    struct gsh_report *entries;   /* [n]; `state`: which site */
    struct gsh_waits_site *sites; /* [WAITS_MAX] */
    uint32_t n;
    struct gsh_alloc_range *objects; /* [n_objects] */
    uint64_t n_objects;
    bool (*put)(void *to, const struct gsh_hang_record *record);
    void *to;
    bool is_refused;
};

uint64_t gsh_hang_job_of(const struct gsh_instance *pe)
{
    char name[9];
    gsh_key_name(pe->secret, "hang report", 4, name);
    return strtoull(name, NULL, 16);
}

static void pass_on(struct part *p, struct gsh_hang_record *r, int kind)
{
    r->magic = GSH_HANG_MAGIC;
    r->kind = kind;
    r->job = gsh_hang_job_of(p->pe);
    r->pe = p->pe->my_pe;
    p->is_refused = p->is_refused || !p->put(p->to, r);
}

/* ---- where a word lies, and what is around it ---- */

static void find_site(const struct part *p, struct gsh_hang_wait *w)
{
    const struct gsh_instance *pe = p->pe;
    uint64_t off = w->address - pe->state.base;
    if (w->address - pe->statics.base < pe->statics.bytes) {
        w->site = GSH_HANG_GLOBAL;
        w->object_off = w->address - pe->statics.base;
        return;
    }
    if (off >= pe->state.stride) {
        return;
    }
    w->site = GSH_HANG_LIBRARY;
    w->object_off = off;
    for (uint64_t i = 0; i < p->n_objects; i++) {
        if (off - p->objects[i].off < p->objects[i].bytes) {
            w->site = GSH_HANG_OBJECT;
            w->object = (int)i + 1;
            w->object_off = off - p->objects[i].off;
            w->object_bytes = p->objects[i].bytes;
            gsh_sites_word(pe, p->objects[i].off, w->made_at, sizeof(w->made_at));
            return;
        }
    }
}

static bool load(const struct gsh_instance *pe, uint64_t address, unsigned bytes, uint64_t *value)
{
    struct gsh_instance *own = (struct gsh_instance *)pe;
    const void *word = (const void *)(uintptr_t)address;
    gsh_look_begin();
    bool is_read = pe->device_ops->load(own, word, bytes, 1, value) == GSH_OK;
    gsh_look_end();
    return is_read;
}

/* The word's width: the largest at which it is what the wait has seen. 0: it has changed. */
static unsigned width_of(const struct gsh_instance *pe, const struct gsh_hang_wait *w)
{
    for (unsigned bytes = 8; bytes >= 2; bytes /= 2) {
        uint64_t now = 0, mask = bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << bytes * 8) - 1;
        if (w->address % bytes == 0 && load(pe, w->address, bytes, &now) &&
            ((now ^ w->seen) & mask) == 0) {
            return bytes;
        }
    }
    return 0;
}

static bool is_as_wanted(const struct gsh_hang_wait *w, uint64_t value, unsigned bytes)
{
    uint64_t mask = bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << bytes * 8) - 1;
    uint64_t wanted = w->expected & mask;
    value &= mask;
    switch (w->cmp) {
    case GSHMEM_CMP_EQ:
        return value == wanted && wanted != 0;
    case GSHMEM_CMP_GE:
        return value >= wanted && wanted != 0;
    case GSHMEM_CMP_GT:
        return value > wanted;
    default:
        return false;
    }
}

/* The address of another near PE's copy; 0: it is not mapped. */
static uint64_t copy_of(const struct gsh_instance *pe, uint64_t address, int other)
{
    const int32_t slot = gsh_heap_slot_of(pe, other);
    if (slot < 0) {
        return 0;
    }
    return address + (uint64_t)((int64_t)slot - pe->my_slot) * pe->state.stride;
}

/* What other words are, beside that of a wait. */
struct others {
    int n, n_wanted; /* how many, and how many of them are as the wait wants its own */
    int last_wanted; /* the last of these */
    bool is_unknown; /* some could not be read */
};

static void count(struct others *o, const struct gsh_instance *pe, const struct gsh_hang_wait *w,
                  uint64_t at, unsigned bytes, int which)
{
    uint64_t value = 0;
    o->n++;
    if (at == 0 || !load(pe, at, bytes, &value)) {
        o->is_unknown = true;
    } else if (is_as_wanted(w, value, bytes)) {
        o->n_wanted++;
        o->last_wanted = which;
    }
}

/* Only one is as the wait wants its own, and others are not: else that may be as it should. */
static bool is_odd(const struct others *o)
{
    return o->n_wanted == 1 && o->n > 1 && !o->is_unknown;
}

static void count_copies(struct others *o, const struct gsh_instance *pe,
                         const struct gsh_hang_wait *w, uint64_t address, unsigned bytes)
{
    for (int i = 0; i < pe->n_pes; i++) {
        if (i != pe->my_pe) {
            count(o, pe, w, copy_of(pe, address, i), bytes, i);
        }
    }
}

/* Whether the word was written in another place instead. A guess. */
static void look_around(const struct gsh_instance *pe, struct gsh_hang_wait *w)
{
    unsigned bytes = w->site == GSH_HANG_OBJECT ? width_of(pe, w) : 0;
    struct others copies = {0}, nearby = {0}, of_nearby = {0};
    if (bytes == 0) {
        return;
    }
    count_copies(&copies, pe, w, w->address, bytes);
    for (int i = -NEARBY; i <= NEARBY; i++) {
        int off = i * (int)bytes;
        uint64_t inside = w->object_off + (uint64_t)(int64_t)off;
        if (i != 0 && inside < w->object_bytes && inside + bytes <= w->object_bytes) {
            count(&nearby, pe, w, w->address + (uint64_t)(int64_t)off, bytes, off);
        }
    }
    w->copy_pe = is_odd(&copies) ? copies.last_wanted : -1;
    if (is_odd(&nearby)) { /* on other PEs, too: then it is another signal, which came */
        count_copies(&of_nearby, pe, w, w->address + (uint64_t)(int64_t)nearby.last_wanted, bytes);
    }
    w->near_off = is_odd(&nearby) && of_nearby.n_wanted == 0 ? nearby.last_wanted : 0;
}

/* ---- locks ---- */

static uint32_t node_of(const struct gsh_instance *pe, uint64_t address, int other)
{
    uint64_t node = 0, at = other == pe->my_pe ? address : copy_of(pe, address, other);
    return at != 0 && load(pe, at, sizeof(uint32_t), &node) ? (uint32_t)node : 0;
}

/* The PE whose node names this one as the next; -1: none that is mapped here. */
static int before_in_queue(const struct gsh_instance *pe, uint64_t address, int other)
{
    for (int i = 0; i < pe->n_pes; i++) {
        uint32_t node = node_of(pe, address, i);
        if ((node & GSH_LOCK_TAKEN) != 0 && (node & GSH_LOCK_BEHIND) == (uint32_t)other + 1) {
            return i;
        }
    }
    return -1;
}

/* The wait's address is that of the lock, behind which this PE's node is. */
static void find_holder(const struct gsh_instance *pe, struct gsh_hang_wait *w)
{
    uint64_t node = w->address + GSH_LOCK_NODE * sizeof(uint32_t);
    int at = before_in_queue(pe, node, pe->my_pe);
    if (at < 0) { /* another thread of this PE has it, or is in the queue */
        w->other = w->holder = w->expected == GSH_LOCK_TAKEN ? pe->my_pe : w->other;
        return;
    }
    w->other = at;
    for (int i = 0; i < pe->n_pes && at >= 0; i++) {
        w->holder = at;
        at = before_in_queue(pe, node, at);
    }
}

/* ---- looks at memory, which a device may hold up ---- */

struct look {
    const struct gsh_instance *pe;
    struct gsh_hang_wait wait;
};
_Static_assert(sizeof(struct look) <= GSH_HANG_LOOK_BYTES, "a look's work has room");

static void look_at_base(void *copy)
{
    const struct look *l = copy;
    uint64_t value;
    (void)load(l->pe, l->pe->state.base, sizeof(value), &value);
}

static void look_at_wait(void *copy)
{
    struct look *l = copy;
    if (l->wait.what == GSH_HANG_LOCK) {
        find_holder(l->pe, &l->wait);
    } else {
        look_around(l->pe, &l->wait);
    }
}

/* If the device holds it up, *w is as it was. */
static void look(struct part *p, void (*at)(void *copy), struct gsh_hang_wait *w)
{
    struct look l = {.pe = p->pe, .wait = *w};
    if (p->pe->device_ops->is_memory_host) { /* there is no driver */
        at(&l);
    } else if (!p->is_held) {
        p->is_held = gsh_hang_look(p->pe, at, &l, sizeof(l)) == GSH_HANG_LOOK_HELD;
    }
    *w = l.wait;
}

/* ---- records ---- */

static int what_of(uint32_t kind)
{
    switch (kind) {
    case GSH_WAITS_COLLECTIVE:
    case GSH_REPORT_SYNC_TIMEOUT:
        return GSH_HANG_ARRIVAL;
    case GSH_WAITS_PEER:
        return GSH_HANG_PEER;
    case GSH_WAITS_DRIVER:
        return GSH_HANG_DRIVER;
    case GSH_REPORT_LOCK_TIMEOUT:
        return GSH_HANG_LOCK;
    case GSH_REPORT_FAR_TIMEOUT:
        return GSH_HANG_PROXY;
    default:
        return GSH_HANG_WORD;
    }
}

/* The place of a call that a kernel of the library makes for the program, and the comparison
 * without it. False: the place is not known. */
static bool find_call_site(const struct gsh_report *e, struct gsh_hang_wait *w)
{
    uint32_t cmp = e->cmp;
    const char *file;
    uint32_t line;
    (void)gsh_waits_split(w->call, &cmp, &file, &line);
    w->cmp = cmp <= 5 ? (int)cmp : 0;
    if (line == 0 || gsh_waits_is_of_library(file)) {
        return false;
    }
    gsh_copy_name(w->file, sizeof(w->file), file);
    w->line = line;
    return true;
}

static void describe(struct part *p, const struct gsh_report *e, struct gsh_hang_wait *w)
{
    struct gsh_absent_site site;
    *w = (struct gsh_hang_wait){
        .what = what_of(e->kind),
        .other = e->pe >= 0 && e->pe < p->pe->n_pes ? e->pe : -1,
        .holder = -1,
        .team = e->team,
        .channel = -1,
        .is_host = e->host_thread != 0,
        .n_threads = 1,
        .n_words = 1,
        .address = e->address,
        .expected = e->expected,
        .seen = e->seen,
        .waited_ns = e->bytes,
        .copy_pe = -1,
    };
    memcpy(w->first_block, e->block, sizeof(w->first_block));
    memcpy(w->last_block, e->block, sizeof(w->last_block));
    memcpy(w->first_thread, e->thread, sizeof(w->first_thread));
    memcpy(w->last_thread, e->thread, sizeof(w->last_thread));
    if (e->host_thread != 0) {
        w->first_thread[0] = w->last_thread[0] = e->host_thread;
    }
    gsh_copy_name(w->call, sizeof(w->call), e->call);
    if (!find_call_site(e, w)) {
        gsh_copy_name(w->file, sizeof(w->file), p->sites[e->state].file);
        w->line = gsh_waits_is_of_library(w->file) ? 0 : p->sites[e->state].line;
    }
    if (!p->is_set_up || e->address == 0) {
        return;
    }
    if (w->what == GSH_HANG_LOCK) {
        w->address -= GSH_LOCK_NODE * sizeof(uint32_t); /* it was this PE's node's */
    }
    find_site(p, w);
    if (w->what == GSH_HANG_LOCK || w->what == GSH_HANG_WORD) {
        look(p, look_at_wait, w);
    } else if (w->what == GSH_HANG_ARRIVAL && gsh_absent_find_site(p->pe, e->address, &site)) {
        w->team = site.team;
        w->channel = site.channel;
    }
}

/* Who is in the wait's team. */
static void find_members(const struct part *p, struct gsh_hang_wait *w)
{
    struct gsh_absent_team team;
    if (w->what == GSH_HANG_ARRIVAL && p->is_set_up &&
        gsh_absent_find_team(p->pe, w->team, &team)) {
        w->team_pes = team.n_pes;
        w->team_first = team.first;
        w->team_stride = team.stride;
    }
}

/* Waits that differ at most in their threads become neighbours. */
static int compare(const void *a, const void *b)
{
    const struct gsh_report *x = a, *y = b;
    const uint64_t left[] = {x->host_thread, x->kind,      x->address,  x->expected,
                             x->seen,        x->block[2],  x->block[1], x->block[0],
                             x->thread[2],   x->thread[1], x->thread[0]};
    const uint64_t right[] = {y->host_thread, y->kind,      y->address,  y->expected,
                              y->seen,        y->block[2],  y->block[1], y->block[0],
                              y->thread[2],   y->thread[1], y->thread[0]};
    for (size_t i = 0; i < GSH_ARRAY_LEN(left); i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool is_same_site(const struct part *p, const struct gsh_report *x,
                         const struct gsh_report *y)
{
    const struct gsh_waits_site *a = &p->sites[x->state], *b = &p->sites[y->state];
    return a->line == b->line && (a->line == 0 || strcmp(a->file, b->file) == 0);
}

static bool is_same_wait(const struct part *p, const struct gsh_report *x,
                         const struct gsh_report *y)
{
    return is_same_site(p, x, y) && x->host_thread == 0 && y->host_thread == 0 &&
           x->kind == y->kind && x->address == y->address && x->expected == y->expected &&
           x->seen == y->seen && x->pe == y->pe && x->cmp == y->cmp &&
           strcmp(x->call, y->call) == 0;
}

static void include(struct gsh_hang_wait *w, const struct gsh_report *e)
{
    w->n_threads++;
    w->waited_ns = gsh_max_u64(w->waited_ns, e->bytes);
    for (int i = 0; i < 3; i++) {
        w->first_block[i] = (uint32_t)gsh_min_u64(w->first_block[i], e->block[i]);
        w->last_block[i] = (uint32_t)gsh_max_u64(w->last_block[i], e->block[i]);
        w->first_thread[i] = (uint32_t)gsh_min_u64(w->first_thread[i], e->thread[i]);
        w->last_thread[i] = (uint32_t)gsh_max_u64(w->last_thread[i], e->thread[i]);
    }
}

/* Threads that each wait for a word of their own: the next of words at equal distances. */
static bool is_next_word(const struct part *p, const struct gsh_report *x,
                         const struct gsh_report *y, uint64_t distance)
{
    return is_same_site(p, x, y) && x->host_thread == 0 && y->host_thread == 0 &&
           x->kind == y->kind && what_of(x->kind) == GSH_HANG_WORD &&
           y->address - x->address == distance && x->expected == y->expected && x->pe == y->pe &&
           x->cmp == y->cmp && strcmp(x->call, y->call) == 0;
}

/* Behind those of the same wait as entry i. */
static uint32_t end_of_wait(const struct part *p, uint32_t i)
{
    const struct gsh_report *first = &p->entries[i];
    for (i++; i < p->n && is_same_wait(p, first, &p->entries[i]); i++) {
    }
    return i;
}

/* Includes the waits for the words behind that of w if they are several, and returns behind them.
 * i: behind those of w, whose first is `first`. */
static uint32_t include_words(struct part *p, uint32_t i, const struct gsh_report *first,
                              struct gsh_hang_wait *w)
{
    const uint64_t distance = i < p->n ? p->entries[i].address - first->address : 0;
    const struct gsh_report *last = first;
    uint32_t n_words = 1, end = i;
    if (distance == 0 || distance > WORDS_DISTANCE) {
        return i;
    }
    while (end < p->n && is_next_word(p, last, &p->entries[end], distance)) {
        last = &p->entries[end];
        end = end_of_wait(p, end);
        n_words++;
    }
    if (n_words < WORDS_LEAST) {
        return i;
    }
    w->n_words = n_words;
    w->near_off = 0; /* it is another thread's */
    for (; i < end; i++) {
        include(w, &p->entries[i]);
        w->differ |= p->entries[i].seen != first->seen;
    }
    return end;
}

static void put_waits(struct part *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        p->entries[i].call[sizeof(p->entries[i].call) - 1] = '\0';
    }
    qsort(p->entries, p->n, sizeof(*p->entries), compare);
    for (uint32_t i = 0; i < p->n;) {
        const struct gsh_report *first = &p->entries[i];
        struct gsh_hang_record r = {0};
        const uint32_t end = end_of_wait(p, i);
        describe(p, first, &r.wait);
        find_members(p, &r.wait);
        for (i++; i < end; i++) {
            include(&r.wait, &p->entries[i]);
        }
        i = include_words(p, i, first, &r.wait);
        pass_on(p, &r, GSH_HANG_WAIT);
    }
}

/* What the proxy has not done. */
static void put_requests(const struct part *p, struct gsh_hang_pe *about)
{
    struct gsh_proxy_unfinished u;
    struct gsh_proxy *proxy = p->is_set_up ? p->pe->proxy : NULL;
    about->n_requests = -1;
    about->oldest_pe = -1;
    if (proxy == NULL) {
        about->n_requests = p->is_set_up ? 0 : -1;
    } else if (gsh_proxy_find_unfinished(proxy, &u)) {
        uint64_t now = gsh_now_ns();
        about->n_requests = (int64_t)u.n;
        if (u.n > 0) {
            about->oldest_ns = now > u.since_ns ? now - u.since_ns : 0;
            about->oldest_pe = u.pe;
            gsh_copy_name(about->oldest, sizeof(about->oldest), u.name);
        }
    }
}

/* What the NIC has not done. */
static void put_posted(const struct part *p, struct gsh_hang_pe *about)
{
    struct gsh_nic_unfinished u;
    about->n_posted = -1;
    about->posted_pe = -1;
    if (p->is_set_up && gsh_far_nic_find_unfinished(p->pe, &u)) {
        const uint64_t now = gsh_now_ns();
        about->n_posted = (int64_t)u.n;
        about->posted_pe = u.pe;
        about->posted_ns = u.n > 0 && now > u.since_ns ? now - u.since_ns : 0;
        gsh_copy_name(about->posted, sizeof(about->posted), u.name != NULL ? u.name : "something");
    }
}

static void put_about(struct part *p)
{
    struct gsh_instance *pe = p->pe;
    struct gsh_hang_record r = {0};
    r.about = (struct gsh_hang_pe){
        .pe = pe->my_pe,
        .n_pes = pe->n_pes,
        .node = pe->peers[pe->my_pe].node,
        .n_nodes = pe->n_nodes,
        .os_pid = (int32_t)getpid(),
        .launcher = pe->env.launcher,
        .n_missed = gsh_waits_count_missed(pe),
        .is_set_up = p->is_set_up,
        .is_ending = gsh_page_is_ending(pe->page),
        .is_held = p->is_held,
        .n_unfinished = -1,
    };
    if (gethostname(r.about.host, sizeof(r.about.host) - 1) != 0) {
        r.about.host[0] = '\0';
    }
    if (p->is_set_up && pe->device_ops->count_unfinished != NULL) {
        uint64_t n_waiting = 0;
        r.about.n_unfinished = (int64_t)pe->device_ops->count_unfinished(pe, &n_waiting);
        r.about.n_waiting = (int64_t)n_waiting;
    }
    put_requests(p, &r.about);
    put_posted(p, &r.about);
    gsh_copy_name(r.about.device, sizeof(r.about.device),
                  p->is_set_up ? pe->device_ops->name : "none yet");
    pass_on(p, &r, GSH_HANG_PE);
    for (int i = 0; i < pe->n_pes; i += (int)GSH_ARRAY_LEN(r.peers.process)) {
        int n = pe->n_pes - i;
        struct gsh_hang_record peers = {0};
        peers.peers.first = i;
        peers.peers.n = (int32_t)gsh_min_u64((uint64_t)n, GSH_ARRAY_LEN(r.peers.process));
        for (int k = 0; k < peers.peers.n; k++) {
            peers.peers.process[k] = gsh_process_of(pe, i + k);
            peers.peers.node[k] = pe->peers[i + k].node;
        }
        pass_on(p, &peers, GSH_HANG_PEERS);
    }
}

/* The wait of a kernel that has passed its time limit, and that no longer answers. */
static void add_reported(struct part *p)
{
    const struct gsh_report *report = &p->pe->page->control.report;
    /* acquire: pairs with the release in report_trouble */
    if (gsh_load_acquire_u32(&report->state) < 2) {
        return;
    }
    switch (report->kind) {
    case GSH_REPORT_WAIT_TIMEOUT:
    case GSH_REPORT_SYNC_TIMEOUT:
    case GSH_REPORT_FAR_TIMEOUT:
    case GSH_REPORT_LOCK_TIMEOUT:
        break;
    default:
        return;
    }
    struct gsh_report *e = &p->entries[p->n++];
    *e = *report;
    e->state = WAITS_MAX - 1;
    p->sites[e->state] = gsh_waits_reported_site(p->pe);
    e->bytes = p->pe->env.wait_timeout_ns;
}

static void put_part(struct part *p, uint32_t request)
{
    p->entries = malloc(WAITS_MAX * sizeof(*p->entries));
    p->sites = calloc(WAITS_MAX, sizeof(*p->sites));
    p->objects = malloc(OBJECTS * sizeof(*p->objects));
    /* acquire: pairs with the release at the end of set-up */
    p->is_set_up = gsh_load_acquire_u32(&p->pe->is_set_up) != 0;
    if (p->entries != NULL && p->sites != NULL && p->objects != NULL) {
        p->n = gsh_waits_read(p->pe, request, p->entries, p->sites, GSH_WAITS_ENTRIES);
        p->n = p->n > GSH_WAITS_ENTRIES ? GSH_WAITS_ENTRIES : p->n;
        add_reported(p);
        p->n_objects = p->is_set_up ? gsh_heap_allocations(p->pe->heap, p->objects, OBJECTS) : 0;
        p->n_objects = gsh_min_u64(p->n_objects, OBJECTS);
        if (p->is_set_up) {
            look(p, look_at_base, &(struct gsh_hang_wait){0});
        }
        put_about(p);
        put_waits(p);
    }
    free(p->entries);
    free(p->sites);
    free(p->objects);
}

static void await_answers(struct gsh_instance *const *pes, int n, uint32_t request)
{
    const struct timespec nap = {.tv_nsec = STEP_MS * 1000000L};
    uint32_t had = 0;
    for (int ms = 0, quiet = 0; ms < MOST_MS && (ms < LEAST_MS || quiet < QUIET_MS);
         ms += STEP_MS) {
        uint32_t has = 0;
        nanosleep(&nap, NULL);
        for (int i = 0; i < n; i++) {
            has += gsh_waits_read(pes[i], request, NULL, NULL, 0);
        }
        quiet = has == had ? quiet + STEP_MS : 0;
        had = has;
    }
}

void gsh_hang_collect(struct gsh_instance *const *pes, int n,
                      bool (*put)(void *to, const struct gsh_hang_record *record), void *to)
{
    static uint32_t last_request; /* under the caller's lock */
    uint32_t request = ++last_request;
    bool is_refused = false;
    for (int i = 0; i < n; i++) {
        struct gsh_nic_unfinished first_look; /* an entry's age counts from the first */
        gsh_waits_ask(pes[i], request);
        /* acquire: pairs with the release at the end of set-up */
        if (gsh_load_acquire_u32(&pes[i]->is_set_up) != 0) {
            (void)gsh_far_nic_find_unfinished(pes[i], &first_look);
        }
    }
    await_answers(pes, n, request);
    for (int i = 0; i < n; i++) {
        gsh_waits_close(pes[i]);
    }
    for (int i = 0; i < n && !is_refused; i++) {
        struct part p = {.pe = pes[i], .put = put, .to = to};
        put_part(&p, request);
        is_refused = p.is_refused;
    }
}
