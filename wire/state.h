/* SPDX-License-Identifier: Apache-2.0
 * Wire structs between the host library and kernels: what the host uploads once per device and what
 * kernels write back. Compiles as C17, C++17 and CUDA; C standard headers only. Pointers are
 * uint64_t, so every compiler agrees on the layout. Each field names its owner and writer. */
#ifndef GSHMEM_STATE_H
#define GSHMEM_STATE_H

#include <stddef.h>
#include <stdint.h>

#define GSH_STATE_MAGIC   0x47534831u /* "GSH1" */
#define GSH_STATE_VERSION 13u

#if defined(__CUDACC_RTC__) /* has no offsetof; other compilers have checked */
#define GSH_STATIC_ASSERT(c, text)
#elif defined(__cplusplus)
#define GSH_STATIC_ASSERT(c, text) static_assert(c, text)
#else
#define GSH_STATIC_ASSERT(c, text) _Static_assert(c, text)
#endif

/* ---- teams ----------------------------------------------------------------------------------- */

/* Teams live in the team pool, a part of each PE's heap that is divided into pool units. A handle
 * is the number of a pool unit, the same on all members, and each member's heap has the team's
 * record in that unit: there is no table of teams to outgrow. The first units hold the records of
 * the predefined teams, whose other words lie elsewhere in the pool. */
#define GSH_TEAM_UNIT       512u
#define GSH_TEAM_PREDEFINED 8
#define GSH_TEAM_MAGIC      0x6d614574u /* "tEam" */

/* One team as its member's kernels see it. PE of member i:
 * pes ? ((int32_t *)pes)[i] : first_pe + i * pe_stride.
 *
 * A team's node is a set of members whose heaps are mapped into each other; all members agree on
 * the nodes, their numbers and their leaders. leaders is 0 when the team has one node.
 *
 * Each channel of a team is a barrier of its own, for callers that synchronise the team
 * independently of each other, as the blocks of a kernel may. Invariants of a channel
 * (device/sync.cuh):
 * - `epoch` counts this PE's arrivals on the channel, in barriers and collectives of kernels and
 *   streams; only this PE writes it.
 * - One node: flag[i] of this PE's sync area is written by member i only, never decreases, and is
 *   i's epoch at its latest arrival.
 * - Several nodes: the same holds for the flags of a leader, with i the member's number in its
 *   node. `released` of the other members is the epoch in which their leader released them; only
 *   the leader writes it. round[k] of a leader counts the arrivals, in round k, of the leader 2^k
 *   nodes before it (cyclically). Only that leader adds to it, once in each epoch, so the count is
 *   its epoch. */
struct gsh_team_state {
    uint32_t
        magic; /* GSH_TEAM_MAGIC of a live team; with handle it tells a record from other data */
    int32_t handle;
    int32_t n_pes, my_index;
    int32_t first_pe, pe_stride;
    int32_t n_channels;
    int32_t n_stripes;      /* the fewest members on one of its nodes */
    uint64_t pes;           /* const int32_t[n_pes] in device-readable memory, or 0 */
    uint64_t sync_off;      /* channel 0's struct gsh_sync_area: offset from every PE's heap base */
    uint64_t channel_bytes; /* from one channel's area to the next */
    uint64_t leaders;       /* const int32_t[n_nodes]: each node's leader, its PE number; or 0 */
    uint64_t near; /* const int32_t[n_near]: this PE's node, indexes in the team, leader first; or
                      0. It is part of a table of all members, node by node, in which near_begin are
                      before it, and behind which n_nodes + 1 words say where each node begins */
    int32_t n_nodes, my_node; /* my_node: in leaders */
    int32_t n_near, my_near;  /* my_near: in near; 0 for the leader */
    /* Teams of one node: slots for data that carry flags (device/coll/ll.cuh), for each channel two
     * buffers with one slot for each member. Channel 0's slots are stored separately. 0 bytes: no
     * slots. */
    uint64_t wide_off, slots_off; /* from every PE's heap base: channel 0's, channel 1's */
    uint32_t wide_slot_bytes, slot_bytes;
    /* Teams with far members: for each channel two halves with a slot for each member
     * (coll/far.cuh). Channel 0's, with its wide slots, come first. */
    uint64_t work_off;
    uint32_t work_wide_slot_bytes, work_slot_bytes;
    int32_t near_begin;
    uint32_t is_node_by_node; /* the team lists the members of each node together */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_team_state) == 136, "gsh_team_state is wire");

