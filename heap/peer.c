/* SPDX-License-Identifier: Apache-2.0
 * The address range of a process and the peers mapped in it. */
#include "heap/peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/fault.h"
#include "base/util.h"

/* ---- the space ---- */

static void space_destroy(struct gsh_space *space)
{
    for (int c = 0; c < space->n_chunks; c++) {
        for (int s = 0; s < space->n_slots; s++) {
            if (space->is_foreign[s]) {
                space->ops->unmap(space->range.base + (uint64_t)s * space->stride +
                                      space->chunks[c].off,
                                  space->chunks[c].bytes);
            }
        }
    }
    space->ops->unreserve(&space->range);
    if (space->file >= 0) {
        close(space->file);
    }
    free(space->pe_of_slot);
    free(space->is_foreign);
    free(space->chunks);
    free(space);
}

static void space_leave(struct gsh_space **space)
{
    struct gsh_space *s = *space;
    *space = NULL;
    /* The release pairs with the acquire of the last one to leave, which reads the chunks. */
    if (s != NULL && __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        space_destroy(s);
    }
}

/* The largest alignment that every slot's base has if the range's base has it. */
static uint64_t stride_alignment(uint64_t stride)
{
    return stride & -stride;
}

static enum gsh_result space_create(const struct gsh_memory_ops *ops,
                                    const struct gsh_heap_options *options, struct gsh_space **out)
{
    size_t n = (size_t)options->n_slots;
    struct gsh_space *space = gsh_fault() ? NULL : calloc(1, sizeof(*space));
    if (space == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's range");
    }
    space->ops = ops;
    space->refs = 1;
    space->file = -1;
    space->stride = options->stride_bytes;
    space->n_slots = options->n_slots;
    space->pe_of_slot = malloc(n * sizeof(*space->pe_of_slot));
    space->is_foreign = gsh_fault() ? NULL : malloc(n * sizeof(*space->is_foreign));
    enum gsh_result r = GSH_OK;
    if (space->pe_of_slot == NULL || space->is_foreign == NULL) {
        r = gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's %zu slots", n);
    }
    for (size_t s = 0; s < n && r == GSH_OK; s++) {
        space->pe_of_slot[s] = options->pe_of_slot[s];
        space->is_foreign[s] = (int)s != options->my_slot && !options->is_same_process[s];
    }
    if (r == GSH_OK) {
        r = ops->reserve(n * space->stride, stride_alignment(space->stride), &space->range);
    }
    if (r != GSH_OK) {
        space_leave(&space);
        return r;
    }
    *out = space;
    return GSH_OK;
}

/* Room for one more chunk, so that noting it later cannot fail. */
static enum gsh_result space_prepare(struct gsh_space *space)
{
    const size_t n = (size_t)space->n_chunks + 1;
    if (n > space->chunks_room &&
        (gsh_fault() ||
         !gsh_array_reserve(&space->chunks, &space->chunks_room, n, sizeof(*space->chunks)))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the list of %zu chunks", n);
    }
    return GSH_OK;
}

/* ---- one PE's view ---- */

