/* SPDX-License-Identifier: Apache-2.0
 * Why a job stands still: from what its PEs say, without asking anybody. */
#ifndef GSH_HANG_ANALYSE_H
#define GSH_HANG_ANALYSE_H

#include "hang/record.h"

enum gsh_hang_verdict {
    GSH_HANG_NO_WAIT, /* no PE waits */
    GSH_HANG_LOST,    /* a PE that does not answer is waited for */
    GSH_HANG_CYCLE,   /* PEs wait for each other */
    GSH_HANG_FIRST,   /* a PE that waits for nobody is waited for */
    GSH_HANG_UNSENT,  /* a PE waits for a word that some PE is to write */
    GSH_HANG_OWN,     /* a PE waits for itself */
};

/* The cause in one sentence, without a full stop or a newline; pe: the PE to look at first, -1:
 * none. */
struct gsh_hang_cause {
    enum gsh_hang_verdict verdict;
    int pe; /* -1 only with NO_WAIT, which may name a PE that does not answer */
    char text[1024];
};

void gsh_hang_analyse(const struct gsh_hang_job *job, struct gsh_hang_cause *cause);

/* Who has not come to the call in which PE `me` waits on its host, of n PEs (NULL: of all), and
 * what they do instead: "PE 1 (in gshmem_free), PE 3 (does not wait in gshmem)". False: `me` does
 * not wait there, or they have all come. */
bool gsh_hang_word_missing(const struct gsh_hang_job *job, int me, const char *call, const int *pes,
                           int n, char *text, size_t bytes);

/* One wait in words: "gshmem_barrier_all of team 0: arrival 17 of PE 5"; it does not say who
 * waits. */
void gsh_hang_word_wait(const struct gsh_hang_wait *w, char *text, size_t bytes);
/* "does not answer: its process 4711 is stopped ..." */
void gsh_hang_word_silence(const struct gsh_hang_member *m, char *text, size_t bytes);

#endif
