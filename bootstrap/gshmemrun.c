/* SPDX-License-Identifier: Apache-2.0
 * The launcher of PEs on one machine: starts the processes, serves their rendezvous, hands their
 * output on by whole lines, and ends all when one fails. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/gshmemrun_options.h"
#include "bootstrap/socket.h"
#include "bootstrap/uid.h"
#include "runtime/base/util.h"

#define GRACE_NS           UINT64_C(2000000000)  /* from SIGTERM to SIGKILL when a PE failed */
#define INTERRUPT_GRACE_NS UINT64_C(10000000000) /* for programs that save their state */
#define LINE_BYTES         65536                 /* a longer line is handed on in parts */

/* stdout or stderr of one PE. */
struct stream {
    int fd; /* -1: ended */
    int to;
    size_t used;
    char line[LINE_BYTES];
};

struct pe {
    pid_t pid;       /* 0: ended */
    bool is_waiting; /* in start-up, for the others */
    struct stream streams[2];
};

struct launcher {
    struct gshmemrun_options options;
    int n_processes;
    struct pe *pes; /* [n_processes] */
    int n_running;
    int signal_fd;
    int notes;           /* from the rendezvous: who waits (uid.h); -1: none */
    int stdin_to;        /* pipe to PE 0; -1: none, or PE 0 has our stdin itself */
    uint64_t end_ns;     /* --timeout; 0: none */
    uint64_t kill_ns;    /* when those told to end are killed; 0: nobody was told */
    bool is_interrupted; /* by a signal, which needs no further explanation */
    bool has_failed;
    int status;
};

/* ---- starting ---- */

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* What all processes get; each its rank besides. */
static void set_environment(struct launcher *l)
{
    const struct gshmemrun_options *o = &l->options;
    static const char *const others[] = {"GSHMEM_UID", "GSHMEM_RANK", "GSHMEM_N_RANKS",
                                         "GSHMEM_THREADS"};
    const char *ifname = getenv("GSHMEM_UID_IFNAME"), *family = getenv("GSHMEM_UID_FAMILY");
    /* Ranks have a limit of their own; PEs may take their time before init. */
    struct gsh_uid_options uid_options = {
        .ifname = ifname && ifname[0] ? ifname : "lo", .family = family, .serves_again = true};
    struct gsh_uid id;
    char text[2 * GSH_UID_BYTES + 1];
    for (size_t i = 0; i < GSH_ARRAY_LEN(others); i++)
        unsetenv(others[i]);
    if (o->is_threads) {
        set_number("GSHMEM_THREADS", o->n_pes);
        return;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        fprintf(stderr, "gshmemrun: pipe: %s\n", strerror(errno));
        exit(1);
    }
    l->notes = ends[0];
    uid_options.notes_to = ends[1];
    if (gsh_uid_create(&uid_options, &id) != GSH_OK)
        exit(1);
    gsh_uid_to_text(&id, text);
    setenv("GSHMEM_UID", text, 1);
    set_number("GSHMEM_N_RANKS", o->n_pes);
}

/* In the child: what stdin, stdout, stderr become. */
static void set_descriptors(int rank, int in, int out, int err)
{
    if (rank != 0)
        in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in >= 0)
        dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
}

__attribute__((noreturn)) static void become_pe(const struct launcher *l, int rank, pid_t launcher,
                                                int in, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    set_descriptors(rank, in, out, err);
    /* A launcher that died before this took effect is found by its number. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(1);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(l->options.path, l->options.command);
    dprintf(STDERR_FILENO, "gshmemrun: %s: %s\n", l->options.path, strerror(errno));
    _exit(GSHMEMRUN_CANNOT_RUN);
}

static bool start_pe(struct launcher *l, int rank, int in)
{
    struct pe *pe = &l->pes[rank];
    pid_t self = getpid();
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (!l->options.is_threads)
        set_number("GSHMEM_RANK", rank);
    bool is_ok = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    pid_t pid = is_ok ? fork() : -1;
    if (pid == 0)
        become_pe(l, rank, self, in, out[1], err[1]);
    if (pid > 0) {
        /* Here too: a signal may be passed on before the child has done it. */
        setpgid(pid, pid);
        pe->pid = pid;
        l->n_running++;
        pe->streams[0].fd = out[0];
        pe->streams[1].fd = err[0];
        out[0] = err[0] = -1;
    } else {
        fprintf(stderr, "gshmemrun: cannot start PE %d: %s%s\n", rank, strerror(errno),
                errno == EMFILE ? " (each takes two; see ulimit -n)" : "");
    }
    gsh_socket_close(&out[0]);
    gsh_socket_close(&out[1]);
    gsh_socket_close(&err[0]);
    gsh_socket_close(&err[1]);
    return pid > 0;
}

/* PE 0 reads our stdin itself, unless it is a terminal: only our process group may read that. */
static int open_stdin(struct launcher *l)
{
    int ends[2];
    l->stdin_to = -1;
    if (!isatty(STDIN_FILENO))
        return STDIN_FILENO;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    l->stdin_to = ends[1];
    return ends[0];
}

/* ---- ending ---- */

