/* SPDX-License-Identifier: Apache-2.0
 * The rings of kernels' events, and the thread that empties them. */
#include "runtime/trace/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/thread.h"
#include "base/util.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/mirror.h"
#include "trace/record.h"
#include "wire/trace.h"

enum { BATCH = 1024, NAMES = 1024, STREAMS = 256, AWAITED = 256 };

#define BUSY_NS     UINT64_C(50000)    /* between two looks while events come */
#define IDLE_NS     UINT64_C(1000000)  /* at most, while none come */
#define REST_NS     UINT64_C(4000000)  /* at most, where looks bound no clock and rings are large */
#define FAST_NS     UINT64_C(250)      /* between two events of a ring that come at a high rate */
#define ARRIVAL_NS  UINT64_C(10000)    /* of a GPU's store in the host's memory, at most */
#define CLOCK_NS    UINT64_C(10000000) /* between two bounds of a clock */
#define NARROW_NS   UINT64_C(1000000)  /* looks further apart say nothing of a clock */
#define CLOCK_RANGE ((uint64_t)1 << GSH_TRACE_EVENT_TIME_BITS)

/* A wait's END that has not come. */
struct awaited {
    uint64_t number;
    uint32_t who;
};

struct gsh_trace_kernels {
    struct gsh_instance *pe;
    struct gsh_trace_mirror *mirror;
    uint64_t *events; /* [GSH_TRACE_ALL_RINGS][n_events][2] */
    uint64_t device_events;
    /* Where kernels count, if the host reads that memory; else NULL. Atomic. */
    uint64_t counts_at;
    const struct gsh_trace_counts *counts;
    bool has_table; /* of GPUs: the counts are in its memory. Atomic. */
    uint32_t n_events, shift;
    gsh_stream streams[STREAMS]; /* atomic; by number, from 1 on; number 0: the default stream */
    uint64_t next[GSH_TRACE_ALL_RINGS];   /* the number of the event that is read next */
    uint64_t n_lost[GSH_TRACE_ALL_RINGS]; /* before it, and not told yet */
    struct awaited awaited[GSH_TRACE_ALL_RINGS][AWAITED];
    uint32_t n_awaited[GSH_TRACE_ALL_RINGS];
    uint32_t n_ends[GSH_TRACE_ALL_RINGS]; /* of these, that have come; no more than counted */
    uint64_t held[2];                     /* the event after a loss, which begins the next batch */
    bool has_held;
    pthread_t thread;
    bool is_running;
    uint32_t is_over; /* atomic */
    /* the thread's own */
    uint64_t last_look_ns, last_clock_ns;
    uint64_t ahead_ns; /* of the device's clock, at first; modulo CLOCK_RANGE */
    bool knows_ahead, has_clock;
    uint64_t clock_seen, clock_step; /* of a CLOCK; both atomic, the step is stored first */
    uint64_t names[NAMES];           /* addresses whose text is written, by their hash */
    uint64_t batch[BATCH][2];
    struct gsh_trace_nic nic; /* as it was written last */
    bool has_nic;
};

static gsh_trace_nic_counter *nic_counter; /* atomic; the process's */

void gsh_trace_kernels_count_nic_by(gsh_trace_nic_counter *counter)
{
    __atomic_store_n(&nic_counter, counter, __ATOMIC_RELEASE);
}

uint64_t gsh_trace_kernels_bytes(void)
{
    return sizeof(struct gsh_trace_counts);
}

uint64_t gsh_trace_kernels_rings(const struct gsh_instance *pe)
{
    const struct gsh_trace_kernels *k = pe->trace_kernels;
    return k != NULL ? GSH_TRACE_RINGS_AT(k->device_events, k->shift) : 0;
}

void gsh_trace_kernels_begin(const struct gsh_instance *pe, uint64_t address)
{
    struct gsh_trace_kernels *k = pe->trace_kernels;
    if (k != NULL) {
        struct gsh_trace_head *head = gsh_trace_head(pe->trace);
        k->counts_at = address;
        head->heap_base = pe->state.base;
        head->heap_bytes = pe->state.stride;
    }
}

/* ---- names ---- */

