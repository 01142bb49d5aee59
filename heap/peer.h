/* SPDX-License-Identifier: Apache-2.0
 * Where peers' memory appears: a range of n_slots * stride addresses, one for all PEs of a
 * process, and the mapping of other processes' chunks into it. In each process the PE with the
 * lowest number, its leader, does what is needed once per process; the PEs of one process need no
 * mapping for each other.
 *
 * With many slots and several processes, and a kind of memory that can, all heaps are one file: the
 * leader with the lowest number makes it, n_slots * stride bytes without memory, and passes it to
 * the other leaders; each maps it once. A heap grows by filling its part, and the others see that
 * without doing anything. Own slots still show only what is committed; in the others an address
 * beyond that has memory as soon as it is touched. */
#ifndef GSH_PEER_H
#define GSH_PEER_H

#include "heap/memory.h"

/* What a PE says about a piece of memory that it registers. */
struct gsh_piece_wire {
    uint64_t bytes;    /* 0: it has no such piece */
    uint64_t at;       /* as in gsh_piece */
    uint64_t off;      /* from its heap base */
    uint8_t share[64]; /* gsh_share's bytes */
};

/* What a PE shares by bytes. */
struct gsh_share_wire {
    int32_t pe;
    struct gsh_share share;
};

/* A foreign PE's piece of registered memory, mapped here. */
struct gsh_peer_piece {
    uint64_t addr, bytes;
};

/* Some PEs, including this one, for mapping. In each process the member with the lowest number, the
 * group's leader there, maps the others' pieces. */
struct gsh_peer_group {
    struct gsh_bootstrap *bootstrap;               /* over them */
    int n_foreign;                                 /* of other processes, with a slot here */
    int *foreign_pe, *foreign_slot, *foreign_rank; /* [n_foreign] */
    bool is_leader;
    uint64_t tag; /* of the latest exchange of descriptors: the same on all members */
    struct gsh_peer_piece *pieces; /* what this PE has mapped */
    int n_pieces;
};

/* Shared by the PEs of one process. Only the leader changes it, except refs; the last PE to leave
 * destroys it. */
struct gsh_space {
    const struct gsh_memory_ops *ops;
    struct gsh_reservation range;
    uint64_t stride;
    int n_slots;
    int *pe_of_slot;          /* [n_slots] */
    bool *is_foreign;         /* [n_slots]: of another process */
    struct gsh_chunk *chunks; /* mapped in every foreign slot */
    int n_chunks;
    size_t chunks_room;
    int file; /* of all slots; -1: each PE has its own */
    int refs; /* atomic */
};

/* One PE's view. */
struct gsh_peers {
    struct gsh_bootstrap *bootstrap;
    struct gsh_bootstrap *sharers; /* over those that map each other's memory, and perhaps others */
    struct gsh_fdpass *fdpass;
    struct gsh_space *space;
    int my_slot, leader_pe, n_members; /* members: the PEs of this process, this one included */
    bool is_leader;
    bool is_one_file;
    int n_foreign;
    int *foreign_pe, *foreign_slot; /* [n_foreign] */
    int *fds;                       /* [n_foreign], during an exchange */
    struct gsh_share mine;          /* of the chunk in the making */
    struct gsh_share *gathered;     /* [n_pes], what foreign PEs last shared */
    struct gsh_share_wire *told;    /* [sharers' size], if they share by bytes */
    struct gsh_piece_wire *wires;   /* [n_pes], what they last said of pieces, or NULL */
    CUdevice *devices;              /* of the members, each once */
    int n_devices;
    uint64_t tag; /* of descriptor exchanges: counts calls of map, so it is the same on all PEs */
    uint64_t group_tag; /* the highest that this PE has used in a group */
};

/* Fills *peers from checked options. finish accepts a half-filled one, and leaves the space. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_init(struct gsh_peers *peers,
                                                const struct gsh_heap_options *options);
void gsh_peers_finish(struct gsh_peers *peers);

/* The leader makes the space, which no one else knows until it publishes the pointer. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_reserve(struct gsh_peers *peers,
                                                   const struct gsh_memory_ops *ops,
                                                   const struct gsh_heap_options *options);
/* What the leader tells the members; from here on each of them must join, or the space leaks. 0 on
 * other PEs. */
uint64_t gsh_peers_publish(struct gsh_peers *peers);
/* The others did not get it: no PE joins. */
void gsh_peers_withdraw(struct gsh_peers *peers);
/* A member joins the space its leader published. GSH_ERR_ARG if its options name other slots. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_join(struct gsh_peers *peers, uint64_t published,
                                                const struct gsh_heap_options *options);

/* Collective over the leaders, if is_one_file: makes, passes and maps the file. is_leader tells
 * it by PE number. The others wait for it before they commit memory. */
GSH_CHECK_RESULT enum gsh_result
gsh_peers_share_file(struct gsh_peers *peers, bool (*is_leader)(const void *context, int pe),
                     const void *context);

/* The address of slot's byte at off. */
uint64_t gsh_peers_address(const struct gsh_peers *peers, int slot, uint64_t off);

/* Not collective: makes what the others need to map this PE's chunk, for map; or drops it again. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_share(struct gsh_peers *peers, struct gsh_memory *memory,
                                                 struct gsh_chunk chunk);
void gsh_peers_unshare(struct gsh_peers *peers);
/* Collective over the sharers, after all have shared their chunk at this place: exchanges what they
 * share, drops it, and maps the foreign chunks. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_map(struct gsh_peers *peers, struct gsh_memory *memory,
                                               struct gsh_chunk chunk);
/* Not collective: removes the foreign mappings of the last chunk. */
void gsh_peers_unmap(struct gsh_peers *peers, struct gsh_chunk chunk);

/* ---- registered memory, among some PEs ---- */

/* Not collective. pes: of the bootstrap's ranks; NULL: ranks are PE numbers. finish unmaps what is
 * left; accepts all zeros. */
GSH_CHECK_RESULT enum gsh_result gsh_peer_group_init(struct gsh_peers *peers,
                                                     struct gsh_bootstrap *bootstrap,
                                                     const int *pes, struct gsh_peer_group *out);
void gsh_peer_group_finish(const struct gsh_peers *peers, struct gsh_peer_group *group);
/* Not collective, once: makes room for n pieces of each foreign member, so that noting them later
 * cannot fail. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_prepare_pieces(struct gsh_peer_group *group, int n);
/* Collective over the group: maps a piece of each foreign member that has one. piece NULL: this PE
 * has none; else its own lies at piece_off. */
GSH_CHECK_RESULT enum gsh_result gsh_peers_map_piece(struct gsh_peers *peers,
                                                     struct gsh_memory *memory,
                                                     struct gsh_peer_group *group,
                                                     const struct gsh_piece *piece,
                                                     uint64_t piece_off);
/* Not collective: unmaps all pieces. */
void gsh_peers_unmap_pieces(const struct gsh_peers *peers, struct gsh_peer_group *group);

#endif
