/* SPDX-License-Identifier: Apache-2.0
 * Second phase of init. The library's part of each heap holds, in order: WORLD's channels and the
 * team pool (at the same offsets on all PEs), this PE's own tables for its kernels and, if there
 * are far PEs, its kernels' words of the rings and of the queues of an adapter. */
#include "runtime/init/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "gshmemx.h"
#include "runtime/context/context.h"
#include "base/log.h"
#include "base/util.h"
#include "runtime/far/far.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/monitor.h"
#include "runtime/backend/modules.h"
#include "runtime/far/affinity_proxy.h"
#include "runtime/team/team.h"
#include "runtime/trace/kernels.h"
#include "runtime/init/net.h"
#include "runtime/init/node.h"
#include "runtime/init/topology.h"
#include "runtime/instance/vote.h"
#include "runtime/init/alloc_table.h"
#include "wire/nic.h"

#define ALLOC_TABLE_MAX   65536u /* live allocations the checks can follow */
#define ALLOC_TABLE_BYTES (ALLOC_TABLE_MAX * sizeof(struct gsh_alloc_range))

/* What a small job's heap has at the start, at most (gsh_instance.is_small): the library's part,
 * and what a communicator takes. */
#define SMALL_FIRST ((uint64_t)6 << 20)

struct layout {
    uint64_t routes_off, rings_off, nic_off, trace_off, bytes; /* teams come first */
};

static struct layout make_layout(const struct gsh_instance *pe)
{
    struct layout l;
    l.routes_off = gsh_teams_bytes(pe);
    l.rings_off =
        gsh_align_up(l.routes_off + (uint64_t)pe->n_pes * sizeof(struct gsh_peer_route), 128);
    l.nic_off = gsh_align_up(l.rings_off + gsh_far_rings_bytes(pe), GSH_NIC_ALIGNMENT);
    l.trace_off = gsh_align_up(l.nic_off + gsh_far_nic_bytes(pe), 128);
    l.bytes = gsh_align_up(l.trace_off + gsh_trace_kernels_bytes(), 512);
    return l;
}

enum gsh_result gsh_setup_choose_kind(const struct gsh_env *env, bool wants_static_data,
                                      bool *is_cuda)
{
    bool wants_cuda = strcmp(env->device, "cuda") == 0;
    bool has_cpu_kernels = gsh_modules_have_cpu(), has_cuda_kernels = gsh_modules_have_cuda();
    bool wants_cpu =
        strcmp(env->device, "cpu") == 0 || (!wants_cuda && wants_static_data && !has_cuda_kernels);
    if (wants_cuda && has_cpu_kernels && !has_cuda_kernels) {
        return gsh_note(GSH_ERR_ARG, "GSHMEM_DEVICE=cuda, but the program's kernels were compiled "
                                     "for the CPU device");
    }
    if (wants_cpu && has_cuda_kernels && !has_cpu_kernels) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE,
                "GSHMEM_DEVICE=cpu: the program's CUDA kernels "
                "cannot reach this heap");
    }
    if (has_cuda_kernels && !has_cpu_kernels && !wants_cpu && gsh_cuda() == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "the program's kernels were compiled by nvcc and no GPU can be used here "
                        "(%s): run it where there is one, or compile it for the CPU device "
                        "(g++ -x c++ with the flags of pkg-config gshmem-cpu); GSHMEM_DEVICE=cpu "
                        "lets host calls alone run",
                        gsh_last_error());
    }
    *is_cuda =
        wants_cuda || (!wants_cpu && !(has_cpu_kernels && !has_cuda_kernels) && gsh_cuda() != NULL);
    if (wants_cuda && gsh_cuda() == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "GSHMEM_DEVICE=cuda: %s", gsh_last_error());
    }
    return GSH_OK;
}

static enum gsh_result choose_device(struct gsh_instance *pe)
{
    bool is_cuda = false;
    enum gsh_result r = gsh_setup_choose_kind(&pe->env, pe->wants_static_data, &is_cuda);
    if (r != GSH_OK) {
        return gsh_fail(r, "init: %s", gsh_last_error());
    }
    return is_cuda ? gsh_device_cuda_init(pe) : gsh_device_cpu_init(pe);
}

