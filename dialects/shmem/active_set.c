/* SPDX-License-Identifier: Apache-2.0
 * The PEs of an active set as a team, kept from their first call on. */
#include "active_set.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <gshmemx.h>

struct set {
    int my_pe; /* PEs may be threads of this process */
    int start, log_stride, size;
    gshmem_team_t team;
    struct set *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *sets; /* under lock */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr);
    fprintf(stderr, "shmem: PE %d: error: ", gshmem_my_pe());
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

static gshmem_team_t find(int me, int start, int log_stride, int size)
{
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    pthread_mutex_lock(&lock);
    for (const struct set *s = sets; s != NULL; s = s->next) {
        if (s->my_pe == me && s->start == start && s->log_stride == log_stride && s->size == size) {
            team = s->team;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return team;
}

static gshmem_team_t make(const char *call, int me, int start, int log_stride, int size)
{
    struct set *s = malloc(sizeof(*s));
    int *pes = calloc((size_t)size, sizeof(*pes));
    if (s == NULL || pes == NULL) {
        fail("%s: no memory for an active set of %d PEs", call, size);
    }
    for (int i = 0; i < size; i++) {
        pes[i] = start + (i << log_stride);
    }
    *s = (struct set){.my_pe = me, .start = start, .log_stride = log_stride, .size = size};
    if (gshmemx_team_create(pes, size, NULL, 0, &s->team) != 0) {
        fail("%s: no team can be made of the active set", call);
    }
    free(pes);
    pthread_mutex_lock(&lock);
    s->next = sets;
    sets = s;
    pthread_mutex_unlock(&lock);
    return s->team;
}

static gshmem_team_t team_of(const char *call, int PE_start, int logPE_stride, int PE_size)
{
    int me = gshmem_my_pe();
    if (PE_start == 0 && logPE_stride == 0 && PE_size == gshmem_n_pes()) {
        return GSHMEM_TEAM_WORLD;
    }
    gshmem_team_t team = find(me, PE_start, logPE_stride, PE_size);
    if (team != GSHMEM_TEAM_INVALID) {
        return team;
    }
    check(call, PE_start, logPE_stride, PE_size);
    return make(call, me, PE_start, logPE_stride, PE_size);
}

/* pSync is not used, but another implementation would. */
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

gshmem_team_t gsh_set_enter(const struct gsh_set_call *c, int PE_start, int logPE_stride,
                            int PE_size)
{
    gshmem_team_t team = team_of(c->name, PE_start, logPE_stride, PE_size);
    check_sync(c);
    return team;
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
    for (struct set **s = &sets; *s != NULL;) {
        struct set *it = *s;
        if (it->my_pe == me) {
            *s = it->next;
            free(it);
        } else {
            s = &it->next;
        }
    }
    pthread_mutex_unlock(&lock);
}
