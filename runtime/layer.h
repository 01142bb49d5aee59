/* SPDX-License-Identifier: Apache-2.0
 * What the dialects ask of the runtime besides the public API; not for users' programs. A call
 * without a PE among its arguments acts for the calling thread's PE, after device set-up, unless it
 * says otherwise. `call` is its name in messages. A failure is printed, and gshmemx_error_string
 * returns its text. */
#ifndef GSH_LAYER_H
#define GSH_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"
#include "gshmemx.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct gsh_state;

/* ---- PEs beside the calling thread's own ---- */

/* As gshmemx_init_attr, but the calling thread goes on acting for the PE it acted for before: the
 * new PE is *pe, for the calls below. device: number of the CUDA device it takes, or -1 for init's
 * own choice. is_small: if all PEs say so, and are near, the library's part of their heaps is
 * small, so that many jobs have room on a device. Collective as init is, so PEs of one job need a
 * thread each. */
int gshmemx_layer_init(unsigned flags, const gshmemx_init_attr_t *attr, int device, bool is_small,
                       void **pe);
/* The same, for the calling thread, which then has a PE of its own: gshmemx_init_attr. */
int gshmemx_layer_init_here(unsigned flags, const gshmemx_init_attr_t *attr, bool is_small);
/* Ends the PE, in any thread, once no thread makes calls for it; collective as finalize. A thread
 * whose PE it was has none from then on. */
void gshmemx_layer_finalize(void *pe);
/* A program that ends with status 0 may leave out finalize: if the calling thread calls exit with
 * that status, and its PE has not been finalized, by() finalizes the PE, and so waits for the other
 * PEs. A program that fails must not wait. Nothing is done for a PE whose process has other PEs.
 * Checking builds warn. To be called after each init, so that by() runs before what the library and
 * CUDA do at exit. */
void gshmemx_layer_finalize_at_exit(void (*by)(void));
/* From now on value stands for the variable GSHMEM_... if the environment lacks it; of several
 * values offered for a variable the first one counts. Allowed before init, in any thread. */
void gshmemx_layer_offer_setting(const char *name, const char *value);
/* The calling thread's latest failure, which has been printed, is about to end the process with
 * that status: the program's error handler hears of it. Allowed before init. */
void gshmemx_layer_tell_error(int status);
/* The id will not be used. If this process made it, its rendezvous ends. Allowed before init. */
void gshmemx_layer_drop_uniqueid(const gshmemx_uniqueid_t *id);
/* The calling thread's PE, or the one that the program made in another thread; NULL: none, or more
 * than one. PEs made by the calls above for other threads do not count, nor while they start. */
void *gshmemx_layer_pe(void);

/* The PE that a thread acted for, and the device that was current. */
struct gshmemx_layer_scope {
    void *pe, *before;
    uint64_t serial;
    int state;
    bool entered;
    int device;
};
/* The calling thread acts for pe, with pe's device current, until it leaves. device: on the CPU
 * device, its number for cudaSetDevice. Scopes nest. */
void gshmemx_layer_enter(void *pe, int device, struct gshmemx_layer_scope *scope);
void gshmemx_layer_leave(const struct gshmemx_layer_scope *scope);
/* The calling thread's current device, before or after init: CUDA's number of it, or on the CPU
 * device what cudaSetDevice was last given; -1: there is none. */
int gshmemx_layer_current_device(void);

/* Per process: when a wait for a word in pe's memory times out, explain adds to the message what
 * the dialect knows of the word and of the PE that was to write it (or -1). text is "" at first; an
 * addition begins with a space. Called in any thread; must not wait for others. */
void gshmemx_layer_explain_by(void (*explain)(void *pe, const void *address, int peer, char *text,
                                              size_t bytes));

/* ---- deaths ----
 *
 * A job that layer_init has started outlives the deaths of its PEs, and their exits without
 * finalize. Host calls that wait for a dead PE, or for one that waits for it, return; what they
 * return, and what they leave in memory, is of no use then. So the dialect asks for deaths after
 * each call, makes no more calls on a team with a dead member, and never ends it. A job with a dead
 * PE makes no more collective calls of all PEs, but may end by layer_finalize, which then keeps
 * what the PE has shared. */

