/* SPDX-License-Identifier: Apache-2.0
 * See region.h. */
#include "proxy/ucx/region.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memlock.h"
#include "base/util.h"
#include "proxy/ucx/endpoint.h"
#include "proxy/ucx/loss.h"

/* ---- this PE's: failures are noted, because the caller reports them to all PEs ---- */

/* memory NULL: UCX allocates it. */
static enum gsh_result map(struct gsh_ucx *u, void *memory, uint64_t bytes, ucp_mem_h *memh)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = memory,
        .length = bytes,
        .flags = memory != NULL ? 0 : UCP_MEM_MAP_ALLOCATE,
    };
    ucs_status_t status = ucp_mem_map(u->context, &params, memh);
    if (status == UCS_OK) {
        return GSH_OK;
    }
    char hint[GSH_MEMLOCK_TEXT];
    return u->core->note(GSH_ERR_NOMEM, "UCX cannot %s %llu bytes of %s: %s%s",
                         memory != NULL ? "register" : "allocate", (unsigned long long)bytes,
                         memory != NULL ? "memory" : "staging buffers", ucs_status_string(status),
                         gsh_memlock_hint(hint));
}

static enum gsh_result address_of(struct gsh_ucx *u, ucp_mem_h memh, void **memory)
{
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucs_status_t status = ucp_mem_query(memh, &attr);
    if (status != UCS_OK) {
        return u->core->note(GSH_ERR_SYSTEM, "UCX does not say where its memory is: %s",
                             ucs_status_string(status));
    }
    *memory = attr.address;
    return GSH_OK;
}

static enum gsh_result pack(struct gsh_ucx *u, ucp_mem_h memh, const void *memory, void **key,
                            size_t *key_bytes)
{
    void *packed;
    size_t packed_bytes;
    uint64_t address = (uintptr_t)memory;
    ucs_status_t status = ucp_rkey_pack(u->context, memh, &packed, &packed_bytes);
    if (status != UCS_OK) {
        return u->core->note(GSH_ERR_SYSTEM, "UCX makes no key to the heap: %s",
                             ucs_status_string(status));
    }
    char *copy = malloc(sizeof(address) + packed_bytes);
    if (copy != NULL) {
        memcpy(copy, &address, sizeof(address));
        memcpy(copy + sizeof(address), packed, packed_bytes);
    }
    ucp_rkey_buffer_release(packed);
    if (copy == NULL) {
        return u->core->note(GSH_ERR_NOMEM, "far PEs over UCX: no memory for a key");
    }
    *key = copy;
    *key_bytes = sizeof(address) + packed_bytes;
    return GSH_OK;
}

/* *memory NULL: made here. */
static enum gsh_result add_region(struct gsh_ucx *u, void **memory, uint64_t off, uint64_t bytes,
                                  const void **key, size_t *key_bytes)
{
    struct gsh_ucx_region region = {.off = off, .bytes = bytes};
    if (!gsh_array_reserve(&u->regions, &u->regions_room, u->n_regions + 1, sizeof(region))) {
        return u->core->note(GSH_ERR_NOMEM, "far PEs over UCX: no memory for a region");
    }
    enum gsh_result r = map(u, *memory, bytes, &region.memh);
    if (r != GSH_OK) {
        return r;
    }
    void *at = *memory;
    if (at == NULL) {
        r = address_of(u, region.memh, &at);
    }
    if (r == GSH_OK) {
        r = pack(u, region.memh, at, &region.key, key_bytes);
    }
    if (r != GSH_OK) {
        ucp_mem_unmap(u->context, region.memh);
        return r;
    }
    region.memory = at;
    u->regions[u->n_regions++] = region;
    *memory = at;
    *key = region.key;
    return GSH_OK;
}

enum gsh_result gsh_ucx_add_region(struct gsh_transport *t, void *memory, uint64_t off,
                                   uint64_t bytes, const void **key, size_t *key_bytes)
{
    return add_region((struct gsh_ucx *)t, &memory, off, bytes, key, key_bytes);
}

enum gsh_result gsh_ucx_make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                    void **memory, const void **key, size_t *key_bytes)
{
    void *made = NULL;
    enum gsh_result r = add_region((struct gsh_ucx *)t, &made, off, bytes, key, key_bytes);
    if (r == GSH_OK) {
        *memory = made;
    }
    return r;
}

