/* SPDX-License-Identifier: Apache-2.0
 * One descriptor for many ranks. */
#include "bootstrap/fdpass.h"

#include "bootstrap/socket.h"

enum { CHILDREN = GSH_FDPASS_SPREAD_LINKS - 1 };

enum gsh_result gsh_fdpass_spread(struct gsh_fdpass *f, const int *ranks, int n, uint64_t tag,
                                  int *fd)
{
    const int own = gsh_fdpass_rank(f);
    int me = 0, nothing[CHILDREN];
    while (me < n && ranks[me] != own) {
        me++;
    }
    if (me == n) {
        return gsh_note(GSH_ERR_BUG, "this rank is none of those that get a descriptor");
    }
    enum gsh_result r = GSH_OK;
    if (me > 0) {
        r = gsh_fdpass_exchange(f, &ranks[(me - 1) / CHILDREN], 1, tag, -1, fd);
    }
    const int first = me * CHILDREN + 1;
    const int n_children = first >= n ? 0 : n - first < CHILDREN ? n - first : CHILDREN;
    /* Also if nothing has come: they wait. */
    enum gsh_result passed =
        gsh_fdpass_exchange(f, &ranks[first < n ? first : 0], n_children, tag, *fd, nothing);
    for (int i = 0; i < n_children && passed == GSH_OK; i++) {
        gsh_socket_close(&nothing[i]);
    }
    r = r == GSH_OK ? passed : r;
    if (r == GSH_OK && me > 0 && *fd < 0) {
        r = gsh_note(GSH_ERR_SYSTEM, "no descriptor has come from PE %d", ranks[0]);
    }
    if (r != GSH_OK && me > 0) {
        gsh_socket_close(fd);
    }
    return r;
}
