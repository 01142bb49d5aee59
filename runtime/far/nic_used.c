/* SPDX-License-Identifier: Apache-2.0
 * See nic_used.h. */
#include "runtime/far/nic_used.h"

#include <string.h>
#include <sys/mman.h>
#include "base/util.h"
#include "runtime/instance/instance.h"
#include "wire/nic.h"

#define PAGE_BYTES 4096u

enum gsh_result gsh_nic_used_create(struct gsh_instance *pe, uint32_t n, struct gsh_nic_used *out)
{
    const uint64_t n_all = gsh_align_up(n, GSH_NIC_USED_GROUP);
    const size_t bytes = gsh_align_up(n_all + n_all / GSH_NIC_USED_GROUP, PAGE_BYTES);
    uint64_t device_memory = 0;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %u queues", n);
    }
    enum gsh_result r = pe->device_ops->map_host(pe, p, bytes, &device_memory);
    if (r != GSH_OK) {
        munmap(p, bytes);
        return r;
    }
    *out = (struct gsh_nic_used){.queues = p,
                                 .groups = (uint8_t *)p + n_all,
                                 .bytes = bytes,
                                 .device_queues = device_memory,
                                 .device_groups = device_memory + n_all};
    return GSH_OK;
}

void gsh_nic_used_destroy(struct gsh_instance *pe, struct gsh_nic_used *used)
{
    if (used->queues != NULL) {
        if (pe->device_ops != NULL) {
            pe->device_ops->unmap_host(pe, used->queues);
        }
        munmap(used->queues, used->bytes);
    }
    *used = (struct gsh_nic_used){0};
}

static bool is_set(const uint8_t *mark)
{
    return __atomic_load_n(mark, __ATOMIC_RELAXED) != 0;
}

bool gsh_nic_used_next(const struct gsh_nic_used *used, uint32_t *queue, uint32_t end)
{
    uint32_t q = *queue;
    while (q < end) {
        if (!is_set(&used->groups[q / GSH_NIC_USED_GROUP])) {
            q = (q / GSH_NIC_USED_GROUP + 1) * GSH_NIC_USED_GROUP;
        } else if (!is_set(&used->queues[q])) {
            q++;
        } else {
            *queue = q;
            return true;
        }
    }
    return false;
}
