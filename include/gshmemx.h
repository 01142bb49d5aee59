/* SPDX-License-Identifier: Apache-2.0
 * Extensions of the host API: start-up by attributes, calls on a stream, launches, modules. The
 * rules of gshmem.h hold. A call "on stream" is enqueued and takes its turn there: it begins when
 * the earlier work of the stream is done, and later work sees its effect. Scalars are copied when
 * the call is made; buffers must live until the call has run. Every call on a stream may be
 * captured into a CUDA graph and replayed, unless it says otherwise. Since 0.1. */
#ifndef GSHMEMX_H
#define GSHMEMX_H

#include "gshmem.h"
#include "gshmem/detail/module.h"

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start-up ----------------------------------------------------------------------------------
 */

/* Like gshmem_init, but starts in the way that one of the GSHMEMX_INIT_ flags names (0: as
 * gshmem_init does; attr may then be NULL). Returns 0, or, where gshmem_init would end the process,
 * an error with nothing changed and the reason printed: the process may go on without gshmem.
 * Initialise attr with GSHMEMX_INIT_ATTR_INITIALIZER: attributes without it are refused. Collective
 * over the PEs of the new job. */
int gshmemx_init_attr(unsigned int flags, const gshmemx_init_attr_t *attr);
/* Returns the phase that init has reached, one of the GSHMEM_STATUS_ values. May be called at any
 * time. */
int gshmemx_init_status(void);
/* Makes an id and serves its rendezvous in the background, until all PEs have arrived or the time
 * limit of start-up has passed. Call it before init, in one process of the job, and carry the id to
 * the others. Returns 0 or an error. */
int gshmemx_get_uniqueid(gshmemx_uniqueid_t *id);
/* Each call gshmemx_set_attr_... belongs to one of the GSHMEMX_INIT_ flags. It fills in the
 * attributes that gshmemx_init_attr takes with this flag, for PE my_pe of n_pes. It checks nothing;
 * gshmemx_init_attr does. It returns 0, or an error if attr is NULL. The id must live until
 * gshmemx_init_attr returns. */
int gshmemx_set_attr_uniqueid_args(int my_pe, int n_pes, const gshmemx_uniqueid_t *id,
                                   gshmemx_init_attr_t *attr);
/* mpi_comm: an MPI_Comm *, any communicator; its ranks become the PE numbers. */
int gshmemx_set_attr_mpi_comm_args(void *mpi_comm, gshmemx_init_attr_t *attr);
/* Threads of this process that pass the same key become the PEs of one job. */
int gshmemx_set_attr_thread_args(int my_pe, int n_pes, const void *key, gshmemx_init_attr_t *attr);
/* Calls pe_main(argc, argv) once or, if gshmemrun --threads (GSHMEM_THREADS=n) started the
 * program, in n threads, each of which becomes a PE when it calls gshmem_init. No thread may call
 * exit while others run. Returns the first result that is not 0. */
int gshmemx_run(int (*pe_main)(int argc, char **argv), int argc, char **argv);
/* Returns what an int result means or, for the calling thread's latest failure with that result,
 * the reason in full. The text is valid until the thread's next failure. */
const char *gshmemx_error_string(int error);
/* The calling thread's next calls stand at that line of file in the program, as hang reports say
 * (gshmem-info --job); file is kept, and stays as it is: a literal. NULL: it is not known, as at
 * the start. Files that are compiled with GSHMEM_CALL_SITES make this call by themselves, and take
 * it back after each call. Any thread, at any time. Since 0.2. */
void gshmemx_call_site(const char *file, int line);
/* From now on handler(error, context) is called when the library is about to end this process
 * because of an error: a mistake in a call that returns no error (gshmem.h says which), a mistake
 * in a kernel, a failure in gshmem_init, a wait that has reached its time limit, a PE that died, a
 * network that failed. By then the line that says so is printed. When the handler returns, the
 * process and the job end as they do without one; it cannot prevent that. NULL: none, as at the
 * start. There is one handler for the process, also where PEs are its threads, and any thread may
 * set it, at any time, before init as well.
 *
 * It runs once, for the first error, on the thread that found it: the one that made the call or,
 * for kernels, deaths and networks, a thread of the library. A thread that finds another error
 * meanwhile waits up to 10 seconds for the handler to return. The other PEs of the job do not know
 * of the error yet. So the handler should be brief: print, flush, note a stack. It must return, or
 * end the process by _exit or abort: no longjmp, no exception, no exit. Of gshmem's calls it may
 * make only gshmem_my_pe, gshmem_n_pes and gshmemx_error_string; an error in the handler itself
 * ends the process at once.
 *
 * It is not called where a call returns an error; for gshmem_global_exit; for a process that exits
 * without gshmem_finalize; nor in processes that end because another PE has ended the job, which
 * may also cut the handler short. Since 0.2. */
void gshmemx_set_error_handler(gshmemx_error_handler_t handler, void *context);
/* From now on this process's messages name calls PREFIX_... and PREFIXx_... instead of gshmem_...
 * and gshmemx_...: for libraries that rename the calls. May be called at any time; the string must
 * stay valid. */
