/* SPDX-License-Identifier: Apache-2.0
 * Element types, and vectors of them that are copied in one access. */
#ifndef MSCCLPP_GPU_DATA_TYPES_HPP_
#define MSCCLPP_GPU_DATA_TYPES_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <mscclpp/gpu.hpp>

#include <cuda_bf16.h>
#include <cuda_fp8.h>

using __bfloat16 = __nv_bfloat16;
using __bfloat162 = __nv_bfloat162;
using __fp8_e4m3 = __nv_fp8_e4m3;
using __fp8_e5m2 = __nv_fp8_e5m2;

namespace mscclpp
{

enum class DataType {
    INT32,
    UINT32,
    FLOAT16,
    FLOAT32,
    BFLOAT16,
    FLOAT8_E4M3,
    FLOAT8_E5M2,
    UINT8,
    AUTO = 255,
};

#ifdef __CUDACC__
#define GSHMEM_MSCCLPP_BOTH __host__ __device__
#else
#define GSHMEM_MSCCLPP_BOTH
#endif

/* As words, as a vector, and as elements: the same bytes. */
template <typename T, int N, typename Storage> union alignas(sizeof(T) * N) VectorTypeImpl {
    static_assert(N > 0, "a vector has elements");

    T data[N];
    Storage storage;

    static constexpr int Size = N;
    using ElementType = T;
    using StorageType = Storage;

    GSHMEM_MSCCLPP_BOTH T &operator[](int i) { return data[i]; }
    GSHMEM_MSCCLPP_BOTH const T &operator[](int i) const { return data[i]; }
};

namespace detail
{
/* The words that hold so many bytes. */
template <size_t Bytes> struct Words {
    struct alignas(Bytes <= 16 ? Bytes : 16) type {
        uint32_t w[Bytes / 4];
    };
};
template <> struct Words<1> {
    using type = uint8_t;
};
template <> struct Words<2> {
    using type = uint16_t;
};
template <> struct Words<4> {
    using type = uint32_t;
};
template <> struct Words<8> {
    using type = uint2;
};
template <> struct Words<16> {
    using type = uint4;
};
} // namespace detail

template <typename T, int N>
using VectorType = VectorTypeImpl<T, N, typename detail::Words<sizeof(T) * N>::type>;

using i32x1 = VectorType<int32_t, 1>;
using i32x2 = VectorType<int32_t, 2>;
using i32x4 = VectorType<int32_t, 4>;
using u32x1 = VectorType<uint32_t, 1>;
using u32x2 = VectorType<uint32_t, 2>;
using u32x4 = VectorType<uint32_t, 4>;
using f64x1 = VectorType<double, 1>;
using f32x1 = VectorType<float, 1>;
using f32x2 = VectorType<float, 2>;
using f32x4 = VectorType<float, 4>;
using f16x2 = VectorType<__half, 2>;
using f16x4 = VectorType<__half, 4>;
using f16x8 = VectorType<__half, 8>;
using bf16x2 = VectorType<__bfloat16, 2>;
using bf16x4 = VectorType<__bfloat16, 4>;
using bf16x8 = VectorType<__bfloat16, 8>;
using f8_e4m3x2 = VectorType<__fp8_e4m3, 2>;
using f8_e4m3x4 = VectorType<__fp8_e4m3, 4>;
using f8_e4m3x8 = VectorType<__fp8_e4m3, 8>;
using f8_e4m3x16 = VectorType<__fp8_e4m3, 16>;
using f8_e5m2x2 = VectorType<__fp8_e5m2, 2>;
using f8_e5m2x4 = VectorType<__fp8_e5m2, 4>;
using f8_e5m2x8 = VectorType<__fp8_e5m2, 8>;
using f8_e5m2x16 = VectorType<__fp8_e5m2, 16>;
using u8x4 = VectorType<uint8_t, 4>;
using u8x8 = VectorType<uint8_t, 8>;
using u8x16 = VectorType<uint8_t, 16>;

} // namespace mscclpp

#endif
