/* SPDX-License-Identifier: Apache-2.0
 * See record.h. */
#include "hang/record.h"

#include <stdlib.h>
#include <string.h>

static bool ends(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

static bool is_pe(int32_t pe)
{
    return pe >= 0 && pe < GSH_HANG_PES_MAX;
}

static bool is_sound_about(const struct gsh_hang_pe *p)
{
    return p->n_pes > 0 && p->n_pes <= GSH_HANG_PES_MAX && p->pe >= 0 && p->pe < p->n_pes &&
           p->n_unfinished >= -1 && ends(p->host, sizeof(p->host)) &&
           ends(p->device, sizeof(p->device));
}

static bool is_sound_wait(const struct gsh_hang_wait *w)
{
    return w->what >= GSH_HANG_WORD && w->what <= GSH_HANG_PROXY && w->other >= -1 &&
           w->other < GSH_HANG_PES_MAX && w->holder >= -1 && w->holder < GSH_HANG_PES_MAX &&
           w->copy_pe >= -1 && w->copy_pe < GSH_HANG_PES_MAX && w->cmp >= 0 && w->cmp <= 5 &&
           w->site >= GSH_HANG_ELSEWHERE && w->site <= GSH_HANG_LIBRARY && w->n_threads > 0 &&
           ends(w->call, sizeof(w->call));
}

bool gsh_hang_is_sound(const struct gsh_hang_record *r, size_t bytes)
{
    if (bytes != sizeof(*r) || r->magic != GSH_HANG_MAGIC) {
        return false;
    }
    switch (r->kind) {
    case GSH_HANG_PE:
        return is_sound_about(&r->about);
    case GSH_HANG_PEERS:
        return is_pe(r->peers.first) && r->peers.n > 0 && r->peers.n <= 16;
    case GSH_HANG_WAIT:
        return is_pe(r->pe) && is_sound_wait(&r->wait);
    default:
        return r->kind == GSH_HANG_END;
    }
}

/* The first record about a PE says how many there are. */
static bool begin(struct gsh_hang_job *job, const struct gsh_hang_record *r)
{
    job->members = calloc((size_t)r->about.n_pes, sizeof(*job->members));
    if (job->members == NULL) {
        return false;
    }
    job->job = r->job;
    job->n_pes = r->about.n_pes;
    job->launcher = r->about.launcher;
    return true;
}

static bool add_wait(struct gsh_hang_job *job, const struct gsh_hang_record *r)
{
    if (job->n_waits == job->room) {
        int room = 2 * job->room + 16;
        struct gsh_hang_entry *waits = realloc(job->waits, (size_t)room * sizeof(*waits));
        if (waits == NULL || job->n_waits >= GSH_HANG_WAITS_MAX) {
            job->waits = waits != NULL ? waits : job->waits;
            return false;
        }
        job->waits = waits;
        job->room = room;
    }
    int at = job->n_waits++;
    for (; at > 0 && job->waits[at - 1].pe > r->pe; at--) {
        job->waits[at] = job->waits[at - 1];
    }
    job->waits[at] = (struct gsh_hang_entry){r->pe, r->wait};
    return true;
}

bool gsh_hang_take(struct gsh_hang_job *job, const struct gsh_hang_record *r)
{
    if (r->kind == GSH_HANG_END) {
        return true;
    }
    if (job->members == NULL && (r->kind != GSH_HANG_PE || !begin(job, r))) {
        return false;
    }
    if (r->job != job->job) {
        return false;
    }
    if (r->kind == GSH_HANG_PE && r->about.n_pes == job->n_pes) {
        job->members[r->about.pe].answer = GSH_HANG_ANSWERED;
        job->members[r->about.pe].about = r->about;
        return true;
    }
    if (r->kind == GSH_HANG_PEERS) {
        for (int i = 0; i < r->peers.n && r->peers.first + i < job->n_pes; i++) {
            job->members[r->peers.first + i].process = r->peers.process[i];
        }
        return true;
    }
    const struct gsh_hang_wait *w = &r->wait;
    int n = job->n_pes;
    return r->kind == GSH_HANG_WAIT && r->pe < n && w->other < n && w->holder < n &&
           w->copy_pe < n && add_wait(job, r);
}

void gsh_hang_free(struct gsh_hang_job *job)
{
    free(job->members);
    free(job->waits);
    *job = (struct gsh_hang_job){0};
}
