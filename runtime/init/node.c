/* SPDX-License-Identifier: Apache-2.0
 * See node.h. */
#include "runtime/init/node.h"

#include <stdlib.h>
#include "bootstrap/shm.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/death.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"

/* By their places on the node. */
struct gsh_node_pes {
    struct gsh_instance *pe;
    int n;
    int *number;
    struct gsh_shm_area *areas[];
};

static enum gsh_result page_wait(void *context, unsigned *backoff, uint64_t *start_ns, int rank)
{
    const struct gsh_node_pes *node = context;
    struct gsh_instance *pe = node->pe;
    if (gsh_is_death(pe)) {
        return gsh_note_death("a collective call");
    }
    if (gsh_bell_has_rung(pe)) {
        return GSH_ERR_PEER;
    }
    const struct gsh_waiting what = {.call = gsh_waits_call(),
                                     .kind = GSH_WAITS_COLLECTIVE,
                                     .pe = node->number[rank],
                                     .team = -1};
    if (gsh_host_sync_poll(pe, backoff, start_ns, &what)) {
        return gsh_fail(GSH_ERR_TIMEOUT, "%s%s: waited %.1f s for PE %d in a collective call",
                        what.call, gsh_waits_word_site().text, gsh_host_sync_limit_s(pe),
                        node->number[rank]);
    }
    return GSH_OK;
}

static struct gsh_node_pes *list_node(struct gsh_instance *pe)
{
    size_t n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n += gsh_near_of(pe, i) != NULL;
    }
    struct gsh_node_pes *node = calloc(1, sizeof(*node) + n * sizeof(node->areas[0]));
    int *number = calloc(n, sizeof(*number));
    if (node == NULL || number == NULL) {
        free(node);
        free(number);
        return NULL;
    }
    node->pe = pe;
    node->number = number;
    for (int i = 0; i < pe->n_pes; i++) {
        const struct gsh_near *near = gsh_near_of(pe, i);
        if (near != NULL) {
            number[node->n] = i;
            node->areas[node->n++] = near->area;
        }
    }
    return node;
}

enum gsh_result gsh_node_bootstrap_create(struct gsh_instance *pe, struct gsh_bootstrap **out)
{
    struct gsh_node_pes *node = list_node(pe);
    if (node == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    pe->node_pes = node;
    return gsh_bootstrap_shm_create(pe->bootstrap, pe->peers[pe->my_pe].node_index, node->n,
                                    node->areas, node->number, page_wait, node, out);
}

bool gsh_node_leave(struct gsh_instance *pe)
{
    const struct gsh_near *near = gsh_near_of(pe, pe->my_pe);
    if (near == NULL || near->area == NULL) {
        return false;
    }
    gsh_shm_leave(near->area);
    return true;
}

void gsh_node_pes_free(struct gsh_instance *pe)
{
    if (pe->node_pes != NULL) {
        free(pe->node_pes->number);
    }
    free(pe->node_pes);
    pe->node_pes = NULL;
}
