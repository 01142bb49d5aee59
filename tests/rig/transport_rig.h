/* SPDX-License-Identifier: Apache-2.0
 * For tests of transports: PEs as forked processes (UCX) or as threads (loop), each with a
 * transport, a heap of three regions, and a line to the test program, over which they exchange
 * blobs and meet while they make progress. */
#ifndef TRANSPORT_RIG_H
#define TRANSPORT_RIG_H

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/util.h"
#include "proxy/transport.h"
#include "tests/rig/pes.h"

#define RIG_MAX_PES  8
#define RIG_REGIONS  3
#define RIG_BYTES    (UINT64_C(12) << 20) /* the three regions together */
#define RIG_BLOB_MAX 8192
#define RIG_LIMIT_NS UINT64_C(60000000000) /* no wait of the tests lasts longer */

/* The regions touch in the heap. With UCX they lie apart in memory, so that an operation that is
 * not split at their borders fails. */
static const uint64_t rig_bounds[RIG_REGIONS + 1] = {0, 4096 * 3, UINT64_C(5) << 20, RIG_BYTES};

struct rig_pe {
    int me, n, line;
    struct gsh_transport *transport;
    char *memory[RIG_REGIONS];
    bool is_lost[RIG_MAX_PES];
    uint64_t lost_ns;
    void (*message)(struct rig_pe *pe, int from, const void *header, size_t header_bytes,
                    const void *data, size_t bytes);
    void *test; /* the test's own */
};

struct rig_job {
    int n;
    const char *name, *plugin; /* transport; "loop" runs PEs as threads */
    uint64_t timeout_ns;
    void (*program)(struct rig_pe *pe);
    void (*message)(struct rig_pe *pe, int from, const void *header, size_t header_bytes,
                    const void *data, size_t bytes);
    size_t test_bytes; /* of rig_pe.test, which is 0: messages may come before the program begins */
};

/* ---- one operation, and waiting for it ---- */

struct rig_op {
    struct gsh_op op;
    bool is_pending;
    enum gsh_result r;
};

static inline void rig_done(struct gsh_op *op, enum gsh_result r)
{
    struct rig_op *o = (struct rig_op *)op;
    CHECK(o->is_pending);
    o->is_pending = false;
    o->r = r;
}

#define RIG_OP                                       \
    {                                                \
        .op = {.done = rig_done}, .is_pending = true \
    }

/* Progress until *flag is false. */
static inline void rig_wait(struct rig_pe *pe, const bool *flag)
{
    uint64_t end = gsh_now_ns() + RIG_LIMIT_NS;
    while (*flag && CHECK(gsh_now_ns() < end)) {
        if (pe->transport->ops->progress(pe->transport) == 0) {
            sched_yield();
        }
    }
}

/* r and pending are the results of a call with o. Returns its final result. */
static inline enum gsh_result rig_finish(struct rig_pe *pe, struct rig_op *o, enum gsh_result r,
                                         bool pending)
{
    if (r != GSH_OK || !pending) {
        return r;
    }
    rig_wait(pe, &o->is_pending);
    return o->r;
}

static inline enum gsh_result rig_put(struct rig_pe *pe, int to, uint64_t off, const void *source,
                                      uint64_t bytes)
{
    struct rig_op o = RIG_OP;
    bool pending = false;
    enum gsh_result r =
        pe->transport->ops->put(pe->transport, to, 0, off, source, bytes, &o.op, &pending);
    return rig_finish(pe, &o, r, pending);
}

static inline enum gsh_result rig_get(struct rig_pe *pe, int from, uint64_t off, void *dest,
                                      uint64_t bytes)
{
    struct rig_op o = RIG_OP;
    bool pending = false;
    enum gsh_result r =
        pe->transport->ops->get(pe->transport, from, off, dest, bytes, &o.op, &pending);
    return rig_finish(pe, &o, r, pending);
}

