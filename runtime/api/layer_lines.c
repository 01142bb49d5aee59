/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: collectives on any memory. */
#include "runtime/layer.h"

#include "base/util.h"
#include "runtime/api/check.h"
#include "runtime/api/lines.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/stream.h"
#include "runtime/team/team.h"

/* For half of what is under way on all links of a GPU, 450 GB/s times 2 us, in each of four
 * buffers: the units send in two rounds at a time. */
#define ENOUGH ((size_t)2 << 20)

_Static_assert((int)GSHMEMX_LAYER_COLLS_AT_ONCE == GSH_LINES_ITEMS_MAX, "in one launch");

size_t gshmemx_layer_inbox_bytes(int n_members)
{
    return gsh_max_u64(ENOUGH, gshmemx_layer_inbox_least_bytes(n_members));
}

/* One channel with a line for each other member, and its count. */
size_t gshmemx_layer_inbox_least_bytes(int n_members)
{
    return 128 + GSH_LINES_BUFFERS * (size_t)(n_members - 1) * GSH_LINE_ROOM_WORDS;
}

int gshmemx_layer_inbox_clear(const struct gshmemx_layer_inbox *inbox)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_inbox_clear");
    return gsh_public_error(gsh_clear(pe, inbox->memory, inbox->bytes));
}

int gshmemx_layer_load_colls(const char *call, bool all)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    return pe->device_ops->load_colls == NULL
               ? 0
               : gsh_public_error(gsh_blame(pe->device_ops->load_colls(pe, all), call));
}

size_t gshmemx_layer_pieces_bytes(void)
{
    uint64_t zeroes;
    return gsh_lines_pieces_bytes(gsh_instance_need_device("gshmemx_layer_pieces_bytes"), &zeroes);
}

int gshmemx_layer_pieces_clear(void *memory)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_pieces_clear");
    uint64_t zeroes;
    (void)gsh_lines_pieces_bytes(pe, &zeroes);
    return gsh_public_error(gsh_clear(pe, memory, zeroes));
}

/* False: the team has none. */
static bool find_inbox(const struct gsh_instance *pe, const struct gsh_team *team,
                       const struct gshmemx_layer_inbox *given, struct gsh_lines_inbox *inbox)
{
    return given == NULL ? gsh_lines_inbox_of_team(pe, team, inbox)
                         : gsh_lines_inbox_in(pe, team, gsh_symmetric_off(pe, given->memory),
                                              given->bytes, inbox);
}

bool gshmemx_layer_has_colls(gshmem_team_t team, const struct gshmemx_layer_inbox *inbox)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_has_colls");
    const struct gsh_team *t = gsh_team_find(pe, team);
    struct gsh_lines_inbox in;
    return t != NULL && find_inbox(pe, t, inbox, &in);
}

