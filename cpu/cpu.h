/* SPDX-License-Identifier: Apache-2.0
 * The CPU device's executor: kernels on host threads. A block has an OS thread, its CUDA threads
 * are fibers in it; two blocks for each core run at a time. Compiles as C17 and C++17;
 * cuda_names.h adds CUDA's names. Knows nothing of PEs: a PE's state is a pointer that it carries
 * to the kernel's threads. */
#ifndef GSHMEM_CPU_H
#define GSHMEM_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code that includes this is compiled for the thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define GSHMEM_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GSHMEM_CPU_TSAN 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct gsh_state;
struct gsh_cpu_block;
struct gsh_cpu_device;
struct CUevent_st;
struct CUstream_st;

/* A thread remembers what it saw in its last so many polls. */
enum { GSH_CPU_LOOKS = 4 };

struct gsh_cpu_uint3 {
    unsigned x, y, z;
};

/* One CUDA thread. The executor writes it before the kernel starts; constant afterwards, except
 * `worked`, `saw_change` and `looks`. */
struct gsh_cpu_thread {
    struct gsh_cpu_uint3 thread_idx, block_idx;
    uint32_t rank;                 /* in the block: x + dim.x * (y + dim.y * z) */
    uint32_t worked;               /* see gshmemx_cpu_progress */
    uint32_t saw_change;           /* see gshmemx_cpu_look */
    const struct gsh_state *state; /* of the PE that launched; NULL: no PE was initialised */
    void *dynamic_shared;          /* of the block, aligned to 128 bytes */
    struct gsh_cpu_block *block;   /* NULL: see here.h */
    uint64_t looks[GSH_CPU_LOOKS]; /* see gshmemx_cpu_look */
};

/* The calling CUDA thread; NULL in host code. It never changes its OS thread, so the variable's
 * address may be kept, but its value only until something blocks or yields. */
extern __thread struct gsh_cpu_thread *gshmem_cpu_self __attribute__((tls_model("initial-exec")));
#define gsh_cpu_self gshmem_cpu_self

/* CUDA's built-in variables, of the calling CUDA thread, under the names that cuda_names.h uses.
 * Meaningless in host code. */
extern __thread struct gsh_cpu_uint3 gshmem_cpu_thread_idx, gshmem_cpu_block_idx,
    gshmem_cpu_block_dim, gshmem_cpu_grid_dim __attribute__((tls_model("initial-exec")));

/* ---- inside kernels -------------------------------------------------------------------------- */

/* One iteration of a spin: runs the block's other threads. When all of them only spin, runs other
 * blocks, then lets the OS thread sleep for at most a quarter of the time already waited. In host
 * code: yields the core. */
void gshmemx_cpu_yield(void);

/* A spin has ended, or the thread has done something that others may wait for: the next spin starts
 * at full speed. Never needed for correctness. */
static inline void gshmemx_cpu_progress(void)
{
    if (gshmem_cpu_self) {
        gshmem_cpu_self->worked = 1;
    }
}

/* A thread has polled something that another may change; `seen` stands for the place and what was
 * there. Unless it saw the same a few polls ago it may be working, not waiting: its block's spins
 * continue, but do not sleep. gshmem_cpu_self must not be NULL. */
static inline void gshmemx_cpu_look(uint64_t seen)
{
    struct gsh_cpu_thread *self = gshmem_cpu_self;
    for (int i = 0; i < GSH_CPU_LOOKS; i++) {
        if (self->looks[i] == seen) {
            return;
        }
    }
    for (int i = GSH_CPU_LOOKS - 1; i > 0; i--) {
        self->looks[i] = self->looks[i - 1];
    }
    self->looks[0] = seen;
    self->saw_change = 1;
}

/* The barriers of a block: all its threads must make the same call. */
enum gsh_cpu_barrier {
    GSH_CPU_SYNCTHREADS,
    GSH_CPU_SYNCTHREADS_COUNT, /* returns in how many threads predicate was not 0 */
    GSH_CPU_SYNCTHREADS_AND,
    GSH_CPU_SYNCTHREADS_OR,
    GSH_CPU_GRID_SYNC, /* all blocks of the grid; collective launches only */
};
int gshmemx_cpu_barrier(enum gsh_cpu_barrier kind, int predicate);

/* The barrier of four warps, the first a multiple of four: all their threads call it. */
void gshmemx_cpu_warpgroup(void);

