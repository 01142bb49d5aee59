/* SPDX-License-Identifier: Apache-2.0
 * A PE's part of a job's timeline: the file that the PE writes while it runs, and that
 * trace/merge.h reads when the job is over.
 *
 * The file is a head of GSH_TRACE_HEAD_BYTES and then chunks. A thread of the PE owns a chunk,
 * which it has mapped, and fills its slots from the first on; nobody else writes there. The file's
 * memory is shared, so all that a PE has written is in the file even if the process is killed. A
 * slot whose kind is 0 was never finished: it ends the chunk. The writer stores a slot's kind last.
 *
 * Readers take the bytes for what anybody may have written. */
#ifndef GSH_TRACE_PART_H
#define GSH_TRACE_PART_H

#include <stdint.h>

#define GSH_TRACE_MAGIC       UINT64_C(0x3165636172744847) /* "GHtrace1" */
#define GSH_TRACE_HEAD_BYTES  4096u
#define GSH_TRACE_CHUNK_BYTES 65536u
#define GSH_TRACE_NONE        UINT64_MAX /* an offset that there is none */

struct gsh_trace_head {
    uint64_t magic;
    int32_t pe, n_pes;
    uint64_t job;  /* the same in all parts of a job */
    uint64_t host; /* equal on PEs whose clocks are one clock */
    int64_t pid;
    uint64_t begin_ns; /* when the part was made, as all times: CLOCK_MONOTONIC of its host */
    uint32_t is_over;  /* 1: the PE has left by finalize; atomic */
    uint32_t has_device_clock; /* 1: kernels have a clock of their own: CLOCK_DEVICE slots */
    uint64_t n_dropped;        /* events for which there was no room in the file; atomic */
    char host_name[64];
    uint64_t device_step_ns; /* by how much the kernels' clock moves */
    int32_t full_errno;      /* why there was no room; 0: the part's limit */
    int32_t reserved;
    uint64_t heap_base, heap_bytes; /* the PE's own segment, as its kernels see it */
};

/* What a slot says. New ones are appended. */
enum gsh_trace_kind {
    GSH_TRACE_UNFINISHED,
    GSH_TRACE_CALL,  /* a call that moves data, or another one */
    GSH_TRACE_WAIT,  /* a call that waits for a word of this PE: word_off */
    GSH_TRACE_SPAN,  /* the program's own, from begin to end */
    GSH_TRACE_ALLOC, /* at end_ns: bytes at off belong to the program */
    GSH_TRACE_FREE,  /* at end_ns: no longer */
    /* The texts of names: value is the number, bytes the length; the text follows in whole slots.
     */
    GSH_TRACE_NAME,
    GSH_TRACE_TRACK, /* the same: the name of the track of this chunk */
    /* bytes events of kernels, of ring `off` (wire/trace.h), in the slots that follow. The last one
     * was not written after end_ns. value: how many were lost before them. */
    GSH_TRACE_KERNEL,
    GSH_TRACE_SYNC, /* the value-th synchronisation of all PEs: from begin to end of this PE's call
                     */
    /* Kernels' clock said `value` at some time from begin to end. */
    GSH_TRACE_CLOCK_DEVICE,
    GSH_TRACE_REQUEST,  /* one that the proxy carried out, for a kernel or a host thread */
    GSH_TRACE_TRANSFER, /* what the network was given for it */
    GSH_TRACE_RANGE,    /* the program's, which another thread may have begun */
    /* At end_ns: of `value` requests that kernels have posted to NICs, `seen` are not done. */
    GSH_TRACE_NIC,
    /* bytes at the address `off` of this process are memory number `value` of a dialect, a number
     * of the whole job: op 1: this PE's own, 0: another PE's, as it is mapped here. */
    GSH_TRACE_MEMORY,
    /* An entry that a kernel has posted to queue word_off of a NIC: `value` is the position after
     * its reservation. It ends with the first DONE of that position or a later one (posts.h). */
    GSH_TRACE_POST,
    GSH_TRACE_DONE, /* at begin_ns it was known that all before `value` of that queue is complete */
    GSH_TRACE_KINDS
};

/* What an operation does to the word at word_off of PE pe, in `op`. */
enum gsh_trace_op {
    GSH_TRACE_OP_NONE, /* there is no such word */
    GSH_TRACE_OP_SET,  /* becomes value */
    GSH_TRACE_OP_ADD,
    GSH_TRACE_OP_CHANGE,  /* another change */
    GSH_TRACE_OP_GET,     /* none; the data come from pe */
    GSH_TRACE_OP_TEAM,    /* none; a collective of the team with handle `value` */
    GSH_TRACE_OP_RECEIVE, /* none; the data come from pe, whose own call counts them */
    /* A wait: GSH_TRACE_OP_AWAIT + GSHMEM_CMP_*. */
    GSH_TRACE_OP_AWAIT = 16
};

struct gsh_trace_slot {
    uint8_t kind;  /* enum gsh_trace_kind; atomic */
    uint8_t op;    /* enum gsh_trace_op */
    uint16_t name; /* its number */
    int32_t pe;    /* whom it concerns; -1: nobody in particular */
    uint64_t begin_ns, end_ns;
    uint64_t bytes, off;      /* data, on pe: from the heap's base; GSH_TRACE_NONE: no data there */
    uint64_t word_off, value; /* the word; the signal or what is awaited */
    uint64_t seen;            /* by a wait */
};
_Static_assert(sizeof(struct gsh_trace_slot) == 64, "gsh_trace_slot is a file's");

/* A chunk's first slot. */
struct gsh_trace_chunk {
    uint64_t magic;
    uint32_t track; /* a number of this part; 0: of kernels */
    uint32_t reserved;
    uint64_t reserved2[6];
};
_Static_assert(sizeof(struct gsh_trace_chunk) == 64, "gsh_trace_chunk is a file's");

/* In a call's `pe`, until merging (memories.h) knows whom it concerns: whose memory is at word_off
 * or else off, by this PE's addresses less the heap's base, of 48 bits; or whose memory number
 * `seen` is, in which word_off and off are offsets. */
#define GSH_TRACE_PE_BY_ADDRESS_OF (-2)
#define GSH_TRACE_PE_BY_MEMORY     (-3)

#define GSH_TRACE_CHUNK_SLOTS (GSH_TRACE_CHUNK_BYTES / sizeof(struct gsh_trace_slot))
#define GSH_TRACE_PES_MAX     (1u << 20)
#define GSH_TRACE_TEXT_MAX    255u /* bytes of a name */

#endif
