/* SPDX-License-Identifier: Apache-2.0
 * Teams that users make (OpenSHMEM 1.5, 9.4). The PEs of the parent agree that they ask for the
 * same team. In the same step its members, and no other PE, agree on the first pool units that all
 * of them have free. Then the members agree that their tables are written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/making.h"
#include "runtime/team/team.h"

/* ---- the arguments ---- */

enum { MAX_ARGS = (BALLOT_STATE - 1) / 2 };

struct request {
    const char *names[MAX_ARGS]; /* NULL after the last */
    int64_t args[MAX_ARGS];
};

/* What may be wrong with arguments that need not be the same on all PEs, in ascending order. */
enum config_error { NO_ERROR, BAD_MASK, SAME_HANDLE, NO_HANDLE };

static enum gsh_result say_config_error(bool is_speaker, const char *call, uint64_t error)
{
    static const char *const words[] = {
        [BAD_MASK] = "a PE's mask names fields that do not exist",
        [SAME_HANDLE] = "a PE gave one address for both teams",
        [NO_HANDLE] = "a PE gave NULL as the address for a new team",
    };
    return error == NO_ERROR ? GSH_OK : gsh_making_say(is_speaker, GSH_ERR_ARG, call, words[error]);
}

static enum config_error config_error_of(long masks, const gshmem_team_t *handle)
{
    long known = GSHMEM_TEAM_NUM_CONTEXTS | GSHMEMX_TEAM_NUM_CHANNELS;
    return handle == NULL ? NO_HANDLE : (masks & ~known) != 0 ? BAD_MASK : NO_ERROR;
}

/* Collective over the parent: all PEs ask for the same team. m: NULL, or it is made next, and its
 * members' first ballot is part of this one. */
static enum gsh_result agree_on(const struct gsh_team_agreement *a, const struct gsh_team *parent,
                                const struct request *request, enum config_error error,
                                struct gsh_making *m)
{
    struct gsh_ballot ballot = {.n_or = 0};
    if (m != NULL) {
        gsh_making_ask(m);
        m->is_asked = true;
        ballot = m->ballot;
    }
    ballot.max[BALLOT_RESULT] = error;
    for (int i = 0; i < MAX_ARGS; i++) {
        ballot.max[1 + 2 * i] = (uint64_t)request->args[i];
        ballot.max[2 + 2 * i] = ~(uint64_t)request->args[i];
    }
    gsh_team_agree(a, parent->pes, parent->n_pes, parent->my_index, &ballot);
    if (m != NULL) {
        m->ballot = ballot;
    }
    bool is_speaker = parent->my_index == 0;
    for (int i = 0; i < MAX_ARGS; i++) {
        int64_t one = (int64_t)ballot.max[1 + 2 * i], other = (int64_t)~ballot.max[2 + 2 * i];
        if (one != other) {
            char text[160];
            if (request->names[i] == NULL) {
                snprintf(text, sizeof(text), "the PEs make different calls");
            } else {
                snprintf(text, sizeof(text),
                         "%s is %" PRId64 " on one PE and %" PRId64 " on another",
                         request->names[i], other, one);
            }
            return gsh_making_say(is_speaker, GSH_ERR_SYMMETRY, a->call, text);
        }
    }
    return say_config_error(is_speaker, a->call, ballot.max[BALLOT_RESULT]);
}

/* Fields that the mask does not name have their defaults. */
static gshmem_team_config_t wanted_config(const gshmem_team_config_t *config, long mask)
{
    gshmem_team_config_t wanted = {.num_contexts = 0, .num_channels = 1};
    if (config != NULL && (mask & GSHMEM_TEAM_NUM_CONTEXTS) != 0) {
        wanted.num_contexts = config->num_contexts;
    }
    if (config != NULL && (mask & GSHMEMX_TEAM_NUM_CHANNELS) != 0) {
        wanted.num_channels = config->num_channels;
    }
    return wanted;
}

