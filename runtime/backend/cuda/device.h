/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the CUDA row share: device.c has set-up, host.c host-initiated calls, stream.c
 * the calls on a stream, and copy_streams.c the entries for the proxy. module.c fills modules, and
 * topology.c knows the GPUs. All use enqueue.c. */
#ifndef GSH_DEVICE_CUDA_H
#define GSH_DEVICE_CUDA_H

#ifdef GSH_HAVE_CUDA

#include <pthread.h>
#include "base/cuda.h"
#include "proxy/copy_streams.h"
#include "runtime/instance/device_ops.h"

enum gsh_kernel {
    GSH_KERNEL_AMO,
    GSH_KERNEL_PUT_SIGNAL,
    GSH_KERNEL_STORE,
    GSH_KERNEL_COPY_STRIDED,
    GSH_KERNEL_WAIT,
    GSH_KERNEL_SYNC,
    GSH_KERNEL_FAR,
    GSH_KERNEL_TRACE,
    GSH_KERNEL_COUNT
};

/* The fat binaries of collectives: the parts of kernels/coll.cu, and kernels/lines.cu. */
enum { GSH_COLL_MODULES = GSH_COLL_PARTS + 1 };

/* One of the library's own streams with some pinned memory, for one host thread at a time. */
struct gsh_own_stream {
    pthread_mutex_t lock;
    CUstream stream;  /* NULL: a context's, and it has not been used yet */
    void *words;      /* GSH_OWN_STREAM_BYTES, at the same address on the device */
    bool has_pending; /* host-initiated work not waited for; under the lock */
};
#define GSH_OWN_STREAM_BYTES 4096
/* A word of the stream `out`: how many of n_far_launched have ended; those kernels write it. */
#define GSH_CUDA_FAR_WORD 128

/* The streams for host-initiated calls in contexts other than the default one: the first such
 * numbers have one each, further numbers share them. Streams share the GPU's queues, and a copy in
 * the queue of a kernel that waits for it never starts. So there is at most one of these streams
 * for every four queues. Each has one word, in the work stream's words from here on. */
#define GSH_CUDA_CONTEXT_STREAMS 8
#define GSH_CUDA_CONTEXT_WORDS   256

/* What the proxy has started on a stream (proxy/copy_streams.h). Under the proxy's lock. */
struct gsh_cuda_jobs {
    uint64_t n_started;
    uint64_t n_marked;     /* the stream reports when this many have ended */
    unsigned n_idle_polls; /* since the last look at the stream itself */
};

struct gsh_cuda_device {
    const struct gsh_cuda *cuda;
    CUdevice ordinal;
    CUcontext primary;      /* NULL: not retained */
    CUcontext context;      /* that, or a part's */
    bool is_context_ours;   /* init made it current on its thread */
    bool can_write_values;  /* stream memory operations of 8 bytes */
    struct gsh_gpu *shared; /* share.c's; NULL: only this PE uses the GPU */
    int part, n_parts;      /* of it */
    unsigned n_sms;         /* the part's */
    CUdeviceptr part_of_sm; /* state.h */
    CUmodule module;
    CUfunction kernels[GSH_KERNEL_COUNT];
    struct gsh_own_stream work; /* copies and atomics, in order: the default context's */
    struct gsh_own_stream of_contexts[GSH_CUDA_CONTEXT_STREAMS]; /* the same; [n_of_contexts] */
    unsigned n_of_contexts;                                      /* 0: all contexts use work */
    struct gsh_own_stream poll;                                  /* loads: never behind a kernel */
    struct gsh_own_stream proxy; /* what far PEs ask of this PE's memory: stream IN */
    struct gsh_own_stream out;   /* what the proxy copies out of it; like proxy, not on one node */
    pthread_mutex_t coll_call_lock;
    CUstream coll_stream; /* collectives of the host; NULL: none so far */
    struct gsh_cuda_jobs jobs[GSH_COPY_STREAMS];
    pthread_mutex_t coll_lock; /* the next four, which are filled when they are first used */
    bool has_lines_kernels;    /* all of those in wire/lines.h; atomic, like the next */
    bool has_coll_kernels;     /* all */
    CUmodule coll_modules[GSH_COLL_MODULES];
    CUfunction coll_kernels[GSH_COLL_ALL_KERNELS];
    uint64_t n_far_launched; /* GSH_KERNEL_FAR outside graphs; any host thread */
};

