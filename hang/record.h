/* SPDX-License-Identifier: Apache-2.0
 * What a process of a job says of its PEs when it is asked for a hang report, and what an asker
 * makes of it. Each process has a SOCK_SEQPACKET listener of its own, with an abstract name
 * (names.h):
 *
 *   asker -> process   connects; goes no further unless the process is of the same user
 *   process -> asker   drops an asker of another user
 *   asker -> process   one struct gsh_hang_question
 *   process -> asker   packets of one struct gsh_hang_record each: for each of its PEs one of kind
 *                      PE, then its waits; then one of kind END
 *
 * Asked for the other nodes, a process asks their PEs over the network (runtime/hang/far.h), and
 * answers with what they say. PEs of which the node's other processes know nothing are then of kind
 * ABSENT.
 *
 * Both are of one build. A record is checked before it is used (gsh_hang_is_sound): it comes from
 * another process. */
#ifndef GSH_HANG_RECORD_H
#define GSH_HANG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSH_HANG_MAGIC     0x34474e48u /* "HNG4" */
#define GSH_HANG_PES_MAX   (1 << 20)
#define GSH_HANG_WAITS_MAX 65536

enum gsh_hang_kind {
    GSH_HANG_PE = 1,
    GSH_HANG_PEERS,
    GSH_HANG_WAIT,
    GSH_HANG_ABSENT,
    GSH_HANG_END
};

struct gsh_hang_question {
    uint32_t magic;
    int32_t is_far; /* 1: what the other nodes of the job say */
    uint64_t job;   /* far: which; else: whether the process has PEs of it, 0: of any */
};

struct gsh_hang_pe {
    int32_t pe, n_pes, node, n_nodes;
    int32_t state;        /* ABSENT: of its process, as /proc has it; 0: there is none */
    int32_t os_pid;       /* as the process itself counts */
    int32_t launcher;     /* gshmemrun's; 0: none */
    uint32_t n_missed;    /* at least so many waits had no room */
    int32_t is_set_up;    /* it has a device and a heap */
    int32_t is_ending;    /* 1: the job's end is under way */
    int32_t is_held;      /* 1: the GPU gives back no word of its memory */
    int64_t n_unfinished; /* pieces of work of its streams that have not ended; -1: not known */
    int64_t n_waiting;    /* of these, how many have not begun */
    int64_t n_requests;   /* to far PEs, not done; -1: not known */
    uint64_t oldest_ns;   /* the age of the oldest of them, */
    int32_t oldest_pe;    /* whom it concerns, -1: all; */
    char oldest[20];      /* and what it is */
    int64_t n_posted;     /* entries of kernels that the NIC has not done; -1: there is no NIC */
    uint64_t posted_ns;   /* as of requests: at least the age, */
    int32_t posted_pe;    /* whom it concerns, */
    char posted[20];      /* and what it is */
    char host[64], device[24];
};

/* To which processes PEs [first, first + n) belong. */
struct gsh_hang_peers {
    int32_t first, n;
    uint64_t process[16];
    int32_t node[16];
};

/* What a wait is for. */
enum gsh_hang_what {
    GSH_HANG_WORD = 1, /* for a word of the PE's own memory */
    GSH_HANG_ARRIVAL,  /* for PE `other` in a call that all PEs of a team, or of the job, make */
    GSH_HANG_LOCK,
    GSH_HANG_PROXY,  /* for the proxy's or the network's work */
    GSH_HANG_PEER,   /* for what PE `other` does, such as to send a message */
    GSH_HANG_DRIVER, /* for the device's driver: a host thread has not come back from it */
};

/* Where a word lies. */
enum gsh_hang_site { GSH_HANG_ELSEWHERE, GSH_HANG_OBJECT, GSH_HANG_GLOBAL, GSH_HANG_LIBRARY };

/* One wait, or equal waits of several threads of a kernel: for the same word, or (n_words > 1) each
 * for another of some consecutive words, of which `address` is the first. */
struct gsh_hang_wait {
    int32_t what; /* enum gsh_hang_what */
    int32_t cmp;  /* GSHMEM_CMP_* */
    /* ARRIVAL: the PE that has not come. LOCK: the PE before this one in the queue. PROXY: the PE
     * that the work is for. WORD: the PE that is to write it. PEER: that PE. -1: not known */
    int32_t other;
    int32_t holder;        /* LOCK: the PE that holds it; -1: not known */
    int32_t team, channel; /* ARRIVAL: -1: of no team; of the host's threads */
    int32_t is_host;       /* of the host thread with the number first_thread[0] */
    uint32_t n_threads;
    uint32_t first_block[3], last_block[3], first_thread[3], last_thread[3];
    uint64_t address, expected, seen, waited_ns;
    int32_t site;   /* enum gsh_hang_site */
    int32_t object; /* allocations are numbered by their offset, from 1 */
    uint64_t object_off, object_bytes;
    /* WORD: the one other PE whose copy of the word is as this wait wants it, -1: none; and the one
     * word nearby that is, as a distance in bytes, 0: none */
    int32_t copy_pe, near_off;
    char call[40];
    char file[56];    /* where the call stands in the program, */
    uint32_t line;    /* 0: not known */
    char made_at[48]; /* OBJECT: from where it was allocated: a place in a file, or a line; "": not
                         known */
    uint32_t n_words;
    int32_t differ; /* 1: the words differ, and `seen` is that of the first */
    /* ARRIVAL: the members of a team that the program has made: how many, 0: not known; the first;
     * from each to the next, 0: they have no stride */
    int32_t team_pes, team_first, team_stride;
};

struct gsh_hang_record {
    uint32_t magic;
    int32_t kind; /* enum gsh_hang_kind */
    uint64_t job; /* tells jobs apart; not secret */
    int32_t pe;   /* WAIT: whose */
    int32_t reserved;
    union {
        struct gsh_hang_pe about;
        struct gsh_hang_peers peers;
        struct gsh_hang_wait wait;
    };
};

/* Whether a record that has come is within its bounds; its texts then end within it. */
bool gsh_hang_is_sound(const struct gsh_hang_record *r, size_t bytes);

/* ---- the whole job ---- */

enum gsh_hang_answer {
    GSH_HANG_UNKNOWN, /* nothing is known of its process: on another machine, or gone */
    GSH_HANG_SILENT,  /* its process does not answer */
    GSH_HANG_ANSWERED,
};

struct gsh_hang_member {
    enum gsh_hang_answer answer;
    struct gsh_hang_pe about; /* if it has answered */
    uint64_t process;         /* 0: not known */
    int node;                 /* -1: not known */
    int os_pid;               /* as the asker counts; 0: not known */
    char state;               /* of that process, as /proc has it; 0: not known */
    bool has_ended;           /* UNKNOWN, while others of its node, which is here, are known */
};

struct gsh_hang_entry {
    int pe;
    struct gsh_hang_wait wait;
};

struct gsh_hang_job {
    uint64_t job;
    int n_pes, launcher;
    bool has_asked_far;              /* ask.c's */
    struct gsh_hang_member *members; /* [n_pes] */
    int n_waits, room;
    struct gsh_hang_entry *waits; /* in order of PEs */
};

/* Takes a sound record into the job; false: no memory, or it does not fit the others: it names PEs
 * that there are not, or is a wait of a PE that has not answered. Of a PE that
 * comes twice, by different ways, the second is left out. *left_out: of this way, the PE whose
 * waits are left out; -1 at the beginning. */
bool gsh_hang_take(struct gsh_hang_job *job, const struct gsh_hang_record *r, int *left_out);
void gsh_hang_free(struct gsh_hang_job *job);

#endif
