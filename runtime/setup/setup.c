/* SPDX-License-Identifier: Apache-2.0
 * Second stage of init. The library's part of each heap holds, in order: the sync areas of the
 * predefined teams (the same offsets everywhere), this PE's own tables for its kernels, and where
 * PEs are far its kernels' words of the rings. */
#include "runtime/setup/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "gshmemx.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"
#include "runtime/far/far.h"
#include "runtime/setup/modules.h"
#include "runtime/job/page.h"
#include "runtime/setup/place_proxy.h"
#include "runtime/setup/team.h"
#include "runtime/setup/topology.h"
#include "runtime/job/watch.h"

#define PREDEFINED_TEAMS 4
#define ALLOC_TABLE_MAX  65536u /* live allocations the checks can follow */

/* A team's tables of int32_t, one after the other, each with room for all PEs. */
enum { TABLE_MEMBERS, TABLE_LEADERS, TABLE_NEAR, TEAM_TABLES };

struct layout {
    uint64_t sync_stride; /* team t's sync area is at t * sync_stride */
    uint64_t teams_off, routes_off, tables_off, rings_off, bytes;
    uint64_t table_bytes;
};

static struct layout make_layout(const struct gsh_instance *pe)
{
    struct layout l;
    l.sync_stride = gsh_align_up(GSH_SYNC_AREA_BYTES(pe->n_pes), 128);
    l.table_bytes = (uint64_t)pe->n_pes * sizeof(int32_t);
    l.teams_off = PREDEFINED_TEAMS * l.sync_stride;
    l.routes_off = l.teams_off + GSH_TEAM_SLOTS * sizeof(struct gsh_team_state);
    l.tables_off = l.routes_off + (uint64_t)pe->n_pes * sizeof(struct gsh_peer_route);
    l.rings_off = gsh_align_up(l.tables_off + PREDEFINED_TEAMS * TEAM_TABLES * l.table_bytes, 128);
    l.bytes = gsh_align_up(l.rings_off + gsh_far_rings_bytes(pe), 512);
    return l;
}

static uint64_t table_off(const struct layout *l, int team, int table)
{
    return l->tables_off + (uint64_t)(team * TEAM_TABLES + table) * l->table_bytes;
}

static enum gsh_result choose_device(struct gsh_instance *pe)
{
    bool wants_cpu = strcmp(pe->env.device, "cpu") == 0;
    bool wants_cuda = strcmp(pe->env.device, "cuda") == 0;
    bool has_cpu_kernels = gsh_modules_have_cpu(), has_cuda_kernels = gsh_modules_have_cuda();
    if (wants_cuda && has_cpu_kernels && !has_cuda_kernels) {
        return gsh_fail(GSH_ERR_ARG, "init: GSHMEM_DEVICE=cuda, but the program's kernels were "
                                     "compiled for the CPU device");
    }
    if (wants_cpu && has_cuda_kernels && !has_cpu_kernels) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE,
                "GSHMEM_DEVICE=cpu: the program's CUDA kernels "
                "cannot reach this heap");
    }
    if (has_cuda_kernels && !has_cpu_kernels && !wants_cpu && gsh_cuda() == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: the program's kernels were compiled by nvcc and no GPU can be used "
                        "here (%s): run it where there is one, or compile it for the CPU device "
                        "(g++ -x c++ with the flags of pkg-config gshmem-cpu); GSHMEM_DEVICE=cpu "
                        "lets host calls alone run",
                        gsh_last_error());
    }
    bool is_cuda =
        wants_cuda || (!wants_cpu && !(has_cpu_kernels && !has_cuda_kernels) && gsh_cuda() != NULL);
    if (wants_cuda && gsh_cuda() == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED, "init: GSHMEM_DEVICE=cuda: %s", gsh_last_error());
    }
    return is_cuda ? gsh_device_cuda_init(pe) : gsh_device_cpu_init(pe);
}

enum gsh_result gsh_setup_prepare(struct gsh_instance *pe)
{
    bool is_cpu_only = gsh_modules_have_cpu() && !gsh_modules_have_cuda();
    return is_cpu_only && strcmp(pe->env.device, "cuda") != 0 ? gsh_device_cpu_init(pe) : GSH_OK;
}

static enum gsh_result exchange_cards(struct gsh_instance *pe, uint64_t *stride_bytes)
{
    struct gsh_device_card mine = {0};
    struct gsh_device_card *all = calloc((size_t)pe->n_pes, sizeof(*all));
    if (all == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d devices", pe->n_pes);
    }
    enum gsh_result r = choose_device(pe);
    if (r == GSH_OK) {
        r = gsh_topology_card(pe, &mine);
    }
    mine.result = (int32_t)r;
    struct gsh_bootstrap *b = pe->job_bootstrap;
    r = b->ops->allgather(b, &mine, sizeof(mine), all);
    if (r == GSH_OK) {
        r = gsh_topology_decide(pe, all, stride_bytes);
    }
    free(all);
    return r;
}