bool gsh_setup_is_cpu(const struct gsh_instance *pe)
{
    if (strcmp(pe->env.device, "auto") != 0) {
        return strcmp(pe->env.device, "cpu") == 0;
    }
    if (gsh_modules_have_cuda()) {
        return false;
    }
    return pe->wants_static_data || gsh_modules_have_cpu() || !gsh_cuda_is_installed();
}

enum gsh_result gsh_setup_prepare(struct gsh_instance *pe)
{
    bool is_cpu_only = gsh_modules_have_cpu() && !gsh_modules_have_cuda();
    return is_cpu_only && strcmp(pe->env.device, "cuda") != 0 ? gsh_device_cpu_init(pe) : GSH_OK;
}

void gsh_setup_tell(struct gsh_instance *pe, struct gsh_device_attr *mine)
{
    bool is_cuda = false;
    enum gsh_result r = gsh_setup_choose_kind(&pe->env, pe->wants_static_data, &is_cuda);
    if (r != GSH_OK) {
        r = gsh_fail(r, "init: %s", gsh_last_error());
    }
    if (r == GSH_OK && !is_cuda) {
        gsh_device_cpu_describe(pe);
        r = gsh_topology_attr(pe, mine);
        pe->device_ops = NULL; /* until there is a device */
    }
    mine->result = (int32_t)r;
}

enum gsh_result gsh_setup_check(struct gsh_instance *pe)
{
    const struct gsh_device_told *told = pe->told;
    return told->all == NULL ? (enum gsh_result)told->mine.result
                             : gsh_topology_check(pe, pe->bootstrap, told->all);
}

/* Chooses this PE's device, and says what it tells the others, unless it has told them in init. */
static void choose_and_tell(struct gsh_instance *pe, struct gsh_device_attr *mine)
{
    const bool has_told = pe->told != NULL;
    *mine = has_told ? pe->told->mine : (struct gsh_device_attr){0};
    enum gsh_result r = (enum gsh_result)mine->result;
    r = r == GSH_OK ? choose_device(pe) : r;
    if (r == GSH_OK && !has_told) {
        r = gsh_topology_attr(pe, mine);
    }
    mine->result = (int32_t)r;
}

/* Some PE has failed before it chose a device: all learn why. */
static enum gsh_result tell_earlier(struct gsh_instance *pe, const struct gsh_device_attr *all,
                                    enum gsh_result prior)
{
    int first = 0;
    while (first < pe->n_pes && all[first].had_failed == 0) {
        first++;
    }
    return first == pe->n_pes ? GSH_OK : gsh_init_vote_failed(pe, GSH_STEP_READY, prior);
}

/* All tell all. prior: this PE's outcome before, of which the others do not know. */
static enum gsh_result tell_all(struct gsh_instance *pe, enum gsh_result prior,
                                const struct gsh_device_attr *mine, struct gsh_device_sum *sum)
{
    struct gsh_bootstrap *b = pe->job_bootstrap;
    struct gsh_device_attr *all = calloc((size_t)pe->n_pes, sizeof(*all));
    if (all == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d devices", pe->n_pes);
    }
    enum gsh_result r = b->ops->allgather(b, mine, sizeof(*mine), all);
    r = r == GSH_OK ? tell_earlier(pe, all, prior) : r;
    r = r == GSH_OK ? gsh_topology_check(pe, b, all) : r;
    if (r == GSH_OK && pe->n_nodes == 1) {
        gsh_topology_look(pe, mine, all);
        *sum = (struct gsh_device_sum){.n_sms = UINT32_MAX};
        for (int i = 0; i < pe->n_pes; i++) {
            sum->memory_bytes = gsh_max_u64(sum->memory_bytes, all[i].memory_bytes);
            sum->n_sms = (uint32_t)gsh_min_u64(sum->n_sms, (uint32_t)all[i].n_sms);
        }
    }
    free(all);
    return r;
}

