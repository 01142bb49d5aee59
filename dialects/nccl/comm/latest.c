/* SPDX-License-Identifier: Apache-2.0
 * See latest.h. */
#include "dialects/nccl/comm/latest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "dialects/nccl/base/error.h"
#include "runtime/layer.h"

enum { N_ENTRIES = 16 };

/* All atomic, as is the rest of this memory. */
struct entry {
    uint64_t number; /* of the collective, from 1 on; 0: the rest is being written */
    uint64_t count, what, sum;
};

/* Of one rank, in words that the node shares; the rank writes them, except has_spoken. */
struct shared {
    uint64_t has_differed;
    uint64_t has_spoken; /* a line tells the difference between it and its upper neighbour */
    uint64_t parting;    /* parting.c's */
    uint64_t reserved[5];
    struct entry entries[N_ENTRIES]; /* collective i is in entries[i % N_ENTRIES] */
};
_Static_assert(sizeof(struct shared) <= GSHMEMX_LAYER_TEAM_WORDS * sizeof(uint64_t),
               "the words of a rank");

enum finding { SAME, FINDING, DIFFERENT };

static struct shared *shared_of(uint64_t *words)
{
    return (struct shared *)words;
}

uint64_t *gsh_nccl_latest_parting(uint64_t *words)
{
    return words != NULL ? &shared_of(words)->parting : NULL;
}

uint64_t gsh_nccl_latest_number(uint64_t *words)
{
    uint64_t most = 0;
    for (int i = 0; i < N_ENTRIES; i++) {
        /* relaxed: an order, if the caller needs one, comes from another word */
        const uint64_t n = __atomic_load_n(&shared_of(words)->entries[i].number, __ATOMIC_RELAXED);
        most = n > most ? n : most;
    }
    return most;
}

void gsh_nccl_latest_begin(struct gsh_nccl_latest *l, gshmem_team_t team, int own_rank, int n_ranks)
{
    l->rank = own_rank;
    for (int side = 0; side < 2; side++) {
        struct gsh_nccl_neighbour *neighbour = &l->neighbours[side];
        const int step = side == 0 ? -1 : 1;
        for (int rank = own_rank + step; neighbour->its == NULL && rank >= 0 && rank < n_ranks;
             rank += step) {
            neighbour->its = gshmemx_layer_team_words(team, rank);
            neighbour->rank = rank;
        }
    }
    if (l->neighbours[0].its == NULL && l->neighbours[1].its == NULL) {
        return;
    }
    l->own = gshmemx_layer_team_words(team, own_rank);
    for (size_t i = 0; i < GSHMEMX_LAYER_TEAM_WORDS; i++) {
        __atomic_store_n(&l->own[i], 0, __ATOMIC_RELAXED); /* the caller's barrier orders them */
    }
}

