/* SPDX-License-Identifier: Apache-2.0
 * One kind of memory behind the heap, as a table of functions: host memory (memfd), and CUDA
 * virtual memory. A kind reserves addresses, puts physical memory behind them chunk by chunk, and
 * maps what another process shares. It knows nothing of PEs, collectives or allocations.
 *
 * All functions that can fail report it by gsh_note and undo what they did; once all PEs have
 * agreed on the failure, the heap prints it once for all. */
#ifndef GSH_MEMORY_H
#define GSH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"
#include "heap/heap.h"

/* Physical memory comes in multiples of this: the granularity of CUDA's virtual memory. */
#define GSH_MEMORY_CHUNK ((uint64_t)2 << 20)

/* Part of a range: [off, off + bytes), multiples of GSH_MEMORY_CHUNK. */
struct gsh_chunk {
    uint64_t off, bytes;
};

/* Reserved addresses. base is aligned as requested if the system has room for that, else to
 * GSH_MEMORY_CHUNK. */
struct gsh_reservation {
    uint64_t base, bytes, align;
    uint64_t raw, raw_bytes; /* the system's reservation */
};

/* What another process needs to map a chunk. */
enum gsh_share_kind {
    GSH_SHARE_NOTHING, /* it already has it */
    GSH_SHARE_FD,      /* a descriptor, to be passed over a socket */
    GSH_SHARE_BYTES,   /* plain bytes, valid also across nodes */
};

struct gsh_share {
    int fd;            /* -1: none */
    uint8_t bytes[64]; /* a CUDA FABRIC handle */
};

/* A piece of memory that a program has registered with a heap; other processes can map each by
 * itself. */
struct gsh_piece {
    uint64_t bytes;
    uint64_t at;     /* host memory: where it begins in its file */
    uint64_t handle; /* by kind: a descriptor, or a CUDA handle */
};

/* The pieces found to contain the program's memory: [start, start + bytes), one after the other. */
struct gsh_registration {
    uint64_t start, bytes;
    struct gsh_piece *pieces;
    int n_pieces;
    size_t pieces_room;
    bool is_open;  /* the handles are held */
    bool is_moved; /* host memory: was private, and is now in a file with that inode */
    uint64_t inode;
};

struct gsh_memory_options {
    int n_slots;
    const int *file;     /* host: one for all slots, open from the first commit on; NULL: its own */
    uint64_t file_off;   /* where this one's part of it begins */
    uint64_t file_bytes; /* of that part */
    uint64_t lazy_bytes; /* the first bytes, which get memory at the first touch */
    bool is_shared;      /* other processes will map this memory */
    bool is_registrable; /* it is not a heap's, but can be registered with a heap */
    bool fabric;         /* CUDA: share by FABRIC handles */
    bool any_handle;     /* CUDA: by descriptors, and also by FABRIC handles if possible */
    CUdevice cuda_device;         /* CUDA: where the memory lies */
    const CUdevice *cuda_devices; /* CUDA: devices that may access the range; kept by the caller */
    int n_cuda_devices;
};

/* One PE's memory; each kind's own struct begins with it. */
struct gsh_memory {
    const struct gsh_memory_ops *ops;
};

struct gsh_memory_ops {
    const char *name;

    /* Independent of any PE's memory. */
    enum gsh_result (*reserve)(uint64_t bytes, uint64_t align, struct gsh_reservation *out);
    void (*unreserve)(struct gsh_reservation *reservation); /* all of it unmapped; accepts zeros */
    /* Unmaps what commit or accept mapped at [addr, addr + bytes), one whole chunk. */
    void (*unmap)(uint64_t addr, uint64_t bytes);

    enum gsh_result (*create)(const struct gsh_memory_options *options, struct gsh_memory **out);
    void (*destroy)(struct gsh_memory **memory); /* all chunks unmapped */

    /* One file for the memory of many processes: make gives one that can no longer change its size;
     * map shows a part of it, [off, off + bytes), at addr, after checking that it has that.
     * Optional: for host memory. */
    enum gsh_result (*make_file)(uint64_t bytes, int *fd);
    enum gsh_result (*map_file)(int fd, uint64_t addr, uint64_t off, uint64_t bytes);