#define GSH_SYNC_ROUNDS 31 /* enough for any number of nodes */

/* In the internal part of the symmetric heap; flag[] has an entry for each member of the largest
 * node. All 0 when the team is made.
 *
 * A channel ends with GSH_SYNC_WORDS rows of n_pes words, by which the members of a collective over
 * several nodes tell each other how far they are, mostly together with data (coll/far_step.cuh).
 * Invariants:
 * - In row i of this PE's words, only member m writes word m. A far member writes it in its far
 *   steps s with s mod GSH_SYNC_WORDS = i, as the signal of a put; the word becomes s. Near members
 *   write only row 0, with the number of a near step. Neither number decreases.
 * - All members count the same steps, even if they have nothing to do in one. far_steps and
 *   near_steps count the steps that are over; only this PE writes them.
 * - A member that has finished a near step knows that all near members have begun it. One that has
 *   finished the first far step of a call knows that all members have begun that. In later far
 *   steps a member sends only to members that send to it in the same steps. It is at most two steps
 *   (in a broadcast three) ahead of the answers that it has received. By the end of a call each
 *   member has received everything that was sent to it. coll/schedule.h is made so, and
 *   tests/unit/coll_schedule.c proves it.
 * - So when a word is written for step s, its reader is done with the word's value of
 *   GSH_SYNC_WORDS steps before. When half s mod 2 of a work area is written for step s, its reader
 *   is done with the data of two steps before. So no barrier is needed, and puts and signals may
 *   overtake each other on their way. */
struct gsh_sync_area {
    uint64_t epoch;
    /* Of collectives on this channel (device/coll/): only this PE's kernels write them. */
    uint64_t calls;        /* of those whose data carry flags */
    uint64_t n_counted;    /* blocks that have read `calls`, in a call by several blocks */
    uint64_t own_flag;     /* arrivals of this PE's own blocks, in calls by several blocks */
    uint64_t own_epoch;    /* the arrivals of all finished calls */
    uint64_t grid_arrived; /* blocks that wait for each other */
    uint64_t grid_laps;    /* how often all of them have arrived */
    uint64_t far_steps, near_steps;
    /* In a team on several nodes: the epoch and the near step that this PE began last. No wait uses
     * them; a PE that waits too long asks all members for them (runtime/team/absent.h). */
    uint64_t begun_epoch, begun_step;
    /* Checking builds: 1: a group of one block makes a call on this channel. */
    uint32_t is_in_use;
    /* GPUs, in channel 0 of the team of all PEs: 1: some kernel of this PE has been left (enum
     * gsh_abort). Its threads write it before they end; it stays. */
    uint32_t has_left;
    uint64_t reserved[4];
    uint64_t released;
    uint64_t round[GSH_SYNC_ROUNDS];
    uint64_t flag[1];
};
#define GSH_SYNC_AREA_BYTES(n_near) (384u + 8u * (uint64_t)(n_near))
GSH_STATIC_ASSERT(offsetof(struct gsh_sync_area, flag) == 384, "gsh_sync_area is wire");
#define GSH_SYNC_WORDS              4u
#define GSH_SYNC_WORDS_BYTES(n_pes) (8u * (uint64_t)GSH_SYNC_WORDS * (uint64_t)(n_pes))
/* sync_off of the team of all PEs (team 0, members in PE order): a constant, so if every peer is
 * mapped a kernel's barrier_all reads no team from memory before its flags can leave. */
#define GSH_WORLD_SYNC_OFF 0u

