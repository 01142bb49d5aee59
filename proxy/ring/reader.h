/* SPDX-License-Identifier: Apache-2.0
 * The proxy's side of one ring: takes requests out, checks and decodes them, and tells the kernels
 * which slots are free again, what is complete, and the returned values. One thread at a time. Its
 * user decides what a request means and when it is complete. */
#ifndef GSH_READER_H
#define GSH_READER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"
#include "proxy/request.h"
#include "wire/ring.h"

struct gsh_ring_reader {
    struct gsh_ring_slot *slots;
    struct gsh_ring_cpu *cpu;
    uint64_t n_slots;
    uint64_t heap_base; /* local offsets of compact requests count from here */
    int n_pes;
    enum gsh_result failure; /* a malformed request was found: nothing more is taken */
    uint64_t position;       /* of the next request; all before it are taken */
    uint64_t published;      /* the cpu_tail that kernels see */
};

/* slots and cpu are zeroed, or as the kernels and another reader left them: reading continues at
 * cpu->cpu_tail. n_slots is a power of two, at least GSH_RING_MIN_SLOTS. */
GSH_CHECK_RESULT enum gsh_result gsh_ring_reader_init(struct gsh_ring_reader *reader,
                                                      struct gsh_ring_slot *slots, uint64_t n_slots,
                                                      struct gsh_ring_cpu *cpu, void *heap_base,
                                                      int n_pes);
/* Takes the next request if there is one; *has says so. request->position is the position after it;
 * done, context, next are left alone. Publishes cpu_tail now and then, and when there is no
 * request. GSH_ERR_BUG, with a text: the entry is malformed. Offsets are not checked against the
 * heap. */
GSH_CHECK_RESULT enum gsh_result gsh_ring_reader_next(struct gsh_ring_reader *reader,
                                                      struct gsh_request *request, bool *has);
/* Takes up to max into requests[0] .. requests[*n - 1], and publishes cpu_tail. */
GSH_CHECK_RESULT enum gsh_result gsh_ring_reader_poll(struct gsh_ring_reader *reader,
                                                      struct gsh_request *requests, unsigned max,
                                                      unsigned *n);
/* Whether next() would take something, or fail: for a thread that is about to sleep. Cheap. */
bool gsh_ring_reader_is_ready(const struct gsh_ring_reader *reader);
/* The same in fewer instructions, but may be true although next() takes nothing yet. Also true if
 * something is not yet published. */
static inline bool gsh_ring_reader_may_be_ready(const struct gsh_ring_reader *reader)
{
    uint64_t position = reader->position;
    const struct gsh_ring_slot *slot = &reader->slots[position & (reader->n_slots - 1)];
    /* relaxed: next() acquires */
    uint64_t word = __atomic_load_n(&slot->word[0], __ATOMIC_RELAXED);
    return ((word ^ GSH_RING_LAP_BIT(position, reader->n_slots)) & GSH_RING_LAP) == 0 ||
           reader->published != position;
}
/* Frees the slots of what was taken: for callers that stop before next() finds nothing. */
void gsh_ring_reader_publish(struct gsh_ring_reader *reader);
/* All requests before this position are complete; never less than before. */
void gsh_ring_reader_done(struct gsh_ring_reader *reader, uint64_t position);
/* The value of a G or fetching AMO. Before done(). */
void gsh_ring_reader_reply(struct gsh_ring_reader *reader, uint64_t ticket, uint64_t value);

#endif
