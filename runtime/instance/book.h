/* SPDX-License-Identifier: Apache-2.0
 * What all PEs have told of themselves, for those who ask later: a blob of each PE, in parts by
 * number (a PE's address on the network; its key of a region of the heap). A PE talks to few
 * others, so the blobs lie once for a node, in memory that its PEs share, and each PE looks up
 * those that it needs.
 *
 * Every PE has all blobs of a part when it adds the part, and keeps them until all PEs of the node
 * have added it; then it settles the part. One PE of the node, the writer, also copies them to the
 * shared memory. What the others keep from then on are checksums, one for each GSH_BOOK_GROUP
 * blobs, under a key that never leaves the PE. Whoever looks a blob up copies its group, and takes
 * it from the copy if the checksum is right. So what another process has written there is noticed,
 * and never used.
 *
 * All PEs of the node add and remove the same parts in the same order, so that they find the same
 * places without asking each other. Between a part's last use on any of them and the next addition
 * they meet in a collective call. A part for which the shared memory has no room lies in each PE's
 * own. */
#ifndef GSH_BOOK_H
#define GSH_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"
#include "base/util.h"

struct gsh_book;

#define GSH_BOOK_GROUP 16
/* Shared memory for each PE of the job, if there is any: in a file without pages until they are
 * written. */
#define GSH_BOOK_PE_BYTES 2048

/* A part's blobs: that of PE i is at blobs + i * blob_stride, and its length, a uint32_t, at
 * lengths + i * length_stride. */
struct gsh_book_source {
    const void *blobs, *lengths;
    size_t blob_stride, length_stride;
};

/* shared: `room` bytes, zeroed before their first use, a multiple of 64, kept by the caller; NULL:
 * none. Noted, not logged, as all failures here. */
GSH_CHECK_RESULT enum gsh_result gsh_book_create(void *shared, uint64_t room, bool is_writer,
                                                 int n_pes, struct gsh_book **out);
/* Accepts NULL. No other call is under way. */
void gsh_book_destroy(struct gsh_book **book);

/* A part with this number, which is new. After a failure it counts as added, too, for the places of
 * others: the caller removes it. This and the next two may be called while another thread looks
 * up. */
GSH_CHECK_RESULT enum gsh_result gsh_book_add(struct gsh_book *book, uint64_t number,
                                              const struct gsh_book_source *from);
/* All PEs of the node have added it. These two accept a number without a part. */
void gsh_book_settle(struct gsh_book *book, uint64_t number);
void gsh_book_remove(struct gsh_book *book, uint64_t number);

/* The blob of pe, valid until the next call of this, which one thread makes at a time. GSH_ERR_BUG:
 * it is not what was added, or there is no such part. */
GSH_CHECK_RESULT enum gsh_result gsh_book_look_up(struct gsh_book *book, uint64_t number, int pe,
                                                  const void **blob, size_t *bytes);
/* Of a part whose longest blob has `longest` bytes: bytes of the node's shared memory, and what
 * each PE keeps besides once it is settled. */
static inline uint64_t gsh_book_shared_bytes(int n_pes, size_t longest)
{
    return gsh_align_up((uint64_t)n_pes * (sizeof(uint32_t) + longest), 64);
}
static inline uint64_t gsh_book_sums_bytes(int n_pes)
{
    return ((uint64_t)n_pes + GSH_BOOK_GROUP - 1) / GSH_BOOK_GROUP * sizeof(uint64_t);
}
/* Bytes of this PE's own memory, for tests. */
uint64_t gsh_book_own_bytes(const struct gsh_book *book);

#endif