void gshmemx_call_prefix(const char *prefix);
/* Returns 1 if [addr, addr + bytes) lies inside one live symmetric object (an allocation, a
 * registered buffer or, where they are symmetric, the program's globals), else 0. Any thread may
 * call it. */
int gshmemx_is_symmetric(const void *addr, size_t bytes);
/* Fills in the current state of this PE's heap, in bytes; all zeros before device set-up. Returns 0
 * or an error. */
int gshmemx_heap_info(gshmemx_heap_info_t *info);
/* Returns the route from this PE to pe: "self", "thread" (same process), "memory" (host memory),
 * "nvlink" or "pcie"; for a far PE the transport, "ucx" or "loop". NULL if there is no such PE, and
 * before device set-up. */
const char *gshmemx_route_name(int pe);
/* Returns the name of the device that this PE's kernels run on: "cpu" or the GPU's name. NULL
 * before device set-up. */
const char *gshmemx_device_name(void);

/* ---- memory of the program's own ---------------------------------------------------------------
 */

/* Makes memory that the program obtained by other means symmetric, without copying it. Returns a
 * second address for the same bytes, which calls and kernels can use like an address from
 * gshmem_malloc. buf_ptr stays valid, but is not a symmetric address. Collective over all PEs, with
 * the same size, and with buf_ptr at the same offset within a page (on GPUs: within 2 MiB) on every
 * PE; flags must be 0. If it fails on any PE, all get NULL, nothing has changed, and PE 0 prints
 * why.
 *
 * GPUs: memory of cuMemCreate whose handle can be passed on
 * (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or FABRIC with GSHMEM_HEAP_HANDLE), such as PyTorch's
 * expandable segments; not memory of cudaMalloc. The program may free it while it is registered;
 * the memory itself is released when it is unregistered.
 *
 * CPU device: shared memory of one file, of which the process holds a descriptor open for reading
 * and writing; or private memory. Private pages become shared ones in this call and private again
 * when they are unregistered. During both, no thread may write to them. A page belongs to one
 * buffer. */
void *gshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags);
/* Undoes gshmemx_buffer_register_symmetric; mmap_ptr is the address that it returned. Collective.
 * It waits for all PEs and for their outstanding host calls; no kernel may still use the memory.
 * finalize unregisters whatever is left. Returns 0, or an error on all PEs. */
int gshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size);
/* Prepares memory that is not symmetric to be the local side of puts and gets: pins host memory for
 * the GPU, and registers it with the network. It affects only speed, except for calls on a stream
 * to far PEs, which take host memory only if it is pinned. Not collective; any thread may call it
 * after device set-up. Buffers of a PE must not overlap; they may share pages. On GPUs just the
 * buffer's bytes are pinned, as one piece, and CUDA refuses a copy that begins in a piece and ends
 * outside it: so let no copy do that. What the program has pinned itself (cudaHostRegister) stays
 * its own: all of a buffer may lie in one such piece, which must stay pinned while the buffer is
 * registered; if only a part of the buffer does, the result is an error. Buffers of PEs that are
 * threads of one process may overlap, but no operation may be outstanding on one of them while
 * another one that overlaps it, directly or through others, is registered or unregistered, unless
 * the two are the same. Returns 0 or an error. */
int gshmemx_buffer_register(void *addr, size_t length);
/* Call this before freeing the buffer, when no operation on it is outstanding. What shares a page
 * with it stays pinned. finalize unregisters whatever is left. */
int gshmemx_buffer_unregister(void *addr);
void gshmemx_buffer_unregister_all(void);

/* ---- teams -------------------------------------------------------------------------------------
 */

/* Makes a team of these PEs, numbered as in the list, which must name each PE once. Collective over
 * the PEs of the list only, which pass the same list and config; otherwise as the calls that split
 * a team. */
int gshmemx_team_create(const int *pes, int n_pes, const gshmem_team_config_t *config,
                        long config_mask, gshmem_team_t *new_team);
/* The same for threads of a PE that make teams from lists at the same time. Such threads pass
 * different places; the PEs of a list pass the same one, a symmetric address at which nothing is
 * read or written (NULL is a valid place, equal to every address that is not symmetric, and is the
 * one that gshmemx_team_create uses). If word is not NULL, *word becomes the largest value of the
 * listed PEs' words. If the pools have no room the call prints nothing; *word is set even then. */
int gshmemx_team_create_at(const void *place, const int *pes, int n_pes,
                           const gshmem_team_config_t *config, long config_mask,
                           gshmem_team_t *new_team, uint64_t *word);

/* Gets a number with which PEs that do not know each other's numbers make one team. Any PE gets it
 * alone, after device set-up, and gives it to the members by any means. Returns 0 or an error. */
