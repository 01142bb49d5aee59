/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels and their arguments: compiled for the CPU device and, where there is
 * nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_ARGS_H
#define GSH_NCCL_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsh_state;

#if defined(__CUDACC__)
#define GSH_NCCL_ON_BOTH __host__ __device__
#else
#define GSH_NCCL_ON_BOTH
#endif

/* dest[i] = source[i] * scalar, or / scalar, for nelems elements of an ncclDataType_t. 8-bit
 * floating-point numbers become float, and float becomes dest_type; otherwise the types are the
 * same. */
struct gsh_nccl_scale {
    void *dest;
    const void *source;
    uint64_t nelems;
    uint64_t scalar;       /* its bits, in the source's type */
    const void *scalar_at; /* the same in memory, read by the kernel; or NULL */
    int32_t type, dest_type;
    int32_t is_division;
};

/* Checking builds: checks that all members of the team have the same values. words: symmetric, for
 * one rank's values and then those of all. */
enum { GSH_NCCL_CHECK_FIELDS = 6 };
struct gsh_nccl_check {
    const struct gsh_state *state;
    gshmem_team_t team;
    uint64_t *words;
    uint64_t values[GSH_NCCL_CHECK_FIELDS];
    char names[GSH_NCCL_CHECK_FIELDS][48]; /* for reports */
};

/* Sends and receives go through rings: on each rank, n_channels for each rank that sends to it, of
 * n_slots pieces. Large transfers are striped over channels, which proceed independently. A channel
 * counts pieces in 64-bit words that are never reset:
 * - arrived[s][slot], on the receiver: put by s with the data of the slot's piece. The low half is
 *   that of the piece's number + 1, the high half is the low one of its transfer's bytes: a
 * receiver that waits for another number of bytes says so, whatever the distance.
 * - freed[r], on the sender: receiver r has taken out that many pieces.
 * - sent[r], taken[s]: this rank's own counts, kept from one launch to the next.
 * Piece p lies in slot p % n_slots; the sender waits until p < freed + n_slots.
 *
 * A sender in the LSA team may offer all of a channel's part of a transfer where it lies, if that
 * is symmetric memory: as one piece, whose slot has nothing but the transfer's place in the
 * sender's heap. Then the low half of arrived[s][slot] is ~(number + 1), which no number + 1 of
 * this slot can be: they are all odd, or all even. The receiver reads the data there, and says at
 * once that it has taken the piece; the sender waits for that before its launch ends. */
struct gsh_nccl_rings {
    uint64_t *arrived;      /* symmetric, [n_channels][n_ranks][n_slots] */
    uint64_t *freed;        /* symmetric, [n_channels][n_ranks] */
    uint64_t *sent, *taken; /* own, [n_channels][n_ranks] */
    const int32_t *pe_of;   /* [n_ranks] */
    char *lines;            /* symmetric, [n_channels][n_ranks][n_slots][GSH_NCCL_LINES_BYTES] */
    char *slots;            /* symmetric, [n_channels][n_ranks][n_slots][slot_bytes] */
    uint32_t slot_bytes, n_slots; /* n_slots: a power of 2 */
    int32_t rank, n_ranks;
    uint32_t n_channels;    /* a power of 2 */
    uint32_t channel_bytes; /* a channel for so many bytes of a send or receive */
};

struct gsh_nccl_transfer {
    void *buffer;
    uint64_t bytes;
    int32_t peer;
    uint8_t is_send;
    uint8_t is_offered; /* a send to a rank of the LSA team, which may read buffer: symmetric */
    uint16_t site; /* of the call in the program (runtime/layer.h), for reports; 0: not known */
};

/* A small transfer to or from a rank of the LSA team uses lines instead of slots. A line has 16
 * bytes, cleared once; each half is 4 bytes of data and the low half of the piece's number + 1. So
 * the data have arrived when all halves have that number, in any order. Its part of a channel, at
 * most GSH_NCCL_SMALL_BYTES, counts as a piece. Of such pieces a receiver may report only every
 * second one as taken. When all pieces before piece p are taken, the sender of p knows of at least
 * p - 1 of them. n_slots is more than 2, so two pieces can always be on their way. Channel 0 has
 * one more line, the last. It has the bytes of the whole transfer that begins with the piece, small
 * or not: a receiver that waits for another number reports that. */
