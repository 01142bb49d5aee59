/* SPDX-License-Identifier: Apache-2.0
 * Proves that rings are served correctly: every request once and in order of completion, with more
 * requests than the window holds, values in the right cells, several rings and several producers at
 * once, a malformed request reported. */
#include "tests/rig/proxy_pes.h"

#define SUM       0
#define WORDS     4096
#define PRODUCERS 3
#define REQUESTS  1500

static uint64_t *word_at(struct pe *pe, uint64_t off)
{
    return (uint64_t *)(pe->heap + off);
}

/* cpu_done never passes an incomplete request: a request that it has passed has been read. */
static void complete_in_order(struct pe *pe)
{
    struct ring *ring = &pe->rings[0];
    int target = (pe->me + 1) % pe->n;
    uint64_t *dest = calloc(REQUESTS, 8), ends[REQUESTS];
    for (uint64_t i = 0; i < REQUESTS; i++) {
        *word_at(pe, WORDS + 8 * i) = i + 1;
    }
    pes_barrier(pe);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        ends[i] = ring_push(
            ring, &(struct push){.op = GSH_RING_GET_LARGE,
                                 .pe = target,
                                 .n_values = 3,
                                 .values = {WORDS + 8 * i, (uint64_t)(uintptr_t)&dest[i], 8}});
        if (i % 100 == 99) {
            uint64_t done = gsh_load_acquire_u64(&ring->cpu.cpu_done);
            for (uint64_t k = 0; k <= i && ends[k] <= done; k++) {
                CHECK_EQ(dest[k], k + 1);
            }
        }
    }
    ring_await(ring, ends[REQUESTS - 1]);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        CHECK_EQ(dest[i], i + 1);
    }
    CHECK_EQ(ring->cpu.cpu_done, ring->head);
    free(dest);
    pes_barrier(pe);
}

struct producer {
    struct pe *pe;
    int number;
};

/* Each adds to a sum on every PE, by the ring of that PE, as kernels choose it. */
static void *produce(void *arg)
{
    const struct producer *p = arg;
    struct pe *pe = p->pe;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        int target = (int)((i + (uint64_t)p->number) % (uint64_t)pe->n);
        struct ring *ring = &pe->rings[target % pe->options.n_rings];
        if (i % 97 == 0) {
            ring_fence(ring);
        }
        ring_amo(ring, target, SUM, GSH_AMO_ADD, 1, 0, false, true);
    }
    for (int r = 0; r < pe->options.n_rings; r++) {
        ring_quiet(&pe->rings[r]);
    }
    return NULL;
}

static void produce_together(struct pe *pe)
{
    pthread_t threads[PRODUCERS];
    struct producer producers[PRODUCERS];
    memset(pe->heap, 0, HEAP);
    pes_barrier(pe);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.pe = pe, .number = i};
        CHECK(pthread_create(&threads[i], NULL, produce, &producers[i]) == 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
    }
    pes_barrier(pe);
    CHECK_EQ(*word_at(pe, SUM), PRODUCERS * REQUESTS);
    pes_barrier(pe);
}

static void values_come_back(struct pe *pe)
{
    struct ring *ring = &pe->rings[0];
    int target = (pe->me + 1) % pe->n;
    uint64_t off = 64 + 8 * (uint64_t)pe->me;
    /* More than there are cells, and using both halves of the value. */
    for (uint64_t i = 0; i < 2 * GSH_RING_REPLIES + 3; i++) {
        uint64_t old = ring_amo(ring, target, off, GSH_AMO_ADD, 0xfedcba9876543211u, 0, true, true);
        CHECK_EQ(old, i * 0xfedcba9876543211u);
    }
    ring_quiet(ring);
    pes_barrier(pe);
}

static void serve(struct pe *pe)
{
    complete_in_order(pe);
    produce_together(pe);
    values_come_back(pe);
}

static void report_malformed(struct pe *pe)
{
    if (pe->me == 0) {
        uint64_t n_fails = 0;
        ring_push(&pe->rings[0], &(struct push){.op = GSH_RING_OPS, .pe = 1});
        while (n_fails == 0) {
            gsh_lock_take(&pe->proxy->lock);
            n_fails = (uint64_t)pe->n_fails;
            gsh_lock_give(&pe->proxy->lock);
        }
        CHECK(strstr(pe->fail_text, "request of a kernel") != NULL);
        CHECK(strstr(pe->fail_text, "operation") != NULL);
    }
    pes_barrier(pe);
}

int main(void)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 2; i++) {
        struct pes_options options = {.n = 3, .n_rings = 2, .seed = seed + i, .spin_ns = 50000};
        pes_run(options, serve);
        options.is_device = true;
        pes_run(options, serve);
    }
    pes_run((struct pes_options){.n = 2, .n_rings = 1, .seed = seed, .may_fail = true},
            report_malformed);
    return test_result();
}