static inline enum gsh_result rig_flush(struct rig_pe *pe, int to)
{
    struct rig_op o = RIG_OP;
    bool pending = false;
    enum gsh_result r = pe->transport->ops->flush(pe->transport, to, 0, &o.op, &pending);
    return rig_finish(pe, &o, r, pending);
}

static inline enum gsh_result rig_send(struct rig_pe *pe, int to, const void *header,
                                       size_t header_bytes, const void *data, size_t bytes)
{
    struct rig_op o = RIG_OP;
    bool pending = false;
    enum gsh_result r = pe->transport->ops->send(pe->transport, to, header, header_bytes, data,
                                                 bytes, &o.op, &pending);
    return rig_finish(pe, &o, r, pending);
}

/* ---- the line ---- */

static inline bool rig_io(struct rig_pe *pe, bool is_write, void *buffer, size_t bytes)
{
    uint64_t end = gsh_now_ns() + RIG_LIMIT_NS;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = is_write ? send(pe->line, (char *)buffer + at, bytes - at, MSG_DONTWAIT)
                             : recv(pe->line, (char *)buffer + at, bytes - at, MSG_DONTWAIT);
        if (n > 0) {
            at += (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !CHECK(gsh_now_ns() < end)) {
            return false;
        } else if (!pe->transport || pe->transport->ops->progress(pe->transport) == 0) {
            sched_yield();
        }
    }
    return true;
}

/* A dead PE contributes zeros. May also be called without a transport. */
static inline void rig_allgather(struct rig_pe *pe, const void *mine, size_t bytes, void *all)
{
    if (!rig_io(pe, true, &bytes, sizeof(bytes)) ||
        !rig_io(pe, true, (void *)(uintptr_t)mine, bytes) ||
        !rig_io(pe, false, all, bytes * (size_t)pe->n)) {
        _exit(1); /* the test program is gone */
    }
}

static inline void rig_barrier(struct rig_pe *pe)
{
    char mine = 1, all[RIG_MAX_PES];
    rig_allgather(pe, &mine, 1, all);
}

/* The test program's end of the lines, until all have hung up. */
static inline void rig_serve(const int *lines, int n)
{
    bool is_open[RIG_MAX_PES];
    for (int i = 0; i < n; i++) {
        is_open[i] = true;
    }
    for (;;) {
        size_t bytes = 0;
        int n_open = 0;
        char *all = NULL;
        for (int i = 0; i < n; i++) {
            if (is_open[i]) {
                is_open[i] = recv(lines[i], &bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes);
            }
            n_open += is_open[i];
            if (is_open[i] && !all) {
                all = calloc((size_t)n, bytes);
            }
            if (is_open[i]) {
                CHECK(recv(lines[i], all + (size_t)i * bytes, bytes, MSG_WAITALL) ==
                      (ssize_t)bytes);
            }
        }
        for (int i = 0; i < n; i++) {
            if (is_open[i]) {
                send(lines[i], all, bytes * (size_t)n, MSG_NOSIGNAL);
            }
        }
        free(all);
        if (n_open == 0) {
            return;
        }
    }
}

/* ---- a PE ---- */

/* The address of off in this PE's own heap; *left: bytes to the end of the region. */
static inline char *rig_at(struct rig_pe *pe, uint64_t off, uint64_t *left)
{
    int i = 0;
    while (off >= rig_bounds[i + 1]) {
        i++;
    }
    *left = rig_bounds[i + 1] - off;
    return pe->memory[i] + (off - rig_bounds[i]);
}

