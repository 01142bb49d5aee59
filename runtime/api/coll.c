/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the host and on a stream. Each is a launch of one of the library's kernels
 * (kernels/coll.cu), on the same grid on all members; over far members a computing one is
 * several: pieces go by part 0's kernel into the work areas, and are added up by the operation's.
 */
#include "runtime/api/coll.h"
#include "base/util.h"
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

struct coll {
    struct gsh_coll_place place;
    struct gsh_instance *pe;
    const struct gsh_team *team;
    enum gsh_result result; /* of the steps so far */
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

static void step(struct coll *c, enum gsh_coll_kernel kernel, struct gsh_kernel_coll_args *args,
                 uint64_t bytes)
{
    if (c->result != GSH_OK) {
        return;
    }
    args->team = c->team->state;
    gsh_copy_name(args->call, sizeof(args->call), c->place.call);
    struct gsh_coll_launch launch = {
        .kernel = kernel, .bytes = bytes, .team = c->team, .args = args};
    c->result = gsh_blame(c->place.is_on_stream
                              ? c->pe->device_ops->stream_coll(c->pe, &launch, c->place.stream)
                              : c->pe->device_ops->coll(c->pe, &launch),
                          c->place.call);
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
    c->pe = gsh_instance_need_device(c->place.call);
    enum gsh_result r = gsh_team_need(c->pe, c->place.call, team, &t);
    if (r != GSH_OK) {
        *error = gsh_public_error(r);
        return false;
    }
    c->team = t;
    (void)gsh_peer_address(c->pe, c->place.call, dest, dest_bytes, c->pe->my_pe);
    (void)gsh_peer_address(c->pe, c->place.call, source, source_bytes, c->pe->my_pe);
    return true;
}

/* Checking builds: checks that every member makes the same call, with `bytes` for each. */
static void check_calls(struct coll *c, uint64_t signature, uint64_t bytes)
{
    struct gsh_kernel_coll_args args = {
        .dst = (int64_t)signature,
        .sst = (int64_t)bytes,
        .coll = GSH_COLL_CHECK,
    };
    if (GSH_CHECKS) {
        step(c, GSH_COLL_KERNEL_move, &args, 16);
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
    gsh_require(c->pe, c->place.call, c->result);
    return 0;
}

int gsh_coll_move(struct gsh_coll_place place, const struct gsh_coll_move *m)
{
    struct coll c = {.place = place};
    int error = 0;
    if (m->coll == GSH_COLL_ALLTOALLS && (m->dst < 1 || m->sst < 1)) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG,
                                         "%s: the strides %td and %td must be at least 1",
                                         place.call, m->dst, m->sst));
    }
    struct gsh_instance *pe = gsh_instance_need_device(place.call);
    struct gsh_team *t = gsh_team_find(pe, m->team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes;
    uint64_t bytes = gsh_check_bytes(pe, place.call, m->nelems, m->elem_bytes);
    bool from_all = m->coll == GSH_COLL_ALLTOALL || m->coll == GSH_COLL_ALLTOALLS;
    uint64_t n_dest = m->coll == GSH_COLL_BROADCAST || m->coll == GSH_COLL_COLLECT ? 1 : n;
    if (!begin(&c, m->team, m->dest, bytes * n_dest, m->source, bytes * (from_all ? n : 1),
               &error)) {
        return error;
    }
    if (m->coll == GSH_COLL_BROADCAST && (m->root < 0 || m->root >= t->n_pes)) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: the root is %d, and the team has %d PEs",
                                         place.call, m->root, t->n_pes));
    }
    struct gsh_kernel_coll_args args = {
        .dest = address(m->dest),
        .source = address(m->source),
        .nelems = m->nelems,
        .dst = m->dst,
        .sst = m->sst,
        .root = m->root,
        .coll = (uint16_t)m->coll,
        .elem_bytes = (uint16_t)m->elem_bytes,
    };
    check_calls(&c, signature_of_move(m), m->coll == GSH_COLL_COLLECT ? 0 : bytes);
    if (m->nelems > 0 || m->coll == GSH_COLL_COLLECT) {
        step(&c, m->coll == GSH_COLL_ALLTOALLS ? GSH_COLL_KERNEL_alltoalls : GSH_COLL_KERNEL_move,
             &args, m->coll == GSH_COLL_COLLECT ? GSH_COLL_UNKNOWN_BYTES : bytes);
    }
    return finish(&c);
}

/* ---- over far members ---- */

/* A call over far members. Each step is a launch; coll/far.cuh and coll/far_leaders.cuh call the
 * same steps. Steps that go to far members are part 0's. */
struct far_call {
    struct coll *c;
    const struct gsh_coll_compute *m;
    const struct gsh_team_state *team;
    enum gsh_coll_kernel kernel;
    uint64_t width, bytes; /* of an element; of nelems of them */
    uint64_t half_bytes, piece_bytes;
};