/* Several nodes: the PEs of each tell each other, and all combine what all need. */
static enum gsh_result tell_node(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                                 struct gsh_device_sum *sum)
{
    struct gsh_bootstrap *node = pe->node_bootstrap, *job = pe->job_bootstrap;
    struct gsh_device_attr *near = calloc((size_t)node->size, sizeof(*near));
    if (near == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d devices", node->size);
    }
    enum gsh_result r = node->ops->allgather(node, mine, sizeof(*mine), near);
    if (r == GSH_OK) {
        gsh_topology_add_own(pe, mine, near, node->size, sum);
        r = job->ops->combine(job, sum, sizeof(*sum), gsh_topology_fold);
    }
    free(near);
    return r;
}

/* prior: as above. */
static enum gsh_result exchange_attrs(struct gsh_instance *pe, enum gsh_result prior,
                                      uint64_t *stride_bytes)
{
    struct gsh_device_attr mine = {.result = (int32_t)prior, .had_failed = prior != GSH_OK};
    struct gsh_device_sum sum = {0};
    enum gsh_result r = GSH_OK;
    bool is_enough = false;
    if (prior == GSH_OK) {
        choose_and_tell(pe, &mine);
    }
    if (pe->n_nodes > 1) {
        r = tell_node(pe, &mine, &sum);
        is_enough = sum.least == sum.most && (sum.flags & GSH_DEVICE_IS_SUSPECT) == 0;
    }
    if (r == GSH_OK && !is_enough) {
        r = tell_all(pe, prior, &mine, &sum);
    }
    return r == GSH_OK ? gsh_topology_decide(pe, &mine, &sum, stride_bytes) : r;
}

/* What a heap needs of this PE's memory. */
struct heap_parts {
    struct gsh_heap *heap;
    bool *same; /* [n_slots] */
};

/* first: in gsh_heap_options. */
static enum gsh_result make_heap(struct gsh_instance *pe, struct gsh_bootstrap *first,
                                 struct heap_parts *parts, uint64_t stride_bytes)
{
    bool *same = parts->same;
    for (int s = 0; s < pe->n_slots; s++) {
        same[s] = gsh_instance_of(pe, pe->pe_of_slot[s]) != NULL;
    }
    const struct gsh_device_ops *ops = pe->device_ops;
    struct gsh_heap_options options = {
        .bootstrap = pe->job_bootstrap,
        .node = pe->node_bootstrap,
        .first = first,
        .fdpass = pe->fdpass,
        .kind = ops->memory,
        .cuda_device = pe->cuda_ordinal,
        .fabric = strcmp(pe->env.heap_handle, "fabric") == 0,
        .stride_bytes = stride_bytes,
        .n_slots = pe->n_slots,
        .my_slot = pe->my_slot,
        .pe_of_slot = pe->pe_of_slot,
        .is_same_process = same,
        .keep_bytes = gsh_min_u64(pe->env.heap_keep_bytes, ops->keep_limit_bytes),
        .internal_bytes = make_layout(pe).bytes,
        .first_bytes = pe->is_small ? gsh_min_u64(ops->first_bytes, SMALL_FIRST) : ops->first_bytes,
        .room_bytes = ops->room_bytes,
        .large_bytes = ops->large_bytes,
    };
    if (pe->far != NULL) {
        options.subscribers[options.n_subscribers++] = gsh_far_heap_events(pe);
    }
    if (gsh_far_has_nic(pe)) {
        options.subscribers[options.n_subscribers++] = gsh_far_nic_heap_events(pe);
    }
    return gsh_heap_create(&options, &parts->heap);
}

static void write_routes(const struct gsh_instance *pe, struct gsh_peer_route *routes)
{
    for (int p = 0; p < pe->n_pes; p++) {
        routes[p] =
            (struct gsh_peer_route){.slot = gsh_heap_slot_of(pe, p), .route = gsh_route_to(pe, p)};
    }
}