/* Whether one of these PEs, numbers in pe's job, has died. Any thread, any pe. */
bool gshmemx_layer_has_died(const void *pe, const int *pes, int n_pes);
/* The same for a team of pe, in a thread that may make calls on it; GSHMEM_TEAM_WORLD: all PEs. */
bool gshmemx_layer_has_died_in(const void *pe, gshmem_team_t team);
/* After a death: whether a kernel of pe has left a wait for it, or has asked a far PE that is lost.
 * Any thread. */
bool gshmemx_layer_has_left_lost(const void *pe);
/* Per process: a thread of the library calls subscriber a moment after each death: until then
 * kernels may find what the PE wrote last. dead: its number. It must not wait for other PEs. Not
 * called when all PEs are lost to each other: all kernels then leave. */
void gshmemx_layer_subscribe_deaths(void (*subscriber)(void *pe, int dead));
/* After gshmemx_layer_tell_lost pe's kernels leave where they wait for a word in this memory of pe,
 * or of this team of pe; they go on elsewhere. The memory and the team stay lost: nobody uses them
 * any more. False: no room. What is lost together takes less room if it is told together: memory
 * without gaps counts once, in whatever order it is given. One thread at a time for all PEs of the
 * process.
 */
bool gshmemx_layer_lose(void *pe, const void *memory, size_t bytes);
bool gshmemx_layer_lose_team(void *pe, gshmem_team_t team);
void gshmemx_layer_tell_lost(void *pe);

/* ---- the calling thread's PE ---- */

/* The state that kernels of this PE work on (wire/state.h), in host memory; *bytes: its size. It
 * lives, unchanged, until finalize. A copy that kernels can read serves as theirs. */
const struct gsh_state *gshmemx_layer_state(size_t *bytes);
/* The CUDA device that this PE's kernels run on, by its number in this process; -1: the CPU device.
 */
int gshmemx_layer_cuda_device(void);
/* Whether all of this PE's kernels post to a network adapter by themselves for far PEs. Those of
 * GPUs do only where a program is compiled for it, so there the answer is no. */
bool gshmemx_layer_posts(void);
/* Reductions of 8-bit floating-point numbers, as the public calls on a stream do for other types:
 * computed in float, rounded as in gshmem/detail/float8.h. */
enum gshmemx_layer_float8 { GSHMEMX_LAYER_E4M3, GSHMEMX_LAYER_E5M2 };
enum gshmemx_layer_op {
    GSHMEMX_LAYER_SUM,
    GSHMEMX_LAYER_PROD,
    GSHMEMX_LAYER_MAX,
    GSHMEMX_LAYER_MIN
};
int gshmemx_layer_reduce_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                   gshmem_team_t team, void *dest, const void *source,
                                   size_t nreduce, gshmemx_stream_t stream);
int gshmemx_layer_reducescatter_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                          gshmem_team_t team, void *dest, const void *source,
                                          size_t nreduce, gshmemx_stream_t stream);
/* ---- collectives on any memory, on a stream ----
 *
 * source and dest may be any memory that the PE's kernels reach, of any alignment, and may be in
 * place as NCCL's calls have it: dest == source; an all-gather's source the own block of dest, a
 * reduce-scatter's dest the own block of source, a gather's and scatter's at the root likewise.
 * Data go through an inbox, symmetric memory of the members, in lines that carry a flag. All
 * members are near. */
