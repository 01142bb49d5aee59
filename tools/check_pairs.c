/* SPDX-License-Identifier: Apache-2.0
 * The calls between two PEs: their time, and their bytes. */
#include <gshmemx.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "check.h"

enum { MOST_SAMPLES = 200, LEAST_SAMPLES = 5, BATCH = 4 };

#define ALL_PAIRS_NS 4e9  /* what all of them may take together */
#define ONE_PAIR_NS  50e6 /* at most */

/* Symmetric. The other PE of the pair alone writes them, but for number: the pair's in the list,
 * from 1, by the PE that asked in the pair before, when this pair may begin. */
struct words {
    uint64_t number, asked, ready, ping, pong, ended, counter, pad;
    struct check_wrong wrong; /* what the answering PE found */
};

struct buffers {
    struct words *words;
    uint8_t *put_here, *get_here; /* symmetric */
    uint8_t *data;                /* this PE's own */
    size_t bytes;
    double ns; /* for one measure */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct check_pair *check_list_pairs(int n_pes, size_t *n_pairs)
{
    /* 1, 2, 4, ... PEs further, until there are as many pairs as CHECK_MOST_PES PEs have */
    const size_t most = (size_t)CHECK_MOST_PES * CHECK_MOST_PES;
    const bool has_all = n_pes <= CHECK_MOST_PES;
    size_t room = has_all ? (size_t)n_pes * (size_t)n_pes : most + (size_t)n_pes, n = 0;
    struct check_pair *pairs = calloc(room, sizeof(*pairs));
    for (int from = 0; pairs != NULL && from < n_pes; from++) {
        for (int step = 1, i = 0; step < n_pes; step = has_all ? step + 1 : 2 * step, i++) {
            if (n < room && (has_all || (size_t)(i + 1) * (size_t)n_pes <= most || i == 0)) {
                pairs[n++] = (struct check_pair){
                    .from = from, .to = (from + step) % n_pes, .wrong = {.call = -1}};
            }
        }
    }
    *n_pairs = n;
    return pairs;
}

uint8_t check_byte(int from, int to, int call, size_t offset)
{
    uint64_t x = ((uint64_t)from << 32) + ((uint64_t)to << 8) + (uint64_t)call + 1 +
                 offset * UINT64_C(0x9e3779b97f4a7c15);
    return (uint8_t)((x * UINT64_C(0xbf58476d1ce4e5b9)) >> 56);
}

static void fill(uint8_t *data, size_t bytes, int from, int to, int call)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = check_byte(from, to, call, i);
    }
}