/* NULL: the configuration is possible. */
static const char *config_fault(const gshmem_team_config_t *config)
{
    return config->num_contexts < 0 ? "num_contexts is negative"
           : config->num_channels < 1 || config->num_channels > GSH_TEAM_CHANNELS_MAX
               ? "num_channels is not between 1 and 1024"
               : NULL;
}

static enum gsh_result check_config(const char *call, bool is_speaker,
                                    const gshmem_team_config_t *config)
{
    const char *fault = config_fault(config);
    return fault == NULL ? GSH_OK : gsh_making_say(is_speaker, GSH_ERR_ARG, call, fault);
}

/* Finds the parent, which must include this PE, and sets *new_team, if given, to no team. */
static enum gsh_result begin(struct gsh_instance *pe, const char *call, gshmem_team_t parent,
                             gshmem_team_t *new_team, struct gsh_team **out)
{
    if (new_team != NULL) {
        *new_team = GSHMEM_TEAM_INVALID;
    }
    return gsh_team_ask(pe, call, parent, out);
}

/* ---- strided ---- */

static bool names_pes(const struct gsh_team *parent, int start, int stride, int size)
{
    const int64_t last = start + ((int64_t)size - 1) * stride;
    return size >= 1 && start >= 0 && start < parent->n_pes && last >= 0 && last < parent->n_pes &&
           (stride != 0 || size == 1);
}

static enum gsh_result check_strided(const char *call, const struct gsh_team *parent, int start,
                                     int stride, int size)
{
    char text[160];
    if (names_pes(parent, start, stride, size)) {
        return GSH_OK;
    }
    snprintf(text, sizeof(text), "start %d, stride %d and size %d name no PEs of a team of %d",
             start, stride, size, parent->n_pes);
    return gsh_making_say(parent->my_index == 0, GSH_ERR_ARG, call, text);
}

/* The members' numbers; *me: this PE's place among them, or -1. */
static int *list_strided(const struct gsh_team_agreement *a, const struct gsh_team *parent,
                         int start, int stride, int size, int *me)
{
    int *pes = calloc((size_t)size, sizeof(*pes));
    if (pes == NULL) {
        gsh_abort(a->pe, 1, "%s: no memory for a list of %d PEs", a->call, size);
    }
    *me = -1;
    for (int i = 0; i < size; i++) {
        pes[i] = gsh_team_pe(parent, start + i * stride);
        *me = pes[i] == a->pe->my_pe ? i : *me;
    }
    return pes;
}

/* Collective over the members; the others return at once. Arguments have been agreed on. */
static enum gsh_result make_strided(const struct gsh_team_agreement *a,
                                    const struct gsh_team *parent, int start, int stride, int size,
                                    const gshmem_team_config_t *config, gshmem_team_t *out)
{
    int me;
    int *pes = list_strided(a, parent, start, stride, size, &me);
    enum gsh_result r = GSH_OK;
    if (me >= 0) {
        struct gsh_making m = gsh_making_begin(a, pes, size, me, config);
        r = gsh_making_finish(&m, out);
    }
    free(pes);
    return r;
}

/* Agrees on the arguments and on units at once, where this PE's own arguments can be those of all;
 * then makes the team. */
static enum gsh_result split_strided(const struct gsh_team_agreement *a,
                                     const struct gsh_team *parent, const struct request *request,
                                     enum config_error error, const gshmem_team_config_t *config,
                                     gshmem_team_t *new_team)
{
    const int start = (int)request->args[1], stride = (int)request->args[2],
              size = (int)request->args[3];
    const bool is_good =
        names_pes(parent, start, stride, size) && config_fault(config) == NULL && error == NO_ERROR;
    int me = -1;
    int *pes = is_good ? list_strided(a, parent, start, stride, size, &me) : NULL;
    struct gsh_making m = gsh_making_begin(a, pes, size, me, config);
    enum gsh_result r = agree_on(a, parent, request, error, &m);
    if (r == GSH_OK) {
        r = check_strided(a->call, parent, start, stride, size);
    }
    if (r == GSH_OK) {
        r = check_config(a->call, parent->my_index == 0, config);
    }
    if (r == GSH_OK && me >= 0) {
        r = gsh_making_finish(&m, new_team);
    }
    gsh_making_forget(&m);
    free(pes);
    return r;
}

