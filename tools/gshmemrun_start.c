/* SPDX-License-Identifier: Apache-2.0
 * Starting the processes: their environment, descriptors and command. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/env.h"
#include "base/limits.h"
#include "base/util.h"
#include "bootstrap/socket.h"
#include "bootstrap/uid.h"

#define PROGRESS_NS UINT64_C(3000000000)
/* Descriptors beside those of processes, their output and a branch's stdin, and of PEs that wait in
 * start-up. */
#define OWN_FILES        32
#define FILES_OF_PROCESS 2 /* its output */

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

/* Sets what all processes get; each also gets its rank. */
void gshmemrun_set_environment(struct gshmemrun_launcher *l)
{
    const struct gshmemrun_options *o = &l->options;
    static const char *const others[] = {"GSHMEM_UID", "GSHMEM_RANK", "GSHMEM_N_RANKS",
                                         "GSHMEM_THREADS"};
    const char *ifname = gsh_env_text("GSHMEM_UID_IFNAME"),
               *family = gsh_env_text("GSHMEM_UID_FAMILY");
    const char *usual = o->hosts != NULL ? "" : "lo";
    /* Ranks have their own limit; PEs may take any time before init. */
    struct gsh_uid_options uid_options = {.ifname = ifname != NULL && ifname[0] ? ifname : usual,
                                          .family = family,
                                          .serves_again = true};
    struct gsh_uid id;
    char text[2 * GSH_UID_BYTES + 1];
    set_number("GSHMEM_LAUNCHER", getpid());
    if (o->is_branch) {
        return; /* the rest came with the job */
    }
    for (size_t i = 0; i < GSH_ARRAY_LEN(others); i++) {
        unsetenv(others[i]);
    }
    if (o->is_threads || o->hosts != NULL) {
        /* For PEs that share a GPU, or are far: no PE's CUDA call may wait for another's kernel, as
         * loading a kernel and streams that share a queue do. */
        setenv("CUDA_MODULE_LOADING", "EAGER", 0);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    }
    if (o->is_threads) {
        set_number("GSHMEM_THREADS", o->n_pes);
        return;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        gshmemrun_say("pipe: %s", strerror(errno));
        exit(1);
    }
    l->notes = ends[0];
    uid_options.notes_to = ends[1];
    uid_options.n_files =
        (FILES_OF_PROCESS + (o->hosts != NULL)) * l->n_processes + o->n_pes + OWN_FILES;
    if (gsh_uid_create(&uid_options, &id) != GSH_OK) {
        exit(1);
    }
    gsh_uid_to_text(&id, text);
    /* the rendezvous has its thread by now, which reads no environment */
    setenv("GSHMEM_UID", text, 1);
    set_number("GSHMEM_N_RANKS", o->n_pes);
}

