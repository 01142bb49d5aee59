/* SPDX-License-Identifier: Apache-2.0
 * One PE's way to its far peers: it carries out requests (from kernels' rings, and from host
 * threads) over a transport, keeps OpenSHMEM's order among them, and acts for far PEs on this PE's
 * memory. Made only when some peer is not mapped. A thread of its own drains the rings and
 * progresses; host threads that wait here make progress as well. Never meets the heap: the runtime
 * hands over ranges and a table of functions. */
#ifndef GSH_PROXY_H
#define GSH_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proxy/lanes.h"
#include "proxy/request.h"
#include "proxy/ring.h"
#include "proxy/transport.h"
#include "runtime/base/result.h"

struct gsh_proxy;

/* How the proxy touches this PE's memory on behalf of others. Addresses are this PE's; the calls
 * here are complete on return. */
struct gsh_proxy_memory {
    void *context;
    bool is_host; /* host code reads and writes the heap directly (the CPU device) */
    /* A word of 4 or 8 bytes, atomic with every other gshmem AMO on it, with release and acquire;
     * *old is its former value. */
    enum gsh_result (*amo)(void *context, int amo_op, void *address, size_t word_bytes,
                           uint64_t operand, uint64_t cond, uint64_t *old);
    enum gsh_result (*copy_in)(void *context, void *heap_dest, const void *source, size_t bytes);
    enum gsh_result (*copy_out)(void *context, void *dest, const void *heap_source, size_t bytes);
    /* The same without waiting. May be NULL where is_host, unless everything is to be staged;
     * required otherwise. */
    const struct gsh_lane_ops *lane_ops;
    void *lanes;
};

#define GSH_PROXY_STAGE_BUFFERS_MAX 256

struct gsh_proxy_options {
    int my_pe, n_pes;
    const char *transport; /* "auto", "ucx", "loop" */
    const char *plugin;
    bool is_one_process; /* every PE is a thread of this process: auto takes "loop" */
    uint64_t timeout_ns;
    uint64_t loop_seed; /* of the loop transport: GSHMEM_LOOP_SEED */
    uint64_t spin_ns;   /* how long the idle thread polls before it sleeps */
    /* Staging (stage.h), which is used where the transport does not reach the memory: */
    bool stages_always;   /* even where it does, if there are lanes */
    uint64_t stage_chunk; /* bytes of each buffer, more than a message takes; a multiple of 4096 */
    unsigned stage_buffers; /* for each direction: 2 to GSH_PROXY_STAGE_BUFFERS_MAX */
    /* A peer is lost, or a request failed: one line naming peer and operation. Ends the job; may
     * not return. Called on any thread, under the proxy's lock. */
    void (*fail)(void *context, int pe, const char *text);
    /* News from pe (gsh_proxy_notify). As fail: on any thread, under the proxy's lock. */
    void (*notice)(void *context, int pe, const void *data, size_t bytes);
    void *context;
    void (*thread_start)(void *context); /* on the proxy's thread, first */
};

/* Not collective. The transport exists; there are no peers and no thread yet. A failure is recorded
 * by gsh_note, not logged: the caller reports it once for all PEs. The same holds for set_peer. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_create(const struct gsh_proxy_options *options,
                                                  struct gsh_proxy **out);
/* Stops the thread. Not collective, but no PE may use this one any more. Accepts NULL, half-made.
 */
void gsh_proxy_destroy(struct gsh_proxy **proxy);

const char *gsh_proxy_transport_name(const struct gsh_proxy *proxy);
/* The blob each PE gives every far PE; and what they gave. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_address(struct gsh_proxy *proxy, const void **blob,
                                                   size_t *bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_peer(struct gsh_proxy *proxy, int pe,
                                                    const void *blob, size_t bytes);
/* The thread starts; requests and messages may flow. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_start(struct gsh_proxy *proxy);

/* The CPUs of the proxy's thread, in the form of sched_setaffinity; it has started. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_get_cpus(const struct gsh_proxy *proxy, void *mask,
                                                    size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_cpus(struct gsh_proxy *proxy, const void *mask,
                                                    size_t bytes);

/* Messages of the runtime (collectives over far PEs): at most gsh_proxy_message_max bytes, arrive
 * in order, are kept until they are received. Any thread. receive waits for the next message with
 * that tag from pe; wait() is called in each turn, a result other than GSH_OK ends the call. */
