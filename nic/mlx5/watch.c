/* SPDX-License-Identifier: Apache-2.0
 * See watch.h. */
#include "nic/mlx5/watch.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/atomic.h"
#include "base/thread.h"
#include "nic/mlx5/queue.h"
#include "nic/names.h"

#define LOOK_NS 2000000 /* between two looks at the completions */
#define IDLE_NS 20000   /* a thread that rings, when there was nothing for some time */
#define IDLE    1000u

static const uint8_t *at(const struct gsh_mlx5 *m, uint64_t off)
{
    return (const uint8_t *)m->base.memory + off;
}

/* The last word of the newest completion, as wire/wq.h has it. */
static uint32_t newest(const struct gsh_mlx5 *m, uint32_t index)
{
    const uint64_t off = gsh_mlx5_site(m, index).completion + GSH_WQ_COMPLETION_LAST;
    /* acquire: pairs with the adapter's write of the completion */
    return __atomic_load_n((const uint32_t *)(const void *)at(m, off), __ATOMIC_ACQUIRE);
}

bool gsh_mlx5_is_idle(const struct gsh_mlx5 *m, uint32_t index)
{
    const uint64_t off = gsh_mlx5_site(m, index).record;
    const uint32_t last = newest(m, index);
    uint32_t record = 0;
    const bool is_first = gsh_wq_completed_opcode(last) == GSH_WQ_INVALID;
    const bool has_failed = gsh_wq_completed_opcode(last) == GSH_WQ_ERROR;
    if ((has_failed && !m->base.options.outlives_losses) ||
        !gsh_adapter_read(&m->base, off, &record, sizeof(record))) {
        return false; /* the job ends */
    }
    return (gsh_wq_be32(record) & 0xffff) ==
           (is_first ? 0 : gsh_wq_completed_end(last, 0) & 0xffff);
}

/* ---- failures ---- */

static const char *opcode_name(unsigned opcode)
{
    const char *name = gsh_nic_opcode_name(opcode);
    return name != NULL ? name : "an entry";
}

/* Each queue tells once. */
static void look_for_failure(struct gsh_mlx5 *m, uint32_t index)
{
    struct gsh_mlx5_queue *queue = &m->queues[index];
    const struct gsh_adapter_options *o = &m->base.options;
    const uint32_t last = newest(m, index);
    struct gsh_wq_completion c;
    char text[320];
    if (queue->has_failed || gsh_wq_completed_opcode(last) != GSH_WQ_ERROR) {
        return;
    }
    queue->has_failed = true;
    memcpy(&c, at(m, gsh_mlx5_site(m, index).completion), sizeof(c));
    snprintf(
        text, sizeof(text),
        "NIC %s: queue %u to PE %d, index %u: %s failed, syndrome 0x%02x (%s), vendor's 0x%02x",
        m->base.name, queue->number, queue->pe, gsh_wq_be16(c.index),
        opcode_name(gsh_wq_be32(c.opcode_number) >> 24), c.syndrome,
        gsh_nic_syndrome_name(c.syndrome), c.vendor_syndrome);
    if (o->outlives_losses && c.syndrome == GSH_WQ_RETRY_EXCEEDED) {
        return;
    }
    o->fail(o->context, queue->pe, c.syndrome == GSH_WQ_RETRY_EXCEEDED, text);
}

/* ---- doorbells ---- */

/* Passes the doorbell in memory on to the register. */
static bool ring(struct gsh_mlx5 *m, uint32_t index)
{
    struct gsh_mlx5_queue *queue = &m->queues[index];
    const struct gsh_adapter_site site = gsh_mlx5_site(m, index);
    /* acquire: pairs with the fence of the kernel that rings: its record and entries are visible */
    const uint64_t bell =
        gsh_load_acquire_u64((const uint64_t *)(const void *)at(m, site.doorbell));
    if (bell == queue->rung) {
        return false;
    }
    uint64_t *to = (uint64_t *)(void *)((uint8_t *)m->base.registers + site.doorbell_register);
    __sync_synchronize(); /* they come before the doorbell also for the adapter */
    __atomic_store_n(to, bell, __ATOMIC_RELAXED);
    queue->rung = bell;
    return true;
}

bool gsh_mlx5_watch_once(struct gsh_mlx5 *m)
{
    bool has_rung = false;
    for (uint32_t i = 0; i < m->base.options.n_queues; i++) {
        if (m->queues[i].pe >= 0) {
            has_rung = (m->rings && ring(m, i)) || has_rung;
            look_for_failure(m, i);
        }
    }
    return has_rung;
}

/* ---- the thread ---- */

static void *thread_main(void *context)
{
    struct gsh_mlx5 *m = context;
    const struct gsh_adapter_options *o = &m->base.options;
    const struct timespec nap = {.tv_nsec = m->rings ? IDLE_NS : LOOK_NS};
    unsigned n_idle = 0;
    if (o->thread_start != NULL) {
        o->thread_start(o->context);
    }
    while (gsh_load_acquire_u32(&m->is_stopping) == 0) {
        n_idle = gsh_mlx5_watch_once(m) ? 0 : n_idle + 1;
        if (!m->rings || n_idle > IDLE) {
            nanosleep(&nap, NULL);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

enum gsh_result gsh_mlx5_watch_start(struct gsh_mlx5 *m, bool rings)
{
    m->rings = rings;
    int error = gsh_create_thread(&m->thread, NULL, thread_main, m);
    if (error != 0) {
        return m->core->note(GSH_ERR_SYSTEM, "NIC %s: no thread: %s", m->base.name,
                             strerror(error));
    }
    pthread_setname_np(m->thread, "gshmem-nic");
    m->has_thread = true;
    return GSH_OK;
}

void gsh_mlx5_watch_stop(struct gsh_mlx5 *m)
{
    if (m->has_thread) {
        gsh_store_release_u32(&m->is_stopping, 1);
        pthread_join(m->thread, NULL);
        m->has_thread = false;
    }
}
