/* SPDX-License-Identifier: Apache-2.0
 * See pieces.h. */
#include "dialects/nccl/base/pieces.h"

#include <stdlib.h>
#include <sys/random.h>
#include "dialects/nccl/base/error.h"
#include "gshmem.h"
#include "runtime/layer.h"

enum {
    UNIT = 2 << 20,  /* the least that can be mapped of a GPU's memory */
    OWN_PIECES = 2,  /* communicators of two ranks that have memory of their own, at a time */
    MOST_PIECES = 7, /* memories of a process's device */
    N_WORDS = GSH_NCCL_EXCHANGE_BYTES / 8,
};
_Static_assert(MOST_PIECES < N_WORDS, "one exchange has them all");

/* A word by which a rank tells the other of a memory: its number, then two bits. */
enum { IS_SHARED = 1, SIDE = 2, NUMBER = 4 };

/* A memory of this process. */
struct entry {
    struct entry *next;
    uint64_t word; /* SIDE: that of the team's second rank when it was made */
    int device;
    int n_holders; /* jobs that have mapped it, and threads that tell of it */
    void *memory;
};

/* It, in the heap of a job, for collectives with one other PE. */
struct gsh_nccl_mapped_pieces {
    struct gsh_nccl_mapped_pieces *next;
    struct entry *entry;
    int peer;
    void *symmetric;
    int n_users; /* communicators; the same on both PEs */
};

static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static size_t pieces_bytes(void)
{
    return (gshmemx_layer_pieces_bytes() + UNIT - 1) / UNIT * UNIT;
}

size_t gsh_nccl_own_pieces_bytes(const struct gsh_nccl_pieces *pieces)
{
    return pieces->memory != NULL && !pieces->is_shared ? pieces_bytes() : 0;
}

/* ---- the process's memories ---- */

static void let_go(const char *call, struct entry *e)
{
    pthread_mutex_lock(&entries_lock);
    bool is_last = --e->n_holders == 0;
    for (struct entry **at = &entries; is_last && *at != NULL; at = &(*at)->next) {
        if (*at == e) {
            *at = e->next;
            break;
        }
    }
    pthread_mutex_unlock(&entries_lock);
    if (is_last) {
        (void)gshmemx_layer_free(call, e->memory);
        free(e);
    }
}

/* Those of the device, which stay until they are let go. */
static int hold_all(int device, struct entry *held[MOST_PIECES])
{
    int n = 0;
    pthread_mutex_lock(&entries_lock);
    for (struct entry *e = entries; e != NULL && n < MOST_PIECES; e = e->next) {
        if (e->device == device) {
            e->n_holders++;
            held[n++] = e;
        }
    }
    pthread_mutex_unlock(&entries_lock);
    return n;
}

/* NULL: there is no memory. */
static struct entry *make_entry(const char *call, int device, uint64_t word)
{
    struct entry *e = calloc(1, sizeof(*e));
    void *memory = NULL;
    if (e == NULL || gshmemx_layer_alloc(call, pieces_bytes(), &memory) != 0) {
        free(e);
        return NULL;
    }
    *e = (struct entry){.word = word, .device = device, .n_holders = 1, .memory = memory};
    pthread_mutex_lock(&entries_lock);
    e->next = entries;
    entries = e;
    pthread_mutex_unlock(&entries_lock);
    return e;
}

/* ---- which one ---- */

/* What the two have told each other: by rank, words of memories, 0 for none, then a random one, or
 * 0 if there are no random numbers. */
struct told {
    uint64_t of[2][N_WORDS];
};

static bool has_other_side(const uint64_t *words, uint64_t word)
{
    for (int i = 0; i < MOST_PIECES; i++) {
        if (words[i] == (word ^ SIDE)) {
            return true;
        }
    }
    return false;
}

/* The memory that the two are to use, the same on both: as the first rank tells of it. *is_new:
 * they are to make it. 0: they are to have none. */
static uint64_t choose(const struct told *told, bool *is_new)
{
    const uint64_t *first = told->of[0];
    uint64_t shared = 0;
    int n_own = 0;
    for (int i = 0; i < MOST_PIECES; i++) {
        /* ranks of one process that have one device tell of both sides: each takes one */
        const bool is_other = (first[i] & SIDE) != 0 && has_other_side(first, first[i]);
        if (first[i] == 0 || is_other || !has_other_side(told->of[1], first[i])) {
            continue;
        }
        n_own += (first[i] & IS_SHARED) == 0;
        shared = shared == 0 && (first[i] & IS_SHARED) != 0 ? first[i] : shared;
    }
    *is_new = n_own < OWN_PIECES || shared == 0;
    if (*is_new && first[N_WORDS - 1] == 0) {
        return 0;
    }
    return *is_new ? (first[N_WORDS - 1] | 1) * NUMBER | (n_own < OWN_PIECES ? 0 : IS_SHARED)
                   : shared;
}

