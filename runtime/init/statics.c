/* SPDX-License-Identifier: Apache-2.0
 * Finds the program's globals, maps heap memory over them, and copies its constants there. */
#include "runtime/init/statics.h"

#include <errno.h>
#include <link.h>
#include "base/pages.h"
#include "base/log.h"
#include "base/util.h"
#include "runtime/init/setup.h"

/* What becomes symmetric: the program's constants, which stay where they are, and its writable
 * data. */
struct segment {
    uint64_t start, writable, end;
};

/* The first object is the program, with its parts in ascending order. Constants lie between the
 * code and the writable part. If a linker puts them elsewhere, everything before the writable part
 * counts as constants, code included. So does what the dynamic linker has made read-only. */
static int look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct segment *s = argument;
    uint64_t page = gsh_page_size(), read_only_end = 0, first = UINT64_MAX, constants = UINT64_MAX;
    (void)bytes;
    *s = (struct segment){.writable = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + h->p_vaddr, end = start + h->p_memsz;
        if (h->p_type == PT_GNU_RELRO) {
            read_only_end = end & -page;
        }
        if (h->p_type != PT_LOAD) {
            continue;
        }
        start &= -page;
        first = gsh_min_u64(first, start);
        s->end = gsh_max_u64(s->end, gsh_align_up(end, page));
        if ((h->p_flags & PF_W) != 0) {
            s->writable = gsh_min_u64(s->writable, start);
        } else {
            constants = (h->p_flags & PF_X) != 0 ? UINT64_MAX : gsh_min_u64(constants, start);
        }
    }
    s->start = constants != UINT64_MAX ? constants : first;
    s->writable = gsh_max_u64(s->writable, read_only_end);
    return 1;
}

static struct segment find_segment(void)
{
    struct segment s = {0};
    dl_iterate_phdr(look_at, &s);
    return s.writable < s.end ? s : (struct segment){0};
}

bool gsh_statics_contain(const void *address)
{
    struct segment s = find_segment();
    return (uint64_t)(uintptr_t)address - s.start < s.end - s.start;
}

/* Why the globals cannot be symmetric; NULL: they can. */
static const char *obstacle(const struct gsh_instance *pe)
{
    if (!pe->is_device_ready || !pe->device_ops->is_memory_host) {
        return "the device is a GPU, or has yet to be chosen";
    }
    for (int i = 0; i < pe->n_pes; i++) {
        if (i != pe->my_pe && gsh_is_of_process(pe, i)) {
            return "PEs are threads of one process";
        }
    }
    return NULL;
}

struct copy {
    const struct gsh_instance *pe;
    const struct segment *from;
    char *to;
};

/* Pages of a large array that the program has not touched are allocated on first use, unless a
 * network may have pinned the block's pages. */
static void copy_pages(const struct copy *c, uint64_t start, uint64_t end)
{
    void *to = c->to + (start - c->from->start), *from = (void *)(uintptr_t)start;
    if (c->pe->proxy == NULL) {
        gsh_pages_copy_sparse(to, from, end - start);
    } else {
        gsh_pages_copy(to, from, end - start);
    }
}

/* Copies the constants of the first object; its parts may have gaps between them. */
static int copy_constants(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    const struct copy *c = argument;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + h->p_vaddr, end = start + h->p_memsz;
        start = gsh_max_u64(start & -gsh_page_size(), c->from->start);
        end = gsh_min_u64(gsh_align_up(end, gsh_page_size()), c->from->writable);
        if (h->p_type == PT_LOAD && (h->p_flags & PF_R) != 0 && start < end) {
            copy_pages(c, start, end);
        }
    }
    return 1;
}

/* Constants are only copied. The rest of the block is mapped over the program's in one step, so
 * that no thread sees it empty. */
static enum gsh_result map_over(const struct gsh_instance *pe, const struct segment *s, void *block)
{
    struct copy copy = {.pe = pe, .from = s, .to = block};
    void *there = (void *)(uintptr_t)s->writable;
    dl_iterate_phdr(copy_constants, &copy);
    copy_pages(&copy, s->writable, s->end);
    /* An old size of 0 makes a second mapping of shared pages. */
    return gsh_pages_remap(copy.to + (s->writable - s->start), 0, there, s->end - s->writable)
               ? GSH_OK
               : gsh_fail_errno(GSH_ERR_SYSTEM, "init: the program's globals and statics cannot be "
                                                "mapped into the heap");
}

enum gsh_result gsh_statics_share(struct gsh_instance *pe)
{
    const char *why_not = obstacle(pe);
    if (why_not != NULL) {
        if (pe->my_pe == 0) {
            gsh_log(GSH_LOG_WARN, GSH_LOG_HEAP,
                    "the program's globals and statics are not symmetric: %s", why_not);
        }
        return GSH_OK;
    }
    struct segment s = find_segment();
    void *block = NULL;
    enum gsh_result r =
        gsh_heap_alloc(pe->heap, GSH_HEAP_STATICS, s.end - s.start, gsh_page_size(), &block);
    if (r == GSH_OK && block != NULL) {
        r = map_over(pe, &s, block);
    }
    if (r != GSH_OK || block == NULL) {
        return r;
    }
    pe->statics = (struct gsh_static_data){
        .base = s.start,
        .bytes = s.end - s.start,
        .off = (uint64_t)(uintptr_t)block - pe->state.base,
    };
    pe->state.statics = (uint64_t)(uintptr_t)&pe->statics;
    r = gsh_setup_publish_allocations(pe);
    if (r == GSH_OK) {
        r = pe->device_ops->upload(pe, &pe->state);
    }
    return r == GSH_OK ? pe->job_bootstrap->ops->barrier(pe->job_bootstrap) : r;
}

struct block {
    const struct gsh_instance *pe;
    uint64_t off;
};

static uint64_t next_data(void *context, uint64_t off)
{
    const struct block *b = context;
    uint64_t at = gsh_heap_next_data(b->pe->heap, b->off + off);
    return at == UINT64_MAX ? at : at - b->off;
}

void gsh_statics_unshare(struct gsh_instance *pe)
{
    struct gsh_static_data d = pe->statics;
    if (d.bytes == 0) {
        return;
    }
    pe->statics = (struct gsh_static_data){0};
    pe->state.statics = 0;
    struct segment s = find_segment();
    struct block block = {.pe = pe, .off = d.off + (s.writable - s.start)};
    if (!gsh_pages_make_private_sparse((void *)(uintptr_t)s.writable, s.end - s.writable, next_data,
                                       &block)) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_HEAP,
                "finalize: no memory for the program's globals: they stay in shared pages");
    }
}
