/* SPDX-License-Identifier: Apache-2.0
 * Reachability and routes. The rule: threads of one process, and PEs of one node on the CPU device,
 * reach each other through host memory. GPUs of one node reach each other if the driver grants peer
 * access. All others are far. */
#include "runtime/init/topology.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/sha256.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "proxy/proxy.h"
#include "runtime/init/domains.h"
#include "runtime/init/net.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/vote.h"

static uint64_t pow2_above(uint64_t v, uint64_t least)
{
    uint64_t p = least;
    while (p < v && p >> 63 == 0) {
        p <<= 1;
    }
    return p;
}

enum gsh_result gsh_topology_attr(struct gsh_instance *pe, struct gsh_device_attr *attr)
{
    attr->range_bytes = pe->env.heap_range_bytes;
    attr->keep_bytes = pe->env.heap_keep_bytes;
    attr->ordinal = -1;
    pe->coll_table = *pe->device_ops->coll_table;
    enum gsh_result r = gsh_coll_table_read(pe->env.collectives, &pe->coll_table);
    attr->coll_table = pe->coll_table;
    return r == GSH_OK ? pe->device_ops->attr(pe, attr) : r;
}

/* A PE's GPU, for sorting. */
struct seat {
    uint64_t host;
    uint8_t uuid[16];
    int pe;
};

static int compare_seats(const void *one, const void *other)
{
    const struct seat *a = one, *b = other;
    int order = memcmp(a, b, offsetof(struct seat, pe)); /* any order, with equal ones together */
    return order != 0 ? order : (a->pe > b->pe) - (a->pe < b->pe);
}

/* Finds the first PE whose GPU an earlier PE has, too, and the first PE that has it; among this
 * process's PEs, or all. False: there is none. */
static bool find_sharers(const struct gsh_instance *pe, const struct gsh_device_attr *attrs,
                         bool is_of_process, struct seat *seats, int sharers[2])
{
    int n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        if (attrs[i].is_cuda && (!is_of_process || gsh_is_of_process(pe, i))) {
            seats[n] = (struct seat){.host = gsh_host_of(pe, i), .pe = i};
            memcpy(seats[n++].uuid, attrs[i].uuid, sizeof(seats[0].uuid));
        }
    }
    qsort(seats, (size_t)n, sizeof(*seats), compare_seats);
    sharers[1] = pe->n_pes;
    for (int i = 1, first = 0; i < n; i++) {
        bool is_same = memcmp(&seats[i], &seats[first], offsetof(struct seat, pe)) == 0;
        if (is_same && i == first + 1 && seats[i].pe < sharers[1]) {
            sharers[0] = seats[first].pe;
            sharers[1] = seats[i].pe;
        }
        first = is_same ? first : i;
    }
    return sharers[1] < pe->n_pes;
}