enum gsh_result gsh_peers_init(struct gsh_peers *peers, const struct gsh_heap_options *options)
{
    size_t n = (size_t)options->n_slots;
    *peers = (struct gsh_peers){
        .bootstrap = options->bootstrap,
        .sharers = options->node != NULL ? options->node : options->bootstrap,
        .fdpass = options->fdpass,
        .my_slot = options->my_slot,
        .leader_pe = options->bootstrap->rank,
        .mine = {.fd = -1},
    };
    peers->foreign_pe = malloc(n * sizeof(int));
    peers->foreign_slot = malloc(n * sizeof(int));
    peers->fds = malloc(n * sizeof(int));
    peers->devices = gsh_fault() ? NULL : malloc(n * sizeof(*peers->devices));
    peers->gathered = calloc((size_t)options->bootstrap->size, sizeof(*peers->gathered));
    if (options->fabric) {
        peers->told = calloc((size_t)peers->sharers->size, sizeof(*peers->told));
    }
    if (peers->foreign_pe == NULL || peers->foreign_slot == NULL || peers->fds == NULL ||
        peers->devices == NULL || peers->gathered == NULL ||
        (options->fabric && peers->told == NULL)) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's %zu slots", n);
    }
    for (int s = 0; s < options->n_slots; s++) {
        int pe = options->pe_of_slot[s];
        if (s == options->my_slot || options->is_same_process[s]) {
            peers->n_members++;
            if (pe < peers->leader_pe) {
                peers->leader_pe = pe;
            }
        } else {
            peers->foreign_pe[peers->n_foreign] = pe;
            peers->foreign_slot[peers->n_foreign++] = s;
        }
    }
    peers->is_leader = peers->leader_pe == options->bootstrap->rank;
    peers->is_one_file = options->n_slots > GSH_HEAP_MANY_SLOTS && peers->n_foreign > 0 &&
                         options->kind == GSH_MEMORY_HOST;
    if (peers->n_foreign > 0 && peers->fdpass == NULL && !options->fabric) {
        return gsh_note(GSH_ERR_ARG, "nothing to pass descriptors to other processes with");
    }
    return GSH_OK;
}

void gsh_peers_finish(struct gsh_peers *peers)
{
    space_leave(&peers->space);
    free(peers->foreign_pe);
    free(peers->foreign_slot);
    free(peers->fds);
    free(peers->devices);
    free(peers->gathered);
    free(peers->told);
    free(peers->wires);
    memset(peers, 0, sizeof(*peers));
}

enum gsh_result gsh_peers_reserve(struct gsh_peers *peers, const struct gsh_memory_ops *ops,
                                  const struct gsh_heap_options *options)
{
    return peers->is_leader ? space_create(ops, options, &peers->space) : GSH_OK;
}

uint64_t gsh_peers_publish(struct gsh_peers *peers)
{
    if (!peers->is_leader) {
        return 0;
    }
    peers->space->refs = peers->n_members;
    return (uint64_t)(uintptr_t)peers->space;
}

void gsh_peers_withdraw(struct gsh_peers *peers)
{
    if (peers->is_leader) {
        peers->space->refs = 1;
    }
}

enum gsh_result gsh_peers_join(struct gsh_peers *peers, uint64_t published,
                               const struct gsh_heap_options *options)
{
    if (peers->is_leader) {
        return GSH_OK;
    }
    struct gsh_space *space = (struct gsh_space *)(uintptr_t)published;
    if (space == NULL) {
        return gsh_note(GSH_ERR_BUG, "PE %d has published no address range", peers->leader_pe);
    }
    peers->space = space;
    bool same = space->n_slots == options->n_slots;
    for (int s = 0; same && s < space->n_slots; s++) {
        same = space->pe_of_slot[s] == options->pe_of_slot[s];
    }
    if (!same) {
        return gsh_note(GSH_ERR_ARG, "its slots are not those of PE %d in the same process",
                        peers->leader_pe);
    }
    return GSH_OK;
}

enum gsh_result gsh_peers_share_file(struct gsh_peers *peers,
                                     bool (*is_leader)(const void *context, int pe),
                                     const void *context)
{
    struct gsh_space *space = peers->space;
    int *leaders = gsh_fault() ? NULL : malloc((size_t)space->n_slots * sizeof(*leaders));
    int n = 0;
    if (leaders == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's %d slots", space->n_slots);
    }
    for (int s = 0; s < space->n_slots; s++) {
        if (is_leader(context, space->pe_of_slot[s])) {
            leaders[n++] = space->pe_of_slot[s];
        }
    }
    enum gsh_result made = GSH_OK;
    const uint64_t bytes = (uint64_t)space->n_slots * space->stride;
    if (leaders[0] == peers->leader_pe) {
        made = space->ops->make_file(bytes, &space->file);
    }
    enum gsh_result r =
        gsh_fdpass_spread(peers->fdpass, leaders, n, (uint64_t)1 << 62, &space->file);
    r = made == GSH_OK ? r : made;
    if (r == GSH_OK) {
        r = space->ops->map_file(space->file, space->range.base, 0, bytes);
    }
    for (int s = 0; s < space->n_slots && r == GSH_OK; s++) {
        if (!space->is_foreign[s]) {
            space->ops->unmap(gsh_peers_address(peers, s, 0), space->stride);
        }
    }
    free(leaders);
    return r;
}