/* Makes the device's context current for the calling thread; the result is for pop. */
bool gsh_cuda_push_context(const struct gsh_cuda_device *d);
void gsh_cuda_pop_context(const struct gsh_cuda_device *d, bool pushed);
/* The same around calls of the driver: in between, a hang report says that the thread is there.
 * Each enter has its leave, whatever enter has returned. */
bool gsh_cuda_enter(const struct gsh_cuda_device *d);
void gsh_cuda_leave(const struct gsh_cuda_device *d, bool entered);

/* Makes the stream's stream; the context is current. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_make_stream(const struct gsh_cuda_device *d,
                                                      struct gsh_own_stream *own_stream);
/* Finds a module's kernel, and has CUDA load it; the context is current. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_load_kernel(const struct gsh_cuda_device *d,
                                                      CUmodule module, const char *name,
                                                      CUfunction *kernel);

/* One argument struct by value; the context is current. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_launch(const struct gsh_cuda_device *d,
                                                 enum gsh_kernel kernel, unsigned grid,
                                                 unsigned block, void *args, CUstream stream);

/* Enqueues a write of a word of 4 or 8 bytes by the stream itself, after a memory barrier for the
 * stream's earlier work. The context is current, and the device can_write_values. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_write_word(const struct gsh_cuda_device *d, void *address,
                                                     size_t bytes, uint64_t value, CUstream stream);

/* An operation that such a write can carry out. */
static inline bool gsh_cuda_is_plain_write(const struct gsh_cuda_device *d, int amo_op,
                                           size_t bytes)
{
    return amo_op == GSH_AMO_SET && bytes >= 4 && d->can_write_values;
}

/* 1 to 8 bytes of bits to dest, enqueued; not in a graph, which would read bits later. The context
 * is current. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_store(const struct gsh_cuda_device *d, void *dest,
                                                uint64_t bits, size_t bytes, CUstream stream);

/* Whether p lies in the range in which this PE maps its own and its peers' heaps. */
bool gsh_cuda_is_mapped(const struct gsh_instance *pe, const void *p);
/* The address by which this PE's kernels can use p; 0 for ordinary host memory. */
CUdeviceptr gsh_cuda_kernel_address(const struct gsh_instance *pe, const void *p);

/* Enqueues a strided copy, by a kernel or, where one side is ordinary host memory, by the copy
 * engine. The context is current. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_copy_strided(struct gsh_instance *pe, void *dest,
                                                       const void *source, ptrdiff_t dst,
                                                       ptrdiff_t sst, size_t elem_bytes,
                                                       size_t nelems, CUstream stream);

/* The row's entry on modules. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_module_init(struct gsh_instance *pe, void *module,
                                                      bool is_library);
/* The same for one of the library's own modules, which each PE loads for itself. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_fill_own(struct gsh_instance *pe, void *module,
                                                   const struct gsh_state *state);

/* ---- PEs that share a GPU (share.c) ---- */

