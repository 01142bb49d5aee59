/* SPDX-License-Identifier: Apache-2.0
 * Memory of a process, outside any job, that other processes of its node map: any memory that a
 * heap could register, and a heap's own. The key of a range is plain bytes, which the user carries
 * to other processes; it lets its holder map the range until the owner releases it.
 *
 * The owner's thread listens by uds.h, as rank 0, under a secret of the process, which is part of
 * the key. Over a connection it has proved, the opener asks for one piece after the other:
 *
 *   opener -> owner   struct gsh_range_request
 *   owner -> opener   struct gsh_range_piece, with a descriptor if has_fd
 *
 * A request for range 0 has no answer: the connection stays open, and its end is the owner's end.
 */
#ifndef GSH_RANGE_H
#define GSH_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "heap/memory.h"
#include "heap/range_wire.h"

struct gsh_range;
struct gsh_opened_range;

/* All of these: any thread; failures are kept by gsh_note. */

/* The key by which others watch this process. */
GSH_CHECK_RESULT enum gsh_result gsh_range_process_key(struct gsh_range_key *key);
/* options: of the memory's kind, as in gsh_registrable_alloc. Private host memory becomes shared in
 * this call, and private again when no range has it any more: no thread may write to it meanwhile.
 */
GSH_CHECK_RESULT enum gsh_result gsh_range_export(const struct gsh_memory_ops *ops,
                                                  const struct gsh_memory_options *options,
                                                  void *ptr, uint64_t bytes, struct gsh_range **out,
                                                  struct gsh_range_key *key);
/* Others that have mapped it keep it; new ones get GSH_ERR_PEER. Accepts NULL. */
void gsh_range_release(struct gsh_range **range);

/* *ptr: the range's first byte here, the owner's own address in its own process. key: from
 * anywhere. GSH_ERR_ARG: it is none. GSH_ERR_PEER: released, or its owner has ended. */
GSH_CHECK_RESULT enum gsh_result gsh_range_open(const struct gsh_memory_ops *ops,
                                                const struct gsh_memory_options *options,
                                                const struct gsh_range_key *key,
                                                uint64_t timeout_ns, struct gsh_opened_range **out,
                                                void **ptr);
/* Nothing here uses it any more. Accepts NULL. */
void gsh_range_close(struct gsh_opened_range **opened);

/* A descriptor that poll finds hung up once the key's process has ended; -1: it is this process.
 * GSH_ERR_PEER: it has ended, or is on another node. The caller closes it. */
GSH_CHECK_RESULT enum gsh_result gsh_range_watch(const struct gsh_range_key *key,
                                                 uint64_t timeout_ns, int *fd);

#endif