uint64_t gsh_peers_address(const struct gsh_peers *peers, int slot, uint64_t off)
{
    return peers->space->range.base + (uint64_t)slot * peers->space->stride + off;
}

/* ---- sharing a chunk ---- */

static void unmap_first(const struct gsh_peers *peers, int n, struct gsh_chunk chunk)
{
    for (int i = 0; i < n; i++) {
        peers->space->ops->unmap(gsh_peers_address(peers, peers->foreign_slot[i], chunk.off),
                                 chunk.bytes);
    }
}

/* The leader's part: maps what each foreign PE has shared, given in gathered. */
static enum gsh_result accept_all(struct gsh_peers *peers, struct gsh_memory *memory,
                                  struct gsh_chunk chunk)
{
    struct gsh_space *space = peers->space;
    if (!peers->is_leader || peers->n_foreign == 0) {
        return GSH_OK;
    }
    enum gsh_result r = space_prepare(space);
    int n = 0;
    while (r == GSH_OK && n < peers->n_foreign) {
        int slot = peers->foreign_slot[n];
        r = memory->ops->accept(memory, slot, gsh_peers_address(peers, slot, chunk.off), chunk,
                                &peers->gathered[peers->foreign_pe[n]]);
        n += r == GSH_OK;
    }
    if (r != GSH_OK) {
        unmap_first(peers, n, chunk);
        return r;
    }
    space->chunks[space->n_chunks++] = chunk;
    return GSH_OK;
}

enum gsh_result gsh_peers_share(struct gsh_peers *peers, struct gsh_memory *memory,
                                struct gsh_chunk chunk)
{
    peers->mine = (struct gsh_share){.fd = -1};
    if (peers->n_foreign == 0 || peers->is_one_file ||
        memory->ops->share_kind(memory, chunk.off) == GSH_SHARE_NOTHING) {
        return GSH_OK;
    }
    return memory->ops->share(memory, gsh_peers_address(peers, peers->my_slot, chunk.off), chunk,
                              &peers->mine);
}

void gsh_peers_unshare(struct gsh_peers *peers)
{
    if (peers->mine.fd >= 0) {
        close(peers->mine.fd);
    }
    peers->mine.fd = -1;
}

static enum gsh_result map_by_fd(struct gsh_peers *peers, struct gsh_memory *memory,
                                 struct gsh_chunk chunk)
{
    if (peers->n_foreign == 0) {
        return GSH_OK;
    }
    enum gsh_result r = gsh_fdpass_exchange(peers->fdpass, peers->foreign_pe, peers->n_foreign,
                                            peers->tag, peers->mine.fd, peers->fds);
    if (r != GSH_OK) {
        return r;
    }
    for (int i = 0; i < peers->n_foreign; i++) {
        peers->gathered[peers->foreign_pe[i]].fd = peers->fds[i];
    }
    r = accept_all(peers, memory, chunk);
    for (int i = 0; i < peers->n_foreign; i++) {
        if (peers->fds[i] >= 0) {
            close(peers->fds[i]);
        }
    }
    return r;
}