/* Collective: each PE passes the key of its memory at off to the others. */
static inline void rig_tell_region(struct rig_pe *pe, uint64_t off, uint64_t bytes, const void *key,
                                   size_t key_bytes)
{
    struct blob {
        size_t bytes;
        char content[RIG_BLOB_MAX];
    } mine = {.bytes = key_bytes}, all[RIG_MAX_PES];
    struct gsh_transport *t = pe->transport;
    if (!CHECK(mine.bytes <= RIG_BLOB_MAX)) {
        _exit(1);
    }
    memcpy(mine.content, key, mine.bytes);
    rig_allgather(pe, &mine, sizeof(mine), all);
    for (int i = 0; i < pe->n; i++) {
        if (i != pe->me) {
            CHECK_EQ(t->ops->add_peer_region(t, i, off, bytes, all[i].content, all[i].bytes),
                     GSH_OK);
        }
    }
}

/* Each PE may pass its own address. */
static inline void rig_add_region(struct rig_pe *pe, void *memory, uint64_t off, uint64_t bytes)
{
    const void *key = NULL;
    size_t key_bytes = 0;
    struct gsh_transport *t = pe->transport;
    CHECK_EQ(t->ops->add_region(t, memory, off, bytes, &key, &key_bytes), GSH_OK);
    rig_tell_region(pe, off, bytes, key, key_bytes);
}

/* With memory that the transport makes. */
static inline void rig_make_region(struct rig_pe *pe, uint64_t off, uint64_t bytes, void **memory)
{
    const void *key = NULL;
    size_t key_bytes = 0;
    struct gsh_transport *t = pe->transport;
    CHECK_EQ(t->ops->make_region(t, off, bytes, memory, &key, &key_bytes), GSH_OK);
    if (!CHECK(*memory != NULL && (uintptr_t)*memory % 4096 == 0)) {
        _exit(1);
    }
    rig_tell_region(pe, off, bytes, key, key_bytes);
}

static inline void rig_set_peers(struct rig_pe *pe)
{
    struct blob {
        size_t bytes;
        char content[RIG_BLOB_MAX];
    } mine = {0}, all[RIG_MAX_PES];
    const void *address = NULL;
    struct gsh_transport *t = pe->transport;
    CHECK_EQ(t->ops->address(t, &address, &mine.bytes), GSH_OK);
    if (!CHECK(mine.bytes <= RIG_BLOB_MAX)) {
        _exit(1);
    }
    memcpy(mine.content, address, mine.bytes);
    rig_allgather(pe, &mine, sizeof(mine), all);
    for (int i = 0; i < pe->n; i++) {
        if (i != pe->me) {
            CHECK_EQ(t->ops->set_peer(t, i, all[i].content, all[i].bytes), GSH_OK);
        }
    }
}

static inline void rig_on_message(void *context, int from, const void *header, size_t header_bytes,
                                  const void *data, size_t bytes)
{
    struct rig_pe *pe = context;
    pe->message(pe, from, header, header_bytes, data, bytes);
}

static inline void rig_on_lost(void *context, int from, bool is_silent, const char *reason)
{
    struct rig_pe *pe = context;
    printf("PE %d has lost PE %d: %s\n", pe->me, from, reason);
    CHECK(reason[0] && !pe->is_lost[from]);
    CHECK_EQ(is_silent, strstr(reason, "GSHMEM_PROXY_TIMEOUT") != NULL);
    pe->is_lost[from] = true;
    pe->lost_ns = gsh_now_ns();
}

