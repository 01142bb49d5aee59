/* SPDX-License-Identifier: Apache-2.0
 * Reachability and routes. The rule: threads of one process and PEs of one node on the CPU device
 * reach each other through host memory; GPUs of one node when the driver grants peer access. The
 * others are far. */
#include "runtime/setup/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bootstrap/agree.h"
#include "proxy/proxy.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/net.h"

static uint64_t pow2_above(uint64_t v, uint64_t least)
{
    uint64_t p = least;
    while (p < v) {
        p <<= 1;
    }
    return p;
}

enum gsh_result gsh_topology_card(struct gsh_instance *pe, struct gsh_device_card *card)
{
    card->range_bytes = pe->env.heap_range_bytes;
    card->keep_bytes = pe->env.heap_keep_bytes;
    card->ordinal = -1;
    pe->coll_table = *pe->device_ops->coll_table;
    enum gsh_result r = gsh_coll_table_read(pe->env.collectives, &pe->coll_table);
    card->coll_table = pe->coll_table;
    return r == GSH_OK ? pe->device_ops->card(pe, card) : r;
}

static enum gsh_result check_shared_gpu(struct gsh_instance *pe,
                                        const struct gsh_device_card *cards)
{
    for (int i = 0; i < pe->n_pes; i++) {
        for (int j = 0; cards[i].is_cuda && j < i; j++) {
            if (pe->peers[i].host_hash == pe->peers[j].host_hash &&
                memcmp(cards[i].uuid, cards[j].uuid, 16) == 0 && !pe->env.share_device) {
                return gsh_fail(GSH_ERR_ARG,
                                "init: PE %d and PE %d both use GPU %d (%s); give each its own, or "
                                "set GSHMEM_SHARE_DEVICE=1 if they are threads of one process, or "
                                "if their kernels never wait for each other",
                                j, i, cards[i].ordinal, cards[i].name);
            }
            if (pe->peers[i].is_same_process && pe->peers[j].is_same_process &&
                memcmp(cards[i].uuid, cards[j].uuid, 16) == 0 && cards[i].n_parts == 0) {
                return gsh_fail(GSH_ERR_ARG,
                                "init: PE %d and PE %d are threads of one process on GPU %d, and "
                                "there are as many GPUs as such PEs: give each its own",
                                j, i, cards[i].ordinal);
            }
        }
    }
    return GSH_OK;
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
                                        const struct gsh_device_card *its,
                                        const struct gsh_device_card *first)
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
                                  const struct gsh_device_card *its,
                                  const struct gsh_device_card *first)
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

static enum gsh_result check_cards(struct gsh_instance *pe, const struct gsh_device_card *cards)
{
    if (cards[pe->my_pe].result != GSH_OK) {
        return (enum gsh_result)cards[pe->my_pe].result; /* its text is already recorded */
    }
    /* Failures on which a PE returns at once come first, so that all PEs return together: the rest
     * is collective. */
    for (int i = 0; i < pe->n_pes; i++) {
        if (cards[i].result != GSH_OK) {
            return gsh_fail((enum gsh_result)cards[i].result,
                            "init: PE %d found no usable device (%s)", i,
                            gsh_result_name((enum gsh_result)cards[i].result));
        }
    }
    struct gsh_agreement all = {.bootstrap = pe->job_bootstrap};
    for (int i = 0; i < pe->n_pes; i++) {
        enum gsh_result r = check_kind(&all, i, &cards[i], &cards[0]);
        if (r != GSH_OK) {
            return r;
        }
    }
    return check_shared_gpu(pe, cards);
}

/* All blocks of a collective run at the same time, and its kernels may need a multiprocessor for
 * each. Two calls may be under way, so each gets half of them; the same number on all PEs. */
static void limit_blocks(struct gsh_instance *pe, const struct gsh_device_card *cards)
{
    for (int i = 0; i < pe->n_pes; i++) {
        uint32_t half = cards[i].n_sms > 1 ? (uint32_t)cards[i].n_sms / 2 : 1;
        if (cards[i].is_cuda && half < pe->coll_table.max_blocks) {
            pe->coll_table.max_blocks = half;
        }
    }
}

/* ---- domains: nodes, or parts of nodes whose GPUs all have access to each other ---- */

/* The route as this PE sees it; NULL: only the network leads there. */
static const char *find_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                              int other)
{
    if (other == pe->my_pe) {
        return "self";
    }
    bool is_in_node = pe->peers[other].node == pe->peers[pe->my_pe].node;
    return is_in_node ? pe->device_ops->route(pe, cards, other) : NULL;
}

/* A PE's view of its node: bit i is set if it cannot reach the node's i-th PE. With more than 64
 * PEs on a node, GPUs are shared; PEs from the 65th on are assumed to reach all. */
static uint64_t blind_mask(const struct gsh_instance *pe)
{
    uint64_t mask = 0;
    int i = 0;
    for (int p = 0; p < pe->n_pes; p++) {
        if (pe->peers[p].node == pe->peers[pe->my_pe].node && i < 64) {
            mask |= (uint64_t)(pe->peers[p].route_name == NULL) << i++;
        }
    }
    return mask;
}

struct seat {
    int index; /* in its node */
    uint64_t blind;
};

