/* SPDX-License-Identifier: Apache-2.0
 * Crews: which members have been let go, and which are done. */
#include "dialects/nccl/comm/crew.h"

#include <pthread.h>
#include <stdlib.h>

struct gsh_nccl_crew {
    pthread_mutex_t lock;
    pthread_cond_t all_gone;
    int n_kept;   /* not destroyed by the program */
    int n_undone; /* not gone */
};

void gsh_nccl_crew_make(struct ncclComm *const *comms, int n)
{
    struct gsh_nccl_crew *crew = calloc(1, sizeof(*crew));
    if (crew == NULL) {
        return;
    }
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->all_gone, NULL);
    crew->n_kept = crew->n_undone = n;
    for (int i = 0; i < n; i++) {
        comms[i]->crew = crew;
    }
}

bool gsh_nccl_crew_let_go(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    bool is_last = --crew->n_kept == 0;
    pthread_mutex_unlock(&crew->lock);
    return is_last;
}

void gsh_nccl_crew_done(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    if (--crew->n_undone == 0) {
        pthread_cond_signal(&crew->all_gone);
    }
    pthread_mutex_unlock(&crew->lock);
}

void gsh_nccl_crew_wait(struct gsh_nccl_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->n_undone > 0) {
        pthread_cond_wait(&crew->all_gone, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    pthread_cond_destroy(&crew->all_gone);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}