static void far_step(const struct far_call *f, enum gsh_coll coll, struct gsh_kernel_coll_args args)
{
    args.coll = (uint16_t)coll;
    step(f->c, GSH_COLL_KERNEL_move, &args, 0);
}

/* A step that computes with nelems elements, not all of which need be dest's. One block runs it
 * where the members of a node wait for each other in it. */
static void far_add(const struct far_call *f, enum gsh_coll coll, uint64_t bytes,
                    struct gsh_kernel_coll_args args)
{
    args.coll = (uint16_t)coll;
    if (args.nelems > 0) {
        step(f->c, f->kernel, &args, coll == GSH_COLL_ADD_NODE ? 0 : bytes);
    }
}

static void all_have_come(const struct far_call *f)
{
    far_step(f, GSH_COLL_EXCHANGE_BLOCKS, (struct gsh_kernel_coll_args){.nelems = 0});
}

static void end_far(const struct far_call *f, uint64_t n_steps, bool reads_source)
{
    far_step(f, GSH_COLL_END,
             (struct gsh_kernel_coll_args){.dst = (int64_t)n_steps, .sst = reads_source});
}

static bool goes_by_leaders(const struct far_call *f, uint64_t bytes)
{
    return bytes <= f->half_bytes && bytes <= f->c->pe->state.far_flat;
}

/* Adds up what the near members have from `source` on, then gives the sums to all nodes. */
static void exchange_sums(const struct far_call *f, uint64_t source, uint64_t nelems)
{
    struct gsh_kernel_coll_args add = {.source = source, .nelems = nelems};
    struct gsh_kernel_coll_args exchange = {.nelems = gsh_coll_block_bytes(nelems * f->width)};
    far_add(f, GSH_COLL_ADD_NODE, 0, add);
    far_step(f, GSH_COLL_EXCHANGE_BLOCKS, exchange);
}

/* A reduce or reducescatter of few bytes: n_all elements of each member; this PE's part begins at
 * `first`. */
static void reduce_by_leaders(const struct far_call *f, uint64_t n_all, uint64_t first)
{
    struct gsh_kernel_coll_args add = {
        .dest = address(f->m->dest),
        .nelems = f->m->nelems,
        .dst = (int64_t)first,
        .sst = (int64_t)gsh_coll_block_bytes(n_all * f->width),
    };
    exchange_sums(f, address(f->m->source), n_all);
    far_add(f, GSH_COLL_ADD_BLOCKS, f->bytes, add);
}

static void scan_far(const struct far_call *f)
{
    uint64_t most = gsh_scan_piece_bytes(f->team, f->half_bytes, f->piece_bytes) / f->width;
    for (uint64_t done = 0; done < f->m->nelems; done += most) {
        uint64_t n = gsh_min_u64(most, f->m->nelems - done);
        uint64_t source = address(f->m->source) + done * f->width;
        struct gsh_kernel_coll_args add = {
            .dest = address(f->m->dest) + done * f->width,
            .source = source,
            .nelems = n,
            .root = f->m->coll == GSH_COLL_INSCAN,
        };
        struct gsh_kernel_coll_args finish = {.dest = add.dest, .nelems = n * f->width};
        if (f->team->is_node_by_node) {
            exchange_sums(f, source, n);
            far_add(f, GSH_COLL_ADD_SCAN, n * f->width, add);
            far_step(f, GSH_COLL_FINISH_SCAN, finish);
        } else {
            far_step(f, GSH_COLL_GATHER,
                     (struct gsh_kernel_coll_args){.source = source, .nelems = n * f->width});
            far_add(f, GSH_COLL_ADD_SCAN, n * f->width, add);
        }
    }
}

static void add_segment(const struct far_call *f, struct gsh_range segment)
{
    struct gsh_kernel_coll_args add = {
        .dest = address(f->m->dest) + segment.begin,
        .source = address(f->m->source) + segment.begin,
        .nelems = segment.bytes / f->width,
    };
    far_add(f, GSH_COLL_ADD_NEAR, segment.bytes, add);
}