void check_bytes(const uint8_t *data, size_t bytes, int from, int to, int call,
                 struct check_wrong *wrong)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t expected = check_byte(from, to, call, i);
        if (data[i] != expected) {
            *wrong = (struct check_wrong){call, expected, data[i], i};
            return;
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void call_once(const struct buffers *p, int pe, int call)
{
    switch (call) {
    case CHECK_PUT_LATENCY:
        gshmem_putmem(p->put_here, p->data, 8, pe);
        gshmem_quiet();
        break;
    case CHECK_PUT_RATE:
        gshmem_putmem(p->put_here, p->data, p->bytes, pe);
        gshmem_quiet();
        break;
    case CHECK_GET_LATENCY:
        gshmem_getmem(p->data, p->get_here, 8, pe);
        break;
    default:
        gshmem_getmem(p->data, p->get_here, p->bytes, pe);
        break;
    }
}

/* The lower quartile of samples of one call, in nanoseconds: what other work of the machine does to
 * a few of them does not count. */
static double take_time(const struct buffers *p, int pe, int call)
{
    double samples[MOST_SAMPLES], begun = now_ns(), before = begun;
    int n = 0;
    const int batch = check_is_rate(call) ? 1 : BATCH;
    call_once(p, pe, call); /* makes connections, maps pages */
    while (n < MOST_SAMPLES && (n < LEAST_SAMPLES || before - begun < p->ns)) {
        before = now_ns();
        for (int i = 0; i < batch; i++) {
            call_once(p, pe, call);
        }
        double after = now_ns();
        samples[n++] = (after - before) / batch;
        before = after;
    }
    qsort(samples, (size_t)n, sizeof(samples[0]), compare_doubles);
    return samples[n / 4];
}

/* Each returns the value that the one before left. */
static double time_atomics(const struct buffers *p, int pe, uint64_t *n_done,
                           struct check_wrong *wrong)
{
    double samples[MOST_SAMPLES], begun = now_ns(), after = begun;
    int n = 0;
    *n_done = 0;
    while (n < MOST_SAMPLES && (n < LEAST_SAMPLES || after - begun < p->ns)) {
        double before = now_ns();
        uint64_t seen = gshmem_uint64_atomic_fetch_add(&p->words->counter, 1, pe);
        after = now_ns();
        samples[n++] = after - before;
        if (seen != *n_done && wrong->call < 0) {
            *wrong = (struct check_wrong){CHECK_ATOMIC, (uint32_t)*n_done, (uint32_t)seen, *n_done};
        }
        ++*n_done;
    }
    qsort(samples, (size_t)n, sizeof(samples[0]), compare_doubles);
    return samples[n / 4];
}

#define LAST (UINT64_C(1) << 63) /* in ping: the last one */

static double time_signals(const struct buffers *p, int pe, uint64_t number)
{
    double samples[MOST_SAMPLES], begun = now_ns(), after = begun;
    int n = 0;
    bool is_last = false;
    while (!is_last) {
        uint64_t value = (number << 16) + (uint64_t)n;
        double before = now_ns();
        is_last = n + 1 == MOST_SAMPLES || (n + 1 >= LEAST_SAMPLES && before - begun > p->ns);
        gshmemx_signal_op(&p->words->ping, value | (is_last ? LAST : 0), GSHMEM_SIGNAL_SET, pe);
        gshmem_signal_wait_until(&p->words->pong, GSHMEM_CMP_EQ, value);
        after = now_ns();
        samples[n++] = (after - before) / 2;
    }
    qsort(samples, (size_t)n, sizeof(samples[0]), compare_doubles);
    return samples[n / 4];
}

static void ask(const struct buffers *p, struct check_pair *pair, uint64_t number)
{
    const int me = pair->from, pe = pair->to;
    struct words *w = p->words;
    const char *route = gshmemx_route_name(pe);
    snprintf(pair->route, sizeof(pair->route), "%s", route != NULL ? route : "none");
    gshmemx_signal_op(&w->asked, number, GSHMEM_SIGNAL_SET, pe);
    gshmem_signal_wait_until(&w->ready, GSHMEM_CMP_EQ, number);

    fill(p->data, p->bytes, me, pe, CHECK_PUT_RATE);
    double put = take_time(p, pe, CHECK_PUT_LATENCY), puts = take_time(p, pe, CHECK_PUT_RATE);
    memset(p->data, 0, p->bytes);
    double get = take_time(p, pe, CHECK_GET_LATENCY), gets = take_time(p, pe, CHECK_GET_RATE);
    struct check_wrong mine = {.call = -1}, theirs;
    check_bytes(p->data, p->bytes, pe, me, CHECK_GET_RATE, &mine);
    uint64_t n_atomics;
    pair->values[CHECK_PUT_LATENCY] = put / 1e3;
    pair->values[CHECK_PUT_RATE] = (double)p->bytes / puts;
    pair->values[CHECK_GET_LATENCY] = get / 1e3;
    pair->values[CHECK_GET_RATE] = (double)p->bytes / gets;
    pair->values[CHECK_ATOMIC] = time_atomics(p, pe, &n_atomics, &mine) / 1e3;
    pair->values[CHECK_SIGNAL] = time_signals(p, pe, number) / 1e3;

    gshmem_signal_wait_until(&w->ended, GSHMEM_CMP_EQ, number);
    gshmem_getmem(&theirs, &w->wrong, sizeof(theirs), pe);
    pair->wrong = theirs.call >= 0 ? theirs : mine;
    uint64_t counter;
    gshmem_getmem(&counter, &w->counter, sizeof(counter), pe);
    if (counter != n_atomics && pair->wrong.call < 0) {
        pair->wrong =
            (struct check_wrong){CHECK_ATOMIC, (uint32_t)n_atomics, (uint32_t)counter, n_atomics};
    }
}

static void answer(const struct buffers *p, const struct check_pair *pair, uint64_t number)
{
    const int me = pair->to, pe = pair->from;
    struct words *w = p->words;
    const uint64_t zero = 0;
    gshmem_signal_wait_until(&w->asked, GSHMEM_CMP_EQ, number);
    memset(p->data, 0, p->bytes);
    gshmem_putmem(p->put_here, p->data, p->bytes, me);
    gshmem_putmem(&w->counter, &zero, sizeof(zero), me);
    fill(p->data, p->bytes, me, pe, CHECK_GET_RATE);
    gshmem_putmem(p->get_here, p->data, p->bytes, me);
    gshmem_quiet();
    gshmemx_signal_op(&w->ready, number, GSHMEM_SIGNAL_SET, pe);

    for (uint64_t n = 0, is_last = 0; !is_last; n++) {
        const uint64_t wanted = (number << 16) + n;
        uint64_t seen = gshmem_signal_wait_until(&w->ping, GSHMEM_CMP_GE, wanted);
        is_last = seen & LAST;
        gshmemx_signal_op(&w->pong, wanted, GSHMEM_SIGNAL_SET, pe);
    }
    /* ping is above all later values until it is taken back */
    gshmem_putmem(&w->ping, &zero, sizeof(zero), me);

    struct check_wrong wrong = {.call = -1};
    gshmem_getmem(p->data, p->put_here, p->bytes, me);
    check_bytes(p->data, p->bytes, pe, me, CHECK_PUT_RATE, &wrong);
    gshmem_putmem(&w->wrong, &wrong, sizeof(wrong), me);
    gshmem_quiet();
    gshmemx_signal_op(&w->ended, number, GSHMEM_SIGNAL_SET, pe);
}

/* PE 0 gets what the others have found. */
static bool gather(struct check_pair *pairs, size_t n_pairs)
{
    const int me = gshmem_my_pe();
    struct check_pair *all = gshmem_malloc(n_pairs * sizeof(*all));
    if (all == NULL) {
        return false;
    }
    gshmem_putmem(all, pairs, n_pairs * sizeof(*all), me);
    gshmem_barrier_all();
    for (size_t i = 0, n; me == 0 && i < n_pairs; i += n) { /* a PE's pairs follow each other */
        for (n = 1; i + n < n_pairs && pairs[i + n].from == pairs[i].from;) {
            n++;
        }
        gshmem_getmem(&pairs[i], &all[i], n * sizeof(*all), pairs[i].from);
    }
    gshmem_free(all);
    return true;
}

bool check_run_pairs(struct check_pair *pairs, size_t n_pairs)
{
    if (n_pairs == 0) {
        return true;
    }
    const int me = gshmem_my_pe();
    struct buffers p = {.words = gshmem_calloc(1, sizeof(*p.words)),
                        .bytes = n_pairs <= 256 ? CHECK_MOST_BYTES : CHECK_MOST_BYTES / 16};
    double ns = ALL_PAIRS_NS / (double)n_pairs;
    p.ns = (ns < ONE_PAIR_NS ? ns : ONE_PAIR_NS) / CHECK_N_MEASURES;
    p.put_here = gshmem_malloc(p.bytes);
    p.get_here = gshmem_malloc(p.bytes);
    p.data = malloc(p.bytes);
    if (p.words == NULL || p.put_here == NULL || p.get_here == NULL || p.data == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_pairs; i++) {
        if (pairs[i].to == me) {
            answer(&p, &pairs[i], i + 1);
        } else if (pairs[i].from == me) {
            if (i > 0 && pairs[i - 1].from != me) {
                gshmem_signal_wait_until(&p.words->number, GSHMEM_CMP_EQ, i);
            }
            ask(&p, &pairs[i], i + 1);
            if (i + 1 < n_pairs && pairs[i + 1].from != me) {
                gshmemx_signal_op(&p.words->number, i + 1, GSHMEM_SIGNAL_SET, pairs[i + 1].from);
            }
        }
    }
    gshmem_barrier_all();
    bool is_done = gather(pairs, n_pairs);
    free(p.data);
    gshmem_free(p.get_here);
    gshmem_free(p.put_here);
    gshmem_free(p.words);
    return is_done;
}
