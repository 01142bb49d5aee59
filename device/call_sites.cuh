/* SPDX-License-Identifier: Apache-2.0
 * Where calls stand in the program, for hang reports, in files that are compiled with
 * GSHMEM_CALL_SITES: a call has one more parameter, whose default is the place of the call, and
 * passes it on in its context, or on the host to the library. Elsewhere the macros are
 * empty, and calls are as if they were not there. */
#ifndef GSHMEM_CALL_SITES_CUH
#define GSHMEM_CALL_SITES_CUH

#include "context.cuh"

#if defined(GSHMEM_CALL_SITES)

namespace gshmem
{
namespace detail
{

struct call_site {
    const char *file; /* nullptr: not known */
    uint32_t line;
};

/* The default context, in a call that stands there. */
__device__ __forceinline__ context context_at(call_site site)
{
    return {unit_state(), 0, site.file, site.line};
}

/* While it lives, the calling host thread's waits are in the call that stands there. */
class host_site
{
  public:
    explicit host_site(call_site site) { gshmemx_call_site(site.file, (int)site.line); }
    ~host_site() { gshmemx_call_site(nullptr, 0); }
    host_site(const host_site &) = delete;
    host_site &operator=(const host_site &) = delete;
};

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
#define GSHMEM_ON_HOST        gshmem::detail::host_site(gsh_site),

#else

#define GSHMEM_SITE
#define GSHMEM_ONLY_SITE void
#define GSHMEM_PASS_SITE
#define GSHMEM_ONLY_PASS_SITE
#define GSHMEM_HERE gshmem::default_context()
#define GSHMEM_ON_HOST

#endif

#endif
