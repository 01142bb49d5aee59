/* SPDX-License-Identifier: Apache-2.0
 * When a wait for the other members of a team lasts too long: which PE reports it for the whole
 * job, and which members are missing. The PE whose word has not come may itself be waiting for the
 * missing one, as leaders of nodes do. So the reporting PE asks all members how far they are. */
#ifndef GSH_ABSENT_H
#define GSH_ABSENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsh_instance;
struct gsh_net;
struct gsh_report_members;

/* Which words of a team: those of one of its channels, or those of its host threads. */
#define GSH_ABSENT_HOST (-1)
struct gsh_absent_site {
    int team;    /* its handle */
    int channel; /* or GSH_ABSENT_HOST */
};

/* The wait that lasted too long. */
struct gsh_absent_wait {
    struct gsh_absent_site site;
    int pe; /* the PE waited for; this PE: other blocks of the kernel */
    uint64_t expected, seen;
};

/* Whether the PE must report why the job ends, and end it. If not, another PE does both. The answer
 * stays the same. */
bool gsh_absent_take_report(struct gsh_instance *pe);

/* Both for waits that kernels report. */
extern const struct gsh_report_members gsh_absent_members;

/* Describes what the wait was for. If members are far, it asks them, which takes at most a few
 * seconds. */
void gsh_absent_describe(struct gsh_instance *pe, const struct gsh_absent_wait *wait, char *text,
                         size_t bytes);

/* The team's channel in which an address of this PE's own heap lies; false: in none. */
bool gsh_absent_find_site(struct gsh_instance *pe, uint64_t address, struct gsh_absent_site *site);

/* Who is in a team of this number that the program has made; false: there is none. */
struct gsh_absent_team {
    int n_pes, first;
    int stride; /* from each member to the next; 0: it is not always the same */
};
bool gsh_absent_find_team(struct gsh_instance *pe, int number, struct gsh_absent_team *out);

/* The length of its notices, by which they are known. */
#define GSH_ABSENT_NOTICE_BYTES 24
/* For net.c, under the proxy's lock: whether the notice is one of this file's. */
bool gsh_absent_receive(struct gsh_net *net, int from_pe, const void *data, size_t bytes);

#endif