/* ---- contexts -------------------------------------------------------------------------------- */

/* A context's handle holds what its calls need to know:
 *   bits 0-7 its number, 8-31 its team, 32-45 its entry in the host's table, 46-62 how often that
 *   entry has been reused.
 * The number says which stream of requests to far PEs its calls use; contexts may share one. 0 is
 * the default context's; its other bits are 0 as well. GSHMEM_CTX_INVALID has bit 63. */
#define GSH_CTX_AT_TEAM        8
#define GSH_CTX_AT_ENTRY       32
#define GSH_CTX_AT_GENERATION  46
#define GSH_CTX_ENTRIES        ((uint32_t)1 << (GSH_CTX_AT_GENERATION - GSH_CTX_AT_ENTRY))
#define GSH_CTX_GENERATIONS    ((uint32_t)1 << (63 - GSH_CTX_AT_GENERATION))
#define GSH_CTX_NUMBER(handle) ((uint32_t)((handle)&255))
#define GSH_CTX_TEAM(handle)   ((int32_t)((handle) >> GSH_CTX_AT_TEAM & 0xffffff))
#define GSH_CTX_ENTRY(handle)  ((uint32_t)((handle) >> GSH_CTX_AT_ENTRY & (GSH_CTX_ENTRIES - 1)))
#define GSH_CTX_INVALID        (~(uint64_t)0)

/* One entry; the table's first is never used. Written by the host's threads, under a lock. */
struct gsh_ctx_record {
    uint64_t handle; /* of the context in this entry; 0: none. Read without the lock */
    uint64_t owner;  /* PRIVATE: the thread that may use it, else 0 */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_ctx_record) == 16, "gsh_ctx_record is wire");

/* ---- operations and reports ------------------------------------------------------------------ */

/* Operations on a word of 4 or 8 bytes; FETCH, SET, SWAP and FLOAT_ADD also on one of 2, a half.
 * The fetching forms return the value before. */
enum gsh_amo_op {
    GSH_AMO_FETCH,
    GSH_AMO_SET,
    GSH_AMO_SWAP,
    GSH_AMO_CSWAP,
    GSH_AMO_ADD,
    GSH_AMO_AND,
    GSH_AMO_OR,
    GSH_AMO_XOR,
    GSH_AMO_FLOAT_ADD, /* of two halves, floats or doubles, rounded to the nearest */
    GSH_AMO_OPS
};

/* The report of a stuck or failing call. Written by one kernel thread: it takes `state` from 0 to
 * 1, fills in the rest, then stores 2 with release at system scope; the host reads it after it sees
 * 2, and changes that to 3. */
struct gsh_report {
    uint32_t state;
    uint32_t kind; /* enum gsh_report_kind */
    int32_t pe;    /* the PE concerned, -1: none in particular */
    uint32_t cmp;  /* GSHMEM_CMP_*, for waits; perhaps with a site: GSH_REPORT_CMP_AT */
    uint64_t address;
    uint64_t expected;
    uint64_t seen;
    uint64_t bytes; /* checks: the length of the range, or of a word */
    uint32_t block[3];
    uint32_t thread[3];
    char call[40];        /* the public name of the call, NUL-terminated */
    uint32_t host_thread; /* of the table in waits.h: the host's thread that waits; 0: a kernel's */
    int32_t team;         /* the same: of a host thread's collective; -1: the address says it, or
                           * none */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_report) == 120, "gsh_report is wire");

/* A comparison, as kernels that make calls of several places at once write it into `cmp`: with the
 * number of the call's place in the program (instance/waits.h), which takes 16 bits; 0: not
 * known. */
#define GSH_REPORT_SITE_SHIFT 8
#define GSH_REPORT_CMP_AT(CMP, SITE) \
    ((int)((uint32_t)(CMP) | (uint32_t)(SITE) << GSH_REPORT_SITE_SHIFT))

