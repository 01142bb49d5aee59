/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the host and on a stream. Each is a launch of one of the library's kernels
 * (device/kernels_coll.cu), on the same grid on all members; over far members a computing one is
 * several: pieces go by part 0's kernel into the work areas, and are added up by the operation's.
 */
#include "runtime/api/coll.h"
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/base/util.h"
#include "runtime/job/binding.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/setup/setup.h"
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

/* The same reduction by a kernel that exists: a few types compute for all. */
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
    c->result = c->place.is_on_stream
                    ? c->pe->device_ops->stream_coll(c->pe, &launch, c->place.stream)
                    : c->pe->device_ops->coll(c->pe, &launch);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Team, sizes and places. bytes: of source and dest each, with n_times for as many members. */
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
    struct gsh_team *t = gsh_team_find(gsh_instance_need_device(place.call), m->team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes, bytes = (uint64_t)m->nelems * m->elem_bytes;
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
    if (m->nelems > 0 || m->coll == GSH_COLL_COLLECT) {
        step(&c, m->coll == GSH_COLL_ALLTOALLS ? GSH_COLL_KERNEL_alltoalls : GSH_COLL_KERNEL_move,
             &args, m->coll == GSH_COLL_COLLECT ? GSH_COLL_UNKNOWN_BYTES : bytes);
    }
    return finish(&c);
}

/* ---- over far members ---- */

/* In checking builds, as the kernels of mapped members do it. */
static void check_calls(struct coll *c, const struct gsh_coll_compute *m, uint64_t bytes)
{
    bool is_scan = m->coll == GSH_COLL_INSCAN || m->coll == GSH_COLL_EXSCAN;
    uint64_t op = is_scan ? GSH_REDUCE_sum : m->op;
    struct gsh_kernel_coll_args args = {
        .dst = (int64_t)GSH_COLL_SIGNATURE(m->coll, op, element_bytes(m->element), 0),
        .sst = (int64_t)bytes,
        .coll = GSH_COLL_CHECK,
    };
    if (GSH_CHECKS) {
        step(c, GSH_COLL_KERNEL_move, &args, 16);
    }
}

/* Each member gets all that concerns it, and adds it up: n_apart is the distance, in elements, of
 * what is for one member from what is for the next. */
static void add_up_far(struct coll *c, const struct gsh_coll_compute *m,
                       enum gsh_coll_kernel kernel, uint64_t n_apart, int n_parts)
{
    uint64_t width = element_bytes(m->element), most = c->team->layout.work_wide_slot_bytes / width;
    for (uint64_t done = 0; done < m->nelems; done += most) {
        uint64_t n = m->nelems - done < most ? m->nelems - done : most;
        struct gsh_kernel_coll_args scatter = {
            .source = address(m->source) + done * width,
            .nelems = n * width,
            .sst = (int64_t)(n_apart * width),
            .coll = GSH_COLL_SCATTER,
        };
        struct gsh_kernel_coll_args add = {
            .dest = address(m->dest) + done * width,
            .nelems = n,
            .root = n_parts,
            .coll = GSH_COLL_ADD,
        };
        step(c, GSH_COLL_KERNEL_move, &scatter, n * width);
        step(c, kernel, &add, n * width);
    }
}

/* Each member adds up a part, and gives it to all others. */
static void reduce_far(struct coll *c, const struct gsh_coll_compute *m,
                       enum gsh_coll_kernel kernel)
{
    uint64_t width = element_bytes(m->element), n_members = (uint64_t)c->team->n_pes;
    uint64_t most = c->team->layout.work_wide_slot_bytes / width * n_members;
    for (uint64_t done = 0; done < m->nelems; done += most) {
        uint64_t n = m->nelems - done < most ? m->nelems - done : most;
        uint64_t each = (n + n_members - 1) / n_members;
        uint64_t begin = each * (uint64_t)c->team->my_index;
        uint64_t own = begin >= n ? 0 : n - begin < each ? n - begin : each;
        uint64_t mine = address(m->dest) + (done + begin) * width;
        struct gsh_kernel_coll_args scatter = {
            .source = address(m->source) + done * width,
            .nelems = n * width,
            .dst = (int64_t)(each * width),
            .sst = (int64_t)(each * width),
            .coll = GSH_COLL_SCATTER,
        };
        struct gsh_kernel_coll_args add = {
            .dest = mine, .nelems = own, .root = c->team->n_pes, .coll = GSH_COLL_ADD};
        struct gsh_kernel_coll_args spread = {
            .dest = mine, .nelems = own * width, .elem_bytes = 1, .coll = GSH_COLL_SPREAD};
        step(c, GSH_COLL_KERNEL_move, &scatter, n * width);
        step(c, kernel, &add, own * width);
        step(c, GSH_COLL_KERNEL_move, &spread, own * width);
    }
}

