/* Messages carry PE and level, obey level and subsystem, go to the chosen file, and stay whole
 * lines when several threads write; a failure is worded once and kept per thread. No link of
 * another user leads the file elsewhere. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_another_user; /* than the one who made this process's files */
static const char
    *swapped; /* a link that somebody turns elsewhere as soon as it has been looked at */
static uid_t log_euid(void)
{
    if (swapped != NULL && (unlink(swapped) != 0 || symlink("/dev/full", swapped) != 0)) {
        _exit(1);
    }
    return geteuid() + is_another_user;
}
#define geteuid log_euid
#include "base/own_file.c"
#undef geteuid
#include "base/log.h"
#include "base/result.h"
#include "tests/test.h"

enum { N_THREADS = 4, N_LINES = 200 };

static void *writer(void *arg)
{
    int pe = (int)(intptr_t)arg;
    char filler[300];
    memset(filler, 'a' + pe, sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    gsh_log_set_pe(pe);
    for (int i = 0; i < N_LINES; i++) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_HEAP, "%s", filler);
    }
    CHECK_STR(gsh_last_error(), "");
    return NULL;
}

static void test_whole_lines(FILE *f)
{
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        pthread_create(&threads[i], NULL, writer, (void *)(intptr_t)i);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    char line[4096], want[4096];
    int n = 0;
    while (fgets(line, sizeof(line), f)) {
        int pe = -1;
        if (!CHECK(sscanf(line, "gshmem: PE %d: info: ", &pe) == 1 && pe < N_THREADS)) {
            return;
        }
        int used = snprintf(want, sizeof(want), "gshmem: PE %d: info: ", pe);
        memset(want + used, 'a' + pe, 299);
        strcpy(want + used + 299, "\n");
        CHECK_STR(line, want);
        n++;
    }
    CHECK_EQ(n, N_THREADS * N_LINES);
}

static void check_line(FILE *f, const char *want)
{
    char line[4096] = "";
    char *got = fgets(line, sizeof(line), f);
    CHECK_STR(got ? line : NULL, want);
    clearerr(f);
}

static void test_failures(FILE *f)
{
    CHECK_EQ(gsh_fail(GSH_ERR_NOMEM, "no room for %d", 3), GSH_ERR_NOMEM);
    check_line(f, "gshmem: error: no room for 3\n");
    CHECK_STR(gsh_last_error(), "no room for 3");
    CHECK_EQ(gsh_last_error_code(), GSH_ERR_NOMEM);
    errno = ENOENT;
    CHECK_EQ(gsh_fail_errno(GSH_ERR_SYSTEM, "opening x"), GSH_ERR_SYSTEM);
    check_line(f, "gshmem: error: opening x: No such file or directory\n");
    CHECK_EQ(gsh_fail(GSH_ERR_BUG, "again: %s", gsh_last_error()), GSH_ERR_BUG);
    check_line(f, "gshmem: error: again: opening x: No such file or directory\n");
    CHECK_EQ(gsh_note(GSH_ERR_UNSUPPORTED, "quietly"), GSH_ERR_UNSUPPORTED);
    check_line(f, "gshmem: info: quietly\n"); /* not an error yet */
    CHECK_STR(gsh_last_error(), "quietly");
    for (int r = 0; r < GSH_RESULT_COUNT; r++) {
        CHECK(gsh_result_name((enum gsh_result)r)[0]);
    }
    CHECK_STR(gsh_result_name((enum gsh_result)99), "unknown result");
}

static void test_long_line(FILE *f)
{
    char text[5000], line[6000] = "";
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    gsh_log(GSH_LOG_ERROR, GSH_LOG_INIT, "%s", text);
    CHECK(fgets(line, sizeof(line), f) && strlen(line) > 1000 && line[strlen(line) - 1] == '\n');
    CHECK(!fgets(line, sizeof(line), f));
    clearerr(f);
}