static void free_region(struct gsh_ucx *u, const struct gsh_ucx_region *region)
{
    if (!u->has_lost) { /* otherwise UCX is left as it is */
        ucp_mem_unmap(u->context, region->memh);
    }
    free(region->key);
}

enum gsh_result gsh_ucx_remove_region(struct gsh_transport *t, uint64_t off)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    for (size_t i = 0; i < u->n_regions; i++) {
        if (u->regions[i].off != off) {
            continue;
        }
        free_region(u, &u->regions[i]);
        u->regions[i] = u->regions[--u->n_regions];
        return GSH_OK;
    }
    return u->core->fail(GSH_ERR_ARG, "far PEs over UCX: no region begins at offset %llu",
                         (unsigned long long)off);
}

/* UCX keeps its registrations, so later operations find them. */
enum gsh_result gsh_ucx_pin(struct gsh_transport *t, void *memory, uint64_t bytes, void **pin)
{
    ucp_mem_h memh = NULL;
    enum gsh_result r = map((struct gsh_ucx *)t, memory, bytes, &memh);
    *pin = memh;
    return r;
}

void gsh_ucx_unpin(struct gsh_transport *t, void *pin)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    if (!u->has_lost) { /* as above */
        ucp_mem_unmap(u->context, pin);
    }
}

uint8_t *gsh_ucx_find_own(const struct gsh_ucx *u, uint64_t off, uint64_t *bytes)
{
    for (size_t i = 0; i < u->n_regions; i++) {
        const struct gsh_ucx_region *region = &u->regions[i];
        if (off < region->off || off - region->off >= region->bytes) {
            continue;
        }
        *bytes = region->bytes - (off - region->off);
        return region->memory + (off - region->off);
    }
    return NULL;
}

void gsh_ucx_free_regions(struct gsh_ucx *u)
{
    for (size_t i = 0; i < u->n_regions; i++) {
        free_region(u, &u->regions[i]);
    }
    free(u->regions);
    u->regions = NULL;
    u->n_regions = 0;
}

/* ---- peers' ---- */

/* The first region that ends after off, or n_remotes. */
static size_t search(const struct gsh_ucx_peer *peer, uint64_t off)
{
    size_t low = 0, high = peer->n_remotes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gsh_ucx_remote *r = &peer->remotes[middle];
        if (off >= r->off && off - r->off >= r->bytes) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct gsh_ucx_remote *gsh_ucx_search_remote(struct gsh_ucx_peer *peer, uint64_t off)
{
    size_t i = search(peer, off);
    if (i == peer->n_remotes || off < peer->remotes[i].off) {
        return NULL;
    }
    peer->last_remote = i;
    return &peer->remotes[i];
}

/* As find_remote; if there is none, tries to learn it. */
static enum gsh_result need_remote(struct gsh_ucx_peer *peer, uint64_t off,
                                   const struct gsh_ucx_remote **remote)
{
    const struct gsh_transport_events *events = &peer->ucx->base.options.events;
    *remote = gsh_ucx_find_remote(peer, off);
    if (*remote != NULL || events->learn_region == NULL || peer->pairing != NULL) {
        return GSH_OK;
    }
    const enum gsh_result r = events->learn_region(events->context, peer->pe, off);
    *remote = gsh_ucx_find_remote(peer, off);
    return gsh_ucx_is_lost_by(peer, r) ? GSH_OK : r;
}

enum gsh_result gsh_ucx_check_remote(struct gsh_ucx_peer *peer, uint64_t off, uint64_t bytes)
{
    uint64_t at = off, left = bytes;
    while (left > 0 && peer->state != GSH_UCX_BROKEN) {
        const struct gsh_ucx_remote *remote;
        const enum gsh_result r = need_remote(peer, at, &remote);
        if (r != GSH_OK || peer->state == GSH_UCX_BROKEN) {
            return r;
        }
        if (remote == NULL) {
            return peer->ucx->core->fail(
                GSH_ERR_ARG, "far PEs over UCX: [%llu, %llu) is not within the regions of PE %d",
                (unsigned long long)off, (unsigned long long)(off + bytes), peer->pe);
        }
        uint64_t here = gsh_min_u64(left, remote->bytes - (at - remote->off));
        at += here;
        left -= here;
    }
    return GSH_OK;
}

enum gsh_result gsh_ucx_add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                        uint64_t bytes, const void *key, size_t key_bytes)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, pe);
    struct gsh_ucx_remote remote = {.off = off, .bytes = bytes};
    if (peer == NULL || key_bytes <= sizeof(remote.address)) {
        return u->core->fail(GSH_ERR_ARG, "far PEs over UCX: not a key to memory of PE %d", pe);
    }
    if (peer->state == GSH_UCX_LOST) {
        return GSH_ERR_PEER;
    }
    memcpy(&remote.address, key, sizeof(remote.address));
    key_bytes -= sizeof(remote.address);
    const bool has_room = gsh_array_reserve_least(&peer->remotes, &peer->remotes_room,
                                                  peer->n_remotes + 1, sizeof(remote));
    remote.key = malloc(key_bytes);
    if (!has_room || remote.key == NULL) {
        free(remote.key);
        return u->core->fail(GSH_ERR_NOMEM, "far PEs over UCX: no memory for a key of PE %d", pe);
    }
    memcpy(remote.key, (const char *)key + sizeof(remote.address), key_bytes);
    size_t i = search(peer, off);
    struct gsh_ucx_remote *at = &peer->remotes[i];
    memmove(at + 1, at, (peer->n_remotes - i) * sizeof(*at));
    *at = remote;
    peer->n_remotes++;
    return GSH_OK;
}