/* The text at an address of kernels; text: zeros. */
static void read_text(struct gsh_trace_kernels *k, uint64_t address, char *text, size_t room)
{
    const struct gsh_device_ops *ops = k->pe->device_ops;
    const char *from = (const char *)(uintptr_t)address;
    if (ops->is_memory_host) {
        gsh_copy_name(text, room, from);
        return;
    }
    /* The end of the text may be that of what can be read. */
    for (size_t at = 0; at + 1 < room; at++) {
        if (ops->copy(k->pe, GSH_CONTEXT_DEFAULT, text + at, from + at, 1) != GSH_OK) {
            text[at] = '\0';
        }
        if (text[at] == '\0') {
            return;
        }
    }
}

static void write_name(struct gsh_trace_kernels *k, uint64_t address)
{
    char text[GSH_TRACE_TEXT_MAX + 1] = "";
    uint64_t at = address * UINT64_C(0x9e3779b97f4a7c15) >> 54;
    for (int i = 0; i < NAMES; i++, at++) {
        uint64_t *name = &k->names[at % NAMES];
        if (*name == address) {
            return;
        }
        if (*name == 0) {
            *name = address;
            read_text(k, address, text, sizeof(text));
            gsh_trace_write_name(k->pe->trace, address, text);
            return;
        }
    }
}

/* ---- streams ---- */

