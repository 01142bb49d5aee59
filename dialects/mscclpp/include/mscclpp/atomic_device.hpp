/* SPDX-License-Identifier: Apache-2.0
 * Atomics with an order and a scope: CUDA's in device code, the compiler's in host code, where all
 * scopes are one. */
#ifndef MSCCLPP_ATOMIC_DEVICE_HPP_
#define MSCCLPP_ATOMIC_DEVICE_HPP_

#include "device.hpp"

#if defined(MSCCLPP_DEVICE_CUDA)

#include <cuda/atomic>

namespace mscclpp
{

constexpr cuda::memory_order memoryOrderRelaxed = cuda::memory_order_relaxed;
constexpr cuda::memory_order memoryOrderAcquire = cuda::memory_order_acquire;
constexpr cuda::memory_order memoryOrderRelease = cuda::memory_order_release;
constexpr cuda::memory_order memoryOrderAcqRel = cuda::memory_order_acq_rel;
constexpr cuda::memory_order memoryOrderSeqCst = cuda::memory_order_seq_cst;

constexpr cuda::thread_scope scopeSystem = cuda::thread_scope_system;
constexpr cuda::thread_scope scopeDevice = cuda::thread_scope_device;

template <typename T, cuda::thread_scope Scope = cuda::thread_scope_system>
MSCCLPP_HOST_DEVICE_INLINE T atomicLoad(T *ptr, cuda::memory_order order)
{
    return cuda::atomic_ref<T, Scope>{*ptr}.load(order);
}

template <typename T, cuda::thread_scope Scope = cuda::thread_scope_system>
MSCCLPP_HOST_DEVICE_INLINE void atomicStore(T *ptr, const T &value, cuda::memory_order order)
{
    cuda::atomic_ref<T, Scope>{*ptr}.store(value, order);
}

template <typename T, cuda::thread_scope Scope = cuda::thread_scope_system>
MSCCLPP_HOST_DEVICE_INLINE T atomicFetchAdd(T *ptr, const T &value, cuda::memory_order order)
{
    return cuda::atomic_ref<T, Scope>{*ptr}.fetch_add(value, order);
}

} // namespace mscclpp

#else

namespace mscclpp
{

constexpr int memoryOrderRelaxed = __ATOMIC_RELAXED;
constexpr int memoryOrderAcquire = __ATOMIC_ACQUIRE;
constexpr int memoryOrderRelease = __ATOMIC_RELEASE;
constexpr int memoryOrderAcqRel = __ATOMIC_ACQ_REL;
constexpr int memoryOrderSeqCst = __ATOMIC_SEQ_CST;

constexpr int scopeSystem = 0;
constexpr int scopeDevice = 0;

template <typename T, int Scope = scopeSystem> inline T atomicLoad(const T *ptr, int order)
{
    T value;
    __atomic_load(ptr, &value, order);
    return value;
}

template <typename T, int Scope = scopeSystem>
inline void atomicStore(T *ptr, const T &value, int order)
{
    __atomic_store(ptr, const_cast<T *>(&value), order);
}

template <typename T, int Scope = scopeSystem>
inline T atomicFetchAdd(T *ptr, const T &value, int order)
{
    return __atomic_fetch_add(ptr, value, order);
}

} // namespace mscclpp

#endif
#endif