    /* Fails if `bytes` more would exceed what the system has, for kinds where committing does not
     * fail in time. Optional. */
    enum gsh_result (*admit)(const struct gsh_memory *memory, uint64_t bytes);
    /* New physical memory for own chunk `chunk`, mapped at addr, readable and writable. Chunks
     * follow one another without gaps. */
    enum gsh_result (*commit)(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk);
    /* The last chunks, from offset `off` on, unmapped everywhere, go back to the system. */
    void (*release)(struct gsh_memory *memory, uint64_t off);
    bool is_born_zero; /* what commit makes is zeros */
    enum gsh_result (*zero)(struct gsh_memory *memory, uint64_t addr, uint64_t bytes);
    /* The offset of the next touched page, from `off` on; UINT64_MAX: there is none. Optional. */
    uint64_t (*next_data)(const struct gsh_memory *memory, uint64_t off);
    /* The descriptor of the file that holds all of it, which the memory owns. Optional: for host
     * memory. */
    int (*fd)(const struct gsh_memory *memory);

    /* How the own chunk at `off` is shared; the same on all PEs. */
    enum gsh_share_kind (*share_kind)(const struct gsh_memory *memory, uint64_t off);
    /* Fills *out, whose fd the caller closes. */
    enum gsh_result (*share)(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk,
                             struct gsh_share *out);
    /* Maps another process's chunk, that of slot `slot`, at addr. share stays the caller's; ignored
     * for GSH_SHARE_NOTHING. */
    enum gsh_result (*accept)(struct gsh_memory *memory, int slot, uint64_t addr,
                              struct gsh_chunk chunk, const struct gsh_share *share);

    /* ---- memory that the program has by other means, and that the heap also maps ---- */

    uint64_t (*granule)(void); /* pieces begin and end at multiples of it */
    /* Finds what [addr, addr + bytes) lies in, and makes it mappable by others. Its addresses stay
     * valid, and its contents unchanged. */
    enum gsh_result (*register_range)(struct gsh_memory *memory, uint64_t addr, uint64_t bytes,
                                      struct gsh_registration *out);
    /* Gives the memory back to the program, if the program still has it; no mapping of it may be
     * left. Accepts a registration of zeros. */
    void (*give_back)(struct gsh_memory *memory, struct gsh_registration *registration);
    /* All have mapped it: releases the handles. */
    void (*settle)(struct gsh_registration *registration);
    /* These map a piece, readable and writable, at addr; share it like a chunk; map another
     * process's, given its bytes and at. */
    enum gsh_result (*attach)(struct gsh_memory *memory, uint64_t addr,
                              const struct gsh_piece *piece);
    enum gsh_result (*share_piece)(struct gsh_memory *memory, const struct gsh_piece *piece,
                                   struct gsh_share *out);
    enum gsh_result (*accept_piece)(struct gsh_memory *memory, int slot, uint64_t addr,
                                    const struct gsh_piece *piece, const struct gsh_share *share);
};

/* Host memory's, of registered_host.c. */
GSH_CHECK_RESULT enum gsh_result gsh_host_register_range(struct gsh_memory *memory, uint64_t addr,
                                                         uint64_t bytes,
                                                         struct gsh_registration *out);
/* The same without a heap: also memory of a heap, which stays as it is. */
GSH_CHECK_RESULT enum gsh_result gsh_host_share_range(uint64_t addr, uint64_t bytes,
                                                      struct gsh_registration *out);
void gsh_host_give_back(struct gsh_memory *memory, struct gsh_registration *registration);
/* Whether a file that another process gave has these bytes, so that they can be mapped: an access
 * beyond its end would kill this process. */
bool gsh_host_holds(int fd, uint64_t off, uint64_t bytes);
void gsh_host_settle(struct gsh_registration *registration);
GSH_CHECK_RESULT enum gsh_result gsh_host_attach(struct gsh_memory *memory, uint64_t addr,
                                                 const struct gsh_piece *piece);
GSH_CHECK_RESULT enum gsh_result gsh_host_share_piece(struct gsh_memory *memory,
                                                      const struct gsh_piece *piece,
                                                      struct gsh_share *out);
GSH_CHECK_RESULT enum gsh_result gsh_host_accept_piece(struct gsh_memory *memory, int slot,
                                                       uint64_t addr, const struct gsh_piece *piece,
                                                       const struct gsh_share *share);

extern const struct gsh_memory_ops gsh_memory_host;
/* NULL when built without CUDA. */
extern const struct gsh_memory_ops *const gsh_memory_cuda;

#endif
