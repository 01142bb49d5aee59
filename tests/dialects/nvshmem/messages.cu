/* SPDX-License-Identifier: Apache-2.0
 * Messages use the program's names for calls, before init and after it, and begin with the name of
 * the library that sends them, gshmem, whichever of its parts it is. So do those of calls that
 * gshmem refuses, on the host and in kernels. */
#include <nvshmem.h>
#include <nvshmemx.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/test.h"

enum mistake {
    before_init,
    no_such_pe,
    no_such_level,
    reset_by_host,
    reset_in_kernel,
    load_in_kernel,
    wait_in_kernel,
    put_in_kernel,
};

__global__ void call_counted(mistake m, uint64_t *word)
{
    switch (m) {
    case reset_in_kernel:
        nvshmemx_signal_counted_reset(word);
        break;
    case load_in_kernel:
        *word += nvshmemx_signal_counted_load(word);
        break;
    case wait_in_kernel:
        nvshmemx_signal_counted_wait_until(word, 0);
        break;
    default:
        nvshmemx_putmem_signal_counted_nbi_block(word + 1, word, sizeof *word, word, 0);
        break;
    }
}

static void make(mistake m)
{
    int word = 0;
    if (m == no_such_level)
        nvshmem_init_thread(7, NULL);
    else if (m != before_init)
        nvshmem_init();
    if (m == reset_by_host)
        nvshmemx_signal_counted_reset(NULL);
    if (m >= reset_in_kernel) {
        uint64_t *words = (uint64_t *)nvshmem_calloc(2, sizeof *words);
        void *args[] = {&m, &words};
        CHECK_EQ(cudaLaunchKernel((const void *)call_counted, 1, 1, args, 0, NULL), cudaSuccess);
        cudaDeviceSynchronize();
    }
    nvshmem_int_p(&word, 1, 99);
}

/* What a process that makes a mistake prints; returned in text. */
static void run(mistake m, char *text, size_t size)
{
    int fds[2], status = 0;
    size_t used = 0;
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        make(m);
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t n = 1; n > 0 && used + 1 < size; used += n > 0 ? (size_t)n : 0)
        n = read(fds[0], text + used, size - 1 - used);
    text[used] = '\0';
    close(fds[0]);
    CHECK(waitpid(child, &status, 0) == child && status != 0);
}

int main(void)
{
    static const char *const counted[] = {
        "nvshmemx_signal_counted_reset", "nvshmemx_signal_counted_reset",
        "nvshmemx_signal_counted_load", "nvshmemx_signal_counted_wait_until",
        "nvshmemx_putmem_signal_counted_nbi_block"};
    char text[4096], line[128];
    run(before_init, text, sizeof text);
    CHECK(strstr(text, "gshmem: error: nvshmem_int_p: called before nvshmem_init") != NULL);
    run(no_such_pe, text, sizeof text);
    CHECK(strstr(text, "gshmem: PE 0: error: nvshmem_int_p: PE 99 is out of range") != NULL);
    run(no_such_level, text, sizeof text);
    CHECK(strstr(text, "gshmem: error: nvshmem_init_thread: there is no thread level 7") == text);
    for (int m = reset_by_host; m <= put_in_kernel; m++) {
        run((mistake)m, text, sizeof text);
        snprintf(line, sizeof line,
                 m == reset_by_host ? "gshmem: error: %s: counted signals are not supported\n"
                                    : "gshmem: PE 0: error: %.39s (in a kernel, ",
                 counted[m - reset_by_host]);
        CHECK(strstr(text, line) != NULL && strstr(text, "not supported\n") != NULL);
    }
    return test_result();
}
