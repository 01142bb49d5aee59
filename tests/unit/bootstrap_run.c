/* Proves gshmemrun: PEs find each other again and again, output comes by whole lines, the first
 * failure ends all and is returned, no PE survives the launcher, and bad use is explained.
 * Arguments: the launcher, the plug-in for UCX if there is one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "bootstrap/uid.h"
#include "gshmemx.h"
#include "tests/rig/bootstrap_conform.h"

static const char *launcher = "gshmemrun";

static struct {
    char text[1 << 16]; /* stdout and stderr together */
} result;

/* Starts the launcher with these arguments; *out reads what it prints. */
static pid_t start_on(const void *input, size_t bytes, char *const arguments[], int *out)
{
    char *argv[16] = {(char *)launcher};
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    for (int i = 0; arguments[i]; i++) {
        argv[i + 1] = arguments[i];
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        dup2(from[1], 2);
        close(to[0]);
        close(to[1]);
        close(from[0]);
        close(from[1]);
        execvp(launcher, argv);
        _exit(77);
    }
    CHECK(write(to[1], input, bytes) == (ssize_t)bytes);
    close(to[0]);
    close(to[1]);
    close(from[1]);
    *out = from[0];
    return child;
}

static pid_t start(char *const arguments[], const char *input, int *out)
{
    return start_on(input, strlen(input), arguments, out);
}

/* Removes how far the launcher was, which it says on a busy machine. */
static void drop_progress(char *text)
{
    static const char last[] = " processes are started\n";
    for (char *p = text; (p = strstr(p, "gshmemrun: ")) != NULL;) {
        int n = 0;
        (void)sscanf(p, "gshmemrun: %*d of %*d%n", &n);
        if (n > 0 && strncmp(p + n, last, strlen(last)) == 0) {
            const char *next = p + n + strlen(last);
            memmove(p, next, strlen(next) + 1);
        } else {
            p++;
        }
    }
}

/* All output until no process holds the other end any more. */
static void read_all(int fd)
{
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd, result.text + used, sizeof(result.text) - 1 - used)) > 0) {
        used += (size_t)n;
    }
    result.text[used] = '\0';
    close(fd);
    drop_progress(result.text);
}

static int run_on(const void *input, size_t bytes, char *const arguments[])
{
    int fd, status = -1;
    pid_t child = start_on(input, bytes, arguments, &fd);
    read_all(fd);
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        test_skip("gshmemrun (give its path as argument)");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int run_with(const char *input, char *const arguments[])
{
    return run_on(input, strlen(input), arguments);
}

#define RUN(...) run_with("", (char *[]){__VA_ARGS__, NULL})

static void check_says(const char *text)
{
    if (!CHECK(strstr(result.text, text))) {
        fprintf(stderr, "wanted: %s\ngot: %s\n", text, result.text);
    }
}

static int count(const char *text)
{
    int n = 0;
    for (const char *p = result.text; (p = strstr(p, text)); p += strlen(text)) {
        n++;
    }
    return n;
}

/* A script with this first line. */
static void check_interpreter(const char *line, const char *says)
{
    char path[] = "gshmemrun-script-XXXXXX", program[sizeof(path) + 2];
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line));
    CHECK(fchmod(fd, 0755) == 0);
    close(fd);
    snprintf(program, sizeof(program), "./%s", path);
    CHECK_EQ(RUN("-n", "2", program), 126);
    check_says(says);
    CHECK_EQ(count("gshmemrun:"), 1);
    unlink(path);
}

