/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: collectives on any memory. */
#include "runtime/layer.h"

#include "base/result.h"
#include "base/util.h"
#include "runtime/init/setup.h"

size_t gshmemx_layer_inbox_bytes(int n_members)
{
    (void)n_members;
    return (size_t)2 << 20;
}

size_t gshmemx_layer_inbox_least_bytes(int n_members)
{
    return 1024 + 512 * (size_t)n_members;
}

int gshmemx_layer_inbox_clear(const struct gshmemx_layer_inbox *inbox)
{
    (void)inbox;
    return 0;
}

bool gshmemx_layer_has_colls(gshmem_team_t team, const struct gshmemx_layer_inbox *inbox)
{
    (void)team;
    (void)inbox;
    return false;
}

int gshmemx_layer_colls_on_stream(const char *call, gshmem_team_t team,
                                  const struct gshmemx_layer_inbox *inbox,
                                  const struct gshmemx_layer_coll *colls, int n,
                                  gshmemx_stream_t stream)
{
    (void)team;
    (void)inbox;
    (void)colls;
    (void)n;
    (void)stream;
    return gsh_public_error(gsh_fail(
        GSH_ERR_UNSUPPORTED, "%s: the team has no inbox for collectives on ordinary memory", call));
}
