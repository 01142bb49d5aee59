/* Proves that gshmemrun looks for signals between two starts, so that one of them ends the job
 * before the others begin; and that it says how far it is each three seconds.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher is part of this program, under the name of gshmemrun_main. Its fork is counted, and
 * its clock is the test's. */
#undef main
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/test.h"

#define SIGNAL_AT 3

int gshmemrun_main(int argc, char **argv);

static struct {
    int is_launcher, signal, n_forks;
} * shared; /* of the launcher and the test */

pid_t fork(void)
{
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    if (shared->is_launcher && ++shared->n_forks == SIGNAL_AT && shared->signal != 0) {
        kill(getpid(), shared->signal);
    }
    return real();
}

/* A second passes with each start, and no other time. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1000 + (shared != NULL ? shared->n_forks : 0)};
    return 0;
}

/* Its status as a shell has it; text: what it has written. */
static int launch(int signal, char **argv, char *text, size_t room)
{
    int ends[2], status = -1, argc = 0;
    size_t n = 0;
    ssize_t got;
    while (argv[argc] != NULL) {
        argc++;
    }
    CHECK_EQ(pipe(ends), 0);
    shared->n_forks = 0;
    shared->signal = signal;
    pid_t child = fork();
    if (child == 0) {
        shared->is_launcher = 1;
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(gshmemrun_main(argc, argv));
    }
    close(ends[1]);
    while (n + 1 < room && (got = read(ends[0], text + n, room - 1 - n)) > 0) {
        n += (size_t)got;
    }
    text[n] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    shared->is_launcher = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_signal(int signal)
{
    char text[4096];
    char *argv[] = {"gshmemrun", "-n", "1000", "sleep", "100", NULL};
    CHECK_EQ(launch(signal, argv, text, sizeof(text)), 128 + signal);
    CHECK(strstr(text, "gshmemrun: ended by signal") != NULL);
    CHECK_EQ(shared->n_forks, SIGNAL_AT);
}

static void test_progress(void)
{
    char text[4096];
    char *argv[] = {"gshmemrun", "-n", "10", "true", NULL};
    CHECK_EQ(launch(0, argv, text, sizeof(text)), 0);
    CHECK_EQ(shared->n_forks, 10);
    CHECK_STR(text, "gshmemrun: 3 of 10 processes are started\n"
                    "gshmemrun: 6 of 10 processes are started\n"
                    "gshmemrun: 9 of 10 processes are started\n");
}

int main(void)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(shared != MAP_FAILED)) {
        return 1;
    }
    alarm(600);
    /* A shell starts what is to run beside it with SIGINT ignored, and the children would have it
     * so. */
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        CHECK(signal(ends[i], SIG_DFL) != SIG_ERR);
    }
    test_signal(SIGTERM);
    test_signal(SIGINT);
    test_signal(SIGHUP);
    test_progress();
    return test_result();
}
