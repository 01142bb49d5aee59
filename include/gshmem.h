/* SPDX-License-Identifier: Apache-2.0
 * The host API, in the manner of OpenSHMEM 1.5. Compiles as C17, C++17 and CUDA.
 *
 * In a file that also holds kernels include <gshmem_device.cuh> (nvcc: this header does it): the
 * calls marked [hd] then exist in kernels as well, with the same names and meaning.
 *
 * Words. PE: one participant, a process or a thread, numbered 0 .. n_pes - 1. Symmetric address:
 * an address in memory from gshmem_malloc (or of a global: GSHMEMX_INIT_STATIC_DATA); it names the
 * same object on every PE. nelems counts
 * elements, not bytes. Unless stated otherwise a call may be made by any thread of a PE after init,
 * by several at once too, except that collective calls are made by one; `dest` of a put and
 * `source` of a get are symmetric, and the other side may be any memory the device can reach, on
 * the heap or not (host calls: host or GPU memory). Where PEs are threads of one process, the
 * thread that called init is the PE, and the only one that makes calls for it.
 *
 * Errors. Calls with an int result return 0 or a GSHMEMX_ERROR_; gshmemx_error_string (gshmemx.h)
 * says why; pointers are NULL. Calls without a result that are called before init, after finalize
 * or, on the host, with a PE, stride, sig_op or cmp that does not exist, or with a signal or a word
 * of an atomic or a wait that is not aligned, or an address that is not symmetric, print one line
 * and end the job; a range past its allocation, and in kernels all of these, are found in checking
 * builds (-Dchecks=true).
 *
 * Memory model (a mapped peer is one reached by loads and stores):
 *
 *  call                     what holds on return                                instructions there
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
 *  barrier                  quiet, then everybody arrived                       one flag per peer
 *  sync                     everybody arrived, nothing about data               one flag per peer
 *
 * fence and quiet order what the calling side issued: on the host the host's calls of this PE,
 * in a kernel the calling thread's; in the default context, and gshmem_ctx_fence and _quiet in
 * theirs. */
#ifndef GSHMEM_H
#define GSHMEM_H

#include "gshmem/types.h"
#include "gshmem/version.h"

/* These are the library's symbols, whatever a program makes of its own. */
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up (OpenSHMEM 1.5, 9.1) --------------------------------------------------------------
 */

/* Makes the calling process (or thread, under gshmemx_run or gshmemrun --threads) a PE of the job
 * the launcher started; without a launcher, the only PE. Collective. Afterwards any call may be
 * made by one PE alone that is not collective by its own contract. Where the device is the CPU on
 * all PEs, whatever the program does next (GSHMEM_DEVICE, its kernels, or no CUDA driver), it is
 * set up here. Else my_pe, n_pes and the teams work, and the device, the current CUDA device or
 * else one by PE number, is chosen and set up at the first call that is collective over all PEs and
 * needs it (malloc, barrier_all and sync_all, also on a stream; gshmemx_device_setup); until then
 * there is no symmetric memory. Ends the process with one line when it fails; gshmemx_init_attr
 * returns instead. */
void gshmem_init(void);
/* As gshmem_init; *provided is GSHMEM_THREAD_MULTIPLE for a PE that is a process, whatever was
 * requested, and GSHMEM_THREAD_FUNNELED for a thread beside others. Returns 0 or an error. */
int gshmem_init_thread(int requested, int *provided);
/* The level that init gave. */
void gshmem_query_thread(int *provided);
/* *initialized is 1 from init to finalize, else 0; any thread, at any time (OpenSHMEM 1.6). */
void gshmem_query_initialized(int *initialized);
/* For profilers that put their own in its place; does nothing. */
void gshmem_pcontrol(int level, ...);
/* Collective: waits for this PE's kernels and stream calls, then a barrier, then gives everything
 * back. Unfreed memory is freed. The PE may init again. To be called by the thread that called
 * init; from another it prints one line and ends the job. A PE of several whose process exits, or
 * whose main under gshmemx_run returns, before this ends the job with one line and a status that is
 * not 0. */
void gshmem_finalize(void);

/* ---- symmetric heap (9.3): collective over all PEs, with the same arguments -------------------
 */

/* Symmetric memory of `size` bytes, aligned to 512 bytes; contents are undefined (calloc: zero). No
 * PE returns before all may use it. NULL, with the heap as it was, if size is 0; and on all PEs,
 * PE 0 printing why, when they make different calls or give different arguments, or memory runs
 * out on any. */
void *gshmem_malloc(size_t size);
/* count elements of `size` bytes each. */
void *gshmem_calloc(size_t count, size_t size);
/* alignment: any power of two up to the heap's range. */
void *gshmem_align(size_t alignment, size_t size);
/* As malloc; hints: what the memory is for (GSHMEM_MALLOC_), or 0. An unknown hint is an error. */
void *gshmem_malloc_with_hints(size_t size, long hints);
/* Another allocation of `size` bytes with the contents of the one at ptr, as far as both go, which
 * is freed as by gshmem_free. NULL with ptr as it was, when there is no memory. ptr NULL: as
 * malloc; size 0: as free, and NULL. */
