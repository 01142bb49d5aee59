/* SPDX-License-Identifier: Apache-2.0
 * Reachability and routes. The rule: threads of one process and PEs of one node on the CPU device
 * reach each other through host memory; GPUs of one node when the driver grants peer access. The
 * others are far. */
#include "runtime/setup/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bootstrap/agree.h"
#include "gshmemx.h"
#include "proxy/proxy.h"
#include "runtime/base/cuda.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/net.h"

#define HEAP_GRANULE (2ull << 20)
#define HOST_RANGE   (64ull << 30) /* the most one PE's heap takes on the CPU device by default */

static uint64_t pow2_above(uint64_t v, uint64_t least)
{
    uint64_t p = least;
    while (p < v) {
        p <<= 1;
    }
    return p;
}

#ifdef GSH_HAVE_CUDA
static enum gsh_result cuda_card(struct gsh_device_card *card)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdevice device;
    CUuuid uuid;
    size_t total = 0;
    enum gsh_result r = gsh_cuda_result(cuda->CtxGetDevice(&device), "cuCtxGetDevice");
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceTotalMem(&total, device), "cuDeviceTotalMem");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceGetName(card->name, sizeof(card->name), device),
                            "cuDeviceGetName");
    }
    if (r == GSH_OK) {
        memcpy(card->uuid, &uuid, sizeof(card->uuid));
        card->ordinal = (int)device;
        card->memory_bytes = total;
    }
    return r;
}

/* This process's ordinal of the GPU with that uuid; -1: not visible here. */
static int find_ordinal(const uint8_t uuid[16])
{
    const struct gsh_cuda *cuda = gsh_cuda();
    int n = 0;
    if (cuda->DeviceGetCount(&n) != CUDA_SUCCESS) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        CUuuid u;
        if (cuda->DeviceGetUuid(&u, i) == CUDA_SUCCESS && memcmp(&u, uuid, 16) == 0) {
            return i;
        }
    }
    return -1;
}

static int p2p_attribute(CUdevice_P2PAttribute what, int from, int to)
{
    int value = 0;
    return gsh_cuda()->DeviceGetP2PAttribute(&value, what, from, to) == CUDA_SUCCESS ? value : 0;
}

/* NULL: no load or store reaches it. */
static const char *cuda_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                              int other)
{
    int mine = cards[pe->my_pe].ordinal;
    int theirs = find_ordinal(cards[other].uuid);
    if (memcmp(cards[pe->my_pe].uuid, cards[other].uuid, 16) == 0) {
        return "same gpu";
    }
    if (theirs < 0) {
        return "nvlink"; /* hidden from this process; importing its memory will tell */
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, mine, theirs)) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE,
                "GPU %d (%s) has no peer access to PE %d's GPU: no NVLink, and PCIe peer access is "
                "off",
                mine, cards[pe->my_pe].name, other);
        return NULL;
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, mine, theirs)) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_DEVICE,
                "the link to PE %d's GPU has no atomics: AMOs on it "
                "are atomic only among this GPU's own",
                other);
        return "pcie";
    }
    return "nvlink";
}
#else
static enum gsh_result cuda_card(struct gsh_device_card *card)
{
    (void)card;
    return gsh_fail(GSH_ERR_BUG, "this build has no CUDA");
}

static const char *cuda_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                              int other)
{
    (void)pe;
    (void)cards;
    (void)other;
    return NULL;
}
#endif

enum gsh_result gsh_topology_card(struct gsh_instance *pe, struct gsh_device_card *card)
{
    card->is_cuda = strcmp(pe->device_ops->name, "cuda") == 0;
    card->range_bytes = pe->env.heap_range_bytes;
    card->keep_bytes = pe->env.heap_keep_bytes;
    card->ordinal = -1;
    if (card->is_cuda) {
        return cuda_card(card);
    }
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    card->memory_bytes = gsh_min_u64((uint64_t)pages * (uint64_t)page, HOST_RANGE);
    snprintf(card->name, sizeof(card->name), "cpu");
    return GSH_OK;
}

