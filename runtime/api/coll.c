/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the host and on a stream. Each is one launch of one of the library's kernels
 * (kernels/coll.cu); in checking builds another one comes before it and compares the
 * members' calls. */
#include "runtime/api/coll.h"
#include "base/util.h"
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/trace/stream.h"
#include "runtime/team/team.h"

struct coll {
    struct gsh_coll_site site;
    struct gsh_instance *pe;
    const struct gsh_team *team;
    enum gsh_result result; /* of the launches so far */
};

/* ---- which kernel ---- */

/* The element type that yields the same bits: sums and products treat signed integers as
 * unsigned. */
static enum gsh_element without_sign(enum gsh_element e)
{
    return e <= GSH_ELEMENT_i64 ? e - GSH_ELEMENT_i8 + GSH_ELEMENT_u8 : e;
}

static enum gsh_coll_kernel reduce_kernel(enum gsh_reduce_op op, enum gsh_element element)
{
#define ROW(OP, NAME, T)                                          \
    if (op == GSH_REDUCE_##OP && element == GSH_ELEMENT_##NAME) { \
        return GSH_COLL_KERNEL_##OP##_##NAME;                     \
    }
    GSH_REDUCE_KERNELS(ROW)
    GSH_CPU_REDUCE_KERNELS(ROW)
#undef ROW
    return GSH_COLL_KERNEL_COUNT;
}

static enum gsh_coll_kernel scan_kernel(enum gsh_element element)
{
#define ROW(OP, NAME, T)                    \
    if (element == GSH_ELEMENT_##NAME) {    \
        return GSH_COLL_KERNEL_scan_##NAME; \
    }
    GSH_SCAN_KERNELS(ROW)
    GSH_CPU_SCAN_KERNELS(ROW)
#undef ROW
    return GSH_COLL_KERNEL_COUNT;
}

static size_t element_bytes(enum gsh_element e)
{
    static const uint8_t bytes[GSH_ELEMENT_COUNT] = {
        [GSH_ELEMENT_i8] = 1,       [GSH_ELEMENT_i16] = 2,
        [GSH_ELEMENT_i32] = 4,      [GSH_ELEMENT_i64] = 8,
        [GSH_ELEMENT_u8] = 1,       [GSH_ELEMENT_u16] = 2,
        [GSH_ELEMENT_u32] = 4,      [GSH_ELEMENT_u64] = 8,
        [GSH_ELEMENT_half] = 2,     [GSH_ELEMENT_bfloat16] = 2,
        [GSH_ELEMENT_e4m3] = 1,     [GSH_ELEMENT_e5m2] = 1,
        [GSH_ELEMENT_float] = 4,    [GSH_ELEMENT_double] = 8,
        [GSH_ELEMENT_complexf] = 8, [GSH_ELEMENT_complexd] = 16,
        [GSH_ELEMENT_bits] = 1,     [GSH_ELEMENT_longdouble] = sizeof(long double),
    };
    return bytes[e];
}

/* Maps the reduction to a kernel that exists: a few types compute for all. */
static void simplify(struct gsh_coll_compute *c)
{
    if (c->op <= GSH_REDUCE_xor) {
        c->nelems *= element_bytes(c->element);
        c->element = GSH_ELEMENT_bits;
    } else if (c->op == GSH_REDUCE_sum || c->op == GSH_REDUCE_prod) {
        c->element = without_sign(c->element);
    }
    if (c->op == GSH_REDUCE_sum &&
        (c->element == GSH_ELEMENT_complexf || c->element == GSH_ELEMENT_complexd)) {
        c->element = c->element == GSH_ELEMENT_complexf ? GSH_ELEMENT_float : GSH_ELEMENT_double;
        c->nelems *= 2;
    }
}

/* ---- launches ---- */

static void launch(struct coll *c, enum gsh_coll_kernel kernel, struct gsh_kernel_coll_args *args,
                   uint64_t bytes)
{
    if (c->result != GSH_OK) {
        return;
    }
    args->team = c->team->state;
    gsh_waits_copy_call(args->call, sizeof(args->call), c->site.call);
    struct gsh_coll_launch l = {.kernel = kernel, .bytes = bytes, .team = c->team, .args = args};
    c->result =
        gsh_blame(c->site.is_on_stream ? c->pe->device_ops->stream_coll(c->pe, &l, c->site.stream)
                                       : c->pe->device_ops->coll(c->pe, &l),
                  c->site.call);
}

/* Through the team's inbox, if that is the faster way for so many bytes from each member to each
 * other; false: it is not, or there is none. A broadcast's data go one way, so the other ways take
 * less time for them. The short kernels take less than any other way. */