int gshmemx_team_get_uniqueid(uint64_t *id);
/* Makes the team of the n_pes PEs that call this with that number, once; my_index, from 0, is this
 * PE's number in it. Collective over them, with the same n_pes and config, after device set-up. As
 * in any collective call, a PE waits for those that have not arrived. Returns 0, or an error on all
 * members. */
int gshmemx_team_init(uint64_t id, int n_pes, int my_index, const gshmem_team_config_t *config,
                      long config_mask, gshmem_team_t *new_team);

/* ---- launches and modules ----------------------------------------------------------------------
 */

/* gshmem_launch, gshmemx_collective_launch and gshmemx_collective_launch_query_gridsize are C++
 * functions in gshmem/launch.h. This header includes that one where kernels are compiled. */

/* Completes device set-up now rather than at the first call that needs it. Collective; later calls
 * return at once. Returns 0 or an error. */
int gshmemx_device_setup(void);

/* If PEs that are threads of one process share a GPU (GSHMEM_SHARE_DEVICE=1, programs compiled with
 * -DGSHMEM_SHARED_DEVICE=1), each has some of its multiprocessors to itself, and the kernels of all
 * run at the same time. Device set-up makes the PE's part current on the calling thread: streams
 * made after that, by threads that have not called cudaSetDevice since, run kernels there. Returns
 * 0 if kernels on `stream` run on this PE's part, or no GPU is shared; otherwise prints why and
 * returns GSHMEMX_ERROR_INVALID_VALUE. In programs compiled that way gshmem_launch and
 * gshmemx_collective_launch make this check; <<<>>> does not. */
int gshmemx_stream_check(gshmemx_stream_t stream);

/* How many multiprocessors this PE's part of a shared GPU has; 0 if no GPU is shared, and before
 * device set-up. gshmemx_collective_launch_query_gridsize counts them. */
int gshmemx_part_multiprocessors(void);

/* Make a module (CUmodule) or library (CUlibrary) loaded through the driver usable, by filling its
 * constant block. It must have been compiled with the device headers, and device set-up must be
 * complete. finalize is the counterpart; programs that unload the module may omit it. Return 0 or
 * an error, GSHMEMX_ERROR_NOT_SUPPORTED on the CPU device. Not collective. */
int gshmemx_cumodule_init(void *cumodule);
int gshmemx_cumodule_finalize(void *cumodule);
int gshmemx_culibrary_init(void *culibrary);
int gshmemx_culibrary_finalize(void *culibrary);

/* ---- on a stream: by bytes ---------------------------------------------------------------------
 */

/* As the calls of gshmem.h without _on_stream, carried out when their turn comes. stream belongs to
 * this PE's device; NULL is its default stream.
 *
 * On GPUs this PE's side of the copy may be host memory too: any for a near PE, by the rules of
 * cudaMemcpyAsync; pinned memory (gshmemx_buffer_register) for a far one, where a call with other
 * host memory ends the job with one line. */
void gshmemx_putmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                              gshmemx_stream_t stream);
void gshmemx_getmem_on_stream(void *dest, const void *source, size_t bytes, int pe,
                              gshmemx_stream_t stream);
void gshmemx_putmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                  gshmemx_stream_t stream);
void gshmemx_getmem_nbi_on_stream(void *dest, const void *source, size_t bytes, int pe,
                                  gshmemx_stream_t stream);
void gshmemx_putmem_signal_on_stream(void *dest, const void *source, size_t bytes,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                     gshmemx_stream_t stream);
void gshmemx_putmem_signal_nbi_on_stream(void *dest, const void *source, size_t bytes,
                                         uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                         gshmemx_stream_t stream);
/* As gshmemx_signal_op and gshmem_signal_wait_until, carried out when their turn comes. stream
 * belongs to this PE's device; NULL is its default stream. */
void gshmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                                 gshmemx_stream_t stream);
void gshmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                         gshmemx_stream_t stream);
/* Completes this PE's earlier nbi calls on that stream, when its turn comes. */
void gshmemx_quiet_on_stream(gshmemx_stream_t stream);
/* Collective over the team; they also meet the same calls in kernels. Return 0, or an error if the
 * team is invalid, with nothing enqueued. */
int gshmemx_barrier_on_stream(gshmem_team_t team, gshmemx_stream_t stream);
void gshmemx_barrier_all_on_stream(gshmemx_stream_t stream);
int gshmemx_team_sync_on_stream(gshmem_team_t team, gshmemx_stream_t stream);
void gshmemx_sync_all_on_stream(gshmemx_stream_t stream);

#ifdef __cplusplus
}
#endif

#include "gshmem/typed_stream.h"
#include "gshmem/collectives_stream.h"

#pragma GCC visibility pop

/* NVRTC compiles kernels alone. */
#if defined(__cplusplus) && defined(GSHMEM_DEVICE_CODE) && !defined(__CUDACC_RTC__)
#include "gshmem/launch.h"
#endif

#if defined(GSHMEM_CALL_SITES) && !defined(GSHMEM_DEVICE_CODE)
#include "gshmem/call_sites_x.h"
#endif

#endif