enum gshmemx_layer_coll_kind {
    GSHMEMX_LAYER_ALL_REDUCE,
    GSHMEMX_LAYER_REDUCE, /* dest: of the root alone */
    GSHMEMX_LAYER_REDUCE_SCATTER,
    GSHMEMX_LAYER_ALL_GATHER,
    GSHMEMX_LAYER_ALL_TO_ALL,
    GSHMEMX_LAYER_BROADCAST, /* source: of the root alone */
    GSHMEMX_LAYER_GATHER,    /* dest: of the root alone */
    GSHMEMX_LAYER_SCATTER    /* source: of the root alone */
};
enum gshmemx_layer_type {
    GSHMEMX_LAYER_TYPE_INT8,
    GSHMEMX_LAYER_TYPE_UINT8,
    GSHMEMX_LAYER_TYPE_INT32,
    GSHMEMX_LAYER_TYPE_UINT32,
    GSHMEMX_LAYER_TYPE_INT64,
    GSHMEMX_LAYER_TYPE_UINT64,
    GSHMEMX_LAYER_TYPE_HALF,
    GSHMEMX_LAYER_TYPE_FLOAT,
    GSHMEMX_LAYER_TYPE_DOUBLE,
    GSHMEMX_LAYER_TYPE_BFLOAT16,
    GSHMEMX_LAYER_TYPE_E4M3, /* added up as float, rounded once */
    GSHMEMX_LAYER_TYPE_E5M2
};
/* What a reduction does to elements besides. MULTIPLIED: this member's elements times the scalar,
 * which is of their type, before they are added up; rounded to the type. DIVIDED: results by the
 * scalar, which is of the type, of 8-bit floating-point numbers a float, and the same on all
 * members; these are rounded after that. */
enum gshmemx_layer_scaling {
    GSHMEMX_LAYER_NOT_SCALED,
    GSHMEMX_LAYER_MULTIPLIED,
    GSHMEMX_LAYER_DIVIDED
};
/* Arguments that a kind has no use for are 0. All but source, dest, readable and a multiplier are
 * the same on all members. */
struct gshmemx_layer_coll {
    enum gshmemx_layer_coll_kind kind;
    enum gshmemx_layer_type type;
    enum gshmemx_layer_op op;
    enum gshmemx_layer_scaling scaling;
    int root; /* a member's number */
    const void *source;
    void *dest;
    /* Of a reduce, broadcast, gather or scatter of two members. may_read: if the source of the one
     * that gives has a symmetric address, the other may read a large one there, and has done so
     * when the collective is through here; it costs large ones a flight if there is none. readable:
     * that address; or NULL. */
    bool may_read;
    const void *readable;
    /* Of two members' collectives but a reduce-scatter: their memory for pieces, by which a large
     * one streams; NULL: none, the same on both. shares_pieces: other communicators of the
     * two use it, too, the same on both and in all calls by that memory; then one that is using it
     * makes the others go another way. */
    const void *pieces;
    bool shares_pieces;
    size_t count;          /* elements of one block: what one member gives to or gets of another */
    uint64_t scalar;       /* its bits, or */
    const void *scalar_at; /* where the kernel reads them */
    /* Blocks of the launch that work on it, as far as they may all run at once; 0: no limit. On the
     * CPU device there is one. */
    unsigned least_blocks, most_blocks;
    uint32_t site; /* gshmemx_layer_site of the call; 0: of the one that launches it */
};

/* An inbox of the caller's: symmetric memory at the same offset on all members, aligned to 128
 * bytes. Each member clears its own, and knows that the others have, before its first call. The
 * calls that use it come in one order, the same on all members, and one after the other. */
struct gshmemx_layer_inbox {
    void *memory;
    size_t bytes;
};
/* How many bytes an inbox for that many members needs to carry what the links can, and the least
 * with which anything goes. No communication. */
size_t gshmemx_layer_inbox_bytes(int n_members);
size_t gshmemx_layer_inbox_least_bytes(int n_members);
/* Sets the inbox to what its first call expects, and waits until that is done. */
int gshmemx_layer_inbox_clear(const struct gshmemx_layer_inbox *inbox);
/* Memory for pieces: symmetric on two PEs, aligned to 128 bytes, for all collectives of the two.
 * How many bytes it takes. Each of the two clears its own, and knows that the other has, before its
 * first call. */
size_t gshmemx_layer_pieces_bytes(void);
int gshmemx_layer_pieces_clear(void *memory);
/* Loads the kernels of gshmemx_layer_colls_on_stream, or of all collectives. Those that are not
 * loaded are when the first of them is needed: that call must not come while collectives of this PE
 * wait for a PE that is about to make it, since the driver may let it wait for these. */
int gshmemx_layer_load_colls(const char *call, bool all);
/* Whether the call below works on the team with that inbox; NULL: the team's own. The same on all
 * members. */
