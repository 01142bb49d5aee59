/* SPDX-License-Identifier: Apache-2.0
 * Tensors as the tile calls take them: an address, and for each dimension its size and stride, in
 * elements. Only for files with kernels. */
#ifndef NVSHMEM_TENSOR_H
#define NVSHMEM_TENSOR_H

#include "../nvshmem.h"

#if defined(NVSHMEM_DEVICE_CODE)

#if defined(__CUDACC__)
#include <cuda/std/tuple>
#else
#include <tuple>
#endif

/* A number known at compile time. */
template <int v> struct ConstInt {
    static constexpr int value = v;
    __host__ __device__ constexpr operator int() const { return v; }
};

namespace nvshmemx
{

#if defined(__CUDACC__)
namespace tuples = ::cuda::std;
#else
namespace tuples = ::std;
#endif

/* Of int, or of ConstInt. */
template <class... N> using shape = tuples::tuple<N...>;
template <class... N> using stride = tuples::tuple<N...>;

template <class... N> __host__ __device__ constexpr shape<N...> make_shape(N... n)
{
    return shape<N...>(n...);
}

template <class... N> __host__ __device__ constexpr stride<N...> make_stride(N... n)
{
    return stride<N...>(n...);
}

/* Empty: no dimensions. */
__host__ __device__ constexpr shape<> make_shape()
{
    return {};
}

__host__ __device__ constexpr stride<> make_stride()
{
    return {};
}

template <class Shape, class Stride> class Layout
{
  public:
    __host__ __device__ constexpr Layout(Shape shape, Stride stride)
        : shape_(shape), stride_(stride)
    {
    }
    __host__ __device__ constexpr Shape shape() const { return shape_; }
    __host__ __device__ constexpr Stride stride() const { return stride_; }

  private:
    Shape shape_;
    Stride stride_;
};

template <class Shape, class Stride>
__host__ __device__ constexpr Layout<Shape, Stride> make_layout(Shape shape, Stride stride)
{
    return Layout<Shape, Stride>(shape, stride);
}

template <class T, class L> class Tensor
{
  public:
    typedef T value_type;
    __host__ __device__ constexpr Tensor(T *data, L layout) : data_(data), layout_(layout) {}
    __host__ __device__ constexpr T *data() const { return data_; }
    __host__ __device__ constexpr L layout() const { return layout_; }
    __host__ __device__ constexpr auto shape() const { return layout_.shape(); }
    __host__ __device__ constexpr auto stride() const { return layout_.stride(); }

  private:
    T *data_;
    L layout_;
};

} // namespace nvshmemx

#endif

#endif
