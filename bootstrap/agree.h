/* SPDX-License-Identifier: Apache-2.0
 * How PEs agree on a collective step: every PE votes with what it was asked and how its own part
 * went; all come to the same result. One allgather of 24 bytes when all is well. */
#ifndef GSH_AGREE_H
#define GSH_AGREE_H

#include <stdint.h>
#include "bootstrap/bootstrap.h"
#include "runtime/base/result.h"

enum gsh_vote_call {
    GSH_VOTE_CREATE, /* args: range, internal bytes */
    GSH_VOTE_MALLOC, /* args: bytes, alignment; the next four also */
    GSH_VOTE_CALLOC,
    GSH_VOTE_ALIGN,
    GSH_VOTE_REALLOC,
    GSH_VOTE_STATICS,    /* in init: the program's globals */
    GSH_VOTE_FREE,       /* args: offset or one of GSH_VOTE_FREE_ */
    GSH_VOTE_REGISTER,   /* args: bytes, bytes behind the last boundary of a page */
    GSH_VOTE_UNREGISTER, /* args: bytes, offset */
    GSH_VOTE_FINALIZE,   /* no args */
    GSH_VOTE_STEP,       /* within one of the above; args: which, in order */
};

#define GSH_VOTE_FREE_NULL    UINT64_MAX       /* free(NULL) */
#define GSH_VOTE_FREE_FOREIGN (UINT64_MAX - 1) /* a pointer outside the heap */

struct gsh_vote {
    uint32_t call;    /* enum gsh_vote_call */
    uint16_t outcome; /* enum gsh_result of this PE's part; its words are gsh_last_error */
    uint16_t flags;
    uint64_t args[2];
};

/* Among the ranks of a bootstrap. */
struct gsh_agreement {
    struct gsh_bootstrap *bootstrap;
    struct gsh_vote *votes; /* [bootstrap->size], as last gathered */
    const int *pes;         /* [bootstrap->size], of the ranks; NULL: ranks are PE numbers */
    const char *call;       /* what messages call the call, instead of its vote's name; or NULL */
};

/* pes and call are NULL, and the caller's to set. */
GSH_CHECK_RESULT enum gsh_result gsh_agreement_init(struct gsh_agreement *a,
                                                    struct gsh_bootstrap *bootstrap);
void gsh_agreement_finish(struct gsh_agreement *a);

/* The public name of a call. */
const char *gsh_vote_name(enum gsh_vote_call call);

/* What messages call it: the agreement's call, else gsh_vote_name. */
const char *gsh_agree_name(const struct gsh_agreement *a, enum gsh_vote_call call);

/* Collective: reports a failure that all PEs have found alike. Rank 0 prints it, before any PE
 * returns; for the others it is gsh_last_error. Returns r. Needs no more than the bootstrap. */
enum gsh_result gsh_agree_fail(struct gsh_agreement *a, enum gsh_result r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Collective. GSH_ERR_SYMMETRY, naming the call of rank 0 and of the first PE that differs from it,
 * unless call and args are the same on all; else the outcome of the first PE that failed, in that
 * PE's words; else GSH_OK, with those flags in *flags (unless NULL) that all gave. what: what
 * failed, for the message ("gshmem_malloc of 8 bytes"); NULL: the caller tries something else, so
 * nothing is printed. A failure is printed by rank 0 alone. */
GSH_CHECK_RESULT enum gsh_result gsh_agree(struct gsh_agreement *a, struct gsh_vote mine,
                                           const char *what, uint16_t *flags);

#endif
