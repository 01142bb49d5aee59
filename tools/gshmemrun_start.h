/* SPDX-License-Identifier: Apache-2.0
 * The launcher's state, and starting its processes. */
#ifndef GSHMEMRUN_START_H
#define GSHMEMRUN_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "tools/gshmemrun_hosts.h"
#include "tools/gshmemrun_options.h"
#include "tools/gshmemrun_output.h"

/* A PE, or the agent that runs a branch. */
struct gshmemrun_process {
    pid_t pid;       /* 0: ended */
    bool is_waiting; /* in start-up, for the others */
    int frames_to;   /* a branch's stdin; -1: none */
    struct gshmemrun_stream streams[2];
};

struct gshmemrun_launcher {
    struct gshmemrun_options options;
    int n_processes;
    struct gshmemrun_process *processes; /* [n_processes] */
    int n_started;                       /* of them, in order; all others are started in turn */
    int n_running;
    int stdin_of_first; /* what PE 0 reads; -1: nothing; closed once it runs */
    int signal_fd;
    int streams_fd;                 /* epoll, of all streams */
    int notes;                      /* from the rendezvous: who waits (uid.h); -1: none */
    int stdin_to;                   /* pipe to PE 0; -1: none, or PE 0 has our stdin itself */
    struct gshmemrun_frames frames; /* in a branch: from the launcher, by our stdin */
    bool is_launcher_gone, is_stdin_over;
    uint64_t told_ns;    /* of the last line that said how many are started */
    uint64_t end_ns;     /* --timeout; 0: none */
    uint64_t kill_ns;    /* when processes told to end are killed; 0: none was told */
    bool is_interrupted; /* by a signal, which needs no further explanation */
    bool has_failed;
    bool failed_follows;       /* the status is of a process that another one's end has ended */
    int failed, failed_status; /* the failed process, and its status from waitpid; -1: none, or its
                                  end is explained already */
    int status;
};

/* Sets the environment of all PEs; makes the rendezvous. Exits on failure. */
void gshmemrun_set_environment(struct gshmemrun_launcher *l);
/* Before the first. */
void gshmemrun_prepare_start(struct gshmemrun_launcher *l);
/* Starts the next one. False: it could not be started, which has been printed. */
bool gshmemrun_start_next(struct gshmemrun_launcher *l);
/* A PE's or branch's name for messages; text holds it. */
const char *gshmemrun_name_of(const struct gshmemrun_launcher *l, int i, char text[64]);

#endif
