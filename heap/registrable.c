/* SPDX-License-Identifier: Apache-2.0
 * See registrable.h. Each has its own range of addresses with one chunk in it, made by the memory
 * kind as a heap's chunks are. */
#include "heap/registrable.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "base/util.h"

struct registrable {
    struct registrable *next;
    const struct gsh_memory_ops *ops;
    struct gsh_memory *memory;
    struct gsh_reservation range;
    uint64_t bytes; /* 0: there is no memory yet */
    CUdevice devices[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registrable *list;

/* Accepts a half-made one. */
static void destroy(struct registrable *l)
{
    if (l->bytes > 0) {
        l->ops->unmap(l->range.base, l->bytes);
    }
    if (l->memory != NULL) {
        l->ops->destroy(&l->memory);
    }
    l->ops->unreserve(&l->range);
    free(l);
}

static enum gsh_result fill(struct registrable *l, struct gsh_memory_options options,
                            uint64_t bytes)
{
    if (options.n_cuda_devices > 0) {
        memcpy(l->devices, options.cuda_devices,
               (size_t)options.n_cuda_devices * sizeof(*l->devices));
    }
    options.cuda_devices = l->devices;
    options.is_registrable = options.is_shared = true;
    enum gsh_result r = l->ops->create(&options, &l->memory);
    if (r == GSH_OK && l->ops->admit != NULL) {
        r = l->ops->admit(l->memory, bytes);
    }
    if (r == GSH_OK) {
        r = l->ops->reserve(bytes, l->ops->granule(), &l->range);
    }
    if (r == GSH_OK) {
        const struct gsh_chunk all = {.bytes = bytes};
        r = l->ops->commit(l->memory, l->range.base, all);
    }
    l->bytes = r == GSH_OK ? bytes : 0;
    return r;
}

enum gsh_result gsh_registrable_alloc(const struct gsh_memory_ops *ops,
                                      const struct gsh_memory_options *options, uint64_t bytes,
                                      void **out)
{
    const uint64_t whole = gsh_align_up(gsh_max_u64(bytes, 1), ops->granule());
    const size_t n = (size_t)options->n_cuda_devices;
    struct registrable *l = gsh_fault() ? NULL : calloc(1, sizeof(*l) + n * sizeof(l->devices[0]));
    if (l == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a list of allocations");
    }
    l->ops = ops;
    enum gsh_result r = whole >= bytes
                            ? fill(l, *options, whole)
                            : gsh_note(GSH_ERR_NOMEM, "there are no %llu bytes of addresses",
                                       (unsigned long long)bytes);
    if (r != GSH_OK) {
        destroy(l);
        return r;
    }
    pthread_mutex_lock(&lock);
    l->next = list;
    list = l;
    pthread_mutex_unlock(&lock);
    *out = (void *)(uintptr_t)l->range.base;
    return GSH_OK;
}

enum gsh_result gsh_registrable_free(void *ptr)
{
    pthread_mutex_lock(&lock);
    struct registrable **p = &list;
    while (*p != NULL && (*p)->range.base != (uint64_t)(uintptr_t)ptr) {
        p = &(*p)->next;
    }
    struct registrable *found = *p;
    if (found != NULL) {
        *p = found->next;
    }
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        return gsh_note(GSH_ERR_ARG, "no such memory begins at %p: freed, or never allocated", ptr);
    }
    destroy(found);
    return GSH_OK;
}

int gsh_registrable_fd(uint64_t addr, uint64_t bytes, uint64_t *at)
{
    int fd = -1;
    pthread_mutex_lock(&lock);
    for (const struct registrable *l = list; l != NULL; l = l->next) {
        if (l->ops->fd != NULL && addr >= l->range.base &&
            gsh_range_fits(addr - l->range.base, bytes, l->bytes)) {
            fd = fcntl(l->ops->fd(l->memory), F_DUPFD_CLOEXEC, 3);
            *at = addr - l->range.base;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return fd;
}
