/* SPDX-License-Identifier: Apache-2.0
 * This dialect's own kernels and their arguments: compiled for the CPU device and, where there is
 * nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_KERNELS_H
#define GSH_NCCL_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsh_state;

/* dest[i] = source[i] * scalar, or / scalar, of nelems elements of an ncclDataType_t. 8-bit
 * floating-point numbers become float, and float becomes what dest_type says; else the types are
 * the same. */
struct gsh_nccl_scale {
    void *dest;
    const void *source;
    uint64_t nelems;
    uint64_t scalar; /* its bits, of the source's type */
    int32_t type, dest_type;
    int32_t is_division;
};

/* Sends and receives go through rings: on each rank n_channels for each that sends to it, of
 * n_slots pieces. What is large is striped over channels, which proceed by themselves. Counters of
 * pieces of a channel, 64 bits, never reset: arrived[s]  on the receiver: put by s with the data of
 * its piece freed[r]    on the sender: receiver r has taken so many pieces out sent[r], taken[s]:
 * own counts, kept from one launch to the next A piece p lies in slot p % n_slots; the sender waits
 * until p < freed + n_slots. */
struct gsh_nccl_rings {
    uint64_t *arrived, *freed; /* symmetric, [n_channels][n_ranks] */
    uint64_t *sent, *taken;    /* own, [n_channels][n_ranks] */
    const int32_t *pe_of;      /* [n_ranks] */
    char *slots;               /* symmetric, [n_channels][n_ranks][n_slots][slot_bytes] */
    uint32_t slot_bytes, n_slots;
    int32_t rank, n_ranks;
    uint32_t n_channels, reserved;
};

struct gsh_nccl_transfer {
    void *buffer;
    uint64_t bytes;
    int32_t peer;
    int32_t is_send;
};

/* A channel for so many bytes of a send or receive: the same on both sides. */
enum { GSH_NCCL_CHANNEL_BYTES = 64 << 10, GSH_NCCL_MAX_CHANNELS = 16 };

/* The most in one launch: a kernel's arguments have 4 KiB. */
enum { GSH_NCCL_MAX_TRANSFERS = 144 };

/* Those with the same peer and direction lie in a row, in their order. */
struct gsh_nccl_transfers {
    const struct gsh_state *state;
    struct gsh_nccl_rings rings;
    uint32_t n_channels; /* that the largest of them takes */
    uint32_t n_rows;
    uint8_t row_begin[GSH_NCCL_MAX_TRANSFERS + 1]; /* row i: transfers row_begin[i] .. [i + 1] */
    struct gsh_nccl_transfer transfers[GSH_NCCL_MAX_TRANSFERS];
};

/* A device's launches. They return 0 or an error of CUDA's. */
struct gsh_nccl_kernels {
    int (*scale)(const struct gsh_nccl_scale *args, gshmemx_stream_t stream);
    int (*transfer)(const struct gsh_nccl_transfers *args, gshmemx_stream_t stream);
};
extern const struct gsh_nccl_kernels gsh_nccl_kernels_cpu;
extern const struct gsh_nccl_kernels gsh_nccl_kernels_cuda;

#ifdef __cplusplus
}
#endif

#endif