static enum gsh_result check_shared_gpu(struct gsh_instance *pe,
                                        const struct gsh_device_attr *attrs)
{
    struct seat *seats = calloc((size_t)pe->n_pes, sizeof(*seats));
    int by[2];
    if (seats == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    enum gsh_result r = GSH_OK;
    if (!pe->env.share_device && find_sharers(pe, attrs, false, seats, by)) {
        r = gsh_fail(GSH_ERR_ARG,
                     "init: PE %d and PE %d both use GPU %d (%s); give each its own, or "
                     "set GSHMEM_SHARE_DEVICE=1 if they are threads of one process, or "
                     "if their kernels never wait for each other",
                     by[0], by[1], attrs[by[1]].ordinal, attrs[by[1]].name);
    } else if (find_sharers(pe, attrs, true, seats, by) && attrs[by[1]].n_parts == 0) {
        r = gsh_fail(GSH_ERR_ARG,
                     "init: PE %d and PE %d are threads of one process on GPU %d, and "
                     "there are as many GPUs as such PEs: give each its own",
                     by[0], by[1], attrs[by[1]].ordinal);
    }
    free(seats);
    return r;
}

/* These two are collective, take the same arguments on all PEs, and report a difference once. */
static enum gsh_result check_bytes(struct gsh_agreement *all, const char *name, int other,
                                   uint64_t its, uint64_t first)
{
    if (its == first) {
        return GSH_OK;
    }
    return gsh_agree_fail(all, GSH_ERR_SYMMETRY, "init: %s is %llu bytes on PE %d and %llu on PE 0",
                          name, (unsigned long long)its, other, (unsigned long long)first);
}

/* Members choose by the table without asking each other. */
static enum gsh_result check_coll_table(struct gsh_agreement *all, int other,
                                        const struct gsh_device_attr *its,
                                        const struct gsh_device_attr *first)
{
    uint32_t value = 0, first_value = 0;
    const char *name =
        gsh_coll_table_difference(&its->coll_table, &first->coll_table, &value, &first_value);
    return name == NULL
               ? GSH_OK
               : gsh_agree_fail(all, GSH_ERR_SYMMETRY,
                                "init: GSHMEM_COLLECTIVES: %s is %u on PE %d and %u on PE 0", name,
                                value, other, first_value);
}

static enum gsh_result check_kind(struct gsh_agreement *all, int other,
                                  const struct gsh_device_attr *its,
                                  const struct gsh_device_attr *first)
{
    if (its->is_cuda != first->is_cuda) {
        return gsh_agree_fail(all, GSH_ERR_SYMMETRY,
                              "init: PE %d runs on %s and PE 0 on %s; set GSHMEM_DEVICE to the "
                              "same on all",
                              other, its->is_cuda ? "CUDA" : "the CPU device",
                              first->is_cuda ? "CUDA" : "the CPU device");
    }
    enum gsh_result r =
        check_bytes(all, "GSHMEM_HEAP_RANGE", other, its->range_bytes, first->range_bytes);
    if (r == GSH_OK) {
        r = check_bytes(all, "GSHMEM_HEAP_KEEP", other, its->keep_bytes, first->keep_bytes);
    }
    return r == GSH_OK ? check_coll_table(all, other, its, first) : r;
}

enum gsh_result gsh_topology_check(struct gsh_instance *pe, struct gsh_bootstrap *b,
                                   const struct gsh_device_attr *attrs)
{
    if (attrs[pe->my_pe].result != GSH_OK) {
        return (enum gsh_result)attrs[pe->my_pe].result; /* its text is already recorded */
    }
    /* Failures for which all PEs return at once come first: what follows is collective. */
    for (int i = 0; i < pe->n_pes; i++) {
        if (attrs[i].result != GSH_OK) {
            return gsh_fail((enum gsh_result)attrs[i].result,
                            "init: PE %d found no usable device (%s)", i,
                            gsh_result_name((enum gsh_result)attrs[i].result));
        }
    }
    struct gsh_agreement all = {.bootstrap = b};
    for (int i = 0; i < pe->n_pes; i++) {
        enum gsh_result r = check_kind(&all, i, &attrs[i], &attrs[0]);
        if (r != GSH_OK) {
            return r;
        }
    }
    return check_shared_gpu(pe, attrs);
}

/* All blocks of a collective run at the same time, and its kernels may need a multiprocessor for
 * each. Two calls may be under way, so each gets half of them; the same number on all PEs. */
static void limit_blocks(struct gsh_instance *pe, bool is_cuda, uint32_t n_sms)
{
    const uint32_t half = n_sms > 1 ? n_sms / 2 : 1;
    if (is_cuda && half < pe->coll_table.max_blocks) {
        pe->coll_table.max_blocks = half;
    }
}

/* ---- views ---- */

/* This PE's view (domains.h). */
static void look_around(const struct gsh_instance *pe, uint64_t *view)
{
    for (int p = 0; p < pe->n_pes; p++) {
        const struct gsh_near *near = gsh_near_of(pe, p);
        const int index = pe->peers[p].node_index;
        if (near != NULL && near->route_name == NULL) {
            view[index / 64] |= UINT64_C(1) << index % 64;
        }
    }
}

/* Whether a line that this PE stores at once arrives whole at each PE that it reaches. */
static bool has_whole_lines(const struct gsh_instance *pe)
{
    for (int p = 0; p < pe->n_pes; p++) {
        const struct gsh_near *near = gsh_near_of(pe, p);
        if (p != pe->my_pe && near != NULL && near->route_name != NULL &&
            strcmp(near->route_name, "nvlink") != 0) {
            return false;
        }
    }
    return true;
}

/* ---- the sum ---- */

/* What all PEs must have alike, as gsh_topology_check compares it. */
static uint64_t digest_of(const struct gsh_device_attr *attr)
{
    struct gsh_device_attr same = {.is_cuda = attr->is_cuda,
                                   .range_bytes = attr->range_bytes,
                                   .keep_bytes = attr->keep_bytes,
                                   .coll_table = attr->coll_table};
    struct gsh_sha256 s;
    uint8_t whole[GSH_SHA256_BYTES];
    uint64_t digest;
    gsh_sha256_init(&s);
    gsh_sha256_update(&s, &same, sizeof(same));
    gsh_sha256_finish(&s, whole);
    memcpy(&digest, whole, sizeof(digest));
    return digest;
}

static int compare_uuids(const void *one, const void *other)
{
    const struct gsh_device_attr *a = one, *b = other;
    return memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

/* Whether two of the n GPUs are the same, or there is no memory to find out. */
static bool are_shared(const struct gsh_device_attr *attrs, int n)
{
    struct gsh_device_attr *sorted = calloc((size_t)n, sizeof(*sorted));
    bool is_found = sorted == NULL;
    if (sorted != NULL) {
        memcpy(sorted, attrs, (size_t)n * sizeof(*sorted));
        qsort(sorted, (size_t)n, sizeof(*sorted), compare_uuids);
    }
    for (int i = 1; !is_found && i < n; i++) {
        is_found = compare_uuids(&sorted[i - 1], &sorted[i]) == 0;
    }
    free(sorted);
    return is_found;
}

/* Whether all devices of the node can be used, and are of this PE's kind. */
static bool are_of_one_kind(const struct gsh_device_attr *mine, const struct gsh_device_attr *near,
                            int n)
{
    bool is_same = true;
    for (int i = 0; i < n; i++) {
        is_same = is_same && near[i].result == GSH_OK && near[i].is_cuda == mine->is_cuda;
    }
    return is_same;
}

void gsh_topology_look(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                       const struct gsh_device_attr *near)
{
    for (int i = 0; i < pe->n_pes; i++) {
        struct gsh_near *n = gsh_near_of(pe, i);
        const struct gsh_device_attr *its =
            near != NULL && n != NULL ? &near[pe->peers[i].node_index] : NULL;
        if (n != NULL) {
            n->route_name = i == pe->my_pe ? "self" : pe->device_ops->route(pe, mine, its, i);
        }
    }
}

static bool reaches_its_node(const struct gsh_instance *pe)
{
    bool reaches = true;
    for (int i = 0; i < pe->n_pes; i++) {
        const struct gsh_near *near = gsh_near_of(pe, i);
        reaches = reaches && (near == NULL || near->route_name != NULL);
    }
    return reaches;
}

void gsh_topology_add_own(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                          const struct gsh_device_attr *near, int n_near,
                          struct gsh_device_sum *sum)
{
    const uint64_t digest = digest_of(mine);
    *sum = (struct gsh_device_sum){.memory_bytes = mine->memory_bytes,
                                   .least = digest,
                                   .most = digest,
                                   .n_sms = (uint32_t)mine->n_sms};
    if (!are_of_one_kind(mine, near, n_near)) {
        sum->flags = GSH_DEVICE_IS_SUSPECT;
        return;
    }
    gsh_topology_look(pe, mine, near);
    /* if GSHMEM_NODE_PES divides a host, PEs of its other nodes may have the GPU, too */
    const bool is_suspect = mine->is_cuda && (pe->env.node_pes > 0 || are_shared(near, n_near));
    sum->flags = (is_suspect ? GSH_DEVICE_IS_SUSPECT : 0) |
                 (reaches_its_node(pe) ? 0 : GSH_DEVICE_LACKS_NODE) |
                 (has_whole_lines(pe) ? 0 : GSH_DEVICE_LACKS_LINES);
}

void gsh_topology_fold(void *into, const void *from)
{
    struct gsh_device_sum *mine = into;
    const struct gsh_device_sum *theirs = from;
    mine->memory_bytes = gsh_max_u64(mine->memory_bytes, theirs->memory_bytes);
    mine->least = gsh_min_u64(mine->least, theirs->least);
    mine->most = gsh_max_u64(mine->most, theirs->most);
    mine->n_sms = (uint32_t)gsh_min_u64(mine->n_sms, theirs->n_sms);
    mine->flags |= theirs->flags;
}

/* ---- domains ---- */

/* Takes the last word of each PE's off its view. */
static void take_last_words(struct gsh_instance *pe, uint64_t *views, size_t words)
{
    pe->has_whole_lines = true;
    for (size_t p = 0; p < (size_t)pe->n_pes; p++) {
        pe->has_whole_lines = pe->has_whole_lines && views[p * (words + 1) + words] == 0;
        memmove(views + p * words, views + p * (words + 1), words * sizeof(*views));
    }
}

/* Collective where a PE does not reach its whole node, or this is the only node. */
static enum gsh_result find_domains(struct gsh_instance *pe, const struct gsh_device_sum *sum,
                                    bool *is_whole)
{
    struct gsh_bootstrap *b = pe->job_bootstrap;
    const bool is_known = pe->n_nodes > 1 && (sum->flags & GSH_DEVICE_LACKS_NODE) == 0;
    *is_whole = true;
    if (pe->device_ops->reaches_node || is_known) {
        pe->has_whole_lines =
            !pe->device_ops->reaches_node && (sum->flags & GSH_DEVICE_LACKS_LINES) == 0;
        return gsh_domains_are_nodes(pe->peers, pe->n_pes, pe->n_nodes);
    }
    size_t words = gsh_domains_words(pe->peers, pe->n_pes);
    uint64_t *mine = calloc(words + 1, sizeof(*mine));
    uint64_t *views = calloc((size_t)pe->n_pes * (words + 1), sizeof(*views));
    enum gsh_result r = GSH_OK;
    if (mine == NULL || views == NULL) {
        r = gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    } else {
        look_around(pe, mine);
        mine[words] = !has_whole_lines(pe);
        r = b->ops->allgather(b, mine, (words + 1) * sizeof(*mine), views);
        take_last_words(pe, views, words);
    }
    for (size_t i = 0; r == GSH_OK && i < (size_t)pe->n_pes * words; i++) {
        *is_whole = *is_whole && views[i] == 0;
    }
    if (r == GSH_OK) {
        r = gsh_domains_number(pe->peers, pe->n_pes, pe->n_nodes, views, words);
    }
    free(mine);
    free(views);
    return r;
}

static enum gsh_result number_slots(struct gsh_instance *pe)
{
    pe->my_domain = pe->peers[pe->my_pe].domain;
    pe->far_route = GSH_ROUTE_RING;
    pe->n_slots = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        pe->n_slots += !gsh_is_far(pe, i);
    }
    pe->pe_of_slot = calloc((size_t)pe->n_slots, sizeof(*pe->pe_of_slot));
    if (pe->pe_of_slot == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_slots);
    }
    int n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        struct gsh_near *near = gsh_near_of(pe, i);
        if (near != NULL && gsh_is_far(pe, i)) {
            near->slot = -1;
            near->route_name = NULL; /* the other may not reach this PE */
        } else if (near != NULL) {
            near->slot = n;
            pe->pe_of_slot[n++] = i;
        }
    }
    pe->my_slot = gsh_heap_slot_of(pe, pe->my_pe);
    return GSH_OK;
}