static void test_usage(void)
{
    CHECK_EQ(RUN("--help"), 0);
    check_says("usage: gshmemrun -n N");
    CHECK_EQ(RUN("--version"), 0);
    CHECK_STR(result.text, GSHMEM_VENDOR_STRING "\n");
    CHECK_EQ(RUN("true"), 2);
    check_says("-n is missing");
    CHECK_EQ(RUN("-n", "4"), 2);
    check_says("no program given");
    CHECK_EQ(RUN("-n", "0", "true"), 2);
    CHECK_EQ(RUN("-n", "two", "true"), 2);
    check_says("'two' is not a number");
    CHECK_EQ(RUN("-n", "1.5", "true"), 2);
    CHECK_EQ(RUN("-n"), 2);
    check_says("-n needs a value");
    CHECK_EQ(RUN("-np", "2", "echo", "-np"), 0);
    CHECK_STR(result.text, "-np\n-np\n");
    CHECK_EQ(RUN("--timeout", "60", "-np2", "echo", "x"), 0);
    CHECK_EQ(RUN("--np", "2", "echo", "x"), 0);
    CHECK_EQ(RUN("-n", "p2", "true"), 2);
    check_says("'p2' is not a number");
    CHECK_EQ(RUN("-np"), 2);
    check_says("gshmemrun: -np needs a value\n(gshmemrun --help");
    CHECK_EQ(RUN("--as", "oshrun", "-np", "2"), 2);
    check_says("oshrun: no program given\n(oshrun --help");
    CHECK_EQ(RUN("--as", "oshrun", "--help"), 0);
    check_says("usage: oshrun -n N");
    CHECK_EQ(RUN("-n", "2", "--no-such", "true"), 2);
    check_says("unknown option --no-such");
    CHECK_EQ(RUN("-n", "2", "--trace=", "true"), 2); /* a script's empty variable */
    check_says("--trace needs a value");
    CHECK_EQ(RUN("-n", "2", "--timeout", "-1", "true"), 2);
    CHECK_EQ(RUN("-n", "2", "no-such-program"), 127);
    check_says("no-such-program: not found in PATH");
    CHECK_EQ(RUN("-n", "2", "./no/such/program"), 127);
    check_says("No such file");
    CHECK_EQ(RUN("-n", "2", "/etc/passwd"), 126);
    check_says("not an executable");
    check_interpreter("#!/no/such/interpreter -x\n",
                      "its interpreter is missing: /no/such/interpreter\n");
    check_interpreter("#! /bin/sh\r\n", "is missing: /bin/sh, with a carriage return behind it\n");
}

static void test_output(void)
{
    CHECK_EQ(RUN("-n", "3", "sh", "-c",
                 "for i in 1 2 3 4 5 6 7 8 9; do printf a; printf b; echo c;"
                 " done; printf end"),
             0);
    CHECK_EQ(count("abc\n"), 27);
    CHECK_EQ(count("end\n"), 3);
    CHECK_EQ(strlen(result.text), 27 * 4 + 3 * 4);
    CHECK_EQ(RUN("-n", "2", "--tag-output", "sh", "-c", "echo x; echo y; echo z 1>&2"), 0);
    CHECK(count("[0] x\n") == 1 && count("[1] y\n") == 1 && count("[1] z\n") == 1);
    CHECK_EQ(run_with("to nobody but PE 0\n", (char *[]){"-n", "3", "cat", NULL}), 0);
    CHECK_STR(result.text, "to nobody but PE 0\n");
    CHECK_EQ(
        RUN("-n", "4", "--threads", "sh", "-c", "echo threads $GSHMEM_THREADS rank $GSHMEM_RANK."),
        0);
    CHECK_STR(result.text, "threads 4 rank .\n");
    /* a line that begins as the marks of branches do */
    CHECK_EQ(RUN("-n", "1", "printf", "\001gshmemrun 7\nx"), 0);
    CHECK_STR(result.text, "\001gshmemrun 7\nx\n");
}

/* What it keeps for a process does not depend on the length of a line. */
static void test_many(void)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit usual, little = {24 << 20, 24 << 20};
    CHECK_EQ(getrlimit(RLIMIT_DATA, &usual), 0);
    little.rlim_max = usual.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_DATA, &little), 0);
    CHECK_EQ(RUN("-n", "300", "true"), 0);
    CHECK_EQ(setrlimit(RLIMIT_DATA, &usual), 0);
    CHECK_STR(result.text, "");
#endif
}

