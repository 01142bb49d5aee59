/* SPDX-License-Identifier: Apache-2.0
 * What the host side needs from a device: a table of functions, with a row for the CPU device and
 * one for CUDA. Front ends (rma.c, amo.c, wait.c, stream.c) check arguments and form peer
 * addresses; rows trust them. Addresses are mapped addresses on this PE, so these calls are for
 * near PEs unless they say otherwise. "Host-initiated" calls are complete on return. */
#ifndef GSH_DEVICE_H
#define GSH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/coll.h"
#include "wire/lines.h"
#include "wire/kernels.h"
#include "wire/state.h"
#include "heap/heap.h"
#include "proxy/request.h"
#include "base/result.h"
#include "base/coll_table.h"

struct gsh_instance;
struct gsh_copy_stream_ops;
struct gsh_team;
struct CUstream_st;
typedef struct CUstream_st *gsh_stream;

/* An integer type as waits compare it. */
struct gsh_word_kind {
    uint8_t bytes; /* 2, 4 or 8 */
    bool is_signed;
};

/* A launch of one of the collectives' kernels. */
struct gsh_coll_launch {
    uint32_t kernel; /* enum gsh_coll_kernel or gsh_lines_kernel */
    const struct gsh_team *team;
    uint64_t bytes; /* from each member to each other; the grid follows from it */
    struct gsh_kernel_coll_args *args;
    /* of a gsh_lines_kernel, in place of bytes and args */
    struct gsh_kernel_lines_args *lines;
    uint32_t n_blocks, n_threads; /* on GPUs */
};
#define GSH_COLL_UNKNOWN_BYTES UINT64_MAX /* members differ */

/* A put-with-signal's second half, or a signal alone. */
struct gsh_signal_arg {
    uint64_t *address; /* mapped; NULL: no signal */
    uint64_t value;
    int op; /* GSHMEM_SIGNAL_ */
};

/* What a wait on a stream waits for. */
struct gsh_wait_arg {
    void *ivars;
    size_t nelems;
    const int *status; /* device-readable or NULL */
    int cmp;
    struct gsh_word_kind kind;
    uint64_t value;     /* the bits, used when values is NULL */
    const void *values; /* device-readable, [nelems] */
    const char *call;   /* for the report */
};

/* What each PE tells all others about its device; in init, if it is certain to be the CPU, else at
 * the first call that needs it. */
struct gsh_device_attr {
    int32_t result;        /* enum gsh_result of choosing the device */
    int32_t had_failed;    /* result is that of a step before */
    int32_t is_cuda;       /* else the CPU device */
    int32_t ordinal;       /* of the GPU, as this PE counts; -1: no GPU */
    int32_t n_parts;       /* parts of the GPU, for PEs of this process; 0: not divided */
    int32_t n_sms;         /* multiprocessors of the GPU, or of this PE's part; 0: no GPU */
    uint8_t uuid[16];      /* of the GPU */
    uint64_t memory_bytes; /* what the default range of a heap is to hold */
    uint64_t range_bytes;  /* GSHMEM_HEAP_RANGE, 0: by memory */
    uint64_t keep_bytes;   /* GSHMEM_HEAP_KEEP */
    struct gsh_coll_table coll_table; /* with GSHMEM_COLLECTIVES */
    char name[64];
};
_Static_assert(sizeof(struct gsh_device_attr) == 200, "exchanged between processes");

/* What all PEs need to know of all devices. */
struct gsh_device_sum {
    uint64_t memory_bytes; /* the greatest */
    uint64_t least, most;  /* of the digests of what must be the same */
    uint32_t n_sms;        /* the least */
    uint32_t flags;        /* of any PE: enum gsh_device_flag */
};
enum gsh_device_flag {
    GSH_DEVICE_IS_SUSPECT = 1,  /* it failed, or its host's PEs may share it: all look at all */
    GSH_DEVICE_LACKS_NODE = 2,  /* it does not reach all of its node */
    GSH_DEVICE_LACKS_LINES = 4, /* a line that it stores at once may not arrive whole */
};

/* To copy from the device's own memory. */
struct gsh_device_piece {
    void *dest; /* host memory that is mapped (map_host) */
    uint64_t source;
    size_t bytes;
};

struct gsh_device_ops {
    const char *name; /* for humans; no code compares it */

    /* ---- what kind of device it is ---- */
    /* What its heaps are made of. */
    enum gsh_memory_kind memory;
    /* The proxy's thread may load and store the heap, and needs no proxy_copy_streams. */
    bool is_memory_host;
    /* Kernels run on threads of this process, which wake the proxy by one of its words. */
    bool can_wake;
    /* Only the monitor's thread sees what kernels report; else the device itself looks, and calls
     * gsh_end_if_reported. */
    bool needs_monitor;
    /* A module's fill function copies to this device and must succeed; else it belongs to another
     * device, and its failure means that its kernels cannot be launched. */
    bool fills_modules;
    /* PEs of one node always have access to each other; else each tells all what it reaches. */
    bool reaches_node;
    /* Bytes; the upper limit for GSHMEM_HEAP_KEEP. UINT64_MAX: none. */
    uint64_t keep_limit_bytes;
    uint64_t first_bytes, room_bytes, large_bytes; /* gsh_heap_options' */
    const struct gsh_coll_table *coll_table;       /* before GSHMEM_COLLECTIVES changes it */
    /* Bytes, a power of two and at least 2 MiB: the stride of heaps is a multiple. */
    uint64_t stride_unit_bytes;

