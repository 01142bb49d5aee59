/* SPDX-License-Identifier: Apache-2.0
 * What gshmemrun is to start, as its options say it. */
#ifndef GSH_GSHMEMRUN_JOB_H
#define GSH_GSHMEMRUN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* gshmemrun's own exit statuses; all others are the program's. */
enum {
    GSHMEMRUN_USAGE = 2,
    GSHMEMRUN_TIMEOUT = 124,    /* as timeout(1) */
    GSHMEMRUN_CANNOT_RUN = 126, /* as the shell */
    GSHMEMRUN_NOT_FOUND = 127,
};

enum { GSHMEMRUN_MAX_PES = 100000 };

struct gshmemrun_host {
    const char *name;
    int first, count; /* its PEs */
};

struct gshmemrun_options {
    int n_pes;
    const char *hosts_text, *agent;
    struct gshmemrun_host *hosts; /* [n_hosts]; NULL: all PEs here */
    int n_hosts;
    size_t hosts_room;
    bool is_branch;   /* started by another gshmemrun: first and count of its n_pes are ours */
    int first, count; /* the PEs to start here */
    bool is_threads, tags_output;
    bool is_nccl;        /* gshmemrun_nccl.h; without n_pes the program is started as it is */
    uint64_t timeout_ns; /* 0: none */
    const char *trace;   /* the file of a timeline; NULL: none is asked for */
    char **command;      /* the program as the user calls it, and its arguments */
    char path[4096];     /* where the program is */
};

#endif