/* As reduce_by_node in device/coll/far.cuh. */
static void reduce_by_node(struct coll *c, const struct gsh_coll_compute *m,
                           enum gsh_coll_kernel kernel)
{
    const struct gsh_team_state *t = &c->team->state;
    uint64_t width = element_bytes(m->element), bytes = (uint64_t)m->nelems * width;
    uint32_t rail = (uint32_t)t->my_near;
    struct gsh_rails r = gsh_rails_of(bytes, (uint32_t)t->n_rails, (uint32_t)t->n_nodes,
                                      (uint64_t)t->work_wide_slot_bytes * (uint64_t)t->n_pes,
                                      c->pe->state.far_piece);
    struct gsh_kernel_coll_args meet = {.coll = GSH_COLL_MEET};
    step(c, GSH_COLL_KERNEL_move, &meet, 0);
    for (uint64_t piece = 0; piece < r.n_pieces + 2; piece++) {
        struct gsh_range segment = gsh_rail_segment(&r, piece, rail), own = {0, 0};
        if (piece > 0) {
            own = gsh_rail_share(&r, gsh_rail_segment(&r, piece - 1, rail), (uint32_t)t->my_node);
        }
        struct gsh_kernel_coll_args add = {
            .dest = address(m->dest) + own.begin,
            .nelems = own.bytes / width,
            .dst = (int64_t)r.slot_bytes,
            .root = t->n_nodes,
            .coll = GSH_COLL_ADD,
        };
        struct gsh_kernel_coll_args near = {
            .dest = address(m->dest) + segment.begin,
            .source = address(m->source) + segment.begin,
            .nelems = segment.bytes / width,
            .coll = GSH_COLL_NEAR,
        };
        struct gsh_kernel_coll_args rails = {
            .dest = address(m->dest),
            .nelems = bytes,
            .sst = (int64_t)piece,
            .coll = GSH_COLL_RAILS,
        };
        if (own.bytes > 0) {
            step(c, kernel, &add, own.bytes);
        }
        if (segment.bytes > 0) {
            step(c, kernel, &near, segment.bytes);
        }
        step(c, GSH_COLL_KERNEL_move, &rails, segment.bytes);
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
    uint64_t bytes = (uint64_t)s.nelems * element_bytes(s.element);
    struct gsh_team *t = gsh_team_find(gsh_instance_need_device(place.call), s.team);
    uint64_t n = t == NULL ? 0 : (uint64_t)t->n_pes;
    if (!begin(&c, s.team, s.dest, bytes, s.source, bytes * (is_scattered ? n : 1), &error)) {
        return error;
    }
    int n_parts = t->n_pes;
    if (is_scan) {
        n_parts = s.coll == GSH_COLL_INSCAN ? t->my_index + 1 : t->my_index;
    }
    if (s.nelems == 0) {
        return 0;
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
    check_calls(&c, &s, bytes);
    if (s.coll == GSH_COLL_REDUCE && bytes > c.pe->state.far_flat) {
        reduce_by_node(&c, &s, kernel);
    } else if (s.coll == GSH_COLL_REDUCE &&
               (bytes > GSH_COLL_FAR_ONE_SHOT || bytes > t->layout.work_wide_slot_bytes)) {
        reduce_far(&c, &s, kernel);
    } else {
        add_up_far(&c, &s, kernel, is_scattered ? s.nelems : 0, n_parts);
    }
    return finish(&c);
}
