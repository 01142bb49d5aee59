/* SPDX-License-Identifier: Apache-2.0
 * Wire between proxies: the header of a message, after which its data follow. Messages from one PE
 * to one other are carried out in the order in which they were sent. */
#ifndef GSH_MESSAGES_H
#define GSH_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

enum gsh_message_kind {
    GSH_MESSAGE_ACK,        /* only its acks */
    GSH_MESSAGE_RUNTIME,    /* of the runtime: tag, data */
    GSH_MESSAGE_NOTICE,     /* of the runtime: data, for options.notice */
    GSH_MESSAGE_AMO,        /* amo */
    GSH_MESSAGE_PUT,        /* data, to off */
    GSH_MESSAGE_PUT_SIGNAL, /* data, to off; then the word at amo.off */
    GSH_MESSAGE_IPUT,       /* strided; data are its elements without gaps */
    GSH_MESSAGE_GET,        /* bytes from off: answered by DATA */
    GSH_MESSAGE_IGET,       /* strided: answered by ELEMENTS */
    GSH_MESSAGE_VALUE,      /* to a fetching AMO: the old value */
    GSH_MESSAGE_DATA,       /* to GET */
    GSH_MESSAGE_ELEMENTS,   /* to IGET */
    /* Staging (stage.h): */
    GSH_MESSAGE_WANT,        /* bytes: of a chunk for which the sender asks a slot */
    GSH_MESSAGE_GRANT,       /* staged: a slot for the oldest such chunk; with the first one, data:
                              * the key of the region, which has `at` bytes */
    GSH_MESSAGE_STAGED_PUT,  /* staged: as PUT, the data are in the slot */
    GSH_MESSAGE_STAGED_DATA, /* staged: as DATA, the data are in the slot */
    GSH_MESSAGE_KINDS
};

struct gsh_message {
    uint8_t kind;
    uint8_t amo_op;     /* AMO, PUT_SIGNAL: enum gsh_amo_op */
    uint8_t word_bytes; /* AMO */
    uint8_t is_fetch;   /* AMO: answered by VALUE */
    uint32_t acks;      /* how many more of the receiver's messages have changed memory here */
    uint64_t token;     /* the asker's (outstanding.h); the answer returns it */
    uint64_t at;        /* GRANT: see there */
    uint64_t off;       /* in the receiver's heap */
    union {
        struct {
            uint64_t off, operand, cond;
        } amo;
        struct {
            uint64_t elem_bytes, nelems;
            int64_t stride; /* in elements */
        } strided;
        struct {
            uint64_t slot, bytes; /* offset in the region of the slot's owner; of the chunk, or of
                                   * the slot */
        } staged;
        uint64_t bytes;
        uint64_t tag;
        uint64_t value;
    };
};
_Static_assert(sizeof(struct gsh_message) == 56, "gsh_message is wire");

static inline bool gsh_message_changes_memory(unsigned kind)
{
    return kind == GSH_MESSAGE_AMO || kind == GSH_MESSAGE_PUT || kind == GSH_MESSAGE_PUT_SIGNAL ||
           kind == GSH_MESSAGE_IPUT || kind == GSH_MESSAGE_STAGED_PUT;
}

#endif