static enum gsh_result check_shared_gpu(struct gsh_instance *pe,
                                        const struct gsh_device_card *cards)
{
    for (int i = 0; i < pe->n_pes; i++) {
        for (int j = 0; cards[i].is_cuda && j < i; j++) {
            if (pe->peers[i].host_hash == pe->peers[j].host_hash &&
                memcmp(cards[i].uuid, cards[j].uuid, 16) == 0 && !pe->env.share_device) {
                return gsh_fail(GSH_ERR_ARG,
                                "init: PE %d and PE %d both use GPU %d (%s); give "
                                "each its own, or set GSHMEM_SHARE_DEVICE=1 if their kernels never "
                                "wait for each other",
                                j, i, cards[i].ordinal, cards[i].name);
            }
            if (pe->peers[i].is_same_process && pe->peers[j].is_same_process &&
                memcmp(cards[i].uuid, cards[j].uuid, 16) == 0) {
                return gsh_fail(GSH_ERR_ARG,
                                "init: PE %d and PE %d are threads of one process "
                                "and need a GPU each",
                                j, i);
            }
        }
    }
    return GSH_OK;
}

/* These two are collective, with the same arguments on all PEs, and tell a difference once. */
static enum gsh_result check_bytes(struct gsh_agreement *all, const char *name, int other,
                                   uint64_t its, uint64_t first)
{
    if (its == first) {
        return GSH_OK;
    }
    return gsh_agree_fail(all, GSH_ERR_SYMMETRY, "init: %s is %llu bytes on PE %d and %llu on PE 0",
                          name, (unsigned long long)its, other, (unsigned long long)first);
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
    return r == GSH_OK
               ? check_bytes(all, "GSHMEM_HEAP_KEEP", other, its->keep_bytes, first->keep_bytes)
               : r;
}

static enum gsh_result check_cards(struct gsh_instance *pe, const struct gsh_device_card *cards)
{
    if (cards[pe->my_pe].result != GSH_OK) {
        return (enum gsh_result)cards[pe->my_pe].result; /* has been worded */
    }
    /* First what some return with at once, so that all of the others do: the rest is collective. */
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

/* ---- domains: nodes, or the parts of them whose GPUs all have access to each other ---- */

/* The route as this PE sees it; NULL: there is none but the network. */
static const char *find_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                              int other)
{
    const struct gsh_peer *peer = &pe->peers[other];
    if (other == pe->my_pe) {
        return "self";
    }
    if (peer->node != pe->peers[pe->my_pe].node) {
        return NULL;
    }
    if (cards[other].is_cuda) {
        return cuda_route(pe, cards, other);
    }
    return peer->instance != NULL ? "thread" : "memory";
}

/* What a PE says of its node: bit i, that it cannot reach the node's i-th PE. More than 64 PEs of a
 * node share GPUs, and those from the 65th on are taken to reach all. */
static uint64_t blind_mask(const struct gsh_instance *pe)
{
    uint64_t mask = 0;
    int i = 0;
    for (int p = 0; p < pe->n_pes; p++) {
        if (pe->peers[p].node == pe->peers[pe->my_pe].node && i < 64) {
            mask |= (uint64_t)(pe->peers[p].route == NULL) << i++;
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

/* Every PE comes to the same: each PE in order joins the first domain that it fits in. The number
 * of a domain is its first member. */
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
static enum gsh_result find_domains(struct gsh_instance *pe, bool is_cuda, bool *is_whole)
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
    } else if (is_cuda) {
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
    pe->pe_of_slot = calloc((size_t)pe->n_pes, sizeof(*pe->pe_of_slot));
    if (pe->slot_of == NULL || pe->pe_of_slot == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_pes);
    }
    pe->n_slots = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        bool is_near = pe->peers[i].domain == pe->peers[pe->my_pe].domain;
        pe->slot_of[i] = is_near ? pe->n_slots : -1;
        if (is_near) {
            pe->pe_of_slot[pe->n_slots++] = i;
        } else {
            pe->peers[i].route = gsh_proxy_transport_name(pe->proxy);
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
        peer->route = find_route(pe, cards, i);
        memory = gsh_max_u64(memory, cards[i].memory_bytes);
    }
    if (r == GSH_OK) {
        r = find_domains(pe, cards[0].is_cuda, &is_whole);
    }
    if (r == GSH_OK && !is_whole && pe->proxy == NULL) {
        r = gsh_net_create(pe, pe->job_bootstrap); /* one node, and some of its GPUs are far */
    }
    if (r == GSH_OK) {
        r = number_slots(pe);
    }
    if (r == GSH_OK) {
        const uint64_t unit = cards[0].is_cuda ? GSH_GPU_STRIDE_UNIT : HEAP_GRANULE;
        *stride_bytes = cards[0].range_bytes != 0 ? gsh_align_up(cards[0].range_bytes, unit)
                                                  : pow2_above(memory, unit);
    }
    return r;
}
