/* SPDX-License-Identifier: Apache-2.0
 * The symmetric heap of one PE: collective malloc and free over the offset allocator, a memory
 * kind, and the mapping of peers. One thread at a time makes collective calls; queries may come
 * from any thread at the same time. All offsets count from a PE's heap base and are the same on all
 * PEs. Knows nothing of the proxy, teams or the public API. */
#ifndef GSH_HEAP_H
#define GSH_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/cuda.h"
#include "bootstrap/agree.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/fdpass.h"

struct gsh_heap;

enum gsh_memory_kind { GSH_MEMORY_HOST, GSH_MEMORY_CUDA };

/* The PEs that have a part of memory. */
struct gsh_heap_members {
    struct gsh_bootstrap *bootstrap; /* over them; usable only in `came` */
    const int *pes;                  /* [n], by the bootstrap's ranks; NULL: all PEs */
    int n;
};

/* The PE that has this rank among them. */
static inline int gsh_heap_member_pe(const struct gsh_heap_members *members, int rank)
{
    return members->pes != NULL ? members->pes[rank] : rank;
}

/* What all members have come to, the same on all. */
enum gsh_heap_told {
    GSH_HEAP_ALL_WELL,    /* need no vote */
    GSH_HEAP_SOME_FAILED, /* a vote tells which */
    GSH_HEAP_OVER, /* a PE had failed before it had a heap, and all have voted on that: what `came`
                      returns is the result, and nothing else is tried */
};

/* A subscriber to changes of this PE's own physical memory: parts by which the heap grows and
 * shrinks, each adjacent to the last, and memory that the program registers, which is separate.
 * Subscribers hear of added memory in order, and of removal in reverse order. */
struct gsh_heap_events {
    /* [off, off + bytes) has come, at address `memory`. All members are told in step, so their
     * bootstrap may be used. If it fails on any of them the memory is removed again on all, and
     * later subscribers never hear of it. Records the text of its failure. prior: not GSH_OK if
     * this member has failed before, of which the others do not know: it only takes part in what is
     * collective, tells the others there, and returns prior. */
    enum gsh_result (*came)(void *context, void *memory, uint64_t off, uint64_t bytes,
                            enum gsh_result prior, const struct gsh_heap_members *members);
    /* The memory that came at off is about to go; no PE uses it. Called for all memory for which
     * `came` returned GSH_OK; of the heap's own parts, the latest first. Not collective. */
    void (*goes)(void *context, uint64_t off, const struct gsh_heap_members *members);
    /* NULL, or what all members know of the latest `came`, in which they have exchanged prior and
     * the outcomes of this subscriber's own part. Not collective. What this subscriber does behind
     * its exchange, if all are well, cannot fail. Of the first subscriber alone. */
    enum gsh_heap_told (*told)(void *context);
    /* NULL, or: `came` has returned GSH_OK on all members. They are all told. */
    void (*settled)(void *context, uint64_t off, const struct gsh_heap_members *members);
    void *context;
};

#define GSH_HEAP_SUBSCRIBERS_MAX 4

/* With more slots than this the library's own part of a heap, which grows with their number, gets
 * its pages at the first touch, where the kind of memory can: most are never touched. Heaps of
 * several processes are then one file (peer.h), where it can. */
#define GSH_HEAP_MANY_SLOTS 64

struct gsh_heap_options {
    struct gsh_bootstrap *bootstrap; /* over all PEs; used by every collective call */
    /* Over the PEs of this node, with which alone memory is shared: these agree first, so that a
     * step among all PEs needs no step before it. All PEs then have the same stride_bytes and
     * internal_bytes. NULL: they have no bootstrap of their own. */
    struct gsh_bootstrap *node;
    /* Over all PEs, for the heap's first part: those that have failed before can be met there, too.
     * NULL: nobody has, so it is `bootstrap`. */
    struct gsh_bootstrap *first;
    struct gsh_fdpass *fdpass; /* to the PEs of this node; NULL when all are in one process */
    enum gsh_memory_kind kind;
    CUdevice cuda_device;  /* GSH_MEMORY_CUDA; its primary context is current in every call */
    bool fabric;           /* share GPU memory by FABRIC handles instead of descriptors */
    uint64_t stride_bytes; /* range of each slot, the same on all PEs; a multiple of 2 MiB */
    int n_slots, my_slot;
    const int *pe_of_slot;       /* [n_slots]; copied */
    const bool *is_same_process; /* [n_slots]: that PE is a thread of this process; copied */
    /* The most that free keeps of the whole 2 MiB units after the last allocation, in whole chunks;
     * the same on all PEs. */
    uint64_t keep_bytes;
    uint64_t internal_bytes; /* first bytes of the heap: the library's, committed and zeroed */
    /* Committed at the start, if there is memory: what internal_bytes leave of them is for the
     * first allocations. The same on all PEs. */
    uint64_t first_bytes;
    /* The least that a growth commits, if there is memory; the same on all PEs. */
    uint64_t room_bytes;
    /* From this size on, several times 2 MiB, a heap's first chunk is slow to make. Until the heap
     * has one, growths are split into smaller chunks, unless that would be too many. 0: all sizes
     * cost the same. The same on all PEs. */
    uint64_t large_bytes;
    /* The same number on all PEs, with the same kinds in the same order. */
    int n_subscribers;
    struct gsh_heap_events subscribers[GSH_HEAP_SUBSCRIBERS_MAX];
};

