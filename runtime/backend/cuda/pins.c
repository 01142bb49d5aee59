/* SPDX-License-Identifier: Apache-2.0
 * See pins.h. Compiled only where there are CUDA headers. */
#include "runtime/backend/cuda/pins.h"

#include <pthread.h>
#include <stdlib.h>
#include "runtime/base/pages.h"
#include "runtime/base/util.h"

/* Whole pages: [start, end). */
struct range {
    uintptr_t start, end;
};

struct ranges {
    struct range *list;
    size_t n, room;
};

static struct {
    pthread_mutex_t mutex;
    struct ranges buffers; /* two PEs may have the same one */
    struct ranges pins;    /* registrations, which do not overlap */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool add(struct ranges *r, uintptr_t start, uintptr_t end)
{
    if (r->n == r->room) {
        size_t room = 2 * r->room + 8;
        struct range *list = realloc(r->list, room * sizeof(*list));
        if (list == NULL) {
            return false;
        }
        r->list = list;
        r->room = room;
    }
    r->list[r->n++] = (struct range){start, end};
    return true;
}

static bool take_out(struct ranges *r, struct range it)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].start == it.start && r->list[i].end == it.end) {
            r->list[i] = r->list[--r->n];
            return true;
        }
    }
    return false;
}

/* Whether one of them has the page at `at`; *until: how far that is so, at most `until`. */
static bool has_page(const struct ranges *r, uintptr_t at, uintptr_t *until)
{
    for (size_t i = 0; i < r->n; i++) {
        if (at >= r->list[i].start && at < r->list[i].end) {
            *until = gsh_min_u64(*until, r->list[i].end);
            return true;
        }
        if (r->list[i].start > at) {
            *until = gsh_min_u64(*until, r->list[i].start);
        }
    }
    return false;
}

static struct range pages_of(const void *memory, size_t bytes)
{
    const uintptr_t page = gsh_page_size(), start = (uintptr_t)memory;
    return (struct range){start & -page, gsh_align_up(start + bytes, page)};
}

/* ---- registrations ---- */

static CUresult register_pages(const struct gsh_cuda *cuda, uintptr_t start, uintptr_t end)
{
    CUresult code = cuda->MemHostRegister(
        (void *)start, end - start, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (code == CUDA_SUCCESS && !add(&table.pins, start, end)) {
        cuda->MemHostUnregister((void *)start);
        code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return code;
}

/* Whether CUDA knows the byte at `at`: then how far, in whole pages. */
static bool is_known(const struct gsh_cuda *cuda, uintptr_t at, uintptr_t *until)
{
    const uintptr_t page = gsh_page_size();
    CUmemorytype type;
    CUdeviceptr start = 0;
    size_t bytes = 0;
    if (cuda->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS) {
        return false;
    }
    *until = (at & -page) + page;
    if (cuda->PointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) ==
            CUDA_SUCCESS &&
        cuda->PointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at) == CUDA_SUCCESS &&
        at - start < bytes && gsh_align_up(start + bytes, page) > *until) {
        *until = gsh_align_up(start + bytes, page);
    }
    return true;
}

/* Pins what CUDA does not know from `at` to the end of pages that the table does not have. CUDA
 * refuses a range of which it knows a part: then its halves, down to a page. */
static CUresult pin_unknown(const struct gsh_cuda *cuda, uintptr_t at, uintptr_t end)
{
    const uintptr_t page = gsh_page_size();
    uintptr_t until;
    while (at < end && is_known(cuda, at, &until)) {
        at = until;
    }
    if (at >= end) {
        return CUDA_SUCCESS;
    }
    at &= -page;
    CUresult code = register_pages(cuda, at, end);
    if (code != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        return code;
    }
    if (end - at == page) {
        return CUDA_SUCCESS; /* something else on the page is the program's */
    }
    uintptr_t middle = at + (end - at) / page / 2 * page;
    code = pin_unknown(cuda, at, middle);
    return code == CUDA_SUCCESS ? pin_unknown(cuda, middle, end) : code;
}

/* How far buffers have all pages from `at`; at most `end`. */
static uintptr_t needed_until(uintptr_t at, uintptr_t end)
{
    for (uintptr_t until = end; at < end && has_page(&table.buffers, at, &until); until = end) {
        at = until;
    }
    return at;
}

/* Leaves of each registration on these pages what other buffers need. */
static void let_go(const struct gsh_cuda *cuda, struct range pages)
{
    for (size_t i = table.pins.n; i-- > 0;) {
        const struct range pin = table.pins.list[i];
        uintptr_t at = pin.start, until;
        if (pin.start >= pages.end || pages.start >= pin.end ||
            needed_until(pin.start, pin.end) == pin.end) {
            continue;
        }
        cuda->MemHostUnregister((void *)pin.start);
        table.pins.list[i] = table.pins.list[--table.pins.n];
        while (at < pin.end) {
            until = needed_until(at, pin.end);
            if (until > at) {
                CUresult code = register_pages(cuda, at, until);
                (void)code; /* without it copies are slower, no more */
                at = until;
            } else {
                until = pin.end;
                has_page(&table.buffers, at, &until);
                at = until;
            }
        }
    }
}

/* ---- buffers ---- */

CUresult gsh_cuda_pin_pages(const struct gsh_cuda *cuda, void *memory, size_t bytes)
{
    const struct range pages = pages_of(memory, bytes);
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&table.mutex);
    uintptr_t until;
    for (uintptr_t at = pages.start; code == CUDA_SUCCESS && at < pages.end; at = until) {
        until = pages.end;
        if (!has_page(&table.pins, at, &until)) {
            uintptr_t first = at == pages.start ? (uintptr_t)memory : at;
            code = pin_unknown(cuda, first, until);
        }
    }
    if (code == CUDA_SUCCESS && !add(&table.buffers, pages.start, pages.end)) {
        code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (code != CUDA_SUCCESS) {
        let_go(cuda, pages);
    }
    pthread_mutex_unlock(&table.mutex);
    return code;
}

void gsh_cuda_unpin_pages(const struct gsh_cuda *cuda, void *memory, size_t bytes)
{
    const struct range pages = pages_of(memory, bytes);
    pthread_mutex_lock(&table.mutex);
    if (take_out(&table.buffers, pages)) {
        let_go(cuda, pages);
    }
    pthread_mutex_unlock(&table.mutex);
}
