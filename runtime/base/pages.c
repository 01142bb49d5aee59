/* SPDX-License-Identifier: Apache-2.0
 * See pages.h. */
#include "runtime/base/pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t gsh_page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* volatile, so that this does not become a memcpy. */
__attribute__((no_sanitize("address", "thread"))) void gsh_pages_copy(void *to, const void *from,
                                                                      uint64_t bytes)
{
    volatile uint64_t *dest = to;
    const volatile uint64_t *source = from;
    for (uint64_t i = 0; i < bytes / sizeof(*dest); i++) {
        dest[i] = source[i];
    }
}

/* The system's own: libraries that put theirs in its place, as UCX does, lose the last argument. */
bool gsh_pages_remap(void *from, uint64_t from_bytes, void *to, uint64_t bytes)
{
    return syscall(SYS_mremap, from, from_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
           (long)(intptr_t)to;
}

bool gsh_pages_make_private(void *at, uint64_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return false;
    }
    gsh_pages_copy(copy, at, bytes);
    if (!gsh_pages_remap(copy, bytes, at, bytes)) {
        munmap(copy, bytes);
        return false;
    }
    return true;
}
