/* SPDX-License-Identifier: Apache-2.0
 * Memory that UCX reads and writes: this PE's regions, and the keys to those of its peers. A key is
 * the region's address followed by what UCX packs; it is opened at the first operation. */
#ifndef GSH_UCX_REGION_H
#define GSH_UCX_REGION_H

#include "proxy/ucx/ucx.h"

enum gsh_result gsh_ucx_add_region(struct gsh_transport *t, void *memory, uint64_t off,
                                   uint64_t bytes, const void **key, size_t *key_bytes);
enum gsh_result gsh_ucx_make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                    void **memory, const void **key, size_t *key_bytes);
enum gsh_result gsh_ucx_remove_region(struct gsh_transport *t, uint64_t off);
enum gsh_result gsh_ucx_add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                        uint64_t bytes, const void *key, size_t key_bytes);
enum gsh_result gsh_ucx_remove_peer_region(struct gsh_transport *t, int pe, uint64_t off);
enum gsh_result gsh_ucx_pin(struct gsh_transport *t, void *memory, uint64_t bytes, void **pin);
void gsh_ucx_unpin(struct gsh_transport *t, void *pin);
void *gsh_ucx_map_peer_region(struct gsh_transport *t, int pe, uint64_t off);
/* The region of peer that holds off; NULL: none. */
struct gsh_ucx_remote *gsh_ucx_search_remote(struct gsh_ucx_peer *peer, uint64_t off);
static inline struct gsh_ucx_remote *gsh_ucx_find_remote(struct gsh_ucx_peer *peer, uint64_t off)
{
    size_t i = peer->last_remote; /* usually the same one again */
    if (i < peer->n_remotes && off >= peer->remotes[i].off &&
        off - peer->remotes[i].off < peer->remotes[i].bytes) {
        return &peer->remotes[i];
    }
    return gsh_ucx_search_remote(peer, off);
}
/* Checks that all of [off, off + bytes) is in regions of peer, of which some may be learnt now; if
 * not, that is an error. GSH_OK, too, if the peer is broken. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_check_remote(struct gsh_ucx_peer *peer, uint64_t off,
                                                      uint64_t bytes);
/* This PE's memory at off, and how many bytes are contiguous; NULL: none. */
uint8_t *gsh_ucx_find_own(const struct gsh_ucx *u, uint64_t off, uint64_t *bytes);
/* NULL: not opened yet. */
static inline ucp_rkey_h gsh_ucx_rkey(const struct gsh_ucx_remote *remote, unsigned path)
{
    return path == 0 ? remote->rkey : remote->path_rkeys != NULL ? remote->path_rkeys[path] : NULL;
}
/* Makes gsh_ucx_rkey available; false: the peer is broken. ep is the path's, or NULL. */
bool gsh_ucx_open_key(struct gsh_ucx_peer *peer, ucp_ep_h ep, unsigned path,
                      struct gsh_ucx_remote *remote);
void gsh_ucx_free_remotes(struct gsh_ucx_peer *peer);
void gsh_ucx_free_regions(struct gsh_ucx *u);

#endif
