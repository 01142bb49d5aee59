/* SPDX-License-Identifier: Apache-2.0
 * For the tests of the CPU device's executor: block shapes, launches, and a child process whose
 * message can be read. */
#ifndef GSH_CPU_TEST_H
#define GSH_CPU_TEST_H

#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include "gshmem/launch.h"
#include "tests/test.h"

#ifdef GSHMEM_CPU_TSAN
/* A CUDA thread costs the thread sanitizer a millisecond and a megabyte. */
static const dim3 test_shapes[] = {dim3(1), dim3(31), dim3(33), dim3(128), dim3(5, 3, 7)};
#else
static const dim3 test_shapes[] = {dim3(1),   dim3(31),   dim3(32),      dim3(33),
                                   dim3(128), dim3(1024), dim3(5, 3, 7), dim3(8, 4, 2)};
#endif

static inline unsigned volume(dim3 d)
{
    return d.x * d.y * d.z;
}

/* Launches and waits. */
template <class... P, class... A>
static void run(void (*kernel)(P...), dim3 grid, dim3 block, size_t smem, A &&...args)
{
    CHECK_EQ(gshmem_launch(kernel, grid, block, smem, nullptr, args...), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/* Runs f in a child process: its exit status (-1: a signal), and what it wrote to stderr. */
template <class F> static int in_child(F f, std::string *text)
{
    int fds[2];
    if (pipe(fds) != 0) {
        return -2;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        f();
        exit(0);
    }
    close(fds[1]);
    char buffer[4096];
    ssize_t n;
    while ((n = read(fds[0], buffer, sizeof buffer)) > 0) {
        text->append(buffer, (size_t)n);
    }
    close(fds[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
