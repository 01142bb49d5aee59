/* SPDX-License-Identifier: Apache-2.0
 * One PE's way to its far peers: it carries out requests (from kernels' rings, and from host
 * threads) over a transport, keeps OpenSHMEM's order among them, and acts for far PEs on this PE's
 * memory. Made only when some peer is not mapped. Its own thread drains the rings and makes
 * progress; host threads that wait here do so as well. It does not know the heap: the runtime
 * passes ranges and a table of functions. */
#ifndef GSH_PROXY_H
#define GSH_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"
#include "proxy/copy_streams.h"
#include "proxy/request.h"
#include "proxy/transport.h"
#include "wire/ring.h"

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
    /* The same without waiting. May be NULL if is_host, unless everything is to be staged; required
     * otherwise. */
    const struct gsh_copy_stream_ops *copy_stream_ops;
    void *copy_streams;
};

#define GSH_PROXY_STAGE_BUFFERS_MAX 256
#define GSH_PROXY_ADDRESS           UINT64_MAX /* options.look_up */

/* Something that the proxy has done, from begin_ns (CLOCK_MONOTONIC) until now. */
struct gsh_proxy_event {
    const char *name; /* "put"; stays as it is */
    bool is_transfer; /* the network's part; else a request of a kernel or a host thread */
    bool is_get;      /* the data come from pe */
    int pe;           /* -1: nobody in particular */
    uint64_t remote_off, bytes, begin_ns; /* remote_off UINT64_MAX: none */
};

struct gsh_proxy_options {
    int my_pe, n_pes;
    const char *transport; /* "auto", "ucx", "loop" */
    const char *plugin;
    bool is_one_process; /* every PE is a thread of this process: auto takes "loop" */
    uint64_t timeout_ns;
    uint64_t loop_seed; /* of the loop transport: GSHMEM_LOOP_SEED */
    uint8_t key[16];    /* of the job, for messages: the same on all PEs, secret to others */
    uint64_t spin_ns;   /* how long the idle thread polls before it sleeps */
    /* Staging (stage.h), used where the transport does not reach the memory: */
    bool stages_always;   /* even where it does reach it, if there are copy streams */
    uint64_t stage_chunk; /* bytes of each buffer, more than a message takes; a multiple of 4096 */
    unsigned stage_buffers; /* for each direction: 2 to GSH_PROXY_STAGE_BUFFERS_MAX */
    /* A peer is lost, or a request failed: one line naming peer and operation. is_silent: because
     * the peer has not answered for timeout_ns. Ends the job; may not return. Called on any thread,
     * under the proxy's lock. */
    void (*fail)(void *context, int pe, bool is_silent, const char *text);
    /* NULL: the loss of a peer is a failure, as above. Else the proxy outlives it: this is called
     * instead, once for each peer, in the same way, but must return. Requests to a lost peer, also
     * those under way, end without an effect that anybody may rely on; its messages are dropped;
     * fences and quiets cover the other peers. So is a peer lost that sends what no PE sends. */
    void (*lost)(void *context, int pe, const char *text);
    /* A notice from pe (gsh_proxy_notify). As fail: on any thread, under the proxy's lock. */
    void (*notice)(void *context, int pe, const void *data, size_t bytes);
    /* What pe has told of itself: its address (number GSH_PROXY_ADDRESS), or its key of the region
     * that begins at the offset `number`, which has been told of; 0 bytes: nothing. Asked when this
     * PE first communicates with pe, or uses the region there. The blob is valid until the next
     * call. GSH_ERR_PEER, GSH_ERR_TIMEOUT: pe is lost. A failure is noted. As fail: on any thread,
     * under the proxy's lock. NULL: the proxy is given all addresses and keys. */
    enum gsh_result (*look_up)(void *context, int pe, uint64_t number, const void **blob,
                               size_t *bytes);
    /* For a timeline: called at the end of each. As fail: on any thread, under the proxy's lock.
     * NULL: nobody observes, and nothing is measured. */
    void (*observe)(void *context, const struct gsh_proxy_event *event);
    void *context;
    void (*thread_start)(void *context); /* on the proxy's thread, first */
};