static bool see_each_other(struct seat a, struct seat b)
{
    return !(b.index < 64 && (a.blind >> b.index & 1)) &&
           !(a.index < 64 && (b.blind >> a.index & 1));
}

/* Whether pe `p` and all members so far of the domain of first member `d` see each other. */
static bool fits(const struct gsh_instance *pe, const struct seat *seats, int d, int p)
{
    bool all = pe->peers[d].node == pe->peers[p].node && pe->peers[d].domain == d;
    for (int m = d; all && m < p; m++) {
        all = pe->peers[m].domain != d || see_each_other(seats[m], seats[p]);
    }
    return all;
}

/* Every PE computes the same result: in order, each PE joins the first domain that it fits in. A
 * domain's number is its first member's. */
static void number_domains(struct gsh_instance *pe, const struct seat *seats, bool is_whole)
{
    int *first = calloc((size_t)pe->n_nodes, sizeof(*first)); /* 1 + the first PE of a node */
    if (first == NULL) {
        gsh_abort(pe, 1, "init: no memory for %d nodes", pe->n_nodes);
    }
    for (int p = 0; p < pe->n_pes; p++) {
        int node = pe->peers[p].node;
        first[node] = first[node] == 0 ? 1 + p : first[node];
        int d = first[node] - 1;
        while (!is_whole && d < p && !fits(pe, seats, d, p)) {
            d++;
        }
        pe->peers[p].domain = d;
    }
    free(first);
}

/* Collective. */
static enum gsh_result find_domains(struct gsh_instance *pe, bool *is_whole)
{
    struct gsh_bootstrap *b = pe->job_bootstrap;
    uint64_t mine = blind_mask(pe);
    uint64_t *masks = calloc((size_t)pe->n_pes, sizeof(*masks));
    struct seat *seats = calloc((size_t)pe->n_pes, sizeof(*seats));
    int *met = calloc((size_t)pe->n_nodes, sizeof(*met));
    enum gsh_result r = GSH_OK;
    *is_whole = true;
    if (masks == NULL || seats == NULL || met == NULL) {
        r = gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    } else if (!pe->device_ops->reaches_node) {
        r = b->ops->allgather(b, &mine, sizeof(mine), masks);
    }
    for (int p = 0; r == GSH_OK && p < pe->n_pes; p++) {
        seats[p] = (struct seat){.index = met[pe->peers[p].node]++, .blind = masks[p]};
        *is_whole = *is_whole && masks[p] == 0;
    }
    if (r == GSH_OK) {
        number_domains(pe, seats, *is_whole);
    }
    free(masks);
    free(seats);
    free(met);
    return r;
}

static enum gsh_result number_slots(struct gsh_instance *pe)
{
    pe->slot_of = calloc((size_t)pe->n_pes, sizeof(*pe->slot_of));
    pe->route_of = calloc((size_t)pe->n_pes, sizeof(*pe->route_of));
    pe->pe_of_slot = calloc((size_t)pe->n_pes, sizeof(*pe->pe_of_slot));
    if (pe->slot_of == NULL || pe->route_of == NULL || pe->pe_of_slot == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_pes);
    }
    pe->n_slots = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        bool is_near = pe->peers[i].domain == pe->peers[pe->my_pe].domain;
        pe->slot_of[i] = is_near ? pe->n_slots : -1;
        pe->route_of[i] = is_near ? GSH_ROUTE_NEAR : GSH_ROUTE_RING;
        if (is_near) {
            pe->pe_of_slot[pe->n_slots++] = i;
        } else {
            pe->peers[i].route_name = gsh_proxy_transport_name(pe->proxy);
        }
    }
    pe->my_slot = pe->slot_of[pe->my_pe];
    return GSH_OK;
}

enum gsh_result gsh_topology_decide(struct gsh_instance *pe, const struct gsh_device_card *cards,
                                    uint64_t *stride_bytes)
{
    enum gsh_result r = check_cards(pe, cards);
    uint64_t memory = 0;
    bool is_whole = true;
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        struct gsh_peer *peer = &pe->peers[i];
        peer->cuda_ordinal = cards[i].ordinal;
        memcpy(peer->device_name, cards[i].name, sizeof(peer->device_name));
        peer->route_name = find_route(pe, cards, i);
        memory = gsh_max_u64(memory, cards[i].memory_bytes);
    }
    if (r == GSH_OK) {
        limit_blocks(pe, cards);
        r = find_domains(pe, &is_whole);
    }
    if (r == GSH_OK && !is_whole && pe->proxy == NULL && cards[pe->my_pe].n_parts != 0) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: PEs share GPUs, and not all of these have access to each other");
    }
    if (r == GSH_OK && !is_whole && pe->proxy == NULL) {
        r = gsh_net_create(pe, pe->job_bootstrap); /* one node, and some of its GPUs are far */
    }
    if (r == GSH_OK) {
        r = number_slots(pe);
    }
    if (r == GSH_OK) {
        const uint64_t unit = pe->device_ops->stride_unit_bytes;
        *stride_bytes = cards[0].range_bytes != 0 ? gsh_align_up(cards[0].range_bytes, unit)
                                                  : pow2_above(memory, unit);
    }
    return r;
}
