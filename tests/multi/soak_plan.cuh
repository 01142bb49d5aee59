/* SPDX-License-Identifier: Apache-2.0
 * The model behind soak.cu: an actor, which is a PE's host or one block of its kernel, plans one
 * random operation after another and knows what memory must hold after each. It owns a box and some
 * words on every PE, which it alone writes, and shares other words with all actors.
 *
 * Unordered operations do not overlap: the model calls for a fence before it writes where it has
 * written since the last one, and for a quiet before it reads there, before it writes where an
 * unfinished get reads, and before it reuses a lent source. */
#ifndef GSH_TEST_SOAK_PLAN_CUH
#define GSH_TEST_SOAK_PLAN_CUH

#include "tests/multi/amo_calls.cuh"

enum {
    box_bytes = 512 << 10,
    large_bytes = 256 << 10,
    max_pending = 32,
    n_mails = 2,
    mail_words = 64 /* of the longer mail; the shorter one has 8 */
};

/* The mix below indexes these. */
enum soak_op {
    op_put,
    op_put_nbi,
    op_get,
    op_get_nbi,
    op_put_signal,
    op_put_signal_nbi,
    op_iput,
    op_iget,
    op_p,
    op_g,
    op_each_p, /* every thread one word */
    op_each_g,
    op_each_add, /* every thread on a shared word */
    op_mail,     /* a number and its signal, for any actor that peeks */
    op_peek,
    op_signal,
    op_own,    /* any AMO on its own word: the result is known */
    op_shared, /* an AMO whose total is known at the end */
    op_bit,    /* an AMO on its own bit in a shared word */
    op_cas,    /* a counter, by compare_swap */
    op_fence,
    op_quiet,
    n_soak_ops
};

enum soak_group { by_thread, by_warp, by_block };
enum soak_order { order_none, order_fence, order_quiet };

/* Bytes that an operation touches on a PE: `count` pieces of `piece` bytes. */
struct soak_range {
    int pe;
    uint32_t at, piece, count, step; /* in the box; step: from one piece to the next */
    uint32_t local_at, local_step;   /* in `out` or `in` */
    bool is_get, is_fenced, is_in_heap;
};

struct soak_plan {
    soak_order order; /* first, for this operation */
    soak_op op;
    soak_group group;
    unsigned who; /* the thread or warp */
    soak_range range;
    uint32_t key; /* of the data */
    int amo, is_32;
    uint64_t value, cond, want;
    int from, actor, mail; /* whose mail is peeked at */
};

/* On every PE, written by one actor. */
struct soak_words {
    uint64_t own64, sig, mail_sig[n_mails], mail[n_mails][mail_words];
    uint32_t own32, reserved;
};

/* On every PE, changed by all actors. */
struct soak_shared {
    uint64_t sum64, xor64, bits64, cas;
    uint32_t sum32, xor32, bits32, reserved;
};

/* What one actor has done to one PE's words. */
struct soak_ledger {
    soak_words words; /* without the mails' own contents */
    soak_shared shared;
    uint64_t own_epoch[2], bit_epoch[2], mail_epoch[n_mails]; /* of the last write */
};

struct soak_actor {
    /* Symmetric, this actor's part. */
    uint8_t *box;
    soak_words *words;
    soak_shared *shared;
    const soak_words *all_words; /* of every actor, on this PE: [n][n_actors] */
    /* Its own. */
    uint8_t *mirror;             /* [n][box_bytes]: what its boxes must hold */
    uint8_t *out, *in;           /* sources and dests, [box_bytes] */
    uint8_t *heap_out, *heap_in; /* for a host actor: the same in the heap; else NULL */
    soak_ledger *ledger;         /* [n] */
    verdict *v;
    int me, n, id, n_actors;
    unsigned n_threads;
    uint64_t seed, epoch, n_done[n_soak_ops];
    bool is_lent; /* nbi puts read `out` */
    uint32_t out_at, in_at;
    soak_range pending[max_pending];
    int n_pending;
    soak_plan plan;
};

