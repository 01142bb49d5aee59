/* SPDX-License-Identifier: Apache-2.0
 * PEs, or ranks, as threads and as forked processes of a test program; and what a process holds
 * afterwards. Callers decide what each is given. C17. */
#ifndef GSH_TEST_RIG_PES_H
#define GSH_TEST_RIG_PES_H

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/test.h"

#define TEST_PES_MAX 80

/* What one of n PEs does. */
typedef void test_pe_main(int rank, int n, void *arg);

/* ---- threads ---- */

struct test_thread {
    pthread_t id;
    test_pe_main *main;
    void *arg;
    int rank, n;
};

static inline void *test_thread_main(void *arg)
{
    struct test_thread *t = arg;
    t->main(t->rank, t->n, t->arg);
    return NULL;
}

static inline void test_start_threads(int n, test_pe_main *f, void *arg,
                                      struct test_thread *threads)
{
    for (int i = 0; i < n; i++) {
        threads[i] = (struct test_thread){.main = f, .arg = arg, .rank = i, .n = n};
        CHECK_EQ(pthread_create(&threads[i].id, NULL, test_thread_main, &threads[i]), 0);
    }
}

static inline void test_join_threads(int n, const struct test_thread *threads)
{
    for (int i = 0; i < n; i++) {
        CHECK_EQ(pthread_join(threads[i].id, NULL), 0);
    }
}

static inline void test_on_threads(int n, test_pe_main *f, void *arg)
{
    struct test_thread threads[TEST_PES_MAX];
    test_start_threads(n, f, arg, threads);
    test_join_threads(n, threads);
}

/* ---- processes ---- */

/* Each ends with its own checks' result, by exit, where the address sanitizer checks for leaks. */
static inline void test_start_processes(int n, test_pe_main *f, void *arg, pid_t *children)
{
    for (int i = 0; i < n; i++) {
        fflush(NULL);
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            test_failed_checks = 0;
            f(i, n, arg);
            fflush(NULL);
            exit(test_result());
        }
    }
}

/* A process ended by SIGKILL did what its test wanted. If one skips, so does this program, unless
 * the others have found something wrong. */
static inline void test_join_processes(int n, const pid_t *children)
{
    bool is_skipped = false;
    for (int i = 0; i < n; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        bool has_skipped = WIFEXITED(status) && WEXITSTATUS(status) == 77;
        is_skipped |= has_skipped;
        if (!has_skipped && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
            CHECK_EQ(status, 0);
        }
    }
    if (is_skipped) {
        test_skip("what a process of the test has missed");
    }
}

static inline void test_in_processes(int n, test_pe_main *f, void *arg)
{
    pid_t children[TEST_PES_MAX];
    test_start_processes(n, f, arg, children);
    test_join_processes(n, children);
}

/* ---- what this process holds ---- */

/* The number of open descriptors, plus a constant. */
static inline int test_count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!CHECK(dir != NULL)) {
        return -1;
    }
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

#endif