static const struct {
    enum gsh_element element;
    uint8_t bytes;
} types[] = {
    [GSHMEMX_LAYER_TYPE_INT8] = {GSH_ELEMENT_i8, 1},
    [GSHMEMX_LAYER_TYPE_UINT8] = {GSH_ELEMENT_u8, 1},
    [GSHMEMX_LAYER_TYPE_INT32] = {GSH_ELEMENT_i32, 4},
    [GSHMEMX_LAYER_TYPE_UINT32] = {GSH_ELEMENT_u32, 4},
    [GSHMEMX_LAYER_TYPE_INT64] = {GSH_ELEMENT_i64, 8},
    [GSHMEMX_LAYER_TYPE_UINT64] = {GSH_ELEMENT_u64, 8},
    [GSHMEMX_LAYER_TYPE_HALF] = {GSH_ELEMENT_half, 2},
    [GSHMEMX_LAYER_TYPE_FLOAT] = {GSH_ELEMENT_float, 4},
    [GSHMEMX_LAYER_TYPE_DOUBLE] = {GSH_ELEMENT_double, 8},
    [GSHMEMX_LAYER_TYPE_BFLOAT16] = {GSH_ELEMENT_bfloat16, 2},
    [GSHMEMX_LAYER_TYPE_E4M3] = {GSH_ELEMENT_e4m3, 1},
    [GSHMEMX_LAYER_TYPE_E5M2] = {GSH_ELEMENT_e5m2, 1},
};
static const enum gsh_reduce_op ops[] = {
    [GSHMEMX_LAYER_SUM] = GSH_REDUCE_sum,
    [GSHMEMX_LAYER_PROD] = GSH_REDUCE_prod,
    [GSHMEMX_LAYER_MAX] = GSH_REDUCE_max,
    [GSHMEMX_LAYER_MIN] = GSH_REDUCE_min,
};
static const enum gsh_lines_kind kinds[] = {
    [GSHMEMX_LAYER_ALL_REDUCE] = GSH_LINES_ALL_REDUCE,
    [GSHMEMX_LAYER_REDUCE] = GSH_LINES_REDUCE,
    [GSHMEMX_LAYER_REDUCE_SCATTER] = GSH_LINES_REDUCE_SCATTER,
    [GSHMEMX_LAYER_ALL_GATHER] = GSH_LINES_ALL_GATHER,
    [GSHMEMX_LAYER_ALL_TO_ALL] = GSH_LINES_ALL_TO_ALL,
    [GSHMEMX_LAYER_BROADCAST] = GSH_LINES_BROADCAST,
    [GSHMEMX_LAYER_GATHER] = GSH_LINES_GATHER,
    [GSHMEMX_LAYER_SCATTER] = GSH_LINES_SCATTER,
};
static const enum gsh_lines_scaling scalings[] = {
    [GSHMEMX_LAYER_NOT_SCALED] = GSH_LINES_NOT_SCALED,
    [GSHMEMX_LAYER_MULTIPLIED] = GSH_LINES_MULTIPLIED,
    [GSHMEMX_LAYER_DIVIDED] = GSH_LINES_DIVIDED,
};

static struct gsh_lines_call call_of(const struct gshmemx_layer_coll *c)
{
    return (struct gsh_lines_call){
        .kind = kinds[c->kind],
        .root = c->root,
        .dest = c->dest,
        .source = c->source,
        .bytes = (uint64_t)c->count * types[c->type].bytes,
        .op = ops[c->op],
        .element = types[c->type].element,
        .scaling = scalings[c->scaling],
        .scalar = c->scalar,
        .scalar_at = c->scalar_at,
        .may_read = c->may_read,
        .readable = c->readable,
        .pieces = c->pieces,
        .shares_pieces = c->shares_pieces,
        .blocks = {c->least_blocks, c->most_blocks},
        .site = c->site,
    };
}

int gshmemx_layer_colls_on_stream(const char *call, gshmem_team_t team,
                                  const struct gshmemx_layer_inbox *inbox,
                                  const struct gshmemx_layer_coll *colls, int n,
                                  gshmemx_stream_t stream)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    const struct gsh_coll_site site = {call, true, stream};
    struct gsh_lines_call at_once[GSH_LINES_ITEMS_MAX];
    struct gsh_lines_inbox in;
    struct gsh_team *t = NULL;
    int n_at_once = 0;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += (uint64_t)colls[i].count * types[colls[i].type].bytes;
    }
    GSH_TRACE_STREAM(pe, call, stream, .target = -1, .bytes = bytes, .team = &team);
    if (r == GSH_OK && !find_inbox(pe, t, inbox, &in)) {
        r = gsh_fail(GSH_ERR_UNSUPPORTED,
                     "%s: the team has no inbox for collectives on ordinary memory", call);
    }
    for (int i = 0; r == GSH_OK && i < n; i++) {
        if (colls[i].count > 0) {
            at_once[n_at_once++] = call_of(&colls[i]);
        }
        if (n_at_once == GSH_LINES_ITEMS_MAX || (i == n - 1 && n_at_once > 0)) {
            gsh_require(pe, call,
                        gsh_blame(gsh_lines_launch(site, pe, t, &in, at_once, n_at_once), call));
            n_at_once = 0;
        }
    }
    return gsh_public_error(r);
}
