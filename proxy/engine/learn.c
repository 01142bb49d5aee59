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

/* Few PEs are asked for, and few of them twice. */
static bool is_known(const struct gsh_proxy *proxy, int pe)
{
    size_t i = 0;
    while (i < proxy->n_known && proxy->known[i] != pe) {
        i++;
    }
    return i < proxy->n_known;
}

/* Once something is to be removed with a region. */
static enum gsh_result make_known(struct gsh_proxy *proxy, int pe)
{
    if (is_known(proxy, pe)) {
        return GSH_OK;
    }
    if (!gsh_array_reserve(&proxy->known, &proxy->known_room, proxy->n_known + 1,
                           sizeof(*proxy->known))) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d far PEs", proxy->options.n_pes);
    }
    proxy->known[proxy->n_known++] = pe;
    return GSH_OK;
}

enum gsh_result gsh_learn_peer(void *context, int pe)
{
    struct gsh_proxy *proxy = context;
    const void *address;
    size_t bytes;
    enum gsh_result r = look_up(proxy, pe, GSH_PROXY_ADDRESS, &address, &bytes);
    if (r == GSH_OK && bytes == 0) {
        r = gsh_note(GSH_ERR_BUG, "PE %d has told no such address or key", pe);
    }
    return r == GSH_OK ? proxy->transport->ops->set_peer(proxy->transport, pe, address, bytes) : r;
}

enum gsh_result gsh_learn_region(void *context, int pe, uint64_t off)
{
    struct gsh_proxy *proxy = context;
    const void *key;
    size_t i = 0, bytes;
    while (i < proxy->n_told &&
           (off < proxy->told[i].off || off - proxy->told[i].off >= proxy->told[i].bytes)) {
        i++;
    }
    if (i == proxy->n_told) {
        return GSH_OK;
    }
    const struct gsh_proxy_apart region = proxy->told[i];
    enum gsh_result r = make_known(proxy, pe);
    r = r == GSH_OK ? look_up(proxy, pe, region.off, &key, &bytes) : r;
    if (r != GSH_OK || bytes == 0) { /* it has gone there: nobody uses it any more */
        return r;
    }
    return proxy->transport->ops->add_peer_region(proxy->transport, pe, region.off, region.bytes,
                                                  key, bytes);
}

enum gsh_result gsh_learn_add_region(struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    if (!proxy->is_native) {
        return GSH_OK;
    }
    if (!gsh_array_reserve(&proxy->told, &proxy->told_room, proxy->n_told + 1,
                           sizeof(*proxy->told))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of %zu regions",
                        proxy->n_told + 1);
    }
    proxy->told[proxy->n_told++] = (struct gsh_proxy_apart){off, bytes};
    return GSH_OK;
}

void gsh_learn_remove_region(struct gsh_proxy *proxy, uint64_t off)
{
    for (size_t i = 0; i < proxy->n_told; i++) {
        if (proxy->told[i].off == off) {
            for (size_t k = 0; k < proxy->n_known; k++) {
                (void)!proxy->transport->ops->remove_peer_region(proxy->transport, proxy->known[k],
                                                                 off);
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
