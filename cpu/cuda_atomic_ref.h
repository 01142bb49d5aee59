/* SPDX-License-Identifier: Apache-2.0
 * cuda::atomic_ref, cuda::atomic and the fences of <cuda/atomic> for the CPU device. All scopes are
 * the same here. A load, and an exchange that changed nothing, count as an iteration of a spin and
 * run the block's other threads. */
#ifndef GSHMEM_CUDA_ATOMIC_REF_H
#define GSHMEM_CUDA_ATOMIC_REF_H

#include <atomic>
#include "cuda_names.h"

namespace cuda
{

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread,
};

/* Inside this namespace std is CUDA's. */
namespace std
{
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

template <class Type, thread_scope Scope = thread_scope_system> class atomic_ref
{
    static_assert(sizeof(Type) <= 8, "an atomic has at most 8 bytes");
    Type *const p_;

    static constexpr int order_of(memory_order order) { return static_cast<int>(order); }

    /* For a failed compare_exchange, which has nothing to release. */
    static constexpr memory_order without_release(memory_order order)
    {
        return order == memory_order_acq_rel   ? memory_order_acquire
               : order == memory_order_release ? memory_order_relaxed
                                               : order;
    }

    template <class Function> Type update(Function f, memory_order order) const
    {
        Type old, desired;
        __atomic_load(p_, &old, __ATOMIC_RELAXED);
        do {
            desired = f(old);
        } while (!__atomic_compare_exchange(p_, &old, &desired, true, order_of(order),
                                            __ATOMIC_RELAXED));
        gshmemx_cpu_progress();
        return old;
    }

  public:
    using value_type = Type;
    explicit atomic_ref(Type &object) : p_(&object) {}

    Type load(memory_order order = memory_order_seq_cst) const
    {
        Type value;
        __atomic_load(p_, &value, order_of(order));
        if (gshmem_cpu_self != nullptr) {
            uint64_t bits = 0;
            memcpy(&bits, &value, sizeof(value));
            gshmemx_cpu_look(bits ^ reinterpret_cast<uintptr_t>(p_));
            gshmemx_cpu_yield();
        }
        return value;
    }
    operator Type() const { return load(); }

    void store(Type value, memory_order order = memory_order_seq_cst) const
    {
        __atomic_store(p_, &value, order_of(order));
        gshmemx_cpu_progress();
    }
    Type operator=(Type value) const
    {
        store(value);
        return value;
    }

    Type exchange(Type value, memory_order order = memory_order_seq_cst) const
    {
        Type old;
        __atomic_exchange(p_, &value, &old, order_of(order));
        gshmem::cpu::atomic_done(memcmp(&old, &value, sizeof(Type)) != 0);
        return old;
    }
    bool compare_exchange_strong(Type &expected, Type value, memory_order success,
                                 memory_order failure) const
    {
        bool is_equal = __atomic_compare_exchange(p_, &expected, &value, false, order_of(success),
                                                  order_of(failure));
        gshmem::cpu::atomic_done(is_equal);
        return is_equal;
    }
    bool compare_exchange_strong(Type &expected, Type value,
                                 memory_order order = memory_order_seq_cst) const
    {
        return compare_exchange_strong(expected, value, order, without_release(order));
    }
    bool compare_exchange_weak(Type &expected, Type value, memory_order success,
                               memory_order failure) const
    {
        return compare_exchange_strong(expected, value, success, failure);
    }
    bool compare_exchange_weak(Type &expected, Type value,
                               memory_order order = memory_order_seq_cst) const
    {
        return compare_exchange_strong(expected, value, order);
    }

    Type fetch_add(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return static_cast<Type>(old + v); }, order);
    }
    Type fetch_sub(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return static_cast<Type>(old - v); }, order);
    }
    Type fetch_and(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return static_cast<Type>(old & v); }, order);
    }
    Type fetch_or(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return static_cast<Type>(old | v); }, order);
    }
    Type fetch_xor(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return static_cast<Type>(old ^ v); }, order);
    }
    Type fetch_min(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return v < old ? v : old; }, order);
    }
    Type fetch_max(Type v, memory_order order = memory_order_seq_cst) const
    {
        return update([v](Type old) { return old < v ? v : old; }, order);
    }
    Type operator++() const { return static_cast<Type>(fetch_add(1) + 1); }
    Type operator--() const { return static_cast<Type>(fetch_sub(1) - 1); }
    Type operator++(int) const { return fetch_add(1); }
    Type operator--(int) const { return fetch_sub(1); }
    Type operator+=(Type v) const { return static_cast<Type>(fetch_add(v) + v); }
    Type operator-=(Type v) const { return static_cast<Type>(fetch_sub(v) - v); }

    /* Returns once the value is not `old`. */
    void wait(Type old, memory_order order = memory_order_seq_cst) const
    {
        while (load(order) == old) {
        }
    }
    void notify_one() const {}
    void notify_all() const {}
};

template <class Type, thread_scope Scope = thread_scope_system> class atomic
{
    mutable Type value_;
    using ref = atomic_ref<Type, Scope>;

  public:
    using value_type = Type;
    atomic() = default;
    constexpr atomic(Type value) : value_(value) {}
    atomic(const atomic &) = delete;
    atomic &operator=(const atomic &) = delete;

    Type load(memory_order order = memory_order_seq_cst) const { return ref(value_).load(order); }
    operator Type() const { return load(); }
    void store(Type v, memory_order order = memory_order_seq_cst) { ref(value_).store(v, order); }
    Type operator=(Type v) { return ref(value_) = v; }
    Type exchange(Type v, memory_order order = memory_order_seq_cst)
    {
        return ref(value_).exchange(v, order);
    }
    template <class... Orders>
    bool compare_exchange_strong(Type &expected, Type v, Orders... orders)
    {
        return ref(value_).compare_exchange_strong(expected, v, orders...);
    }
    template <class... Orders> bool compare_exchange_weak(Type &expected, Type v, Orders... orders)
    {
        return ref(value_).compare_exchange_strong(expected, v, orders...);
    }
#define GSHMEM_CUDA_ATOMIC_FETCH(NAME)                           \
    Type NAME(Type v, memory_order order = memory_order_seq_cst) \
    {                                                            \
        return ref(value_).NAME(v, order);                       \
    }
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_add)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_sub)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_and)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_or)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_xor)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_min)
    GSHMEM_CUDA_ATOMIC_FETCH(fetch_max)
#undef GSHMEM_CUDA_ATOMIC_FETCH
    Type operator++()
    {
        return ++ref(value_);
    }
    Type operator--()
    {
        return --ref(value_);
    }
    Type operator++(int)
    {
        return ref(value_)++;
    }
    Type operator--(int)
    {
        return ref(value_)--;
    }
    Type operator+=(Type v)
    {
        return ref(value_) += v;
    }
    Type operator-=(Type v)
    {
        return ref(value_) -= v;
    }
    void wait(Type old, memory_order order = memory_order_seq_cst) const
    {
        ref(value_).wait(old, order);
    }
    void notify_one() {}
    void notify_all() {}
};

inline void atomic_thread_fence(memory_order order, thread_scope = thread_scope_system)
{
    if (order != memory_order_relaxed) {
        __threadfence();
    }
}

} // namespace cuda

#endif
