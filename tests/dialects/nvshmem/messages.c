/* SPDX-License-Identifier: Apache-2.0
 * Messages use the program's names for calls, before init and after it, and begin with the name of
 * the library that sends them, gshmem, whichever of its parts it is. */
#include <nvshmem.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/test.h"

enum mistake { BEFORE_INIT, NO_SUCH_PE, NO_SUCH_LEVEL };

/* The message of a process that makes a mistake; returned in text. */
static void run(enum mistake mistake, char *text, size_t size)
{
    int fds[2], status = 0;
    size_t used = 0;
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDERR_FILENO);
        int word = 0;
        if (mistake == NO_SUCH_LEVEL) {
            nvshmem_init_thread(7, NULL);
        } else if (mistake == NO_SUCH_PE) {
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
    run(BEFORE_INIT, text, sizeof(text));
    CHECK(strstr(text, "gshmem: error: nvshmem_int_p: called before nvshmem_init") != NULL);
    run(NO_SUCH_PE, text, sizeof(text));
    CHECK(strstr(text, "gshmem: PE 0: error: nvshmem_int_p: PE 99 is out of range") != NULL);
    run(NO_SUCH_LEVEL, text, sizeof(text));
    CHECK(strstr(text, "gshmem: error: nvshmem_init_thread: there is no thread level 7") == text);
    return test_result();
}
