/* SPDX-License-Identifier: Apache-2.0
 * The host API, in the manner of OpenSHMEM 1.5. Compiles as C17, C++17 and CUDA. Since 0.1; what
 * came later says so.
 *
 * In a file that also holds kernels include <gshmem_device.cuh> (nvcc: this header does it): the
 * calls marked [hd] then exist in kernels as well, with the same names and meaning.
 *
 * Words. PE: one participant, a process or a thread, numbered 0 .. n_pes - 1. Symmetric address:
 * an address in memory from gshmem_malloc (or of a global: GSHMEMX_INIT_STATIC_DATA); it names the
 * same object on every PE. nelems counts elements, not bytes.
 *
 * Unless stated otherwise, any thread of a PE may make a call after init, and several threads may
 * make calls at once. A PE makes only one collective call at a time on each team. Collective calls
 * on the heap or the job, such as malloc, count as calls on team WORLD. dest of a put and source of
 * a get are symmetric. The other side may be any memory that the device can reach, on the heap or
 * not (host calls: host or GPU memory). Where PEs are threads of one process, the thread that
 * called init is the PE, and only that thread makes calls for it.
 *
 * Errors. Calls with an int result return 0 or a GSHMEMX_ERROR_, and gshmemx_error_string
 * (gshmemx.h) says why. Calls that return a pointer return NULL. The others print one line and end
 * the job; gshmemx_set_error_handler (gshmemx.h) names a function that is called in between. Where
 * a mistake is found:
 *
 *  mistake                                        host calls        calls in kernels
 *  call before init or after finalize             always            on the CPU device
 *  no such PE, stride, sig_op or cmp; address     always            -DGSHMEM_CHECKS=1
 *  not symmetric; signal, or word of an atomic
 *  or a wait, not aligned
 *  range leaves its allocation                    checking build    both
 *
 * A checking build is a library built with -Dchecks=true; -DGSHMEM_CHECKS=1 is a flag for files
 * with kernels. Where a mistake is not found, behaviour is undefined.
 *
 * Memory model. The last column shows what the call executes for a near PE, one that is reached by
 * loads and stores.
 *
 *  call                     what holds on return                                for a near PE
 *  put, p, get, g           source reusable; for get, data present              weak loads, stores
 *  _nbi                     nothing until quiet                                 the same
 *  fence                    earlier puts and AMOs to each PE are seen before    fence.acq_rel.sys
 *                           later ones to that PE
 *  quiet                    earlier puts, AMOs and nbi gets are complete and    fence
 *                           visible
 *  put_signal               signal seen implies this call's data seen           fence, then store
 *  signal_op                as an AMO                                           store or red
 *  wait_until, test,        values written before the matching signal are       acquire loads at
 *  signal_wait_until        visible                                             system scope
 *  AMO                      atomic with every other gshmem AMO on that word,    atom, red at system
 *                           from any PE, host or device                         scope
 *  barrier                  quiet, then all have arrived                        one flag per peer
 *  sync                     all have arrived, nothing about data                one flag per peer
 *
 * fence and quiet cover the default context. On the host they cover this PE's host calls. In a
 * kernel they cover the calling thread's own calls, and the group's calls (a warp's, a block's) in
 * which it took part. gshmem_ctx_fence and gshmem_ctx_quiet do the same for their context. */
#ifndef GSHMEM_H
#define GSHMEM_H

#include "gshmem/types.h"
#include "gshmem/version.h"

/* Keeps the library's symbols visible, regardless of the program's default visibility. */
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up (OpenSHMEM 1.5, 9.1) --------------------------------------------------------------
 */

