/* SPDX-License-Identifier: Apache-2.0
 * See parting.h. */
#include "dialects/nccl/comm/parting.h"

#include "runtime/layer.h"

void gsh_nccl_part(const struct ncclComm *comm, enum gsh_nccl_parting how)
{
    uint64_t *const own = gsh_nccl_latest_parting(comm->latest.own);
    uint64_t before = GSH_NCCL_STAYS;
    /* release: pairs with the acquire in gsh_nccl_look_for_others there: what this rank's work has
     * written comes before. For gsh_nccl_part_together it brings no other data. */
    while (own != NULL && before < (uint64_t)how &&
           !__atomic_compare_exchange_n(own, &before, (uint64_t)how, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
        continue;
    }
}

static bool give_up(const struct ncclComm *comm, void *arg)
{
    (void)arg;
    /* acquire: pairs with the release in gsh_nccl_comm_make */
    if (__atomic_load_n(&comm->is_made, __ATOMIC_ACQUIRE)) {
        gsh_nccl_part(comm, GSH_NCCL_GIVES_UP);
    }
    return false;
}

void gsh_nccl_part_all(const struct gsh_nccl_job *job)
{
    gsh_nccl_comms_for_each(job->pe, give_up, NULL);
}

bool gsh_nccl_find_words(const struct ncclComm *comm, uint64_t **words)
{
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        words[rank] = gshmemx_layer_team_words(comm->control_team, rank);
        if (words[rank] == NULL) {
            return false;
        }
    }
    return true;
}

enum gsh_nccl_left_alone gsh_nccl_look_for_others(const struct ncclComm *comm,
                                                  uint64_t *const *words)
{
    const uint64_t n = gsh_nccl_latest_number(words[comm->rank]);
    uint64_t least = GSH_NCCL_GIVES_UP;
    bool is_ahead = false;
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        if (rank != comm->rank) {
            /* acquire: pairs with the release in gsh_nccl_part there */
            const uint64_t its =
                __atomic_load_n(gsh_nccl_latest_parting(words[rank]), __ATOMIC_ACQUIRE);
            least = its < least ? its : least;
            is_ahead = is_ahead || (its >= (uint64_t)GSH_NCCL_FINALIZES &&
                                    gsh_nccl_latest_number(words[rank]) < n);
        }
    }
    return !is_ahead || least < (uint64_t)GSH_NCCL_SETTLES ? GSH_NCCL_TOGETHER
           : least < (uint64_t)GSH_NCCL_FINALIZES          ? GSH_NCCL_AHEAD
                                                           : GSH_NCCL_DESERTED;
}

bool gsh_nccl_part_together(const char *call, struct ncclComm *comm, enum gsh_nccl_parting how)
{
    bool has_given_up = false;
    gsh_nccl_part(comm, how);
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        uint64_t *const its =
            rank != comm->rank
                ? gsh_nccl_latest_parting(gshmemx_layer_team_words(comm->control_team, rank))
                : NULL;
        struct gshmemx_layer_wait wait = {0};
        uint64_t seen = its != NULL ? __atomic_load_n(its, __ATOMIC_RELAXED) : (uint64_t)how;
        while (seen < (uint64_t)how && !gsh_nccl_job_is_given_up(comm->job) &&
               !gsh_nccl_comm_is_lost(comm) &&
               gshmemx_layer_wait_poll(call, comm->pe_of[rank], &wait)) {
            seen = __atomic_load_n(its, __ATOMIC_RELAXED);
        }
        has_given_up = has_given_up || seen == GSH_NCCL_GIVES_UP;
    }
    return has_given_up;
}