size_t gsh_proxy_message_max(const struct gsh_proxy *proxy);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_send(struct gsh_proxy *proxy, int pe, uint64_t tag,
                                                const void *data, size_t bytes);
typedef enum gsh_result (*gsh_proxy_wait_fn)(void *context, int pe);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_receive(struct gsh_proxy *proxy, int pe, uint64_t tag,
                                                   void *data, size_t bytes, /* exactly */
                                                   gsh_proxy_wait_fn wait, void *context);

/* pe's options.notice is called with the bytes, at most GSH_PROXY_NOTICE_MAX of them, soon. Does
 * not wait, does as much as it can even after a failure, and does not say whether it worked. For
 * news of the job's end. Any thread, but not under the proxy's lock. */
#define GSH_PROXY_NOTICE_MAX 1024
void gsh_proxy_notify(struct gsh_proxy *proxy, int pe, const void *data, size_t bytes);

/* ---- after the device is set up ---- */

/* Also takes what staging needs of memory: a failure is noted, and there is no memory then. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_memory(struct gsh_proxy *proxy,
                                                      const struct gsh_proxy_memory *memory,
                                                      void *heap_base);
/* The copy lanes are about to be destroyed: their jobs end, and the proxy forgets them. No further
 * calls are made on it. */
void gsh_proxy_forget_lanes(struct gsh_proxy *proxy);
/* The heap has grown by a region that begins where the last one ended, or shrunk by its last one;
 * or a region apart from these, which does not touch them, has come or gone: own part, then every
 * far PE's. See transport.h. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_add_region(struct gsh_proxy *proxy, uint64_t off,
                                                      uint64_t bytes, const void **key,
                                                      size_t *key_bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_remove_region(struct gsh_proxy *proxy, uint64_t off);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_add_peer_region(struct gsh_proxy *proxy, int pe,
                                                           uint64_t off, uint64_t bytes,
                                                           const void *key, size_t key_bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_remove_peer_region(struct gsh_proxy *proxy, int pe,
                                                              uint64_t off);

/* Memory of this PE that is not a region, and that will be the local side of many puts and gets:
 * prepares it for the network, until it is unpinned. *pin NULL: there was nothing to do. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_pin(struct gsh_proxy *proxy, void *memory,
                                               uint64_t bytes, void **pin);
void gsh_proxy_unpin(struct gsh_proxy *proxy, void *pin);

/* Whether the network reaches memory of the device. */
bool gsh_proxy_reads_device(const struct gsh_proxy *proxy);

/* A ring's host memory: n_slots slots and the words, both zeroed by the caller, freed by it after
 * destroy. The thread drains it from now on; its requests are the context's. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_add_ring(struct gsh_proxy *proxy, gsh_context ctx,
                                                    struct gsh_ring_slot *slots, uint64_t n_slots,
                                                    struct gsh_ring_cpu *cpu);
/* For gsh_ring.wake. */
const struct gsh_ring_wake *gsh_proxy_ring_wake(struct gsh_proxy *proxy);

/* ---- requests of host threads; any thread, at any time after set-up ---- */

/* Carries out the request and returns when it is complete in its own sense; results are in it.
 * FENCE and QUIET cover the requests in the same context: those of host threads, and those of
 * kernels that have been taken from the rings (cpu_tail). */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_run(struct gsh_proxy *proxy,
                                               struct gsh_request *request);
/* The same without waiting: complete after a QUIET. The request is copied. For puts, gets. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_post(struct gsh_proxy *proxy,
                                                const struct gsh_request *request);
/* Either of them for a PUT, which is the most frequent request by far. pe is one of the job's,
 * bytes are not 0. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_put(struct gsh_proxy *proxy, gsh_context ctx,
                                               const char *call, int pe, uint64_t remote_off,
                                               const void *local, uint64_t bytes, bool is_posted);
/* How many of them in the context, FENCE and QUIET aside, there were so far: acquire, what they ask
 * for has been handed over. */
uint64_t gsh_proxy_n_requests(const struct gsh_proxy *proxy, gsh_context ctx);
/* Makes some progress unless another thread is doing so: for threads that wait for memory to change
 * (host waits, the CPU device's spins). Cheap. */
void gsh_proxy_help(struct gsh_proxy *proxy);

#endif
