/* SPDX-License-Identifier: Apache-2.0
 * What the proxy tells its observer (gsh_proxy_options.observe): when each request was taken over
 * and when it was done, and the same of each transfer that the network was given. A time of 0:
 * nobody observes. */
#ifndef GSH_ENGINE_OBSERVE_H
#define GSH_ENGINE_OBSERVE_H

#include <time.h>
#include "base/util.h"
#include "proxy/engine/state.h"

static inline uint64_t gsh_observe_now(const struct gsh_proxy *proxy)
{
    return proxy->options.observe != NULL ? gsh_now_ns() : 0;
}

/* The same clock to a few milliseconds, whether or not somebody observes: for the ages of requests
 * (gsh_proxy_find_unfinished). It takes a quarter of the time. */
static inline uint64_t gsh_observe_coarse(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Of a request, without an article. */
const char *gsh_observe_name(unsigned op);
/* The task is done; its begun_ns is not 0. */
void gsh_observe_request(const struct gsh_task *task);
/* The network is done with the task's data; its issued_ns is not 0. */
void gsh_observe_transfer(const struct gsh_task *task);
/* The same for a message that it was given at begun_ns, not 0. name: with an article, which is left
 * out. */
void gsh_observe_message(const struct gsh_proxy *proxy, const char *name, int pe, uint64_t bytes,
                         uint64_t begun_ns);

#endif
