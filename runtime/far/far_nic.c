/* SPDX-License-Identifier: Apache-2.0
 * Makes the adapters to which this PE's kernels post by themselves: finds out whether there are
 * any, and joins their queues to those of the far PEs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "nic/nic.h"
#include "runtime/far/affinity.h"
#include "runtime/far/far.h"
#include "runtime/far/nic_numbers.h"
#include "runtime/far/nic_queues.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/trace/kernels.h"

#define ADDRESS_MAX         128
#define ALLOCATED_ALIGNMENT 65536u

#define SPEAK_NS      300000000u
#define SPEAK_STEP_NS 200000000u
#define SPEAK_STEPS   20u

/* A PE that does not answer has perhaps found the reason, and will say it: others speak only if it
 * does not, one after another. */
static void await_speaker(struct gsh_instance *pe)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    const uint64_t limit_ns =
        SPEAK_NS + SPEAK_STEP_NS * gsh_min_u64((uint64_t)pe->my_pe, SPEAK_STEPS);
    for (uint64_t start_ns = gsh_now_ns();
         gsh_now_ns() - start_ns < limit_ns && !gsh_page_is_ending(pe->page);) {
        nanosleep(&nap, NULL);
    }
}

static void on_fail(void *context, int peer, bool is_silent, const char *text)
{
    struct gsh_instance *pe = context;
    (void)peer;
    if (is_silent) {
        await_speaker(pe);
    }
    if (!gsh_page_is_ending(pe->page)) {
        gsh_abort(pe, 1, "%s", text);
    }
}

static void on_thread_start(void *context)
{
    const struct gsh_instance *pe = context;
    gsh_log_set_pe(pe->my_pe);
}

static enum gsh_result share(void *context, void *memory, uint64_t bytes, int *fd)
{
    struct gsh_instance *pe = context;
    return pe->device_ops->share_memory(pe, memory, bytes, fd);
}

static bool nearness(void *context, const char *pci_bus, const char *const *names, unsigned n,
                     unsigned *near)
{
    const struct gsh_instance *pe = context;
    return gsh_affinity_nearness(pe->env.hwloc_plugin, pci_bus, names, n, near);
}

static enum gsh_result copy(void *context, void *dest, const void *source, uint64_t bytes)
{
    struct gsh_instance *pe = context;
    return pe->device_ops->proxy_copy(pe, dest, source, bytes);
}

/* Of the device's own memory; of a device whose memory is the host's: of that. */
static enum gsh_result allocate(void *context, uint64_t bytes, void **memory)
{
    struct gsh_instance *pe = context;
    uint64_t address = 0;
    void *zeros = aligned_alloc(ALLOCATED_ALIGNMENT, gsh_align_up(bytes, ALLOCATED_ALIGNMENT));
    if (zeros == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the NIC's queues");
    }
    memset(zeros, 0, bytes);
    if (pe->device_ops->allocate == NULL) {
        *memory = zeros;
        return GSH_OK;
    }
    enum gsh_result r = pe->device_ops->allocate(pe, bytes, &address);
    if (r == GSH_OK) {
        *memory = (void *)(uintptr_t)address;
        r = pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, *memory, zeros, bytes);
    }
    free(zeros);
    return r;
}

static void release(void *context, void *memory)
{
    struct gsh_instance *pe = context;
    if (pe->device_ops->release == NULL) {
        free(memory);
    } else {
        pe->device_ops->release(pe, (uint64_t)(uintptr_t)memory);
    }
}