enum gsh_report_kind {
    GSH_REPORT_NONE,
    GSH_REPORT_WAIT_TIMEOUT,  /* a wait passed GSHMEM_WAIT_TIMEOUT */
    GSH_REPORT_SYNC_TIMEOUT,  /* a barrier or sync did: pe has not arrived */
    GSH_REPORT_BAD_PE,        /* checks: pe is out of range or not reachable */
    GSH_REPORT_NOT_SYMMETRIC, /* checks: address is not in the heap */
    GSH_REPORT_NOT_ALLOCATED, /* checks: [address, address + bytes) is not inside one allocation */
    GSH_REPORT_GLOBAL_EXIT,   /* gshmem_global_exit(expected) was called */
    GSH_REPORT_BEFORE_INIT,   /* CPU device only: a kernel ran without an initialised PE */
    GSH_REPORT_FAR_TIMEOUT,   /* the proxy's work for the far pe did; -1: for all of them */
    GSH_REPORT_BAD_STRIDE,    /* checks: a stride, in `seen`, is below 1 */
    GSH_REPORT_BAD_SIGNAL_OP, /* checks: sig_op, in `seen`, is neither SET nor ADD */
    GSH_REPORT_BAD_CMP,       /* checks: cmp, in `seen`, is not a comparison */
    GSH_REPORT_MISALIGNED,    /* checks: address is not a multiple of bytes */
    GSH_REPORT_NULL_LOCAL,    /* checks: this PE's side of a copy of bytes is NULL */
    /* checks: pe makes another collective, `seen` and not `expected`: see GSH_COLL_SIGNATURE; cmp
     * is 1: with other sizes in bytes */
    GSH_REPORT_COLL_DIFFERS,
    GSH_REPORT_BAD_CTX,       /* checks: the context, its handle in `seen`, does not exist */
    GSH_REPORT_BAD_MEMBER,    /* checks: pe is no member of a context's team, of `expected` PEs */
    GSH_REPORT_BAD_TEAM,      /* in a call on a stream: the team, its handle in `seen`, is gone */
    GSH_REPORT_LOCK_TIMEOUT,  /* set_lock or clear_lock waited as long; address is this PE's node */
    GSH_REPORT_LOCK_NOT_HELD, /* clear_lock of a lock, at address, that this PE does not hold */
    GSH_REPORT_CHANNEL_IN_USE, /* checks: another group makes a call on channel `expected` of `seen`
                                */
    GSH_REPORT_OUT_OF_RANGE, /* checks: what the call's name says is `seen`, not below `expected` */
    GSH_REPORT_UNSUPPORTED,  /* gshmem has the call's name alone */
    GSH_REPORT_BEYOND_HEAP,  /* pe, or some PEs (-1), say that bytes lie at offset `seen` of the
                              * heap,  which has `expected` */
};

/* Checking builds: why a collective in a kernel returned an error. Written as gsh_report is. The
 * host prints a PE's first one, and the job goes on. */
struct gsh_refusal {
    uint32_t state;
    uint32_t what;     /* enum gsh_refusal_what */
    int32_t value, of; /* the wrong argument, and what there is in its place */
    char call[40];
};
GSH_STATIC_ASSERT(sizeof(struct gsh_refusal) == 56, "gsh_refusal is wire");

enum gsh_refusal_what {
    GSH_REFUSAL_NO_TEAM = 1, /* value: its handle */
    GSH_REFUSAL_NO_CHANNEL,  /* of: how many the team has */
    GSH_REFUSAL_NO_ROOT,     /* of: how many PEs the team has */
    GSH_REFUSAL_BAD_STRIDE   /* value, of: the two strides */
};

/* What waiting kernels are to do. */
enum gsh_abort {
    GSH_ABORT_NONE,
    GSH_ABORT_END, /* the job is ending: stand still, until the host ends the process */
    /* Leave the kernel, except from waits for the proxy alone: others still need the ring entries
     * that a kernel holds during such a wait. Kernels of the library's own that send anything to
     * other PEs do not begin. Only the PE's own host sets this. */
    GSH_ABORT_LEAVE,
    GSH_ABORT_LEAVE_FAR, /* there, too: the proxy has failed in the meantime */
};