/* Copies this PE's tables for its kernels into its own heap, behind the teams. */
static enum gsh_result write_tables(struct gsh_instance *pe)
{
    struct layout l = make_layout(pe);
    uint64_t bytes = l.bytes - l.routes_off;
    uint8_t *copy = calloc(1, bytes);
    if (copy == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the device's tables");
    }
    write_routes(pe, (struct gsh_peer_route *)copy);
    gsh_far_rings_fill(pe, copy + (l.rings_off - l.routes_off));
    if (gsh_far_has_nic(pe)) {
        gsh_far_nic_fill(pe, copy + (l.nic_off - l.routes_off),
                         gsh_heap_base(pe->heap) + l.nic_off);
    }
    gsh_trace_kernels_begin(pe, gsh_heap_base(pe->heap) + l.trace_off);
    enum gsh_result r = pe->device_ops->copy(
        pe, GSH_CONTEXT_DEFAULT, (void *)(uintptr_t)(gsh_heap_base(pe->heap) + l.routes_off), copy,
        bytes);
    free(copy);
    return r;
}

static enum gsh_result make_alloc_table(struct gsh_instance *pe)
{
    if (!GSH_CHECKS) {
        return GSH_OK;
    }
    void *p = mmap(NULL, 2 * ALLOC_TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED) {
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: no memory for the checks' table");
    }
    pe->alloc_table = p;
    size_t ctx_bytes;
    void *contexts = gsh_contexts_table(pe, &ctx_bytes);
    enum gsh_result r =
        pe->device_ops->map_host(pe, p, ALLOC_TABLE_BYTES, &pe->page->control.alloc_table);
    if (r == GSH_OK) {
        r = pe->device_ops->map_host(pe, contexts, ctx_bytes, &pe->page->control.ctx_table);
    }
    return r == GSH_OK ? gsh_setup_publish_allocations(pe) : r;
}

enum gsh_result gsh_setup_publish_allocations(struct gsh_instance *pe)
{
    if (pe->alloc_table == NULL) {
        return GSH_OK;
    }
    struct gsh_alloc_range *now = pe->alloc_table + ALLOC_TABLE_MAX; /* kernels never look there */
    gsh_lock_take(&pe->alloc_table_lock);
    uint64_t n = gsh_heap_allocations(pe->heap, now, ALLOC_TABLE_MAX);
    if (n > ALLOC_TABLE_MAX) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_HEAP,
                "more than %u allocations: kernels' range checks are "
                "off",
                ALLOC_TABLE_MAX);
        gsh_alloc_table_write(&pe->page->control, NULL, now, 0);
    } else {
        gsh_alloc_table_write(&pe->page->control, pe->alloc_table, now, n);
    }
    gsh_lock_give(&pe->alloc_table_lock);
    return GSH_OK;
}

/* The longest run of consecutive PEs with consecutive slots around this PE. Slots are in PE order,
 * so these are its near neighbours. */
static void find_run(const struct gsh_instance *pe, struct gsh_state *state)
{
    int first = pe->my_pe, end = pe->my_pe + 1;
    while (first > 0 && !gsh_is_far(pe, first - 1)) {
        first--;
    }
    while (end < pe->n_pes && !gsh_is_far(pe, end)) {
        end++;
    }
    state->run_first_pe = first;
    state->run_n = end - first;
    state->run_first_slot = gsh_heap_slot_of(pe, first);
}