/* Per process, before proxies are created: a host thread has waited since then for its request to
 * pe (-1: to all) by that public call, and no longer only spins. Called again and again, by that
 * thread, with the options' context, under the proxy's lock. */
typedef void gsh_proxy_waiting(void *context, const char *call, int pe, uint64_t since_ns);
void gsh_proxy_tell_waits_by(gsh_proxy_waiting *waiting);

/* Not collective. The transport exists; there are no peers and no thread yet. A failure is recorded
 * by gsh_note, not logged: the caller reports it once for all PEs. The same holds for set_peer. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_create(const struct gsh_proxy_options *options,
                                                  struct gsh_proxy **out);
/* Stops the thread. Not collective, but no PE may use this one any more. Accepts NULL or half-made.
 */
void gsh_proxy_destroy(struct gsh_proxy **proxy);

const char *gsh_proxy_transport_name(const struct gsh_proxy *proxy);
/* The blob each PE gives every far PE, and the blobs received. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_address(struct gsh_proxy *proxy, const void **blob,
                                                   size_t *bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_peer(struct gsh_proxy *proxy, int pe,
                                                    const void *blob, size_t bytes);
/* Whether the proxy looks up what it needs of a PE when they first communicate. Then nobody calls
 * set_peer, and add_peer_region only for regions that not all PEs have. */
bool gsh_proxy_learns_late(const struct gsh_proxy *proxy);
/* The thread starts; requests and messages may flow. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_start(struct gsh_proxy *proxy);

/* The CPUs of the proxy's thread, in the form of sched_setaffinity; the thread has started. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_get_cpus(const struct gsh_proxy *proxy, void *mask,
                                                    size_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_cpus(struct gsh_proxy *proxy, const void *mask,
                                                    size_t bytes);

/* Messages of the runtime (collectives over far PEs): at most gsh_proxy_message_max bytes, arrive
 * in order, are kept until they are received. Any thread. receive waits for the next message with
 * that tag from pe; it calls wait() in each poll and ends if the result is not GSH_OK. */
size_t gsh_proxy_message_max(const struct gsh_proxy *proxy);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_send(struct gsh_proxy *proxy, int pe, uint64_t tag,
                                                const void *data, size_t bytes);
/* How many such messages have been sent, and bytes in them. Any thread. */
struct gsh_proxy_sent {
    uint64_t messages, bytes;
};
struct gsh_proxy_sent gsh_proxy_sent(const struct gsh_proxy *proxy);
typedef enum gsh_result (*gsh_proxy_wait_fn)(void *context, int pe);
GSH_CHECK_RESULT enum gsh_result gsh_proxy_receive(struct gsh_proxy *proxy, int pe, uint64_t tag,
                                                   void *data, size_t bytes, /* exactly */
                                                   gsh_proxy_wait_fn wait, void *context);

/* Soon calls pe's options.notice with the bytes, at most GSH_PROXY_NOTICE_MAX. Best effort: does
 * not wait, tries even after a failure, and does not say whether it worked. For notices of the
 * job's end. Any thread, but not under the proxy's lock. */
#define GSH_PROXY_NOTICE_MAX 1024
void gsh_proxy_notify(struct gsh_proxy *proxy, int pe, const void *data, size_t bytes);

/* The runtime knows that pe is lost; options.lost is not NULL, and is not called. Any thread, but
 * not under the proxy's lock. */
void gsh_proxy_lose(struct gsh_proxy *proxy, int pe);
/* The others have lost this PE: it asks nothing more of them, and all calls fail, silently. As
 * above. */
void gsh_proxy_stop(struct gsh_proxy *proxy);
/* How many requests of kernels have ended without effect, since their peer was lost. Any thread. */
uint64_t gsh_proxy_n_dropped(const struct gsh_proxy *proxy);
/* On return no call of fail, lost or notice that began before is under way. Not from within one. */
void gsh_proxy_await_calls(struct gsh_proxy *proxy);