/* Collective, over the job's bootstrap, which is not the network's. */
static enum gsh_result make_net(struct gsh_instance *pe)
{
    enum gsh_result r = gsh_net_introduce(pe, pe->job_bootstrap, GSH_OK);
    if (r == GSH_OK) {
        r = gsh_init_vote(pe, GSH_STEP_NET, gsh_net_start(pe));
        gsh_net_settle(pe);
    }
    return r;
}

enum gsh_result gsh_topology_decide(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                                    const struct gsh_device_sum *sum, uint64_t *stride_bytes)
{
    bool is_whole = true;
    pe->cuda_ordinal = mine->ordinal;
    memcpy(pe->device_name, mine->name, sizeof(pe->device_name));
    limit_blocks(pe, mine->is_cuda != 0, sum->n_sms);
    enum gsh_result r = find_domains(pe, sum, &is_whole);
    if (r == GSH_OK && !is_whole && pe->proxy == NULL && mine->n_parts != 0) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: PEs share GPUs, and not all of these have access to each other");
    }
    if (r == GSH_OK && !is_whole && pe->proxy == NULL) {
        r = make_net(pe); /* one node, and some of its GPUs are far */
    }
    if (r == GSH_OK) {
        r = number_slots(pe);
    }
    if (r == GSH_OK) {
        const uint64_t unit = pe->device_ops->stride_unit_bytes;
        *stride_bytes = mine->range_bytes != 0 ? gsh_align_up(mine->range_bytes, unit)
                                               : pow2_above(sum->memory_bytes, unit);
    }
    return r;
}
