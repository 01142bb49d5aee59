/* SPDX-License-Identifier: Apache-2.0
 * Tells the job over the network that it ends. net.c detects the end. */
#ifndef GSH_END_NOTICE_H
#define GSH_END_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include "proxy/proxy.h"

struct gsh_answers;
struct gsh_instance;

struct gsh_end_notice {
    int32_t origin, status;
    uint32_t is_loss; /* origin is dead; the job need not end with it: death.h */
    char text[512];
};
_Static_assert(sizeof(struct gsh_end_notice) <= GSH_PROXY_NOTICE_MAX,
               "an end notice is one notice");

/* A PE's part in the end of a job with far PEs; end_notice.c's and net.c's. */
struct gsh_net {
    struct gsh_instance *pe;
    /* these are atomic */
    bool is_closed;   /* the job has ended well */
    bool is_ending;   /* a thread carries out this PE's end */
    bool is_done;     /* that needs this no more, or ends the process */
    bool is_notified; /* from another PE */
    /* of the thread that carries out the end */
    bool is_found_here;
    bool is_limit; /* a time limit of the proxy has passed */
    int lost_pe;
    struct gsh_end_notice notice;
    /* absent.c's, atomic */
    int speaker;                 /* on PE 0: 1 + the PE that says why the job ends; 0: none yet */
    uint32_t verdict;            /* PE 0's, whether it is this one: enum verdict */
    struct gsh_answers *answers; /* to this PE's question; NULL: it has not asked */
    /* init's, until the proxy starts: what PEs have told of their addresses, and long ones */
    struct gsh_net_greeting *greetings; /* [n_pes] */
    uint8_t *long_addresses;            /* [n_pes] of long_bytes each, or NULL */
    size_t long_bytes;
    void *looked_up; /* the newest; under the proxy's lock */
};

/* Tells the job that PE origin ends it, along the connections that collective calls use. PEs that
 * hear of it pass it on and end silently. Happens once per PE; does nothing where there is no
 * network. */
void gsh_end_notice_tell(struct gsh_instance *pe, int origin, int status, const char *text);
/* Tells that PE of the death of another one, which both outlive. */
void gsh_end_notice_tell_loss(struct gsh_instance *pe, int to, int dead);
/* Whether a thread is carrying out this PE's end, or the consequences of a death. */
bool gsh_end_notice_is_ending(const struct gsh_net *net);

/* For net.c: whether the caller is the one that carries out the end, and fills net->notice. */
bool gsh_end_notice_take_end(struct gsh_net *net);
/* The one that carries out the end does not use net any more, or ends the process. */
void gsh_end_notice_leave_net(struct gsh_net *net);
/* Returns when no thread is carrying out the end, nor will any: net may then be freed, with its
 * proxy. */
void gsh_end_notice_await_end(struct gsh_net *net);
/* Sends net->notice, and waits a moment for it to leave. */
void gsh_end_notice_pass_on(struct gsh_net *net);

#endif