static bool go_in_lines(struct coll *c, const struct gsh_lines_call *call)
{
    const struct gsh_coll_table *t = &c->pe->coll_table;
    const bool computes = call->kind <= GSH_LINES_REDUCE_SCATTER;
    const uint64_t above = computes                            ? t->sums_above
                           : call->kind == GSH_LINES_BROADCAST ? 4 * (uint64_t)t->lines_above
                                                               : t->lines_above;
    struct gsh_lines_inbox inbox;
    if (c->result != GSH_OK || call->bytes > (computes ? t->sums_most : t->lines_most) ||
        !gsh_lines_inbox_of_team(c->pe, c->team, &inbox) ||
        (call->bytes <= above && !gsh_lines_have_short(&inbox, c->team->n_pes, call))) {
        return false;
    }
    c->result = gsh_blame(gsh_lines_launch(c->site, c->pe, c->team, &inbox, call, 1), c->site.call);
    return true;
}

static bool move_in_lines(struct coll *c, const struct gsh_coll_move *m, uint64_t bytes)
{
    struct gsh_lines_call call = {
        .root = m->root, .dest = m->dest, .source = m->source, .bytes = bytes};
    switch (m->coll) {
    case GSH_COLL_BROADCAST:
        call.kind = GSH_LINES_BROADCAST;
        break;
    case GSH_COLL_FCOLLECT:
        call.kind = GSH_LINES_ALL_GATHER;
        break;
    case GSH_COLL_ALLTOALL:
        call.kind = GSH_LINES_ALL_TO_ALL;
        break;
    default:
        return false;
    }
    return bytes > 0 && go_in_lines(c, &call);
}

static bool compute_in_lines(struct coll *c, const struct gsh_coll_compute *m, uint64_t bytes)
{
    const struct gsh_lines_call call = {
        .kind = m->coll == GSH_COLL_REDUCE ? GSH_LINES_ALL_REDUCE : GSH_LINES_REDUCE_SCATTER,
        .dest = m->dest,
        .source = m->source,
        .bytes = bytes,
        .op = m->op,
        .element = m->element,
    };
    return (m->coll == GSH_COLL_REDUCE || m->coll == GSH_COLL_REDUCESCATTER) &&
           gsh_lines_can(m->op, m->element) && go_in_lines(c, &call);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Team, sizes and places. bytes: of source and dest each, times n_times for that many members. */
static bool begin(struct coll *c, gshmem_team_t team, const void *dest, uint64_t dest_bytes,
                  const void *source, uint64_t source_bytes, int *error)
{
    struct gsh_team *t = NULL;
    c->pe = gsh_instance_need_device(c->site.call);
    enum gsh_result r = gsh_team_need(c->pe, c->site.call, team, &t);
    if (r != GSH_OK) {
        *error = gsh_public_error(r);
        return false;
    }
    c->team = t;
    (void)gsh_peer_address(c->pe, c->site.call, dest, dest_bytes, c->pe->my_pe);
    (void)gsh_peer_address(c->pe, c->site.call, source, source_bytes, c->pe->my_pe);
    return true;
}

/* Checking builds: checks that every member makes the same call, with `bytes` for each. */
static void check_calls(struct coll *c, uint64_t signature, uint64_t bytes)
{
    struct gsh_kernel_coll_args args = {
        .check = {.signature = signature, .bytes = bytes},
        .coll = GSH_COLL_CHECK,
    };
    if (GSH_CHECKS) {
        launch(c, GSH_COLL_KERNEL_move, &args, 16);
    }
}

static uint64_t signature_of_move(const struct gsh_coll_move *m)
{
    bool is_strided = m->coll == GSH_COLL_ALLTOALLS;
    uint64_t width = is_strided ? m->elem_bytes : 0;
    uint64_t root = is_strided ? GSH_COLL_STRIDES(m->dst, m->sst) : (uint32_t)m->root;
    return GSH_COLL_SIGNATURE(m->coll, GSH_REDUCE_COUNT, m->element, width, root);
}

static uint64_t signature_of_compute(const struct gsh_coll_compute *m)
{
    bool is_scan = m->coll == GSH_COLL_INSCAN || m->coll == GSH_COLL_EXSCAN;
    uint64_t op = is_scan ? GSH_REDUCE_sum : m->op;
    return GSH_COLL_SIGNATURE(m->coll, op, m->element, element_bytes(m->element), 0);
}

static int finish(struct coll *c)
{
    gsh_require(c->pe, c->site.call, c->result);
    return 0;
}

int gsh_coll_move(struct gsh_coll_site site, const struct gsh_coll_move *m)
{
    struct coll c = {.site = site};
    int error = 0;
    if (m->coll == GSH_COLL_ALLTOALLS && (m->dst < 1 || m->sst < 1)) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG,
                                         "%s: the strides %td and %td must be at least 1",
                                         site.call, m->dst, m->sst));
    }
    struct gsh_instance *pe = gsh_instance_need_device(site.call);
    struct gsh_team *t = gsh_team_find(pe, m->team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes;
    uint64_t bytes = gsh_check_bytes(pe, site.call, m->nelems, m->elem_bytes);
    GSH_TRACE_COLL(pe, site, m->team, m->dest, bytes);
    bool from_all = m->coll == GSH_COLL_ALLTOALL || m->coll == GSH_COLL_ALLTOALLS;
    uint64_t n_dest = m->coll == GSH_COLL_BROADCAST || m->coll == GSH_COLL_COLLECT ? 1 : n;
    if (!begin(&c, m->team, m->dest, bytes * n_dest, m->source, bytes * (from_all ? n : 1),
               &error)) {
        return error;
    }
    if (m->coll == GSH_COLL_BROADCAST && (m->root < 0 || m->root >= t->n_pes)) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: the root is %d, and the team has %d PEs",
                                         site.call, m->root, t->n_pes));
    }
    struct gsh_kernel_coll_args args = {.coll = m->coll};
    if (m->coll == GSH_COLL_ALLTOALLS) {
        args.strided = (struct gsh_coll_strided_args){
            .dest = address(m->dest),
            .source = address(m->source),
            .nelems = m->nelems,
            .dest_stride = m->dst,
            .source_stride = m->sst,
            .elem_bytes = (uint32_t)m->elem_bytes,
        };
    } else {
        args.move = (struct gsh_coll_move_args){
            .dest = address(m->dest),
            .source = address(m->source),
            .nelems = m->nelems,
            .root = m->root,
            .elem_bytes = (uint32_t)m->elem_bytes,
        };
    }
    check_calls(&c, signature_of_move(m), m->coll == GSH_COLL_COLLECT ? 0 : bytes);
    if (!move_in_lines(&c, m, bytes) && (m->nelems > 0 || m->coll == GSH_COLL_COLLECT)) {
        launch(&c, m->coll == GSH_COLL_ALLTOALLS ? GSH_COLL_KERNEL_alltoalls : GSH_COLL_KERNEL_move,
               &args, m->coll == GSH_COLL_COLLECT ? GSH_COLL_UNKNOWN_BYTES : bytes);
    }
    return finish(&c);
}

