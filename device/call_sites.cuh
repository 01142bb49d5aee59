/* SPDX-License-Identifier: Apache-2.0
 * Where calls stand in the program, for hang reports, in files that are compiled with
 * GSHMEM_CALL_SITES: a call has one more parameter, whose default is the place of the call, and
 * passes it on in its context, or on the host to the library. Elsewhere the macros are
 * empty, and calls are as if they were not there. */
#ifndef GSHMEM_CALL_SITES_CUH
#define GSHMEM_CALL_SITES_CUH

#include "context.cuh"
#include "gshmem/detail/call_sites.h"

/* Empty in headers that were included before it was known that the file has kernels. */
#undef GSHMEM_SITE
#undef GSHMEM_PASS_SITE

#if defined(GSHMEM_CALL_SITES)

namespace gshmem
{
namespace detail
{

struct call_site {
    const char *file; /* nullptr: not known */
    uint32_t line;
};

/* The default context, or another one, in a call that stands there. */
__device__ __forceinline__ context context_at(call_site site, uint32_t id = 0)
{
    return {unit_state(), id, site.file, site.line};
}

} // namespace detail
} // namespace gshmem

/* The last parameter of a call; the only one. */
#define GSHMEM_SITE , GSHMEM_ONLY_SITE
#define GSHMEM_ONLY_SITE                                                     \
    [[maybe_unused]] gshmem::detail::call_site gsh_site = {__builtin_FILE(), \
                                                           (uint32_t) __builtin_LINE()}
/* The last argument of a call by a call for which the caller's place counts. */
#define GSHMEM_PASS_SITE      , gsh_site
#define GSHMEM_ONLY_PASS_SITE gsh_site
#define GSHMEM_HERE           gshmem::detail::context_at(gsh_site)
#define GSHMEM_HERE_IN(ctx) \
    gshmem::detail::context_at(gsh_site, gshmem::detail::number_of(gshmem::detail::in_ctx(ctx)))
/* Of a dialect's call: the default context of the PE with that state. */
#define GSHMEM_HERE_OF(state)                  \
    gshmem::context                            \
    {                                          \
        state, 0, gsh_site.file, gsh_site.line \
    }
#define GSHMEM_ON_HOST gshmem::detail::host_site(gsh_site.file, (int)gsh_site.line),

#else

#define GSHMEM_SITE
#define GSHMEM_ONLY_SITE void
#define GSHMEM_PASS_SITE
#define GSHMEM_ONLY_PASS_SITE
#define GSHMEM_HERE         gshmem::default_context()
#define GSHMEM_HERE_IN(ctx) gshmem::detail::in_ctx(ctx)
#define GSHMEM_HERE_OF(state) \
    gshmem::context           \
    {                         \
        state, 0              \
    }
#define GSHMEM_ON_HOST

#endif

#endif