/* Makes the calling process (or thread, under gshmemx_run or gshmemrun --threads) a PE of the job
 * that the launcher started; without a launcher, the only PE. Collective. After init, a call
 * involves other PEs only if its contract says that it is collective.
 *
 * Where all PEs are certain to use the CPU device (GSHMEM_DEVICE, the program's kernels, or a
 * missing CUDA driver decide that), init sets it up. Otherwise my_pe, n_pes and the teams work at
 * once, but there is no symmetric memory yet: the device is set up at the first call that is
 * collective over all PEs and needs it (malloc, barrier_all and sync_all, also on a stream;
 * gshmemx_device_setup). It is the current CUDA device, or else one chosen by PE number.
 *
 * A process forked by a PE is not a PE: it must make no gshmem calls and must end with exec or
 * _exit. A program that it becomes is no part of the job either: its init makes a job of one PE,
 * unless another launcher has started it.
 *
 * Ends the process, with one line and status 1, when it fails. A program that must go on, such as a
 * library's or a host language's, calls gshmemx_init_attr(0, NULL) (gshmemx.h), which does the same
 * and returns an error instead. */
void gshmem_init(void);
/* As gshmem_init. *provided is GSHMEM_THREAD_MULTIPLE for a PE that is a process, whatever was
 * requested, and GSHMEM_THREAD_FUNNELED for a PE that is a thread. Returns 0, or an error, where
 * gshmem_init would end the process. */
int gshmem_init_thread(int requested, int *provided);
/* *provided is the level that init gave. */
void gshmem_query_thread(int *provided);
/* *initialized is 1 from init to finalize, else 0. Any thread may call it, at any time (OpenSHMEM
 * 1.6). */
void gshmem_query_initialized(int *initialized);
/* Does nothing; profilers may replace it. */
void gshmem_pcontrol(int level, ...);
/* Collective. Waits for this PE's kernels and stream calls, performs a barrier, and releases
 * everything, including memory that was never freed. The PE may init again. Only the thread that
 * called init may call it; from another thread it prints one line and ends the job. A process that
 * exits before finalize, or a main under gshmemx_run that returns before it, ends the job with one
 * line and a status other than 0, if the job has several PEs. After _exit only the PEs of other
 * processes notice; PEs that are threads of the process end with it, silently and with the status
 * it gives.
 */
void gshmem_finalize(void);

/* ---- symmetric heap (9.3): collective over all PEs, with the same arguments -------------------
 */

/* Returns symmetric memory of `size` bytes, aligned to 512 bytes, with undefined contents (calloc:
 * zeros). When the call returns on any PE, the memory is ready on all of them.
 *
 * Returns NULL and leaves the heap unchanged if size is 0. Also returns NULL, on all PEs, if they
 * make different calls or give different arguments, or if memory runs out on any of them; PE 0
 * prints why. */
void *gshmem_malloc(size_t size);
/* As malloc, for count elements of `size` bytes each, all zero. */
void *gshmem_calloc(size_t count, size_t size);
/* As malloc, aligned to any power of two up to the heap's range. */
void *gshmem_align(size_t alignment, size_t size);
/* As malloc. hints say what the memory is for (GSHMEM_MALLOC_...), or are 0; bits without a
 * meaning are ignored. */
void *gshmem_malloc_with_hints(size_t size, long hints);
/* Returns a new allocation of `size` bytes. The contents of the old one, at ptr, are copied up to
 * the smaller of the two sizes, and the old one is freed as by gshmem_free. Returns NULL and leaves
 * ptr allocated if memory runs out. With ptr NULL it is malloc; with size 0 it frees ptr and
 * returns NULL. */
void *gshmem_realloc(void *ptr, size_t size);
/* Waits for all PEs and for this PE's outstanding host calls, then frees the allocation. NULL is
 * ignored.
 *
 * Memory beyond the last allocation is returned to the device, in the chunks in which it was
 * obtained, except for up to GSHMEM_HEAP_KEEP bytes (4 GiB; on the CPU device at most 64 MiB) that
 * the next allocations can use: getting memory again takes up to milliseconds. */
void gshmem_free(void *ptr);

/* ---- making teams (9.4.3 to 9.4.7): host only, before device set-up as well -------------------
 *
 * The members of a new team are numbered in the order in which the call names them, and its handle
 * is the same on all of them. Teams may overlap. The calls are collective over the parent team,
 * with the same arguments on all of its PEs. Threads of a PE may divide different parents at the
 * same time, also while others end teams.
 *
 * The calls return 0, also on PEs that are not members of the new team and get GSHMEM_TEAM_INVALID.
 * If a call fails, the new team's members get GSHMEM_TEAM_INVALID and an error; if its arguments
 * are wrong, all PEs of the parent do. One PE prints why, and nothing has changed; if the parent is
 * GSHMEM_TEAM_INVALID, nothing is printed. config: NULL for the defaults. A team takes about 1 KiB
 * of GSHMEM_TEAM_MEMORY and no other memory. */

