/* SPDX-License-Identifier: Apache-2.0
 * Calls that threads of a warp make together. A call is complete when every thread that its mask
 * names has made it with the same mask; the last one to arrive computes the results of all. */
#include "cpu/block.h"
#include "cpu/report.h"
#include "cpu/sanitizer.h"
#include "cpu/thread.h"

#define WARP_SIZE 32u

struct call {
    struct gsh_cpu_block *block;
    struct gsh_block_thread *lane; /* [32], lane 0 of the warp */
    uint32_t *waiting;             /* lanes of the warp that are in a call */
    enum gsh_cpu_warp kind;
    uint32_t mask; /* without nonexistent lanes */
};

static uint32_t existing_lanes(const struct gsh_cpu_block *b, uint32_t first)
{
    uint32_t n = b->n_threads - first;
    return n >= WARP_SIZE ? 0xffffffffu : (1u << n) - 1;
}

GSH_NO_TSAN static bool is_complete(const struct call *c)
{
    if (c->mask & ~*c->waiting) {
        return false;
    }
    for (uint32_t left = c->mask; left; left &= left - 1) {
        const struct gsh_block_thread *t = &c->lane[__builtin_ctz(left)];
        if (t->mask != c->mask || t->kind != c->kind) {
            return false;
        }
    }
    return true;
}

static uint32_t reduce(enum gsh_cpu_reduce op, uint32_t a, uint32_t b)
{
    switch (op) {
    case GSH_CPU_ADD:
        return a + b;
    case GSH_CPU_MIN_U32:
        return a < b ? a : b;
    case GSH_CPU_MAX_U32:
        return a > b ? a : b;
    case GSH_CPU_MIN_S32:
        return (int32_t)a < (int32_t)b ? a : b;
    case GSH_CPU_MAX_S32:
        return (int32_t)a > (int32_t)b ? a : b;
    case GSH_CPU_AND:
        return a & b;
    case GSH_CPU_OR:
        return a | b;
    case GSH_CPU_XOR:
        return a ^ b;
    }
    return 0;
}

/* Lane i's result, from the operands of all. */
GSH_NO_TSAN static uint64_t result_of(const struct call *c, const uint64_t value[WARP_SIZE],
                                      uint32_t i)
{
    uint32_t first = (uint32_t)__builtin_ctz(c->mask), arg = c->lane[i].arg;
    uint32_t lanes = 0, sum = (uint32_t)value[first];
    if (c->kind == GSH_CPU_SHFL) {
        return value[arg < WARP_SIZE && (c->mask >> arg & 1) ? arg : i];
    }
    for (uint32_t left = c->mask; left; left &= left - 1) {
        uint32_t j = (uint32_t)__builtin_ctz(left);
        bool is_in = c->kind == GSH_CPU_BALLOT      ? value[j] != 0
                     : c->kind == GSH_CPU_MATCH_ANY ? value[j] == value[i]
                                                    : value[j] == value[first];
        lanes |= (uint32_t)is_in << j;
        if (c->kind == GSH_CPU_REDUCE && j != first) {
            sum = reduce((enum gsh_cpu_reduce)arg, sum, (uint32_t)value[j]);
        }
    }
    if (c->kind == GSH_CPU_REDUCE) {
        return sum;
    }
    if (c->kind == GSH_CPU_MATCH_ALL) {
        return lanes == c->mask ? lanes : 0;
    }
    return lanes;
}

/* Whether all lanes of the call get the same result. */
static bool is_uniform(enum gsh_cpu_warp kind)
{
    return kind != GSH_CPU_SHFL && kind != GSH_CPU_MATCH_ANY;
}

GSH_NO_TSAN static void finish(const struct call *c, struct gsh_block_thread *last)
{
    uint64_t value[WARP_SIZE], result = 0;
    for (uint32_t left = c->mask; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        value[i] = c->lane[i].value;
    }
    if (is_uniform(c->kind) && c->kind != GSH_CPU_SYNCWARP) {
        result = result_of(c, value, (uint32_t)__builtin_ctz(c->mask));
    }
    for (uint32_t left = c->mask; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        c->lane[i].value = is_uniform(c->kind) ? result : result_of(c, value, i);
        if (&c->lane[i] != last) {
            gsh_block_wake(c->block, &c->lane[i]);
        }
    }
    *c->waiting &= ~c->mask;
}

GSH_NO_TSAN uint64_t gshmemx_cpu_warp(enum gsh_cpu_warp kind, uint32_t mask, uint64_t value,
                                      uint32_t arg)
{
    struct gsh_cpu_thread *self = gsh_need_thread("a call of a warp");
    struct gsh_cpu_block *b = self->block;
    if (!b) { /* the only lane */
        return kind == GSH_CPU_BALLOT                                   ? value != 0
               : kind == GSH_CPU_MATCH_ANY || kind == GSH_CPU_MATCH_ALL ? 1
                                                                        : value;
    }
    struct gsh_block_thread *t = &b->threads[self->rank];
    uint32_t lane = t->self.rank % WARP_SIZE, first = t->self.rank - lane;
    struct call c = {b, t - lane, &b->warp_waiting[first / WARP_SIZE], kind,
                     mask & existing_lanes(b, first)};
    if (!(c.mask >> lane & 1)) {
        gsh_block_fatal(b, "thread %u made a warp call whose mask 0x%08x does not name it",
                        t->self.rank, mask);
    }
    /* Of these calls only __syncwarp orders memory. The addresses alternate, as for barriers; the
     * lowest lane keeps the parity, so all lanes of a mask agree. */
    struct gsh_block_thread *lowest = &c.lane[__builtin_ctz(c.mask)];
    char *sync = kind == GSH_CPU_SYNCWARP ? &lowest->tsan_sync[lowest->sync_parity] : NULL;
    if (sync) {
        gsh_tsan_release(sync);
    }
    t->kind = (uint8_t)kind;
    t->mask = c.mask;
    t->arg = arg;
    t->value = value;
    *c.waiting |= 1u << lane;
    gsh_block_progress(b);
    if (is_complete(&c)) {
        lowest->sync_parity ^= kind == GSH_CPU_SYNCWARP;
        finish(&c, t);
    } else {
        gsh_block_wait(b, t, GSH_THREAD_AT_WARP);
    }
    if (sync) {
        gsh_tsan_acquire(sync);
    }
    return t->value;
}
