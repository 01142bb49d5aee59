/* SPDX-License-Identifier: Apache-2.0
 * Launching kernels on the CPU device: arguments as bytes, and CUDA's calls that launch. */
#ifndef GSHMEM_CUDA_LAUNCH_H
#define GSHMEM_CUDA_LAUNCH_H

#include <string.h>
#include <utility>
#include "cpu.h"
#include "cuda_error.h"
#include "cuda_stream.h"
#include "cuda_vector.h"

/* CUDA programs pass a kernel as (const void *)kernel. The cast loses its parameters' types, and
 * with them the size of each argument, so the launching calls are macros here as well as functions,
 * and drop the cast: GSHMEM_CPU_UNCAST is its arguments without parentheses before the first one,
 * if there are any and more follows them. The compiler rejects an address that was cast earlier. */
#define GSHMEM_CPU_EAT(...)
#define GSHMEM_CPU_COMMA(...)          ,
#define GSHMEM_CPU_THIRD(a, b, c, ...) c
#define GSHMEM_CPU_CALL(macro, ...)    macro(__VA_ARGS__)
#define GSHMEM_CPU_JOIN_(a, b, c)      a##b##c
#define GSHMEM_CPU_JOIN(a, b, c)       GSHMEM_CPU_JOIN_(a, b, c)
/* 1 if the argument has a comma (at most one), else 0. */
#define GSHMEM_CPU_HAS_COMMA(...) GSHMEM_CPU_CALL(GSHMEM_CPU_THIRD, __VA_ARGS__, 1, 0, ~)
/* 1 if `first` begins with parentheses. */
#define GSHMEM_CPU_IS_PAREN(first, ...) GSHMEM_CPU_HAS_COMMA(GSHMEM_CPU_COMMA first)
/* 1 if nothing is left: only then does COMMA take the pair of parentheses added here. */
#define GSHMEM_CPU_IS_EMPTY_11(...) 0
#define GSHMEM_CPU_IS_EMPTY_10(...) 0
#define GSHMEM_CPU_IS_EMPTY_00(...) 0
#define GSHMEM_CPU_IS_EMPTY_01(...) 1
#define GSHMEM_CPU_IS_NOTHING(...)                                                      \
    GSHMEM_CPU_CALL(GSHMEM_CPU_JOIN(GSHMEM_CPU_IS_EMPTY_,                               \
                                    GSHMEM_CPU_HAS_COMMA(GSHMEM_CPU_COMMA __VA_ARGS__), \
                                    GSHMEM_CPU_HAS_COMMA(GSHMEM_CPU_COMMA __VA_ARGS__())), )
#define GSHMEM_CPU_IS_ALONE(first, ...) GSHMEM_CPU_IS_NOTHING(GSHMEM_CPU_EAT first)
#define GSHMEM_CPU_UNCAST_00(...)       __VA_ARGS__
#define GSHMEM_CPU_UNCAST_01(...)       __VA_ARGS__
#define GSHMEM_CPU_UNCAST_11(...)       __VA_ARGS__
#define GSHMEM_CPU_UNCAST_10(...)       GSHMEM_CPU_EAT __VA_ARGS__
#define GSHMEM_CPU_UNCAST(...)                                               \
    GSHMEM_CPU_JOIN(GSHMEM_CPU_UNCAST_, GSHMEM_CPU_IS_PAREN(__VA_ARGS__, ~), \
                    GSHMEM_CPU_IS_ALONE(__VA_ARGS__, ~))                     \
    (__VA_ARGS__)