static enum gsh_result check_settings(const struct gsh_instance *pe)
{
    const int queues = pe->env.nic_queues, depth = pe->env.nic_depth;
    if (queues > GSH_NIC_QUEUES_MAX) {
        return gsh_note(GSH_ERR_ARG, "GSHMEM_NIC_QUEUES=%d is more than %d", queues,
                        GSH_NIC_QUEUES_MAX);
    }
    if (!gsh_is_pow2((uint64_t)depth) || depth > (int)GSH_WQ_DEPTH_MAX) {
        return gsh_note(GSH_ERR_ARG, "GSHMEM_NIC_DEPTH=%d is not a power of two from %u to %u",
                        depth, GSH_WQ_DEPTH_MIN, GSH_WQ_DEPTH_MAX);
    }
    if (pe->env.nic_stripes > GSH_NIC_STRIPES_MAX || pe->env.nic_stripes > queues) {
        return gsh_note(GSH_ERR_ARG,
                        "GSHMEM_NIC_STRIPES=%d is more than %d, or than GSHMEM_NIC_QUEUES=%d",
                        pe->env.nic_stripes, GSH_NIC_STRIPES_MAX, queues);
    }
    return GSH_OK;
}

static enum gsh_result make_adapter(struct gsh_instance *pe, struct gsh_far_nic *nic, uint32_t i)
{
    struct gsh_nic_stripe *stripe = &nic->stripes[i];
    char pci_bus[32] = "";
    struct gsh_adapter_options options = {
        .my_pe = pe->my_pe,
        .n_pes = pe->n_pes,
        .name = pe->env.nic,
        .settings = pe->env.nic_model,
        .plugin = pe->env.nic_plugin,
        .pci_bus = pci_bus,
        .nearness = nearness,
        .port = pe->env.nic_port,
        .gid = pe->env.nic_gid,
        .traffic_class = pe->env.nic_traffic_class,
        .service_level = pe->env.nic_service_level,
        .retry = pe->env.nic_retry,
        .timeout = pe->env.nic_timeout,
        .stripe = i,
        .n_stripes = nic->n_stripes,
        .n_queues = (uint32_t)pe->n_pes * gsh_nic_stripe_queues_to(nic),
        .depth = (uint32_t)pe->env.nic_depth,
        .is_one_process = pe->is_one_process,
        .outlives_losses = pe->outlives_deaths,
        .context = pe,
        .fail = on_fail,
        .thread_start = on_thread_start,
        .share = pe->device_ops->share_memory != NULL ? share : NULL,
        .copy = !pe->device_ops->is_memory_host ? copy : NULL,
        .in_device = strcmp(pe->env.nic_memory, "gpu") == 0,
        .allocate = allocate,
        .release = release,
    };
    if (pe->device_ops->pci_bus != NULL) {
        pe->device_ops->pci_bus(pe, pci_bus, sizeof(pci_bus));
    }
    enum gsh_result r = gsh_adapter_create(&options, &stripe->adapter);
    if (r == GSH_OK && !stripe->adapter->reads_cuda && !pe->device_ops->is_memory_host) {
        r = gsh_note(GSH_ERR_UNSUPPORTED,
                     "GSHMEM_NIC=%s: the adapter does not reach the memory of GPUs",
                     stripe->adapter->ops->name);
    }
    return r;
}

static void wake_all(void *context)
{
    const struct gsh_far_nic *nic = context;
    for (uint32_t i = 0; i < nic->n_stripes; i++) {
        const struct gsh_nic_wake *wake = nic->stripes[i].adapter->wake;
        if (wake != NULL) {
            wake->call(wake->context);
        }
    }
}

static enum gsh_result make_adapters(struct gsh_instance *pe, struct gsh_far_nic *nic)
{
    enum gsh_result r = check_settings(pe);
    for (uint32_t i = 0; r == GSH_OK && i < nic->n_stripes; i++) {
        r = make_adapter(pe, nic, i);
    }
    if (r == GSH_OK) {
        nic->wake = (struct gsh_nic_wake){.call = wake_all, .context = nic};
        nic->sites = calloc(gsh_nic_n_all_queues(nic), sizeof(*nic->sites));
        r = nic->sites != NULL
                ? gsh_nic_used_create(pe, gsh_nic_n_all_queues(nic), &nic->used)
                : gsh_note(GSH_ERR_NOMEM, "no memory for %u queues", gsh_nic_n_all_queues(nic));
    }
    return r;
}