uint32_t gsh_trace_kernels_number_stream(struct gsh_instance *pe, gsh_stream stream)
{
    gsh_stream *streams = pe->trace_kernels->streams;
    uint32_t number = stream == NULL ? 0 : 1;
    for (; number > 0 && number < STREAMS - 1; number++) {
        gsh_stream found = NULL;
        if (__atomic_compare_exchange_n(&streams[number], &found, stream, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            found == stream) {
            break;
        }
    }
    return number;
}

/* ---- events ---- */

static uint8_t lap_at(const struct gsh_trace_kernels *k, uint32_t ring, uint64_t number,
                      uint64_t words[2])
{
    uint64_t *slot = k->events + 2 * ((uint64_t)ring * k->n_events + (number & (k->n_events - 1)));
    /* relaxed: each word says whose it is; pairs with nothing */
    words[0] = __atomic_load_n(&slot[0], __ATOMIC_RELAXED);
    words[1] = __atomic_load_n(&slot[1], __ATOMIC_RELAXED);
    return GSH_TRACE_EVENT_LAP(words[0]);
}

/* Whether the event is in its slot. Adds to *n_lost if a later one is. */
static bool is_there(const struct gsh_trace_kernels *k, uint32_t ring, uint64_t number,
                     uint64_t words[2], int8_t *ahead)
{
    uint8_t wanted = GSH_TRACE_LAP(number, k->shift);
    *ahead = (int8_t)(uint8_t)(lap_at(k, ring, number, words) - wanted);
    return *ahead == 0 && GSH_TRACE_EVENT_LAP(words[1]) == wanted;
}

/* The END of a wait, if it is there, or lost. */
static bool take_end(struct gsh_trace_kernels *k, uint32_t ring, uint32_t i, uint64_t words[2],
                     uint64_t *n_lost)
{
    struct awaited *a = k->awaited[ring];
    int8_t ahead;
    bool is_taken = is_there(k, ring, a[i].number, words, &ahead);
    if (is_taken || ahead > 0) {
        *n_lost += !is_taken;
        k->n_ends[ring] += is_taken;
        a[i] = a[--k->n_awaited[ring]];
    }
    return is_taken;
}

/* The place in the list of the thread's END that has not come; their number: there is none. */
static uint32_t find_awaited(const struct gsh_trace_kernels *k, uint32_t ring, uint32_t who)
{
    uint32_t i = 0;
    while (i < k->n_awaited[ring] && k->awaited[ring][i].who != who) {
        i++;
    }
    return i;
}

/* The call's END has a number of its own. There is no room: the ring waits for it, as for others.
 */
static void await_end(struct gsh_trace_kernels *k, uint32_t ring, const uint64_t words[2])
{
    uint64_t n = words[1] >> GSH_TRACE_RESERVED_SHIFT & 15;
    if (GSH_TRACE_EVENT_KIND(words[0]) == GSH_TRACE_EVENT_BEGIN && n > 1 &&
        k->n_awaited[ring] < AWAITED) {
        k->awaited[ring][k->n_awaited[ring]++] =
            (struct awaited){.number = k->next[ring] + n - 1, .who = GSH_TRACE_EVENT_WHO(words[0])};
    }
}

static bool is_awaited(const struct gsh_trace_kernels *k, uint32_t ring, uint64_t number)
{
    for (uint32_t i = 0; i < k->n_awaited[ring]; i++) {
        if (k->awaited[ring][i].number == number) {
            return true;
        }
    }
    return false;
}

/* Reads the next event of the ring. False: there is none yet. Adds to *n_lost what was lost. A
 * thread's events come in its own order: what follows a wait, after the wait's END. */
static bool read_event(struct gsh_trace_kernels *k, uint32_t ring, uint64_t words[2],
                       uint64_t *n_lost)
{
    for (;;) {
        uint64_t number = k->next[ring];
        int8_t ahead;
        if (is_awaited(k, ring, number)) {
            k->next[ring]++;
            continue;
        }
        if (is_there(k, ring, number, words, &ahead)) {
            uint32_t kind = GSH_TRACE_EVENT_KIND(words[0]);
            uint32_t i = find_awaited(k, ring, GSH_TRACE_EVENT_WHO(words[0]));
            bool is_detail = i < k->n_awaited[ring] && number < k->awaited[ring][i].number;
            if (i < k->n_awaited[ring] && !is_detail) {
                return take_end(k, ring, i, words, n_lost);
            }
            if (kind == GSH_TRACE_EVENT_BEGIN) {
                await_end(k, ring, words);
            }
            k->next[ring]++;
            return true;
        }
        if (ahead > 0) {
            *n_lost += (uint64_t)ahead << k->shift;
            k->next[ring] += (uint64_t)ahead << k->shift;
            continue;
        }
        /* Not written yet; or, if half a ring behind it is, by a writer that was a lap late. */
        uint64_t later[2], half = number + k->n_events / 2;
        if ((int8_t)(uint8_t)(lap_at(k, ring, half, later) - GSH_TRACE_LAP(half, k->shift)) < 0) {
            return false;
        }
        ++*n_lost;
        k->next[ring]++;
    }
}

/* Ends of waits that have come since the last look, before what comes after them, into the batch.
 */
static uint32_t read_ends(struct gsh_trace_kernels *k, uint32_t ring, uint32_t at, uint64_t *n_lost)
{
    uint32_t n = 0;
    for (uint32_t i = k->n_awaited[ring]; i-- > 0 && at + n < BATCH;) {
        n += take_end(k, ring, i, k->batch[at + n], n_lost);
    }
    return n;
}

/* The device's time as 64 bits, near the host's. */
static uint64_t device_time(struct gsh_trace_kernels *k, uint64_t word, uint64_t now)
{
    if (k->pe->device_ops->is_memory_host) {
        return now;
    }
    if (!k->knows_ahead) {
        k->ahead_ns = (GSH_TRACE_EVENT_TIME(word) - now) & (CLOCK_RANGE - 1);
        k->knows_ahead = true;
    }
    uint64_t reference = now + k->ahead_ns + CLOCK_RANGE / 2;
    return reference - ((reference - word) & (CLOCK_RANGE - 1));
}

static void write_clock(struct gsh_trace_kernels *k, uint64_t time, uint64_t before, uint64_t now)
{
    bool is_due = now - k->last_clock_ns >= CLOCK_NS;
    bool is_narrow =
        now - before <= NARROW_NS || !k->has_clock; /* a wide bound is better than none */
    if (k->pe->device_ops->is_memory_host || !is_due || !is_narrow) {
        return;
    }
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_CLOCK_DEVICE,
                                  .pe = -1,
                                  .value = time,
                                  .begin_ns = before - ARRIVAL_NS,
                                  .end_ns = now};
    gsh_trace_write(k->pe->trace, NULL, &slot);
    k->last_clock_ns = now;
    k->has_clock = true;
}