    /* ---- topology ---- */
    /* Fills ordinal, uuid, memory_bytes, n_sms, name and is_cuda of this PE's attribute. */
    enum gsh_result (*attr)(struct gsh_instance *pe, struct gsh_device_attr *attr);
    /* How this PE reaches the memory of another PE of its node, as gshmemx_route_name says it;
     * NULL: no load or store does. mine, theirs: of these two; theirs is NULL where reaches_node
     * holds and it is not known. */
    const char *(*route)(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                         const struct gsh_device_attr *theirs, int other);
    /* The device's PCI address as the system writes it; "" where it has none. */
    void (*pci_address)(struct gsh_instance *pe, char *out, size_t bytes);

    /* ---- set-up ---- */

    /* Says in the state which part of a shared GPU is this PE's. NULL: none is shared. */
    void (*name_part)(const struct gsh_instance *pe, struct gsh_state *state);
    /* How many multiprocessors that part has; 0, or NULL: none is shared. */
    int (*count_part)(const struct gsh_instance *pe);
    /* Checks that kernels on the stream run on that part, else reports why not. NULL: none is
     * shared. */
    enum gsh_result (*check_stream)(struct gsh_instance *pe, gsh_stream stream);
    /* Uploads the constant block to every registered module. */
    enum gsh_result (*upload)(struct gsh_instance *pe, const struct gsh_state *state);
    /* Fills one module loaded through the driver (CUDA; CPU: unsupported). */
    enum gsh_result (*module_init)(struct gsh_instance *pe, void *module, bool is_library);
    void (*finish)(struct gsh_instance *pe);
    /* Kernels with stacks of up to 4 KiB can be launched from now on while others run. It takes up
     * to 4 KiB of device memory for each thread that the device can run at a time. NULL: they
     * always can. */
    enum gsh_result (*make_room_for_stacks)(struct gsh_instance *pe);
    /* How many pieces of work of its streams have not ended; *n_waiting: of these, how many have
     * not begun. Any thread. NULL: it cannot tell. */
    uint64_t (*count_unfinished)(struct gsh_instance *pe, uint64_t *n_waiting);
    /* Makes page-aligned host memory accessible to this PE's kernels until it is unmapped; gives
     * the address they use. */
    enum gsh_result (*map_host)(struct gsh_instance *pe, void *memory, size_t bytes,
                                uint64_t *device_address);
    void (*unmap_host)(struct gsh_instance *pe, void *memory); /* even if it never was mapped */
    /* Memory of the device alone, which the host copies out while kernels run; the copies are done
     * on return, or false: the device does not work. NULL, all three: its memory is the host's. */
    enum gsh_result (*allocate)(struct gsh_instance *pe, uint64_t bytes, uint64_t *address);
    void (*release)(struct gsh_instance *pe, uint64_t address);
    bool (*copy_pieces)(struct gsh_instance *pe, const struct gsh_device_piece *pieces, uint32_t n);
    /* As map_host, for whole pages of another device's registers. */
    enum gsh_result (*map_registers)(struct gsh_instance *pe, void *registers, size_t bytes,
                                     uint64_t *device_address);
    /* A dma-buf descriptor of memory of the device, which the caller closes. Noted: not so. NULL:
     * its memory is the host's. */
    enum gsh_result (*share_memory)(struct gsh_instance *pe, void *memory, uint64_t bytes, int *fd);
    /* The device's bus number, like "0000:1b:00.0". NULL: it has none. */
    void (*pci_bus)(struct gsh_instance *pe, char *out, size_t size);

    /* Prepares the program's memory that is not symmetric for copies, until unpinned. GSH_ERR_ARG
     * if it does not exist, or the program has pinned a part of it, not all. *is_device: it is
     * device memory, not host memory. What the program has pinned itself stays as it is; bytes that
     * PEs of this process share stay pinned until all have unpinned them. */
    enum gsh_result (*pin)(struct gsh_instance *pe, void *memory, size_t bytes, bool *is_device);
    void (*unpin)(struct gsh_instance *pe, void *memory, size_t bytes);