/* Makes a team of `size` PEs of the parent: start, start + stride, and so on. stride may be
 * negative, and 0 only for a team of one PE. */
int gshmem_team_split_strided(gshmem_team_t parent_team, int start, int stride, int size,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team);
/* Divides the parent into rows of xrange consecutive PEs and the columns across them, and returns
 * this PE's two teams. The last row may be shorter. */
int gshmem_team_split_2d(gshmem_team_t parent_team, int xrange,
                         const gshmem_team_config_t *xaxis_config, long xaxis_mask,
                         gshmem_team_t *xaxis_team, const gshmem_team_config_t *yaxis_config,
                         long yaxis_mask, gshmem_team_t *yaxis_team);
/* Fills in the fields of config that the mask names. Returns 0 or an error. */
int gshmem_team_get_config(gshmem_team_t team, long config_mask, gshmem_team_config_t *config);
/* Destroys the team and its contexts. Collective over the team, whose calls in kernels and on
 * streams must be complete. Destroying a predefined team prints a message and has no other effect;
 * GSHMEM_TEAM_INVALID is ignored. */
void gshmem_team_destroy(gshmem_team_t team);

/* ---- making contexts (9.5): host only, before device set-up as well; any thread --------------
 *
 * The calls gshmem_ctx_...(ctx, ...) do what the calls without ctx do, with two differences. They
 * number PEs as the context's team does. And fence and quiet of a context cover only the calls made
 * in it, from the host and from kernels: gshmem_ctx_quiet and gshmem_quiet do not wait for traffic
 * of other contexts. A barrier's quiet is the default context's. Calls in different contexts are
 * not ordered with each other.
 *
 * Contexts are not fully independent; they share the following:
 *  - To far PEs, up to GSHMEM_CONTEXTS contexts (32, at most 40) have a stream of requests of their
 *    own. Further ones share one, and a quiet or fence of either then covers both.
 *  - Small requests to one far PE (atomics, puts with a signal, strided puts) are carried out in
 *    order, whichever contexts they were issued in. So are all puts where data are staged, or where
 *    UCX has no shared memory that reaches the target.
 *  - Host calls of a GPU to near PEs take a stream of the library's own, made at a context's first
 *    such call. Besides the default context's there are 2 of them, or a quarter of
 *    CUDA_DEVICE_MAX_CONNECTIONS, up to 8. Further contexts share these in turn, and a quiet of
 *    either then covers both. If PEs are threads that share a GPU, each has one stream for all
 *    contexts. */

/* Makes a context on all PEs, or on a team of which this PE is a member. Not collective: contexts
 * of different PEs are independent. options: GSHMEM_CTX_..., ORed; 0 lets any thread use it.
 * Returns 0. If there is no such team or option, or 16383 contexts exist, returns an error and sets
 * *ctx to GSHMEM_CTX_INVALID; it prints no line if the team is GSHMEM_TEAM_INVALID. */
int gshmem_ctx_create(long options, gshmem_ctx_t *ctx);
int gshmem_team_create_ctx(gshmem_team_t team, long options, gshmem_ctx_t *ctx);
/* Completes all operations of the context, as quiet does, and destroys it. No thread or kernel may
 * still be making a call in it. GSHMEM_CTX_INVALID is ignored; destroying the default context
 * prints a message and has no other effect. Contexts that are not destroyed end with their team or
 * in finalize. */
void gshmem_ctx_destroy(gshmem_ctx_t ctx);

#ifdef __cplusplus
}
#endif

GSHMEM_HD_BEGIN

/* ---- query (9.1, 9.2) [hd] ---------------------------------------------------------------------
 */

