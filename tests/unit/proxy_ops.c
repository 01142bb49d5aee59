/* SPDX-License-Identifier: Apache-2.0
 * Proves that every operation has the same effect on far memory as on a model of it, through host
 * calls and through rings, on host memory and on memory that only copy streams reach, in whatever
 * order transport and copy streams complete; and that fences and quiets suffice if operations
 * overlap. */
#include "tests/rig/proxy_pes.h"

#define SLICE 40960 /* of each target's heap, for each asker; the third spans both regions */
#define SLACK 64    /* of a source, beyond its longest element run */
#define TURNS 600

enum route { RUN, POST, KERNEL };

/* What one PE knows of its slice on one target. */
struct model {
    uint8_t bytes[SLICE];
    bool is_unfenced[SLICE], is_unquieted[SLICE], is_read[SLICE];
};

struct asker {
    struct pe *pe;
    enum route route;
    struct model *models; /* [n] */
    uint8_t *arena;       /* sources and dests of operations under way */
    size_t used;
    struct {
        uint8_t *dest, *expected;
        size_t bytes;
    } gets[TURNS];
    int n_gets;
};

#define ARENA (8u << 20)

static uint64_t pick(struct asker *a, uint64_t n)
{
    return test_random(&a->pe->random) % n;
}

static uint8_t *reserve(struct asker *a, size_t bytes)
{
    uint8_t *p = a->arena + a->used;
    a->used += gsh_align_up(bytes + 1, 16);
    return p;
}

static uint8_t *make_source(struct asker *a, size_t bytes)
{
    uint8_t *p = reserve(a, bytes);
    for (size_t i = 0; i < bytes; i++) {
        p[i] = (uint8_t)test_random(&a->pe->random);
    }
    return p;
}

static void quiet(struct asker *a)
{
    if (a->route == KERNEL) {
        ring_quiet(&a->pe->rings[0]);
    } else {
        run_quiet(a->pe);
    }
    for (int i = 0; i < a->n_gets; i++) {
        CHECK(memcmp(a->gets[i].dest, a->gets[i].expected, a->gets[i].bytes) == 0);
    }
    a->n_gets = 0;
    a->used = 0;
    for (int i = 0; i < a->pe->n; i++) {
        memset(a->models[i].is_unfenced, 0, SLICE);
        memset(a->models[i].is_unquieted, 0, SLICE);
        memset(a->models[i].is_read, 0, SLICE);
    }
}

static void fence(struct asker *a)
{
    if (a->route == KERNEL) {
        ring_fence(&a->pe->rings[0]);
    } else {
        run_fence(a->pe);
    }
    for (int i = 0; i < a->pe->n; i++) {
        memset(a->models[i].is_unfenced, 0, SLICE);
    }
}

static bool is_any(const bool *flags, uint64_t at, uint64_t bytes)
{
    return memchr(flags + at, true, bytes) != NULL;
}

static void mark_written(struct asker *a, int target, uint64_t at, uint64_t bytes)
{
    memset(a->models[target].is_unfenced + at, true, bytes);
    memset(a->models[target].is_unquieted + at, true, bytes);
}

/* Called before the range is written: earlier writes there come first, and pending reads of it
 * finish. Sources are made afterwards, because a quiet forgets them. */
static void will_write(struct asker *a, int target, uint64_t at, uint64_t bytes)
{
    struct model *m = &a->models[target];
    if (is_any(m->is_read, at, bytes)) {
        quiet(a);
    } else if (is_any(m->is_unfenced, at, bytes)) {
        fence(a);
    }
    mark_written(a, target, at, bytes);
}

static void will_read(struct asker *a, int target, uint64_t at, uint64_t bytes)
{
    if (is_any(a->models[target].is_unquieted, at, bytes) || pick(a, 20) == 0) {
        quiet(a);
    }
    memset(a->models[target].is_read + at, true, bytes);
}

static uint64_t heap_off(struct asker *a, uint64_t at)
{
    return SLICE + (uint64_t)a->pe->me * SLICE + at;
}