/* Takes one of the n_parts parts of the device, which PEs of this process share, and makes its
 * context: d->context, d->part, d->n_sms. The primary context is retained. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_share_join(struct gsh_cuda_device *d, int n_parts);
/* Finds which multiprocessors the part has, and writes them into the table of all: d->part_of_sm.
 * The context is current and the kernels are loaded. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_share_find_sms(struct gsh_cuda_device *d);
/* Gives the part back; nothing may use its context any more. */
void gsh_cuda_share_leave(struct gsh_cuda_device *d);
/* Whether it is shared or not. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_make_room_for_stacks(struct gsh_instance *pe);

/* The row's entries on topology. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_attr(struct gsh_instance *pe,
                                               struct gsh_device_attr *attr);
const char *gsh_cuda_route(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                           const struct gsh_device_attr *theirs, int other);
void gsh_cuda_pci_address(struct gsh_instance *pe, char *out, size_t bytes);

/* The row's entries that the host initiates. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_copy(struct gsh_instance *pe, gsh_context ctx,
                                                    void *dest, const void *source, size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_copy_nbi(struct gsh_instance *pe, gsh_context ctx,
                                                        void *dest, const void *source,
                                                        size_t bytes);
GSH_CHECK_RESULT enum gsh_result
gsh_cuda_host_copy_strided(struct gsh_instance *pe, gsh_context ctx, void *dest, const void *source,
                           ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes, size_t nelems);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_store(struct gsh_instance *pe, gsh_context ctx,
                                                     void *dest, uint64_t bits, size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_load(struct gsh_instance *pe, const void *source,
                                                    size_t elem_bytes, size_t nelems, void *out);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_amo(struct gsh_instance *pe, gsh_context ctx,
                                                   enum gsh_amo_op op, void *address, size_t bytes,
                                                   uint64_t operand, uint64_t cond, uint64_t *old);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_quiet(struct gsh_instance *pe, gsh_context ctx);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_quiet_all(struct gsh_instance *pe);
bool gsh_cuda_host_enter(struct gsh_instance *pe);
void gsh_cuda_host_leave(struct gsh_instance *pe, bool entered);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_host_synchronize(struct gsh_instance *pe);

/* The row's entries on host memory. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_map_host(struct gsh_instance *pe, void *memory,
                                                   size_t bytes, uint64_t *device_address);
void gsh_cuda_unmap_host(struct gsh_instance *pe, void *memory);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_map_registers(struct gsh_instance *pe, void *registers,
                                                        size_t bytes, uint64_t *device_address);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_share_memory(struct gsh_instance *pe, void *memory,
                                                       uint64_t bytes, int *fd);
void gsh_cuda_pci_bus(struct gsh_instance *pe, char *out, size_t size);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_pin(struct gsh_instance *pe, void *memory, size_t bytes,
                                              bool *is_device);
void gsh_cuda_unpin(struct gsh_instance *pe, void *memory, size_t bytes);

/* The row's entries for the proxy. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_proxy_copy(struct gsh_instance *pe, void *dest,
                                                     const void *source, size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_proxy_amo(struct gsh_instance *pe, enum gsh_amo_op op,
                                                    void *address, size_t bytes, uint64_t operand,
                                                    uint64_t cond, uint64_t *old);

extern const struct gsh_copy_stream_ops gsh_cuda_proxy_copy_streams;

/* The row's entries on a stream. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_copy(struct gsh_instance *pe, void *dest,
                                                      const void *source, size_t bytes,
                                                      struct gsh_signal_arg signal,
                                                      gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result
gsh_cuda_stream_signal(struct gsh_instance *pe, struct gsh_signal_arg signal, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_copy_strided(struct gsh_instance *pe, void *dest,
                                                              const void *source, ptrdiff_t dst,
                                                              ptrdiff_t sst, size_t elem_bytes,
                                                              size_t nelems, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_store(struct gsh_instance *pe, void *dest,
                                                       uint64_t bits, size_t bytes,
                                                       gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result
gsh_cuda_stream_wait(struct gsh_instance *pe, const struct gsh_wait_arg *wait, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_sync(struct gsh_instance *pe, const char *call,
                                                      const struct gsh_team *team, bool is_barrier,
                                                      gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_trace(struct gsh_instance *pe,
                                                       const struct gsh_kernel_trace_args *events,
                                                       gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_allocate(struct gsh_instance *pe, uint64_t bytes,
                                                   uint64_t *address);
void gsh_cuda_release(struct gsh_instance *pe, uint64_t address);
bool gsh_cuda_copy_pieces(struct gsh_instance *pe, const struct gsh_device_piece *pieces,
                          uint32_t n);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_coll(struct gsh_instance *pe,
                                               const struct gsh_coll_launch *launch);
/* Loads the kernels of collectives on any memory, or of all, now rather than on first use. */
GSH_CHECK_RESULT enum gsh_result gsh_cuda_load_colls(struct gsh_instance *pe, bool all);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_coll(struct gsh_instance *pe,
                                                      const struct gsh_coll_launch *launch,
                                                      gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_quiet(struct gsh_instance *pe, gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_far(struct gsh_instance *pe, const char *call,
                                                     const struct gsh_request *request,
                                                     gsh_stream stream);
GSH_CHECK_RESULT enum gsh_result gsh_cuda_stream_synchronize(struct gsh_instance *pe,
                                                             gsh_stream stream);

#endif
#endif