/* Of GPU memory, which comes in steps of some 0.3 ms: for small allocations. */
#define GPU_ROOM ((uint64_t)8 << 20)
/* To map the first such of a peer takes the driver 9 ms, and each PE in turn. */
#define GPU_LARGE ((uint64_t)512 << 20)
/* Host memory comes quickly, and is not the heap's alone. */
#define CPU_KEEP ((uint64_t)64 << 20)

static enum gsh_result make_heap(struct gsh_instance *pe, uint64_t stride_bytes)
{
    bool *same = calloc((size_t)pe->n_slots, sizeof(*same));
    if (same == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d slots", pe->n_slots);
    }
    for (int s = 0; s < pe->n_slots; s++) {
        same[s] = pe->peers[pe->pe_of_slot[s]].instance != NULL;
    }
    bool is_cuda = strcmp(pe->device_ops->name, "cuda") == 0;
    struct gsh_heap_options options = {
        .bootstrap = pe->job_bootstrap,
        .fdpass = pe->fdpass,
        .kind = is_cuda ? GSH_MEMORY_CUDA : GSH_MEMORY_HOST,
        .cuda_device = pe->peers[pe->my_pe].cuda_ordinal,
        .fabric = strcmp(pe->env.heap_handle, "fabric") == 0,
        .stride_bytes = stride_bytes,
        .n_slots = pe->n_slots,
        .my_slot = pe->my_slot,
        .pe_of_slot = pe->pe_of_slot,
        .is_same_process = same,
        .keep_bytes =
            is_cuda ? pe->env.heap_keep_bytes : gsh_min_u64(pe->env.heap_keep_bytes, CPU_KEEP),
        .internal_bytes = make_layout(pe).bytes,
        .room_bytes = is_cuda ? GPU_ROOM : 0,
        .large_bytes = is_cuda ? GPU_LARGE : 0,
        .events = gsh_far_heap_events(pe),
    };
    enum gsh_result r = gsh_heap_create(&options, &pe->heap);
    free(same);
    return r;
}

static int domain_of(const struct gsh_instance *pe, int member_pe)
{
    return pe->peers[member_pe].domain;
}

/* The leader and near tables of a team on several domains. */
static enum gsh_result write_split(const struct gsh_instance *pe, const struct layout *l, int t,
                                   uint8_t *copy, struct gsh_team_state *state)
{
    struct gsh_team_split split;
    enum gsh_result r = gsh_team_split_make(pe, &pe->teams[t], domain_of, &split);
    if (r != GSH_OK) {
        return r;
    }
    state->n_nodes = split.n_groups;
    state->my_node = split.my_group;
    state->n_near = split.n_near;
    state->my_near = split.my_near;
    if (split.n_groups > 1) {
        uint64_t base = gsh_heap_base(pe->heap);
        uint64_t leaders = table_off(l, t, TABLE_LEADERS), near = table_off(l, t, TABLE_NEAR);
        memcpy(copy + leaders, split.leaders, (size_t)split.n_groups * sizeof(int32_t));
        memcpy(copy + near, split.near, (size_t)split.n_near * sizeof(int32_t));
        state->leaders = base + leaders;
        state->near = base + near;
    }
    gsh_team_split_finish(&split);
    return GSH_OK;
}

static enum gsh_result write_team(const struct gsh_instance *pe, const struct layout *l, int t,
                                  uint8_t *copy)
{
    const struct gsh_team *team = &pe->teams[t];
    uint64_t members = table_off(l, t, TABLE_MEMBERS);
    int32_t *table = (int32_t *)(copy + members);
    bool is_regular = true;
    int step = team->n_pes > 1 ? team->pes[1] - team->pes[0] : 1;
    for (int i = 0; i < team->n_pes; i++) {
        table[i] = team->pes[i];
        is_regular = is_regular && team->pes[i] == team->pes[0] + i * step;
    }
    struct gsh_team_state *state = (struct gsh_team_state *)(copy + l->teams_off) + t;
    *state = (struct gsh_team_state){
        .n_pes = team->n_pes,
        .my_index = team->my_index,
        .first_pe = team->pes[0],
        .pe_stride = step,
        .pes = is_regular ? 0 : gsh_heap_base(pe->heap) + members,
        .sync_off = (uint64_t)t * l->sync_stride,
    };
    return write_split(pe, l, t, copy, state);
}

static void write_routes(const struct gsh_instance *pe, struct gsh_peer_route *routes)
{
    for (int p = 0; p < pe->n_pes; p++) {
        bool is_near = pe->slot_of[p] >= 0;
        routes[p] = (struct gsh_peer_route){
            .slot = pe->slot_of[p],
            .route = is_near ? GSH_ROUTE_NEAR : GSH_ROUTE_RING,
        };
    }
}

/* Writes the tables into the library's part of the own heap, by way of a copy of that part. */
static enum gsh_result write_tables(struct gsh_instance *pe)
{
    struct layout l = make_layout(pe);
    uint64_t base = gsh_heap_base(pe->heap);
    uint8_t *copy = calloc(1, l.bytes);
    if (copy == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the device's tables");
    }
    enum gsh_result r = GSH_OK;
    write_routes(pe, (struct gsh_peer_route *)(copy + l.routes_off));
    for (int t = 0; r == GSH_OK && t < PREDEFINED_TEAMS; t++) {
        r = write_team(pe, &l, t, copy);
    }
    gsh_far_rings_fill(pe, copy + l.rings_off);
    if (r == GSH_OK) {
        r = pe->device_ops->copy(pe, (void *)(base + l.teams_off), copy + l.teams_off,
                                 l.bytes - l.teams_off);
    }
    free(copy);
    return r;
}