int gshmem_team_split_strided(gshmem_team_t parent_team, int start, int stride, int size,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team)
{
    static const char call[] = "gshmem_team_split_strided";
    struct gsh_instance *pe = gsh_instance_need(call);
    gshmem_team_config_t wanted = wanted_config(config, config_mask);
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TEAM(parent_team)};
    struct request request = {
        .names = {NULL, "start", "stride", "size", "num_contexts", "num_channels"},
        .args = {1, start, stride, size, wanted.num_contexts, wanted.num_channels}};
    struct gsh_team *parent;
    enum gsh_result r = begin(pe, call, parent_team, new_team, &parent);
    if (r == GSH_OK) {
        r = split_strided(&a, parent, &request, config_error_of(config_mask, new_team), &wanted,
                          new_team);
    }
    return gsh_public_error(r);
}

/* ---- two dimensions ---- */

/* Ends a team that was just made, if there is one; it has no contexts. */
static void end_made(const struct gsh_team_agreement *a, gshmem_team_t handle)
{
    struct gsh_team *team = gsh_team_find(a->pe, handle);
    if (team != NULL) {
        gsh_team_end(a->pe, a->call, team);
    }
}

/* Collective over the parent: true if all PEs have their team; else none keeps it. */
static enum gsh_result keep_or_destroy(const struct gsh_team_agreement *a,
                                       const struct gsh_team *parent, enum gsh_result r,
                                       gshmem_team_t *x_team, gshmem_team_t *y_team)
{
    struct gsh_ballot ballot = {.max = {[BALLOT_RESULT] = r}};
    gsh_team_agree(a, parent->pes, parent->n_pes, parent->my_index, &ballot);
    if (ballot.max[BALLOT_RESULT] != GSH_OK) {
        end_made(a, *x_team); /* either all members of a team have it, or none */
        end_made(a, *y_team);
        *x_team = *y_team = GSHMEM_TEAM_INVALID;
    }
    return (enum gsh_result)ballot.max[BALLOT_RESULT];
}

int gshmem_team_split_2d(gshmem_team_t parent_team, int xrange,
                         const gshmem_team_config_t *x_config, long x_mask, gshmem_team_t *x_team,
                         const gshmem_team_config_t *y_config, long y_mask, gshmem_team_t *y_team)
{
    static const char call[] = "gshmem_team_split_2d";
    struct gsh_instance *pe = gsh_instance_need(call);
    gshmem_team_config_t x = wanted_config(x_config, x_mask), y = wanted_config(y_config, y_mask);
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TEAM(parent_team)};
    struct request request = {
        .names = {NULL, "xrange", "the x axis's num_contexts", "the x axis's num_channels",
                  "the y axis's num_contexts", "the y axis's num_channels"},
        .args = {2, xrange, x.num_contexts, x.num_channels, y.num_contexts, y.num_channels}};
    struct gsh_team *parent;
    if (y_team != NULL) {
        *y_team = GSHMEM_TEAM_INVALID;
    }
    enum gsh_result r = begin(pe, call, parent_team, x_team, &parent);
    if (r != GSH_OK) {
        return gsh_public_error(r);
    }
    bool is_speaker = parent->my_index == 0;
    enum config_error error = config_error_of(x_mask | y_mask, x_team == NULL ? NULL : y_team);
    error = error == NO_ERROR && x_team == y_team ? SAME_HANDLE : error;
    r = agree_on(&a, parent, &request, error, NULL);
    if (r == GSH_OK && xrange < 1) {
        r = gsh_making_say(is_speaker, GSH_ERR_ARG, call, "xrange is below 1");
    }
    if (r == GSH_OK) {
        r = check_config(call, is_speaker, &x);
    }
    if (r == GSH_OK) {
        r = check_config(call, is_speaker, &y);
    }
    if (r != GSH_OK) {
        return gsh_public_error(r);
    }
    int n = parent->n_pes, width = xrange < n ? xrange : n;
    int row = parent->my_index / width * width, column = parent->my_index % width;
    r = make_strided(&a, parent, row, 1, width < n - row ? width : n - row, &x, x_team);
    enum gsh_result ry =
        make_strided(&a, parent, column, width, (n - column + width - 1) / width, &y, y_team);
    return gsh_public_error(keep_or_destroy(&a, parent, r == GSH_OK ? ry : r, x_team, y_team));
}

