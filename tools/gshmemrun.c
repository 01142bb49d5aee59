/* SPDX-License-Identifier: Apache-2.0
 * The launcher of PEs: serves the rendezvous of the processes it has started, forwards their output
 * by whole lines, and ends all if one fails. With several hosts its processes are branches, one per
 * host: this program again, which does the same for the PEs there (gshmemrun_hosts.h). */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/env.h"
#include "base/process.h"
#include "base/result.h"
#include "base/util.h"
#include "bootstrap/socket.h"
#include "bootstrap/uid.h"
#include "tools/gshmemrun_hosts.h"
#include "tools/gshmemrun_nccl.h"
#include "tools/gshmemrun_options.h"
#include "tools/gshmemrun_output.h"
#include "tools/gshmemrun_report.h"
#include "tools/gshmemrun_start.h"
#include "trace/merge.h"

#define GRACE_NS           UINT64_C(2000000000)  /* from SIGTERM to SIGKILL when a PE failed */
#define INTERRUPT_GRACE_NS UINT64_C(10000000000) /* for programs that save their state */

/* ---- ending ---- */

static void signal_all(const struct gshmemrun_launcher *l, int sig)
{
    for (int i = 0; i < l->n_processes; i++) {
        if (l->processes[i].pid > 0) {
            /* a branch passes it on; if its agent is gone it ends its processes */
            if (l->options.hosts != NULL && sig != SIGKILL) {
                gshmemrun_send_frame(l->processes[i].frames_to, GSHMEMRUN_SIGNAL, &sig,
                                     sizeof(sig));
            } else {
                kill(-l->processes[i].pid, sig);
            }
        }
    }
}

