/* SPDX-License-Identifier: Apache-2.0
 * Messages use the program's names for calls, before init and after it. */
#include <nvshmem.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/test.h"

/* The message of a process that makes a mistake; returned in text. */
static void run(int is_after_init, char *text, size_t size)
{
    int fds[2], status = 0;
    size_t used = 0;
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDERR_FILENO);
        int word = 0;
        if (is_after_init) {
            nvshmem_init();
        }
        nvshmem_int_p(&word, 1, 99);
        _exit(0);
    }
    close(fds[1]);
    for (ssize_t n = 1; n > 0 && used + 1 < size; used += n > 0 ? (size_t)n : 0) {
        n = read(fds[0], text + used, size - 1 - used);
    }
    text[used] = '\0';
    close(fds[0]);
    CHECK(waitpid(child, &status, 0) == child && status != 0);
}

int main(void)
{
    char text[4096];
    run(0, text, sizeof(text));
    CHECK(strstr(text, "error: nvshmem_int_p: called before nvshmem_init") != NULL);
    run(1, text, sizeof(text));
    CHECK(strstr(text, "error: nvshmem_int_p: PE 99 is out of range") != NULL);
    return test_result();
}