/* ---- from a list ---- */

/* This PE's place in a list that must name PEs of the job, each once, and this one. A bad list is
 * bad on all its PEs: the first that it names reports it. */
static enum gsh_result check_list(struct gsh_instance *pe, const char *call, const int *pes, int n,
                                  int *me)
{
    if (pes == NULL) {
        return gsh_fail(GSH_ERR_ARG, "%s: the list of PEs is NULL", call);
    }
    if (n < 1 || n > pe->n_pes) {
        return gsh_fail(GSH_ERR_ARG, "%s: the list has %d PEs; it can have 1 to %d", call, n,
                        pe->n_pes);
    }
    uint8_t *is_met = calloc((size_t)pe->n_pes, sizeof(*is_met));
    if (is_met == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", call, n);
    }
    int bad = -1, speaker = -1;
    *me = -1;
    for (int i = 0; i < n; i++) {
        bool is_pe = pes[i] >= 0 && pes[i] < pe->n_pes;
        if (!is_pe || is_met[pes[i]]) {
            bad = bad < 0 ? i : bad;
            continue;
        }
        is_met[pes[i]] = 1;
        speaker = speaker < 0 ? pes[i] : speaker;
        *me = pes[i] == pe->my_pe ? i : *me;
    }
    free(is_met);
    if (*me < 0) {
        return gsh_fail(GSH_ERR_ARG, "%s: called by a PE that is not in the list", call);
    }
    if (bad >= 0) {
        char text[120];
        snprintf(text, sizeof(text),
                 "PE %d, number %d of the list, is not in the job or is twice in the list",
                 pes[bad], bad);
        return gsh_making_say(speaker == pe->my_pe, GSH_ERR_ARG, call, text);
    }
    return GSH_OK;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* After those of the arguments. */
enum { BALLOT_WORD = 7 };

/* Collective over the PEs of the list, which agree in ascending order: that way lists that only
 * differ in order are reported, rather than causing a wait. The first ballot on units is part. */
static enum gsh_result agree_on_list(const struct gsh_team_agreement *a, const int *pes, int n,
                                     const gshmem_team_config_t *config, enum config_error error,
                                     uint64_t *word, struct gsh_making *m)
{
    struct gsh_instance *pe = a->pe;
    const char *call = a->call;
    int *sorted = calloc((size_t)n, sizeof(*sorted));
    if (sorted == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", call, n);
    }
    memcpy(sorted, pes, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), compare_ints);
    int me = 0;
    uint64_t order = 0;
    for (int i = 0; i < n; i++) {
        me = sorted[i] == pe->my_pe ? i : me;
        order = order * 0x100000001b3u + (uint32_t)pes[i];
    }
    const uint64_t args[] = {order, (uint64_t)config->num_contexts, (uint64_t)config->num_channels};
    static const char *const differ[] = {
        "the PEs give their list in different orders",
        "the PEs give different num_contexts",
        "the PEs give different num_channels",
    };
    gsh_making_ask(m);
    m->is_asked = true;
    struct gsh_ballot ballot = m->ballot;
    ballot.max[BALLOT_RESULT] = error;
    for (int i = 0; i < 3; i++) {
        ballot.max[1 + 2 * i] = args[i];
        ballot.max[2 + 2 * i] = ~args[i];
    }
    ballot.max[BALLOT_WORD] = *word;
    gsh_team_agree(a, sorted, n, me, &ballot);
    *word = ballot.max[BALLOT_WORD];
    m->ballot = ballot;
    bool is_speaker = sorted[0] == pe->my_pe;
    free(sorted);
    for (int i = 0; i < 3; i++) {
        if (ballot.max[1 + 2 * i] != ~ballot.max[2 + 2 * i]) {
            return gsh_making_say(is_speaker, GSH_ERR_SYMMETRY, call, differ[i]);
        }
    }
    enum gsh_result r = say_config_error(is_speaker, call, ballot.max[BALLOT_RESULT]);
    return r == GSH_OK ? check_config(call, is_speaker, config) : r;
}

