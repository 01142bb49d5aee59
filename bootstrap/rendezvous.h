/* SPDX-License-Identifier: Apache-2.0
 * The rendezvous of a start-up by unique id, without its sockets: who has come, what is wrong, and
 * whom each rank meets, and how ranks lie on hosts. Its drivers move the messages: uid_server.c
 * over TCP, and the simulation in virtual time (perftest/sim). */
#ifndef GSH_RENDEZVOUS_H
#define GSH_RENDEZVOUS_H

#include "bootstrap/uid_wire.h"

struct gsh_rendezvous_rank {
    int fd;  /* the driver's: where the rank waits; -1: it does not, or another one does for it: */
    int via; /* the rank that has brought it, or itself */
    bool has_come;
    struct gsh_hello hello;
};

/* One job; all zeros before its first rank. */
struct gsh_rendezvous {
    int n_ranks; /* 0: none has come */
    int n_come;
    struct gsh_host_layout hosts;      /* once all have come; without the runs of regular hosts */
    int n_expected;                    /* how many may come, at most, even if they do not agree */
    struct gsh_rendezvous_rank *ranks; /* [n_ranks] */
    enum gsh_result result;            /* GSH_OK, or why the job cannot start: */
    char text[GSH_ANSWER_MAX_PAYLOAD];
};

/* A rank that has proved the secret says hello, by itself or via another one, which has come.
 * False: the job cannot start, now or since before, and the rank is to be told so. */
bool gsh_rendezvous_enter(struct gsh_rendezvous *r, const struct gsh_hello *hello, int fd, int via);
bool gsh_rendezvous_is_complete(const struct gsh_rendezvous *r);
/* Once it is complete: what a rank needs to connect to the one that is 2^round further on. */
struct gsh_partner gsh_rendezvous_partner(const struct gsh_rendezvous *r, int rank, int round);

/* The job cannot start: some have not come in time, the rank has ended, or as the text says. */
void gsh_rendezvous_end_late(struct gsh_rendezvous *r, double limit_s);
void gsh_rendezvous_lose(struct gsh_rendezvous *r, int rank);
void gsh_rendezvous_fail(struct gsh_rendezvous *r, enum gsh_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Frees what there is of the job; the driver has closed the descriptors. */
void gsh_rendezvous_forget(struct gsh_rendezvous *r);

#endif