/* pe: the one that has failed; -1: another reason. */
static void end_all(struct gshmemrun_launcher *l, int pe)
{
    if (l->kill_ns != 0) {
        return;
    }
    gsh_process_say_ends_others(pe);
    l->kill_ns = gsh_now_ns() + GRACE_NS;
    signal_all(l, SIGTERM);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The first failure determines the status, with one exception: a PE that has lost another one, or
 * heard of the end, may be seen before that other one. It says so (follows), or at least exits with
 * 1. True: this is the one to explain. */
static bool fail(struct gshmemrun_launcher *l, int code, int pe, bool follows)
{
    bool is_own_doing = l->kill_ns != UINT64_MAX && code != 128 + SIGTERM;
    bool is_first = !l->has_failed && l->status == 0;
    bool is_cause = (l->failed >= 0 || l->options.hosts != NULL) && is_own_doing && !follows &&
                    (l->failed_follows || (l->status == 1 && code > 1));
    if (is_first || is_cause) {
        l->status = code;
        l->failed_follows = follows;
    }
    l->has_failed = true;
    end_all(l, pe);
    return is_first || is_cause;
}

static void take_end(struct gshmemrun_launcher *l, int i, int status, bool follows)
{
    bool is_quiet = l->is_interrupted || (l->has_failed && l->failed < 0);
    int code = code_of(status), pe = follows ? -1 : l->options.first + i;
    if (code != 0 && fail(l, code, pe, follows) && !is_quiet) {
        l->failed = i;
        l->failed_status = status;
    }
}

/* Called when all have ended. */
static void explain(const struct gshmemrun_launcher *l)
{
    char name[64];
    int status = l->failed_status;
    if (l->failed < 0) {
        return;
    }
    if (WIFSIGNALED(status)) {
        gshmemrun_say("%s was killed by signal %d (%s)", gshmemrun_name_of(l, l->failed, name),
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        gshmemrun_say("%s exited with status %d", gshmemrun_name_of(l, l->failed, name),
                      WEXITSTATUS(status));
    }
}

/* A branch has itself reported what went wrong with its PEs; the agent's own failures come here. */
static void take_branch_end(struct gshmemrun_launcher *l, int host, int status)
{
    char name[64], how[32];
    int code = code_of(status);
    int mark = l->processes[host].streams[0].mark;
    bool is_own = mark == GSHMEMRUN_NO_MARK || WIFSIGNALED(status) || code == 255 || code == 0;
    if (mark >= 0) {
        if (mark > 0) {
            fail(l, mark, -1, false);
        }
        return;
    }
    snprintf(how, sizeof(how), WIFSIGNALED(status) ? "was killed by signal %d" : "exited with %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : code);
    if (is_own && !l->is_interrupted && !l->has_failed) {
        gshmemrun_say("%s: '%s' %s %s", gshmemrun_name_of(l, host, name), l->options.agent, how,
                      mark == GSHMEMRUN_NO_MARK ? "and has started nothing there"
                                                : "before the PEs there ended");
    }
    fail(l, code ? code : 1, -1, false);
}

/* ---- events ---- */

static void reap(struct gshmemrun_launcher *l)
{
    for (;;) {
        siginfo_t info = {0};
        int status, rank = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        while (rank < l->n_processes && l->processes[rank].pid != info.si_pid) {
            rank++;
        }
        bool follows = gsh_process_follows(info.si_pid);
        /* Until it is reaped its number is its group's, so processes that it left behind end with
         * it. */
        if (rank < l->n_processes) {
            kill(-info.si_pid, SIGKILL);
        }
        if (waitpid(info.si_pid, &status, 0) != info.si_pid || rank == l->n_processes) {
            continue;
        }
        l->processes[rank].pid = 0;
        l->n_running--;
        gsh_socket_close(&l->processes[rank].frames_to);
        gshmemrun_drain_stream(&l->processes[rank].streams[0]);
        gshmemrun_drain_stream(&l->processes[rank].streams[1]);
        if (l->options.hosts != NULL) {
            take_branch_end(l, rank, status);
        } else {
            take_end(l, rank, status, follows);
        }
    }
}

/* The process of a PE. */
static int process_of(const struct gshmemrun_launcher *l, int pe)
{
    int i = 0;
    if (l->options.hosts == NULL) {
        return pe;
    }
    while (i < l->n_processes - 1 && pe >= l->options.hosts[i + 1].first) {
        i++;
    }
    return i;
}

/* PEs that wait in start-up for one that has ended would wait for ever. Comes after reap: an ended
 * PE's contacts with the rendezvous were noted before its end. */
static void check_waiting(struct gshmemrun_launcher *l)
{
    int32_t rank;
    int waiting = -1, gone = -1;
    char name[2][64];
    while (l->notes >= 0 && read(l->notes, &rank, sizeof(rank)) == (ssize_t)sizeof(rank)) {
        for (int i = 0; i < l->n_processes && rank < 0; i++) {
            l->processes[i].is_waiting = false;
        }
        if (rank >= 0) {
            l->processes[process_of(l, rank)].is_waiting = true;
        }
    }
    for (int i = l->n_started - 1; i >= 0; i--) {
        waiting = l->processes[i].is_waiting ? i : waiting;
        gone = l->processes[i].pid == 0 && !l->processes[i].is_waiting ? i : gone;
    }
    if (waiting < 0 || gone < 0 || l->has_failed || l->is_interrupted) {
        return;
    }
    gshmemrun_say("%s has ended without gshmem_init, where %s waits for it",
                  gshmemrun_name_of(l, gone, name[0]), gshmemrun_name_of(l, waiting, name[1]));
    l->has_failed = true;
    l->status = 1;
    end_all(l, -1);
}

/* Our own signal, or one that the launcher passes on to a branch. */
static void pass_signal(struct gshmemrun_launcher *l, int sig)
{
    if (sig == SIGUSR1 || sig == SIGUSR2) { /* the program's, such as "write a checkpoint" */
        signal_all(l, sig);
        return;
    }
    if (l->is_interrupted) { /* the second one is meant seriously */
        signal_all(l, SIGKILL);
        return;
    }
    if (!l->options.is_branch) {
        gshmemrun_say("ended by signal %d (%s)", sig, strsignal(sig));
    }
    l->is_interrupted = true;
    if (l->status == 0) {
        l->status = 128 + sig;
    }
    gsh_process_say_ends_others(-1);
    signal_all(l, sig);
    l->kill_ns = gsh_now_ns() + INTERRUPT_GRACE_NS;
}

static void take_signal(struct gshmemrun_launcher *l)
{
    struct signalfd_siginfo info;
    if (read(l->signal_fd, &info, sizeof(info)) != sizeof(info)) {
        return;
    }
    int sig = (int)info.ssi_signo;
    if (sig == SIGCHLD) {
        reap(l);
        return;
    }
    if (sig == SIGQUIT) {
        gshmemrun_report();
        return;
    }
    pass_signal(l, sig);
}

/* Passes our stdin to PE 0, or to the branch that has PE 0. */
static void pass_stdin(struct gshmemrun_launcher *l)
{
    char data[4096];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));
    if (n < 0 && errno == EINTR) {
        return;
    }
    if (l->options.hosts != NULL) {
        gshmemrun_send_frame(l->processes[0].frames_to,
                             n > 0 ? GSHMEMRUN_STDIN : GSHMEMRUN_STDIN_END, data,
                             n > 0 ? (size_t)n : 0);
        l->is_stdin_over = n <= 0;
    } else if (n > 0) {
        gshmemrun_write_all(l->stdin_to, data, (size_t)n);
    } else {
        gsh_socket_close(&l->stdin_to);
    }
}

/* In a branch. If PE 0 does not read, the launcher waits once the pipe is full. */
static void take_frames(struct gshmemrun_launcher *l)
{
    enum gshmemrun_frame kind;
    const void *payload;
    size_t bytes;
    int sig;
    for (;;) {
        switch (gshmemrun_next_frame(&l->frames, STDIN_FILENO, &kind, &payload, &bytes)) {
        case GSHMEMRUN_NOTHING_YET:
            return;
        case GSHMEMRUN_LAUNCHER_GONE:
            l->is_launcher_gone = true;
            signal_all(l, SIGKILL);
            return;
        case GSHMEMRUN_FRAME:
            break;
        }
        if (kind == GSHMEMRUN_STDIN && l->stdin_to >= 0) {
            gshmemrun_write_all(l->stdin_to, payload, bytes);
        } else if (kind == GSHMEMRUN_STDIN_END) {
            gsh_socket_close(&l->stdin_to);
        } else if (kind == GSHMEMRUN_SIGNAL && bytes == sizeof(sig)) {
            memcpy(&sig, payload, sizeof(sig));
            pass_signal(l, sig);
        }
    }
}

static void check_time(struct gshmemrun_launcher *l)
{
    uint64_t now = gsh_now_ns();
    if (l->end_ns != 0 && now >= l->end_ns) {
        l->end_ns = 0;
        gshmemrun_say("the time limit of %g s is over", (double)l->options.timeout_ns * 1e-9);
        if (l->status == 0) {
            l->status = GSHMEMRUN_TIMEOUT;
        }
        l->has_failed = true;
        end_all(l, -1);
    }
    if (l->kill_ns != 0 && now >= l->kill_ns) {
        signal_all(l, SIGKILL);
        l->kill_ns = UINT64_MAX;
    }
}

static int next_time_ms(const struct gshmemrun_launcher *l)
{
    uint64_t next = l->end_ns;
    if (l->kill_ns != 0 && l->kill_ns != UINT64_MAX && (next == 0 || l->kill_ns < next)) {
        next = l->kill_ns;
    }
    return gsh_deadline_poll_ms(next);
}

/* Our stdin if it is to be read now, else -1. Only our process group may read a terminal. */
static int stdin_to_read(const struct gshmemrun_launcher *l)
{
    if (l->options.is_branch) {
        return l->is_launcher_gone ? -1 : STDIN_FILENO;
    }
    bool is_ours = l->options.hosts != NULL ? !l->is_stdin_over : l->stdin_to >= 0;
    bool may_read = !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
    return is_ours && may_read ? STDIN_FILENO : -1;
}

static void read_streams(const struct gshmemrun_launcher *l)
{
    struct epoll_event events[64];
    int n = epoll_wait(l->streams_fd, events, (int)GSH_ARRAY_LEN(events), 0);
    for (int i = 0; i < n; i++) {
        struct gshmemrun_stream *s = events[i].data.ptr;
        if (s->fd >= 0) {
            gshmemrun_read_stream(s);
        }
    }
}

static void step(struct gshmemrun_launcher *l, int limit_ms)
{
    enum { SIGNALS, INPUT, NOTES, STREAMS, N };
    struct pollfd fds[N] = {[SIGNALS] = {.fd = l->signal_fd, .events = POLLIN},
                            [INPUT] = {.fd = stdin_to_read(l), .events = POLLIN},
                            [NOTES] = {.fd = l->notes, .events = POLLIN},
                            [STREAMS] = {.fd = l->streams_fd, .events = POLLIN}};
    if (poll(fds, N, limit_ms) > 0) {
        if (fds[STREAMS].revents) {
            read_streams(l);
        }
        if (fds[INPUT].revents && l->options.is_branch) {
            take_frames(l);
        } else if (fds[INPUT].revents) {
            pass_stdin(l);
        }
        if (fds[SIGNALS].revents) {
            take_signal(l);
        }
        if (fds[SIGNALS].revents || fds[NOTES].revents) {
            check_waiting(l);
        }
    }
    check_time(l);
}

/* Between two starts it looks for what has happened, so that a signal or a failure ends the job
 * before all have begun. */
static void run(struct gshmemrun_launcher *l)
{
    for (;;) {
        bool starts = l->n_started < l->n_processes && !l->has_failed && !l->is_interrupted &&
                      !l->is_launcher_gone;
        if (starts && !gshmemrun_start_next(l)) {
            l->status = 1;
            l->has_failed = true;
            end_all(l, -1);
        } else if (!starts && l->n_running == 0) {
            return;
        }
        step(l, starts ? 0 : next_time_ms(l));
    }
}

static void take_signals(struct gshmemrun_launcher *l)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* For the pipe to PE 0's stdin; write_all handles the others. */
    signal(SIGPIPE, SIG_IGN);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
}