static void signal_all(const struct launcher *l, int sig)
{
    for (int i = 0; i < l->n_processes; i++)
        if (l->pes[i].pid > 0)
            kill(-l->pes[i].pid, sig);
}

static void end_all(struct launcher *l)
{
    if (l->kill_ns != 0)
        return;
    l->kill_ns = gsh_now_ns() + GRACE_NS;
    signal_all(l, SIGTERM);
}

static void report_end(struct launcher *l, int rank, int status)
{
    bool is_quiet = l->is_interrupted || l->has_failed;
    char who[32] = "the program";
    if (!l->options.is_threads)
        snprintf(who, sizeof who, "PE %d", rank);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (!l->has_failed && l->status == 0)
        l->status = code;
    if (!is_quiet && WIFSIGNALED(status))
        fprintf(stderr, "gshmemrun: %s was killed by signal %d (%s)\n", who, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (!is_quiet)
        fprintf(stderr, "gshmemrun: %s exited with status %d\n", who, code);
    l->has_failed = true;
    end_all(l);
}

/* ---- output ---- */

static void write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            (void)poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            /* Nobody reads our output: end as any program would, and the PEs with it. */
            if (errno == EPIPE && fd <= STDERR_FILENO) {
                signal(SIGPIPE, SIG_DFL);
                raise(SIGPIPE);
            }
            return;
        } else if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
}

/* Hands on the first `bytes` of what is kept, which are whole lines; each gets its tag. */
static void hand_on(const struct launcher *l, struct stream *s, int rank, size_t bytes)
{
    char tag[16] = "";
    if (l->options.tags_output)
        snprintf(tag, sizeof tag, "[%d] ", rank);
    size_t tag_bytes = strlen(tag);
    for (size_t at = 0; at < bytes && tag_bytes > 0;) {
        char out[LINE_BYTES + 16];
        const char *end = memchr(s->line + at, '\n', bytes - at);
        size_t n = end ? (size_t)(end - s->line) + 1 - at : bytes - at;
        memcpy(out, tag, tag_bytes);
        memcpy(out + tag_bytes, s->line + at, n);
        write_all(s->to, out, tag_bytes + n);
        at += n;
    }
    if (tag_bytes == 0)
        write_all(s->to, s->line, bytes);
    memmove(s->line, s->line + bytes, s->used - bytes);
    s->used -= bytes;
}

static void end_stream(const struct launcher *l, struct stream *s, int rank)
{
    if (s->used > 0 && s->used < LINE_BYTES)
        s->line[s->used++] = '\n';
    hand_on(l, s, rank, s->used);
    gsh_socket_close(&s->fd);
}

/* Reads once; whole lines go on (a carriage return ends one too: progress is shown with it). */
static void read_stream(const struct launcher *l, struct stream *s, int rank)
{
    ssize_t n = read(s->fd, s->line + s->used, LINE_BYTES - s->used);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        end_stream(l, s, rank);
        return;
    }
    s->used += (size_t)n;
    size_t whole = s->used;
    while (whole > 0 && s->line[whole - 1] != '\n' && s->line[whole - 1] != '\r')
        whole--;
    if (whole == 0 && s->used == LINE_BYTES)
        whole = s->used;
    if (whole > 0)
        hand_on(l, s, rank, whole);
}

/* What an ended PE left; a process it has left behind may hold the pipe open for ever. */
static void drain(const struct launcher *l, int rank)
{
    for (int i = 0; i < 2; i++) {
        struct stream *s = &l->pes[rank].streams[i];
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        while (s->fd >= 0 && poll(&p, 1, 0) > 0)
            read_stream(l, s, rank);
        if (s->fd >= 0)
            end_stream(l, s, rank);
    }
}

/* ---- events ---- */

static void reap(struct launcher *l)
{
    for (;;) {
        siginfo_t info = {0};
        int status, rank = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        while (rank < l->n_processes && l->pes[rank].pid != info.si_pid)
            rank++;
        /* While it is not reaped its number is its group's: what it left behind goes with it. */
        if (rank < l->n_processes)
            kill(-info.si_pid, SIGKILL);
        if (waitpid(info.si_pid, &status, 0) != info.si_pid || rank == l->n_processes)
            continue;
        l->pes[rank].pid = 0;
        l->n_running--;
        drain(l, rank);
        report_end(l, rank, status);
    }
}

/* PEs that wait in start-up for one that has ended would wait for ever. Comes after reap: what an
 * ended PE had to do with the rendezvous has been noted before its end. */
static void check_waiting(struct launcher *l)
{
    int32_t rank;
    int waiting = -1, gone = -1;
    while (l->notes >= 0 && read(l->notes, &rank, sizeof rank) == (ssize_t)sizeof rank)
        for (int i = 0; i < l->n_processes; i++)
            l->pes[i].is_waiting = rank == i || (rank >= 0 && l->pes[i].is_waiting);
    for (int i = l->n_processes - 1; i >= 0; i--) {
        waiting = l->pes[i].is_waiting ? i : waiting;
        gone = l->pes[i].pid == 0 && !l->pes[i].is_waiting ? i : gone;
    }
    if (waiting < 0 || gone < 0 || l->has_failed || l->is_interrupted)
        return;
    fprintf(stderr, "gshmemrun: PE %d has ended without gshmem_init, where PE %d waits for it\n",
            gone, waiting);
    l->has_failed = true;
    l->status = 1;
    end_all(l);
}