/* All PEs that share memory by bytes take part, also those without foreign slots. */
static enum gsh_result map_by_bytes(struct gsh_peers *peers, struct gsh_memory *memory,
                                    struct gsh_chunk chunk)
{
    struct gsh_bootstrap *b = peers->sharers;
    const struct gsh_share_wire mine = {.pe = peers->bootstrap->rank, .share = peers->mine};
    enum gsh_result r = b->ops->allgather(b, &mine, sizeof(mine), peers->told);
    for (int i = 0; r == GSH_OK && i < b->size; i++) {
        const int pe = peers->told[i].pe;
        if (pe < 0 || pe >= peers->bootstrap->size) {
            return gsh_note(GSH_ERR_BUG, "a share of memory of PE %d", pe);
        }
        peers->gathered[pe] = peers->told[i].share;
    }
    return r == GSH_OK ? accept_all(peers, memory, chunk) : r;
}

static enum gsh_result map_by_kind(struct gsh_peers *peers, struct gsh_memory *memory,
                                   struct gsh_chunk chunk)
{
    switch (memory->ops->share_kind(memory, chunk.off)) {
    case GSH_SHARE_FD:
        return map_by_fd(peers, memory, chunk);
    case GSH_SHARE_BYTES:
        return map_by_bytes(peers, memory, chunk);
    case GSH_SHARE_NOTHING:
        break;
    }
    return accept_all(peers, memory, chunk);
}

enum gsh_result gsh_peers_map(struct gsh_peers *peers, struct gsh_memory *memory,
                              struct gsh_chunk chunk)
{
    peers->tag++;
    enum gsh_result r = peers->is_one_file ? GSH_OK : map_by_kind(peers, memory, chunk);
    gsh_peers_unshare(peers);
    return r;
}

void gsh_peers_unmap(struct gsh_peers *peers, struct gsh_chunk chunk)
{
    if (!peers->is_leader || peers->n_foreign == 0 || peers->is_one_file) {
        return;
    }
    unmap_first(peers, peers->n_foreign, chunk);
    peers->space->n_chunks--;
}

/* ---- registered memory ---- */

/* -1: it is not in the group. */
static int rank_of(const struct gsh_bootstrap *b, const int *pes, int pe)
{
    int rank = 0;
    while (pes != NULL && rank < b->size && pes[rank] != pe) {
        rank++;
    }
    return pes == NULL ? pe : rank < b->size ? rank : -1;
}

enum gsh_result gsh_peer_group_init(struct gsh_peers *peers, struct gsh_bootstrap *bootstrap,
                                    const int *pes, struct gsh_peer_group *out)
{
    const struct gsh_space *space = peers->space;
    const int my_pe = space->pe_of_slot[peers->my_slot];
    const size_t n = (size_t)peers->n_foreign + 1;
    int *numbers = gsh_fault() ? NULL : calloc(3 * n, sizeof(*numbers));
    if (peers->wires == NULL && !gsh_fault()) {
        peers->wires = calloc((size_t)peers->bootstrap->size, sizeof(*peers->wires));
    }
    if (numbers == NULL || peers->wires == NULL) {
        free(numbers);
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of peers");
    }
    struct gsh_peer_group g = {.bootstrap = bootstrap,
                               .foreign_pe = numbers,
                               .foreign_slot = numbers + n,
                               .foreign_rank = numbers + 2 * n,
                               .is_leader = true};
    for (int s = 0; s < space->n_slots; s++) {
        const int pe = space->pe_of_slot[s], rank = rank_of(bootstrap, pes, pe);
        if (rank >= 0 && space->is_foreign[s]) {
            g.foreign_pe[g.n_foreign] = pe;
            g.foreign_slot[g.n_foreign] = s;
            g.foreign_rank[g.n_foreign++] = rank;
        } else if (rank >= 0 && pe < my_pe) {
            g.is_leader = false;
        }
    }
    *out = g;
    return GSH_OK;
}

void gsh_peer_group_finish(const struct gsh_peers *peers, struct gsh_peer_group *group)
{
    gsh_peers_unmap_pieces(peers, group);
    free(group->foreign_pe);
    free(group->pieces);
    *group = (struct gsh_peer_group){0};
}