/* Collective. */
static enum gsh_result exchange(struct gsh_instance *pe, struct gsh_adapter *a)
{
    struct address {
        uint64_t bytes;
        uint8_t blob[ADDRESS_MAX];
    } mine = {0}, *all = calloc((size_t)pe->n_pes, sizeof(*all));
    const void *blob = NULL;
    size_t bytes = 0;
    enum gsh_result r = a->ops->address(a, &blob, &bytes);
    if (all == NULL) {
        /* the others wait in the same call: this PE cannot leave them there */
        gsh_abort(pe, 1, "no host memory for the NICs of %d PEs", pe->n_pes);
    }
    if (r == GSH_OK && bytes <= sizeof(mine.blob)) {
        memcpy(mine.blob, blob, bytes);
        mine.bytes = bytes;
    }
    enum gsh_result gathered =
        pe->job_bootstrap->ops->allgather(pe->job_bootstrap, &mine, sizeof(mine), all);
    r = gathered != GSH_OK ? gathered : r;
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        if (gsh_is_far(pe, i)) {
            r = a->ops->set_peer(a, i, all[i].blob, gsh_min_u64(all[i].bytes, ADDRESS_MAX));
        }
    }
    free(all);
    return r;
}

/* Those to a PE one after another: see nic_numbers.h. */
static enum gsh_result create_queues(struct gsh_instance *pe, struct gsh_far_nic *nic)
{
    enum gsh_result r = GSH_OK;
    for (int peer = 0; r == GSH_OK && peer < pe->n_pes; peer++) {
        for (uint32_t k = 0; r == GSH_OK && gsh_is_far(pe, peer) && k < gsh_nic_n_queues_to(nic);
             k++) {
            struct gsh_adapter *a = gsh_nic_stripe_of(nic, k)->adapter;
            r = a->ops->create_queue(a, gsh_nic_in_stripe(nic, peer, k),
                                     &nic->sites[gsh_nic_queue_to(nic, peer, k)]);
        }
    }
    return r;
}

/* Far PEs in an order that is another for each PE. */
static int far_at(const struct gsh_instance *pe, int distance)
{
    const int peer = (pe->my_pe + distance) % pe->n_pes;
    return gsh_is_far(pe, peer) ? peer : -1;
}

static enum gsh_result send_numbers(struct gsh_instance *pe, const struct gsh_far_nic *nic,
                                    uint32_t *numbers)
{
    enum gsh_result r = GSH_OK;
    for (int d = 1; r == GSH_OK && d < pe->n_pes; d++) {
        const int to = far_at(pe, d);
        for (uint32_t k = 0; to >= 0 && k < gsh_nic_n_queues_to(nic); k++) {
            numbers[k] = nic->sites[gsh_nic_queue_to(nic, to, k)].number;
        }
        r = to >= 0 ? gsh_nic_numbers_send(pe, to, numbers, gsh_nic_n_queues_to(nic)) : r;
    }
    return r;
}

static enum gsh_result connect_to(struct gsh_far_nic *nic, int peer, const uint32_t *numbers)
{
    enum gsh_result r = GSH_OK;
    for (uint32_t k = 0; r == GSH_OK && k < gsh_nic_n_queues_to(nic); k++) {
        struct gsh_adapter *a = gsh_nic_stripe_of(nic, k)->adapter;
        r = a->ops->connect_queue(a, gsh_nic_in_stripe(nic, peer, k), peer,
                                  gsh_nic_in_stripe(nic, nic->pe->my_pe, k), numbers[k]);
    }
    return r;
}

