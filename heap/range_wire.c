/* SPDX-License-Identifier: Apache-2.0
 * See range_wire.h. */
#include "heap/range_wire.h"

#include <string.h>
#include "base/result.h"

static const uint8_t key_magic[8] = {'g', 's', 'h', 'r', 'n', 'g', 'e', 1};

void gsh_range_mark(struct gsh_range_key *key)
{
    memcpy(key->magic, key_magic, sizeof(key_magic));
}

bool gsh_range_is_key(const void *data, size_t bytes, struct gsh_range_key *out)
{
    struct gsh_range_key key;
    if (bytes != sizeof(key)) {
        return false;
    }
    memcpy(&key, data, sizeof(key));
    *out = key;
    return memcmp(key.magic, key_magic, sizeof(key_magic)) == 0 && key.process != 0 &&
           (key.number == 0 || key.bytes > 0) && key.at <= UINT64_MAX - key.bytes;
}

bool gsh_range_is_piece(const void *data, size_t bytes, bool has_fd, uint64_t granule,
                        struct gsh_range_piece *out)
{
    struct gsh_range_piece piece;
    if (bytes != sizeof(piece)) {
        return false;
    }
    memcpy(&piece, data, sizeof(piece));
    *out = piece;
    if (piece.result != GSH_OK) {
        return piece.result < GSH_RESULT_COUNT && !has_fd;
    }
    if (piece.is_ipc == 1) {
        return piece.n_pieces == 1 && piece.bytes > 0 && piece.at == 0 && piece.has_fd == 0 &&
               !has_fd;
    }
    return piece.n_pieces > 0 && piece.n_pieces <= GSH_RANGE_MAX_PIECES && piece.bytes > 0 &&
           piece.bytes % granule == 0 && piece.at % granule == 0 &&
           piece.bytes <= (uint64_t)1 << 47 && piece.at <= (uint64_t)1 << 62 && piece.is_ipc == 0 &&
           piece.has_fd <= 1 && (piece.has_fd == 1 || !has_fd);
}