bool gshmemx_layer_has_colls(gshmem_team_t team, const struct gshmemx_layer_inbox *inbox);
/* Carries out n collectives, each after the ones before it as far as their memory is concerned: one
 * may not use what another one of the same call changes. One launch for up to
 * GSHMEMX_LAYER_COLLS_AT_ONCE of them; may be captured into a graph. inbox NULL: the team's own, of
 * which calls are ordered with all other collectives of the team. */
enum { GSHMEMX_LAYER_COLLS_AT_ONCE = 8 };
int gshmemx_layer_colls_on_stream(const char *call, gshmem_team_t team,
                                  const struct gshmemx_layer_inbox *inbox,
                                  const struct gshmemx_layer_coll *colls, int n,
                                  gshmemx_stream_t stream);

/* Launches for collectives on a stream that the calling thread makes from now on, other than those
 * of gshmemx_layer_colls_on_stream, have at least and at most so many blocks, as far as these may
 * all run at once; 0: no limit. The same on all members. On the CPU device they have one. */
void gshmemx_layer_limit_blocks(unsigned least, unsigned most);
/* This PE's kernels that wait, now or later, leave: their threads end in the middle of their
 * functions. So do the library's own kernels, for collectives on streams and for host calls, which
 * then return without a result. Streams drain where kernels wait only in the library's calls. A
 * kernel that has left may have done any part of its work; teams, locks and words that it used are
 * no longer usable. Other PEs that wait for this one go on waiting. Collectives, signals and calls
 * for far PEs that a stream reaches now do nothing. The stream still makes copies and sets words by
 * itself, and the program's kernels run. Meanwhile the PE does not hear that the job ends, and its
 * kernels report no mistakes. If the process exits in this state, only the peers that lose the PE
 * report that it was not finalized. on is false: kernels wait again. gshmemx_layer_synchronize,
 * called before that, waits until all that were waiting have left. By any thread. */
void gshmemx_layer_leave_kernels(bool on);
/* Waits until this PE's device has completed all work on its streams. */
void gshmemx_layer_synchronize(void);

/* Whether the bytes lie in one allocation of the heap, or in memory that all PEs have registered:
 * then all PEs have them, at the same offset. No communication. */
int gshmemx_layer_is_symmetric(const void *memory, size_t bytes);
/* Collective over the team: the program's memory becomes symmetric for its members, at *alias on
 * this one; sizes are the same on all. On any failure all get an error, and nothing has changed. */
int gshmemx_layer_register(const char *call, gshmem_team_t team, void *memory, size_t bytes,
                           void **alias);
/* Collective over the team that registered it; no member uses it any more. */
int gshmemx_layer_unregister(const char *call, gshmem_team_t team, void *alias, size_t bytes);

/* Memory of this process that register accepts: on the device that init would choose, if init has
 * not run. Both: any thread, with or without a PE. A registered part outlives the free. */
int gshmemx_layer_alloc(const char *call, size_t bytes, void **memory);
int gshmemx_layer_free(const char *call, void *memory);

/* gshmemx_team_create for a team that takes as little of the team pool as it can. Its small
 * collectives are as fast as GSHMEM_TEAM_WORLD's if it has `buffers`: up to 2 MiB of symmetric
 * memory, the same on all members, aligned to 128 bytes and not used otherwise until the team has
 * ended; 0 bytes: none. */
int gshmemx_layer_team_create(const char *call, const int *pes, int n_pes, void *buffers,
                              size_t bytes, gshmem_team_t *team);

/* Collective over n members of the team: whether all of them say yes. pes: their PEs, in an order
 * that is the same on all; NULL: all members. A wait of the host alone, so threads may make it at
 * the same time, for a team each. Once another thread has set *stop, which is atomic, it returns,
 * and nobody calls it for the team again; what it returns then is of no use. */
bool gshmemx_layer_vote(const char *call, gshmem_team_t team, const int *pes, int n, bool says_yes,
                        const bool *stop);

/* Collective over the team, a wait of the host like gshmemx_layer_vote, and ended by *stop as that
 * is: words[0..n), as many on all members, become the OR of all members'. If a member has died, or
 * the wait has been ended, they may be anything. */