/* Return this PE's number, and the number of PEs. Before init they return -1 and print one line. */
int gshmem_my_pe(void);
int gshmem_n_pes(void);
/* Return 1 if pe, or its copy of the symmetric object at addr, can be reached from here, else 0. */
int gshmem_pe_accessible(int pe);
int gshmem_addr_accessible(const void *addr, int pe);
/* Return the version of OpenSHMEM; the library's name (name must have room for GSHMEM_MAX_NAME_LEN
 * bytes); and the library's version. They may be called before init. */
void gshmem_info_get_version(int *major, int *minor);
void gshmem_info_get_name(char *name);
void gshmemx_vendor_get_version_info(int *major, int *minor, int *patch);
/* Ends all PEs with this exit status, from any of them. Does not return. Not collective. It may end
 * other PEs before they have printed, so let the PE that calls it print why. */
void gshmem_global_exit(int status);
/* Returns the address at which this PE can load and store pe's copy of the symmetric object at
 * dest; NULL if it cannot, if dest is not symmetric, or if there is no such PE. Host code may use
 * the address only on the CPU device. */
void *gshmem_ptr(const void *dest, int pe);

/* ---- teams (9.4) [hd] --------------------------------------------------------------------------
 */

/* Return this PE's number in the team, and the number of members; -1 if this PE is not a member, or
 * if there is no such team. */
int gshmem_team_my_pe(gshmem_team_t team);
int gshmem_team_n_pes(gshmem_team_t team);
/* Returns the number in dest_team of the PE whose number in src_team is src_pe; -1 if there is
 * none. */
int gshmem_team_translate_pe(gshmem_team_t src_team, int src_pe, gshmem_team_t dest_team);
/* As gshmem_ptr, for member pe of the team; NULL also if there is no such member. */
void *gshmem_team_ptr(gshmem_team_t team, const void *dest, int pe);
/* Gets the team on which ctx was made; for the default context, the team of all PEs. Returns 0. For
 * GSHMEM_CTX_INVALID returns an error and sets *team to GSHMEM_TEAM_INVALID. */
int gshmem_ctx_get_team(gshmem_ctx_t ctx, gshmem_team_t *team);

/* ---- remote memory access by bytes (9.5) [hd]; the typed and sized calls are in gshmem/typed.h -
 */

/* Copies `bytes` bytes of this PE's source to dest, which is symmetric and names memory on PE `pe`;
 * 0 bytes do nothing. dest and source may be the same, but must not overlap otherwise. On return
 * the source may be reused, after the _nbi form only after quiet. The data need not have arrived:
 * fence orders, quiet completes. */
void gshmem_putmem(void *dest, const void *source, size_t bytes, int pe);
void gshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_putmem(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_putmem_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);

/* Copies `bytes` bytes of source, which is symmetric and names memory on PE `pe`, to this PE's
 * dest; 0 bytes do nothing. dest and source may be the same, but must not overlap otherwise. On
 * return the data are in dest; after the _nbi form they are there after quiet. */
void gshmem_getmem(void *dest, const void *source, size_t bytes, int pe);
void gshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_getmem(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_getmem_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);

/* ---- signals (9.8) [hd]: a signal is a symmetric uint64_t --------------------------------------
 */

/* Puts the bytes, then changes the signal on the same PE by sig_op (GSHMEM_SIGNAL_SET or
 * GSHMEM_SIGNAL_ADD). With 0 bytes only the signal changes. After the _nbi form the source must
 * not change until quiet. */
void gshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                          uint64_t signal, int sig_op, int pe);
void gshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe);
void gshmem_ctx_putmem_signal(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                              uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void gshmem_ctx_putmem_signal_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
/* Returns this PE's own signal, read atomically. */
uint64_t gshmem_signal_fetch(const uint64_t *sig_addr);
/* Waits until this PE's own signal compares with cmp_value as cmp (a GSHMEM_CMP_...) says. Returns
 * the value that ended the wait. */
uint64_t gshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);
/* Changes the signal on pe as an AMO does. It may arrive before this PE's earlier puts. If it
 * must not, call fence first, or use put_signal. */
void gshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
/* As gshmemx_signal_op with GSHMEM_SIGNAL_ADD, or _SET (OpenSHMEM 1.6). */
void gshmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);
void gshmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);