/* Each PE hears the numbers of all, also after a failure of its own. */
static enum gsh_result connect_queues(struct gsh_instance *pe, struct gsh_far_nic *nic)
{
    const bool tells = nic->stripes[0].adapter->tells_numbers;
    uint32_t *numbers = calloc(gsh_nic_n_queues_to(nic), sizeof(*numbers));
    if (numbers == NULL) {
        gsh_abort(pe, 1, "no host memory for the NICs of %d PEs", pe->n_pes); /* as in exchange */
    }
    enum gsh_result r = tells ? send_numbers(pe, nic, numbers) : GSH_OK, connected = GSH_OK;
    for (int d = pe->n_pes - 1; r == GSH_OK && d > 0; d--) {
        const int peer = far_at(pe, d);
        if (peer < 0) {
            continue;
        }
        r = tells ? gsh_nic_numbers_receive(pe, peer, numbers, gsh_nic_n_queues_to(nic)) : GSH_OK;
        if (r == GSH_OK && connected == GSH_OK) {
            connected = connect_to(nic, peer, numbers);
        }
    }
    free(numbers);
    return r == GSH_OK ? connected : r;
}

/* What kernels reach of it; *rings_for_kernels: not the registers. */
static enum gsh_result map(struct gsh_instance *pe, struct gsh_nic_stripe *stripe,
                           bool *rings_for_kernels)
{
    struct gsh_adapter *a = stripe->adapter;
    const bool is_asked = strcmp(pe->env.nic_doorbell, "gpu") == 0;
    enum gsh_result r =
        pe->device_ops->map_host(pe, a->memory, a->memory_bytes, &stripe->device_memory);
    *rings_for_kernels = false;
    if (r != GSH_OK || a->registers == NULL) {
        return r;
    }
    if (strcmp(pe->env.nic_doorbell, "host") != 0) {
        r = pe->device_ops->map_registers(pe, a->registers, a->registers_bytes,
                                          &stripe->device_registers);
        stripe->device_registers = r == GSH_OK ? stripe->device_registers : 0;
    }
    *rings_for_kernels = stripe->device_registers == 0;
    if (*rings_for_kernels && !is_asked) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE,
                "a thread of the host rings the NIC's doorbells for kernels%s%s",
                r != GSH_OK ? ": " : "", r != GSH_OK ? gsh_last_error() : "");
        r = GSH_OK;
    }
    return r;
}

static enum gsh_result start(struct gsh_instance *pe, struct gsh_nic_stripe *stripe)
{
    bool rings_for_kernels = false;
    enum gsh_result r = map(pe, stripe, &rings_for_kernels);
    return r == GSH_OK ? stripe->adapter->ops->start(stripe->adapter, rings_for_kernels) : r;
}

/* Collective: the first failure of some PE is the result of all, in its words. */
static enum gsh_result vote(struct gsh_instance *pe, enum gsh_result mine)
{
    struct outcome {
        int32_t result;
        char why[252];
    } own = {.result = (int32_t)mine}, *all = calloc((size_t)pe->n_pes, sizeof(*all));
    int first = 0;
    if (all == NULL) {
        gsh_abort(pe, 1, "no host memory for the NICs of %d PEs", pe->n_pes); /* as in exchange */
    }
    if (mine != GSH_OK) {
        snprintf(own.why, sizeof(own.why), "%s", gsh_last_error());
    }
    enum gsh_result r =
        pe->job_bootstrap->ops->allgather(pe->job_bootstrap, &own, sizeof(own), all);
    while (r == GSH_OK && first < pe->n_pes && all[first].result == GSH_OK) {
        first++;
    }
    if (r == GSH_OK && first < pe->n_pes) {
        r = gsh_note((enum gsh_result)all[first].result, "%.*s", (int)sizeof(all[first].why),
                     all[first].why);
    }
    free(all);
    return r;
}

static enum gsh_result make_all(struct gsh_instance *pe, struct gsh_far_nic *nic)
{
    enum gsh_result r = pe->device_ops->make_room_for_stacks != NULL
                            ? pe->device_ops->make_room_for_stacks(pe)
                            : GSH_OK;
    r = vote(pe, r == GSH_OK ? make_adapters(pe, nic) : r);
    for (uint32_t i = 0; r == GSH_OK && i < nic->n_stripes; i++) {
        r = vote(pe, exchange(pe, nic->stripes[i].adapter));
    }
    if (r == GSH_OK) {
        r = vote(pe, create_queues(pe, nic));
    }
    if (r == GSH_OK) {
        r = connect_queues(pe, nic);
        for (uint32_t i = 0; r == GSH_OK && i < nic->n_stripes; i++) {
            r = start(pe, &nic->stripes[i]);
        }
        r = vote(pe, r);
    }
    return r;
}

