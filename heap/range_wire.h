/* SPDX-License-Identifier: Apache-2.0
 * What travels of a range: its key, by any means that the user has, and what its owner and those
 * that open it say to each other (range.h). */
#ifndef GSH_RANGE_WIRE_H
#define GSH_RANGE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keys.h"

struct gsh_range_key {
    uint8_t magic[8];
    uint64_t process; /* gsh_process_id */
    uint64_t number;  /* of the range in it; 0: only to watch the process */
    uint64_t at;      /* where it begins in its pieces */
    uint64_t bytes;
    uint8_t secret[GSH_SECRET_BYTES];
};
_Static_assert(sizeof(struct gsh_range_key) == 56, "no padding");

struct gsh_range_request {
    uint64_t number;
    uint32_t piece; /* from 0 */
    uint32_t kind;  /* of memory: 0 host, 1 CUDA */
};

struct gsh_range_piece {
    uint32_t result;   /* enum gsh_result */
    uint32_t n_pieces; /* of the range */
    uint64_t bytes, at;
    uint32_t has_fd;
    uint32_t is_ipc; /* the handle is one of range_ipc.h, and this the only piece */
    uint8_t handle[64];
};
_Static_assert(sizeof(struct gsh_range_piece) == 96, "no padding");

#define GSH_RANGE_MAX_PIECES 4096

/* Fills in the mark of a key. */
void gsh_range_mark(struct gsh_range_key *key);

/* The parsers: `bytes` bytes came from anywhere. has_fd: a descriptor came along; granule: of the
 * memory's kind. */
bool gsh_range_is_key(const void *data, size_t bytes, struct gsh_range_key *out);
bool gsh_range_is_piece(const void *data, size_t bytes, bool has_fd, uint64_t granule,
                        struct gsh_range_piece *out);

#endif