/* Memory of this PE, by its own address, in which no word will change any more: other PEs that
 * would write it have died. Kernels that wait for such a word leave, as for GSH_ABORT_LEAVE. */
struct gsh_lost_range {
    uint64_t begin, bytes;
};
enum { GSH_LOST_RANGES_MAX = 256 };

/* One page per PE in host memory, shared by the PEs of a node and mapped for the PE's device. */
struct gsh_control {
    uint32_t magic;
    uint32_t abort_word;        /* enum gsh_abort; any host thread of any PE */
    struct gsh_refusal refusal; /* as report */
    struct gsh_report report;   /* this PE's kernels write, its host reads */
    /* The number of ranges in `lost`. The PE's host adds ranges and then stores the number with
     * release; kernels that have waited for long load it with acquire. The number never decreases,
     * and ranges within it do not change. */
    uint32_t n_lost;
    uint32_t has_left_lost; /* a kernel of this PE has left a wait for a word of `lost`; its host
                               reads */
    /* Checking builds: the live allocations, sorted by offset. Written by the owner's host inside
     * collective malloc and free, also while its kernels, which use others, read it:
     * alloc_sequence. */
    uint64_t alloc_table; /* const struct gsh_alloc_range[], device-readable; 0: no checks */
    uint64_t n_allocs;
    uint64_t ctx_table; /* const struct gsh_ctx_record[GSH_CTX_ENTRIES], device-readable; 0: no
                         * checks */
    /* Locks set by this PE's kernels minus those cleared by them: on the CPU device, and in
     * checking builds of kernels. Kernels change the word by atomics; the PE's host reads it in
     * finalize. */
    uint64_t n_locks;
    /* See waits.h. The PE's host stores the request with release; those of its threads and kernels
     * that have waited for long load it with acquire. */
    uint32_t wait_request; /* 0: none */
    uint32_t reserved2;
    uint64_t wait_table; /* struct gsh_waits_table, device-writable; set up before any request */
    /* Odd while the host writes the table of allocations, or the two words about it. It stores all
     * of these with release, and kernels load them with acquire: what a kernel has read is of one
     * time if the sequence is even before, and the same after. */
    uint64_t alloc_sequence;
    uint64_t reserved3;
    struct gsh_lost_range lost[GSH_LOST_RANGES_MAX];
};
GSH_STATIC_ASSERT(sizeof(struct gsh_control) == 256 + 16 * GSH_LOST_RANGES_MAX,
                  "gsh_control is wire");

struct gsh_alloc_range {
    uint64_t off, bytes; /* from the PE's heap base */
};

/* How long a barrier or sync waits, given a wait's time limit. It is longer, so that a wait that
 * began at the same time and holds up the barrier reports first: that wait is the cause. */
#define GSH_SYNC_LIMIT_NS(timeout_ns) \
    ((timeout_ns) + ((timeout_ns) > 2000000000u ? (timeout_ns) / 10 : 200000000u))

/* The route from a PE to another; new ones are appended. */
enum gsh_route {
    GSH_ROUTE_NEAR = 0, /* loads and stores: its heap is mapped */
    GSH_ROUTE_RING = 1, /* requests to the proxy */
    GSH_ROUTE_NIC = 2,  /* entries for a network adapter (wire/nic.h); the proxy reaches it, too */
};

/* How this PE reaches another one. */
struct gsh_peer_route {
    int32_t slot;   /* of a near PE; else -1 */
    uint32_t route; /* enum gsh_route */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_peer_route) == 8, "gsh_peer_route is wire");

#define GSH_GPU_STRIDE_UNIT ((uint64_t)1 << 32)

/* CPU device: the program's globals and statics, which also lie in the heap. */
struct gsh_static_data {
    uint64_t base, bytes; /* where the program has them */
    uint64_t off;         /* from the heap's base */
};