void gshmemx_layer_unite(const char *call, gshmem_team_t team, uint64_t *words, size_t n,
                         const bool *stop);

/* Collective over the team, once every member is about to make one and the same call: whether all
 * of them give the same text, at most 159 bytes that say which call it is and with what. If not,
 * GSHMEMX_ERROR_SYMMETRY on all members, which may go on: gshmemx_error_string has the texts of
 * member 0 and of the first that differs, and nothing is printed. Over GSHMEM_TEAM_WORLD it also
 * finds that others allocate or free meanwhile, or finalize, which ends the job there. No wait for
 * streams. Host threads of one PE make it one after the other, for GSHMEM_TEAM_WORLD and the heap's
 * calls together. call stays as it is. */
int gshmemx_layer_compare(const char *call, gshmem_team_t team, const char *text);

/* Words of a team's member for the dialect's own use: host memory that all PEs of the member's node
 * read and write; NULL: the member is on another node than this PE, or there is no such team. They
 * last as long as the team. An earlier team may have left anything there, so each member clears its
 * own before the members' first barrier. Does not wait. member: its number in the team. */
enum { GSHMEMX_LAYER_TEAM_WORDS = 72 };
uint64_t *gshmemx_layer_team_words(gshmem_team_t team, int member);

/* One poll of a wait for PE `target` to make that call: backs off; ends the job when the time limit
 * has passed, and the process when the job is ending. False: it has died. All zeros at first. */
struct gshmemx_layer_wait {
    uint64_t start_ns;
    unsigned backoff;
};
bool gshmemx_layer_wait_poll(const char *call, int target, struct gshmemx_layer_wait *wait);

/* ---- waits of the host, for hang reports ---- */

/* The calling thread waits in that call, a text that stays as it is, until end: for what PE
 * `target` does; -1: nobody in particular, or a process that is not known. Of calls inside each
 * other the outermost counts; it is for the PE that an inner one names, if it names none. Any
 * thread; in a process without PEs it does nothing. */
struct gshmemx_layer_standing {
    uint64_t room[8];
};
void gshmemx_layer_stand(struct gshmemx_layer_standing *wait, const char *call, int target);
void gshmemx_layer_stand_end(struct gshmemx_layer_standing *wait);

/* A PE as other processes may be told of it, whatever they are; all zeros: there is none. */
struct gshmemx_layer_pe_name {
    uint64_t job;
    int32_t number; /* from 1 on */
    int32_t zero;
};
/* Of the calling thread's PE. */
void gshmemx_layer_name_pe(struct gshmemx_layer_pe_name *name);
/* The PE of this job with that name, which may be anything; -1: there is none. */
int gshmemx_layer_find_pe(const struct gshmemx_layer_pe_name *name);

/* ---- places of calls in the program, for hang reports ---- */

/* The number of the place at which the calling thread's public call stands, in this process, as
 * long as it lives; 0: not known. It takes 16 bits. */
uint32_t gshmemx_layer_site(void);
/* The calling thread now carries out a call that stands there. Returns the number of the place that
 * it had before, to be given back in the end. */
uint32_t gshmemx_layer_use_site(uint32_t site);

/* ---- the timeline ----
 *
 * While nothing is recorded each of these costs a call and a branch. */

/* From now on the timeline shows what the calling thread does under this name, and not under the
 * names of the public calls that do it; so do hang reports and errors of what it puts on streams.
 * The string stays as it is. NULL: no longer. */
void gshmemx_layer_trace_as(const char *call);

/* What no public call does: a slice of the calling thread from begin to end, and, but for a
 * message, one of the stream around what is enqueued meanwhile. Calls made meanwhile are part of
 * it. */