static void test_prefix(FILE *f)
{
    gsh_log_set_prefix("shmem");
    gsh_log(GSH_LOG_ERROR, GSH_LOG_INIT, "gshmem_init: gshmemx_x of gshmem: gshmemx_run");
    check_line(f, "gshmem: error: shmem_init: shmemx_x of gshmem: gshmemx_run\n");
    gsh_log_set_prefix(NULL);
}

/* Whether what is written to a link of this or of another user, a log or a file of its own, reaches
 * the file. is_turned: the link is another one when it is followed than when it is looked at. */
static bool follows_link(bool is_anothers, bool is_turned, bool is_log)
{
    char path[64], target[64];
    struct stat st;
    int status = -1;
    snprintf(path, sizeof(path), "/tmp/gshmem-link-%d", (int)getpid());
    snprintf(target, sizeof(target), "/tmp/gshmem-target-%d", (int)getpid());
    unlink(path); /* of an earlier process of this number, which was killed */
    unlink(target);
    CHECK_EQ(symlink(is_turned ? strrchr(target, '/') + 1 : target, path), 0);
    bool is_root = geteuid() == 0;
    if (is_anothers && is_root) {
        CHECK_EQ(lchown(path, 65534, 65534), 0);
    }
    pid_t child = fork();
    if (child == 0) { /* a process opens its log once */
        is_another_user = is_anothers && !is_root;
        swapped = is_turned ? path : NULL;
        if (is_log) {
            gsh_log_setup(GSH_LOG_NONE, GSH_LOG_ALL, path);
        }
        _exit(!is_log && (gsh_own_file_create(path) != NULL) == is_anothers);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    bool is_there = stat(target, &st) == 0;
    unlink(path);
    unlink(target);
    return is_there;
}

/* Links to what has no name of its own are followed, too. */
static void test_standard_output(void)
{
    int ends[2], status = -1;
    char text[256] = "";
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        gsh_log_setup(GSH_LOG_WARN, GSH_LOG_ALL, "/dev/stdout");
        gsh_log(GSH_LOG_WARN, GSH_LOG_ALL, "here");
        _exit(0);
    }
    close(ends[1]);
    CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
    CHECK_STR(text, "gshmem: warning: here\n");
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
}

int main(void)
{
    for (int is_log = 0; is_log <= 1; is_log++) {
        CHECK(follows_link(false, false, is_log));
        CHECK(!follows_link(true, false, is_log));
        CHECK(follows_link(false, true, is_log));
    }
    test_standard_output();
    char path[64], expanded[64];
    snprintf(path, sizeof(path), "/tmp/gshmem-log-%%p-%d", (int)getpid());
    snprintf(expanded, sizeof(expanded), "/tmp/gshmem-log-%d-%d", (int)getpid(), (int)getpid());
    unlink(expanded);
    gsh_log_setup(GSH_LOG_INFO, GSH_LOG_HEAP, path);
    gsh_log_setup(GSH_LOG_TRACE, GSH_LOG_ALL, NULL); /* changes nothing */
    FILE *f = fopen(expanded, "r");
    if (!CHECK(f)) {
        return test_result();
    }
    CHECK(gsh_log_enabled(GSH_LOG_INFO, GSH_LOG_HEAP));
    CHECK(!gsh_log_enabled(GSH_LOG_TRACE, GSH_LOG_HEAP));
    CHECK(!gsh_log_enabled(GSH_LOG_INFO, GSH_LOG_SYNC));
    CHECK(gsh_log_enabled(GSH_LOG_ERROR, GSH_LOG_SYNC));
    gsh_log(GSH_LOG_INFO, GSH_LOG_SYNC, "not written");
    gsh_log(GSH_LOG_WARN, GSH_LOG_SYNC, "written %d", 1);
    check_line(f, "gshmem: warning: written 1\n");
    test_failures(f);
    test_long_line(f);
    test_prefix(f);
    test_whole_lines(f);
    fclose(f);
    unlink(expanded);
    return test_result();
}