static void test_failures(void)
{
    CHECK_EQ(RUN("-n", "3", "sh", "-c", "[ $GSHMEM_RANK = 1 ] && exit 5; exec sleep 100"), 5);
    CHECK_STR(result.text, "gshmemrun: PE 1 exited with status 5\n");
    CHECK_EQ(RUN("-n", "3", "sh", "-c", "[ $GSHMEM_RANK = 2 ] && kill -9 $$; exec sleep 100"), 137);
    CHECK_STR(result.text, "gshmemrun: PE 2 was killed by signal 9 (Killed)\n");
    /* A rank whose end is seen first, but which has only lost the other one. */
    char folder[] = "/tmp/bootstrap_run-XXXXXX", script[256];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(script, sizeof(script),
             "[ $GSHMEM_RANK = 0 ] && { read x <%s/ready; exit 1; }; trap 'kill -9 $$' TERM; "
             "echo >%s/ready; sleep 100 & wait",
             folder, folder);
    char ready[sizeof(folder) + 8];
    snprintf(ready, sizeof(ready), "%s/ready", folder);
    CHECK_EQ(mkfifo(ready, 0600), 0);
    CHECK_EQ(RUN("-n", "2", "sh", "-c", script), 137);
    CHECK_EQ(unlink(ready), 0);
    CHECK_EQ(rmdir(folder), 0);
    CHECK_STR(result.text, "gshmemrun: PE 1 was killed by signal 9 (Killed)\n");
    /* The others ignore the request to end, and so do their children. */
    CHECK_EQ(RUN("-n", "2", "sh", "-c",
                 "trap '' TERM; [ $GSHMEM_RANK = 1 ] && exit 6; "
                 "sleep 100 & sleep 100"),
             6);
    CHECK_EQ(RUN("-n", "2", "--timeout", "0.2", "sleep", "100"), 124);
    check_says("time limit of 0.2 s");
    /* Not enough descriptors for all. */
    struct rlimit usual, few = {24, 24};
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few.rlim_max = usual.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQ(RUN("-n", "60", "sleep", "100"), 1);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    check_says("60 PEs on this host take at least 120 open files of one process, and 24 are "
               "possible: raise ulimit -n");
    CHECK_EQ(count("gshmemrun: "), 1);
    /* A process that a PE leaves behind does not hold up the end. */
    CHECK_EQ(RUN("-n", "2", "sh", "-c", "sleep 100 & echo done"), 0);
    CHECK_STR(result.text, "done\ndone\n");
}

/* `nice -n 0 COMMAND` serves as an agent that runs the command on host 0. */
#define ON_HOSTS(...) RUN("--agent", "nice -n", "--hosts", __VA_ARGS__)

static void end_well(int sig)
{
    (void)sig;
    _exit(0);
}

/* SELF agent HOST COMMAND...: an agent that ends with 0 whatever the command did, and when told. */
static int run_agent(char **argv)
{
    char self[16];
    int status;
    if (strcmp(argv[2], "empty") == 0) {
        return 0;
    }
    snprintf(self, sizeof(self), "%d", getpid());
    setenv("AGENT", self, 1);
    signal(SIGTERM, end_well);
    dprintf(1, "welcome\n");
    if (fork() == 0) {
        execv(argv[3], argv + 3);
        _exit(77);
    }
    while (wait(&status) < 0)
        ;
    return 0;
}

/* The outcome of the branches counts, not how their agents ended. */
static void test_agents(char *self)
{
    char agent[4096];
    snprintf(agent, sizeof(agent), "%s agent", self);
    CHECK_EQ(RUN("--agent", agent, "--hosts", "a,empty", "sleep", "100"), 1);
    check_says("gshmemrun: host empty: '");
    check_says(" agent' exited with 0 and has started nothing there\n");
    CHECK_EQ(RUN("--agent", "false", "--hosts", "a", "true"), 1);
    check_says("gshmemrun: host a: 'false' exited with 1 and has started nothing there\n");
    CHECK_EQ(RUN("--agent", agent, "--hosts", "a:2", "sh", "-c", "exit $GSHMEM_RANK"), 1);
    CHECK_STR(result.text, "welcome\ngshmemrun: PE 1 exited with status 1\n");
    CHECK_EQ(RUN("--agent", agent, "--hosts", "a:2", "printf", "no end"), 0);
    CHECK_STR(result.text, "welcome\nno end\nno end\n");
    CHECK_EQ(RUN("--agent", agent, "--hosts", "a", "sh", "-c", "kill $AGENT; exec sleep 100"), 1);
    check_says(" agent' exited with 0 before the PEs there ended\n");
    CHECK_EQ(RUN("--agent", agent, "--hosts", "a", "sh", "-c", "kill -9 $AGENT; sleep 100"), 137);
    check_says(" agent' was killed by signal 9 before the PEs there ended\n");
}