static void free_remote(const struct gsh_ucx_remote *remote)
{
    for (unsigned path = 0; path < GSH_TRANSPORT_PATHS; path++) {
        if (gsh_ucx_rkey(remote, path) != NULL) {
            ucp_rkey_destroy(gsh_ucx_rkey(remote, path));
        }
    }
    free(remote->path_rkeys);
    free(remote->key);
}

enum gsh_result gsh_ucx_remove_peer_region(struct gsh_transport *t, int pe, uint64_t off)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    struct gsh_ucx_peer *peer = gsh_ucx_peer(u, pe);
    if (peer != NULL && peer->state == GSH_UCX_LOST) {
        return GSH_ERR_PEER;
    }
    size_t i = peer != NULL ? search(peer, off) : 0;
    if (peer == NULL || i == peer->n_remotes || peer->remotes[i].off != off) {
        if (t->options.events.learn_region != NULL) {
            return GSH_OK;
        }
        return u->core->fail(GSH_ERR_ARG,
                             "far PEs over UCX: no region of PE %d begins at offset %llu", pe,
                             (unsigned long long)off);
    }
    free_remote(&peer->remotes[i]);
    peer->n_remotes--;
    memmove(&peer->remotes[i], &peer->remotes[i + 1],
            (peer->n_remotes - i) * sizeof(*peer->remotes));
    return GSH_OK;
}

bool gsh_ucx_open_key(struct gsh_ucx_peer *peer, ucp_ep_h ep, unsigned path,
                      struct gsh_ucx_remote *remote)
{
    if (gsh_ucx_rkey(remote, path) != NULL || ep == NULL) {
        return ep != NULL;
    }
    if (path != 0 && remote->path_rkeys == NULL) {
        remote->path_rkeys = calloc(GSH_TRANSPORT_PATHS, sizeof(*remote->path_rkeys));
        if (remote->path_rkeys == NULL) {
            gsh_ucx_break(peer, "no memory for a key to its memory");
            return false;
        }
    }
    ucp_rkey_h *rkey = path == 0 ? &remote->rkey : &remote->path_rkeys[path];
    ucs_status_t status = ucp_ep_rkey_unpack(ep, remote->key, rkey);
    if (status == UCS_OK) {
        return true;
    }
    *rkey = NULL;
    gsh_ucx_break(peer, "cannot open a key to its memory: %s", ucs_status_string(status));
    return false;
}

/* UCX can map it by keys to its own shared memory. */
void *gsh_ucx_map_peer_region(struct gsh_transport *t, int pe, uint64_t off)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    struct gsh_ucx_peer *peer;
    void *here = NULL;
    if (gsh_ucx_use(u, pe, &peer) != GSH_OK) {
        return NULL;
    }
    struct gsh_ucx_remote *remote = gsh_ucx_find_remote(peer, off);
    if (remote == NULL || !gsh_ucx_open_key(peer, peer->ep, 0, remote)) {
        return NULL;
    }
    return ucp_rkey_ptr(remote->rkey, remote->address, &here) == UCS_OK ? here : NULL;
}

void gsh_ucx_free_remotes(struct gsh_ucx_peer *peer)
{
    for (size_t i = 0; i < peer->n_remotes; i++) {
        free_remote(&peer->remotes[i]);
    }
    peer->n_remotes = 0;
}
