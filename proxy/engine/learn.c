/* SPDX-License-Identifier: Apache-2.0
 * See learn.h. */
#include "proxy/engine/learn.h"

#include <stdlib.h>
#include "base/array.h"

static enum gsh_result look_up(struct gsh_proxy *proxy, int pe, uint64_t number, const void **blob,
                               size_t *bytes)
{
    return proxy->options.look_up(proxy->options.context, pe, number, blob, bytes);
}

static enum gsh_result add_region(struct gsh_proxy *proxy, int pe,
                                  const struct gsh_proxy_apart *region)
{
    const void *key;
    size_t bytes;
    enum gsh_result r = look_up(proxy, pe, region->off, &key, &bytes);
    return r == GSH_OK ? proxy->transport->ops->add_peer_region(proxy->transport, pe, region->off,
                                                                region->bytes, key, bytes)
                       : r;
}

static void remove_region(struct gsh_proxy *proxy, int pe, uint64_t off)
{
    (void)!proxy->transport->ops->remove_peer_region(proxy->transport, pe, off);
}

enum gsh_result gsh_learn_peer(void *context, int pe)
{
    struct gsh_proxy *proxy = context;
    const void *address;
    size_t bytes, n = 0;
    if (!gsh_array_reserve(&proxy->known, &proxy->known_room, proxy->n_known + 1,
                           sizeof(*proxy->known))) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", proxy->options.n_pes);
    }
    enum gsh_result r = GSH_OK;
    while (n < proxy->n_told && (r = add_region(proxy, pe, &proxy->told[n])) == GSH_OK) {
        n++;
    }
    if (r == GSH_OK) {
        r = look_up(proxy, pe, GSH_PROXY_ADDRESS, &address, &bytes);
    }
    if (r == GSH_OK) { /* last: from then on it is known */
        r = proxy->transport->ops->set_peer(proxy->transport, pe, address, bytes);
    }
    if (r == GSH_OK) {
        proxy->known[proxy->n_known++] = pe;
        return GSH_OK;
    }
    while (n > 0) {
        remove_region(proxy, pe, proxy->told[--n].off);
    }
    return r;
}

enum gsh_result gsh_learn_add_region(struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    const struct gsh_proxy_apart region = {off, bytes};
    enum gsh_result r = GSH_OK;
    size_t n = 0;
    if (!proxy->is_native) {
        return GSH_OK;
    }
    if (!gsh_array_reserve(&proxy->told, &proxy->told_room, proxy->n_told + 1, sizeof(region))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of %zu regions",
                        proxy->n_told + 1);
    }
    while (n < proxy->n_known && (r = add_region(proxy, proxy->known[n], &region)) == GSH_OK) {
        n++;
    }
    if (r == GSH_OK) {
        proxy->told[proxy->n_told++] = region;
        return GSH_OK;
    }
    while (n > 0) {
        remove_region(proxy, proxy->known[--n], off);
    }
    return r;
}

void gsh_learn_remove_region(struct gsh_proxy *proxy, uint64_t off)
{
    for (size_t i = 0; i < proxy->n_told; i++) {
        if (proxy->told[i].off == off) {
            for (size_t k = 0; k < proxy->n_known; k++) {
                remove_region(proxy, proxy->known[k], off);
            }
            proxy->told[i] = proxy->told[--proxy->n_told];
            return;
        }
    }
}

void gsh_learn_finish(struct gsh_proxy *proxy)
{
    free(proxy->known);
    free(proxy->told);
}
