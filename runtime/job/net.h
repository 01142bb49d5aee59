/* SPDX-License-Identifier: Apache-2.0
 * The life of a job with far PEs: makes the proxy and connects it, collective calls of the library
 * over its messages, and the news of the job's end. Operations on memory are far.h's. */
#ifndef GSH_NET_H
#define GSH_NET_H

#include "bootstrap/bootstrap.h"
#include "runtime/job/instance.h"

/* Messages' tags: who uses them, a number that grows, and a round of it. */
enum gsh_net_user { GSH_NET_JOB = 1, GSH_NET_SYNC, GSH_NET_TEAM };
#define GSH_NET_TAG(user, sequence, round) \
    ((uint64_t)(user) << 56 | ((uint64_t)(sequence)&0xffffffffffffu) << 8 | (uint64_t)(round))

/* Collective over `bootstrap`: makes pe->proxy, gives every PE's address to every other PE, starts
 * it. All PEs fail when one does. */
GSH_CHECK_RESULT enum gsh_result gsh_net_create(struct gsh_instance *pe,
                                                struct gsh_bootstrap *bootstrap);
/* No PE needs this one any more; from `gsh_net_close` on, a lost peer is no trouble. */
void gsh_net_close(struct gsh_instance *pe);
void gsh_net_destroy(struct gsh_instance *pe);

/* A bootstrap over messages, in ceil(log2(n)) rounds; base's abort is used, base stays the
 * caller's. */
GSH_CHECK_RESULT enum gsh_result gsh_net_bootstrap_create(struct gsh_instance *pe,
                                                          struct gsh_bootstrap *base,
                                                          struct gsh_bootstrap **out);

/* Tells the job that PE origin ends it, along the connections that collective calls use; PEs that
 * hear of it tell the next and end silently. Once per PE; nothing where there is no network. */
void gsh_net_tell(struct gsh_instance *pe, int origin, int status, const char *text);
/* As gsh_require, for results of the proxy: when it has failed, the reason has been printed and the
 * job is ending, for which this waits. */
void gsh_net_require(struct gsh_instance *pe, const char *call, enum gsh_result r);

#endif
