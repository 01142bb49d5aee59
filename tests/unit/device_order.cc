/* SPDX-License-Identifier: Apache-2.0
 * Proves that the thread sanitizer on the CPU device reports a program that lacks a fence or a wait
 * between two PEs, and no correct one. Skipped in other builds. */
#include <gshmem_device.cuh>

#include <sys/wait.h>
#include <unistd.h>
#include "tests/rig/device_pes.h"

enum program {
    FENCED,            /* data, fence, flag */
    NOT_FENCED,        /* data, flag */
    FENCED_TOO_EARLY,  /* fence, data, flag */
    NOT_WAITED,        /* the reader does not wait */
    SECOND_NOT_FENCED, /* data, fence, flag, more data, flag */
    SIGNALLED,         /* put_signal */
    SIGNALLED_BY_SYNC, /* sync promises nothing about data */
    BARRIER,
    LOCKED, /* a lock of atomics, with fences */
    LOCKED_NOT_FENCED,
    RELAYED, /* a third flag after the flag was seen, with acquire */
    PROGRAMS
};

static const bool is_correct[PROGRAMS] = {true,  false, false, false, false, true,
                                          false, true,  true,  false, true};

__device__ static void locked_add(int *data, uint64_t *lock, bool has_fences)
{
    while (gshmem_uint64_atomic_compare_swap(lock, 0, 1, 0) != 0) {
    }
    if (has_fences)
        gshmem_fence();
    int *at = (int *)gshmem_ptr(data, 0);
    *at = *at + 1;
    if (has_fences)
        gshmem_fence();
    gshmem_uint64_atomic_set(lock, 0, 0);
}

__device__ static void write_side(program what, int *data, uint64_t *flag)
{
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (what == FENCED_TOO_EARLY)
        gshmem_fence();
    if (what == SIGNALLED) {
        gshmem_int_put_signal(data, values, 8, flag, 2, GSHMEM_SIGNAL_SET, 1);
        return;
    }
    gshmem_int_put(data, values, 8, 1);
    if (what == FENCED || what == SECOND_NOT_FENCED || what == RELAYED)
        gshmem_fence();
    if (what == SECOND_NOT_FENCED) {
        gshmem_uint64_p(flag, 1, 1);
        gshmem_int_put(data, values, 8, 1);
    }
    gshmem_uint64_p(flag, 2, 1);
}

__device__ static int read_side(program what, const int *data, uint64_t *flag)
{
    if (what != NOT_WAITED)
        gshmem_uint64_wait_until(flag, GSHMEM_CMP_GE, 2);
    if (what == RELAYED)
        gshmem_uint64_p(flag + 1, 1, 0);
    return data[3];
}

__device__ static void run_program(program what, int *data, uint64_t *flag, int *sink)
{
    int me = gshmem_my_pe();
    if (what == LOCKED || what == LOCKED_NOT_FENCED) {
        for (int i = 0; i < 20; i++)
            locked_add(data, flag, what == LOCKED);
    } else if (what == BARRIER || what == SIGNALLED_BY_SYNC) {
        data[64 + me] = me;
        gshmem_int_put(data, data + 64, 2, 1 - me);
        if (what == BARRIER)
            gshmem_barrier_all();
        else
            gshmem_sync_all();
        sink[me] = data[1];
    } else if (me == 0) {
        write_side(what, data, flag);
    } else {
        sink[me] = read_side(what, data, flag);
    }
}

/* Between syncs, which order nothing, so the executor's own start and end of the kernels do not
 * order the program's accesses. */
__global__ void kernel_program(program what, int *data, uint64_t *flag, int *sink)
{
    gshmem_sync_all();
    run_program(what, data, flag, sink);
    gshmem_sync_all();
}

/* Runs the program in a child process. Returns whether the sanitizer was silent. */
static bool is_silent_once(program what)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        int sink[2];
        {
            pes p;
            p.run_on([&](int pe) {
                return gshmem_launch(kernel_program, dim3(1), dim3(1), 0, nullptr, what,
                                     (int *)(p.heap(pe) + 64), (uint64_t *)p.heap(pe), sink);
            });
        }
        exit(0); /* the sanitizer changes this if it has reported */
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The sanitizer may miss two simultaneous accesses: then try again. */
static bool is_silent(program what)
{
    bool is_silent = true;
    for (int i = 0; i < 20 && is_silent && (i == 0 || !is_correct[what]); i++)
        is_silent = is_silent_once(what);
    return is_silent;
}

int main(void)
{
#ifndef GSHMEM_CPU_TSAN
    test_skip("the thread sanitizer");
#endif
    for (int what = 0; what < PROGRAMS; what++) {
        if (!CHECK_EQ(is_silent((program)what), is_correct[what]))
            fprintf(stderr, "program %d\n", what);
    }
    return test_result();
}