/* The constant block of every translation unit with kernels. Nothing in it changes after device
 * set-up, even if the heap grows.
 *
 * Address rule: the copy on PE p of a local symmetric address a is
 *     a + ((int64_t)slot(p) - my_slot) * stride.
 * On GPUs the stride is a multiple of GSH_GPU_STRIDE_UNIT, so that only the high half of the
 * address changes. slot(p): PEs [run_first_pe, run_first_pe + run_n) have consecutive slots from
 * run_first_slot on (the usual case, no memory access), and are near; slot and route of the others
 * are looked up in routes. */
struct gsh_state {
    uint32_t magic, version, bytes, flags;
    int32_t my_pe, n_pes;
    int32_t my_slot, n_slots;
    uint64_t base;   /* own heap: range start + my_slot * stride */
    uint64_t stride; /* bytes from one slot to the next */
    int32_t run_first_pe, run_n;
    int32_t run_first_slot;
    int32_t part;             /* of a shared GPU; else 0 */
    uint64_t routes;          /* const struct gsh_peer_route[n_pes], device-readable */
    uint64_t teams;           /* pool unit 0 of the team pool in this PE's own heap */
    uint64_t control;         /* struct gsh_control of this PE, device-writable */
    uint64_t wait_timeout_ns; /* 0: none */
    uint64_t user_off;        /* the first byte of the heap the user can own */
    uint64_t rings;           /* struct gsh_ring[] (wire/ring.h); 0: every peer is mapped */
    uint32_t n_rings; /* of the default context, a power of two; other contexts' rings follow */
    uint32_t n_context_rings; /* one for each other context, by number, from 1 */
    uint64_t n_team_units;
    uint64_t statics; /* CPU device: const struct gsh_static_data; 0: globals are not symmetric */
    /* The most bytes that a member may send in total in a collective whose data carry flags, by
     * calling group: thread, warp, block, several blocks. */
    uint32_t ll_max[4];
    /* For collectives with far members (coll/far.cuh): up to far_flat bytes on all nodes together
     * go by way of the leaders, at once. More bytes go from each member to its partners, in pieces
     * of at most far_piece bytes. */
    uint32_t far_flat, far_piece;
    /* If PEs of one process share a GPU: const uint8_t[GSH_SMS], device-readable, the part of the
     * GPU to which each multiprocessor belongs; else 0. */
    uint64_t part_of_sm;
    uint64_t nic;   /* GSH_NIC_STATE (wire/nic.h) of what lies in this PE's device memory; 0: no
                       route by it */
    uint64_t trace; /* struct gsh_trace_counts (wire/trace.h) in this PE's heap; 0: no timeline is
                       asked for */
    uint64_t trace_rings; /* GSH_TRACE_RINGS_AT */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_state) == 192, "gsh_state is wire");
GSH_STATIC_ASSERT(offsetof(struct gsh_state, routes) == 64, "gsh_state is wire");

/* The constant block of a unit compiled with GSHMEM_SHARED_DEVICE: PEs that are threads of one
 * process and share a GPU share one copy of it. Each has some of the GPU's multiprocessors to
 * itself; its kernels find their state by the multiprocessor they run on. */
#define GSH_PARTS 16
#define GSH_SMS   1024
struct gsh_shared_states {
    struct gsh_state of[GSH_PARTS];
    uint64_t
        part_of_sm; /* that of the states, which is the same in all; 0: of[0] is the only one */
};

/* What a translation unit with kernels registers from a static constructor. `fill` copies the block
 * into the unit's constant memory on the calling thread's current device and returns 0 or a CUDA
 * error; a unit for shared GPUs stores it as its part's block; it is NULL in units built for the
 * CPU device, which need no copy. */
struct gsh_module {
    uint32_t version; /* GSH_STATE_VERSION of the headers the unit was compiled with */
    uint32_t bytes;   /* sizeof(struct gsh_state) there, or of gsh_shared_states */
    int (*fill)(const void *state, size_t bytes);
    struct gsh_module *next; /* the library's */
};

#endif