static void test_hosts(char *self)
{
    CHECK_EQ(ON_HOSTS("0:2,0,0:2", "sh", "-c", "echo $GSHMEM_RANK of $GSHMEM_N_RANKS"), 0);
    for (char rank = '0'; rank < '5'; rank++) {
        check_says((char[]){rank, ' ', 'o', 'f', ' ', '5', '\n', '\0'});
    }
    CHECK_EQ(count("of 5\n"), 5);
    CHECK_EQ(ON_HOSTS("0:2,0:4", "-n", "3", "--tag-output", "sh", "-c", "echo x"), 0);
    CHECK(count("] x\n") == 3 && count("[2] x\n") == 1);
    CHECK_EQ(run_with("to PE 0 alone\n",
                      (char *[]){"--agent", "nice -n", "--hosts", "0:2,0:2", "cat", NULL}),
             0);
    CHECK_STR(result.text, "to PE 0 alone\n");
    CHECK_EQ(ON_HOSTS("0:2,0:3", self, "pe"), 0);
    CHECK_STR(result.text, "");
    CHECK_EQ(ON_HOSTS("0:2,0:2", "sh", "-c", "[ $GSHMEM_RANK = 3 ] && exit 5; exec sleep 100"), 5);
    CHECK_STR(result.text, "gshmemrun: PE 3 exited with status 5\n");
    CHECK_EQ(ON_HOSTS("0:2,0:2", "no-such-program"), 127);
    CHECK_EQ(ON_HOSTS("0:2,nowhere:2", "true"), 125); /* nice's own end */
    check_says("host nowhere: 'nice -n' exited with 125 and has started nothing there");
    CHECK_EQ(ON_HOSTS("0:2", "-n", "3", "true"), 2);
    check_says("have room for 2\n");
    CHECK_EQ(ON_HOSTS("0:2,-oProxyCommand", "true"), 2);
    check_says("not a host");
    CHECK_EQ(ON_HOSTS("0:two", "true"), 2);
    CHECK_EQ(ON_HOSTS("", "true"), 2);
    CHECK_EQ(ON_HOSTS("0", "--threads", "true"), 2);
    CHECK_EQ(ON_HOSTS("0:100000,0", "true"), 2);
    check_says("too many PEs in all");
    /* this is no mark: there is no number */
    CHECK_EQ(ON_HOSTS("0", "printf", "\001gshmemrun \n7\n"), 0);
    CHECK_STR(result.text, "\001gshmemrun \n7\n");
    CHECK_EQ(ON_HOSTS("0", "--as", "oshrun", "sh", "-c", "exit 5"), 5);
    CHECK_STR(result.text, "oshrun: PE 0 exited with status 5\n");
}

/* Jobs that no launcher sends. */
static void test_branch(void)
{
    static const char text[] = "gshmemrun\0/\0true";
    struct {
        uint32_t magic, bytes;
        int32_t n_pes, first, count;
        uint32_t is_threads, tags_output, n_variables, n_words;
        char text[sizeof(text)];
    } job = {.magic = 0x67736872, .bytes = sizeof(text), .n_pes = 1, .count = 1, .n_words = 1};
    const size_t bytes = offsetof(__typeof__(job), text) + sizeof(text);
    char *const arguments[] = {"--branch", NULL};
    memcpy(job.text, text, sizeof(text));
    CHECK(run_on(&job, bytes, arguments) != 2); /* a good one, whose launcher is gone at once */
    job.n_pes = INT32_MIN;
    job.first = 1;
    CHECK_EQ(run_on(&job, bytes, arguments), 2);
    check_says("no job came in");
    job.n_pes = 1;
    job.first = 0;
    job.n_variables = UINT32_MAX;
    CHECK_EQ(run_on(&job, bytes, arguments), 2);
    CHECK_EQ(run_on(&job, 20, arguments), 2);
    CHECK_EQ(run_on(&job, 0, arguments), 2);
    check_says("no job came in");
}

