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
template <class... Numbers> using shape = tuples::tuple<Numbers...>;
template <class... Numbers> using stride = tuples::tuple<Numbers...>;

template <class... Numbers> __host__ __device__ constexpr shape<Numbers...> make_shape(Numbers... n)
{
    return shape<Numbers...>(n...);
}

template <class... Numbers>
__host__ __device__ constexpr stride<Numbers...> make_stride(Numbers... n)
{
    return stride<Numbers...>(n...);
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

template <class Type, class Layout> class Tensor
{
  public:
    typedef Type value_type;
    __host__ __device__ constexpr Tensor(Type *data, Layout layout) : data_(data), layout_(layout)
    {
    }
    __host__ __device__ constexpr Type *data() const { return data_; }
    __host__ __device__ constexpr Layout layout() const { return layout_; }
    __host__ __device__ constexpr auto shape() const { return layout_.shape(); }
    __host__ __device__ constexpr auto stride() const { return layout_.stride(); }

  private:
    Type *data_;
    Layout layout_;
};

} // namespace nvshmemx

#endif

#endif
