/* SPDX-License-Identifier: Apache-2.0
 * Host wait_until and test: sweeps over words of this PE's memory, read through the device table.
 * Typed names are stamped in typed.c; waits on a stream use the same sweep on the CPU device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/base/util.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/turn.h"
#include "runtime/setup/setup.h"

/* Words per load: one copy on CUDA, one stack buffer here. */
#define CHUNK 64

enum stop { STOP_NEVER, STOP_AT_HELD, STOP_AT_UNMET };

struct sweep {
    size_t n_held;
    size_t held; /* the first element whose comparison held, SIZE_MAX: none */
    uint64_t held_seen;
    size_t unmet; /* the first watched one whose comparison did not, SIZE_MAX: none */
    uint64_t unmet_seen;
};

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

/* Looks once at each watched element from `from` on, until `stop`. indices (or NULL) receives
 * those whose comparison held. */
static struct sweep sweep(struct gsh_instance *pe, const struct gsh_wait_arg *w, size_t from,
                          enum stop stop, size_t *indices)
{
    struct sweep s = {.held = SIZE_MAX, .unmet = SIZE_MAX};
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
            if ((holds && stop == STOP_AT_HELD) || (!holds && stop == STOP_AT_UNMET)) {
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
__attribute__((noreturn)) static void timed_out(struct gsh_instance *pe,
                                                const struct gsh_wait_arg *w, const struct sweep *s)
{
    static const char *const names[] = {"==", "!=", ">", "<=", "<", ">="};
    const char *address = (const char *)w->ivars + s->unmet * w->kind.bytes;
    gsh_abort(pe, 1,
              "%s: waited %.1f s for address %p (heap offset 0x%" PRIx64
              ") to be %s %s; last seen %s",
              w->call, (double)pe->env.wait_timeout_ns / 1e9, (const void *)address,
              (uint64_t)(uintptr_t)address - pe->state.base, names[w->cmp],
              word_text(w->kind, wanted(w, s->unmet)).text, word_text(w->kind, s->unmet_seen).text);
}

void gsh_check_wait(struct gsh_instance *pe, const struct gsh_wait_arg *w)
{
    if (w->cmp < GSHMEM_CMP_EQ || w->cmp > GSHMEM_CMP_GE) {
        gsh_abort(pe, 1, "%s: cmp %d is not a comparison", w->call, w->cmp);
    }
    if ((uintptr_t)w->ivars % w->kind.bytes != 0) {
        gsh_abort(pe, 1, "%s: address %p is not a multiple of %u", w->call, w->ivars,
                  w->kind.bytes);
    }
    uint64_t bytes = gsh_check_bytes(pe, w->call, w->nelems, w->kind.bytes);
    gsh_peer_address(pe, w->call, w->ivars, bytes, pe->my_pe);
}

static struct gsh_instance *enter(const struct gsh_wait_arg *w)
{
    struct gsh_instance *pe = gsh_instance_need_device(w->call);
    gsh_check_wait(pe, w);
    return pe;
}

void gsh_wait_all_checked(struct gsh_instance *pe, const struct gsh_wait_arg *w)
{
    unsigned turn = 0;
    uint64_t start_ns = 0;
    /* Elements before `from` have been seen to hold and need not go on holding. */
    size_t from = 0;
    for (;;) {
        struct sweep s = sweep(pe, w, from, STOP_AT_UNMET, NULL);
        if (s.unmet == SIZE_MAX) {
            return;
        }
        from = s.unmet;
        if (gsh_host_wait_turn(pe, &turn, &start_ns)) {
            timed_out(pe, w, &s);
        }
    }
}

void gsh_wait_all(const struct gsh_wait_arg *wait)
{
    gsh_wait_all_checked(enter(wait), wait);
}

/* Sweeps until something holds, or nothing is watched. */
static struct sweep wait_for_one(const struct gsh_wait_arg *w, enum stop stop, size_t *indices)
{
    struct gsh_instance *pe = enter(w);
    unsigned turn = 0;
    uint64_t start_ns = 0;
    for (;;) {
        struct sweep s = sweep(pe, w, 0, stop, indices);
        if (s.held != SIZE_MAX || s.unmet == SIZE_MAX) {
            return s;
        }
        if (gsh_host_wait_turn(pe, &turn, &start_ns)) {
            timed_out(pe, w, &s);
        }
    }
}

size_t gsh_wait_any(const struct gsh_wait_arg *wait)
{
    return wait_for_one(wait, STOP_AT_HELD, NULL).held;
}

size_t gsh_wait_some(const struct gsh_wait_arg *wait, size_t *indices)
{
    return wait_for_one(wait, STOP_NEVER, indices).n_held;
}

int gsh_test_all(const struct gsh_wait_arg *wait)
{
    return sweep(enter(wait), wait, 0, STOP_AT_UNMET, NULL).unmet == SIZE_MAX;
}

size_t gsh_test_any(const struct gsh_wait_arg *wait)
{
    return sweep(enter(wait), wait, 0, STOP_AT_HELD, NULL).held;
}

size_t gsh_test_some(const struct gsh_wait_arg *wait, size_t *indices)
{
    return sweep(enter(wait), wait, 0, STOP_NEVER, indices).n_held;
}

uint64_t gshmem_signal_fetch(const uint64_t *sig_addr)
{
    static const char call[] = "gshmem_signal_fetch";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if ((uintptr_t)sig_addr % sizeof(*sig_addr) != 0) {
        gsh_abort(pe, 1, "%s: the signal's address %p is not a multiple of 8", call,
                  (const void *)sig_addr);
    }
    const void *own = gsh_peer_address(pe, call, sig_addr, sizeof(*sig_addr), pe->my_pe);
    uint64_t value = 0;
    gsh_require(pe, call, pe->device_ops->load(pe, own, sizeof(value), 1, &value));
    return value;
}

uint64_t gshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    const struct gsh_wait_arg wait =
        gsh_wait_for_signal("gshmem_signal_wait_until", sig_addr, cmp, cmp_value);
    return wait_for_one(&wait, STOP_AT_HELD, NULL).held_seen;
}