static enum gsh_result upload_state(struct gsh_instance *pe)
{
    struct layout l = make_layout(pe);
    uint64_t base = gsh_heap_base(pe->heap);
    pe->state = (struct gsh_state){
        .magic = GSH_STATE_MAGIC,
        .version = GSH_STATE_VERSION,
        .bytes = sizeof(struct gsh_state),
        .my_pe = pe->my_pe,
        .n_pes = pe->n_pes,
        .my_slot = pe->my_slot,
        .n_slots = pe->n_slots,
        .base = base,
        .stride = gsh_heap_stride(pe->heap),
        .routes = base + l.routes_off,
        .teams = base + gsh_teams_pool_off(pe),
        .n_team_units = pe->teams->n_units,
        .wait_timeout_ns = pe->env.wait_timeout_ns,
        .user_off = l.bytes,
        .rings = pe->far != NULL ? base + l.rings_off : 0,
        .n_rings = (uint32_t)gsh_far_n_rings(pe),
        .n_context_rings = gsh_far_n_rings(pe) > 0 ? (uint32_t)pe->env.contexts : 0,
        .trace = pe->trace != NULL ? base + l.trace_off : 0,
    };
    memcpy(pe->state.ll_max, pe->coll_table.ll_max, sizeof(pe->state.ll_max));
    pe->state.far_flat = pe->coll_table.far_flat;
    pe->state.far_piece = pe->coll_table.far_piece;
    find_run(pe, &pe->state);
    if (gsh_far_has_nic(pe)) {
        pe->state.nic = gsh_far_nic_state(pe, base + l.nic_off, &pe->state);
    }
    if (pe->device_ops->name_part != NULL) {
        pe->device_ops->name_part(pe, &pe->state);
    }
    enum gsh_result r =
        pe->device_ops->map_host(pe, pe->page, GSH_PAGE_HEAD_BYTES, &pe->state.control);
    pe->page->control.wait_table = pe->state.control + offsetof(struct gsh_host_page, waits);
    if (r == GSH_OK) {
        r = make_alloc_table(pe);
    }
    if (r == GSH_OK) {
        r = gsh_trace_kernels_create(pe);
    }
    if (r == GSH_OK) {
        pe->state.trace_rings = gsh_trace_kernels_rings(pe);
    }
    if (r == GSH_OK) {
        r = write_tables(pe);
    }
    if (r == GSH_OK) {
        r = gsh_teams_regroup(pe);
    }
    if (r == GSH_OK) {
        r = gsh_teams_upload(pe);
    }
    if (r == GSH_OK) {
        r = pe->device_ops->upload(pe, &pe->state);
    }
    if (r == GSH_OK) {
        gsh_trace_kernels_note_clock(pe);
    }
    if (r == GSH_OK && pe->device_ops->needs_monitor) {
        r = gsh_monitor_device(pe, gsh_end_if_reported);
    }
    return r;
}

/* Not collective. */
static enum gsh_result prepare_heap(struct gsh_instance *pe, struct heap_parts *parts)
{
    enum gsh_result r = pe->proxy != NULL ? gsh_far_create(pe) : GSH_OK;
    if (r == GSH_OK) {
        r = gsh_heap_allocate(pe->n_pes, &parts->heap);
    }
    parts->same = r == GSH_OK ? calloc((size_t)pe->n_slots, sizeof(*parts->same)) : NULL;
    if (r == GSH_OK && parts->same == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_slots);
    }
    return r;
}

/* This PE has failed, and the others do not know: those of its node learn it when they wait for it,
 * and all where they make the heap over `first`, if they do. */
static enum gsh_result fail_alone(struct gsh_instance *pe, const struct gsh_bootstrap *first,
                                  enum gsh_result mine)
{
    gsh_bell_ring_all(pe);
    if (!gsh_node_leave(pe) && pe->bell == NULL) {
        gsh_abort(pe, 1, "%s", gsh_last_error());
    }
    return first != NULL ? gsh_far_tell_failed(pe, mine) : gsh_blame(mine, "init");
}

/* Collective. first: of the heap. prior: what has come of the steps before, of which the others do
 * not know; GSH_OK without `first`. */
static enum gsh_result begin_heap(struct gsh_instance *pe, struct gsh_bootstrap *first,
                                  enum gsh_result prior, uint64_t stride_bytes)
{
    struct heap_parts parts = {0};
    const bool makes_nic = pe->n_nodes > 1 && gsh_far_nic_kind(pe) != GSH_FAR_NIC_NONE;
    enum gsh_result r = prior == GSH_OK ? prepare_heap(pe, &parts) : prior;
    bool is_known = false;
    if (first != NULL && makes_nic) { /* which takes calls over the network */
        r = gsh_init_vote(pe, GSH_STEP_READY, r);
        is_known = true;
    }
    if (r == GSH_OK && pe->far != NULL) {
        r = gsh_far_nic_create(pe);
        is_known = true;
    }
    if (r == GSH_OK) {
        r = make_heap(pe, first, &parts, stride_bytes);
        pe->heap = parts.heap;
    } else {
        gsh_heap_destroy(&parts.heap);
        r = is_known ? r : fail_alone(pe, first, r);
    }
    free(parts.same);
    return r;
}

