/* SPDX-License-Identifier: Apache-2.0
 * The bootstrap of a job with one PE, for programs started without a launcher. */
#include "bootstrap/bootstrap.h"

#include <stdlib.h>
#include <string.h>

static enum gsh_result single_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                        void *all_out)
{
    (void)b;
    if (bytes > 0) {
        memmove(all_out, mine, bytes);
    }
    return GSH_OK;
}

static enum gsh_result single_barrier(struct gsh_bootstrap *b)
{
    (void)b;
    return GSH_OK;
}

/* There is no other PE to tell. */
static void single_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    (void)b;
    (void)status;
    (void)message;
}

static void single_destroy(struct gsh_bootstrap *b)
{
    free(b);
}

static const struct gsh_bootstrap_ops single_ops = {
    .name = "single",
    .allgather = single_allgather,
    .barrier = single_barrier,
    .abort = single_abort,
    .destroy = single_destroy,
};

enum gsh_result gsh_bootstrap_single_create(struct gsh_bootstrap **out)
{
    struct gsh_bootstrap *b = calloc(1, sizeof(*b));
    if (b == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up");
    }
    *b = (struct gsh_bootstrap){.ops = &single_ops, .rank = 0, .size = 1};
    *out = b;
    return GSH_OK;
}