static void take_signal(struct launcher *l)
{
    struct signalfd_siginfo info;
    if (read(l->signal_fd, &info, sizeof info) != sizeof info)
        return;
    int sig = (int)info.ssi_signo;
    if (sig == SIGCHLD) {
        reap(l);
        return;
    }
    if (l->is_interrupted) { /* the second is meant */
        signal_all(l, SIGKILL);
        return;
    }
    fprintf(stderr, "gshmemrun: ended by signal %d (%s)\n", sig, strsignal(sig));
    l->is_interrupted = true;
    if (l->status == 0)
        l->status = 128 + sig;
    signal_all(l, sig);
    l->kill_ns = gsh_now_ns() + INTERRUPT_GRACE_NS;
}

static void pass_stdin(struct launcher *l)
{
    char data[4096];
    ssize_t n = read(STDIN_FILENO, data, sizeof data);
    if (n < 0 && errno == EINTR)
        return;
    if (n > 0)
        write_all(l->stdin_to, data, (size_t)n);
    else
        gsh_socket_close(&l->stdin_to);
}

static void check_time(struct launcher *l)
{
    uint64_t now = gsh_now_ns();
    if (l->end_ns != 0 && now >= l->end_ns) {
        l->end_ns = 0;
        fprintf(stderr, "gshmemrun: the time limit of %g s is over\n",
                (double)l->options.timeout_ns * 1e-9);
        if (l->status == 0)
            l->status = GSHMEMRUN_TIMEOUT;
        l->has_failed = true;
        end_all(l);
    }
    if (l->kill_ns != 0 && now >= l->kill_ns) {
        signal_all(l, SIGKILL);
        l->kill_ns = UINT64_MAX;
    }
}

static int next_time_ms(const struct launcher *l)
{
    uint64_t next = l->end_ns;
    if (l->kill_ns != 0 && l->kill_ns != UINT64_MAX && (next == 0 || l->kill_ns < next))
        next = l->kill_ns;
    return gsh_deadline_poll_ms(next);
}

/* fds has room for three and two for each process. */
static void step(struct launcher *l, struct pollfd *fds)
{
    int n = 0;
    bool has_terminal = l->stdin_to >= 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
    fds[n++] = (struct pollfd){.fd = l->signal_fd, .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = has_terminal ? STDIN_FILENO : -1, .events = POLLIN};
    for (int i = 0; i < l->n_processes; i++)
        for (int k = 0; k < 2; k++)
            fds[n++] = (struct pollfd){.fd = l->pes[i].streams[k].fd, .events = POLLIN};
    fds[n] = (struct pollfd){.fd = l->notes, .events = POLLIN};
    if (poll(fds, (nfds_t)n + 1, next_time_ms(l)) > 0) {
        for (int i = 2; i < n; i++)
            if (fds[i].revents)
                read_stream(l, &l->pes[i / 2 - 1].streams[i % 2], i / 2 - 1);
        if (fds[1].revents)
            pass_stdin(l);
        if (fds[0].revents)
            take_signal(l);
        if (fds[0].revents || fds[n].revents)
            check_waiting(l);
    }
    check_time(l);
}

static bool start_all(struct launcher *l)
{
    int in = open_stdin(l);
    bool is_ok = true;
    for (int i = 0; i < l->n_processes && is_ok; i++)
        is_ok = start_pe(l, i, in);
    if (in > STDIN_FILENO)
        close(in);
    return is_ok;
}

static void take_signals(struct launcher *l)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* For the pipe to PE 0's stdin; write_all deals with the others. */
    signal(SIGPIPE, SIG_IGN);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
}

/* What is opened later must not become stdin, stdout or stderr. */
static void open_standard_descriptors(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct launcher l = {.notes = -1};
    open_standard_descriptors();
    gshmemrun_parse(argc, argv, &l.options);
    l.n_processes = l.options.is_threads ? 1 : l.options.n_pes;
    l.pes = calloc((size_t)l.n_processes, sizeof *l.pes);
    struct pollfd *fds = calloc(3 + 2 * (size_t)l.n_processes, sizeof *fds);
    if (!l.pes || !fds) {
        fprintf(stderr, "gshmemrun: no memory for %d PEs\n", l.n_processes);
        return 1;
    }
    for (int i = 0; i < l.n_processes; i++)
        for (int k = 0; k < 2; k++)
            l.pes[i].streams[k] = (struct stream){.fd = -1, .to = k + STDOUT_FILENO};
    take_signals(&l);
    set_environment(&l);
    if (l.options.timeout_ns)
        l.end_ns = gsh_now_ns() + l.options.timeout_ns;
    if (!start_all(&l)) {
        l.status = 1;
        l.has_failed = true;
        end_all(&l);
    }
    while (l.n_running > 0)
        step(&l, fds);
    free(l.pes);
    free(fds);
    return l.status;
}
