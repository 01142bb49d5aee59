/* SPDX-License-Identifier: Apache-2.0
 * Sweeps over words of this PE's memory, read through the device table. */
#include "runtime/backend/poll.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "gshmem/types.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"
#include "runtime/instance/host_wait.h"

/* Words per load: one copy on CUDA, one stack buffer here. */
#define CHUNK 64

/* The word as 64 bits, sign-extended when its type is signed. */
static uint64_t widen(struct gsh_word_kind kind, uint64_t bits)
{
    unsigned shift = 64 - 8u * kind.bytes;
    bits <<= shift;
    return kind.is_signed ? (uint64_t)((int64_t)bits >> shift) : bits >> shift;
}

static uint64_t word_at(struct gsh_word_kind kind, const void *words, size_t i)
{
    const char *word = (const char *)words + i * kind.bytes;
    uint64_t bits = 0;
    switch (kind.bytes) { /* each a load */
    case 1:
        memcpy(&bits, word, 1);
        break;
    case 2:
        memcpy(&bits, word, 2);
        break;
    case 4:
        memcpy(&bits, word, 4);
        break;
    default:
        memcpy(&bits, word, 8);
    }
    return widen(kind, bits);
}

static bool compare(struct gsh_word_kind kind, int cmp, uint64_t seen, uint64_t want)
{
    bool less = kind.is_signed ? (int64_t)seen < (int64_t)want : seen < want;
    switch (cmp) {
    case GSHMEM_CMP_EQ:
        return seen == want;
    case GSHMEM_CMP_NE:
        return seen != want;
    case GSHMEM_CMP_GT:
        return !less && seen != want;
    case GSHMEM_CMP_LE:
        return less || seen == want;
    case GSHMEM_CMP_LT:
        return less;
    default:
        return !less;
    }
}

static uint64_t wanted(const struct gsh_wait_arg *w, size_t i)
{
    return w->values != NULL ? word_at(w->kind, w->values, i) : widen(w->kind, w->value);
}

static bool is_left_out(const struct gsh_wait_arg *w, size_t i)
{
    return w->status != NULL && w->status[i] != 0;
}

struct gsh_poll gsh_poll(struct gsh_instance *pe, const struct gsh_wait_arg *w, size_t from,
                         enum gsh_poll_stop stop, size_t *indices)
{
    struct gsh_poll s = {.held = SIZE_MAX, .unmet = SIZE_MAX};
    uint64_t words[CHUNK];
    for (size_t base = from; base < w->nelems; base += CHUNK) {
        size_t n = w->nelems - base < CHUNK ? w->nelems - base : CHUNK;
        const char *source = (const char *)w->ivars + base * w->kind.bytes;
        gsh_require(pe, w->call, pe->device_ops->load(pe, source, w->kind.bytes, n, words));
        for (size_t i = base; i < base + n; i++) {
            if (is_left_out(w, i)) {
                continue;
            }
            uint64_t seen = word_at(w->kind, words, i - base);
            bool holds = compare(w->kind, w->cmp, seen, wanted(w, i));
            if (holds && s.n_held++ == 0) {
                s.held = i;
                s.held_seen = seen;
            }
            if (holds && indices != NULL) {
                indices[s.n_held - 1] = i;
            }
            if (!holds && s.unmet == SIZE_MAX) {
                s.unmet = i;
                s.unmet_seen = seen;
            }
            if ((holds && stop == GSH_POLL_AT_HELD) || (!holds && stop == GSH_POLL_AT_UNMET)) {
                return s;
            }
        }
    }
    return s;
}

struct word_text {
    char text[24];
};

static struct word_text word_text(struct gsh_word_kind kind, uint64_t bits)
{
    struct word_text t;
    snprintf(t.text, sizeof(t.text), kind.is_signed ? "%" PRId64 : "%" PRIu64, bits);
    return t;
}

/* The same words as for a kernel's report (report.c). */
void gsh_poll_timed_out(struct gsh_instance *pe, const struct gsh_wait_arg *w,
                        const struct gsh_poll *s)
{
    static const char *const names[] = {"==", "!=", ">", "<=", "<", ">="};
    const char *address = (const char *)w->ivars + s->unmet * w->kind.bytes;
    char more[160];
    gsh_report_explain(pe, address, -1, more, sizeof(more));
    gsh_abort(
        pe, 1,
        "%s: waited %.1f s for address %p (heap offset 0x%" PRIx64 ") to be %s %s; last seen %s%s",
        w->call, (double)pe->env.wait_timeout_ns / 1e9, (const void *)address,
        (uint64_t)(uintptr_t)address - pe->state.base, names[w->cmp],
        word_text(w->kind, wanted(w, s->unmet)).text, word_text(w->kind, s->unmet_seen).text, more);
}

struct gsh_waiting gsh_poll_waiting(const struct gsh_wait_arg *w, const struct gsh_poll *s)
{
    return (struct gsh_waiting){
        .call = w->call,
        .kind = GSH_REPORT_WAIT_TIMEOUT,
        .pe = -1,
        .cmp = (uint32_t)w->cmp,
        .team = -1,
        .address = (const char *)w->ivars + s->unmet * w->kind.bytes,
        .expected = wanted(w, s->unmet),
        .seen = s->unmet_seen,
    };
}

void gsh_wait_all_checked(struct gsh_instance *pe, const struct gsh_wait_arg *w, bool is_on_stream)
{
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    /* The comparisons of elements before `from` have held once; they need not hold any longer. */
    size_t from = 0;
    for (;;) {
        struct gsh_poll s = gsh_poll(pe, w, from, GSH_POLL_AT_UNMET, NULL);
        if (s.unmet == SIZE_MAX) {
            return;
        }
        from = s.unmet;
        if (is_on_stream && gsh_page_is_leaving(pe->page)) {
            return;
        }
        const struct gsh_waiting what = gsh_poll_waiting(w, &s);
        if (gsh_host_wait_poll(pe, &backoff, &start_ns, &what)) {
            gsh_poll_timed_out(pe, w, &s);
        }
    }
}
