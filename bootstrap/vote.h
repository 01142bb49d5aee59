/* SPDX-License-Identifier: Apache-2.0
 * What a PE says in a vote (agree.h). */
#ifndef GSH_BOOTSTRAP_VOTE_H
#define GSH_BOOTSTRAP_VOTE_H

#include <stdint.h>

enum gsh_vote_call {
    GSH_VOTE_CREATE, /* args: range, internal bytes */
    GSH_VOTE_MALLOC, /* args: bytes, alignment; the next four also */
    GSH_VOTE_CALLOC,
    GSH_VOTE_ALIGN,
    GSH_VOTE_REALLOC,
    GSH_VOTE_STATICS,    /* in init: the program's globals */
    GSH_VOTE_FREE,       /* args: offset or one of GSH_VOTE_FREE_ */
    GSH_VOTE_REGISTER,   /* args: bytes, bytes after the last page boundary */
    GSH_VOTE_UNREGISTER, /* args: bytes, offset */
    GSH_VOTE_FINALIZE,   /* no args */
    GSH_VOTE_STEP,       /* within one of the above; args: which, in order */
    GSH_VOTE_TEXT,       /* gsh_agree_text; args: of its text */
};

#define GSH_VOTE_FREE_NULL    UINT64_MAX       /* free(NULL) */
#define GSH_VOTE_FREE_FOREIGN (UINT64_MAX - 1) /* a pointer outside the heap */

/* A flag of every call: this PE has printed why its part failed, so that nobody else need. */
#define GSH_VOTE_IS_SAID 0x8000u

struct gsh_vote {
    uint32_t call;    /* enum gsh_vote_call */
    uint16_t outcome; /* enum gsh_result of this PE's part; its text is gsh_last_error */
    uint16_t flags;   /* of the call, and the one above */
    uint64_t args[2];
};

#endif