/* The next line that is not the launcher's own. */
static bool read_line(int fd, char *line, size_t bytes)
{
    do {
        size_t n = 0;
        char c = '\0';
        while (c != '\n') {
            if (!CHECK(read(fd, &c, 1) == 1)) {
                return false;
            }
            if (n < bytes - 1) {
                line[n++] = c;
            }
        }
        line[n] = '\0';
    } while (strncmp(line, "gshmemrun: ", 11) == 0);
    return true;
}

/* Waits until n PEs have reported their presence. */
static void wait_for_lines(int fd, int n)
{
    char line[64];
    while (n > 0 && read_line(fd, line, sizeof(line))) {
        n--;
    }
}

#define HERE   "-n", "3", "sh", "-c", "echo here; exec sleep 100", NULL
#define ON_TWO "--agent", "nice -n", "--hosts", "0:2,0"

#define HEARS(name)        \
    "-n", "3", "sh", "-c", \
        "trap 'echo heard; exit 0' " name "; echo here; while :; do sleep 0.1; done", NULL

/* The status of three PEs' launcher, which got the signal when all had said a line. */
static int status_after(int sig, char *const arguments[])
{
    int fd, status = -1;
    pid_t child = start(arguments, "", &fd);
    wait_for_lines(fd, 3);
    CHECK_EQ(kill(child, sig), 0);
    read_all(fd);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A signal whose meaning is the program's reaches every PE, and ends nothing. */
static void test_own_signal(int sig, char *const arguments[])
{
    CHECK_EQ(status_after(sig, arguments), 0);
    CHECK_EQ(count("heard\n"), 3); /* the shells may say, too, how their sleeps ended */
}

static void test_signal(int sig, char *const arguments[])
{
    CHECK_EQ(status_after(sig, arguments), 128 + sig);
    check_says("gshmemrun: ended by signal");
    CHECK_EQ(count("gshmemrun"), 1);
}

/* A pipe that the PEs hold shows when the last is gone. */
static void test_launcher_killed(char *const arguments[])
{
    int fd, held[2], status = -1;
    char byte;
    CHECK_EQ(pipe(held), 0);
    pid_t child = start(arguments, "", &fd);
    close(held[1]);
    wait_for_lines(fd, 3);
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK(waitpid(child, &status, 0) == child);
    struct pollfd p = {.fd = held[0], .events = POLLIN};
    CHECK(poll(&p, 1, 30000) == 1 && read(held[0], &byte, 1) == 0);
    close(held[0]);
    close(fd);
}

/* SELF endless: a PE whose process is not the launcher's. */
__attribute__((noreturn)) static void run_endless(void)
{
    alarm(600);
    gshmem_init();
    dprintf(1, "here\n");
    for (;;) {
        pause();
    }
}

/* SELF outer COMMAND: PE 0 runs it. SELF inner: says how many PEs there are. */
static int nested_main(int argc, char **argv)
{
    gshmem_init();
    if (argc < 3) {
        printf("one of %d\n", gshmem_n_pes());
    } else if (gshmem_my_pe() == 0) {
        CHECK_EQ(system(argv[2]), 0);
    }
    gshmem_barrier_all();
    gshmem_finalize();
    return test_result();
}

/* Launchers that PEs start. */
static void test_nested(char *self)
{
    char threads[4096], processes[4096], nobody[4096];
    snprintf(threads, sizeof(threads), "'%s' -n 2 --threads '%s' inner", launcher, self);
    snprintf(processes, sizeof(processes), "'%s' -n 2 '%s' inner", launcher, self);
    snprintf(nobody, sizeof(nobody), "'%s' inner", self);
    CHECK_EQ(RUN("-n", "2", "--threads", self, "outer", threads), 0);
    CHECK_STR(result.text, "one of 2\none of 2\n");
    CHECK_EQ(RUN("-n", "2", self, "outer", processes), 0);
    CHECK_STR(result.text, "one of 2\none of 2\n");
    CHECK_EQ(RUN("-n", "2", "--threads", self, "outer", nobody), 0);
    CHECK_STR(result.text, "one of 1\n");
    /* another kind of launcher, that leaves gshmemrun's variables as they are */
    setenv("PMI_RANK", "0", 1);
    snprintf(nobody, sizeof(nobody), "PMI_RANK=1 '%s' inner", self);
    CHECK_EQ(RUN("-n", "2", self, "outer", nobody), 0);
    CHECK_STR(result.text, "one of 1\n");
    unsetenv("PMI_RANK");
}

static void leave(int sig)
{
    (void)sig;
    _exit(1);
}

/* SELF leaver: the same; says its numbers, and leaves when it gets SIGUSR1. */
__attribute__((noreturn)) static void run_leaver(void)
{
    alarm(600);
    signal(SIGUSR1, leave);
    gshmem_init();
    if (gshmem_my_pe() == 3) {
        signal(SIGTERM, SIG_IGN); /* it sees the others end */
    }
    gshmem_barrier_all();
    dprintf(1, "%d %d\n", gshmem_my_pe(), (int)getpid());
    for (;;) {
        pause();
    }
}

/* Whether the launcher need only await it. */
static bool has_ended(int pid)
{
    char path[64], name[64], state = 'R';
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL && fscanf(f, "%*d %63s %c", name, &state) == 2);
    if (f != NULL) {
        fclose(f);
    }
    return state == 'Z';
}