/* ---- order and synchronisation (9.9, 9.10) [hd] ------------------------------------------------
 */

/* fence orders the puts, atomics and signals of this caller to each PE: those issued before the
 * fence are seen on that PE before those issued after it. It waits for nothing, and orders nothing
 * between different PEs.
 *
 * quiet completes: when it returns, all puts, atomics and signals that this caller has issued, to
 * any PE, are visible to every PE, and the dest of each non-blocking get may be read. A quiet is
 * also a fence.
 *
 * The caller is this PE's host code, for host calls, or the calling thread of a kernel. Without ctx
 * the calls cover the default context, with ctx that context alone. Neither is collective, and
 * neither tells the target: signal it, or meet it in a barrier. */
void gshmem_fence(void);
void gshmem_quiet(void);
void gshmem_ctx_fence(gshmem_ctx_t ctx);
void gshmem_ctx_quiet(gshmem_ctx_t ctx);
/* Like quiet, for the npes PEs listed in target_pes, by their numbers in the context's team; it may
 * wait for others as well (OpenSHMEM 1.6). */
void gshmem_pe_quiet(const int *target_pes, size_t npes);
void gshmem_ctx_pe_quiet(gshmem_ctx_t ctx, const int *target_pes, size_t npes);
/* A sync returns when every member of the team has called it; it says nothing about data. A barrier
 * is a quiet followed by a sync. The _all forms are for the team of all PEs.
 *
 * Collective over the team. Host calls meet host calls; calls in kernels meet calls in kernels and
 * on streams. In a kernel one thread of each PE makes the call, or one warp or block in the
 * suffixed forms. Returns 0, or an error if the team is invalid. */
int gshmem_barrier(gshmem_team_t team);
void gshmem_barrier_all(void);
int gshmem_team_sync(gshmem_team_t team);
void gshmem_sync_all(void);

/* ---- the timeline [hd] -------------------------------------------------------------------------
 */

/* A span of the program's own in the timeline (GSHMEM_TRACE), from begin to
 * the end that matches it; spans of a thread nest. In kernels each thread has spans of its own, and
 * the name is a string literal; there the calls do nothing unless the file was compiled with
 * GSHMEM_TRACE_KERNELS. On the host they do nothing without a timeline. Not collective. Since 0.2.
 */
void gshmemx_trace_begin(const char *name);
void gshmemx_trace_end(void);

/* ---- locks (9.11) [hd]: a lock is a symmetric long, 0 on all PEs before its first use ----------
 *
 * One PE at a time holds a lock, through one of its threads, from the moment set_lock returns, or
 * test_lock returns 0, until that PE's clear_lock. In kernels a single thread makes the calls. A PE
 * that waits for a lock polls its own memory. PEs get the lock in the order in which they asked;
 * threads of one PE in any order. Without contention set_lock and clear_lock take one atomic each,
 * on a PE that the library chooses by the lock's address. The contents of the long belong to the
 * library. */

/* Waits until this PE holds the lock; the thread that holds it must not set it again. */
void gshmem_set_lock(long *lock);
/* Returns 0 if this PE holds the lock now; otherwise another PE, or another thread of this PE,
 * holds it. */
int gshmem_test_lock(long *lock);
/* Completes this PE's puts as by quiet, then passes the lock to the PE that has waited longest.
 * Ends the job if this PE does not hold the lock. */
void gshmem_clear_lock(long *lock);

GSHMEM_HD_END

/* The name that OpenSHMEM gives gshmem_team_sync. */
#define gshmem_sync(team) gshmem_team_sync(team)

#include "gshmem/typed.h"
#include "gshmem/collectives.h"

#pragma GCC visibility pop

#ifndef GSHMEM_DEVICE_CODE
#include "gshmem/generic.h"
#endif

#if defined(__CUDACC__) && !defined(GSHMEM_HOST_ONLY)
#include "gshmem_device.cuh"
#endif

#if defined(GSHMEM_CALL_SITES) && !defined(GSHMEM_DEVICE_CODE)
#include "gshmem/call_sites.h"
#endif

#endif
