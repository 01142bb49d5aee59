/* SPDX-License-Identifier: Apache-2.0
 * What a GIN call does besides moving data, on the destination rank and here. */
#ifndef GSHMEM_NCCL_GIN_ACTION_H
#define GSHMEM_NCCL_GIN_ACTION_H

#include "coop.h"
#include "types.h"

struct ncclGin_None {
};

/* What is done on the destination rank once the data has settled there. Strong: everything that
 * this thread, and those it has synchronised with, put to that rank earlier has settled, too. Weak:
 * only the data of the same call. Actions marked neither way are strong. Either way no later put
 * waits for the action. */
struct ncclGin_SignalInc {
    ncclGinSignal_t signal;
};
struct ncclGin_StrongSignalInc {
    ncclGinSignal_t signal;
};
struct ncclGin_WeakSignalInc {
    ncclGinSignal_t signal;
};
struct ncclGin_SignalAdd {
    ncclGinSignal_t signal;
    uint64_t value;
};
struct ncclGin_StrongSignalAdd {
    ncclGinSignal_t signal;
    uint64_t value;
};
struct ncclGin_WeakSignalAdd {
    ncclGinSignal_t signal;
    uint64_t value;
};
/* The signal is an aligned 8-byte word in a window. */
struct ncclGin_VASignalInc {
    ncclWindow_t signalWindow;
    size_t signalOffset;
};
struct ncclGin_StrongVASignalInc {
    ncclWindow_t signalWindow;
    size_t signalOffset;
};
struct ncclGin_WeakVASignalInc {
    ncclWindow_t signalWindow;
    size_t signalOffset;
};
struct ncclGin_VASignalAdd {
    ncclWindow_t signalWindow;
    size_t signalOffset;
    uint64_t value;
};
struct ncclGin_StrongVASignalAdd {
    ncclWindow_t signalWindow;
    size_t signalOffset;
    uint64_t value;
};
struct ncclGin_WeakVASignalAdd {
    ncclWindow_t signalWindow;
    size_t signalOffset;
    uint64_t value;
};

/* What is done here once the source may be reused. */
struct ncclGin_CounterInc {
    ncclGinCounter_t counter;
};
struct ncclGin_WeakCounterInc {
    ncclGinCounter_t counter;
};

namespace gshmem
{
namespace nccl
{

/* A remote action in gshmem's terms: a symmetric word, and what to add to it. */
struct action {
    uint64_t *word;
    uint64_t value;
};

template <class Action> struct is_none {
    static constexpr bool value = false;
};
template <> struct is_none<ncclGin_None> {
    static constexpr bool value = true;
};

template <class Action> struct is_weak {
    static constexpr bool value = false;
};
template <> struct is_weak<ncclGin_WeakSignalInc> {
    static constexpr bool value = true;
};
template <> struct is_weak<ncclGin_WeakSignalAdd> {
    static constexpr bool value = true;
};
template <> struct is_weak<ncclGin_WeakVASignalInc> {
    static constexpr bool value = true;
};
template <> struct is_weak<ncclGin_WeakVASignalAdd> {
    static constexpr bool value = true;
};

/* The amount that an action adds: what it says, or 1. */
template <class Action>
__device__ __forceinline__ auto value_of(const Action &a, int) -> decltype((uint64_t)a.value)
{
    return a.value;
}
template <class Action> __device__ __forceinline__ uint64_t value_of(const Action &, long)
{
    return 1;
}

} // namespace nccl
} // namespace gshmem

#endif
