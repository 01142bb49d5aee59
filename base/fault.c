/* SPDX-License-Identifier: Apache-2.0
 * The countdown behind gsh_fault, one for each thread, so that one PE among threads can fail. */
#include "base/fault.h"

#include <errno.h>

static _Thread_local unsigned calls_left;
static _Thread_local bool stays;

void gsh_fault_arm(unsigned n, bool for_good)
{
    calls_left = n;
    stays = for_good;
}

bool gsh_fault(void)
{
    if (calls_left == 0) {
        return false;
    }
    if (calls_left > 1) {
        calls_left--;
        return false;
    }
    if (!stays) {
        calls_left = 0;
    }
    errno = ENOMEM;
    return true;
}
