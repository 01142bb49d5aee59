/* SPDX-License-Identifier: Apache-2.0
 * See range_table.h. */
#include "heap/range_table.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"
#include "heap/range_ipc.h"

struct gsh_registered {
    struct gsh_registered *next; /* by address */
    const struct gsh_memory_ops *ops;
    struct gsh_memory *memory; /* NULL: host memory's */
    struct gsh_registration registration;
    bool is_ipc; /* only start and bytes of the registration count */
    uint8_t handle[GSH_IPC_HANDLE_BYTES];
    int n_uses;
};

static struct gsh_registered *registered;
static struct gsh_range *ranges;
static uint64_t n_ranges;

static uint64_t end_of(const struct gsh_registered *p)
{
    return p->registration.start + p->registration.bytes;
}

static void drop(struct gsh_registered *part)
{
    struct gsh_registered **p = &registered;
    if (--part->n_uses > 0) {
        return;
    }
    while (*p != part) {
        p = &(*p)->next;
    }
    *p = part->next;
    if (!part->is_ipc) {
        part->ops->give_back(part->memory, &part->registration);
    }
    if (part->memory != NULL) {
        part->ops->destroy(&part->memory);
    }
    free(part);
}

static void insert(struct gsh_registered *part)
{
    struct gsh_registered **p = &registered;
    while (*p != NULL && (*p)->registration.start < part->registration.start) {
        p = &(*p)->next;
    }
    part->next = *p;
    *p = part;
}

static enum gsh_result make(const struct gsh_memory_ops *ops,
                            const struct gsh_memory_options *options, uint64_t addr, uint64_t bytes,
                            struct gsh_registered **out)
{
    struct gsh_registered *part = calloc(1, sizeof(*part));
    if (part == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of shared memory");
    }
    part->ops = ops;
    enum gsh_result r;
    if (ops == &gsh_memory_host) {
        r = gsh_host_share_range(addr, bytes, &part->registration);
    } else {
        r = ops->create(options, &part->memory);
        r = r == GSH_OK ? ops->register_range(part->memory, addr, bytes, &part->registration) : r;
    }
    if (r != GSH_OK) {
        if (part->memory != NULL) {
            ops->destroy(&part->memory);
        }
        free(part);
        return r;
    }
    insert(part);
    *out = part;
    return GSH_OK;
}

/* Memory of cudaMalloc, which is shared as one whole allocation. */
static enum gsh_result make_ipc(const struct gsh_memory_ops *ops,
                                const struct gsh_memory_options *options, uint64_t ptr,
                                uint64_t bytes, struct gsh_registered **out)
{
    struct gsh_registered *part = calloc(1, sizeof(*part));
    if (part == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of shared memory");
    }
    part->ops = ops;
    part->is_ipc = true;
    enum gsh_result r =
        gsh_range_ipc_get(options->cuda_device, ptr, bytes, &part->registration.start,
                          &part->registration.bytes, part->handle);
    if (r != GSH_OK) {
        free(part);
        return r;
    }
    insert(part);
    *out = part;
    return GSH_OK;
}

/* The part that holds addr; or a new one from there to the next one, at most to `end`. */
static enum gsh_result find_or_make(const struct gsh_memory_ops *ops,
                                    const struct gsh_memory_options *options, uint64_t addr,
                                    uint64_t end, struct gsh_registered **out)
{
    struct gsh_registered *p = registered;
    while (p != NULL && end_of(p) <= addr) {
        p = p->next;
    }
    if (p != NULL && p->registration.start <= addr) {
        *out = p;
        return GSH_OK;
    }
    if (p != NULL && p->registration.start < end) {
        end = p->registration.start;
    }
    return make(ops, options, addr, end - addr, out);
}

/* Fills in the range's parts. */
static enum gsh_result add_parts(const struct gsh_memory_ops *ops,
                                 const struct gsh_memory_options *options, uint64_t ptr,
                                 uint64_t bytes, struct gsh_range *range)
{
    const uint64_t granule = ops->granule();
    const uint64_t end = gsh_align_up(ptr + bytes, granule);
    size_t room = 0;
    enum gsh_result r = GSH_OK;
    for (uint64_t at = ptr & -granule; r == GSH_OK && at < end;) {
        struct gsh_registered *part = NULL;
        if (!gsh_array_reserve(&range->parts, &room, (size_t)range->n_parts + 1,
                               sizeof(struct gsh_registered *))) {
            return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of shared memory");
        }
        r = find_or_make(ops, options, at, end, &part);
        if (r == GSH_OK && part->is_ipc) {
            r = gsh_note(GSH_ERR_UNSUPPORTED, "this is memory of cudaMalloc");
        } else if (r == GSH_OK) {
            part->n_uses++;
            range->parts[range->n_parts++] = part;
            at = end_of(part);
        }
    }
    return r;
}

