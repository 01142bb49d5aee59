/* SPDX-License-Identifier: Apache-2.0
 * The algSelection of a config: names of NCCL's algorithms. This library has none of them, so a
 * selection changes nothing; but one that NCCL could not follow is a mistake of the program. */
#ifndef GSH_NCCL_SELECTION_H
#define GSH_NCCL_SELECTION_H

#include <stdbool.h>
#include "dialects/nccl/comm/collective.h"

/* text: names in any case, separated by commas, blanks around them; after a first ^, all but these;
 * NULL or without a name: any. An error if it has an unknown name, or leaves no algorithm that NCCL
 * has for the collective; unless it may be ignored. */
ncclResult_t gsh_nccl_selection_check(const char *call, enum gsh_nccl_kind kind, const char *text,
                                      bool may_be_ignored);

#endif
