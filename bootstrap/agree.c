/* SPDX-License-Identifier: Apache-2.0
 * Votes over a bootstrap: voting.h has the steps. Here they are driven, and what the PEs disagree
 * on is worded. */
#include "bootstrap/agree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/sha256.h"
#include "bootstrap/voting.h"

_Static_assert(sizeof(struct gsh_vote) == 24, "gsh_vote is exchanged between processes");

enum gsh_result gsh_agree_abandon(struct gsh_bootstrap *b, enum gsh_result r)
{
    b->ops->abort(b, 1, gsh_last_error());
    return r;
}

enum gsh_result gsh_agreement_init(struct gsh_agreement *a, struct gsh_bootstrap *bootstrap)
{
    *a = (struct gsh_agreement){.bootstrap = bootstrap};
    if (bootstrap->ops->combine != NULL) {
        return GSH_OK;
    }
    a->gathered = calloc((size_t)bootstrap->size, GSH_COMBINE_MAX_BYTES);
    if (a->gathered == NULL) {
        return gsh_agree_abandon(
            bootstrap, gsh_fail(GSH_ERR_NOMEM, "votes: no host memory for the votes of %d PEs",
                                bootstrap->size));
    }
    return GSH_OK;
}

void gsh_agreement_finish(struct gsh_agreement *a)
{
    free(a->gathered);
    a->gathered = NULL;
}

const char *gsh_vote_name(enum gsh_vote_call call)
{
    static const char *const names[] = {
        [GSH_VOTE_CREATE] = "the set-up of the heap",
        [GSH_VOTE_MALLOC] = "gshmem_malloc",
        [GSH_VOTE_CALLOC] = "gshmem_calloc",
        [GSH_VOTE_ALIGN] = "gshmem_align",
        [GSH_VOTE_REALLOC] = "gshmem_realloc",
        [GSH_VOTE_STATICS] = "init with symmetric globals",
        [GSH_VOTE_FREE] = "gshmem_free",
        [GSH_VOTE_REGISTER] = "gshmemx_buffer_register_symmetric",
        [GSH_VOTE_UNREGISTER] = "gshmemx_buffer_unregister_symmetric",
        [GSH_VOTE_FINALIZE] = "gshmem_finalize",
        [GSH_VOTE_STEP] = "a step of an allocation",
        [GSH_VOTE_TEXT] = "a collective call by another interface",
    };
    return call <= GSH_VOTE_TEXT ? names[call] : "another call";
}

const char *gsh_agree_name(const struct gsh_agreement *a, enum gsh_vote_call call)
{
    return a->call != NULL ? a->call : gsh_vote_name(call);
}

static int pe_of(const struct gsh_agreement *a, int rank)
{
    return a->pes != NULL ? a->pes[rank] : rank;
}

enum gsh_result gsh_agree_fail(struct gsh_agreement *a, enum gsh_result r, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r = a->bootstrap->rank == 0 ? gsh_fail(r, "%s", text) : gsh_note(r, "%s", text);
    /* Any PE may end the job because of it, but not before it is printed. */
    enum gsh_result rb = a->bootstrap->ops->barrier(a->bootstrap);
    return rb == GSH_OK ? r : rb;
}

static void describe(const struct gsh_vote *v, char *text, size_t size)
{
    unsigned long long a = v->args[0], b = v->args[1];
    if (v->call == GSH_VOTE_CREATE) {
        snprintf(text, size, "has a range of %llu bytes, %llu of them internal", a, b);
    } else if (v->call == GSH_VOTE_STEP) {
        snprintf(text, size, "is at step %llu", a);
    } else if (v->call == GSH_VOTE_REGISTER) {
        snprintf(text, size, "registers %llu bytes from %llu bytes behind the start of a page on",
                 a, b);
    } else if (v->call == GSH_VOTE_UNREGISTER) {
        snprintf(text, size, "unregisters %llu bytes at heap offset %llu", a, b);
    } else if (v->call != GSH_VOTE_FREE) {
        snprintf(text, size, "asks for %llu bytes aligned to %llu", a, b);
    } else if (v->args[0] == GSH_VOTE_FREE_NULL) {
        snprintf(text, size, "frees NULL");
    } else if (v->args[0] == GSH_VOTE_FREE_FOREIGN) {
        snprintf(text, size, "frees a pointer outside the heap");
    } else {
        snprintf(text, size, "frees what is at heap offset %llu", a);
    }
}