enum gshmemx_layer_traced_kind {
    GSHMEMX_LAYER_TRACED_MESSAGE, /* a transfer to or from pe that is asked for */
    GSHMEMX_LAYER_TRACED_LAUNCH,  /* of such transfers */
    GSHMEMX_LAYER_TRACED_WAIT,    /* until the symmetric word of 64 bits is at least `value` */
    /* Of the calling thread alone: */
    GSHMEMX_LAYER_TRACED_WRITE,  /* bytes to `offset` in `memory` */
    GSHMEMX_LAYER_TRACED_UPDATE, /* the word at `offset` in `memory` becomes `value` */
    GSHMEMX_LAYER_TRACED_CALL    /* another call */
};
struct gshmemx_layer_traced_call {
    const char *call; /* stays as it is */
    enum gshmemx_layer_traced_kind kind;
    int pe; /* of a message */
    bool is_receive;
    size_t bytes;
    const void *word;
    uint64_t value;
    gshmemx_stream_t stream;
    uint64_t memory, offset; /* memory: a number of gshmemx_layer_trace_memory */
};
struct gshmemx_layer_traced {
    uint64_t reserved[20];
};
void gshmemx_layer_trace_begin(struct gshmemx_layer_traced *traced,
                               const struct gshmemx_layer_traced_call *call);
void gshmemx_layer_trace_end(struct gshmemx_layer_traced *traced);
/* The bytes at this process's address are memory with that number, which no other has in the job:
 * the calling thread's PE's own, or another PE's that is mapped here. So the timeline knows whom
 * calls concern that know only an address. */
void gshmemx_layer_trace_memory(const void *address, size_t bytes, uint64_t number, bool is_own);

/* ---- without a job ----
 *
 * Processes that exchange bytes by any means share memory and send each other messages, whether or
 * not they are PEs. All of these: any thread, with or without a PE; a failure is not printed, and
 * gshmemx_layer_why has its text. Keys are plain bytes; those from elsewhere may be anything. */

enum gshmemx_layer_outcome {
    GSHMEMX_LAYER_DONE,
    GSHMEMX_LAYER_WRONG,   /* a mistake of the caller */
    GSHMEMX_LAYER_LACKING, /* the system refused something, or has too little of it */
    GSHMEMX_LAYER_LATE,    /* the time limit passed */
    GSHMEMX_LAYER_LOST,    /* the other process has ended or has closed this */
    GSHMEMX_LAYER_BROKEN /* the other process sent what it must not; or a mistake of the library */
};
/* Of the calling thread's latest failure. */
const char *gshmemx_layer_why(void);
/* GSHMEM_BOOTSTRAP_TIMEOUT in nanoseconds; 0: none. */
uint64_t gshmemx_layer_timeout_ns(void);
/* GSHMEM_WAIT_TIMEOUT in nanoseconds; 0: none. WRONG: a variable of gshmem has a wrong value. */
int gshmemx_layer_wait_timeout(uint64_t *ns);

/* Ranks that start up together, as a job would: collective calls by one thread of a rank at a time.
 * id: of gshmemx_get_uniqueid. timeout_ns: of each call; 0: none. */
int gshmemx_layer_ranks_start(const gshmemx_uniqueid_t *id, int rank, int n_ranks,
                              uint64_t timeout_ns, void **ranks);
/* By "ip:port" or "interface:ip:port", where rank 0 listens; the text is the only secret. */
int gshmemx_layer_ranks_start_at(const char *text, int rank, int n_ranks, uint64_t timeout_ns,
                                 void **ranks);
int gshmemx_layer_ranks_allgather(void *ranks, const void *mine, size_t bytes, void *all);
int gshmemx_layer_ranks_barrier(void *ranks);
void gshmemx_layer_ranks_end(void *ranks);

/* An entry takes messages from any process that has its key. Threads of the library, several at a
 * time, call receive and lost. If receive returns false, that link ends. A reply goes by
 * link_send. may_use_ucx, of both ends: their links go over UCX if both have it. If not, they go
 * over TCP, and a line says why, once in a process; with GSHMEM_TRANSPORT=ucx the call fails, and
 * with =loop UCX is not asked for. */
enum { GSHMEMX_LAYER_ENTRY_KEY = 88, GSHMEMX_LAYER_MESSAGE = 256 << 10, GSHMEMX_LAYER_HEAD = 64 };
int gshmemx_layer_entry_open(bool (*receive)(void *context, void *link, const void *data,
                                             size_t bytes),
                             void (*lost)(void *context, void *link), void *context,
                             bool may_use_ucx, void **entry, uint8_t key[GSHMEMX_LAYER_ENTRY_KEY]);
