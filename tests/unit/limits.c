/* Proves that limits on threads are told with the number and what to change: those of the system,
 * of the user, which do not hold for root, and of a cgroup where this one has a limit; and that a
 * job with too many PEs as threads says so in one line before it starts any. So it does with too
 * few open files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "gshmemx.h"
#include "tests/test.h"

enum { USERS_LIMIT = 77 };

static void test_system(void)
{
    struct gsh_limits_text what, room;
    char text[640] = "", number[32];
    const uint64_t most = gsh_limits_threads(&what);
    CHECK(most > 0 && most < UINT64_MAX); /* a kernel has a largest process number */
    CHECK(strncmp(what.text, "raise ", 6) == 0);
    CHECK(gsh_limits_have_threads(1, text, sizeof(text)));
    CHECK_STR(text, "");
    CHECK(!gsh_limits_have_threads(most + 1, text, sizeof(text)));
    snprintf(number, sizeof(number), "more than the %llu ", (unsigned long long)most);
    CHECK(strstr(text, number) != NULL && strstr(text, what.text) != NULL);
    CHECK(strstr(gsh_limits_hint(EAGAIN, &room), what.text) != NULL);
    CHECK_STR(gsh_limits_hint(ENOMEM, &room), "");
    CHECK(gsh_limits_files() > 2);
}

static int never(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 3;
}

/* In a child, whose limit stays. Far PEs take more: here half of them would have room. */
static int few_files(void)
{
    const struct rlimit few = {64, 64};
    char name[] = "limits", *argv[] = {name, NULL}, text[640] = "";
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK(gsh_limits_have_files(9, 64, text, sizeof(text)));
    CHECK_STR(text, "");
    CHECK(!gsh_limits_have_files(9, 65, text, sizeof(text)));
    CHECK_STR(text, "9 PEs on this host take at least 65 open files of one process, and 64 are "
                    "possible: raise ulimit -n");
    setenv("GSHMEM_THREADS", "17", 1);
    setenv("GSHMEM_NODE_PES", "1", 1);
    CHECK_EQ(gshmemx_run(never, 1, argv), 1);
    CHECK(strstr(gsh_last_error(), "17 PEs on this host take at least 68 open files") != NULL);
    unsetenv("GSHMEM_NODE_PES");
    setenv("GSHMEM_THREADS", "33", 1);
    CHECK_EQ(gshmemx_run(never, 1, argv), 1);
    CHECK(strstr(gsh_last_error(), "33 PEs on this host take at least 66 open files") != NULL);
    return test_result();
}

/* In a child, whose limit stays. */
static int limited(void)
{
    const struct rlimit few = {USERS_LIMIT, USERS_LIMIT};
    char name[] = "limits", *argv[] = {name, NULL};
    struct gsh_limits_text what;
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &few), 0);
    if (getuid() == 0) {
        CHECK(gsh_limits_threads(&what) != USERS_LIMIT); /* the kernel does not apply it */
        CHECK_EQ(setuid(65534), 0);
    }
    CHECK_EQ(gsh_limits_threads(&what), USERS_LIMIT);
    CHECK_STR(what.text, "raise ulimit -u");
    setenv("GSHMEM_THREADS", "78", 1);
    CHECK_EQ(gshmemx_run(never, 1, argv), 1);
    CHECK(strstr(gsh_last_error(), "78 PEs on this host are more than the 77 threads") != NULL);
    return test_result();
}

int main(void)
{
    int status = 0;
    gsh_log_setup(GSH_LOG_NONE, 0, NULL); /* the failure is expected */
    test_system();
    int (*const limits[])(void) = {limited, few_files};
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(limits[i]());
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
    }
    return test_result();
}
