/* SPDX-License-Identifier: Apache-2.0
 * How PEs agree on a collective step: every PE votes with its arguments and the outcome of its own
 * part; all get the same result. If all goes well that takes one combine of 32 bytes, else up to
 * nine of 40 (voting.h). Where the bootstrap has no combine, each is an allgather. */
#ifndef GSH_AGREE_H
#define GSH_AGREE_H

#include <stdint.h>
#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/vote.h"

/* Among the ranks of a bootstrap. */
struct gsh_agreement {
    struct gsh_bootstrap *bootstrap;
    void *gathered;   /* [bootstrap->size] values, where the bootstrap has no combine; else NULL */
    const int *pes;   /* [bootstrap->size], of the ranks; NULL: ranks are PE numbers */
    const char *call; /* the call's name in messages, instead of its vote's name; or NULL */
};

/* pes and call become NULL; the caller may set them. */
GSH_CHECK_RESULT enum gsh_result gsh_agreement_init(struct gsh_agreement *a,
                                                    struct gsh_bootstrap *bootstrap);
void gsh_agreement_finish(struct gsh_agreement *a);

/* Collective: the bootstrap's combine, or the same by an allgather. */
GSH_CHECK_RESULT enum gsh_result gsh_agree_combine(struct gsh_agreement *a, void *mine,
                                                   size_t bytes,
                                                   void (*fold)(void *into, const void *from));

/* The public name of a call. */
const char *gsh_vote_name(enum gsh_vote_call call);

/* The name in messages: the agreement's call, else gsh_vote_name. */
const char *gsh_agree_name(const struct gsh_agreement *a, enum gsh_vote_call call);

/* Collective: reports a failure that all PEs have found. Rank 0 prints it before any PE returns;
 * for the others it is gsh_last_error. Returns r. Needs only the bootstrap. */
enum gsh_result gsh_agree_fail(struct gsh_agreement *a, enum gsh_result r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Collective. GSH_ERR_SYMMETRY, naming the call of rank 0 and of the first PE that differs from it,
 * unless call and args are the same on all; else the outcome of the first PE that failed (if any
 * has not merely lost another: of the first such PE), in that PE's words; else GSH_OK, with the
 * flags that all gave in *flags (unless NULL). what: what failed, for the message ("gshmem_malloc
 * of 8 bytes"); NULL: the caller tries something else, so nothing is printed. Rank 0 alone prints a
 * failure. */
GSH_CHECK_RESULT enum gsh_result gsh_agree(struct gsh_agreement *a, struct gsh_vote mine,
                                           const char *what, uint16_t *flags);

/* Collective: as gsh_agree and, if that is GSH_OK, an allgather of `bytes` bytes; in one exchange
 * unless it fails. all_out may be NULL on a rank whose vote is a failure. */
GSH_CHECK_RESULT enum gsh_result gsh_agree_gather(struct gsh_agreement *a, struct gsh_vote vote,
                                                  const char *what, const void *mine, size_t bytes,
                                                  void *all_out);

/* The most bytes of a text that gsh_agree_text compares, with its end. */
#define GSH_AGREE_TEXT_BYTES 160

/* Collective: whether all ranks give the same text, of which the first GSH_AGREE_TEXT_BYTES - 1
 * bytes count: it says which call the rank is about to make, and with what. If not, or if a rank
 * makes another call of this header, GSH_ERR_SYMMETRY on all, whose words have the texts of rank 0
 * and of the first rank that differs. They are printed only if the other call prints them. One
 * exchange if all is well; also a barrier. */
GSH_CHECK_RESULT enum gsh_result gsh_agree_text(struct gsh_agreement *a, const char *text);

/* Of a rank that cannot take part in a call that the others make, and has said why by gsh_fail:
 * asks to end the job, since they would wait for ever. Returns r. */
enum gsh_result gsh_agree_abandon(struct gsh_bootstrap *b, enum gsh_result r);

#endif