/* A request of a host thread or of a kernel. Stores a kernel's value back into it. */
static void ask(struct asker *a, struct gsh_request *q, struct push *push)
{
    struct ring *ring = &a->pe->rings[0];
    bool must_wait = q->is_fetch || q->op == GSH_FAR_G;
    if (a->route == KERNEL && must_wait) {
        push->immediate = ring->ticket++;
        ring_push(ring, push);
        q->value = ring_value(ring, push->immediate);
    } else if (a->route == KERNEL) {
        uint64_t end = ring_push(ring, push);
        if (pick(a, 8) == 0) {
            ring_await(ring, end);
        }
    } else if (a->route == RUN || must_wait) {
        run(a->pe, q);
    } else {
        CHECK(gsh_proxy_post(a->pe->proxy, q) == GSH_OK);
    }
}

static uint64_t pick_bytes(struct asker *a)
{
    uint64_t limits[] = {1, 8, 64, 1000, 8000, 20000};
    uint64_t bytes = 1 + pick(a, limits[pick(a, GSH_ARRAY_LEN(limits))]);
    return pick(a, 4) == 0 ? gsh_min_u64(bytes, 8) : bytes;
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void do_put(struct asker *a, int target)
{
    uint64_t bytes = pick_bytes(a), at = pick(a, SLICE - bytes);
    will_write(a, target, at, bytes);
    uint8_t *source = make_source(a, bytes);
    memcpy(a->models[target].bytes + at, source, bytes);
    ask(a,
        &(struct gsh_request){.op = GSH_FAR_PUT,
                              .pe = target,
                              .remote_off = heap_off(a, at),
                              .local = source,
                              .bytes = bytes},
        &(struct push){.op = GSH_RING_PUT_LARGE,
                       .pe = target,
                       .n_values = 3,
                       .values = {heap_off(a, at), address(source), bytes}});
}

static void do_put_inline(struct asker *a, int target)
{
    uint64_t bytes = 1 + pick(a, GSH_RING_INLINE_MAX), at = pick(a, SLICE - bytes);
    uint8_t *source = make_source(a, bytes);
    struct gsh_request q = {
        .op = GSH_FAR_P, .pe = target, .remote_off = heap_off(a, at), .bytes = bytes};
    struct push push = {.op = GSH_RING_PUT_INLINE,
                        .pe = target,
                        .immediate = bytes,
                        .n_values = 1 + (unsigned)(bytes + 7) / 8,
                        .values = {heap_off(a, at)}};
    will_write(a, target, at, bytes);
    memcpy(a->models[target].bytes + at, source, bytes);
    memcpy(q.inline_data, source, bytes);
    memcpy(&push.values[1], source, bytes);
    ask(a, &q, &push);
}

static void do_get(struct asker *a, int target)
{
    uint64_t bytes = pick_bytes(a), at = pick(a, SLICE - bytes);
    will_read(a, target, at, bytes);
    uint8_t *dest = reserve(a, bytes), *expected = reserve(a, bytes);
    memcpy(expected, a->models[target].bytes + at, bytes);
    a->gets[a->n_gets].dest = dest;
    a->gets[a->n_gets].expected = expected;
    a->gets[a->n_gets++].bytes = bytes;
    ask(a,
        &(struct gsh_request){.op = GSH_FAR_GET,
                              .pe = target,
                              .remote_off = heap_off(a, at),
                              .local = dest,
                              .bytes = bytes},
        &(struct push){.op = GSH_RING_GET_LARGE,
                       .pe = target,
                       .n_values = 3,
                       .values = {heap_off(a, at), address(dest), bytes}});
}

static void do_g(struct asker *a, int target)
{
    uint64_t bytes = 1u << pick(a, 4), at = pick(a, SLICE / 8) * 8, expected = 0;
    struct gsh_request q = {.op = GSH_FAR_G,
                            .word_bytes = (uint8_t)bytes,
                            .is_fetch = true,
                            .pe = target,
                            .remote_off = heap_off(a, at)};
    will_read(a, target, at, bytes);
    memcpy(&expected, a->models[target].bytes + at, bytes);
    ask(a, &q,
        &(struct push){.op = GSH_RING_G,
                       .arg = (unsigned)bytes,
                       .pe = target,
                       .n_values = GSH_RING_ANSWER_VALUES,
                       .values = {heap_off(a, at)}});
    CHECK_EQ(q.value, expected);
}

static void do_amo(struct asker *a, int target)
{
    size_t bytes = pick(a, 2) ? 8 : 4;
    unsigned op = (unsigned)pick(a, GSH_AMO_XOR + 1);
    /* Few words, so that operations meet. */
    uint64_t at = pick(a, 16) * 8, old = 0, operand = test_random(&a->pe->random), cond, now;
    bool is_fetch = op == GSH_AMO_FETCH || op == GSH_AMO_CSWAP || pick(a, 3) == 0;
    uint8_t *word = a->models[target].bytes + at;
    will_write(a, target, at, 8);
    memcpy(&old, word, bytes);
    operand = bytes == 4 ? (uint32_t)operand : operand;
    cond = pick(a, 2) ? old : 5;
    struct gsh_request q = {.op = GSH_FAR_AMO,
                            .amo_op = (uint8_t)op,
                            .word_bytes = (uint8_t)bytes,
                            .is_fetch = is_fetch,
                            .pe = target,
                            .remote_off = heap_off(a, at),
                            .operand = operand,
                            .cond = cond};
    ask(a, &q,
        &(struct push){.op = GSH_RING_AMO,
                       .arg = op | (bytes == 8 ? GSH_RING_AMO_IS_8 : 0) |
                              (is_fetch ? GSH_RING_AMO_FETCHES : 0),
                       .pe = target,
                       .n_values = is_fetch ? GSH_RING_ANSWER_VALUES : 2,
                       .values = {heap_off(a, at), operand, cond}});
    if (is_fetch) {
        CHECK_EQ(q.value, old);
    }
    now = amo_result((int)op, old, operand, cond);
    memcpy(word, &now, bytes);
}

static void do_strided(struct asker *a, int target, bool is_put)
{
    static const uint64_t sizes[] = {1, 2, 4, 8, 16};
    uint64_t size = sizes[pick(a, GSH_ARRAY_LEN(sizes))];
    uint64_t there = 1 + pick(a, 4), here = 1 + pick(a, 4);
    uint64_t nelems = 1 + pick(a, (pick(a, 4) ? 300 : 20000) / (size * there));
    uint64_t run_bytes = ((nelems - 1) * there + 1) * size, at = pick(a, SLICE - run_bytes);
    uint64_t local_bytes = ((nelems - 1) * here + 1) * size;
    uint8_t *local, *model = a->models[target].bytes + at, *expected = NULL;
    if (is_put) {
        will_write(a, target, at, run_bytes);
        local = make_source(a, local_bytes);
    } else {
        will_read(a, target, at, run_bytes);
        local = make_source(a, local_bytes);
        expected = reserve(a, local_bytes);
        memcpy(expected, local, local_bytes); /* bytes in between are unchanged */
        a->gets[a->n_gets].dest = local;
        a->gets[a->n_gets].expected = expected;
        a->gets[a->n_gets++].bytes = local_bytes;
    }
    for (uint64_t i = 0; i < nelems; i++) {
        if (is_put) {
            memcpy(model + i * there * size, local + i * here * size, size);
        } else {
            memcpy(expected + i * here * size, model + i * there * size, size);
        }
    }
    ask(a,
        &(struct gsh_request){.op = is_put ? GSH_FAR_IPUT : GSH_FAR_IGET,
                              .pe = target,
                              .remote_off = heap_off(a, at),
                              .local = local,
                              .elem_bytes = size,
                              .nelems = nelems,
                              .remote_stride = (ptrdiff_t)there,
                              .local_stride = (ptrdiff_t)here},
        &(struct push){.op = is_put ? GSH_RING_IPUT : GSH_RING_IGET,
                       .pe = target,
                       .immediate = size,
                       .n_values = 5,
                       .values = {heap_off(a, at), address(local), there, here, nelems}});
}

static void do_put_signal(struct asker *a, int target)
{
    uint64_t bytes = pick_bytes(a), at = 512 + pick(a, SLICE - 512 - bytes);
    uint64_t sig_at = pick(a, 16) * 8, old, signal = test_random(&a->pe->random);
    unsigned sig_op = pick(a, 2) ? GSHMEM_SIGNAL_SET : GSHMEM_SIGNAL_ADD;
    bool is_inline = bytes <= GSH_RING_SIGNAL_MAX && pick(a, 2);
    will_write(a, target, at, bytes);
    will_write(a, target, sig_at, 8);
    mark_written(a, target, at, bytes); /* again: a fence for the signal came before both */
    uint8_t *source = make_source(a, bytes), *word = a->models[target].bytes + sig_at;
    struct gsh_request q = {.op = GSH_FAR_PUT_SIGNAL,
                            .sig_op = (uint8_t)sig_op,
                            .pe = target,
                            .remote_off = heap_off(a, at),
                            .local = is_inline ? NULL : source,
                            .bytes = bytes,
                            .sig_off = heap_off(a, sig_at),
                            .signal = signal};
    struct push push = {
        .op = GSH_RING_PUT_SIGNAL,
        .arg = sig_op,
        .pe = target,
        .n_values = 5,
        .values = {heap_off(a, at), address(source), bytes, heap_off(a, sig_at), signal}};
    if (is_inline) {
        memcpy(q.inline_data, source, bytes);
        push = (struct push){.op = GSH_RING_PUT_SIGNAL_INLINE,
                             .arg = sig_op,
                             .pe = target,
                             .immediate = bytes,
                             .n_values = 3 + (unsigned)(bytes + 7) / 8,
                             .values = {heap_off(a, at), heap_off(a, sig_at), signal}};
        memcpy(&push.values[3], source, bytes);
    }
    memcpy(a->models[target].bytes + at, source, bytes);
    memcpy(&old, word, 8);
    signal = sig_op == GSHMEM_SIGNAL_ADD ? old + signal : signal;
    memcpy(word, &signal, 8);
    ask(a, &q, &push);
}

static void do_something(struct asker *a)
{
    int target = (int)pick(a, (uint64_t)a->pe->n);
    if (a->used > ARENA - 200000) {
        quiet(a);
    }
    switch (pick(a, 9)) {
    case 0:
        do_put_inline(a, target);
        break;
    case 1:
        do_get(a, target);
        break;
    case 2:
        do_g(a, target);
        break;
    case 3:
    case 4:
        do_amo(a, target);
        break;
    case 5:
        do_strided(a, target, true);
        break;
    case 6:
        do_strided(a, target, false);
        break;
    case 7:
        do_put_signal(a, target);
        break;
    default:
        do_put(a, target);
    }
}

static void act(struct pe *pe, enum route route)
{
    struct asker a = {.pe = pe, .route = route};
    a.models = calloc((size_t)pe->n, sizeof(*a.models));
    a.arena = malloc(ARENA);
    for (int turn = 0; turn < TURNS; turn++) {
        do_something(&a);
    }
    quiet(&a);
    pes_barrier(pe);
    for (int i = 0; i < pe->n; i++) {
        CHECK(memcmp(pe->all[i].heap + heap_off(&a, 0), a.models[i].bytes, SLICE) == 0);
    }
    CHECK_EQ(pe->n_fails, 0);
    pes_barrier(pe);
    memset(pe->heap, 0, HEAP);
    pes_barrier(pe);
    free(a.models);
    free(a.arena);
}

static void act_by_all(struct pe *pe)
{
    act(pe, RUN);
    act(pe, POST);
    act(pe, KERNEL);
}

int main(void)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 3; i++) {
        pes_run((struct pes_options){.n = 3, .n_rings = 1, .seed = seed + i, .spin_ns = 100000},
                act_by_all);
        struct pes_options device = {
            .n = 3, .n_rings = 1, .seed = seed + i, .spin_ns = 100000, .is_device = true};
        pes_run(device, act_by_all);
        device.is_reached = true;
        pes_run(device, act_by_all);
    }
    return test_result();
}
