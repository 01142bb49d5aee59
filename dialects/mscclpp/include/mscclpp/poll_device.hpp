/* SPDX-License-Identifier: Apache-2.0
 * Spins in a program's own kernels: while CONDITION holds, and for two of them while both hold, the
 * first being looked at first. After MAX_SPINS failed looks (negative: never) a debug build asserts
 * (assert_device.hpp); otherwise the spin goes on. Channels wait by watch_device.hpp, whose waits
 * end. */
#ifndef MSCCLPP_POLL_DEVICE_HPP_
#define MSCCLPP_POLL_DEVICE_HPP_

#include <cstdint>
#include "assert_device.hpp"
#include "device.hpp"

#if defined(MSCCLPP_DEVICE_COMPILE)

namespace mscclpp
{
namespace detail
{

/* A failed look. On the CPU device it runs the block's other threads. */
MSCCLPP_DEVICE_INLINE void spinOnce(int64_t &spins, int64_t maxSpins, const char *text)
{
    gshmem::detail::spin_pause();
#if defined(DEBUG_BUILD)
    if (maxSpins >= 0 && spins++ == maxSpins)
        MSCCLPP_ASSERT_DEVICE(false, text);
#else
    (void)spins;
    (void)maxSpins;
    (void)text;
#endif
}

} // namespace detail
} // namespace mscclpp

#define POLL_MAYBE_JAILBREAK(CONDITION, MAX_SPINS)                                     \
    do {                                                                               \
        int64_t mscclppSpins = 0;                                                      \
        while (CONDITION)                                                              \
            mscclpp::detail::spinOnce(mscclppSpins, (int64_t)(MAX_SPINS), #CONDITION); \
    } while (0)

#define OR_POLL_MAYBE_JAILBREAK(FIRST, SECOND, MAX_SPINS)                                          \
    do {                                                                                           \
        int64_t mscclppSpins = 0;                                                                  \
        while ((FIRST) && (SECOND))                                                                \
            mscclpp::detail::spinOnce(mscclppSpins, (int64_t)(MAX_SPINS), #FIRST " and " #SECOND); \
    } while (0)

#endif
#endif
