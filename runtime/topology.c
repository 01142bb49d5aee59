/* SPDX-License-Identifier: Apache-2.0
 * Reachability and routes. The rule: threads of one process and PEs of one host on the CPU device
 * reach each other through host memory; GPUs of one host when the driver grants peer access. */
#include "runtime/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gshmemx.h"
#include "runtime/base/cuda.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"

#define HEAP_GRANULE (2u << 20)
#define HOST_RANGE   (64ull << 30) /* the most one PE's heap takes on the CPU device by default */

static uint64_t pow2_above(uint64_t v)
{
    uint64_t p = HEAP_GRANULE;
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

static enum gsh_result cuda_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                                  int other)
{
    struct gsh_peer *peer = &pe->peers[other];
    int mine = cards[pe->my_pe].ordinal;
    int theirs = find_ordinal(cards[other].uuid);
    peer->route = "nvlink";
    if (memcmp(cards[pe->my_pe].uuid, cards[other].uuid, 16) == 0) {
        peer->route = "same gpu";
        return GSH_OK;
    }
    if (theirs < 0) {
        return GSH_OK; /* hidden from this process; importing its memory will tell */
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, mine, theirs)) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: PE %d's GPU %d (%s) has no peer access to PE "
                        "%d's GPU: no NVLink, and PCIe peer access is off; the network route is "
                        "not available",
                        pe->my_pe, mine, cards[pe->my_pe].name, other);
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, mine, theirs)) {
        peer->route = "pcie";
        gsh_log(GSH_LOG_WARN, GSH_LOG_DEVICE,
                "the link to PE %d's GPU has no atomics: AMOs on it "
                "are atomic only among this GPU's own",
                other);
    }
    return GSH_OK;
}
#else
static enum gsh_result cuda_card(struct gsh_device_card *card)
{
    (void)card;
    return gsh_fail(GSH_ERR_BUG, "this build has no CUDA");
}

static enum gsh_result cuda_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                                  int other)
{
    (void)cards;
    return gsh_fail(GSH_ERR_BUG, "PE %d: no CUDA route to %d in this build", pe->my_pe, other);
}
#endif

enum gsh_result gsh_topology_card(struct gsh_instance *pe, struct gsh_device_card *card)
{
    card->is_cuda = strcmp(pe->device_ops->name, "cuda") == 0;
    card->range_bytes = pe->env.heap_range_bytes;
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
            if (pe->peers[i].node == pe->peers[j].node &&
                memcmp(cards[i].uuid, cards[j].uuid, 16) == 0 && !pe->env.share_device) {
                return gsh_fail(GSH_ERR_ARG,
                                "init: PE %d and PE %d both use GPU %d (%s); give "
                                "each its own, or set GSHMEM_SHARE_DEVICE=1 if their kernels never "
                                "wait for each other",
                                j, i, cards[i].ordinal, cards[i].name);
            }
            if (pe->peers[i].instance != NULL && pe->peers[j].instance != NULL &&
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

static enum gsh_result check_kinds(struct gsh_instance *pe, const struct gsh_device_card *cards)
{
    if (cards[pe->my_pe].result != GSH_OK) {
        return (enum gsh_result)cards[pe->my_pe].result; /* has been worded */
    }
    for (int i = 0; i < pe->n_pes; i++) {
        if (cards[i].result != GSH_OK) {
            return gsh_fail((enum gsh_result)cards[i].result,
                            "init: PE %d found no usable device (%s)", i,
                            gsh_result_name((enum gsh_result)cards[i].result));
        }
        if (cards[i].is_cuda != cards[0].is_cuda) {
            return gsh_fail(GSH_ERR_SYMMETRY,
                            "init: PE %d runs on %s and PE 0 on %s; set "
                            "GSHMEM_DEVICE to the same on all",
                            i, cards[i].is_cuda ? "CUDA" : "the CPU device",
                            cards[0].is_cuda ? "CUDA" : "the CPU device");
        }
        if (cards[i].range_bytes != cards[0].range_bytes) {
            return gsh_fail(GSH_ERR_SYMMETRY,
                            "init: GSHMEM_HEAP_RANGE is %llu bytes on PE %d and "
                            "%llu on PE 0",
                            (unsigned long long)cards[i].range_bytes, i,
                            (unsigned long long)cards[0].range_bytes);
        }
    }
    return check_shared_gpu(pe, cards);
}

static enum gsh_result find_route(struct gsh_instance *pe, const struct gsh_device_card *cards,
                                  int other)
{
    struct gsh_peer *peer = &pe->peers[other];
    peer->cuda_ordinal = cards[other].ordinal;
    memcpy(peer->device_name, cards[other].name, sizeof(peer->device_name));
    if (other == pe->my_pe) {
        peer->route = "self";
        return GSH_OK;
    }
    if (peer->node != pe->peers[pe->my_pe].node) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: PE %d is on another host: the network route "
                        "is not available",
                        other);
    }
    if (cards[other].is_cuda) {
        return cuda_route(pe, cards, other);
    }
    peer->route = peer->instance != NULL ? "thread" : "memory";
    return GSH_OK;
}

enum gsh_result gsh_topology_decide(struct gsh_instance *pe, const struct gsh_device_card *cards,
                                    uint64_t *stride_bytes)
{
    enum gsh_result r = check_kinds(pe, cards);
    uint64_t memory = 0;
    pe->slot_of = calloc((size_t)pe->n_pes, sizeof(*pe->slot_of));
    pe->pe_of_slot = calloc((size_t)pe->n_pes, sizeof(*pe->pe_of_slot));
    if (r == GSH_OK && (pe->slot_of == NULL || pe->pe_of_slot == NULL)) {
        r = gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_pes);
    }
    pe->n_slots = 0;
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        r = find_route(pe, cards, i);
        memory = gsh_max_u64(memory, cards[i].memory_bytes);
        pe->slot_of[i] = pe->n_slots;
        pe->pe_of_slot[pe->n_slots++] = i;
    }
    if (r == GSH_OK) {
        pe->my_slot = pe->slot_of[pe->my_pe];
        *stride_bytes = cards[0].range_bytes != 0 ? gsh_align_up(cards[0].range_bytes, HEAP_GRANULE)
                                                  : pow2_above(memory);
    }
    return r;
}

const char *gshmemx_route_name(int target)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_route_name");
    return target < 0 || target >= pe->n_pes ? NULL : pe->peers[target].route;
}

const char *gshmemx_device_name(void)
{
    struct gsh_instance *pe = gsh_instance_current();
    return pe == NULL || !pe->is_device_ready ? NULL : pe->peers[pe->my_pe].device_name;
}
