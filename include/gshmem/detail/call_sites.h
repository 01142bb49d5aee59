/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. Where calls of the host stand in the program, for hang reports, in files
 * that are compiled with GSHMEM_CALL_SITES: headers made by the build give each such call a macro
 * of its name, which makes the call by GSHMEM_AT_SITE. The name of a call that is not followed by
 * parentheses, as where a program takes its address, stays what it was. Elsewhere GSHMEM_AT_SITE
 * is nothing but the call. device/call_sites.cuh does the same for calls that kernels have, too. */
#ifndef GSHMEM_DETAIL_CALL_SITES_H
#define GSHMEM_DETAIL_CALL_SITES_H

#if defined(GSHMEM_CALL_SITES)

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C"
#endif
    void
    gshmemx_call_site(const char *file, int line);
#pragma GCC visibility pop

#ifdef __cplusplus
namespace gshmem
{
namespace detail
{

/* While it lives, the calling host thread's waits are in the call that stands there. */
class host_site
{
  public:
    host_site(const char *file, int line) { gshmemx_call_site(file, line); }
    ~host_site() { gshmemx_call_site(nullptr, 0); }
    host_site(const host_site &) = delete;
    host_site &operator=(const host_site &) = delete;
};

} // namespace detail
} // namespace gshmem

#define GSHMEM_AT_SITE(...) (gshmem::detail::host_site(__FILE__, __LINE__), __VA_ARGS__)
#else
static inline void gsh_leave_site(const char *unused)
{
    (void)unused;
    gshmemx_call_site((const char *)0, 0);
}
/* Each has a name of its own: calls may be arguments of calls. */
#define GSHMEM_AT_SITE(...)            GSHMEM_AT_SITE_BY(__COUNTER__, __VA_ARGS__)
#define GSHMEM_AT_SITE_BY(number, ...) GSHMEM_AT_SITE_AS(number, __VA_ARGS__)
#define GSHMEM_AT_SITE_AS(number, ...)                                                     \
    __extension__({                                                                        \
        __attribute__((cleanup(gsh_leave_site), unused)) const char gsh_site_##number = 0; \
        gshmemx_call_site(__FILE__, __LINE__);                                             \
        __VA_ARGS__;                                                                       \
    })
#endif

#else
#define GSHMEM_AT_SITE(...) __VA_ARGS__
#endif

/* What generic calls in C++ have of device/call_sites.cuh. */
#if !defined(GSHMEM_DEVICE_CODE) && !defined(GSHMEM_SITE)
#define GSHMEM_SITE
#define GSHMEM_PASS_SITE
#endif
/* To calls that kernels have, and to those that they have not. */
#define GSH_PASS_SITE_TO_both GSHMEM_PASS_SITE
#define GSH_PASS_SITE_TO_host

#endif