    /* host-initiated, in the context with this number */
    enum gsh_result (*copy)(struct gsh_instance *pe, gsh_context ctx, void *dest,
                            const void *source, size_t bytes);
    /* Non-blocking: complete after quiet. */
    enum gsh_result (*copy_nbi)(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                const void *source, size_t bytes);
    /* Element i of elem_bytes from source + i * sst to dest + i * dst, strides in elements. */
    enum gsh_result (*copy_strided)(struct gsh_instance *pe, gsh_context ctx, void *dest,
                                    const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                    size_t elem_bytes, size_t nelems);
    /* p: one element of 1, 2, 4 or 8 bytes. It is certain to be seen only after quiet. */
    enum gsh_result (*store)(struct gsh_instance *pe, gsh_context ctx, void *dest, uint64_t bits,
                             size_t bytes);
    /* Reads nelems consecutive elements into out. Each is read by one acquire load: pairs with any
     * signal's release. Works while the user's kernels fill the device. */
    enum gsh_result (*load)(struct gsh_instance *pe, const void *source, size_t elem_bytes,
                            size_t nelems, void *out);
    /* A word of 4 or 8 bytes; old may be NULL. Takes effect after the context's earlier
     * host-initiated calls, non-blocking ones included, so it is also a put's signal. */
    enum gsh_result (*amo)(struct gsh_instance *pe, gsh_context ctx, enum gsh_amo_op op,
                           void *address, size_t bytes, uint64_t operand, uint64_t cond,
                           uint64_t *old);
    /* NULL, or: loads the kernels of collectives on any memory, or of all, before their first use.
     */
    enum gsh_result (*load_colls)(struct gsh_instance *pe, bool all);
    /* Returns when it is complete. */
    enum gsh_result (*coll)(struct gsh_instance *pe, const struct gsh_coll_launch *launch);
    enum gsh_result (*quiet)(struct gsh_instance *pe, gsh_context ctx); /* also serves fence */
    enum gsh_result (*quiet_all)(struct gsh_instance *pe);              /* of all contexts */
    /* Waits for this PE's kernels and for all other work in its streams. */
    enum gsh_result (*synchronize)(struct gsh_instance *pe);
    /* Makes the PE's device current for the calling thread; the result is for leave. */
    bool (*enter)(struct gsh_instance *pe);
    void (*leave)(struct gsh_instance *pe, bool entered);

    /* As copy and amo, by the proxy, on this PE's own memory for far PEs: never waits for requests
     * of host threads. old is never NULL; after a set its value is undefined. */
    enum gsh_result (*proxy_copy)(struct gsh_instance *pe, void *dest, const void *source,
                                  size_t bytes);
    enum gsh_result (*proxy_amo)(struct gsh_instance *pe, enum gsh_amo_op op, void *address,
                                 size_t bytes, uint64_t operand, uint64_t cond, uint64_t *old);

    /* The same without waiting, valid until finish; the context is pe. NULL: host memory. */
    const struct gsh_copy_stream_ops *proxy_copy_streams;

    /* On a stream. A copy has at least one byte; its signal may be absent. */
    enum gsh_result (*stream_copy)(struct gsh_instance *pe, void *dest, const void *source,
                                   size_t bytes, struct gsh_signal_arg signal, gsh_stream stream);
    enum gsh_result (*stream_signal)(struct gsh_instance *pe, struct gsh_signal_arg signal,
                                     gsh_stream stream);
    enum gsh_result (*stream_copy_strided)(struct gsh_instance *pe, void *dest, const void *source,
                                           ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                           size_t nelems, gsh_stream stream);
    enum gsh_result (*stream_store)(struct gsh_instance *pe, void *dest, uint64_t bits,
                                    size_t bytes, gsh_stream stream);
    enum gsh_result (*stream_wait)(struct gsh_instance *pe, const struct gsh_wait_arg *wait,
                                   gsh_stream stream);
    /* is_barrier: quiet first. */
    enum gsh_result (*stream_sync)(struct gsh_instance *pe, const char *call,
                                   const struct gsh_team *team, bool is_barrier, gsh_stream stream);
    enum gsh_result (*stream_coll)(struct gsh_instance *pe, const struct gsh_coll_launch *launch,
                                   gsh_stream stream);
    enum gsh_result (*stream_quiet)(struct gsh_instance *pe, gsh_stream stream);
    /* An operation on a far PE, in the stream's order: it comes after the stream's earlier requests
     * to that PE. After a put the stream continues when it is seen there; after a put-with-signal
     * or a signal, as soon as the source may be reused. The request is copied; its local side is as
     * the user passed it. */
    enum gsh_result (*stream_far)(struct gsh_instance *pe, const char *call,
                                  const struct gsh_request *request, gsh_stream stream);
    /* The stream writes these events of the timeline when it comes to them. */
    enum gsh_result (*stream_trace)(struct gsh_instance *pe,
                                    const struct gsh_kernel_trace_args *events, gsh_stream stream);
    enum gsh_result (*stream_synchronize)(struct gsh_instance *pe, gsh_stream stream);
};

/* Fill pe->device and pe->device_ops, choose the device and make its context current. The
 * counterpart is device_ops->finish, which accepts a half-made device. */
GSH_CHECK_RESULT enum gsh_result gsh_device_cpu_init(struct gsh_instance *pe);
GSH_CHECK_RESULT enum gsh_result gsh_device_cuda_init(struct gsh_instance *pe);
/* Before that, for gsh_topology_attr: sets pe->device_ops, and makes nothing. */
void gsh_device_cpu_describe(struct gsh_instance *pe);

/* Sets memory of the PE's own heap to zero, by its device's copy: complete on return. */
enum gsh_result gsh_clear(struct gsh_instance *pe, void *dest, size_t bytes);

#endif
