/* SPDX-License-Identifier: Apache-2.0
 * Proves that an idle proxy sleeps and stays asleep, or naps at a bounded rate if only a GPU could
 * wake it, and that no request is lost while it falls asleep, wherever it comes from. Counts
 * wakeups, not time. */
#include <time.h>
#include "tests/rig/proxy_pes.h"

#define WORD    0
#define COUNTER 8

static uint64_t naps_or_sleeps(struct pe *pe, bool naps)
{
    gsh_lock_take(&pe->proxy->lock);
    uint64_t n = naps ? pe->proxy->n_naps : pe->proxy->n_sleeps;
    gsh_lock_give(&pe->proxy->lock);
    return n;
}

static void pass_time(uint64_t ns)
{
    struct timespec t = {.tv_nsec = (long)ns};
    nanosleep(&t, NULL);
}

/* The last acknowledgements may still wake it, on a busy machine late, and one of them at any time.
 * A proxy that does not stay asleep is woken often in each of many naps. */
static void stay_asleep(struct pe *pe)
{
    unsigned backoff = 0;
    int target = (pe->me + 1) % pe->n;
    run_amo(pe, target, COUNTER, GSH_AMO_ADD, 1, true);
    run_quiet(pe);
    pes_barrier(pe);
    while (naps_or_sleeps(pe, false) == 0) {
        gsh_backoff(&backoff);
    }
    pes_barrier(pe);
    uint64_t n_woken = UINT64_MAX;
    for (int i = 0; i < 50 && n_woken > 1; i++) {
        uint64_t before = naps_or_sleeps(pe, false);
        pass_time(200000000);
        n_woken = naps_or_sleeps(pe, false) - before;
    }
    CHECK(n_woken <= 1);
    CHECK_EQ(naps_or_sleeps(pe, true), 0);
    pes_barrier(pe);
}

/* However slow the machine, it naps no more often than its limit, and never sleeps. */
static void nap(struct pe *pe)
{
    uint64_t start_ns = gsh_now_ns(), before = naps_or_sleeps(pe, true), n = 0;
    unsigned backoff = 0;
    while (n < 20) {
        gsh_backoff(&backoff);
        n = naps_or_sleeps(pe, true) - before;
    }
    CHECK(n <= (gsh_now_ns() - start_ns) / 500000 + 2);
    CHECK_EQ(naps_or_sleeps(pe, false), 0);
    pes_barrier(pe);
}

#define WAKES 400

/* With no time to spin, the thread goes to sleep after each request. */
static void wake_from_ring(struct pe *pe)
{
    struct ring *ring = &pe->rings[0];
    int target = (pe->me + 1) % pe->n;
    for (uint64_t i = 1; i <= WAKES; i++) {
        CHECK_EQ(
            ring_amo(ring, target, COUNTER + 8 * (uint64_t)pe->me, GSH_AMO_ADD, 1, 0, true, true),
            i - 1);
        for (uint64_t k = test_random(&pe->random) % 3000; k > 0; k--) {
            __asm__ __volatile__("");
        }
    }
    ring_quiet(ring);
    pes_barrier(pe);
}

/* The host leaves with work under way, and only watches memory. */
static void wake_from_host(struct pe *pe)
{
    int target = (pe->me + 1) % pe->n;
    memset(pe->heap, 0, 4096);
    pes_barrier(pe);
    for (uint64_t i = 1; i <= WAKES; i++) {
        struct gsh_request amo = {.op = GSH_FAR_AMO,
                                  .amo_op = GSH_AMO_SET,
                                  .word_bytes = 8,
                                  .pe = target,
                                  .remote_off = WORD,
                                  .operand = i};
        unsigned backoff = 0;
        CHECK(gsh_proxy_post(pe->proxy, &amo) == GSH_OK);
        while (gsh_load_acquire_u64((uint64_t *)(pe->heap + WORD)) < i) {
            gsh_backoff(&backoff);
        }
    }
    pes_barrier(pe);
}

static void wake(struct pe *pe)
{
    wake_from_ring(pe);
    wake_from_host(pe);
}

int main(void)
{
    uint64_t seed = test_seed();
    pes_run((struct pes_options){.n = 2, .seed = seed, .spin_ns = 100000}, stay_asleep);
    pes_run((struct pes_options){.n = 2, .n_rings = 1, .seed = seed, .spin_ns = 100000},
            stay_asleep);
    pes_run((struct pes_options){.n = 1, .n_rings = 1, .seed = seed, .is_device = true}, nap);
    pes_run((struct pes_options){.n = 2, .n_rings = 1, .seed = seed}, wake);
    pes_run((struct pes_options){.n = 4, .n_rings = 2, .seed = seed}, wake);
    return test_result();
}
