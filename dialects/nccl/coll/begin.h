/* SPDX-License-Identifier: Apache-2.0
 * What the eight collectives have in common: what is checked of a call, and how its work begins
 * when its turn comes. */
#ifndef GSH_NCCL_BEGIN_H
#define GSH_NCCL_BEGIN_H

#include "dialects/nccl/coll/work.h"
#include "dialects/nccl/group/call.h"

/* Checks communicator, type, and root or peer, and that the byte count does not overflow. For all
 * calls that move data. */
ncclResult_t gsh_nccl_check_data(const char *call, struct ncclComm *comm, ncclDataType_t type,
                                 int peer, size_t count);

/* For a call that has its name, communicator, and collective with the program's arguments, and by
 * what it is carried out: checks the arguments, estimates the load, and submits it. */
ncclResult_t gsh_nccl_begin(struct gsh_nccl_call *call);

/* Fills in the work of a collective. True: it goes directly, from and to the symmetric addresses
 * that the work has; else the work has the program's. Any collective but gather and scatter. */
bool gsh_nccl_begin_work(const struct gsh_nccl_call *call, struct gsh_nccl_work *w);
/* Enters its stream; checking builds compare it with other ranks'. */
ncclResult_t gsh_nccl_enter_work(const struct gsh_nccl_call *call, const struct gsh_nccl_work *w,
                                 bool is_direct);

#endif