void *gshmem_realloc(void *ptr, size_t size);
/* Waits for all PEs first (and for this PE's outstanding host calls). NULL is ignored. Memory
 * behind the last allocation goes back to the device, in the pieces in which it came, but for
 * pieces of up to GSHMEM_HEAP_KEEP bytes together (4 GiB; on the CPU device at most 64 MiB), which
 * the next allocations find: to take memory again costs up to milliseconds. */
void gshmem_free(void *ptr);

/* ---- making teams (9.4.3 to 9.4.7): host only, before device set-up as well -------------------
 *
 * A new team's members are numbered in the order named here; its handle is the same on all of them.
 * Teams may overlap. The calls are collective over the parent team, with the same arguments on all
 * of its PEs, and one thread of a PE makes teams at a time. They return 0, also on PEs that are not
 * members of the new team and get GSHMEM_TEAM_INVALID; else the new team's members, or, where the
 * arguments are at fault, all PEs of the parent, get GSHMEM_TEAM_INVALID and an error, one of them
 * prints why, and nothing has changed. config: NULL
 * for the defaults. A team takes some 1 KiB of GSHMEM_TEAM_MEMORY, and no other memory. */

/* PEs start, start + stride, ..., size of them, by their numbers in the parent. stride may be
 * negative; 0 only for one PE. */
int gshmem_team_split_strided(gshmem_team_t parent_team, int start, int stride, int size,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team);
/* Rows of xrange consecutive PEs and the columns across them: this PE's two. The last row may be
 * shorter. */
int gshmem_team_split_2d(gshmem_team_t parent_team, int xrange,
                         const gshmem_team_config_t *xaxis_config, long xaxis_mask,
                         gshmem_team_t *xaxis_team, const gshmem_team_config_t *yaxis_config,
                         long yaxis_mask, gshmem_team_t *yaxis_team);
/* The fields of config that the mask names. 0, or an error. */
int gshmem_team_get_config(gshmem_team_t team, long config_mask, gshmem_team_config_t *config);
/* Collective over the team, whose kernels and stream calls are complete; its contexts end.
 * Predefined teams stay, with a message; GSHMEM_TEAM_INVALID is ignored. */
void gshmem_team_destroy(gshmem_team_t team);

/* ---- making contexts (9.5): host only, before device set-up as well; any thread --------------
 *
 * The calls gshmem_ctx_...(ctx, ...) do what those without ctx do, with two differences: PEs are
 * numbered as in the context's team; and fence and quiet of a context are about its own calls, from
 * the host and from kernels alike. What is outstanding in other contexts holds up neither
 * gshmem_ctx_quiet nor gshmem_quiet, which is the default context's; the barriers' quiet is the
 * default context's, too. A context's calls are not ordered with those of others.
 *
 * To far PEs up to GSHMEM_CONTEXTS contexts at a time have a stream of requests of their own; the
 * next ones share one with another, and a quiet or fence of one is then one of both. All contexts'
 * small messages to one PE (atomics, puts with a signal, strided puts) are carried out in order, so
 * that the last of them waits for those before it; so are all puts where data are staged, or where
 * UCX has no shared memory that it reaches. Host copies by a GPU to near PEs that do not block are
 * complete together. */

/* A context on all PEs, or on the team, of which this PE is a member: *ctx. Not collective, and the
 * PEs' contexts have nothing to do with each other. options: GSHMEM_CTX_..., ORed; 0: any thread.
 * Returns 0; else an error, and *ctx is GSHMEM_CTX_INVALID: no such team or option, or 16383
 * contexts exist. */
int gshmem_ctx_create(long options, gshmem_ctx_t *ctx);
int gshmem_team_create_ctx(gshmem_team_t team, long options, gshmem_ctx_t *ctx);
/* quiet, and the context is no more. No call of another thread or kernel is in it.
 * GSHMEM_CTX_INVALID is ignored; the default context stays, with a message. Contexts that are left
 * end with their team and in finalize. */
void gshmem_ctx_destroy(gshmem_ctx_t ctx);

#ifdef __cplusplus
}
#endif

GSHMEM_HD_BEGIN

/* ---- query (9.1, 9.2) [hd] ---------------------------------------------------------------------
 */

int gshmem_my_pe(void); /* before init: -1 and one line on stderr */
int gshmem_n_pes(void);
/* 1: pe can be reached from here, and its copy of the object at addr, which is symmetric; else 0.
 */
int gshmem_pe_accessible(int pe);
int gshmem_addr_accessible(const void *addr, int pe);
/* The version of OpenSHMEM; callable before init, as the next two. NULL: not asked for. */
void gshmem_info_get_version(int *major, int *minor);
void gshmem_info_get_name(char *name); /* at least GSHMEM_MAX_NAME_LEN bytes */
void gshmemx_vendor_get_version_info(int *major, int *minor, int *patch); /* gshmem's own */
/* Ends all PEs with this exit status, from any of them; does not return. Not collective. */
void gshmem_global_exit(int status);
/* Where PE's copy of the symmetric object at dest can be loaded and stored from here; NULL when
 * it cannot, or dest is not symmetric, or there is no such PE. On the host the address is usable by
 * the host only on the CPU device. */
