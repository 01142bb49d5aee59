/* Each kind of variable is read as documented, and a value that is not allowed is refused with one
 * line naming the variable, the value and what is allowed. A setuid program ignores them all.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/coll_table.h"
#include "base/env.h"
#include "base/log.h"
#include "tests/test.h"

static bool reads(struct gsh_env *env, const char *name, const char *value)
{
    setenv(name, value, 1);
    enum gsh_result r = gsh_env_read(env);
    unsetenv(name);
    return r == GSH_OK;
}

/* The value is refused, *env is unchanged, and the message contains each of the three. */
static bool refuses(const char *name, const char *value, const char *allowed)
{
    struct gsh_env env, before;
    memset(&env, 0x5a, sizeof(env));
    before = env;
    if (!CHECK(!reads(&env, name, value))) {
        return false;
    }
    const char *text = gsh_last_error();
    return CHECK_EQ(gsh_last_error_code(), GSH_ERR_ARG) &&
           CHECK(memcmp(&env, &before, sizeof(env)) == 0) && CHECK(strstr(text, name)) &&
           CHECK(strstr(text, value)) && CHECK(strstr(text, allowed));
}

static void test_defaults(void)
{
    struct gsh_env env;
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_STR(env.debug, "warn");
    CHECK_STR(env.device, "auto");
    CHECK_EQ(env.bootstrap_timeout_ns, 60000000000);
    CHECK_EQ(env.wait_timeout_ns, 0);
    CHECK_EQ(env.heap_range_bytes, 0);
    CHECK_EQ(env.cpu_stack_bytes, 128 << 10);
    CHECK_EQ(env.rank, -1);
    CHECK(!env.multicast);
    CHECK_STR(env.uid_ifname, "");
}

static void test_offered(void)
{
    struct gsh_env env;
    CHECK(!gsh_env_offer("GSHMEM_NO_SUCH", "1"));
    CHECK(gsh_env_offer("GSHMEM_NODE_PES", "3"));
    CHECK(gsh_env_offer("GSHMEM_NODE_PES", "4"));
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_EQ(env.node_pes, 3);
    CHECK(getenv("GSHMEM_NODE_PES") == NULL);
    CHECK(reads(&env, "GSHMEM_NODE_PES", "5"));
    CHECK_EQ(env.node_pes, 5);
}

static void test_seconds(void)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"5", 5000000000},    {"0.5", 500000000}, {"5s", 5000000000},
                {"100ms", 100000000}, {"2us", 2000},      {"7ns", 7},
                {"1m", 60000000000},  {"0", 0},           {".25", 250000000}};
    static const char *const bad[] = {"-1",  "abc", "5x", "1e99", "nan",  "inf",
                                      "5 s", "s",   " 5", "0x10", "0X1p3"};
    struct gsh_env env;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (CHECK(reads(&env, "GSHMEM_WAIT_TIMEOUT", good[i].text))) {
            CHECK_EQ(env.wait_timeout_ns, good[i].ns);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refuses("GSHMEM_WAIT_TIMEOUT", bad[i], "100ms");
    }
}

static void test_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"8388608", 8388608},
                {"8192k", 8192 << 10},
                {"7M", 7 << 20},
                {"2G", 2ull << 30},
                {"1T", 1ull << 40},
                {"16MiB", 16 << 20},
                {"8MB", 8 << 20},
                {"6291456b", 6291456},
                {"1GiB", 1 << 30},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"-1",        "12X", "1.5G", "M",    "18446744073709551616",
                                      "16777216T", "1KK", "1 K",  "0x10", "1",
                                      "6291455"};
    struct gsh_env env;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (CHECK(reads(&env, "GSHMEM_HEAP_RANGE", good[i].text))) {
            CHECK_EQ(env.heap_range_bytes, good[i].bytes);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refuses("GSHMEM_HEAP_RANGE", bad[i], "64M");
    }
}

static void test_bools(void)
{
    static const char *const yes[] = {"1", "yes", "on", "true", "TRUE", "On"};
    static const char *const no[] = {"0", "no", "off", "false", "No"};
    struct gsh_env env;
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        CHECK(reads(&env, "GSHMEM_SHARE_DEVICE", yes[i]) && env.share_device);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        CHECK(reads(&env, "GSHMEM_SHARE_DEVICE", no[i]) && !env.share_device);
    }
    refuses("GSHMEM_SHARE_DEVICE", "2", "0 or 1");
    refuses("GSHMEM_SHARE_DEVICE", "maybe", "false or true");
}

