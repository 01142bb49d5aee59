/* SPDX-License-Identifier: Apache-2.0
 * An allgather of few bytes of each rank, or of each of this rank's host, and a value that all need
 * together, in one exchange. */
#ifndef GSH_GATHER_H
#define GSH_GATHER_H

#include <stddef.h>
#include "bootstrap/bootstrap.h"

/* Collective. As allgather, and value becomes what fold makes of all ranks' values, in any order,
 * of some more than once; both arguments of fold are aligned to 8 bytes if value is. bytes and
 * value_bytes (at most GSH_GATHER_MAX_VALUE) are the same everywhere. Results as allgather's. */
GSH_CHECK_RESULT enum gsh_result gsh_gather_combine(struct gsh_bootstrap *b, const void *mine,
                                                    size_t bytes, void *all_out, void *value,
                                                    size_t value_bytes,
                                                    void (*fold)(void *into, const void *from));

/* Those of this rank's host; where b does not know hosts, all. Any thread. */
struct gsh_host_ranks gsh_host_range(const struct gsh_bootstrap *b);

/* Collective. As gsh_gather_combine, but theirs receives blobs of the ranks of gsh_host_range
 * alone; bytes is not 0. */
GSH_CHECK_RESULT enum gsh_result gsh_gather_host(struct gsh_bootstrap *b, const void *mine,
                                                 size_t bytes, void *theirs, void *value,
                                                 size_t value_bytes,
                                                 void (*fold)(void *into, const void *from));

#endif