static enum gsh_result make_alloc_table(struct gsh_instance *pe)
{
    if (!GSH_CHECKS) {
        return GSH_OK;
    }
    size_t bytes = ALLOC_TABLE_MAX * sizeof(struct gsh_alloc_range);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: no memory for the checks' table");
    }
    pe->alloc_table = p;
    enum gsh_result r = pe->device_ops->map_host(pe, p, bytes, &pe->page->control.alloc_table);
    return r == GSH_OK ? gsh_setup_publish_allocations(pe) : r;
}

enum gsh_result gsh_setup_publish_allocations(struct gsh_instance *pe)
{
    if (pe->alloc_table == NULL) {
        return GSH_OK;
    }
    uint64_t n = gsh_heap_allocations(pe->heap, pe->alloc_table, ALLOC_TABLE_MAX);
    if (n > ALLOC_TABLE_MAX) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_HEAP,
                "more than %u allocations: kernels' range checks are "
                "off",
                ALLOC_TABLE_MAX);
        n = 0;
        pe->page->control.alloc_table = 0;
    }
    pe->page->control.n_allocs = n;
    return GSH_OK;
}

/* The longest run of PEs with consecutive slots that this PE is in: slots are in PE order, so these
 * are its near neighbours. */
static void find_run(const struct gsh_instance *pe, struct gsh_state *state)
{
    int first = pe->my_pe, end = pe->my_pe + 1;
    while (first > 0 && pe->slot_of[first - 1] >= 0) {
        first--;
    }
    while (end < pe->n_pes && pe->slot_of[end] >= 0) {
        end++;
    }
    state->run_first_pe = first;
    state->run_n = end - first;
    state->run_first_slot = pe->slot_of[first];
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
        .teams = base + l.teams_off,
        .wait_timeout_ns = pe->env.wait_timeout_ns,
        .user_off = l.bytes,
        .rings = pe->far != NULL ? base + l.rings_off : 0,
        .n_rings = (uint64_t)gsh_far_n_rings(pe),
    };
    find_run(pe, &pe->state);
    enum gsh_result r = pe->device_ops->map_host(pe, pe->page, GSH_PAGE_BYTES, &pe->state.control);
    if (r == GSH_OK) {
        r = make_alloc_table(pe);
    }
    if (r == GSH_OK) {
        r = write_tables(pe);
    }
    if (r == GSH_OK) {
        r = pe->device_ops->upload(pe, &pe->state);
    }
    if (r == GSH_OK && strcmp(pe->device_ops->name, "cuda") == 0) {
        r = gsh_watch_device(pe);
    }
    return r;
}

enum gsh_result gsh_setup_device(struct gsh_instance *pe)
{
    uint64_t stride_bytes = 0;
    enum gsh_result r = exchange_cards(pe, &stride_bytes);
    if (r == GSH_OK && pe->proxy != NULL) {
        r = gsh_far_create(pe);
    }
    if (r == GSH_OK) {
        r = make_heap(pe, stride_bytes);
    }
    if (r == GSH_OK) {
        r = upload_state(pe);
    }
    if (r == GSH_OK) {
        r = gsh_far_start(pe);
    }
    if (r == GSH_OK) {
        gsh_place_proxy(pe);
    }
    if (r == GSH_OK) {
        r = pe->job_bootstrap->ops->barrier(pe->job_bootstrap);
    }
    if (r == GSH_OK) {
        pe->is_device_ready = true;
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE, "device %s, heap range %llu MiB",
                pe->peers[pe->my_pe].device_name, (unsigned long long)(stride_bytes >> 20));
    } else {
        gsh_setup_undo(pe);
    }
    return r;
}

void gsh_setup_undo(struct gsh_instance *pe)
{
    if (pe->device_ops != NULL) {
        pe->device_ops->unmap_host(pe, pe->page);
        pe->device_ops->unmap_host(pe, pe->alloc_table);
    }
    if (pe->alloc_table != NULL) {
        munmap(pe->alloc_table, ALLOC_TABLE_MAX * sizeof(struct gsh_alloc_range));
    }
    gsh_heap_destroy(&pe->heap);
    gsh_far_destroy(pe);
    if (pe->device_ops != NULL) {
        pe->device_ops->finish(pe);
        pe->device_ops = NULL;
    }
    pe->alloc_table = NULL;
    free(pe->slot_of);
    free(pe->pe_of_slot);
    pe->slot_of = NULL;
    pe->pe_of_slot = NULL;
    pe->is_device_ready = false;
}

int gshmemx_device_setup(void)
{
    struct gsh_instance *pe = gsh_instance_need("gshmemx_device_setup");
    return gsh_public_error(pe->is_device_ready ? gsh_modules_refresh(pe) : gsh_setup_device(pe));
}
