/* SPDX-License-Identifier: Apache-2.0
 * Sets memory of the PE's own heap to zero. */
#include "base/util.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"

/* From one block of zeroes: to allocate and free megabytes for each call would cost a page fault
 * for each of their pages, and under the thread sanitizer four. */
enum gsh_result gsh_clear(struct gsh_instance *pe, void *dest, size_t bytes)
{
    static char zeroes[256 << 10]; /* never written; not in the library's file as a constant is */
    enum gsh_result r = GSH_OK;
    for (size_t done = 0; done < bytes && r == GSH_OK; done += sizeof(zeroes)) {
        r = pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, (char *)dest + done, zeroes,
                                 gsh_min_u64(bytes - done, sizeof(zeroes)));
    }
    return r;
}