/* ---- after the device is set up ---- */

/* Also allocates memory for staging. A failure is noted, and leaves the proxy without memory. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_set_memory(struct gsh_proxy *proxy,
                                                      const struct gsh_proxy_memory *memory,
                                                      void *heap_base);
/* The copy streams are about to be destroyed: their jobs end, and the proxy forgets them. No
 * further calls may be made on it. */
void gsh_proxy_forget_copy_streams(struct gsh_proxy *proxy);
/* The heap has grown by a region that begins where the last one ended, or shrunk by its last one;
 * or a separate region, not adjacent to these, has come or gone: first this PE's part, then every
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

/* The same for all far PEs at once, if the proxy learns late: their keys may be looked up, and
 * until the removal they stay so. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_add_told_region(struct gsh_proxy *proxy, uint64_t off,
                                                           uint64_t bytes);
/* Accepts a region that was not added. */
void gsh_proxy_remove_told_region(struct gsh_proxy *proxy, uint64_t off);

/* Prepares memory of this PE that is not a region, and will be the local side of many puts and
 * gets, for the network until it is unpinned. *pin NULL: nothing to do. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_pin(struct gsh_proxy *proxy, void *memory,
                                               uint64_t bytes, void **pin);
void gsh_proxy_unpin(struct gsh_proxy *proxy, void *pin);

/* Whether the network reaches memory of the device. */
bool gsh_proxy_reads_device(const struct gsh_proxy *proxy);

/* A ring's host memory: n_slots slots and the words, both zeroed by the caller, freed by it after
 * destroy. The thread drains it from now on; its requests belong to the context. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_add_ring(struct gsh_proxy *proxy, gsh_context ctx,
                                                    struct gsh_ring_slot *slots, uint64_t n_slots,
                                                    struct gsh_ring_cpu *cpu);
/* For gsh_ring.wake. */
const struct gsh_ring_wake *gsh_proxy_ring_wake(struct gsh_proxy *proxy);

/* ---- requests of host threads; any thread, at any time after set-up ---- */

/* Carries out the request and returns when it is complete in its own sense; the request holds
 * results. GSH_ERR_PEER: its peer is lost, and the proxy goes on. The same from the others. FENCE
 * and QUIET cover the requests in the same context: those of host threads, and those of kernels
 * that have been taken from the rings (cpu_tail). */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_run(struct gsh_proxy *proxy,
                                               struct gsh_request *request);
/* The same without waiting: complete after a QUIET. The request is copied. For puts, gets. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_post(struct gsh_proxy *proxy,
                                                const struct gsh_request *request);
/* Run or post for a PUT, by far the most frequent request. pe is in the job, bytes are not 0. */
GSH_CHECK_RESULT enum gsh_result gsh_proxy_put(struct gsh_proxy *proxy, gsh_context ctx,
                                               const char *call, int pe, uint64_t remote_off,
                                               const void *local, uint64_t bytes, bool is_posted);
/* How many such requests the context has had, without FENCE and QUIET. An acquire: the counted
 * requests have been handed over. */
uint64_t gsh_proxy_n_requests(const struct gsh_proxy *proxy, gsh_context ctx);
/* Requests of kernels and host threads that have been taken over and are not done; of the oldest
 * one its name, its PE (-1: all), and since when (CLOCK_MONOTONIC), to a few milliseconds. */
struct gsh_proxy_unfinished {
    uint64_t n, since_ns;
    const char *name; /* NULL: n is 0 */
    int pe;
};
/* Any thread, for reports: waits some 5 ms if the proxy is at work. False: it still is. */
bool gsh_proxy_find_unfinished(struct gsh_proxy *proxy, struct gsh_proxy_unfinished *u);
/* Makes some progress unless another thread is doing so: for threads that wait for memory to change
 * (host waits, the CPU device's spins). Cheap. */
void gsh_proxy_help(struct gsh_proxy *proxy);

#endif