static enum gsh_result create(struct gsh_team_agreement a, const int *pes, int n_pes,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team, uint64_t *word)
{
    gshmem_team_config_t wanted = wanted_config(config, config_mask);
    int me = -1;
    if (new_team != NULL) {
        *new_team = GSHMEM_TEAM_INVALID;
    }
    enum gsh_result r = check_list(a.pe, a.call, pes, n_pes, &me);
    if (r != GSH_OK) {
        return r;
    }
    const enum config_error error = config_error_of(config_mask, new_team);
    const bool is_good = error == NO_ERROR && config_fault(&wanted) == NULL;
    struct gsh_making m = gsh_making_begin(&a, pes, n_pes, is_good ? me : -1, &wanted);
    r = agree_on_list(&a, pes, n_pes, &wanted, error, word, &m);
    if (r == GSH_OK) {
        r = gsh_making_finish(&m, new_team);
    }
    gsh_making_forget(&m);
    return r;
}

enum gsh_result gsh_team_create_list(struct gsh_instance *pe, const char *call, const int *pes,
                                     int n_pes, const gshmem_team_config_t *config,
                                     long config_mask, gshmem_team_t *new_team)
{
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TAG(0)};
    uint64_t word = 0;
    return create(a, pes, n_pes, config, config_mask, new_team, &word);
}

enum gsh_result gsh_team_create_in(struct gsh_instance *pe, const char *call, const int *pes,
                                   int n_pes, struct gsh_team_buffers buffers,
                                   gshmem_team_t *new_team)
{
    struct gsh_team_agreement a = {.pe = pe,
                                   .call = call,
                                   .key = GSH_AGREE_TAG(0),
                                   .widest_plan = GSH_TEAM_PLAN_BARE,
                                   .buffers = buffers};
    uint64_t word = 0;
    return create(a, pes, n_pes, NULL, 0, new_team, &word);
}

int gshmemx_team_create(const int *pes, int n_pes, const gshmem_team_config_t *config,
                        long config_mask, gshmem_team_t *new_team)
{
    static const char call[] = "gshmemx_team_create";
    return gsh_public_error(gsh_team_create_list(gsh_instance_need(call), call, pes, n_pes, config,
                                                 config_mask, new_team));
}

/* The same on all PEs; 0 for NULL and for addresses that are not symmetric. */
static uint64_t tag_of(const struct gsh_instance *pe, const void *handle)
{
    uint64_t off =
        handle != NULL && pe->is_device_ready ? gsh_symmetric_off(pe, handle) : UINT64_MAX;
    return pe->is_device_ready && off < pe->state.stride ? off + 1 : 0;
}

int gshmemx_team_create_at(const void *handle, const int *pes, int n_pes,
                           const gshmem_team_config_t *config, long config_mask,
                           gshmem_team_t *new_team, uint64_t *word)
{
    static const char call[] = "gshmemx_team_create_at";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team_agreement a = {
        .pe = pe, .call = call, .key = GSH_AGREE_TAG(tag_of(pe, handle)), .may_lack_room = true};
    uint64_t none = 0;
    return gsh_public_error(
        create(a, pes, n_pes, config, config_mask, new_team, word == NULL ? &none : word));
}

/* ---- the end ---- */

void gsh_team_end(struct gsh_instance *pe, const char *call, struct gsh_team *team)
{
    (void)gsh_host_sync(pe, team, call);
    if (pe->is_device_ready) {
        gsh_require(pe, call, gsh_team_withdraw(pe, team));
    }
    gsh_team_name(pe->teams, team->handle, NULL);
    gsh_team_units_give(pe->teams, team);
    gsh_team_free(team);
}
