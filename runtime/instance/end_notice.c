/* SPDX-License-Identifier: Apache-2.0
 * The notice of the job's end goes from PE to PE in the pattern of net_job.c: each PE tells the PEs
 * 1, 2, 4, ... before it (leg.h), once. */
#include "runtime/instance/end_notice.h"

#include <stdio.h>
#include "base/atomic.h"
#include "base/util.h"
#include "bootstrap/leg.h"
#include "proxy/proxy.h"
#include "runtime/instance/instance.h"

/* How long an ending PE waits for its notice to leave; twice as long for another PE's notice, so
 * that a launcher sees that PE end first. */
#define LINGER_NS 50000000u

bool gsh_end_notice_take_end(struct gsh_net *net)
{
    return !__atomic_exchange_n(&net->is_ending, true, __ATOMIC_ACQ_REL);
}

void gsh_end_notice_leave_net(struct gsh_net *net)
{
    /* release: pairs with the acquire in gsh_end_notice_await_end */
    __atomic_store_n(&net->is_done, true, __ATOMIC_RELEASE);
}

void gsh_end_notice_await_end(struct gsh_net *net)
{
    unsigned backoff = 0;
    if (gsh_end_notice_take_end(net)) {
        return;
    }
    /* acquire: pairs with the release in gsh_end_notice_leave_net */
    while (!__atomic_load_n(&net->is_done, __ATOMIC_ACQUIRE)) {
        gsh_backoff(&backoff);
    }
}

bool gsh_end_notice_is_ending(const struct gsh_net *net)
{
    return __atomic_load_n(&net->is_ending, __ATOMIC_ACQUIRE);
}

void gsh_end_notice_pass_on(struct gsh_net *net)
{
    struct gsh_instance *pe = net->pe;
    uint64_t start_ns = gsh_now_ns();
    uint64_t linger_ns = net->notice.origin == pe->my_pe ? LINGER_NS : 2 * LINGER_NS;
    unsigned backoff = 0;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, pe->n_pes, pe->my_pe, -1);) {
        if (leg.to != net->lost_pe) {
            gsh_proxy_notify(pe->proxy, leg.to, &net->notice, sizeof(net->notice));
        }
    }
    while (gsh_now_ns() - start_ns < linger_ns) {
        gsh_proxy_help(pe->proxy);
        gsh_backoff(&backoff);
    }
}

void gsh_end_notice_tell(struct gsh_instance *pe, int origin, int status, const char *text)
{
    struct gsh_net *net = pe->net;
    if (net == NULL || pe->proxy == NULL || !gsh_end_notice_take_end(net)) {
        return;
    }
    net->notice = (struct gsh_end_notice){.origin = origin, .status = status};
    snprintf(net->notice.text, sizeof(net->notice.text), "%s", text);
    gsh_end_notice_pass_on(net);
    gsh_end_notice_leave_net(net);
}

void gsh_end_notice_tell_loss(struct gsh_instance *pe, int to, int dead)
{
    struct gsh_end_notice notice = {.origin = dead, .status = 1, .is_loss = 1};
    snprintf(notice.text, sizeof(notice.text), "died or exited");
    gsh_proxy_notify(pe->proxy, to, &notice, sizeof(notice));
}