static void take_clock(struct gsh_trace_kernels *k, const uint64_t words[2])
{
    if (GSH_TRACE_EVENT_KIND(words[0]) == GSH_TRACE_EVENT_CLOCK) {
        uint64_t time = device_time(k, words[0], gsh_now_ns());
        __atomic_store_n(&k->clock_step, GSH_TRACE_PAYLOAD(words[1]) >> 8, __ATOMIC_RELAXED);
        /* release: pairs with the acquire in await_clock */
        __atomic_store_n(&k->clock_seen, time, __ATOMIC_RELEASE);
    }
}

/* Fills the batch up to the next loss, which comes before the next batch. Returns its events. */
static uint32_t fill_batch(struct gsh_trace_kernels *k, uint32_t ring, uint64_t *n_lost)
{
    *n_lost = k->n_lost[ring];
    k->n_lost[ring] = 0;
    uint32_t n = 0;
    if (k->has_held) {
        memcpy(k->batch[n++], k->held, sizeof(k->held));
        k->has_held = false;
    }
    n += read_ends(k, ring, n, n_lost);
    while (n < BATCH && k->n_lost[ring] == 0) {
        uint64_t words[2], lost = 0;
        bool is_read = read_event(k, ring, words, &lost);
        *(n == 0 ? n_lost : &k->n_lost[ring]) += lost;
        if (!is_read) {
            return n;
        }
        if (ring != GSH_TRACE_STREAM_RING &&
            GSH_TRACE_EVENT_KIND(words[0]) == GSH_TRACE_EVENT_BEGIN) {
            write_name(k, words[1] & UINT64_C(0xffffffffffff));
        }
        if (ring == GSH_TRACE_STREAM_RING) {
            take_clock(k, words);
        }
        k->has_held = n > 0 && lost > 0;
        memcpy(k->has_held ? k->held : k->batch[n++], words, sizeof(words));
    }
    return n;
}

/* Returns how many events there were, and losses. */
static uint32_t take_batch(struct gsh_trace_kernels *k, uint32_t ring, uint64_t before)
{
    uint64_t n_lost;
    uint32_t n = fill_batch(k, ring, &n_lost);
    if (n == 0 && n_lost == 0) {
        return 0;
    }
    uint64_t now = gsh_now_ns();
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_KERNEL,
                                  .pe = -1,
                                  .off = ring,
                                  .bytes = n,
                                  .value = n_lost,
                                  .end_ns = n > 0 ? device_time(k, k->batch[n - 1][0], now) : now};
    gsh_trace_write_with(k->pe->trace, &slot, k->batch, n * sizeof(k->batch[0]));
    if (n > 0) {
        write_clock(k, device_time(k, k->batch[n - 1][0], now), before, now);
    }
    return n + (n_lost > 0);
}

/* Whether every number that was taken has been read; never true without counts. */
static bool is_idle(const struct gsh_trace_kernels *k, const struct gsh_trace_counts *counts,
                    uint32_t ring)
{
    return counts != NULL &&
           __atomic_load_n(&counts->taken[ring], __ATOMIC_RELAXED) == (uint32_t)k->next[ring] &&
           k->n_awaited[ring] == 0 && k->n_lost[ring] == 0;
}

/* Copies what may be new from a GPU. Ends of waits are looked for only where some have come: a
 * count may be behind them, and then they are found later. */
static void update_mirror(struct gsh_trace_kernels *k, bool is_last)
{
    /* acquire: pairs with the release in note_clock */
    if (!__atomic_load_n(&k->has_table, __ATOMIC_ACQUIRE)) {
        return;
    }
    const struct gsh_trace_counts *counts = gsh_trace_mirror_counts(k->mirror, k->counts_at);
    for (uint32_t ring = 0; counts != NULL && ring < GSH_TRACE_ALL_RINGS; ring++) {
        const uint32_t n = counts->taken[ring] - (uint32_t)k->next[ring];
        if (n > 0) {
            gsh_trace_mirror_note(k->mirror, ring, k->next[ring], n);
        }
        for (uint32_t i = 0;
             (is_last || counts->ends[ring] != k->n_ends[ring]) && i < k->n_awaited[ring]; i++) {
            gsh_trace_mirror_note(k->mirror, ring, k->awaited[ring][i].number, 1);
        }
    }
    gsh_trace_mirror_copy(k->mirror);
}

