/* SPDX-License-Identifier: Apache-2.0
 * See page.h. */
#include "runtime/instance/page.h"

#include "runtime/instance/instance.h"

bool gsh_page_take_word(const struct gsh_instance *pe)
{
    int first = 0;
    uint32_t speaker = 0, own = (uint32_t)pe->my_pe + 1;
    while (gsh_page_of(pe, first) == NULL) {
        first++;
    }
    return __atomic_compare_exchange_n(&gsh_page_of(pe, first)->speaker, &speaker, own, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
           speaker == own;
}