/* Waits for running calls; not within one. Accepts NULL. */
void gshmemx_layer_entry_close(void *entry);
/* from: a number of the caller's, for the entry. */
int gshmemx_layer_link_connect(const uint8_t key[GSHMEMX_LAYER_ENTRY_KEY], uint32_t from,
                               bool may_use_ucx, uint64_t timeout_ns, void **link);
/* What was sent over UCX arrives first, unless that takes longer than connecting may have. */
void gshmemx_layer_link_close(void *link);
uint32_t gshmemx_layer_link_from(const void *link);
/* "UCX" or "TCP". */
const char *gshmemx_layer_link_carrier(const void *link);
/* One message of both: a head of GSHMEMX_LAYER_HEAD bytes, and data up to GSHMEMX_LAYER_MESSAGE in
 * all. */
int gshmemx_layer_link_send(void *link, const void *head, const void *data, size_t bytes,
                            uint64_t timeout_ns);
/* One thread at a time: the entry's next reply. */
int gshmemx_layer_link_receive(void *link, void *data, size_t room, size_t *bytes,
                               uint64_t timeout_ns);
/* Whether receive has something to tell, without waiting for it. Any thread. */
bool gshmemx_layer_link_has_reply(void *link);
bool gshmemx_layer_link_is_lost(void *link);

/* Memory of this process for others to map, of the kind that init would choose: any, also from
 * gshmem_malloc. Private host memory becomes shared in this call, and private again when nobody
 * exports it any more: no thread may write to its pages meanwhile, not even beside it. */
/* RANGE_BYTES_AT: where the key says, as a uint64_t, how many bytes will be mapped. */
enum { GSHMEMX_LAYER_RANGE_KEY = 56, GSHMEMX_LAYER_RANGE_BYTES_AT = 32 };
int gshmemx_layer_range_export(void *memory, size_t bytes, void **range,
                               uint8_t key[GSHMEMX_LAYER_RANGE_KEY]);
/* Those that have mapped it keep it. Accepts NULL. */
void gshmemx_layer_range_release(void *range);
/* *memory: as this process accesses it, which may be the owner's. */
int gshmemx_layer_range_open(const uint8_t key[GSHMEMX_LAYER_RANGE_KEY], void **opened,
                             void **memory);
void gshmemx_layer_range_close(void *opened);
/* The key by which others watch this process. */
int gshmemx_layer_process_key(uint8_t key[GSHMEMX_LAYER_RANGE_KEY]);
/* LOST: it has ended, or is on another node. */
int gshmemx_layer_process_watch(const uint8_t key[GSHMEMX_LAYER_RANGE_KEY], void **watch);
bool gshmemx_layer_process_has_ended(const void *watch);
void gshmemx_layer_process_forget(void *watch);

/* Copies in order, between memory of this process and what it has mapped. On the CPU device each
 * call is done when it returns; on GPUs it is on a stream of the calling thread's device. Words at
 * multiples of 8 come whole: kernels may poll those that carry flags of their own, without a store
 * behind them. */
int gshmemx_layer_copies_create(void **copies);
void gshmemx_layer_copies_destroy(void *copies);
int gshmemx_layer_copies_add(void *copies, void *dest, const void *source, size_t bytes);
/* *word becomes value once all earlier copies are complete, which it publishes. word: aligned to 8;
 * in ordinary memory of the host the call waits for them. */
int gshmemx_layer_copies_store(void *copies, uint64_t *word, uint64_t value);
/* The same for two words, in this order, for the cost of nearly one. */
int gshmemx_layer_copies_store_two(void *copies, uint64_t *const words[2],
                                   const uint64_t values[2]);
/* Until all are complete. */
int gshmemx_layer_copies_wait(void *copies, uint64_t timeout_ns);

/* The NUMA node that this CUDA device is attached to, as Linux says; -1: unknown, no such device,
 * or there is no GPU. Any thread, with or without a PE. */
int gshmemx_layer_device_node(int device);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
