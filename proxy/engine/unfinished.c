/* SPDX-License-Identifier: Apache-2.0
 * What the proxy has not done yet, for the hang report. */
#include <time.h>
#include "base/util.h"
#include "proxy/engine/observe.h"
#include "proxy/engine/rings.h"

enum { TRIES = 20, TRY_NS = 250000 };

static void add(struct gsh_proxy_unfinished *u, const struct gsh_task *task)
{
    if (task->is_done) {
        return;
    }
    if (u->n++ == 0 || task->since_ns < u->since_ns) {
        u->since_ns = task->since_ns;
        u->name = gsh_observe_name(task->request.op);
        u->pe = task->request.op == GSH_FAR_FENCE || task->request.op == GSH_FAR_QUIET
                    ? -1
                    : task->request.pe;
    }
}

static void add_all(const struct gsh_proxy *proxy, struct gsh_proxy_unfinished *u)
{
    for (int r = 0; r < proxy->n_rings; r++) {
        const struct gsh_ring_window *window = proxy->rings[r];
        for (uint64_t i = window->head; i != window->tail; i++) {
            add(u, &window->entry[i & (window->n_entries - 1)].task);
        }
    }
    for (unsigned c = 0; c < GSH_CONTEXTS; c++) {
        const struct gsh_link *head = &proxy->in_flight[c];
        for (const struct gsh_link *link = head->next; link != head; link = link->next) {
            add(u, GSH_HOLDER(struct gsh_task, in_flight, link));
        }
    }
}

bool gsh_proxy_find_unfinished(struct gsh_proxy *proxy, struct gsh_proxy_unfinished *u)
{
    const struct timespec nap = {.tv_nsec = TRY_NS};
    *u = (struct gsh_proxy_unfinished){.pe = -1};
    for (int i = 0; i < TRIES; i++) {
        if (gsh_lock_try(&proxy->lock)) {
            add_all(proxy, u);
            gsh_lock_give(&proxy->lock);
            return true;
        }
        nanosleep(&nap, NULL);
    }
    return false;
}
