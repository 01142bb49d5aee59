/* SPDX-License-Identifier: Apache-2.0
 * The host calls with a context: those of typed.c under their other names. */
#include "runtime/api/context.h"

#define CALL(name) gshmem_ctx_##name
#define CTX        gshmem_ctx_t ctx,
#define ENTER(name)                                 \
    static const char call[] = "gshmem_ctx_" #name; \
    gsh_context context = gsh_context_use(ctx, call, &pe)
#define HERE context, call
/* NOLINTNEXTLINE(bugprone-suspicious-include): stamped once more */
#include "runtime/api/typed.c"
