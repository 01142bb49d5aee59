/* SPDX-License-Identifier: Apache-2.0
 * See goal.h. Receives have no lengths of their own in a walk, so a first pass over all ranks
 * collects those of the sends; a receive with nothing sent would be a mistake of the walk. */
#include "perftest/sim/goal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sent {
    int32_t from, to;
    uint32_t tag;
    uint64_t bytes;
};

struct writing {
    const struct sim *s;
    FILE *file; /* NULL: the first pass */
    struct sent *sent;
    size_t n_sent, room;
    uint32_t n_lines, last_receive; /* of a rank; 0: none */
    bool is_good;
};

static int compare(const void *a, const void *b)
{
    const struct sent *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static uint32_t tag_of(int call, uint32_t key)
{
    return (uint32_t)call << 24 ^ (key >> 28) << 20 ^ (key & 0xfffff);
}

static void note_sent(struct writing *w, const struct sent *sent)
{
    if (w->n_sent == w->room) {
        w->room = w->room == 0 ? 1024 : 2 * w->room;
        w->sent = realloc(w->sent, w->room * sizeof(*w->sent));
        if (w->sent == NULL) {
            fprintf(stderr, "the simulation has no memory left\n");
            exit(1);
        }
    }
    w->sent[w->n_sent++] = *sent;
}

static void write_action(struct writing *w, int pe, enum sim_next next, const struct sim_action *a,
                         int call)
{
    if (next == SIM_SEND) {
        const struct sent sent = {pe, a->other, tag_of(call, a->key), a->bytes > 0 ? a->bytes : 1};
        if (w->file == NULL) {
            note_sent(w, &sent);
            return;
        }
        fprintf(w->file, "l%" PRIu32 ": send %" PRIu64 "b to %d tag %" PRIu32 "\n", ++w->n_lines,
                sent.bytes, sent.to, sent.tag);
    } else {
        const struct sent key = {a->other, pe, tag_of(call, a->key), 0};
        const struct sent *found =
            w->file == NULL ? NULL : bsearch(&key, w->sent, w->n_sent, sizeof(key), compare);
        if (w->file == NULL) {
            return;
        }
        w->is_good = w->is_good && found != NULL;
        fprintf(w->file, "l%" PRIu32 ": recv %" PRIu64 "b from %d tag %" PRIu32 "\n", ++w->n_lines,
                found == NULL ? 1 : found->bytes, key.from, key.tag);
    }
    if (w->last_receive != 0) {
        fprintf(w->file, "l%" PRIu32 " requires l%" PRIu32 "\n", w->n_lines, w->last_receive);
    }
    w->last_receive = next == SIM_HEAR ? w->n_lines : w->last_receive;
}

static void write_call(struct writing *w, int pe, int index)
{
    const struct sim *s = w->s;
    struct sim_walk walk = {.stage = 0};
    struct sim_call call = *sim_call(s, index);
    struct gsh_voting voting;
    struct sim_view v = {.model = sim_model_of(s),
                         .call = &call,
                         .nodes = sim_nodes(s),
                         .pe = pe,
                         .n_pes = sim_n_pes(s),
                         .walk = &walk,
                         .voting = &voting};
    struct sim_action a;
    enum sim_next next;
    if (call.kind == SIM_RENDEZVOUS) {
        return;
    }
    if (call.kind == SIM_VOTE) { /* alike: what comes from others changes nothing */
        call.voters = SIM_ALL_ALIKE;
        sim_vote_begin(&voting, v.call, pe, v.n_pes);
    }
    while ((next = sim_walk_next(&v, &a)) != SIM_OVER) {
        if (next != SIM_TAKES_TIME) {
            write_action(w, pe, next, &a, index);
        } else if (w->file != NULL && a.ns >= 1) {
            fprintf(w->file, "l%" PRIu32 ": calc %.0f\n", ++w->n_lines, a.ns);
            if (w->last_receive != 0) {
                fprintf(w->file, "l%" PRIu32 " requires l%" PRIu32 "\n", w->n_lines,
                        w->last_receive);
            }
            w->last_receive = w->n_lines;
        }
    }
}

bool sim_write_goal(const struct sim *s, const char *name)
{
    struct writing w = {.s = s, .is_good = true};
    FILE *file = fopen(name, "w");
    if (file == NULL) {
        perror(name);
        return false;
    }
    fprintf(file, "num_ranks %d\n", sim_n_pes(s));
    for (int pass = 0; pass < 2; pass++) {
        for (int pe = 0; pe < sim_n_pes(s); pe++) {
            w.n_lines = w.last_receive = 0;
            if (w.file != NULL) {
                fprintf(file, "\nrank %d {\n", pe);
            }
            for (int i = 0; i < sim_n_calls(s); i++) {
                write_call(&w, pe, i);
            }
            if (w.file != NULL) {
                fprintf(file, "}\n");
            }
        }
        if (w.file == NULL && w.n_sent > 0) {
            qsort(w.sent, w.n_sent, sizeof(*w.sent), compare);
        }
        w.file = file;
    }
    free(w.sent);
    const bool is_written = fclose(file) == 0;
    if (!w.is_good || !is_written) {
        fprintf(stderr, "%s: %s\n", name, is_written ? "a receive has no send" : "not written");
    }
    return w.is_good && is_written;
}
