/* SPDX-License-Identifier: Apache-2.0
 * What this process knows of its PEs' waits, as records. */
#ifndef GSH_HANG_COLLECT_H
#define GSH_HANG_COLLECT_H

#include "hang/record.h"

struct gsh_instance;

/* Tells jobs apart. */
uint64_t gsh_hang_job_of(const struct gsh_instance *pe);

/* Asks what the n PEs wait for, which takes some tens of milliseconds, and passes the records on
 * until `put` returns false. None of the PEs ends meanwhile, and nobody else asks. */
void gsh_hang_collect(struct gsh_instance *const *pes, int n,
                      bool (*put)(void *to, const struct gsh_hang_record *record), void *to);

#endif
