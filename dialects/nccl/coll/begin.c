/* SPDX-License-Identifier: Apache-2.0
 * See begin.h. */
#include "dialects/nccl/coll/begin.h"

#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/batch.h"
#include "dialects/nccl/coll/compare.h"
#include "dialects/nccl/coll/config.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/window/window.h"

/* A collective's buffers: source and dest are one block, or one for each rank. */
static const struct shape {
    bool combines;
    bool has_sources, has_dests;                 /* a block for each rank */
    bool is_source_the_roots, is_dest_the_roots; /* other ranks have none */
} shapes[GSH_NCCL_N_KINDS] = {
    [GSH_NCCL_ALL_REDUCE] = {.combines = true},
    [GSH_NCCL_REDUCE] = {.combines = true, .is_dest_the_roots = true},
    [GSH_NCCL_REDUCE_SCATTER] = {.combines = true, .has_sources = true},
    [GSH_NCCL_ALL_GATHER] = {.has_dests = true},
    [GSH_NCCL_ALL_TO_ALL] = {.has_sources = true, .has_dests = true},
    [GSH_NCCL_BROADCAST] = {.is_source_the_roots = true},
    [GSH_NCCL_GATHER] = {.has_dests = true, .is_dest_the_roots = true},
    [GSH_NCCL_SCATTER] = {.has_sources = true, .is_source_the_roots = true},
};

/* ---- checks ---- */

ncclResult_t gsh_nccl_check_data(const char *call, struct ncclComm *comm, ncclDataType_t type,
                                 int peer, size_t count)
{
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if ((unsigned)type >= ncclNumTypes) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no type %d", call, (int)type);
    }
    if (peer < 0 || peer >= comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: there is no rank %d among %d", call, peer,
                             comm->n_ranks);
    }
    if (count > SIZE_MAX / 16 / (size_t)comm->n_ranks) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %zu elements", call, count);
    }
    return ncclSuccess;
}

static ncclResult_t check(const char *call, struct ncclComm *comm,
                          const struct gsh_nccl_collective *c)
{
    const struct shape *shape = &shapes[c->kind];
    ncclResult_t r = gsh_nccl_check_data(call, comm, c->type, c->root, c->count);
    if (r == ncclSuccess && shape->combines) {
        r = gsh_nccl_check_op(call, comm, c->type, c->op);
    }
    if (r != ncclSuccess || c->count == 0) {
        return r;
    }
    bool is_root = comm->rank == c->root;
    bool lacks_source = c->source == NULL && (is_root || !shape->is_source_the_roots);
    bool lacks_dest = c->dest == NULL && (is_root || !shape->is_dest_the_roots);
    return lacks_source || lacks_dest
               ? gsh_nccl_fail(ncclInvalidArgument, "%s: a buffer is NULL", call)
               : ncclSuccess;
}

/* ---- load ---- */

/* The bytes of an element on the links. */
static size_t width_of(const struct ncclComm *comm, const struct gsh_nccl_collective *c)
{
    if (!shapes[c->kind].combines) {
        return gsh_nccl_type_bytes(c->type);
    }
    struct gsh_nccl_combining op = gsh_nccl_combining(comm, c->type, c->op);
    return gsh_nccl_type_bytes(gsh_nccl_combined_type(&op, c->type));
}

static struct gsh_nccl_load load_of(const struct gsh_nccl_call *call)
{
    const struct ncclComm *comm = call->comm;
    const struct gsh_nccl_collective *c = &call->collective;
    const size_t n = (size_t)comm->n_ranks, width = width_of(comm, c);
    const size_t of_all = c->count * (n - 1) * width, of_one = c->count * width;
    const bool is_root = comm->rank == c->root;
    struct gsh_nccl_load load = {.kind = GSH_NCCL_LOAD_CALL};
    switch (c->kind) {
    case GSH_NCCL_ALL_REDUCE: /* each rank's part to its owner, each result to all */
    case GSH_NCCL_REDUCE:
        load.out_bytes = (c->count + n - 1) / n * 2 * (n - 1) * width;
        break;
    case GSH_NCCL_BROADCAST:
        load.out_bytes = n > 1 ? of_one : 0;
        break;
    case GSH_NCCL_GATHER:
        load.kind = GSH_NCCL_LOAD_TRANSFER;
        *(is_root ? &load.in_bytes : &load.out_bytes) = is_root ? of_all : of_one;
        break;
    case GSH_NCCL_SCATTER:
        load.kind = GSH_NCCL_LOAD_TRANSFER;
        *(is_root ? &load.out_bytes : &load.in_bytes) = is_root ? of_all : of_one;
        break;
    default:
        load.out_bytes = of_all;
    }
    return load;
}