void *gshmem_ptr(const void *dest, int pe);

/* ---- teams (9.4) [hd] --------------------------------------------------------------------------
 */

int gshmem_team_my_pe(gshmem_team_t team); /* -1: not a member, or no such team */
int gshmem_team_n_pes(gshmem_team_t team); /* -1 likewise */
/* The number in dest_team of the PE that is src_pe in src_team; -1: none. */
int gshmem_team_translate_pe(gshmem_team_t src_team, int src_pe, gshmem_team_t dest_team);
/* As gshmem_ptr for member pe of the team; NULL also when there is no such member. */
void *gshmem_team_ptr(gshmem_team_t team, const void *dest, int pe);
/* The team on which ctx was made; for the default context all PEs. 0; of GSHMEM_CTX_INVALID an
 * error and GSHMEM_TEAM_INVALID. */
int gshmem_ctx_get_team(gshmem_ctx_t ctx, gshmem_team_t *team);

/* ---- remote memory access by bytes (9.5) [hd]; the typed and sized calls are in gshmem/typed.h -
 */

/* Copy `bytes` bytes to (put) or from (get) that PE; 0 bytes: nothing happens. dest and source may
 * be the same, but must not overlap otherwise. When what holds: the table above. */
void gshmem_putmem(void *dest, const void *source, size_t bytes, int pe);
void gshmem_getmem(void *dest, const void *source, size_t bytes, int pe);
void gshmem_putmem_nbi(void *dest, const void *source, size_t bytes, int pe);
void gshmem_getmem_nbi(void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_putmem(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_getmem(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_putmem_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);
void gshmem_ctx_getmem_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes, int pe);

/* ---- signals (9.8) [hd]: a signal is a symmetric uint64_t --------------------------------------
 */

/* Puts the bytes, then changes the signal on the same PE by sig_op (GSHMEM_SIGNAL_SET or _ADD); of
 * 0 bytes the signal alone. The _nbi form: source may be changed after quiet. */
void gshmem_putmem_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                          uint64_t signal, int sig_op, int pe);
void gshmem_putmem_signal_nbi(void *dest, const void *source, size_t bytes, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe);
void gshmem_ctx_putmem_signal(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                              uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
void gshmem_ctx_putmem_signal_nbi(gshmem_ctx_t ctx, void *dest, const void *source, size_t bytes,
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
/* This PE's own signal, read atomically. */
uint64_t gshmem_signal_fetch(const uint64_t *sig_addr);
/* Waits until this PE's own signal compares so with cmp_value; cmp: a GSHMEM_CMP_. Returns the
 * value that satisfied the comparison. */
uint64_t gshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);
/* Changes the signal on pe, like an AMO: fence first to order it after earlier puts, or use
 * putmem_signal. */
void gshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
/* The same with GSHMEM_SIGNAL_ADD and _SET (OpenSHMEM 1.6). */
void gshmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe);
void gshmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe);

/* ---- order and synchronisation (9.9, 9.10) [hd] ------------------------------------------------
 */

/* Not collective. fence orders, quiet completes: the table above. */
void gshmem_fence(void);
void gshmem_quiet(void);
void gshmem_ctx_fence(gshmem_ctx_t ctx);
void gshmem_ctx_quiet(gshmem_ctx_t ctx);
/* quiet as far as these PEs are concerned, as the context numbers them; it may wait for others, too
 * (OpenSHMEM 1.6). */
void gshmem_pe_quiet(const int *target_pes, size_t npes);
void gshmem_ctx_pe_quiet(gshmem_ctx_t ctx, const int *target_pes, size_t npes);
/* Collective over the team. Host calls meet host calls, device calls meet device and stream calls;
 * in a kernel: one thread (or warp or block, in the suffixed forms) of each PE. Returns 0, or an
 * error when the team is invalid. */
int gshmem_barrier(gshmem_team_t team);
void gshmem_barrier_all(void);
int gshmem_team_sync(gshmem_team_t team);
void gshmem_sync_all(void);

/* ---- locks (9.11) [hd]: a lock is a symmetric long, 0 on all PEs before its first use ----------
 *
 * A PE at a time holds it, one thread of that PE, from a return of set_lock, or of test_lock with
 * 0, until that PE's clear_lock; in kernels a thread makes the calls. Who sets a lock that is held
 * waits at its own memory, and gets it in the order of asking; a PE's own threads in any order.
 * Without contention set_lock and clear_lock are one atomic each, at a PE that the library chooses
 * by the lock's place. The words of the long are the library's. */

void gshmem_set_lock(long *lock);
/* 0: this PE holds the lock now; not 0: another does, or a thread of this PE. */
int gshmem_test_lock(long *lock);
/* quiet, then whoever waits longest has the lock. Ends the job when this PE does not hold it. */
void gshmem_clear_lock(long *lock);

GSHMEM_HD_END

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

#endif