enum {
    GSH_NCCL_SMALL_BYTES = 2 << 10,
    GSH_NCCL_LENGTH_LINE = GSH_NCCL_SMALL_BYTES / 8,
    GSH_NCCL_LINES_BYTES = 2 * GSH_NCCL_SMALL_BYTES + 128,
};

enum { GSH_NCCL_MAX_CHANNELS = 32 };

/* How a transfer is sent: the same on both sides. */
static inline GSH_NCCL_ON_BOTH int gsh_nccl_has_lines(const struct gsh_nccl_rings *r, int is_in_lsa,
                                                      uint64_t bytes)
{
    return is_in_lsa && bytes <= (uint64_t)r->n_channels * GSH_NCCL_SMALL_BYTES;
}

/* The number of channels that it takes, as a power of 2. */
static inline GSH_NCCL_ON_BOTH uint32_t gsh_nccl_channels_shift(const struct gsh_nccl_rings *r,
                                                                int is_in_lsa, uint64_t bytes)
{
    const uint64_t each =
        gsh_nccl_has_lines(r, is_in_lsa, bytes) ? (uint64_t)GSH_NCCL_SMALL_BYTES : r->channel_bytes;
    uint32_t shift = 0;
    while (r->n_channels >> shift > 1 && each << shift < bytes)
        shift++;
    return shift;
}

/* What a launch says of all its transfers. */
struct gsh_nccl_transfers_head {
    const struct gsh_state *state;
    struct gsh_nccl_rings rings;
    int64_t lsa_stride; /* bytes from one rank's memory to the next one's, in the LSA team */
    int32_t lsa_first, lsa_size; /* its ranks */
    uint32_t n_channels;         /* that the largest of those in rows takes */
    uint32_t n_rows;
    uint32_t n_own; /* pairs of a send of this rank to itself and its receive */
    uint32_t reserved;
};

/* Those with the same peer and direction lie in a row, in their order; in the host's memory. Those
 * of this rank to itself are copies, and need no rings: behind the rows lie their n_own receives,
 * then the sends of these, of as many bytes each. */
struct gsh_nccl_transfers {
    struct gsh_nccl_transfers_head head;
    const uint32_t *row_begin; /* [n_rows + 1]; row i: transfers row_begin[i] .. [i + 1] */
    const struct gsh_nccl_transfer *transfers;
    void *memory; /* the device's, of transfer_memory() bytes: the launch's own until its end */
};

/* A device's launches. They return 0 or an error of CUDA's. */
struct gsh_nccl_kernels {
    /* What its rings have at most; powers of 2. */
    struct {
        uint32_t n_channels, channel_bytes;
        uint32_t offered_bytes; /* sends of so many bytes are better offered than copied */
    } rings;
    /* Loads all of them. Where CUDA loads lazily, it does so only when no kernel runs; but a
     * running kernel may wait for a rank that has yet to launch one. Returns 0 or CUDA's error. */
    int (*prepare)(void);
    int (*scale)(const struct gsh_nccl_scale *args, gshmemx_stream_t stream);
    /* All transfers of a launch proceed at the same time, however many there are. If the arguments
     * of one kernel cannot hold them, they lie in memory. 0: the arguments hold them. */
    size_t (*transfer_memory)(const struct gsh_nccl_transfers *args);
    int (*transfer)(const struct gsh_nccl_transfers *args, gshmemx_stream_t stream);
    int (*compare)(const struct gsh_nccl_check *args, gshmemx_stream_t stream);
};
extern const struct gsh_nccl_kernels gsh_nccl_kernels_cpu;
extern const struct gsh_nccl_kernels gsh_nccl_kernels_cuda;

#ifdef __cplusplus
}
#endif

#endif
