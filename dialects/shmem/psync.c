/* SPDX-License-Identifier: Apache-2.0
 * Collectives over an active set without a team, since the team pool is full: by words of pSync,
 * which are SHMEM_SYNC_VALUE before and after, and by gets. Slow, but needs no memory.
 *
 * Invariants. SYNC_ARRIVED of the set's first PE counts the others that have arrived; the first PE
 * resets the word before it sets SYNC_GO of each of them, which resets that before it leaves. So
 * all words are as before when the first PE leaves, except SYNC_GO of others, which is not written
 * until they have arrived again. */
#include "active_set.h"

#include <stdlib.h>
#include <string.h>
#include <gshmemx.h>

enum { SYNC_ARRIVED, SYNC_GO, SYNC_NELEMS };

static int pe_of(const struct gsh_set *set, int i)
{
    return set->start + (i << set->log_stride);
}

/* This code may be unable to write pSync's memory. */
static void set_own(const struct gsh_set *set, int word, long value)
{
    gshmem_long_p(set->sync + word, value, gshmem_my_pe());
    gshmem_quiet();
}

void gsh_psync_sync(const struct gsh_set *set)
{
    if (set->me > 0) {
        gshmem_long_atomic_inc(set->sync + SYNC_ARRIVED, set->start);
        gshmem_long_wait_until(set->sync + SYNC_GO, GSHMEM_CMP_NE, 0);
        set_own(set, SYNC_GO, 0);
        return;
    }
    if (set->size > 1) {
        gshmem_long_wait_until(set->sync + SYNC_ARRIVED, GSHMEM_CMP_EQ, set->size - 1);
        set_own(set, SYNC_ARRIVED, 0);
    }
    for (int i = 1; i < set->size; i++) {
        gshmem_long_p(set->sync + SYNC_GO, 1, pe_of(set, i));
    }
}

void gsh_psync_barrier(const struct gsh_set *set)
{
    gshmem_quiet();
    gsh_psync_sync(set);
}

/* ---- moving data: each gets what is for it ---- */

static char *at(void *p, size_t nelems, size_t elem_bytes)
{
    return (char *)p + nelems * elem_bytes;
}

static const char *from(const void *p, size_t nelems, size_t elem_bytes)
{
    return (const char *)p + nelems * elem_bytes;
}

static void collect(const struct gsh_set *set, const struct gsh_set_move *m)
{
    size_t so_far = 0;
    for (int i = 0; i < set->size; i++) {
        size_t n = (size_t)gshmem_long_g(set->sync + SYNC_NELEMS, pe_of(set, i));
        gshmem_getmem(at(m->dest, so_far, m->elem_bytes), m->source, n * m->elem_bytes,
                      pe_of(set, i));
        so_far += n;
    }
}

static void move_strided(const struct gsh_set *set, const struct gsh_set_move *m)
{
    const size_t dest_step = m->nelems * (size_t)m->dst, source_step = m->nelems * (size_t)m->sst;
    const char *source = from(m->source, (size_t)set->me * source_step, m->elem_bytes);
    for (int i = 0; i < set->size; i++) {
        char *dest = at(m->dest, (size_t)i * dest_step, m->elem_bytes);
        if (m->elem_bytes == 4) {
            gshmem_iget32(dest, source, m->dst, m->sst, m->nelems, pe_of(set, i));
        } else {
            gshmem_iget64(dest, source, m->dst, m->sst, m->nelems, pe_of(set, i));
        }
    }
}

static void move_parts(const struct gsh_set *set, const struct gsh_set_move *m)
{
    size_t mine = m->kind == GSH_SET_ALLTOALL ? (size_t)set->me * m->nelems : 0;
    for (int i = 0; i < set->size; i++) {
        gshmem_getmem(at(m->dest, (size_t)i * m->nelems, m->elem_bytes),
                      from(m->source, mine, m->elem_bytes), m->nelems * m->elem_bytes,
                      pe_of(set, i));
    }
}

int gsh_psync_move(const struct gsh_set *set, const struct gsh_set_move *m)
{
    if (m->kind == GSH_SET_ALLTOALLS && (m->dst < 1 || m->sst < 1)) {
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    if (m->kind == GSH_SET_BROADCAST && (m->root < 0 || m->root >= set->size)) {
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    if (m->kind == GSH_SET_COLLECT) {
        set_own(set, SYNC_NELEMS, (long)m->nelems);
    }
    gsh_psync_sync(set);
    switch (m->kind) {
    case GSH_SET_BROADCAST:
        if (set->me != m->root) {
            gshmem_getmem(m->dest, m->source, m->nelems * m->elem_bytes, pe_of(set, m->root));
        }
        break;
    case GSH_SET_COLLECT:
        collect(set, m);
        break;
    case GSH_SET_ALLTOALLS:
        move_strided(set, m);
        break;
    case GSH_SET_FCOLLECT:
    case GSH_SET_ALLTOALL:
        move_parts(set, m);
        break;
    }
    gsh_psync_sync(set); /* the sources have been read */
    if (m->kind == GSH_SET_COLLECT) {
        set_own(set, SYNC_NELEMS, 0);
    }
    return 0;
}

/* ---- reductions: each gets all, and adds up in the same order ---- */

int gsh_psync_reduce(const struct gsh_set *set, void *dest, const void *source, size_t nelems,
                     size_t elem_bytes, void (*combine)(void *sum, const void *more, size_t nelems))
{
    const size_t bytes = nelems * elem_bytes;
    char *sum = malloc(2 * bytes + 1), *more = sum + bytes;
    if (sum == NULL) {
        return GSHMEMX_ERROR_OUT_OF_MEMORY;
    }
    gsh_psync_sync(set);
    gshmem_getmem(sum, source, bytes, set->start);
    for (int i = 1; i < set->size; i++) {
        gshmem_getmem(more, source, bytes, pe_of(set, i));
        combine(sum, more, nelems);
    }
    gsh_psync_sync(set);
    gshmem_putmem(dest, sum, bytes, gshmem_my_pe());
    gshmem_quiet();
    free(sum);
    return 0;
}