/* Returns the events of the ring that had most. */
static uint64_t take_all(struct gsh_trace_kernels *k, bool is_last)
{
    uint64_t most = 0, before = k->last_look_ns;
    /* acquire: pairs with the release in note_clock */
    const struct gsh_trace_counts *counts = __atomic_load_n(&k->counts, __ATOMIC_ACQUIRE);
    k->last_look_ns = gsh_now_ns();
    update_mirror(k, is_last);
    for (uint32_t ring = 0; ring < GSH_TRACE_ALL_RINGS; ring++) {
        uint64_t n = 0;
        for (uint32_t taken = !is_idle(k, counts, ring); taken > 0; n += taken) {
            taken = take_batch(k, ring, before);
        }
        most = n > most ? n : most;
    }
    return most;
}

/* ---- NICs ---- */

void gsh_trace_kernels_note_done(struct gsh_instance *pe, uint32_t queue, uint64_t position)
{
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_DONE,
                                  .pe = -1,
                                  .begin_ns = gsh_now_ns(),
                                  .off = GSH_TRACE_NONE,
                                  .word_off = queue,
                                  .value = position};
    slot.end_ns = slot.begin_ns;
    gsh_trace_write(pe->trace, NULL, &slot);
}

/* Writes what has changed. Returns whether anything has. */
static bool look_at_nic(struct gsh_trace_kernels *k)
{
    gsh_trace_nic_counter *const counter = __atomic_load_n(&nic_counter, __ATOMIC_ACQUIRE);
    struct gsh_trace_nic now;
    /* acquire: pairs with the release at the end of set-up */
    if (counter == NULL || gsh_load_acquire_u32(&k->pe->is_set_up) == 0 || !counter(k->pe, &now) ||
        (k->has_nic && now.posted == k->nic.posted && now.outstanding == k->nic.outstanding)) {
        return false;
    }
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_NIC,
                                  .pe = -1,
                                  .begin_ns = gsh_now_ns(),
                                  .off = GSH_TRACE_NONE,
                                  .word_off = GSH_TRACE_NONE,
                                  .value = now.posted,
                                  .seen = now.outstanding};
    slot.end_ns = slot.begin_ns;
    gsh_trace_write(k->pe->trace, NULL, &slot);
    k->nic = now;
    k->has_nic = true;
    return true;
}

/* Until the next look. A GPU's clock is bounded by looks, so they are frequent while events come;
 * elsewhere a look is due before a ring is a quarter full, at twice the rate of the last one. */
static uint64_t next_wait(const struct gsh_trace_kernels *k, uint64_t wait_ns, uint64_t most)
{
    if (!k->pe->device_ops->is_memory_host) {
        return most > 0 ? BUSY_NS : gsh_min_u64(2 * wait_ns, IDLE_NS);
    }
    uint64_t longest = gsh_max_u64(IDLE_NS, gsh_min_u64(k->n_events * FAST_NS, REST_NS));
    return most > k->n_events / 8 ? gsh_max_u64(wait_ns / 2, BUSY_NS)
                                  : gsh_min_u64(2 * wait_ns, longest);
}

static void *run(void *arg)
{
    struct gsh_trace_kernels *k = arg;
    uint64_t wait_ns = IDLE_NS;
    pthread_setname_np(pthread_self(), "gshmem-trace");
    k->last_look_ns = gsh_now_ns();
    /* acquire: pairs with the release in stop */
    while (__atomic_load_n(&k->is_over, __ATOMIC_ACQUIRE) == 0) {
        wait_ns = next_wait(k, wait_ns, take_all(k, false));
        wait_ns = look_at_nic(k) ? BUSY_NS : wait_ns;
        const struct timespec wait = {.tv_nsec = (long)wait_ns};
        nanosleep(&wait, NULL);
    }
    take_all(k, true);
    (void)look_at_nic(k);
    return NULL;
}

/* ---- the device's clock ---- */