/* Returns whether it has lost a peer. */
static inline bool rig_run_pe(const struct rig_job *job, int me, int line)
{
    struct rig_pe pe = {.me = me,
                        .n = job->n,
                        .line = line,
                        .message = job->message,
                        .test = calloc(1, job->test_bytes)};
    struct gsh_transport_options options = {
        .my_pe = me,
        .n_pes = job->n,
        .name = job->name,
        .plugin = job->plugin,
        .timeout_ns = job->timeout_ns,
        .events = {.context = &pe, .message = rig_on_message, .lost = rig_on_lost},
    };
    gsh_log_set_pe(me);
    enum gsh_result r = strcmp(job->name, "loop") == 0
                            ? gsh_transport_loop_create(&options, &pe.transport)
                            : gsh_transport_ucx_create(&options, &pe.transport);
    if (!CHECK_EQ(r, GSH_OK)) {
        free(pe.test);
        return false;
    }
    rig_set_peers(&pe);
    size_t gap = strcmp(job->name, "loop") == 0 ? 0 : 4096;
    char *memory = mmap(NULL, RIG_BYTES + RIG_REGIONS * gap, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < RIG_REGIONS; i++) {
        pe.memory[i] = memory + rig_bounds[i] + i * gap;
        rig_add_region(&pe, pe.memory[i], rig_bounds[i], rig_bounds[i + 1] - rig_bounds[i]);
    }
    job->program(&pe);
    rig_barrier(&pe);
    pe.transport->ops->destroy(pe.transport);
    free(pe.test);
    munmap(memory, RIG_BYTES + RIG_REGIONS * gap);
    return memchr(pe.is_lost, true, sizeof(pe.is_lost)) != NULL;
}

/* ---- a job ---- */

struct rig_lines {
    const struct rig_job *job;
    int (*lines)[2]; /* the test program's end, the PE's */
};

static inline void rig_thread(int me, int n, void *arg)
{
    const struct rig_lines *of = arg;
    (void)n;
    (void)rig_run_pe(of->job, me, of->lines[me][1]);
    close(of->lines[me][1]);
}

static inline void rig_process(int me, int n, void *arg)
{
    const struct rig_lines *of = arg;
    for (int i = 0; i < n; i++) {
        close(of->lines[i][0]);
        if (i != me) {
            close(of->lines[i][1]);
        }
    }
    if (rig_run_pe(of->job, me, of->lines[me][1])) {
        fflush(NULL);
        _exit(test_result()); /* UCX was not closed, as in a job's end: no leak check */
    }
}

static inline void rig_run(const struct rig_job *job)
{
    int lines[RIG_MAX_PES][2], ours[RIG_MAX_PES];
    struct test_thread threads[RIG_MAX_PES];
    pid_t children[RIG_MAX_PES];
    struct rig_lines of = {.job = job, .lines = lines};
    bool is_loop = strcmp(job->name, "loop") == 0;
    for (int i = 0; i < job->n; i++) {
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines[i]), 0);
        ours[i] = lines[i][0];
    }
    if (is_loop) {
        test_start_threads(job->n, rig_thread, &of, threads);
    } else {
        test_start_processes(job->n, rig_process, &of, children);
        for (int i = 0; i < job->n; i++) {
            close(lines[i][1]);
        }
    }
    rig_serve(ours, job->n);
    if (is_loop) {
        test_join_threads(job->n, threads);
    } else {
        test_join_processes(job->n, children);
    }
    for (int i = 0; i < job->n; i++) {
        close(ours[i]);
    }
}

/* Ways for UCX here; NULL-terminated pairs of UCX_TLS and its description. In UCX 1.15 and newer,
 * cma tests whether it reaches a peer by process_vm_readv into the very iovec that it passes, at
 * the same address of the peer. Here the peer has something else there, since it was forked from
 * the same process. The sanitizers' interceptor reads the iovec after the call and takes what it
 * finds as an access. */
static const char *const rig_ucx_ways[][2] = {
    {"tcp,self", "TCP"},
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    {"posix,self", "shared memory, without the kernel's copy between processes"},
#else
    {"posix,cma,self", "shared memory; UCX may choose the kernel's copy between processes"},
#endif
    {"sysv,self", "shared memory alone"},
    {NULL, NULL},
};

/* The i-th way, as UCX_TLS and its description; NULL after the last. With `only` there is one, that
 * UCX_TLS. */
static inline const char *const *rig_ucx_way(const char *only, int i)
{
    static const char *alone[2];
    if (only != NULL) {
        alone[0] = alone[1] = only;
        return i == 0 ? alone : NULL;
    }
    return rig_ucx_ways[i][0] ? rig_ucx_ways[i] : NULL;
}

#endif