/* The launcher stands still while PE 2 leaves, and so do those that lose it; all exit with 1. */
static void test_blame(char *self)
{
    enum { N = 4 };
    int fd, status = -1, pids[N] = {0}, pe, pid;
    pid_t child = start((char *[]){"-n", "4", self, "leaver", NULL}, "", &fd);
    for (int i = 0; i < N; i++) {
        char line[32] = "";
        (void)read_line(fd, line, sizeof(line));
        if (CHECK(sscanf(line, "%d %d", &pe, &pid) == 2 && pe >= 0 && pe < N)) {
            pids[pe] = pid;
        }
    }
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(kill(pids[2], SIGUSR1), 0);
    for (int i = 0; i < N; i++) {
        while (!has_ended(pids[i])) {
            sched_yield();
        }
    }
    CHECK_EQ(kill(child, SIGCONT), 0);
    read_all(fd);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    check_says("error: PE 2 died or exited without gshmem_finalize");
    check_says("gshmemrun: PE 2 exited with status 1\n");
    CHECK_EQ(count(" died or exited"), 1);
}

/* PEs that the launcher ends do not blame each other. */
static void test_nobody_to_blame(char *self)
{
    int fd, status = -1;
    pid_t child = start((char *[]){"-n", "4", self, "leaver", NULL}, "", &fd);
    wait_for_lines(fd, 4);
    CHECK_EQ(kill(child, SIGTERM), 0);
    read_all(fd);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    CHECK_STR(result.text, "gshmemrun: ended by signal 15 (Terminated)\n");
}

/* In a PE: two jobs one after another. */
static int run_pe(void)
{
    struct gsh_uid_options options = {.timeout_ns = 60 * SECOND};
    struct gsh_uid id;
    const char *uid = getenv("GSHMEM_UID"), *rank = getenv("GSHMEM_RANK");
    const char *n_ranks = getenv("GSHMEM_N_RANKS");
    if (!CHECK(uid && rank && n_ranks) || !CHECK_EQ(gsh_uid_from_text(uid, &id), GSH_OK)) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        struct gsh_bootstrap *b = NULL;
        if (!CHECK_EQ(gsh_bootstrap_uid_create(&id, atoi(rank), atoi(n_ranks), &options, &b),
                      GSH_OK)) {
            return 1;
        }
        conform_exchange(b, 4096);
        b->ops->destroy(b);
    }
    return test_result();
}

/* PE 2 dies at its next message over a socket, which is at the end: the monitor of others may be
 * gone by then. */
static void run_late(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
    gshmem_init();
    if (gshmem_my_pe() == 2) {
        CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        CHECK_EQ(
            syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program), 0);
    }
    gshmem_finalize();
    exit(test_result());
}

/* Only the PE that has died is named, whoever the launcher has ended first. The others give the
 * launcher half a second to end them: if the machine lets it run later, they speak for themselves,
 * and it is tried again. */
