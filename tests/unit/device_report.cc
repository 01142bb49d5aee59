/* SPDX-License-Identifier: Apache-2.0
 * Proves what kernels report to their host: a wait or a barrier past its time limit, and each rule
 * that checking builds check, with the call, the PE and the address. And that a kernel that uses
 * what is allocated reports nothing while its host writes the table of allocations. */
#ifndef GSHMEM_CHECKS
#define GSHMEM_CHECKS 1
#endif
#include <gshmem_device.cuh>

#include <functional>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/init/alloc_table.h"
#include "tests/rig/device_pes.h"

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
    STRIDE_ZERO, /* from here on: arguments[] */
    STRIDE_NEGATIVE,
    STRIDE_AT_HOME,
    SIGNAL_OP,
    SIGNAL_OP_AFTER_PUT,
    CMP_ABOVE,
    CMP_BELOW,
    CMP_OF_SIGNAL,
    SIGNAL_BETWEEN, /* two words */
    FETCH_BETWEEN,
    AMO_BETWEEN,
    WAIT_BETWEEN,
    SIGNAL_WAIT_BETWEEN,
};

/* Calls with wrong arguments, by the name and PE in arguments[]. */
__device__ static void make_bad_call(mistake what, char *heap)
{
    char c[16] = {0};
    uint64_t *sig = (uint64_t *)heap;
    if (what == STRIDE_ZERO)
        gshmem_iput32(heap, c, 0, 1, 3, 1);
    else if (what == STRIDE_NEGATIVE)
        gshmem_char_iget(c, heap, 1, -2, 3, 1);
    else if (what == STRIDE_AT_HOME)
        gshmem_int_iget((int *)c, (int *)heap, 0, 1, 0, 1);
    else if (what == SIGNAL_OP)
        gshmemx_signal_op(sig, 1, 77, 1);
    else if (what == SIGNAL_OP_AFTER_PUT)
        gshmem_putmem_signal_nbi(heap + 8, c, 8, sig, 1, -1, 1);
    else if (what == CMP_ABOVE)
        gshmem_int_wait_until((int *)heap, GSHMEM_CMP_GE + 1, 0);
    else if (what == CMP_BELOW)
        gshmem_long_test_any((long *)heap, 2, nullptr, -1, 0);
    else if (what == CMP_OF_SIGNAL)
        gshmem_signal_wait_until(sig, 9, 0);
    else if (what == SIGNAL_BETWEEN)
        gshmemx_signal_op((uint64_t *)(heap + 4), 1, GSHMEM_SIGNAL_SET, 1);
    else if (what == FETCH_BETWEEN)
        gshmem_signal_fetch((uint64_t *)(heap + 1));
    else if (what == AMO_BETWEEN)
        gshmem_int_atomic_fetch_add((int *)(heap + 2), 1, 1);
    else if (what == WAIT_BETWEEN)
        gshmem_short_test((short *)(heap + 1), GSHMEM_CMP_EQ, 0);
    else if (what == SIGNAL_WAIT_BETWEEN)
        gshmem_signal_wait_until((uint64_t *)(heap + 4), GSHMEM_CMP_EQ, 0);
}

