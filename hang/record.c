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
           p->node >= 0 && p->node < p->n_nodes && p->n_nodes <= p->n_pes && p->os_pid >= 0 &&
           p->state >= 0 && p->state < 128 && p->n_unfinished >= -1 && p->n_waiting >= 0 &&
           p->n_requests >= -1 && p->oldest_pe >= -1 && p->oldest_pe < GSH_HANG_PES_MAX &&
           ends(p->oldest, sizeof(p->oldest)) && p->n_posted >= -1 && p->posted_pe >= -1 &&
           p->posted_pe < GSH_HANG_PES_MAX && ends(p->posted, sizeof(p->posted)) &&
           ends(p->host, sizeof(p->host)) && ends(p->device, sizeof(p->device));
}

static bool is_sound_wait(const struct gsh_hang_wait *w)
{
    return w->what >= GSH_HANG_WORD && w->what <= GSH_HANG_DRIVER && w->other >= -1 &&
           w->other < GSH_HANG_PES_MAX && w->holder >= -1 && w->holder < GSH_HANG_PES_MAX &&
           w->copy_pe >= -1 && w->copy_pe < GSH_HANG_PES_MAX && w->cmp >= 0 && w->cmp <= 5 &&
           w->site >= GSH_HANG_ELSEWHERE && w->site <= GSH_HANG_LIBRARY && w->n_threads > 0 &&
           w->n_words > 0 && w->team_pes >= 0 && w->team_pes <= GSH_HANG_PES_MAX &&
           w->team_first >= 0 && w->team_first < GSH_HANG_PES_MAX &&
           w->team_stride > -GSH_HANG_PES_MAX && w->team_stride < GSH_HANG_PES_MAX &&
           ends(w->call, sizeof(w->call)) && ends(w->file, sizeof(w->file)) &&
           ends(w->made_at, sizeof(w->made_at));
}

bool gsh_hang_is_sound(const struct gsh_hang_record *r, size_t bytes)
{
    if (bytes != sizeof(*r) || r->magic != GSH_HANG_MAGIC) {
        return false;
    }
    switch (r->kind) {
    case GSH_HANG_PE:
    case GSH_HANG_ABSENT:
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
    for (int i = 0; i < job->n_pes; i++) {
        job->members[i].node = -1;
    }
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

static void take_pe(struct gsh_hang_job *job, const struct gsh_hang_record *r, int *left_out)
{
    struct gsh_hang_member *m = &job->members[r->about.pe];
    *left_out = m->answer == GSH_HANG_ANSWERED ? r->about.pe : -1;
    if (m->answer == GSH_HANG_ANSWERED) {
        return;
    }
    m->answer = r->kind == GSH_HANG_PE ? GSH_HANG_ANSWERED : GSH_HANG_SILENT;
    m->about = r->about;
    m->node = r->about.node;
    m->state = (char)r->about.state;
    m->os_pid = r->about.os_pid;
}

static void take_peers(struct gsh_hang_job *job, const struct gsh_hang_peers *p)
{
    for (int i = 0; i < p->n && p->first + i < job->n_pes; i++) {
        job->members[p->first + i].process = p->process[i];
        job->members[p->first + i].node = p->node[i];
    }
}

bool gsh_hang_take(struct gsh_hang_job *job, const struct gsh_hang_record *r, int *left_out)
{
    const struct gsh_hang_wait *w = &r->wait;
    bool is_about = r->kind == GSH_HANG_PE || r->kind == GSH_HANG_ABSENT;
    int n = job->n_pes;
    if (r->kind == GSH_HANG_END) {
        return true;
    }
    if (job->members == NULL && (!is_about || !begin(job, r))) {
        return false;
    }
    if (r->job != job->job) {
        return false;
    }
    if (is_about && r->about.n_pes == job->n_pes) {
        take_pe(job, r, left_out);
        return true;
    }
    if (r->kind == GSH_HANG_PEERS) {
        take_peers(job, &r->peers);
        return true;
    }
    return r->kind == GSH_HANG_WAIT && r->pe < n && w->other < n && w->holder < n &&
           w->copy_pe < n && job->members[r->pe].answer == GSH_HANG_ANSWERED &&
           (r->pe == *left_out || add_wait(job, r));
}

void gsh_hang_free(struct gsh_hang_job *job)
{
    free(job->members);
    free(job->waits);
    *job = (struct gsh_hang_job){0};
}
