/* SPDX-License-Identifier: Apache-2.0
 * What the files of a rank share that was started by unique id: uid.c, which begins and ends it,
 * uid_host.c and, below both, uid_round.c. */
#ifndef GSH_UID_IMPL_H
#define GSH_UID_IMPL_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/uid_wire.h"

struct gsh_uid_rank {
    struct gsh_bootstrap base;
    struct gsh_tcp_listener *listener; /* only while links are made; then base.asking has it */
    uint8_t secret[GSH_SHA256_BYTES];
    int rounds;
    int out[GSH_UID_MAX_ROUNDS]; /* to rank + 2^k */
    int in[GSH_UID_MAX_ROUNDS];  /* from rank - 2^k */
    struct gsh_link_keys out_keys[GSH_UID_MAX_ROUNDS], in_keys[GSH_UID_MAX_ROUNDS];
    bool is_mid_frame[GSH_UID_MAX_ROUNDS]; /* out[k] has received part of a frame */
    uint32_t n_calls;
    bool is_failed;
};

static inline int gsh_uid_partner(const struct gsh_uid_rank *u, int round, int direction)
{
    int64_t n = u->base.size;
    return (int)((u->base.rank + n + direction * ((int64_t)1 << round)) % n);
}

static inline double gsh_uid_timeout_s(const struct gsh_uid_rank *u)
{
    return (double)u->base.timeout_ns * 1e-9;
}

static inline void gsh_uid_count_sent(struct gsh_uid_rank *u, size_t bytes)
{
    u->base.counts.messages++;
    u->base.counts.bytes += bytes;
}

/* ---- uid_round.c ---- */

/* GSH_OK, unless a call of this rank has failed before; call: its name in messages. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_check_alive(const struct gsh_uid_rank *u,
                                                     const char *call);

/* Round k: sends `mine` with the out_bytes that follow it, receives a frame and in_bytes. What
 * fails is told to all ranks. */
GSH_CHECK_RESULT enum gsh_result gsh_uid_round(struct gsh_uid_rank *u, const char *call, int k,
                                               struct gsh_frame *mine, size_t out_bytes,
                                               void *in_data, size_t in_bytes,
                                               uint64_t deadline_ns);

/* This rank makes no further call, since r, for which that rank is the reason: tells all ranks. */
void gsh_uid_send_notice(struct gsh_uid_rank *u, enum gsh_result r, int culprit);

/* Folds what has come, at any address, into value. */
void gsh_uid_fold(void *value, const void *theirs, size_t bytes,
                  void (*fold)(void *into, const void *from));

/* There is no memory for n times `bytes` bytes; all ranks are told. */
enum gsh_result gsh_uid_fail_for_memory(struct gsh_uid_rank *u, size_t n, size_t bytes);

/* ---- uid_host.c ---- */

/* gather_hosts and gather_host of the bootstrap. */
enum gsh_result gsh_uid_gather_hosts(struct gsh_bootstrap *b, uint64_t host,
                                     struct gsh_host_table *out);
enum gsh_result gsh_uid_gather_host(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                    void *theirs, void *value, size_t value_bytes,
                                    void (*fold)(void *into, const void *from));

#endif