static void test_others(void)
{
    struct gsh_env env;
    char text[300];
    CHECK(reads(&env, "GSHMEM_RANK", "17") && env.rank == 17);
    CHECK(reads(&env, "GSHMEM_RANK", "-1") && env.rank == -1);
    refuses("GSHMEM_RANK", "-2", "at least 0, or -1, which is the default");
    CHECK(reads(&env, "GSHMEM_THREADS", "0") && env.threads == 0);
    refuses("GSHMEM_THREADS", "-1", "at least 1, at most 1048576, or 0, which is the default");
    refuses("GSHMEM_THREADS", "2000000000", "at least 1, at most 1048576, or 0");
    CHECK(reads(&env, "GSHMEM_TRACE_EVENTS", "1048576") && env.trace_events == 1048576);
    refuses("GSHMEM_TRACE_EVENTS", "2097152", "at least 64, at most 1048576; the default is 16384");
    refuses("GSHMEM_CPU_DEVICES", "100000", "at most 65536");
    refuses("GSHMEM_N_RANKS", "-1", "at least 1");
    CHECK(reads(&env, "GSHMEM_CPU_STACK", "16K") && env.cpu_stack_bytes == 16384);
    refuses("GSHMEM_CPU_STACK", "1", "at least 16K; the default is 128K");
    refuses("GSHMEM_CPU_STACK", "0", "at least 16K");
    refuses("GSHMEM_RANK", "17a", "whole number");
    refuses("GSHMEM_RANK", "99999999999", "whole number");
    CHECK(reads(&env, "GSHMEM_DEVICE", "CPU") && strcmp(env.device, "cpu") == 0);
    refuses("GSHMEM_DEVICE", "gpu", "auto, cuda, cpu");
    refuses("GSHMEM_DEVICE", "cuda|cpu", "auto, cuda, cpu");
    CHECK(reads(&env, "GSHMEM_DEVICE", "") && strcmp(env.device, "auto") == 0);
    CHECK(reads(&env, "GSHMEM_UID_IFNAME", "^docker0"));
    CHECK_STR(env.uid_ifname, "^docker0");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuses("GSHMEM_UID_IFNAME", text, "255");
    CHECK(reads(&env, "GSHMEM_DEBUG_SUBSYS", "heap,sync"));
    refuses("GSHMEM_DEBUG_SUBSYS", "syncc", "bootstrap");
    refuses("GSHMEM_LOG_FILE", "/tmp/%h.%q", "'%q' stands for nothing: h, p, r");
    refuses("GSHMEM_LOG_FILE", "/tmp/a%", "'%' stands for nothing");
    refuses("GSHMEM_DEBUG_FILE", "/tmp/%%%d", "'%d' stands for nothing");
}

static void test_collectives(void)
{
    struct gsh_coll_table t = gsh_coll_table_cpu;
    CHECK_EQ(gsh_coll_table_read(" thread=128 , far = 1K,\tgrid=2 ", &t), GSH_OK);
    CHECK(t.ll_max[0] == 128 && t.far_flat == 1024 && t.max_blocks == 2);
    CHECK(gsh_coll_table_read("", &t) == GSH_OK && gsh_coll_table_read(" ", &t) == GSH_OK);
    CHECK_EQ(gsh_coll_table_read("grid=1,grid=1025", &t), GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "'grid=1025' is out of range: grid can be 1 to 1024"));
    CHECK_EQ(gsh_coll_table_read("per_block=128", &t), GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "per_block can be 256 to"));
    const char *const wrong[] = {"grid", "grid=", "grid=x", "grids=1", "grid=1 far=2", "=1", ","};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQ(gsh_coll_table_read(wrong[i], &t), GSH_ERR_ARG);
        CHECK(strstr(gsh_last_error(), "is not NAME=BYTES"));
    }
}

/* A unique id is a password: lists of variables are kept, and sent to others. */
static void test_printed_secret(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    setenv("GSHMEM_UID", "00c0ffee", 1);
    setenv("GSHMEM_UID_IFNAME", "lo", 1);
    CHECK_EQ(gsh_env_print(f), 0);
    fclose(f);
    CHECK(strstr(text, "GSHMEM_UID_IFNAME=lo") && strstr(text, "GSHMEM_UID=(secret)"));
    CHECK(!strstr(text, "c0ffee"));
    unsetenv("GSHMEM_UID");
    unsetenv("GSHMEM_UID_IFNAME");
    free(text);
}

/* This program again, with root's rights, started by another user with this environment. */
static int secure_main(void)
{
    struct gsh_env env;
    if (getauxval(AT_SECURE) == 0) {
        return 3;
    }
    CHECK(getenv("GSHMEM_DEVICE") != NULL);
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_STR(env.device, "auto");
    CHECK_STR(env.ucx_plugin, "libgshmem_ucx.so");
    return test_result();
}

static void copy_self(const char *to)
{
    struct stat st;
    int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    CHECK_EQ(fstat(in, &st), 0);
    for (off_t at = 0; at < st.st_size && CHECK(sendfile(out, in, &at, 1 << 30) > 0);) {
    }
    CHECK_EQ(fchmod(out, 04755), 0);
    close(in);
    close(out);
}

/* Only root can make such a program, and not on every file system; that the library asks in no
 * other way is shown by tests/arrows/rights.py everywhere. */
static void test_setuid(void)
{
    char folder[] = "/tmp/gshmem-setuid-XXXXXX", program[64];
    int status = -1;
    if (geteuid() != 0) {
        printf("not root: no setuid program is tried\n");
        return;
    }
    CHECK(mkdtemp(folder) != NULL && chmod(folder, 0755) == 0);
    snprintf(program, sizeof(program), "%s/program", folder);
    copy_self(program);
    pid_t child = fork();
    if (child == 0) {
        char *const args[] = {program, (char *)"--secure", NULL};
        char *const values[] = {(char *)"GSHMEM_DEVICE=cpu", (char *)"GSHMEM_DEBUG=bogus",
                                (char *)"GSHMEM_UCX_PLUGIN=/tmp/evil.so", NULL};
        if (setgid(65534) == 0 && setuid(65534) == 0) {
            execve(program, args, values);
        }
        _exit(9);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        printf("/tmp gives no rights: no setuid program is tried\n");
    } else {
        CHECK_EQ(status, 0);
    }
    unlink(program);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--secure") == 0) {
        _exit(secure_main());
    }
    gsh_log_setup(GSH_LOG_NONE, 0, NULL); /* the refusals are expected */
#define ENV(field, name, kind, def, choices, doc) unsetenv("GSHMEM_" #name);
#include "base/env.def"
#undef ENV
    setenv("GSHMEM_CONFIG", "none", 1); /* not this machine's files */
    test_defaults();
    test_offered();
    test_seconds();
    test_sizes();
    test_bools();
    test_others();
    test_collectives();
    test_printed_secret();
    test_setuid();
    return test_result();
}