/* Not collective: memory for a heap in a job of n_pes PEs, so that gsh_heap_create does not fail
 * before it can tell others. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_allocate(int n_pes, struct gsh_heap **out);
/* Collective. *out: what gsh_heap_allocate has made, or NULL. Same-process PEs share one address
 * range, so that each PE's memory has one address in the process. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_create(const struct gsh_heap_options *options,
                                                 struct gsh_heap **out);
/* Not collective, but no PE may touch this PE's memory any more. Accepts a half-built heap. */
void gsh_heap_destroy(struct gsh_heap **heap);

uint64_t gsh_heap_base(const struct gsh_heap *heap); /* own slot's address */
uint64_t gsh_heap_stride(const struct gsh_heap *heap);
/* Whether [ptr, ptr + bytes) lies in this PE's own slot. */
bool gsh_heap_contains(const struct gsh_heap *heap, const void *ptr, uint64_t bytes);
/* Whether it is in one live allocation (or the internal part, or registered memory); true for 0
 * bytes. */
bool gsh_heap_is_allocated(struct gsh_heap *heap, const void *ptr, uint64_t bytes);
/* The same, and all PEs have the memory. */
bool gsh_heap_is_symmetric(struct gsh_heap *heap, const void *ptr, uint64_t bytes);

/* The size of the live allocation that starts at ptr; 0: there is none. */
uint64_t gsh_heap_size_of(struct gsh_heap *heap, const void *ptr);

/* The public calls that allocate; the PEs tell each other which one it is. */
enum gsh_heap_call {
    GSH_HEAP_MALLOC,
    GSH_HEAP_CALLOC,
    GSH_HEAP_ALIGN,
    GSH_HEAP_REALLOC,
    GSH_HEAP_STATICS
};

/* Collective. All PEs get the same result; on any failure the heap is as it was. Different calls,
 * sizes or alignments: GSH_ERR_SYMMETRY naming two PEs and what they ask for; bad alignment:
 * GSH_ERR_ARG; a failure of one PE: that PE's result, naming it. align is any power of two that
 * divides the stride; 0 is the default, 512, except for GSH_HEAP_ALIGN, where it is an error. PE 0
 * prints a failure, and it is the last error of all. 0 bytes is not a failure: *out stays
 * unchanged. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_alloc(struct gsh_heap *heap, enum gsh_heap_call call,
                                                uint64_t bytes, uint64_t align, void **out);
/* Collective. GSH_ERR_ARG when ptr is not a live allocation, GSH_ERR_SYMMETRY when PEs free
 * different ones or make another call; NULL on all PEs does nothing. Nothing happens until all PEs
 * have called it; on return no PE uses the block any more. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_free(struct gsh_heap *heap, void *ptr);

/* Collective: the program's memory becomes symmetric, at *out and without a copy; its own addresses
 * stay valid. Different sizes, or different offsets in a page: GSH_ERR_SYMMETRY. On any failure,
 * reported as in gsh_heap_alloc, nothing has changed. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_register(struct gsh_heap *heap, void *ptr, uint64_t bytes,
                                                   void **out);
/* Collective: undoes a registration of this address and size; if there is none, GSH_ERR_ARG. On
 * return no PE uses the memory any more. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_unregister(struct gsh_heap *heap, void *ptr,
                                                     uint64_t bytes);
/* The same among some PEs: collective over the ranks of the agreement. Others do not learn of it.
 * unregister: among the same PEs as register, else GSH_ERR_ARG. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_register_among(struct gsh_heap *heap,
                                                         struct gsh_agreement *group, void *ptr,
                                                         uint64_t bytes, void **out);
GSH_CHECK_RESULT enum gsh_result gsh_heap_unregister_among(struct gsh_heap *heap,
                                                           struct gsh_agreement *group, void *ptr,
                                                           uint64_t bytes);

/* Collective: all PEs are about to finalize, else GSH_ERR_SYMMETRY. Also a barrier. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_leave(struct gsh_heap *heap);

/* Zeroes part of the own heap; not collective, done on return. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_zero(struct gsh_heap *heap, void *ptr, uint64_t bytes);

/* The offset of the next touched page from offset `off` of the own heap on, as far as known;
 * UINT64_MAX: none. */
uint64_t gsh_heap_next_data(const struct gsh_heap *heap, uint64_t off);

/* In bytes, as gshmemx_heap_info_t: used and high_water count the user's memory, overhead the
 * library's own part. */
struct gsh_heap_stats {
    uint64_t range, committed, used, largest_free, high_water, overhead;
};
void gsh_heap_stats_get(struct gsh_heap *heap, struct gsh_heap_stats *out);

/* The user's live allocations, then registered memory, in order of offset, for the device's checks:
 * writes at most max to out (as pairs offset, bytes); returns how many there are. */
struct gsh_alloc_range;
uint64_t gsh_heap_allocations(struct gsh_heap *heap, struct gsh_alloc_range *out, uint64_t max);

#endif