/* Whether the collective's entry is there, and *e is it. */
static bool read_entry(struct shared *s, uint64_t number, struct entry *e)
{
    struct entry *from = &s->entries[number % N_ENTRIES];
    /* seq_cst: pairs with the store in gsh_nccl_latest_add there; of two ranks that each store
     * their own number and then load the other's, at least one sees the other's, and its entry */
    e->number = __atomic_load_n(&from->number, __ATOMIC_SEQ_CST);
    if (e->number != number) {
        return false;
    }
    /* acquire: pair with the releases in gsh_nccl_latest_add of a later collective's entry, so that
     * the second load of the number shows that this may be one */
    e->count = __atomic_load_n(&from->count, __ATOMIC_ACQUIRE);
    e->what = __atomic_load_n(&from->what, __ATOMIC_ACQUIRE);
    e->sum = __atomic_load_n(&from->sum, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number;
}

/* ---- the words of a difference ---- */

static enum gsh_nccl_kind kind_of(const struct entry *e)
{
    return (enum gsh_nccl_kind)(e->what & 0xff);
}

static ncclDataType_t type_of(const struct entry *e)
{
    return (ncclDataType_t)(e->what >> 8 & 0xf);
}

static ncclRedOp_t op_of(const struct entry *e)
{
    return (ncclRedOp_t)(e->what >> 12 & 0xf);
}

/* Of the config. */
static unsigned least_blocks_of(const struct entry *e)
{
    return e->what >> 16 & 0xff;
}

static unsigned most_blocks_of(const struct entry *e)
{
    return e->what >> 24 & 0xff;
}

static int root_of(const struct entry *e)
{
    return (int)(e->what >> 32);
}

_Static_assert((int)ncclNumTypes <= 16 && (int)ncclNumOps < 16 &&
                   (int)GSH_NCCL_CONFIG_MOST_BLOCKS < 256,
               "their bits in an entry");

/* Every program's own operators are the same: their numbers may differ. */
static uint64_t what_of(const struct gsh_nccl_collective *c)
{
    uint64_t op = c->op < ncclNumOps ? (uint64_t)c->op : ncclNumOps;
    return (uint64_t)c->kind | (uint64_t)c->type << 8 | op << 12 |
           (uint64_t)c->config.least_blocks << 16 | (uint64_t)c->config.most_blocks << 24 |
           (uint64_t)(uint32_t)c->root << 32;
}

/* Another rank's words are not trusted as an index. */
static const char *name_of(const char *const *names, size_t n, size_t i)
{
    return i < n && names[i] != NULL ? names[i] : "unknown";
}

/* What differs first, and its value in one of the two. */
static const char *word(const struct entry *e, const struct entry *other, char *value, size_t bytes)
{
    static const char *const kinds[GSH_NCCL_N_KINDS] = {
        [GSH_NCCL_ALL_REDUCE] = "ncclAllReduce",
        [GSH_NCCL_REDUCE] = "ncclReduce",
        [GSH_NCCL_REDUCE_SCATTER] = "ncclReduceScatter",
        [GSH_NCCL_ALL_GATHER] = "ncclAllGather",
        [GSH_NCCL_ALL_TO_ALL] = "ncclAlltoAll",
        [GSH_NCCL_BROADCAST] = "ncclBroadcast",
        [GSH_NCCL_GATHER] = "ncclGather",
        [GSH_NCCL_SCATTER] = "ncclScatter",
    };
    static const char *const types[ncclNumTypes] = {
        [ncclInt8] = "ncclInt8",
        [ncclUint8] = "ncclUint8",
        [ncclInt32] = "ncclInt32",
        [ncclUint32] = "ncclUint32",
        [ncclInt64] = "ncclInt64",
        [ncclUint64] = "ncclUint64",
        [ncclFloat16] = "ncclFloat16",
        [ncclFloat32] = "ncclFloat32",
        [ncclFloat64] = "ncclFloat64",
        [ncclBfloat16] = "ncclBfloat16",
        [ncclFloat8e4m3] = "ncclFloat8e4m3",
        [ncclFloat8e5m2] = "ncclFloat8e5m2",
    };
    static const char *const ops[ncclNumOps + 1] = {
        [ncclSum] = "ncclSum", [ncclProd] = "ncclProd", [ncclMax] = "ncclMax",
        [ncclMin] = "ncclMin", [ncclAvg] = "ncclAvg",   [ncclNumOps] = "the program's own",
    };
    if (kind_of(e) != kind_of(other)) {
        snprintf(value, bytes, "%s", name_of(kinds, GSH_NCCL_N_KINDS, kind_of(e)));
        return "the call";
    }
    if (e->count != other->count) {
        snprintf(value, bytes, "%" PRIu64, e->count);
        return "count";
    }
    if (type_of(e) != type_of(other)) {
        snprintf(value, bytes, "%s", name_of(types, ncclNumTypes, type_of(e)));
        return "the type";
    }
    if (op_of(e) != op_of(other)) {
        snprintf(value, bytes, "%s", name_of(ops, ncclNumOps + 1, op_of(e)));
        return "the operator";
    }
    if (least_blocks_of(e) != least_blocks_of(other)) {
        snprintf(value, bytes, "%u", least_blocks_of(e));
        return "minCTAs";
    }
    if (most_blocks_of(e) != most_blocks_of(other)) {
        snprintf(value, bytes, "%u", most_blocks_of(e));
        return "maxCTAs";
    }
    snprintf(value, bytes, "%d", root_of(e));
    return "root";
}

/* ---- finding it ---- */

/* Whether the caller is the first to find that collectives differ; it calls found. */
static bool take_finding(struct gsh_nccl_latest *l)
{
    int was = SAME;
    return __atomic_compare_exchange_n(&l->finding, &was, FINDING, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* l->text is there. */
static void found(struct gsh_nccl_latest *l)
{
    /* pairs with the load in look_at of a neighbour; it brings no other data */
    __atomic_store_n(&shared_of(l->own)->has_differed, 1, __ATOMIC_RELAXED);
    /* release: pairs with the acquire in gsh_nccl_latest_result, which reads the text */
    __atomic_store_n(&l->finding, DIFFERENT, __ATOMIC_RELEASE);
}

/* The sums of call `number` differ, so it or an earlier one does. */
static void differ(const char *call, struct gsh_nccl_latest *l, int side, uint64_t number)
{
    struct gsh_nccl_neighbour *neighbour = &l->neighbours[side];
    struct shared *own = shared_of(l->own), *its = shared_of(neighbour->its);
    struct entry a = {0}, b = {0};
    char mine[32] = "", theirs[32] = "";
    if (!take_finding(l)) {
        return;
    }
    const uint64_t n_checked = __atomic_load_n(&neighbour->n_checked, __ATOMIC_RELAXED);
    uint64_t first = n_checked + 1 + N_ENTRIES > number ? n_checked + 1 : number + 1 - N_ENTRIES;
    bool is_known = first == n_checked + 1; /* the calls before it are the same */
    for (; first <= number; first++) {
        if (!read_entry(own, first, &a) || !read_entry(its, first, &b)) {
            is_known = false;
        } else if (a.sum != b.sum) {
            break;
        } else {
            is_known = true;
        }
    }
    if (is_known && first <= number) {
        const char *what = word(&a, &b, mine, sizeof(mine));
        (void)word(&b, &a, theirs, sizeof(theirs));
        snprintf(l->text, sizeof(l->text),
                 "%s: collective %" PRIu64
                 " of the communicator: %s is %s on rank %d, %s on rank %d",
                 call, first, what, mine, l->rank, theirs, neighbour->rank);
    } else {
        snprintf(l->text, sizeof(l->text),
                 "%s: rank %d and rank %d differ in collective %" PRIu64
                 " of the communicator, or in one before it",
                 call, l->rank, neighbour->rank, first < number ? first : number);
    }
    /* A neighbour that has found a difference, perhaps with another rank, has reported it (pairs
     * with the store in found). Both may find it at the same time: then the first exchange of the
     * lower one's word decides. acq_rel: pairs with the other's exchange. The load stays before the
     * exchange, and found after it, so the one that sees the other in found comes second. */
    struct shared *lower = side == 0 ? its : own;
    if (__atomic_load_n(&its->has_differed, __ATOMIC_RELAXED) == 0 &&
        __atomic_exchange_n(&lower->has_spoken, 1, __ATOMIC_ACQ_REL) == 0) {
        (void)gsh_nccl_fail(ncclInvalidArgument, "%s", l->text);
    }
    found(l);
}

static void look_at(const char *call, struct gsh_nccl_latest *l, int side)
{
    struct gsh_nccl_neighbour *neighbour = &l->neighbours[side];
    if (neighbour->its == NULL) {
        return;
    }
    struct shared *own = shared_of(l->own), *its = shared_of(neighbour->its);
    /* pairs with the store in gsh_nccl_latest_add, perhaps by another thread; read_entry finds out
     * whether the entry is there */
    const uint64_t number = __atomic_load_n(&l->n, __ATOMIC_RELAXED);
    struct entry a, b;
    if (number > __atomic_load_n(&neighbour->n_checked, __ATOMIC_RELAXED) &&
        read_entry(its, number, &b) && read_entry(own, number, &a)) {
        if (a.sum != b.sum) {
            differ(call, l, side, number);
            return;
        }
        __atomic_store_n(&neighbour->n_checked, number, __ATOMIC_RELAXED);
    }
    /* pairs with the store in found there */
    if (__atomic_load_n(&its->has_differed, __ATOMIC_RELAXED) != 0 && take_finding(l)) {
        snprintf(l->text, sizeof(l->text),
                 "%s: rank %d has found that the collectives of ranks differ", call,
                 neighbour->rank);
        found(l);
    }
}

void gsh_nccl_latest_look(const char *call, struct gsh_nccl_latest *l)
{
    if (l->own != NULL && __atomic_load_n(&l->finding, __ATOMIC_RELAXED) == SAME) {
        look_at(call, l, 0);
        look_at(call, l, 1);
    }
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
}

void gsh_nccl_latest_add(const char *call, struct gsh_nccl_latest *l,
                         const struct gsh_nccl_collective *c)
{
    if (l->own == NULL) {
        return;
    }
    /* Only this thread writes them. */
    const uint64_t number = __atomic_load_n(&l->n, __ATOMIC_RELAXED) + 1;
    const uint64_t what = what_of(c);
    struct entry *e = &shared_of(l->own)->entries[number % N_ENTRIES];
    l->sum = mix(mix(l->sum, c->count), what);
    /* release: pair with the acquires in read_entry: a reader that sees one of them sees the 0, or
     * a later number */
    __atomic_store_n(&e->number, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&e->count, c->count, __ATOMIC_RELEASE);
    __atomic_store_n(&e->what, what, __ATOMIC_RELEASE);
    __atomic_store_n(&e->sum, l->sum, __ATOMIC_RELEASE);
    /* seq_cst: pairs with the first load in read_entry */
    __atomic_store_n(&e->number, number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&l->n, number, __ATOMIC_RELAXED); /* pairs with the load in look_at */
    gsh_nccl_latest_look(call, l);
}

ncclResult_t gsh_nccl_latest_result(const struct gsh_nccl_latest *l)
{
    /* acquire: pairs with the release in found */
    if (__atomic_load_n(&l->finding, __ATOMIC_ACQUIRE) != DIFFERENT) {
        return ncclSuccess;
    }
    gsh_nccl_set_last_text(l->text);
    return ncclInvalidArgument;
}