/* The most bytes that a step over far members adds up: for what comes after that, a grid that is
 * larger has nothing to do. */
static uint64_t far_bytes(const struct coll *c, const struct gsh_coll_compute *m, uint64_t bytes)
{
    const struct gsh_team_state *t = &c->team->state;
    uint64_t half = t->work_wide_slot_bytes * (uint64_t)t->n_pes;
    bool is_by_node = m->coll == GSH_COLL_REDUCE && bytes > c->pe->state.far_flat;
    return gsh_min_u64(is_by_node ? bytes / (uint64_t)t->n_stripes : bytes, half);
}

int gsh_coll_compute(struct gsh_coll_site site, const struct gsh_coll_compute *m)
{
    struct coll c = {.site = site};
    struct gsh_coll_compute s = *m;
    int error = 0;
    simplify(&s);
    bool is_scan = s.coll == GSH_COLL_INSCAN || s.coll == GSH_COLL_EXSCAN;
    bool is_scattered = s.coll == GSH_COLL_REDUCESCATTER;
    enum gsh_coll_kernel kernel = is_scan ? scan_kernel(s.element) : reduce_kernel(s.op, s.element);
    struct gsh_instance *pe = gsh_instance_need_device(site.call);
    uint64_t bytes = gsh_check_bytes(pe, site.call, m->nelems, element_bytes(m->element));
    GSH_TRACE_COLL(pe, site, m->team, m->dest, bytes);
    struct gsh_team *t = gsh_team_find(pe, s.team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes;
    if (!begin(&c, s.team, s.dest, bytes, s.source, bytes * (is_scattered ? n : 1), &error)) {
        return error;
    }
    check_calls(&c, signature_of_compute(m), bytes);
    if (s.nelems == 0 || compute_in_lines(&c, &s, bytes)) {
        return finish(&c);
    }
    struct gsh_kernel_coll_args args = {
        .compute = {.dest = address(s.dest),
                    .source = address(s.source),
                    .nelems = s.nelems,
                    .adder = is_scan ? reduce_kernel(GSH_REDUCE_sum, s.element) : kernel,
                    .elem_bytes = (uint32_t)element_bytes(s.element)},
        .coll = s.coll,
    };
    if (t->is_mapped) {
        launch(&c, kernel, &args, bytes);
    } else {
        launch(&c, GSH_COLL_KERNEL_far, &args, far_bytes(&c, &s, bytes));
    }
    return finish(&c);
}
