/* SPDX-License-Identifier: Apache-2.0
 * Proves that the error handler runs once, on the thread that made the mistake, before the process
 * ends with the status it would have had, and learns the PE, the call and the message: before init,
 * when init fails, after it, under another prefix, in a process that a PE has forked, and of PEs
 * that are threads. A thread that makes the same mistake meanwhile waits for it; a mistake in the
 * handler ends the process. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gshmemx.h"
#include "tests/test.h"

struct heard {
    int version, pe, status, n_calls;
    int is_same_thread;
    char call[64], message[256];
};

static int report_fd;    /* the handler writes a struct heard to it */
static int stderr_fd;    /* what the process prints can be read there */
static pthread_t erring; /* the thread that errs */
static int n_calls;

static void note(const gshmemx_error_t *error, void *context)
{
    struct heard h = {error->version,
                      error->pe,
                      error->status,
                      ++n_calls,
                      pthread_equal(pthread_self(), erring) != 0,
                      "",
                      ""};
    snprintf(h.call, sizeof(h.call), "%s", error->call);
    snprintf(h.message, sizeof(h.message), "%s", error->message);
    (void)!write(*(int *)context, &h, sizeof(h));
}

static void err(void)
{
    long word = 0;
    erring = pthread_self();
    gshmem_long_p(&word, 1, 0);
}

static void before_init(void)
{
    err();
}

static void init_fails(void)
{
    setenv("GSHMEM_HEAP_KEEP", "much", 1);
    erring = pthread_self();
    gshmem_init();
}

static void after_init(void)
{
    gshmem_init();
    err();
}

/* Makes the mistake in a process that this one forks, after calls that say the same and return, and
 * ends as that one did. */
static void err_in_child(void)
{
    const pid_t child = fork();
    if (child == 0) {
        int is_initialised = 1;
        gshmem_query_initialized(&is_initialised);
        if (is_initialised || gshmem_my_pe() != -1 || gshmemx_init_attr(0, NULL) == 0) {
            _exit(3);
        }
        err();
        _exit(3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    gshmem_barrier_all();
    if (gshmem_n_pes() < 1) {
        _exit(3);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

static void forked(void)
{
    gshmem_init();
    err_in_child();
}

static void *fork_as_pe(void *arg)
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_thread_args(*(int *)arg, 2, &n_calls, &attr);
    CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0);
    gshmem_barrier_all();
    if (*(int *)arg == 1) {
        err_in_child();
    }
    gshmem_barrier_all();
    return NULL;
}

static void forked_by_thread(void)
{
    int pes[2] = {0, 1};
    pthread_t t;
    pthread_create(&t, NULL, fork_as_pe, &pes[1]);
    fork_as_pe(&pes[0]);
    pthread_join(t, NULL);
}

static void renamed(void)
{
    gshmem_init();
    gshmemx_call_prefix("other");
    err();
}

static void none(void)
{
    gshmemx_set_error_handler(NULL, NULL);
    err();
}

static void err_in_handler(const gshmemx_error_t *error, void *context)
{
    note(error, context);
    err();
}

static void twice(void)
{
    gshmemx_set_error_handler(err_in_handler, &report_fd);
    gshmem_init();
    err();
}

static const int key;
static pthread_barrier_t both;

/* Returns when both threads have printed their mistake and could have gone on. */
static void wait_for_both(const gshmemx_error_t *error, void *context)
{
    char text[2048];
    size_t n = 0;
    while (n < sizeof(text) - 1) {
        ssize_t got = read(stderr_fd, text + n, sizeof(text) - 1 - n);
        n += got > 0 ? (size_t)got : 0;
        text[n] = '\0';
        const char *first = strstr(text, "gshmem_long_p");
        const char *second = first != NULL ? strstr(first + 1, "gshmem_long_p") : NULL;
        if (got <= 0 || (second != NULL && strchr(second, '\n') != NULL)) {
            break;
        }
    }
    for (int i = 0; i < 100; i++) {
        sched_yield(); /* the other would end the process, if it did not wait */
    }
    note(error, context);
}

static void *thread_pe(void *arg)
{
    long word = 0;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_thread_args(*(int *)arg, 2, &key, &attr);
    CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0);
    pthread_barrier_wait(&both);
    gshmem_long_p(&word, 1, 0);
    return NULL;
}

static void threads(void)
{
    int pes[2] = {0, 1};
    pthread_t t;
    gshmemx_set_error_handler(wait_for_both, &report_fd);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&t, NULL, thread_pe, &pes[1]);
    thread_pe(&pes[0]);
    pthread_join(t, NULL);
}

static int is_in(const struct heard *h, const char *text)
{
    return strstr(h->message, text) != NULL;
}

/* Runs body in a child with the handler; returns how often the handler was called. */
static int run(void (*body)(void), struct heard *first)
{
    int report[2], output[2], status = -1;
    struct heard again;
    memset(first, 0, sizeof(*first));
    CHECK(pipe(report) == 0 && pipe(output) == 0);
    pid_t child = fork();
    if (child == 0) {
        report_fd = report[1];
        stderr_fd = output[0];
        dup2(output[1], STDERR_FILENO);
        gshmemx_set_error_handler(note, &report_fd);
        body();
        _exit(3);
    }
    close(report[1]);
    close(output[1]);
    int n = read(report[0], first, sizeof(*first)) == (ssize_t)sizeof(*first);
    while (n > 0 && read(report[0], &again, sizeof(again)) == (ssize_t)sizeof(again)) {
        n++;
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 1);
    close(report[0]);
    close(output[0]);
    return n;
}

int main(void)
{
    struct heard h;
    CHECK_EQ(run(before_init, &h), 1);
    CHECK_EQ(h.version, (1 << 16) + (int)sizeof(gshmemx_error_t));
    CHECK_EQ(h.pe, -1);
    CHECK_EQ(h.status, 1);
    CHECK(h.is_same_thread);
    CHECK(strcmp(h.call, "gshmem_long_p") == 0);
    CHECK(strcmp(h.message, "gshmem_long_p: called before gshmem_init") == 0);

    CHECK_EQ(run(init_fails, &h), 1);
    CHECK_EQ(h.pe, -1);
    CHECK(h.is_same_thread && is_in(&h, "GSHMEM_HEAP_KEEP=much"));
    CHECK(strcmp(h.call, "") == 0);

    CHECK_EQ(run(after_init, &h), 1);
    CHECK_EQ(h.pe, 0);
    CHECK(h.is_same_thread && is_in(&h, "is not symmetric"));
    CHECK(strcmp(h.call, "gshmem_long_p") == 0);

    CHECK_EQ(run(forked, &h), 1);
    CHECK_EQ(h.pe, -1);
    CHECK(is_in(&h, "gshmem_long_p: this process was forked by PE 0, and is no PE"));
    CHECK_EQ(run(forked_by_thread, &h), 1);
    CHECK(is_in(&h, "gshmem_long_p: this process was forked by PE 1, and is no PE"));

    CHECK_EQ(run(renamed, &h), 1);
    CHECK(strcmp(h.call, "other_long_p") == 0);
    CHECK(is_in(&h, "other_long_p: "));

    CHECK_EQ(run(none, &h), 0);
    CHECK_EQ(run(twice, &h), 1);
    CHECK_EQ(h.n_calls, 1);

    CHECK_EQ(run(threads, &h), 1);
    CHECK(h.pe == 0 || h.pe == 1);
    CHECK(strcmp(h.call, "gshmem_long_p") == 0);
    return test_result();
}