/* Descriptors opened later must not become stdin, stdout or stderr. */
static void open_standard_descriptors(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- the timeline ---- */

/* Branches leave it to the launcher. PEs on other hosts see the same path. */
static void begin_timeline(struct gshmemrun_options *o)
{
    const char *set = gsh_env_text("GSHMEM_TRACE");
    if (o->is_branch) {
        return;
    }
    if (o->trace == NULL && set != NULL && set[0] != '\0') {
        o->trace = set;
    }
    if (o->trace != NULL) {
        if (gsh_trace_try_file(o->trace) != GSH_OK) {
            exit(2); /* with a line, as all that fails */
        }
        gsh_trace_clear(o->trace);
        setenv("GSHMEM_TRACE", o->trace, 1);
        /* Ranges of NVTX come to the library (runtime/trace/nvtx.c), if no profiler wants them. */
        setenv("NVTX_INJECTION64_PATH", "libgshmem.so.0", 0);
    }
}

/* All PEs have ended, in whatever way. */
static void end_timeline(struct gshmemrun_launcher *l)
{
    if (l->options.trace != NULL && !l->options.is_branch &&
        gsh_trace_merge(l->options.trace, 0, l->options.trace, NULL) != GSH_OK) {
        l->status = l->status == 0 ? 1 : l->status;
    }
}

int main(int argc, char **argv)
{
    static struct gshmemrun_launcher l = {.notes = -1,
                                          .failed = -1}; /* what it points to stays until the end */
    open_standard_descriptors();
    gshmemrun_parse(argc, argv, &l.options);
    const struct gshmemrun_options *o = &l.options;
    if (o->is_nccl) {
        gshmemrun_use_nccl();
    }
    if (o->is_nccl && o->n_pes == 0) {
        gshmemrun_become(o);
    }
    l.n_processes = o->is_threads ? 1 : o->hosts != NULL ? o->n_hosts : o->count;
    l.processes = calloc((size_t)l.n_processes, sizeof(*l.processes));
    l.streams_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l.processes == NULL || l.streams_fd < 0) {
        gshmemrun_say("no memory for %d PEs", l.n_processes);
        return 1;
    }
    for (int i = 0; i < l.n_processes; i++) {
        l.processes[i].frames_to = -1;
        for (int k = 0; k < 2; k++) {
            l.processes[i].streams[k] = (struct gshmemrun_stream){
                .fd = -1,
                .to = k + STDOUT_FILENO,
                .tag = o->tags_output && o->hosts == NULL ? o->first + i : -1,
                .takes_marks = o->hosts != NULL && k == 0,
                .mark = GSHMEMRUN_NO_MARK,
            };
        }
    }
    if (o->is_branch) { /* frames are taken as they come */
        (void)!fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    }
    take_signals(&l);
    begin_timeline(&l.options);
    gshmemrun_set_environment(&l);
    if (l.options.timeout_ns) {
        l.end_ns = gsh_now_ns() + l.options.timeout_ns;
    }
    gshmemrun_prepare_start(&l);
    run(&l);
    explain(&l);
    end_timeline(&l);
    if (l.status == 0 && gshmemrun_has_lost_output()) {
        l.status = 1;
    }
    if (o->is_branch) {
        gshmemrun_send_mark(l.status);
    }
    free(l.processes);
    return l.status;
}