enum gsh_result gsh_peers_prepare_pieces(struct gsh_peer_group *group, int n)
{
    const int room = group->is_leader ? n * group->n_foreign : 0;
    if (room > 0) {
        group->pieces = gsh_fault() ? NULL : calloc((size_t)room, sizeof(*group->pieces));
    }
    return room == 0 || group->pieces != NULL
               ? GSH_OK
               : gsh_note(GSH_ERR_NOMEM, "no host memory for a list of %d pieces", room);
}

/* The leader's part: maps the announced pieces, by the descriptors in fds if these are passed. */
static enum gsh_result accept_pieces(const struct gsh_peers *peers, struct gsh_memory *memory,
                                     struct gsh_peer_group *group)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; group->is_leader && i < group->n_foreign && r == GSH_OK; i++) {
        const struct gsh_piece_wire *wire = &peers->wires[group->foreign_rank[i]];
        if (wire->bytes == 0) {
            continue;
        }
        struct gsh_share share = {.fd = peers->fds[i]};
        memcpy(share.bytes, wire->share, sizeof(share.bytes));
        const struct gsh_piece piece = {.bytes = wire->bytes, .at = wire->at};
        uint64_t addr = gsh_peers_address(peers, group->foreign_slot[i], wire->off);
        r = memory->ops->accept_piece(memory, group->foreign_slot[i], addr, &piece, &share);
        if (r == GSH_OK) {
            group->pieces[group->n_pieces++] =
                (struct gsh_peer_piece){.addr = addr, .bytes = wire->bytes};
        }
    }
    return r;
}

enum gsh_result gsh_peers_map_piece(struct gsh_peers *peers, struct gsh_memory *memory,
                                    struct gsh_peer_group *group, const struct gsh_piece *piece,
                                    uint64_t piece_off)
{
    struct gsh_bootstrap *b = group->bootstrap;
    struct gsh_share mine = {.fd = -1};
    struct gsh_piece_wire wire = {0};
    enum gsh_result own = GSH_OK;
    bool is_shared = group->n_foreign > 0;
    if (piece != NULL && is_shared) {
        own = memory->ops->share_piece(memory, piece, &mine);
    }
    if (piece != NULL && is_shared && own == GSH_OK) {
        wire = (struct gsh_piece_wire){.bytes = piece->bytes, .at = piece->at, .off = piece_off};
        memcpy(wire.share, mine.bytes, sizeof(wire.share));
    }
    group->tag++;
    for (int i = 0; i < group->n_foreign; i++) {
        peers->fds[i] = -1;
    }
    enum gsh_result r = b->ops->allgather(b, &wire, sizeof(wire), peers->wires);
    if (r == GSH_OK && is_shared && memory->ops->share_kind(memory, 0) == GSH_SHARE_FD) {
        /* distinct from the tags of map */
        r = gsh_fdpass_exchange(peers->fdpass, group->foreign_pe, group->n_foreign,
                                (uint64_t)1 << 63 | group->tag, mine.fd, peers->fds);
    }
    if (r == GSH_OK) {
        r = own == GSH_OK ? accept_pieces(peers, memory, group) : own;
    }
    for (int i = 0; i < group->n_foreign; i++) {
        if (peers->fds[i] >= 0) {
            close(peers->fds[i]);
        }
    }
    if (mine.fd >= 0) {
        close(mine.fd);
    }
    return r;
}

void gsh_peers_unmap_pieces(const struct gsh_peers *peers, struct gsh_peer_group *group)
{
    const struct gsh_space *space = peers->space;
    for (int i = 0; i < group->n_pieces; i++) {
        const struct gsh_peer_piece *piece = &group->pieces[i];
        /* the heap may grow to there; failing that the addresses stay reserved */
        if (space->file < 0 ||
            space->ops->map_file(space->file, piece->addr, piece->addr - space->range.base,
                                 piece->bytes) != GSH_OK) {
            space->ops->unmap(piece->addr, piece->bytes);
        }
    }
    group->n_pieces = 0;
}