/* In the child: what stdin, stdout, stderr become. in -1: nothing to read. */
static void set_descriptors(int in, int out, int err)
{
    if (in < 0) {
        in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (in >= 0) {
        dup2(in, STDIN_FILENO);
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
}

__attribute__((noreturn)) static void become(const char *path, char **command, pid_t launcher,
                                             int in, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    set_descriptors(in, out, err);
    /* Detects by its number a launcher that died before this took effect. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) {
        _exit(1);
    }
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(path, command);
    gshmemrun_say("%s: %s", path, strerror(errno));
    _exit(GSHMEMRUN_CANNOT_RUN);
}

/* "PE 3", "host b", "the program": the name of the process in messages. */
const char *gshmemrun_name_of(const struct gshmemrun_launcher *l, int i, char text[64])
{
    if (l->options.hosts != NULL) {
        snprintf(text, 64, "host %s", l->options.hosts[i].name);
    } else if (l->options.is_threads) {
        snprintf(text, 64, "the program");
    } else {
        snprintf(text, 64, "PE %d", l->options.first + i);
    }
    return text;
}

static bool add_stream(const struct gshmemrun_launcher *l, struct gshmemrun_stream *s)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    bool is_ok = epoll_ctl(l->streams_fd, EPOLL_CTL_ADD, s->fd, &e) == 0;
    if (!is_ok) {
        gshmemrun_say("cannot watch another process's output: %s", strerror(errno));
    }
    return is_ok;
}

static bool start_process(struct gshmemrun_launcher *l, int i, const char *path, char **command,
                          int in)
{
    struct gshmemrun_process *process = &l->processes[i];
    pid_t self = getpid();
    char name[64];
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    bool is_ok = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    pid_t pid = is_ok ? fork() : -1;
    if (pid == 0) {
        become(path, command, self, in, out[1], err[1]);
    }
    if (pid > 0) {
        /* Here, too: a signal may be passed on before the child has done this. */
        setpgid(pid, pid);
        process->pid = pid;
        l->n_running++;
        process->streams[0].fd = out[0];
        process->streams[1].fd = err[0];
        out[0] = err[0] = -1;
        is_ok = add_stream(l, &process->streams[0]) && add_stream(l, &process->streams[1]);
    } else {
        const int error = errno;
        gshmemrun_say("cannot start %s: %s%s", gshmemrun_name_of(l, i, name), strerror(error),
                      error == EMFILE ? " (each takes two; see ulimit -n)"
                                      : gsh_limits_hint(error, &(struct gsh_limits_text){0}));
    }
    gsh_socket_close(&out[0]);
    gsh_socket_close(&out[1]);
    gsh_socket_close(&err[0]);
    gsh_socket_close(&err[1]);
    return pid > 0 && is_ok;
}

static bool start_pe(struct gshmemrun_launcher *l, int i, int in)
{
    if (!l->options.is_threads) {
        set_number("GSHMEM_RANK", l->options.first + i);
    }
    return start_process(l, i, l->options.path, l->options.command, i == 0 ? in : -1);
}

static bool start_branch(struct gshmemrun_launcher *l, int host)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        gshmemrun_say("pipe: %s", strerror(errno));
        return false;
    }
    char **command = gshmemrun_agent_command(&l->options, host);
    bool is_ok = start_process(l, host, command[0], command, ends[0]);
    free(command);
    close(ends[0]);
    l->processes[host].frames_to = ends[1];
    return is_ok && gshmemrun_send_job(ends[1], &l->options, host);
}

/* PE 0 reads our stdin itself, unless that is a terminal, which only our process group may read. */
static int open_stdin(struct gshmemrun_launcher *l)
{
    int ends[2];
    l->stdin_to = -1;
    if (l->options.is_branch && l->options.first > 0) {
        return -1;
    }
    if (!l->options.is_branch && !isatty(STDIN_FILENO)) {
        return STDIN_FILENO;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    l->stdin_to = ends[1];
    return ends[0];
}

/* Of processes on this host: one if PEs are threads, whose needs the program looks at. */
static void check_limits(const struct gshmemrun_launcher *l)
{
    char limit[640];
    const uint64_t n = (uint64_t)l->n_processes;
    if (l->options.hosts == NULL &&
        (!gsh_limits_have_threads(n, limit, sizeof(limit)) ||
         !gsh_limits_have_files(n, FILES_OF_PROCESS * n, limit, sizeof(limit)))) {
        gshmemrun_say("%s", limit);
        exit(1);
    }
}

void gshmemrun_prepare_start(struct gshmemrun_launcher *l)
{
    check_limits(l);
    l->stdin_to = l->stdin_of_first = -1;
    if (l->options.hosts == NULL) {
        l->stdin_of_first = open_stdin(l);
    }
    l->told_ns = gsh_now_ns();
}

/* Says how far it is, if it takes long. */
static void tell_progress(struct gshmemrun_launcher *l)
{
    uint64_t now = gsh_now_ns();
    if (now - l->told_ns >= PROGRESS_NS && !l->options.is_branch) {
        l->told_ns = now;
        gshmemrun_say("%d of %d processes are started", l->n_started, l->n_processes);
    }
}

bool gshmemrun_start_next(struct gshmemrun_launcher *l)
{
    int i = l->n_started++;
    if (l->options.hosts != NULL) {
        return start_branch(l, i);
    }
    bool is_ok = start_pe(l, i, l->stdin_of_first);
    if (l->stdin_of_first > STDIN_FILENO) {
        close(l->stdin_of_first);
    }
    l->stdin_of_first = -1;
    tell_progress(l);
    return is_ok;
}