static enum gsh_result differ(struct gsh_agreement *a, const struct gsh_voting *v)
{
    const int pe = pe_of(a, v->culprit), pe0 = pe_of(a, 0);
    char ours[128], theirs[128];
    if (v->first.call != v->other.call) {
        return gsh_agree_fail(a, GSH_ERR_SYMMETRY,
                              "PE %d called %s while PE %d called %s: all PEs must make the same "
                              "collective calls in the same order",
                              pe, gsh_vote_name(v->other.call), pe0, gsh_vote_name(v->first.call));
    }
    describe(&v->first, ours, sizeof(ours));
    describe(&v->other, theirs, sizeof(theirs));
    return gsh_agree_fail(a, GSH_ERR_SYMMETRY, "%s: PE %d %s, PE %d %s",
                          gsh_agree_name(a, v->first.call), pe0, ours, pe, theirs);
}

enum gsh_result gsh_agree_combine(struct gsh_agreement *a, void *mine, size_t bytes,
                                  void (*fold)(void *into, const void *from))
{
    struct gsh_bootstrap *b = a->bootstrap;
    if (b->ops->combine != NULL) {
        return b->ops->combine(b, mine, bytes, fold);
    }
    enum gsh_result r = b->ops->allgather(b, mine, bytes, a->gathered);
    for (int rank = 0; r == GSH_OK && rank < b->size; rank++) {
        uint64_t theirs[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
        memcpy(theirs, (const uint8_t *)a->gathered + (size_t)rank * bytes, bytes);
        fold(mine, theirs);
    }
    return r;
}

/* GSH_OK: v has the result. */
static enum gsh_result vote(struct gsh_agreement *a, struct gsh_voting *v, struct gsh_vote mine,
                            const char *words)
{
    gsh_voting_begin(v, a->bootstrap->rank, a->bootstrap->size, mine, words);
    while (gsh_voting_next(v)) {
        enum gsh_result r = gsh_agree_combine(a, &v->value, v->bytes, v->fold);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

enum gsh_result gsh_agree(struct gsh_agreement *a, struct gsh_vote mine, const char *what,
                          uint16_t *flags)
{
    struct gsh_voting v;
    const char *words = mine.outcome == GSH_OK ? "" : gsh_last_error();
    enum gsh_result r = vote(a, &v, mine, what == NULL ? NULL : words);
    if (r != GSH_OK) {
        return r;
    }
    if (v.outcome == GSH_OK && flags != NULL) {
        *flags = v.flags;
    }
    if (v.outcome == GSH_OK) {
        return GSH_OK;
    }
    if (v.is_mixed) {
        return differ(a, &v);
    }
    static const char text[] = "%s failed on PE %d: %s";
    const int pe = pe_of(a, v.culprit);
    if (what == NULL) {
        return gsh_note(v.outcome, "votes: a step failed on PE %d", pe);
    }
    if ((v.flags & GSH_VOTE_IS_SAID) == 0) {
        return gsh_agree_fail(a, v.outcome, text, what, pe, v.text);
    }
    r = a->bootstrap->ops->barrier(a->bootstrap); /* as gsh_agree_fail */
    return r == GSH_OK ? gsh_note(v.outcome, text, what, pe, v.text) : r;
}

/* Whether all have succeeded and vote alike; `stride` bytes apart. */
static bool are_same(const uint8_t *all, int n, size_t stride)
{
    struct gsh_vote first, other;
    memcpy(&first, all, sizeof(first));
    bool is_good = true;
    for (int rank = 0; rank < n; rank++) {
        memcpy(&other, all + (size_t)rank * stride, sizeof(other));
        is_good = is_good && other.outcome == GSH_OK && gsh_vote_is_same(&other, &first);
    }
    return is_good;
}

enum gsh_result gsh_agree_gather(struct gsh_agreement *a, struct gsh_vote vote, const char *what,
                                 const void *mine, size_t bytes, void *all_out)
{
    struct gsh_bootstrap *b = a->bootstrap;
    const size_t n = (size_t)b->size, stride = sizeof(vote) + bytes;
    uint8_t *all = calloc(n + 1, stride);
    if (all == NULL) {
        return gsh_agree_abandon(
            b, gsh_fail(GSH_ERR_NOMEM, "votes: no host memory for the votes of %d PEs", b->size));
    }
    uint8_t *own = all + n * stride;
    memcpy(own, &vote, sizeof(vote));
    memcpy(own + sizeof(vote), mine, bytes);
    enum gsh_result r = b->ops->allgather(b, own, stride, all);
    const bool is_good = r == GSH_OK && are_same(all, b->size, stride);
    for (size_t rank = 0; is_good && rank < n; rank++) {
        memcpy((uint8_t *)all_out + rank * bytes, all + rank * stride + sizeof(vote), bytes);
    }
    free(all);
    if (r != GSH_OK || is_good) {
        return r;
    }
    r = gsh_agree(a, vote, what, NULL); /* all have seen the same, and find whom to name */
    return r == GSH_OK ? gsh_note(GSH_ERR_PEER, "votes: a PE has changed its vote") : r;
}

/* ---- texts ---- */

/* What a vote compares of a text. */
static struct gsh_vote vote_of(const char *text)
{
    struct gsh_vote v = {.call = GSH_VOTE_TEXT};
    struct gsh_sha256 s;
    uint8_t digest[GSH_SHA256_BYTES];
    gsh_sha256_init(&s);
    gsh_sha256_update(&s, text, strnlen(text, GSH_AGREE_TEXT_BYTES - 1));
    gsh_sha256_finish(&s, digest);
    memcpy(v.args, digest, sizeof(v.args));
    return v;
}

/* All know that the texts differ, and whose. */
static enum gsh_result tell_texts(struct gsh_agreement *a, const char *text,
                                  const struct gsh_voting *v)
{
    struct gsh_bootstrap *b = a->bootstrap;
    char own[GSH_AGREE_TEXT_BYTES] = {0};
    char *all = calloc((size_t)b->size, sizeof(own));
    if (all == NULL) {
        return gsh_agree_abandon(
            b, gsh_fail(GSH_ERR_NOMEM, "votes: no host memory for the texts of %d PEs", b->size));
    }
    snprintf(own, sizeof(own), "%s", text);
    enum gsh_result r = b->ops->allgather(b, own, sizeof(own), all);
    if (r == GSH_OK) {
        char *other = all + (size_t)v->culprit * sizeof(own);
        all[sizeof(own) - 1] = other[sizeof(own) - 1] = '\0';
        r = gsh_note(GSH_ERR_SYMMETRY,
                     "the PEs make different collective calls: PE %d %s, PE %d %s", pe_of(a, 0),
                     all, pe_of(a, v->culprit), other);
    }
    free(all);
    return r;
}

enum gsh_result gsh_agree_text(struct gsh_agreement *a, const char *text)
{
    struct gsh_voting v;
    enum gsh_result r = vote(a, &v, vote_of(text), "");
    if (r != GSH_OK || v.outcome == GSH_OK) {
        return r;
    }
    return v.first.call == v.other.call ? tell_texts(a, text, &v) : differ(a, &v);
}
