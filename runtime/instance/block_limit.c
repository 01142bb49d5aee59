/* SPDX-License-Identifier: Apache-2.0
 * See block_limit.h. */
#include "runtime/instance/block_limit.h"

static _Thread_local struct gsh_block_limit current;

void gsh_block_limit_set(struct gsh_block_limit limit)
{
    current = limit;
}

struct gsh_block_limit gsh_block_limit_get(void)
{
    return current;
}