/* Warp calls: all existing threads named in mask must make the same call. */
enum gsh_cpu_warp {
    GSH_CPU_SYNCWARP,
    GSH_CPU_SHFL,      /* value of lane arg (own value if arg is not in mask) */
    GSH_CPU_BALLOT,    /* the lanes whose value is not 0 */
    GSH_CPU_MATCH_ANY, /* the lanes with the same value */
    GSH_CPU_MATCH_ALL, /* mask when all values are the same, else 0 */
    GSH_CPU_REDUCE,    /* by arg, an enum gsh_cpu_reduce, over 32-bit values */
};
enum gsh_cpu_reduce {
    GSH_CPU_ADD,
    GSH_CPU_MIN_U32,
    GSH_CPU_MAX_U32,
    GSH_CPU_MIN_S32,
    GSH_CPU_MAX_S32,
    GSH_CPU_AND,
    GSH_CPU_OR,
    GSH_CPU_XOR,
};
uint64_t gshmemx_cpu_warp(enum gsh_cpu_warp kind, uint32_t mask, uint64_t value, uint32_t arg);

/* A memory fence at every scope, and one that the thread sanitizer understands: it orders what
 * comes before it against what comes after any later fence of another thread. */
void gshmemx_cpu_fence(void);

/* Ends the calling CUDA thread; its function does not return and no destructor in it runs. Threads
 * of its block that then wait at a barrier or in a warp call are ended as well when no other can
 * run, as are blocks that wait at the grid's barrier. */
void gshmemx_cpu_leave(void) __attribute__((noreturn));

/* Tells the launching PE's host that its control block holds a report (wire/state.h). */
void gshmemx_cpu_report(void);

/* ---- devices: each PE has one ---------------------------------------------------------------- */

struct gsh_cpu_config {
    size_t stack_bytes; /* of each CUDA thread; 0: 128 KiB */
    /* Reports a broken promise (a divergent barrier); must not return. NULL: prints the message
     * on a line and ends the process with status 1. */
    void (*fatal)(void *context, const char *message);
    /* A kernel has described a failure in its PE's control block: prints it as a message and ends
     * the job. May be NULL or return: the kernel then stands still. */
    void (*report)(void *context);
    /* Called in each round in which all runnable threads of a block only spin: may do a little work
     * that they wait for; returns false if there never is any. No kernel code. May be NULL. */
    bool (*help)(void *context);
    /* Called first in each OS thread the device starts; may be NULL. */
    void (*thread_start)(void *context);
    void *context;
};

/* NULL: out of memory. Threads are started when first needed. config may be NULL. */
struct gsh_cpu_device *gshmemx_cpu_device_create(const struct gsh_cpu_config *config);
/* Waits for all its streams, and ends its threads. Streams not yet destroyed are the default
 * device's from now on. Threads bound to it have no binding from now on. NULL is ignored. */
void gshmemx_cpu_device_destroy(struct gsh_cpu_device *device);
/* The state that kernels see from now on; must outlive them. */
void gshmemx_cpu_device_set_state(struct gsh_cpu_device *device, const struct gsh_state *state);
/* Sets the device of the calling thread; NULL: none. */
void gshmemx_cpu_device_bind(struct gsh_cpu_device *device);
/* The calling thread's own binding, and the way back to it. */
struct gsh_cpu_binding {
    struct gsh_cpu_device *device; /* NULL: none */
    uint64_t serial;               /* of the device, among those that this address has had */
};
struct gsh_cpu_binding gshmemx_cpu_device_binding(void);
void gshmemx_cpu_device_bind_again(struct gsh_cpu_binding binding);
/* The device of threads without a binding of their own; NULL: a device without a PE, with the
 * number that the thread has chosen, made when needed and kept. */
void gshmemx_cpu_device_bind_default(struct gsh_cpu_device *device);
/* Chooses that number for the calling thread, from 0, as cudaSetDevice does; and returns it. */
void gshmemx_cpu_device_choose(int number);
int gshmemx_cpu_device_chosen(void);
/* The calling thread's device, never NULL. In a kernel or stream call: the device it runs on. */
struct gsh_cpu_device *gshmemx_cpu_device_current(void);
/* How many devices a program may use: one for each PE of this host. Before init: as many as the
 * launcher says it started here, or 1. Always at least GSHMEM_CPU_DEVICES. */