static enum gsh_result finish_set_up(struct gsh_instance *pe, enum gsh_result r,
                                     uint64_t stride_bytes)
{
    if (r == GSH_OK) {
        r = upload_state(pe);
    }
    if (r == GSH_OK) {
        r = gsh_far_start(pe);
    }
    if (r == GSH_OK) {
        r = gsh_contexts_open(pe);
    }
    if (r == GSH_OK) {
        gsh_affinity_proxy(pe);
    }
    /* Since the heap's last vote others may write into this PE's memory: into what has been zeros
     * from the beginning, not into the tables, which are this PE's own. */
    if (r == GSH_OK) {
        pe->is_device_ready = true;
        /* release: pairs with the acquire in hang/collect.c */
        gsh_store_release_u32(&pe->is_set_up, 1);
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE, "device %s, heap range %llu MiB", pe->device_name,
                (unsigned long long)(stride_bytes >> 20));
    } else {
        gsh_setup_undo(pe);
    }
    return r;
}

enum gsh_result gsh_setup_device(struct gsh_instance *pe)
{
    return gsh_setup_in_init(pe, GSH_OK);
}

enum gsh_result gsh_setup_in_init(struct gsh_instance *pe, enum gsh_result prior)
{
    uint64_t stride_bytes = 0;
    enum gsh_result r = exchange_attrs(pe, prior, &stride_bytes);
    r = r == GSH_OK ? begin_heap(pe, NULL, GSH_OK, stride_bytes) : r;
    return finish_set_up(pe, r, stride_bytes);
}

enum gsh_result gsh_setup_chosen(struct gsh_instance *pe, enum gsh_result prior)
{
    uint64_t stride_bytes = 0;
    const struct gsh_device_attr *mine = &pe->told->mine;
    const struct gsh_device_sum sum = {.memory_bytes = pe->told->memory_bytes};
    enum gsh_result r = prior == GSH_OK ? choose_device(pe) : prior;
    if (r == GSH_OK) {
        gsh_topology_look(pe, mine, NULL);
        r = gsh_topology_decide(pe, mine, &sum, &stride_bytes);
    }
    /* a PE that has failed may not be reached over the network */
    r = begin_heap(pe, pe->bootstrap, r, stride_bytes);
    if (r == GSH_OK) {
        gsh_net_settle(pe);
    }
    return finish_set_up(pe, r, stride_bytes);
}

void gsh_setup_undo(struct gsh_instance *pe)
{
    if (pe->device_ops != NULL) {
        gsh_trace_kernels_destroy(pe);
        pe->device_ops->unmap_host(pe, pe->page);
        pe->device_ops->unmap_host(pe, pe->alloc_table);
        if (GSH_CHECKS && pe->contexts != NULL) {
            size_t bytes;
            pe->device_ops->unmap_host(pe, gsh_contexts_table(pe, &bytes));
        }
    }
    if (pe->alloc_table != NULL) {
        munmap(pe->alloc_table, 2 * ALLOC_TABLE_BYTES);
    }
    gsh_heap_destroy(&pe->heap);
    gsh_far_destroy(pe);
    if (pe->device_ops != NULL) {
        pe->device_ops->finish(pe);
        pe->device_ops = NULL;
    }
    pe->alloc_table = NULL;
    free(pe->pe_of_slot);
    pe->pe_of_slot = NULL;
    pe->is_device_ready = false;
    gsh_store_release_u32(&pe->is_set_up, 0);
}

struct gsh_instance *gsh_instance_complete(const char *call)
{
    struct gsh_instance *pe = gsh_instance_need(call);
    if (pe->is_device_ready) {
        gsh_require(pe, call, gsh_modules_refresh(pe));
    }
    return pe;
}

struct gsh_instance *gsh_instance_set_up(const char *call)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (!pe->is_device_ready) {
        gsh_require(pe, call, gsh_setup_device(pe));
    }
    return pe;
}

int gshmemx_device_setup(void)
{
    struct gsh_instance *pe = gsh_instance_need("gshmemx_device_setup");
    return gsh_public_error(pe->is_device_ready ? gsh_modules_refresh(pe) : gsh_setup_device(pe));
}