static inline HD uint64_t soak_random(soak_actor *a)
{
    uint64_t z = a->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline HD uint32_t soak_below(soak_actor *a, uint32_t limit)
{
    return (uint32_t)((soak_random(a) >> 32) * limit >> 32);
}

static inline HD uint8_t soak_byte(uint32_t key, uint32_t i)
{
    return (uint8_t)((key ^ i * 0x9e3779b1u) >> 11);
}

/* Calls f(offset in the box, offset in `out` or `in`, number of the byte), by all threads. */
template <class F>
static inline HD void soak_each_byte(const soak_range *r, unsigned rank, unsigned size, F f)
{
    if (r->count == 1) {
        for (uint32_t i = rank; i < r->piece; i += size)
            f(r->at + i, r->local_at + i, i);
        return;
    }
    for (uint32_t i = rank; i < r->count * r->piece; i += size) {
        const uint32_t k = i / r->piece, b = i % r->piece;
        f(r->at + k * r->step + b, r->local_at + k * r->local_step + b, i);
    }
}

/* ---- planning: by one thread of the actor ---------------------------------------------------- */

static inline HD soak_op soak_choose(soak_actor *a)
{
    const uint8_t mix[n_soak_ops] = {14, 12, 10, 9, 5, 5, 4, 4, 7, 5, 2,
                                     1,  2,  3,  4, 1, 6, 4, 2, 1, 4, 2};
    unsigned sum = 0;
    for (int i = 0; i < n_soak_ops; i++)
        sum += mix[i];
    unsigned at = soak_below(a, sum);
    int op = 0;
    while (at >= mix[op])
        at -= mix[op++];
    return (soak_op)op;
}

static inline HD uint32_t soak_size(soak_actor *a)
{
    const uint32_t kind = soak_below(a, 1000);
    return kind < 700   ? 1 + soak_below(a, 64)
           : kind < 900 ? 1 + soak_below(a, 2048)
           : kind < 992 ? 1 + soak_below(a, 16384)
                        : 1 + soak_below(a, large_bytes);
}

static inline HD uint32_t soak_extent(uint32_t piece, uint32_t count, uint32_t step)
{
    return (count - 1) * step + piece;
}

static inline HD void soak_ask(soak_plan *p, soak_order order)
{
    if (p->order < order)
        p->order = order;
}

static inline HD void soak_order_range(soak_actor *a)
{
    soak_plan *p = &a->plan;
    const soak_range *r = &p->range;
    const uint32_t end = r->at + soak_extent(r->piece, r->count, r->step);
    for (int i = 0; i < a->n_pending; i++) {
        const soak_range *before = &a->pending[i];
        const uint32_t before_end =
            before->at + soak_extent(before->piece, before->count, before->step);
        if (before->pe != r->pe || before_end <= r->at || end <= before->at)
            continue;
        if (r->is_get != before->is_get)
            soak_ask(p, order_quiet);
        else if (!r->is_get && !before->is_fenced)
            soak_ask(p, order_fence);
    }
    if (a->n_pending == max_pending)
        soak_ask(p, order_quiet);
}

/* Room in `out` or `in`; the quiet that may be needed frees all of it. */
static inline HD uint32_t soak_local(soak_actor *a, uint32_t *next, uint32_t extent, bool is_lent,
                                     uint32_t alignment)
{
    uint32_t at = *next + (alignment > 1 ? 0 : soak_below(a, 8));
    if (at + extent > box_bytes) {
        if (is_lent)
            soak_ask(&a->plan, order_quiet);
        at = 0;
    }
    *next = (at + extent + 7) / 8 * 8;
    return at;
}

/* A place for the operation, and for its other side. */
static inline HD void soak_part(soak_actor *a, uint32_t piece, uint32_t count, uint32_t steps,
                                uint32_t local_steps, bool is_get, uint32_t alignment)
{
    soak_range *r = &a->plan.range;
    r->piece = piece;
    r->count = count;
    r->step = piece * steps;
    r->local_step = piece * local_steps;
    r->is_get = is_get;
    r->is_fenced = false;
    r->is_in_heap = a->heap_out && soak_below(a, 2) == 0;
    if (alignment == 1 && soak_below(a, 2) == 0)
        alignment = 8;
    const uint32_t extent = soak_extent(piece, count, r->step);
    r->at = soak_below(a, (box_bytes - extent) / alignment) * alignment;
    soak_order_range(a);
    bool has_gets = false;
    for (int i = 0; i < a->n_pending; i++)
        has_gets |= a->pending[i].is_get;
    r->local_at =
        soak_local(a, is_get ? &a->in_at : &a->out_at, soak_extent(piece, count, r->local_step),
                   is_get ? has_gets : a->is_lent, alignment);
}

static inline HD void soak_plan_amo(soak_actor *a)
{
    soak_plan *p = &a->plan;
    soak_ledger *l = &a->ledger[p->range.pe];
    p->is_32 = (int)soak_below(a, 2);
    p->value = soak_random(a);
    if (p->op == op_own) {
        const uint64_t mask = p->is_32 ? 0xffffffffu : ~0ull;
        const uint64_t old = p->is_32 ? l->words.own32 : l->words.own64;
        p->amo = (int)soak_below(a, n_amo_ops);
        p->value &= mask;
        p->cond = soak_below(a, 2) ? old : soak_random(a) & mask;
        p->want = old;
        if (l->own_epoch[p->is_32] == a->epoch)
            soak_ask(p, order_fence);
    } else if (p->op == op_shared) {
        const int ops[] = {amo_fetch_inc, amo_inc, amo_fetch_add, amo_add, amo_fetch_xor, amo_xor};
        p->amo = ops[soak_below(a, 6)];
    } else if (p->op == op_bit) {
        const int number = a->me * a->n_actors + a->id;
        const uint64_t bit = 1ull << number % 32;
        const int turn_on[] = {amo_or, amo_fetch_or}, turn_off[] = {amo_and, amo_fetch_and};
        const bool is_on = ((p->is_32 ? l->shared.bits32 : l->shared.bits64) & bit) != 0;
        p->amo = (is_on ? turn_off : turn_on)[soak_below(a, 2)];
        p->value = is_on ? ~bit : bit;
        p->want = is_on ? bit : 0;
        p->cond = bit; /* what of the result is known */
        if (number >= 32)
            p->op = op_fence; /* too many actors for one bit each */
        else if (l->bit_epoch[p->is_32] == a->epoch)
            soak_ask(p, order_fence);
    }
}

static inline HD void soak_plan_next(soak_actor *a)
{
    soak_plan *p = &a->plan;
    const uint32_t width = 1u << soak_below(a, 4), n = 1 + soak_below(a, 60);
    p->order = order_none;
    p->op = soak_choose(a);
    p->group = a->n_threads > 1 ? (soak_group)soak_below(a, 3) : by_thread;
    p->who = soak_below(a, p->group == by_warp ? (a->n_threads + 31) / 32 : a->n_threads);
    p->key = (uint32_t)soak_random(a);
    p->range.pe = (int)soak_below(a, (uint32_t)a->n);
    switch (p->op) {
    case op_put:
    case op_put_nbi:
    case op_put_signal:
    case op_put_signal_nbi:
        soak_part(a, soak_size(a), 1, 1, 1, false, 1);
        p->value = soak_below(a, 1000);
        break;
    case op_get:
    case op_get_nbi:
        soak_part(a, soak_size(a), 1, 1, 1, true, 1);
        break;
    case op_iput:
    case op_iget:
        soak_part(a, width, soak_below(a, 50) ? n : 50 * n, 1 + soak_below(a, 4),
                  1 + soak_below(a, 4), p->op == op_iget, width);
        break;
    case op_p:
    case op_g:
        soak_part(a, width, 1, 1, 1, p->op == op_g, width);
        break;
    case op_each_p:
    case op_each_g:
        soak_part(a, 8, a->n_threads, 1, 1, p->op == op_each_g, 8);
        break;
    case op_mail:
        p->mail = (int)soak_below(a, n_mails);
        p->value = a->ledger[p->range.pe].words.mail_sig[p->mail] + 1;
        /* Its source is `out` as well; its dest is outside the box. */
        p->range.local_at = soak_local(a, &a->out_at, mail_words * sizeof(uint64_t), a->is_lent, 8);
        p->range.is_in_heap = a->heap_out && soak_below(a, 2) == 0;
        if (a->ledger[p->range.pe].mail_epoch[p->mail] == a->epoch)
            soak_ask(p, order_fence);
        break;
    case op_peek:
        p->from = (int)soak_below(a, (uint32_t)a->n);
        p->actor = (int)soak_below(a, (uint32_t)a->n_actors);
        p->mail = (int)soak_below(a, n_mails);
        break;
    case op_quiet:
        soak_ask(p, order_quiet);
        break;
    default:
        soak_plan_amo(a);
    }
    if (p->op == op_fence)
        soak_ask(p, order_fence);
}

/* ---- the books: by the same thread, when the operation has been made ------------------------- */

template <class T> static inline HD T soak_amo_result(int amo, T old, T value, T cond)
{
    switch (amo) {
    case amo_fetch:
        return old;
    case amo_set:
    case amo_swap:
        return value;
    case amo_compare_swap:
        return old == cond ? value : old;
    case amo_inc:
    case amo_fetch_inc:
        return (T)(old + 1);
    case amo_add:
    case amo_fetch_add:
        return (T)(old + value);
    case amo_and:
    case amo_fetch_and:
        return old & value;
    case amo_or:
    case amo_fetch_or:
        return old | value;
    default:
        return old ^ value;
    }
}

static inline HD bool soak_fetches(int amo)
{
    return amo != amo_set && amo != amo_inc && amo != amo_add && amo != amo_and && amo != amo_or &&
           amo != amo_xor;
}

template <class T> static inline HD void soak_book_amo(const soak_plan *p, T *word)
{
    *word = soak_amo_result(p->amo, *word, (T)p->value, (T)p->cond);
}

static inline HD void soak_book(soak_actor *a)
{
    const soak_plan *p = &a->plan;
    soak_ledger *l = &a->ledger[p->range.pe];
    const bool is_xor = p->amo == amo_xor || p->amo == amo_fetch_xor;
    if (p->order != order_none)
        a->epoch++;
    if (p->order == order_quiet) {
        a->n_pending = 0;
        a->is_lent = false;
    }
    for (int i = 0; i < a->n_pending && p->order == order_fence; i++)
        a->pending[i].is_fenced = true;
    a->n_done[p->op]++;
    a->is_lent |= p->op == op_put_nbi || p->op == op_put_signal_nbi || p->op == op_mail;
    switch (p->op) {
    case op_put_nbi:
    case op_put_signal_nbi:
    case op_put:
    case op_put_signal:
    case op_iput:
    case op_p:
    case op_each_p:
    case op_get_nbi:
        a->pending[a->n_pending++] = p->range;
        if (p->op == op_put_signal || p->op == op_put_signal_nbi)
            l->words.sig += p->value;
        break;
    case op_each_add:
        l->shared.sum64 += (uint64_t)a->n_threads * (a->n_threads + 1) / 2;
        break;
    case op_mail:
        l->words.mail_sig[p->mail] = p->value;
        l->mail_epoch[p->mail] = a->epoch;
        break;
    case op_signal:
        l->words.sig += p->value;
        break;
    case op_own:
        if (p->is_32)
            soak_book_amo(p, &l->words.own32);
        else
            soak_book_amo(p, &l->words.own64);
        if (!soak_fetches(p->amo))
            l->own_epoch[p->is_32] = a->epoch;
        break;
    case op_shared:
        if (p->is_32)
            soak_book_amo(p, is_xor ? &l->shared.xor32 : &l->shared.sum32);
        else
            soak_book_amo(p, is_xor ? &l->shared.xor64 : &l->shared.sum64);
        break;
    case op_bit:
        if (p->is_32)
            soak_book_amo(p, &l->shared.bits32);
        else
            soak_book_amo(p, &l->shared.bits64);
        if (!soak_fetches(p->amo))
            l->bit_epoch[p->is_32] = a->epoch;
        break;
    case op_cas:
        l->shared.cas++;
        break;
    default:
        break;
    }
}

#endif