static void test_late(char *self)
{
    enum { N_RUNS = 6, N_TRIES = 5 };
    for (int i = 0; i < N_RUNS; i++) {
        bool is_quiet = false;
        for (int n = 0; n < N_TRIES && !is_quiet; n++) {
            CHECK_EQ(RUN("-n", "8", self, "late"), 128 + SIGSYS);
            check_says("gshmemrun: PE 2 was killed by signal 31");
            is_quiet = count("died or left") == 0 && count("died or exited") <= 1 &&
                       count("died or exited") == count("PE 2 died");
        }
        if (!CHECK(is_quiet)) {
            fprintf(stderr, "said: %s\n", result.text);
        }
    }
}

/* A launcher under another one, as a shell starts it. */
static int run_in_shell(const char *command)
{
    return RUN("-n", "1", "sh", "-c", (char *)command, (char *)launcher);
}

static void test_surroundings(void)
{
    CHECK_EQ(run_in_shell("ulimit -s 64; \"$0\" -n 2 --tag-output echo x"), 0);
    CHECK(count("[0] x\n") == 1 && count("[1] x\n") == 1);
    CHECK_EQ(run_in_shell("\"$0\" -n 3 echo x >/dev/full"), 1);
    CHECK_EQ(
        count("gshmemrun: cannot write to stdout, so output is lost: No space left on device\n"),
        1);
    CHECK_EQ(run_in_shell("\"$0\" -n 2 sh -c 'echo x; exit 7' >/dev/full"), 7);
    CHECK_EQ(run_in_shell("\"$0\" -n 2 true >/dev/full"), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "pe") == 0) {
        return run_pe();
    }
    if (argc > 1 && strcmp(argv[1], "endless") == 0) {
        run_endless();
    }
    if (argc > 1 && (strcmp(argv[1], "outer") == 0 || strcmp(argv[1], "inner") == 0)) {
        return gshmemx_run(nested_main, argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], "leaver") == 0) {
        run_leaver();
    }
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        run_late();
    }
    if (argc > 3 && strcmp(argv[1], "agent") == 0) {
        return run_agent(argv);
    }
    if (argc > 1) {
        launcher = argv[1];
    }
    alarm(600);
    test_usage();
    CHECK_EQ(RUN("-n", "5", argv[0], "pe"), 0);
    CHECK_STR(result.text, "");
    test_output();
    test_surroundings();
    test_many();
    test_failures();
    test_branch();
    test_hosts(argv[0]);
    test_agents(argv[0]);
    test_signal(SIGINT, (char *[]){HERE});
    test_signal(SIGTERM, (char *[]){HERE});
    test_signal(SIGHUP, (char *[]){HERE});
    test_own_signal(SIGUSR1, (char *[]){HEARS("USR1")});
    test_own_signal(SIGUSR2, (char *[]){ON_TWO, HEARS("USR2")});
    test_signal(SIGTERM, (char *[]){ON_TWO, HERE});
    test_launcher_killed((char *[]){HERE});
    test_launcher_killed((char *[]){ON_TWO, HERE});
    setenv("GSHMEM_DEVICE", "cpu", 1);
    test_nested(argv[0]);
    test_blame(argv[0]);
    test_nobody_to_blame(argv[0]);
    /* Their parents are killed; the PEs find it themselves. */
    char wrapped[4096];
    snprintf(wrapped, sizeof(wrapped), "'%s' endless; true", argv[0]);
    test_launcher_killed((char *[]){"-n", "3", "sh", "-c", wrapped, NULL});
    test_launcher_killed((char *[]){ON_TWO, "-n", "3", "sh", "-c", wrapped, NULL});
    if (argc > 2) {
        /* each on a node of its own */
        setenv("GSHMEM_UCX_PLUGIN", argv[2], 1);
        setenv("GSHMEM_NODE_PES", "1", 1);
        test_launcher_killed((char *[]){"-n", "3", "sh", "-c", wrapped, NULL});
        setenv("GSHMEM_NODE_PES", "3", 1);
        test_late(argv[0]);
    }
    return test_result();
}