/* The report for each: value is `seen`, or for misaligned words the distance from the heap. */
static const struct {
    mistake what;
    uint32_t kind;
    const char *call;
    int pe;
    int64_t value;
    uint64_t bytes;
} arguments[] = {
    {STRIDE_ZERO, GSH_REPORT_BAD_STRIDE, "gshmem_iput32", 1, 0, 0},
    {STRIDE_NEGATIVE, GSH_REPORT_BAD_STRIDE, "gshmem_char_iget", 1, -2, 0},
    {STRIDE_AT_HOME, GSH_REPORT_BAD_STRIDE, "gshmem_int_iget", 1, 0, 0},
    {SIGNAL_OP, GSH_REPORT_BAD_SIGNAL_OP, "gshmemx_signal_op", 1, 77, 0},
    {SIGNAL_OP_AFTER_PUT, GSH_REPORT_BAD_SIGNAL_OP, "gshmem_putmem_signal_nbi", 1, -1, 0},
    {CMP_ABOVE, GSH_REPORT_BAD_CMP, "gshmem_int_wait_until", 0, 6, 0},
    {CMP_BELOW, GSH_REPORT_BAD_CMP, "gshmem_long_test_any", 0, -1, 0},
    {CMP_OF_SIGNAL, GSH_REPORT_BAD_CMP, "gshmem_signal_wait_until", 0, 9, 0},
    {SIGNAL_BETWEEN, GSH_REPORT_MISALIGNED, "gshmemx_signal_op", 1, 4, 8},
    {FETCH_BETWEEN, GSH_REPORT_MISALIGNED, "gshmem_signal_fetch", 0, 1, 8},
    {AMO_BETWEEN, GSH_REPORT_MISALIGNED, "gshmem_int_atomic_fetch_add", 1, 2, 4},
    {WAIT_BETWEEN, GSH_REPORT_MISALIGNED, "gshmem_short_test", 0, 1, 2},
    {SIGNAL_WAIT_BETWEEN, GSH_REPORT_MISALIGNED, "gshmem_signal_wait_until", 0, 4, 8},
};

__global__ void kernel_mistake(mistake what, char *heap, char *other)
{
    const size_t size = pes::stride / 2; /* of the only allocation */
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
    else
        make_bad_call(what, heap);
}

/* In a child process, which acts as the host: waits for the report of PE 0 and checks it. */
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
        cudaError_t running = cudaErrorNotReady;
        while (running == cudaErrorNotReady && __atomic_load_n(&r.state, __ATOMIC_ACQUIRE) != 2) {
            running = cudaStreamQuery(nullptr);
            sched_yield();
        }
        CHECK_EQ(r.thread[0], 1);
        look(r, *p);
        _exit(test_result()); /* the kernel has stood still until now */
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

__global__ void kernel_gets(char *heap)
{
    char c[4];
    for (int i = 0; i < 20000; i++)
        gshmem_char_get(c, heap, sizeof c, 1);
}

/* The host allocates and frees, so that the kernel's own range moves in the table. In a child
 * process, since a kernel that has reported stands still. */
static void expect_no_report_in_writes()
{
    pid_t pid = fork();
    if (pid == 0) {
        pes *p = new pes;
        gsh_alloc_range table[3] = {};
        const gsh_alloc_range used = p->allocations[0], two[3] = {{0, 64}, {64, 64}, used};
        gsh_control &control = p->control[0];
        control.alloc_table = address(table);
        gsh_alloc_table_write(&control, table, &used, 1);
        gshmemx_cpu_device_bind(p->devices[0]);
        gshmem_launch(kernel_gets, dim3(1), dim3(1), 0, nullptr, p->heap(0));
        while (cudaStreamQuery(nullptr) == cudaErrorNotReady &&
               __atomic_load_n(&control.report.state, __ATOMIC_ACQUIRE) != 2) {
            gsh_alloc_table_write(&control, table, two, 3);
            gsh_alloc_table_write(&control, table, &used, 1);
        }
        CHECK_EQ(control.report.state, 0);
        _exit(test_result());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
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
    for (const auto &a : arguments)
        expect(a.what, [&](const gsh_report &r, pes &p) {
            const bool has_address = a.kind == GSH_REPORT_MISALIGNED;
            CHECK_EQ(r.kind, a.kind);
            CHECK_STR(r.call, a.call);
            CHECK_EQ(r.pe, a.pe);
            CHECK_EQ(has_address ? (int64_t)(r.address - address(p.heap(0))) : (int64_t)r.seen,
                     a.value);
            CHECK_EQ(r.bytes, a.bytes);
        });
    {
        pes p; /* a correct call is not reported */
        p.run_on([&](int pe) {
            return gshmem_launch(kernel_mistake, dim3(1), dim3(2), 0, nullptr, NONE, p.heap(pe),
                                 (char *)nullptr);
        });
        CHECK_EQ(p.control[0].report.state, 0);
    }
    expect_no_report_in_writes();
    return test_result();
}