namespace gshmem
{
namespace cpu
{

/* The executor's copy of a launch's arguments: the kernel's address, then each argument,
 * aligned. */
template <class... Parameters> struct packed {
    using kernel_type = void (*)(Parameters...);
    static constexpr size_t count = sizeof...(Parameters);

    struct layout {
        size_t off[sizeof...(Parameters) + 1];
        size_t bytes;
    };

    static constexpr layout make_layout()
    {
        constexpr size_t size[] = {sizeof(Parameters)..., 0}, align[] = {alignof(Parameters)..., 1};
        layout l = {};
        size_t at = sizeof(kernel_type);
        for (size_t i = 0; i < count; i++) {
            at = (at + align[i] - 1) / align[i] * align[i];
            l.off[i] = at;
            at += size[i];
        }
        l.bytes = at;
        return l;
    }

    static constexpr layout where = make_layout();
    static_assert(((alignof(Parameters) <= 16) && ... && true),
                  "arguments are aligned to 16 bytes at most");
    static_assert((__is_trivially_copyable(Parameters) && ... && true),
                  "arguments are copied as bytes");

    template <size_t... at> static void call(char *bytes, std::index_sequence<at...>)
    {
        kernel_type kernel;
        memcpy(&kernel, bytes, sizeof(kernel));
        kernel(*reinterpret_cast<Parameters *>(bytes + where.off[at])...);
    }

    static void entry(void *bytes)
    {
        call(static_cast<char *>(bytes), std::index_sequence_for<Parameters...>());
    }

    /* args[i] points to a value of the i-th type. Returns the executor's result. */
    static int launch(kernel_type kernel, dim3 grid, dim3 block, void **args, size_t smem,
                      CUstream_st *stream, bool is_cooperative)
    {
        constexpr size_t size[] = {sizeof(Parameters)..., 0};
        alignas(16) char bytes[where.bytes];
        if (kernel == nullptr || (count > 0 && args == nullptr)) {
            return kernel == nullptr ? GSH_CPU_ERR_KERNEL : GSH_CPU_ERR_ARGS;
        }
        memcpy(bytes, &kernel, sizeof(kernel));
        for (size_t i = 0; i < count; i++) {
            memcpy(bytes + where.off[i], args[i], size[i]);
        }
        gsh_cpu_launch l = {};
        l.entry = entry;
        l.args = bytes;
        l.args_bytes = where.bytes;
        l.grid = grid;
        l.block = block;
        l.shared_bytes = smem;
        l.kernel = reinterpret_cast<const void *>(kernel);
        l.is_cooperative = is_cooperative;
        return gshmemx_cpu_launch(&l, stream);
    }

    static cudaError_t launch_values(kernel_type kernel, dim3 grid, dim3 block, size_t smem,
                                     CUstream_st *stream, bool is_cooperative, Parameters... values)
    {
        void *pointers[sizeof...(Parameters) + 1] = {
            const_cast<void *>(static_cast<const volatile void *>(&values))..., nullptr};
        return result_of(launch(kernel, grid, block, pointers, smem, stream, is_cooperative));
    }
};

/* For static_asserts that fail only where a template is used. */
template <class...> constexpr bool no = false;
#define GSHMEM_CPU_REFUSE_ADDRESS(...)                                                     \
    static_assert(gshmem::cpu::no<__VA_ARGS__>,                                            \
                  "the CPU device needs the kernel itself here, or (const void *)kernel; " \
                  "an address that was cast before does not say what its arguments are")

} // namespace cpu
} // namespace gshmem

template <class... Parameters>
inline cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                    void **args, size_t smem = 0, cudaStream_t stream = nullptr)
{
    return gshmem::cpu::result_of(
        gshmem::cpu::packed<Parameters...>::launch(kernel, grid, block, args, smem, stream, false));
}

template <class... Parameters>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                               void **args, size_t smem = 0,
                                               cudaStream_t stream = nullptr)
{
    return gshmem::cpu::result_of(
        gshmem::cpu::packed<Parameters...>::launch(kernel, grid, block, args, smem, stream, true));
}

template <class Variable, class... Rest>
inline cudaError_t cudaLaunchKernel(const Variable *, Rest...)
{
    GSHMEM_CPU_REFUSE_ADDRESS(Variable);
    return cudaErrorInvalidDeviceFunction;
}

template <class Variable, class... Rest>
inline cudaError_t cudaLaunchCooperativeKernel(const Variable *, Rest...)
{
    GSHMEM_CPU_REFUSE_ADDRESS(Variable);
    return cudaErrorInvalidDeviceFunction;
}

#define cudaLaunchKernel(...)            cudaLaunchKernel(GSHMEM_CPU_UNCAST(__VA_ARGS__))
#define cudaLaunchCooperativeKernel(...) cudaLaunchCooperativeKernel(GSHMEM_CPU_UNCAST(__VA_ARGS__))

/* ---- with attributes: of those, cooperative has a meaning here ---------------------------------
 */

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8,
};

union cudaLaunchAttributeValue {
    int cooperative;
    int programmaticStreamSerializationAllowed;
    int priority;
    struct {
        unsigned x, y, z;
    } clusterDim;
};

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

template <class... Parameters, class... Arguments>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                      void (*kernel)(Parameters...), Arguments &&...args)
{
    bool is_cooperative = false;
    if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
        return gshmem::cpu::result(cudaErrorInvalidValue);
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute &a = config->attrs[i];
        is_cooperative |= a.id == cudaLaunchAttributeCooperative && a.val.cooperative;
        if (a.id == cudaLaunchAttributeClusterDimension &&
            (a.val.clusterDim.x > 1 || a.val.clusterDim.y > 1 || a.val.clusterDim.z > 1)) {
            return gshmem::cpu::result(cudaErrorNotSupported);
        }
    }
    return gshmem::cpu::packed<Parameters...>::launch_values(
        kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream,
        is_cooperative, static_cast<Arguments &&>(args)...);
}

#endif
