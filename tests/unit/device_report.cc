/* SPDX-License-Identifier: Apache-2.0
 * Proves what kernels report to their host: a wait or a barrier past its time limit, and each
 * promise that checking builds look at, with the call, the PE and the address. */
#ifndef GSHMEM_CHECKS
#define GSHMEM_CHECKS 1
#endif
#include <gshmem_device.cuh>

#include <functional>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/device_pes.h"

enum mistake {
    WAITS_FOR_EVER,
    BARRIER_ALONE,
    BAD_PE,
    NOT_SYMMETRIC,
    PAST_THE_END,
    BEFORE_THE_START,
    PAST_BY_STRIDE,
    OWN_WORD_OUTSIDE,
    EXITS,
    NONE,
};

__global__ void kernel_mistake(mistake what, char *heap, char *other)
{
    const size_t size = pes::stride / 2; /* of the one allocation */
    char c[16] = {0};
    if (threadIdx.x != 1 || gshmem_my_pe() != 0)
        return;
    if (what == WAITS_FOR_EVER)
        gshmem_short_wait_until((short *)heap, GSHMEM_CMP_GT, -1 + 8);
    else if (what == BARRIER_ALONE)
        gshmem_barrier_all();
    else if (what == BAD_PE)
        gshmem_int_p((int *)heap, 1, 2);
    else if (what == NOT_SYMMETRIC)
        gshmem_putmem(other, c, sizeof c, 1);
    else if (what == PAST_THE_END)
        gshmem_char_get(c, heap + size - 4, 5, 1);
    else if (what == BEFORE_THE_START)
        gshmem_uint_atomic_inc((unsigned *)(heap - 4), 1);
    else if (what == PAST_BY_STRIDE)
        gshmem_iput32(heap, c, (ptrdiff_t)(size / 8), 1, 3, 1);
    else if (what == OWN_WORD_OUTSIDE)
        gshmem_int_test((int *)other, GSHMEM_CMP_EQ, 0);
    else if (what == EXITS)
        gshmem_global_exit(42);
    else if (what == NONE)
        gshmem_char_get(c, heap + size - 4, 4, 1);
}

/* In a child process, which plays the host: waits for the report of PE 0 and looks at it. */
static void expect(mistake what, const std::function<void(const gsh_report &, pes &)> &look)
{
    pid_t pid = fork();
    if (pid == 0) {
        static char other[64];
        pes *p = new pes(what == WAITS_FOR_EVER || what == BARRIER_ALONE ? 1000000 : 0);
        gshmemx_cpu_device_bind(p->devices[0]);
        *(short *)p->heap(0) = -3;
        gshmem_launch(kernel_mistake, dim3(1), dim3(2), 0, nullptr, what, p->heap(0), other);
        const gsh_report &r = p->control[0].report;
        while (__atomic_load_n(&r.state, __ATOMIC_ACQUIRE) != 2)
            sched_yield();
        CHECK_EQ(r.thread[0], 1);
        look(r, *p);
        _exit(test_result()); /* the kernel stands still until now */
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!CHECK_EQ(status, 0))
        fprintf(stderr, "mistake %d\n", what);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

int main(void)
{
    expect(WAITS_FOR_EVER, [](const gsh_report &r, pes &p) {
        CHECK_EQ(r.kind, GSH_REPORT_WAIT_TIMEOUT);
        CHECK_STR(r.call, "gshmem_short_wait_until");
        CHECK_EQ(r.pe, -1);
        CHECK_EQ(r.cmp, GSHMEM_CMP_GT);
        CHECK_EQ(r.address, address(p.heap(0)));
        CHECK_EQ(r.expected, 7);
        CHECK_EQ((int64_t)r.seen, -3);
    });
    expect(BARRIER_ALONE, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_SYNC_TIMEOUT);
        CHECK_STR(r.call, "gshmem_barrier_all");
        CHECK_EQ(r.pe, 1);
        CHECK_EQ(r.expected - r.seen, 1);
    });
    expect(BAD_PE, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_BAD_PE);
        CHECK_STR(r.call, "gshmem_int_p");
        CHECK_EQ(r.pe, 2);
    });
    expect(NOT_SYMMETRIC, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_NOT_SYMMETRIC);
        CHECK_STR(r.call, "gshmem_putmem");
        CHECK_EQ(r.bytes, 16);
    });
    expect(PAST_THE_END, [](const gsh_report &r, pes &p) {
        CHECK_EQ(r.kind, GSH_REPORT_NOT_ALLOCATED);
        CHECK_STR(r.call, "gshmem_char_get");
        CHECK_EQ(r.address, address(p.heap(0)) + pes::stride / 2 - 4);
        CHECK_EQ(r.bytes, 5);
    });
    expect(BEFORE_THE_START, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_NOT_ALLOCATED);
        CHECK_STR(r.call, "gshmem_uint_atomic_inc");
    });
    expect(PAST_BY_STRIDE, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_NOT_ALLOCATED);
        CHECK_STR(r.call, "gshmem_iput32");
        CHECK_EQ(r.bytes, pes::stride / 2 + 4);
    });
    expect(OWN_WORD_OUTSIDE, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_NOT_SYMMETRIC);
        CHECK_STR(r.call, "gshmem_int_test");
    });
    expect(EXITS, [](const gsh_report &r, pes &) {
        CHECK_EQ(r.kind, GSH_REPORT_GLOBAL_EXIT);
        CHECK_EQ(r.expected, 42);
    });
    {
        pes p; /* a call that keeps its promises is not reported */
        p.run_on([&](int pe) {
            return gshmem_launch(kernel_mistake, dim3(1), dim3(2), 0, nullptr, NONE, p.heap(pe),
                                 (char *)nullptr);
        });
        CHECK_EQ(p.control[0].report.state, 0);
    }
    return test_result();
}