static ncclResult_t tell(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                         struct entry *const *held, int n, struct told *told)
{
    uint64_t mine[N_WORDS] = {0};
    for (int i = 0; i < n; i++) {
        mine[i] = held[i]->word;
    }
    if (getrandom(&mine[N_WORDS - 1], sizeof(*mine), 0) != sizeof(*mine)) {
        mine[N_WORDS - 1] = 0;
    }
    return gsh_nccl_exchange(call, job, team, mine, told->of, sizeof(mine));
}

/* ---- in a job's heap ---- */

/* Whether both say so. */
static bool both_say(const char *call, struct gsh_nccl_job *job, gshmem_team_t team, bool mine)
{
    uint64_t word = mine;
    return gsh_nccl_intersect(call, job, team, &word, 1) == ncclSuccess && word != 0;
}

static struct gsh_nccl_mapped_pieces *find_mapped(const struct gsh_nccl_job *job,
                                                  const struct entry *e, int peer)
{
    struct gsh_nccl_mapped_pieces *m = job->pieces;
    while (m != NULL && (m->entry != e || m->peer != peer)) {
        m = m->next;
    }
    return m;
}

/* NULL, on both: one of them cannot. Takes over e, which may be NULL. */
static struct gsh_nccl_mapped_pieces *map(const char *call, struct gsh_nccl_job *job,
                                          gshmem_team_t team, struct entry *e, int peer)
{
    struct gsh_nccl_mapped_pieces *m = calloc(1, sizeof(*m));
    void *symmetric = NULL;
    int error = 1;
    if (both_say(call, job, team, e != NULL && m != NULL)) {
        error = gshmemx_layer_register(call, team, e->memory, pieces_bytes(), &symmetric);
    }
    if (error != 0) {
        free(m);
        if (e != NULL) {
            let_go(call, e);
        }
        return NULL;
    }
    *m = (struct gsh_nccl_mapped_pieces){
        .next = job->pieces, .entry = e, .peer = peer, .symmetric = symmetric};
    job->pieces = m;
    return m;
}

/* The memory `word`, as this rank tells of it, among those held, or a new one. */
static struct gsh_nccl_mapped_pieces *find_or_map(const char *call, struct gsh_nccl_job *job,
                                                  gshmem_team_t team, struct entry *const *held,
                                                  int n, uint64_t word, bool is_new)
{
    const int device = gshmemx_layer_cuda_device();
    const int peer = gshmem_team_translate_pe(team, 1 - gshmem_team_my_pe(team), GSHMEM_TEAM_WORLD);
    struct entry *e = is_new && n < MOST_PIECES ? make_entry(call, device, word) : NULL;
    for (int i = 0; !is_new && i < n; i++) {
        e = held[i]->word == word ? held[i] : e;
    }
    if (e != NULL && !is_new) {
        struct gsh_nccl_mapped_pieces *m = find_mapped(job, e, peer);
        if (m != NULL) {
            return m;
        }
        pthread_mutex_lock(&entries_lock);
        e->n_holders++;
        pthread_mutex_unlock(&entries_lock);
    }
    return map(call, job, team, e, peer);
}

ncclResult_t gsh_nccl_take_pieces(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                  struct gsh_nccl_pieces *pieces)
{
    struct entry *held[MOST_PIECES];
    const int n = hold_all(gshmemx_layer_cuda_device(), held);
    struct told told;
    bool is_new = false;
    int error = 0;
    *pieces = (struct gsh_nccl_pieces){NULL, false};
    ncclResult_t r = tell(call, job, team, held, n, &told);
    if (r == ncclSuccess) {
        const uint64_t word = choose(&told, &is_new);
        const uint64_t mine = gshmem_team_my_pe(team) == 0 ? word : word ^ SIDE;
        struct gsh_nccl_mapped_pieces *m =
            word != 0 ? find_or_map(call, job, team, held, n, mine, is_new) : NULL;
        if (m != NULL) {
            m->n_users++;
            *pieces = (struct gsh_nccl_pieces){m->symmetric, (word & IS_SHARED) != 0};
            error = is_new ? gshmemx_layer_pieces_clear(m->symmetric) : 0;
        }
    }
    for (int i = 0; i < n; i++) {
        let_go(call, held[i]);
    }
    /* if it could not be cleared, the communicator's end gives it back on both PEs */
    return r == ncclSuccess ? gsh_nccl_base(call, error) : r;
}

void gsh_nccl_give_pieces_back(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               struct gsh_nccl_pieces *pieces)
{
    struct gsh_nccl_mapped_pieces **at = &job->pieces;
    while (*at != NULL && (*at)->symmetric != pieces->memory) {
        at = &(*at)->next;
    }
    struct gsh_nccl_mapped_pieces *m = *at;
    if (pieces->memory != NULL && m != NULL && --m->n_users == 0) {
        (void)gshmemx_layer_unregister(call, team, m->symmetric, pieces_bytes());
        *at = m->next;
        let_go(call, m->entry);
        free(m);
    }
    pieces->memory = NULL;
}
