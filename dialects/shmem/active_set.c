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

struct pe_words {
    int my_pe;
    uint64_t *words;
    struct pe_words *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct set *sets;       /* under lock */
static struct pe_words *words; /* under lock */

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

gshmem_team_t gsh_set_team(const char *call, int PE_start, int logPE_stride, int PE_size)
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

void gsh_sets_start(void)
{
    struct pe_words *w = malloc(sizeof(*w));
    uint64_t *memory = gshmem_calloc((size_t)gshmem_n_pes(), sizeof(*memory));
    if (w == NULL || memory == NULL) {
        fail("shmem_init: no memory for %d PEs", gshmem_n_pes());
    }
    *w = (struct pe_words){.my_pe = gshmem_my_pe(), .words = memory};
    pthread_mutex_lock(&lock);
    w->next = words;
    words = w;
    pthread_mutex_unlock(&lock);
}

uint64_t *gsh_set_words(void)
{
    int me = gshmem_my_pe();
    uint64_t *mine = NULL;
    pthread_mutex_lock(&lock);
    for (const struct pe_words *w = words; w != NULL && mine == NULL; w = w->next) {
        mine = w->my_pe == me ? w->words : NULL;
    }
    pthread_mutex_unlock(&lock);
    return mine;
}

/* The teams end with the job, and the words with the heap. */
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
    for (struct pe_words **w = &words; *w != NULL;) {
        struct pe_words *it = *w;
        if (it->my_pe == me) {
            *w = it->next;
            free(it);
        } else {
            w = &it->next;
        }
    }
    pthread_mutex_unlock(&lock);
}