/* After add_parts has failed: range->parts has room for one, or is NULL for want of memory. */
static enum gsh_result add_ipc_part(const struct gsh_memory_ops *ops,
                                    const struct gsh_memory_options *options, uint64_t ptr,
                                    uint64_t bytes, struct gsh_range *range)
{
    struct gsh_registered *part = registered;
    enum gsh_result r = GSH_OK;
    if (range->parts == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of shared memory");
    }
    while (part != NULL &&
           !(part->is_ipc && part->registration.start <= ptr &&
             gsh_range_fits(ptr - part->registration.start, bytes, part->registration.bytes))) {
        part = part->next;
    }
    if (part == NULL) {
        r = make_ipc(ops, options, ptr, bytes, &part);
    }
    if (r == GSH_OK) {
        part->n_uses++;
        range->parts[range->n_parts++] = part;
    }
    return r;
}

/* What the range has so far. */
static void drop_parts(struct gsh_range *range)
{
    for (int i = 0; i < range->n_parts; i++) {
        drop(range->parts[i]);
    }
    range->n_parts = 0;
}

enum gsh_result gsh_range_table_add(const struct gsh_memory_ops *ops,
                                    const struct gsh_memory_options *options, uint64_t ptr,
                                    uint64_t bytes, struct gsh_range **out)
{
    struct gsh_range *range = calloc(1, sizeof(*range));
    enum gsh_result r = range != NULL
                            ? GSH_OK
                            : gsh_note(GSH_ERR_NOMEM, "no host memory for a list of shared memory");
    if (r == GSH_OK) {
        r = add_parts(ops, options, ptr, bytes, range);
    }
    if (r != GSH_OK && range != NULL && ops != &gsh_memory_host) {
        drop_parts(range);
        r = add_ipc_part(ops, options, ptr, bytes, range);
    }
    if (r != GSH_OK) {
        gsh_range_table_remove(range);
        return r;
    }
    range->ptr = ptr;
    range->bytes = bytes;
    range->is_cuda = ops != &gsh_memory_host;
    range->number = ++n_ranges;
    range->next = ranges;
    ranges = range;
    *out = range;
    return GSH_OK;
}

/* Accepts one that is not in the list, and NULL. */
void gsh_range_table_remove(struct gsh_range *range)
{
    struct gsh_range **p = &ranges;
    if (range == NULL) {
        return;
    }
    while (*p != NULL && *p != range) {
        p = &(*p)->next;
    }
    if (*p != NULL) {
        *p = range->next;
    }
    drop_parts(range);
    free(range->parts);
    free(range);
}

struct gsh_range *gsh_range_table_find(uint64_t number)
{
    struct gsh_range *range = ranges;
    while (range != NULL && range->number != number) {
        range = range->next;
    }
    return range;
}

uint64_t gsh_range_table_at(const struct gsh_range *range)
{
    return range->ptr - range->parts[0]->registration.start;
}

void gsh_range_table_piece(const struct gsh_range *range, uint32_t i, struct gsh_range_piece *out,
                           int *fd)
{
    *out = (struct gsh_range_piece){.result = GSH_ERR_ARG};
    *fd = -1;
    for (int part = 0; part < range->n_parts; part++) {
        const struct gsh_registered *p = range->parts[part];
        const uint32_t n = (uint32_t)p->registration.n_pieces;
        if (p->is_ipc) { /* then it is the only part */
            *out = (struct gsh_range_piece){.result = i == 0 ? GSH_OK : GSH_ERR_ARG,
                                            .n_pieces = 1,
                                            .bytes = p->registration.bytes,
                                            .is_ipc = 1};
            memcpy(out->handle, p->handle, sizeof(out->handle));
            return;
        }
        if (i >= out->n_pieces && i - out->n_pieces < n) {
            const struct gsh_piece *piece = &p->registration.pieces[i - out->n_pieces];
            struct gsh_share share = {.fd = -1};
            out->result = (uint32_t)p->ops->share_piece(p->memory, piece, &share);
            out->bytes = piece->bytes;
            out->at = piece->at;
            out->has_fd = share.fd >= 0;
            memcpy(out->handle, share.bytes, sizeof(out->handle));
            *fd = share.fd;
        }
        out->n_pieces += n;
    }
}