int gshmemx_cpu_device_count(void);
/* Waits for all streams of the device. */
void gshmemx_cpu_device_synchronize(struct gsh_cpu_device *device);

/* ---- launches -------------------------------------------------------------------------------- */

enum {
    GSH_CPU_OK = 0,
    GSH_CPU_ERR_ARG,       /* a dimension is 0 or above its limit */
    GSH_CPU_ERR_NOMEM,     /* memory or threads ran out */
    GSH_CPU_ERR_TOO_LARGE, /* more blocks than a collective launch can hold */
    GSH_CPU_ERR_STREAM,    /* there is no such stream, or it has been destroyed */
    GSH_CPU_ERR_KERNEL,    /* the kernel is NULL */
    GSH_CPU_ERR_ARGS       /* the list of arguments is NULL */
};

#define GSH_CPU_MAX_THREADS     1024u /* of a block */
#define GSH_CPU_MAX_SHARED      (1u << 20)
#define GSH_CPU_MAX_COOPERATIVE 1024u /* blocks of a collective launch */

struct gsh_cpu_launch {
    void (*entry)(void *args); /* calls the kernel with what args holds */
    const void *args;          /* copied, to memory aligned to 16 bytes */
    size_t args_bytes;
    struct gsh_cpu_uint3 grid, block;
    size_t shared_bytes;
    const void *kernel; /* its address, for reports; may be NULL */
    int is_cooperative;
    /* Whose state the kernel sees and who receives its reports; NULL: the stream's device. */
    struct gsh_cpu_device *device;
};

/* Enqueues the kernel on the stream; NULL is the current device's default stream. Blocks may wait
 * for each other, by any means, all those of a cooperative launch and up to 2048 of any other: each
 * gets to run, and one not yet started is started when others spin or take long. */
int gshmemx_cpu_launch(const struct gsh_cpu_launch *launch, struct CUstream_st *stream);

/* ---- streams and events ---------------------------------------------------------------------- */

/* A stream runs what is enqueued in order, on a thread of its own. The default stream (NULL) waits
 * for all blocking streams and they for it, like CUDA's legacy default stream. The calls that
 * return int return GSH_CPU_ERR_STREAM for a handle of no stream. */
struct CUstream_st *gshmemx_cpu_stream_create(int is_nonblocking); /* NULL: out of memory */
/* Work in it still runs. NULL is ignored. */
int gshmemx_cpu_stream_destroy(struct CUstream_st *stream);
/* Enqueues function(arg), where arg is a copy of these bytes, aligned to 16. */
int gshmemx_cpu_stream_enqueue(struct CUstream_st *stream, void (*function)(void *arg),
                               const void *arg, size_t arg_bytes);
int gshmemx_cpu_stream_synchronize(struct CUstream_st *stream);
/* *is_done: all of its work is. */
int gshmemx_cpu_stream_is_done(struct CUstream_st *stream, bool *is_done);
/* NULL: there is no such stream. */
struct gsh_cpu_device *gshmemx_cpu_stream_device(struct CUstream_st *stream);

/* An event is done once the work in the stream at its latest record is done; one never recorded is
 * done. */
struct CUevent_st *gshmemx_cpu_event_create(void);
void gshmemx_cpu_event_destroy(struct CUevent_st *event);
int gshmemx_cpu_event_record(struct CUevent_st *event, struct CUstream_st *stream);
void gshmemx_cpu_event_synchronize(struct CUevent_st *event);
int gshmemx_cpu_event_is_done(struct CUevent_st *event);
/* When it was done, by the monotonic clock; 0: never recorded or not done. */
uint64_t gshmemx_cpu_event_time_ns(struct CUevent_st *event);
/* Work enqueued on the stream from now on waits for the event's latest record. */
int gshmemx_cpu_stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event);

/* ---- memory ---------------------------------------------------------------------------------- */

/* CUDA's calls give memory to the program, and take back only what they have given, by a call of
 * the same kind. Any thread may call these; GSH_CPU_ERR_NOMEM, and GSH_CPU_ERR_ARG: it was not
 * given, or is taken already. An address is given once until it is taken. */
enum { GSH_CPU_MEMORY_DEVICE, GSH_CPU_MEMORY_HOST, GSH_CPU_MEMORY_REGISTERED };
int gshmemx_cpu_memory_given(const void *p, int kind);
int gshmemx_cpu_memory_taken(const void *p, int kind);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
