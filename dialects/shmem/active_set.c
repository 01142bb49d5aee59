/* SPDX-License-Identifier: Apache-2.0
 * The PEs of an active set as a team, kept from the first call on. */
#include "active_set.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <gshmemx.h>

struct known {
    int my_pe; /* PEs may be threads of this process */
    struct gsh_set set;
    uint64_t is_of_sync; /* the team is for calls with this pSync alone; all of its PEs agree */
    struct known *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *sets; /* under lock */
static int allows_threads;

void gsh_sets_allow_threads(int is_allowed)
{
    __atomic_store_n(&allows_threads, is_allowed, __ATOMIC_RELAXED);
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr);
    fprintf(stderr, "gshmem: PE %d: error: ", gshmem_my_pe());
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
    gshmem_global_exit(1);
    abort();
}

static void check(const char *call, int start, int log_stride, int size)
{
    int n = gshmem_n_pes(), me = gshmem_my_pe();
    long long last = -1;
    if (start >= 0 && log_stride >= 0 && log_stride < 31 && size >= 1) {
        last = start + ((long long)(size - 1) << log_stride);
    }
    if (last < 0 || last >= n) {
        fail("%s: there is no active set of %d PEs from PE %d with stride 2^%d: the job has PEs 0 "
             "to %d",
             call, size, start, log_stride, n - 1);
    }
    if (me < start || me > last || ((me - start) & ((1 << log_stride) - 1)) != 0) {
        fail("%s: this PE is not in the active set of %d PEs from PE %d with stride 2^%d", call,
             size, start, log_stride);
    }
}

static int is_same(const struct known *k, int me, const struct gsh_set *set)
{
    return k->my_pe == me && k->set.start == set->start && k->set.log_stride == set->log_stride &&
           k->set.size == set->size && (!k->is_of_sync || k->set.sync == set->sync);
}

static int find(int me, struct gsh_set *set)
{
    int is_known = 0;
    pthread_mutex_lock(&lock);
    for (const struct known *k = sets; k != NULL && !is_known; k = k->next) {
        is_known = is_same(k, me, set);
        if (is_known) {
            set->team = k->set.team;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_known;
}

static int is_world(const struct gsh_set *set)
{
    return set->start == 0 && set->log_stride == 0 && set->size == gshmem_n_pes();
}

/* Tells all members whether any of them allows threads, and whether any lacks a team. */
static void make(const char *call, int me, struct gsh_set *set)
{
    struct known *k = malloc(sizeof(*k));
    int *pes = calloc((size_t)set->size, sizeof(*pes));
    if (k == NULL || pes == NULL) {
        fail("%s: no memory for an active set of %d PEs", call, set->size);
    }
    for (int i = 0; i < set->size; i++) {
        pes[i] = set->start + (i << set->log_stride);
    }
    *k = (struct known){.my_pe = me, .set = *set};
    k->is_of_sync = (uint64_t)__atomic_load_n(&allows_threads, __ATOMIC_RELAXED);
    (void)gshmemx_team_create_at(set->sync, pes, set->size, NULL, 0, &k->set.team, &k->is_of_sync);
    free(pes);
    if (!k->is_of_sync && is_world(set)) { /* it has more room */
        gshmem_team_destroy(k->set.team);
        k->set.team = GSHMEM_TEAM_WORLD;
    }
    pthread_mutex_lock(&lock);
    k->next = sets;
    sets = k;
    pthread_mutex_unlock(&lock);
    set->team = k->set.team;
}

/* pSync is not used if there is a team, but other implementations would use it. */
static void check_sync(const struct gsh_set_call *c)
{
#if GSH_CHECKS
    if (!gshmemx_is_symmetric(c->sync, c->sync_bytes)) {
        fail("%s: pSync at %p is not %zu symmetric longs, which this call needs", c->name, c->sync,
             c->sync_bytes / sizeof(long));
    }
#else
    (void)c;
#endif
}

struct gsh_set gsh_set_enter(const struct gsh_set_call *c, int PE_start, int logPE_stride,
                             int PE_size)
{
    const int me = gshmem_my_pe();
    struct gsh_set set = {.team = GSHMEM_TEAM_INVALID,
                          .start = PE_start,
                          .log_stride = logPE_stride,
                          .size = PE_size,
                          .sync = c->sync};
    if (!find(me, &set)) {
        check(c->name, PE_start, logPE_stride, PE_size);
        check_sync(c);
        make(c->name, me, &set);
    } else {
        check_sync(c);
    }
    set.me = (me - PE_start) >> logPE_stride;
    return set;
}

void gsh_set_leave(const struct gsh_set_call *c, int error)
{
    if (error != 0) {
        fail("%s: %s", c->name, gshmemx_error_string(error));
    }
}

size_t gsh_set_nelems(const struct gsh_set_call *c, int nreduce)
{
    if (nreduce < 0) {
        fail("%s: nreduce is %d", c->name, nreduce);
    }
    return (size_t)nreduce;
}

/* The teams end with the job. */
void gsh_sets_end(void)
{
    int me = gshmem_my_pe();
    pthread_mutex_lock(&lock);
    for (struct known **k = &sets; *k != NULL;) {
        struct known *it = *k;
        if (it->my_pe == me) {
            *k = it->next;
            free(it);
        } else {
            k = &it->next;
        }
    }
    pthread_mutex_unlock(&lock);
}