static void destroy(struct gsh_instance *pe, struct gsh_far_nic *nic)
{
    for (uint32_t i = 0; i < nic->n_stripes; i++) {
        struct gsh_adapter *a = nic->stripes[i].adapter;
        if (a != NULL && pe->device_ops != NULL) {
            pe->device_ops->unmap_host(pe, a->memory);
            pe->device_ops->unmap_host(pe, a->registers);
        }
        gsh_adapter_destroy(&nic->stripes[i].adapter);
    }
    gsh_nic_used_destroy(pe, &nic->used);
    free(nic->sites);
    free(nic->looks);
    free(nic->counted);
    free(nic);
}

static bool is_explicit(const struct gsh_instance *pe)
{
    return strcmp(pe->env.remote, "nic") == 0;
}

enum gsh_far_nic_kind gsh_far_nic_kind(const struct gsh_instance *pe)
{
    if (!is_explicit(pe) && (strcmp(pe->env.remote, "auto") != 0 || pe->env.nic[0] == '\0')) {
        return GSH_FAR_NIC_NONE;
    }
    return gsh_adapter_is_model(pe->env.nic) ? GSH_FAR_NIC_MODEL : GSH_FAR_NIC_REAL;
}

/* What this PE's kernels post to. */
static void tell_names(const struct gsh_far_nic *nic)
{
    char names[GSH_NIC_STRIPES_MAX * (GSH_ADAPTER_NAME + 2)] = "";
    for (uint32_t i = 0; i < nic->n_stripes; i++) {
        const size_t n = strlen(names);
        snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "",
                 nic->stripes[i].adapter->name);
    }
    gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE, "kernels post to the NIC %s, in queues of %u blocks",
            names, nic->stripes[0].adapter->options.depth);
}

enum gsh_result gsh_far_nic_create(struct gsh_instance *pe)
{
    struct gsh_agreement all = {.bootstrap = pe->job_bootstrap};
    char why[512];
    if (gsh_far_nic_kind(pe) == GSH_FAR_NIC_NONE) {
        return GSH_OK;
    }
    struct gsh_far_nic *nic = calloc(1, sizeof(*nic));
    if (nic == NULL) {
        gsh_abort(pe, 1, "no host memory for the NIC"); /* as above */
    }
    nic->pe = pe;
    nic->n_queues = (uint32_t)pe->env.nic_queues;
    nic->n_stripes = (uint32_t)gsh_min_u64((uint64_t)pe->env.nic_stripes, GSH_NIC_STRIPES_MAX);
    enum gsh_result r = make_all(pe, nic);
    snprintf(why, sizeof(why), "%s", gsh_last_error());
    if (r != GSH_OK) {
        destroy(pe, nic);
    }
    if (r != GSH_OK && (is_explicit(pe) || r == GSH_ERR_ARG)) {
        r = gsh_agree_fail(&all, r, "init: GSHMEM_REMOTE=%s: %s", pe->env.remote, why);
    } else if (r != GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE, "kernels reach far PEs by the proxy: %s", why);
        r = GSH_OK;
    } else {
        pe->far->nic = nic;
        gsh_trace_kernels_count_nic_by(gsh_far_nic_count);
        pe->far_route = GSH_ROUTE_NIC;
        tell_names(nic);
    }
    return r;
}

void gsh_far_nic_destroy(struct gsh_instance *pe)
{
    if (pe->far != NULL && pe->far->nic != NULL) {
        destroy(pe, pe->far->nic);
        pe->far->nic = NULL;
    }
}