static void reduce_by_node(const struct far_call *f)
{
    uint32_t rail = (uint32_t)f->team->my_near;
    struct gsh_rails r = gsh_rails_of(f->bytes, (uint32_t)f->team->n_rails,
                                      (uint32_t)f->team->n_nodes, f->half_bytes, f->piece_bytes);
    all_have_come(f);
    add_segment(f, gsh_rail_segment(&r, 0, rail));
    for (uint64_t t = 0; t < r.n_pieces + 2; t++) {
        struct gsh_range segment = gsh_rail_segment(&r, t, rail);
        struct gsh_range own = gsh_rail_share(&r, segment, (uint32_t)f->team->my_node);
        struct gsh_kernel_coll_args rails = {
            .dest = address(f->m->dest), .nelems = f->bytes, .sst = (int64_t)t};
        struct gsh_kernel_coll_args add = {
            .dest = address(f->m->dest) + own.begin,
            .nelems = own.bytes / f->width,
            .dst = (int64_t)r.slot_bytes,
            .sst = (int64_t)t,
        };
        far_step(f, GSH_COLL_SEND_RAILS, rails);
        add_segment(f, gsh_rail_segment(&r, t + 1, rail));
        far_step(f, GSH_COLL_HEAR_RAILS, rails);
        far_add(f, GSH_COLL_ADD_SLOTS, own.bytes, add);
    }
    end_far(f, 2 * (r.n_pieces + 1), true);
}

static void reducescatter_by_node(const struct far_call *f)
{
    uint64_t slot = gsh_part_slot_bytes(f->team, f->half_bytes, f->piece_bytes);
    uint64_t most = slot / f->width, n_pieces = 0;
    all_have_come(f);
    for (uint64_t done = 0; done < f->m->nelems; done += most, n_pieces++) {
        uint64_t n = gsh_min_u64(most, f->m->nelems - done);
        struct gsh_kernel_coll_args parts = {
            .source = address(f->m->source) + done * f->width,
            .nelems = n,
            .dst = (int64_t)f->m->nelems,
            .sst = (int64_t)n_pieces,
        };
        struct gsh_kernel_coll_args exchange = {.nelems = n * f->width, .sst = (int64_t)n_pieces};
        struct gsh_kernel_coll_args add = {
            .dest = address(f->m->dest) + done * f->width,
            .nelems = n,
            .dst = (int64_t)slot,
            .sst = (int64_t)n_pieces,
        };
        far_add(f, GSH_COLL_ADD_PARTS, n * f->width, parts);
        far_step(f, GSH_COLL_EXCHANGE_PARTS, exchange);
        far_add(f, GSH_COLL_ADD_SLOTS, n * f->width, add);
    }
    end_far(f, n_pieces, false);
}

static void compute_far(struct coll *c, const struct gsh_coll_compute *m,
                        enum gsh_coll_kernel kernel)
{
    const struct gsh_team *t = c->team;
    uint64_t n = (uint64_t)t->n_pes, width = element_bytes(m->element);
    struct far_call f = {
        .c = c,
        .m = m,
        .team = &t->state,
        .kernel = kernel,
        .width = width,
        .bytes = (uint64_t)m->nelems * width,
        .half_bytes = t->state.work_wide_slot_bytes * n,
        .piece_bytes = c->pe->state.far_piece,
    };
    bool is_scattered = m->coll == GSH_COLL_REDUCESCATTER;
    uint64_t n_all = is_scattered ? n * m->nelems : m->nelems;
    if (m->coll == GSH_COLL_INSCAN || m->coll == GSH_COLL_EXSCAN) {
        scan_far(&f);
    } else if (goes_by_leaders(&f,
                               (uint64_t)t->state.n_nodes * gsh_coll_block_bytes(n_all * width))) {
        reduce_by_leaders(&f, n_all, is_scattered ? (uint64_t)t->my_index * m->nelems : 0);
    } else if (is_scattered) {
        reducescatter_by_node(&f);
    } else {
        reduce_by_node(&f);
    }
}

int gsh_coll_compute(struct gsh_coll_place place, const struct gsh_coll_compute *m)
{
    struct coll c = {.place = place};
    struct gsh_coll_compute s = *m;
    int error = 0;
    simplify(&s);
    bool is_scan = s.coll == GSH_COLL_INSCAN || s.coll == GSH_COLL_EXSCAN;
    bool is_scattered = s.coll == GSH_COLL_REDUCESCATTER;
    enum gsh_coll_kernel kernel = is_scan ? scan_kernel(s.element) : reduce_kernel(s.op, s.element);
    struct gsh_instance *pe = gsh_instance_need_device(place.call);
    uint64_t bytes = gsh_check_bytes(pe, place.call, m->nelems, element_bytes(m->element));
    struct gsh_team *t = gsh_team_find(pe, s.team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes;
    if (!begin(&c, s.team, s.dest, bytes, s.source, bytes * (is_scattered ? n : 1), &error)) {
        return error;
    }
    check_calls(&c, signature_of_compute(m), bytes);
    if (s.nelems == 0) {
        return finish(&c);
    }
    if (t->is_mapped) {
        struct gsh_kernel_coll_args args = {
            .dest = address(s.dest),
            .source = address(s.source),
            .nelems = s.nelems,
            .coll = (uint16_t)s.coll,
        };
        step(&c, kernel, &args, bytes);
        return finish(&c);
    }
    compute_far(&c, &s, kernel);
    return finish(&c);
}
