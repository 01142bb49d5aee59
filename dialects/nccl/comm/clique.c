/* SPDX-License-Identifier: Apache-2.0
 * Cliques: which communicators the program has given up, and which have ended. */
#include "dialects/nccl/comm/clique.h"

#include <pthread.h>
#include <stdlib.h>

struct gsh_nccl_clique {
    pthread_mutex_t lock;
    pthread_cond_t all_gone;
    int n_kept;   /* not destroyed by the program */
    int n_undone; /* not gone */
};

void gsh_nccl_clique_make(struct ncclComm *const *comms, int n)
{
    struct gsh_nccl_clique *clique = calloc(1, sizeof(*clique));
    if (clique == NULL) {
        return;
    }
    pthread_mutex_init(&clique->lock, NULL);
    pthread_cond_init(&clique->all_gone, NULL);
    clique->n_kept = clique->n_undone = n;
    for (int i = 0; i < n; i++) {
        comms[i]->clique = clique;
    }
}

bool gsh_nccl_clique_let_go(struct gsh_nccl_clique *clique)
{
    pthread_mutex_lock(&clique->lock);
    bool is_last = --clique->n_kept == 0;
    pthread_mutex_unlock(&clique->lock);
    return is_last;
}

void gsh_nccl_clique_done(struct gsh_nccl_clique *clique)
{
    pthread_mutex_lock(&clique->lock);
    if (--clique->n_undone == 0) {
        pthread_cond_signal(&clique->all_gone);
    }
    pthread_mutex_unlock(&clique->lock);
}

void gsh_nccl_clique_wait(struct gsh_nccl_clique *clique)
{
    pthread_mutex_lock(&clique->lock);
    while (clique->n_undone > 0) {
        pthread_cond_wait(&clique->all_gone, &clique->lock);
    }
    pthread_mutex_unlock(&clique->lock);
    pthread_cond_destroy(&clique->all_gone);
    pthread_mutex_destroy(&clique->lock);
    free(clique);
}