/* 0: it does not come. */
static uint64_t await_clock(struct gsh_trace_kernels *k)
{
    enum { LOOKS = 20000 };
    const struct timespec wait = {.tv_nsec = BUSY_NS};
    uint64_t time = 0;
    for (int i = 0; time == 0 && i < LOOKS; i++) {
        /* acquire: pairs with the release in take_clock */
        time = __atomic_load_n(&k->clock_seen, __ATOMIC_ACQUIRE);
        if (time == 0) {
            nanosleep(&wait, NULL);
        }
    }
    return time;
}

void gsh_trace_kernels_note_clock(struct gsh_instance *pe)
{
    enum { ROUNDS = 8 }; /* of which the fastest count */
    struct gsh_trace_kernels *k = pe->trace_kernels;
    const struct gsh_device_ops *ops = pe->device_ops;
    if (k == NULL || !k->is_running) {
        return;
    }
    if (ops->is_memory_host) {
        /* release: pairs with the acquire in take_all; the table is there, all zeros */
        __atomic_store_n(&k->counts, (const void *)(uintptr_t)k->counts_at, __ATOMIC_RELEASE);
        return;
    }
    /* release: pairs with the acquire in update_mirror; the table is there, all zeros */
    __atomic_store_n(&k->has_table, true, __ATOMIC_RELEASE);
    for (int i = 0; i < ROUNDS; i++) {
        struct gsh_kernel_trace_args args = {
            .who = 0xffff, .n = 1, .kind = {GSH_TRACE_EVENT_CLOCK}};
        struct gsh_trace_slot slot = {.kind = GSH_TRACE_CLOCK_DEVICE, .pe = -1};
        __atomic_store_n(&k->clock_seen, 0, __ATOMIC_RELAXED);
        slot.begin_ns = gsh_now_ns();
        if (ops->stream_trace(pe, &args, NULL) != GSH_OK ||
            ops->stream_synchronize(pe, NULL) != GSH_OK) {
            return;
        }
        slot.end_ns = gsh_now_ns();
        slot.value = await_clock(k);
        if (slot.value == 0) {
            return;
        }
        gsh_trace_write(pe->trace, NULL, &slot);
        gsh_trace_head(pe->trace)->device_step_ns =
            gsh_max_u64(gsh_trace_head(pe->trace)->device_step_ns,
                        __atomic_load_n(&k->clock_step, __ATOMIC_RELAXED));
    }
}

/* ---- life ---- */

enum gsh_result gsh_trace_kernels_create(struct gsh_instance *pe)
{
    if (pe->trace == NULL) {
        return GSH_OK;
    }
    if (!gsh_is_pow2((uint64_t)pe->env.trace_events)) {
        return gsh_fail(GSH_ERR_ARG, "GSHMEM_TRACE_EVENTS=%d is no power of two",
                        pe->env.trace_events);
    }
    struct gsh_trace_kernels *k = calloc(1, sizeof(*k));
    if (k == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the timeline");
    }
    k->pe = pe;
    k->n_events = (uint32_t)pe->env.trace_events;
    k->shift = (uint32_t)__builtin_ctz(k->n_events);
    pe->trace_kernels = k;
    enum gsh_result r =
        gsh_trace_mirror_create(pe, k->n_events, &k->mirror, &k->events, &k->device_events);
    gsh_trace_head(pe->trace)->has_device_clock = !pe->device_ops->is_memory_host;
    if (r == GSH_OK && gsh_create_thread(&k->thread, NULL, run, k) != 0) {
        r = gsh_fail(GSH_ERR_SYSTEM, "init: no thread for the timeline");
    }
    k->is_running = r == GSH_OK;
    return r;
}

void gsh_trace_kernels_stop(struct gsh_instance *pe)
{
    struct gsh_trace_kernels *k = pe->trace_kernels;
    if (k != NULL && k->is_running) {
        /* release: pairs with the acquire in run */
        __atomic_store_n(&k->is_over, 1, __ATOMIC_RELEASE);
        pthread_join(k->thread, NULL);
        k->is_running = false;
    }
}

void gsh_trace_kernels_destroy(struct gsh_instance *pe)
{
    struct gsh_trace_kernels *k = pe->trace_kernels;
    if (k == NULL) {
        return;
    }
    gsh_trace_kernels_stop(pe);
    gsh_trace_mirror_destroy(&k->mirror);
    free(k);
    pe->trace_kernels = NULL;
}