ncclResult_t gsh_nccl_begin(struct gsh_nccl_call *call)
{
    ncclResult_t r = check(call->name, call->comm, &call->collective);
    call->family = GSH_NCCL_COLLECTIVE;
    gsh_nccl_config_apply(call);
    call->load_of = load_of;
    if (r == ncclSuccess) {
        call->gatherer = call->comm->has_inbox ? &gsh_nccl_batches : call->gatherer;
    }
    return gsh_nccl_submit(r, call);
}

/* ---- when its turn comes ---- */

/* NULL: the buffer lies in no window that all ranks have alike. */
static void *symmetric(const struct gsh_nccl_work *w, const void *buffer, bool has_many)
{
    size_t bytes = w->count * gsh_nccl_type_bytes(w->type);
    return gsh_nccl_symmetric(w->comm, buffer, has_many ? bytes * (size_t)w->comm->n_ranks : bytes);
}

bool gsh_nccl_begin_work(const struct gsh_nccl_call *call, struct gsh_nccl_work *w)
{
    const struct gsh_nccl_collective *c = &call->collective;
    const struct shape *shape = &shapes[c->kind];
    *w = (struct gsh_nccl_work){
        .name = call->name,
        .comm = call->comm,
        .source = c->source,
        .dest = c->dest,
        .count = c->count,
        .type = c->type,
        .root = c->root,
        .has_result = !shape->is_dest_the_roots || call->comm->rank == c->root,
        .is_in_place = c->source == c->dest,
        .stream = c->stream,
    };
    if (shape->combines) {
        w->op = gsh_nccl_combining(call->comm, c->type, c->op);
    }
    if (shape->is_dest_the_roots || w->op.is_premul || w->op.is_wide) {
        return false;
    }
    void *dest = symmetric(w, c->dest, shape->has_dests);
    const void *source =
        shape->is_source_the_roots ? c->source : symmetric(w, c->source, shape->has_sources);
    if (dest == NULL || (source == NULL && !shape->is_source_the_roots) ||
        (c->kind == GSH_NCCL_ALL_TO_ALL && source == dest)) {
        return false;
    }
    w->source = source;
    w->dest = dest;
    return true;
}

/* If `part` is this rank's block of `whole`, each rank names another place in the same buffer: use
 * `whole`. */
static const void *whole_of(const struct gsh_nccl_work *w, const void *part, const void *whole)
{
    size_t block = w->count * gsh_nccl_type_bytes(w->type);
    bool is_in_place = (const char *)part == (const char *)whole + (size_t)w->comm->rank * block;
    return is_in_place ? whole : part;
}

ncclResult_t gsh_nccl_enter_work(const struct gsh_nccl_call *call, const struct gsh_nccl_work *w,
                                 bool is_direct)
{
    const struct gsh_nccl_collective *c = &call->collective;
    const struct shape *shape = &shapes[c->kind];
    const void *source = w->source, *dest = w->dest;
    if (shape->has_sources && !shape->has_dests) {
        dest = whole_of(w, w->dest, w->source);
    } else if (shape->has_dests && !shape->has_sources) {
        source = whole_of(w, w->source, w->dest);
    }
    ncclResult_t r = gsh_nccl_enter_stream(w->name, w->comm, w->stream);
    return r == ncclSuccess
               ? gsh_nccl_compare_ranks(w->name, w->comm, c,
                                        is_direct && !shape->is_source_the_roots ? source : NULL,
                                        is_direct ? dest : NULL)
               : r;
}
