/* SPDX-License-Identifier: Apache-2.0
 * Device memory that other processes can map, copies, guards and streams. The functions that take
 * CUDA's types are inline, so that one library serves programs for GPUs and for the CPU device. */
#ifndef MSCCLPP_GPU_UTILS_HPP_
#define MSCCLPP_GPU_UTILS_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mscclpp/errors.hpp>
#include <mscclpp/gpu.hpp>

/* Throws CudaError if the call fails. */
#define MSCCLPP_CUDATHROW(cmd)                                                                     \
    do {                                                                                           \
        const cudaError_t mscclpp_result = cmd;                                                    \
        if (mscclpp_result != cudaSuccess) {                                                       \
            throw ::mscclpp::CudaError(std::string("Call to " #cmd " failed. ") + __FILE__ + ":" + \
                                           std::to_string(__LINE__) + " (" +                       \
                                           cudaGetErrorString(mscclpp_result) + ")",               \
                                       static_cast<int>(mscclpp_result));                          \
        }                                                                                          \
    } while (false)

#ifdef MSCCLPP_USE_CUDA
/* Throws CuError if the call of the driver fails. */
#define MSCCLPP_CUTHROW(cmd)                                                                     \
    do {                                                                                         \
        const CUresult mscclpp_result = cmd;                                                     \
        if (mscclpp_result != CUDA_SUCCESS) {                                                    \
            throw ::mscclpp::CuError(std::string("Call to " #cmd " failed. ") + __FILE__ + ":" + \
                                         std::to_string(__LINE__),                               \
                                     static_cast<int>(mscclpp_result));                          \
        }                                                                                        \
    } while (false)
#else
#define MSCCLPP_CUTHROW(cmd) /* there is no driver */ \
    do {                                              \
    } while (false)
#endif

namespace mscclpp
{

/* ---- guards ---- */

/* While it lives, the calling thread may make calls that are not allowed while another thread
 * captures a graph. */
struct AvoidCudaGraphCaptureGuard {
#ifdef MSCCLPP_USE_CUDA
    AvoidCudaGraphCaptureGuard() : mode_(cudaStreamCaptureModeRelaxed), active_(false)
    {
        MSCCLPP_CUDATHROW(cudaThreadExchangeStreamCaptureMode(&mode_));
        active_ = true;
    }
    ~AvoidCudaGraphCaptureGuard()
    {
        if (active_) {
            (void)cudaThreadExchangeStreamCaptureMode(&mode_);
        }
    }
    cudaStreamCaptureMode mode_;
#else
    AvoidCudaGraphCaptureGuard() : active_(true) {}
    ~AvoidCudaGraphCaptureGuard() {}
#endif
    AvoidCudaGraphCaptureGuard(const AvoidCudaGraphCaptureGuard &) = delete;
    AvoidCudaGraphCaptureGuard &operator=(const AvoidCudaGraphCaptureGuard &) = delete;
    bool active_;
};

/* While it lives, that device is the calling thread's; -1: the one it has. */
class CudaDeviceGuard
{
  public:
    explicit CudaDeviceGuard(int deviceId) : deviceId_(deviceId), origDeviceId_(-1)
    {
        MSCCLPP_CUDATHROW(cudaGetDevice(&origDeviceId_));
        if (deviceId_ >= 0 && deviceId_ != origDeviceId_) {
            MSCCLPP_CUDATHROW(cudaSetDevice(deviceId_));
        }
    }
    ~CudaDeviceGuard()
    {
        if (deviceId_ >= 0 && deviceId_ != origDeviceId_) {
            (void)cudaSetDevice(origDeviceId_);
        }
    }
    CudaDeviceGuard(const CudaDeviceGuard &) = delete;
    CudaDeviceGuard &operator=(const CudaDeviceGuard &) = delete;

  private:
    int deviceId_;
    int origDeviceId_;
};

/* ---- streams ---- */

/* Owns a stream. */
struct CudaStreamWithFlags {
    CudaStreamWithFlags() : stream_(nullptr), deviceId_(-1) {}
    explicit CudaStreamWithFlags(unsigned int flags) : CudaStreamWithFlags() { set(flags); }
    ~CudaStreamWithFlags()
    {
        if (!empty()) {
            (void)cudaStreamDestroy(stream_);
        }
    }
    CudaStreamWithFlags(const CudaStreamWithFlags &) = delete;
    CudaStreamWithFlags &operator=(const CudaStreamWithFlags &) = delete;

    /* InvalidUsage: it has a stream already. */
    void set(unsigned int flags)
    {
        if (!empty()) {
            throw Error("a CudaStreamWithFlags has its stream already", ErrorCode::InvalidUsage);
        }
        MSCCLPP_CUDATHROW(cudaGetDevice(&deviceId_));
        MSCCLPP_CUDATHROW(cudaStreamCreateWithFlags(&stream_, flags));
    }
    bool empty() const { return deviceId_ < 0; }
    operator cudaStream_t() const { return stream_; }

    cudaStream_t stream_;
    int deviceId_;
};

class GpuStreamPool;

/* A stream of a pool, to which it returns. */
class GpuStream
{
  public:
    GpuStream(std::shared_ptr<GpuStreamPool> pool, std::shared_ptr<CudaStreamWithFlags> stream)
        : pool_(std::move(pool)), stream_(std::move(stream))
    {
    }
    inline ~GpuStream();
    GpuStream(const GpuStream &) = default;
    GpuStream &operator=(const GpuStream &) = default;

    operator cudaStream_t() const { return stream_->stream_; }
    int deviceId() const { return stream_->deviceId_; }

  private:
    std::shared_ptr<GpuStreamPool> pool_;
    std::shared_ptr<CudaStreamWithFlags> stream_;
};

/* Any thread. */
class GpuStreamPool : public std::enable_shared_from_this<GpuStreamPool>
{
  public:
    GpuStreamPool() = default;

    /* A non-blocking stream of the current device that nobody else has. */
    GpuStream getStream()
    {
        int device = -1;
        MSCCLPP_CUDATHROW(cudaGetDevice(&device));
        std::lock_guard<std::mutex> hold(mutex_);
        std::vector<std::shared_ptr<CudaStreamWithFlags>> &free = streams_[device];
        if (free.empty()) {
            return GpuStream(shared_from_this(),
                             std::make_shared<CudaStreamWithFlags>(cudaStreamNonBlocking));
        }
        std::shared_ptr<CudaStreamWithFlags> stream = free.back();
        free.pop_back();
        return GpuStream(shared_from_this(), stream);
    }
    void clear()
    {
        std::lock_guard<std::mutex> hold(mutex_);
        streams_.clear();
    }

  private:
    friend class GpuStream;

    void give_back(std::shared_ptr<CudaStreamWithFlags> stream)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        streams_[stream->deviceId_].push_back(std::move(stream));
    }

    std::mutex mutex_;
    std::map<int, std::vector<std::shared_ptr<CudaStreamWithFlags>>> streams_;
};

inline GpuStream::~GpuStream()
{
    if (stream_ && stream_.use_count() == 1) { /* not a copy's any more */
        pool_->give_back(std::move(stream_));
    }
}

/* The process's. */
inline std::shared_ptr<GpuStreamPool> gpuStreamPool()
{
    static std::shared_ptr<GpuStreamPool> pool = std::make_shared<GpuStreamPool>();
    return pool;
}

namespace detail
{

inline void setReadWriteMemoryAccess(void *, size_t) {} /* shared memory here has it */

/* ---- memory ---- */

/* Of the library: memory on the calling thread's device that other processes can map. SystemError:
 * there is none. */
void *gpuAllocShareable(size_t bytes);
void gpuFreeShareable(void *ptr);

inline void gpuZero(void *ptr, size_t bytes)
{
    AvoidCudaGraphCaptureGuard guard;
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    MSCCLPP_CUDATHROW(cudaMemsetAsync(ptr, 0, bytes, stream));
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(stream));
}

/* Zeros. */
inline void *gpuCalloc(size_t bytes)
{
    AvoidCudaGraphCaptureGuard guard;
    void *ptr = gpuAllocShareable(bytes);
    gpuZero(ptr, bytes);
    return ptr;
}

inline void *gpuCallocHost(size_t bytes, unsigned int flags = 0)
{
    AvoidCudaGraphCaptureGuard guard;
    char *ptr = nullptr;
    MSCCLPP_CUDATHROW(cudaHostAlloc(&ptr, bytes ? bytes : 1, flags));
    for (size_t i = 0; i < bytes; i++) {
        ptr[i] = 0;
    }
    return ptr;
}

/* gran, align: as GpuBuffer asks; the library's own granularity is a multiple of both. */
inline void *gpuCallocPhysical(size_t bytes, size_t gran = 0, size_t align = 0)
{
    (void)gran;
    (void)align;
    return gpuCalloc(bytes);
}

inline void gpuFree(void *ptr)
{
    AvoidCudaGraphCaptureGuard guard;
    gpuFreeShareable(ptr);
}

inline void gpuFreeHost(void *ptr)
{
    AvoidCudaGraphCaptureGuard guard;
    MSCCLPP_CUDATHROW(cudaFreeHost(ptr));
}

inline void gpuFreePhysical(void *ptr)
{
    gpuFree(ptr);
}

/* Takes n elements' bytes; all-zeros objects are complete. */
template <class Type, class Deleter, class Memory, class Alloc, class... Args>
Memory safeAlloc(Alloc alloc, size_t nelems, Args &&...args)
{
    if (nelems > SIZE_MAX / sizeof(Type)) {
        throw Error(std::to_string(nelems) + " elements of " + std::to_string(sizeof(Type)) +
                        " bytes are more than there are addresses",
                    ErrorCode::InvalidUsage);
    }
    Type *ptr = static_cast<Type *>(alloc(nelems * sizeof(Type), std::forward<Args>(args)...));
    return Memory(ptr, Deleter());
}

template <class T = void> struct GpuDeleter {
    void operator()(void *ptr) { gpuFree(ptr); }
};
template <class T = void> struct GpuHostDeleter {
    void operator()(void *ptr) { gpuFreeHost(ptr); }
};
template <class T = void> struct GpuPhysicalDeleter {
    void operator()(void *ptr) { gpuFreePhysical(ptr); }
};

template <class T> using UniqueGpuPtr = std::unique_ptr<T, GpuDeleter<T>>;
template <class T> using UniqueGpuHostPtr = std::unique_ptr<T, GpuHostDeleter<T>>;
template <class T> using UniqueGpuPhysicalPtr = std::unique_ptr<T, GpuPhysicalDeleter<T>>;

template <class T> std::shared_ptr<T> gpuCallocShared(size_t nelems = 1)
{
    return safeAlloc<T, GpuDeleter<T>, std::shared_ptr<T>>(gpuCalloc, nelems);
}
template <class T> UniqueGpuPtr<T> gpuCallocUnique(size_t nelems = 1)
{
    return safeAlloc<T, GpuDeleter<T>, UniqueGpuPtr<T>>(gpuCalloc, nelems);
}
template <class T> std::shared_ptr<T> gpuCallocHostShared(size_t nelems = 1, unsigned int flags = 0)
{
    return safeAlloc<T, GpuHostDeleter<T>, std::shared_ptr<T>>(gpuCallocHost, nelems, flags);
}
template <class T>
UniqueGpuHostPtr<T> gpuCallocHostUnique(size_t nelems = 1, unsigned int flags = 0)
{
    return safeAlloc<T, GpuHostDeleter<T>, UniqueGpuHostPtr<T>>(gpuCallocHost, nelems, flags);
}
template <class T>
std::shared_ptr<T> gpuCallocPhysicalShared(size_t nelems = 1, size_t gran = 0, size_t align = 0)
{
    return safeAlloc<T, GpuPhysicalDeleter<T>, std::shared_ptr<T>>(gpuCallocPhysical, nelems, gran,
                                                                   align);
}
template <class T>
UniqueGpuPhysicalPtr<T> gpuCallocPhysicalUnique(size_t nelems = 1, size_t gran = 0,
                                                size_t align = 0)
{
    return safeAlloc<T, GpuPhysicalDeleter<T>, UniqueGpuPhysicalPtr<T>>(gpuCallocPhysical, nelems,
                                                                        gran, align);
}

inline void gpuMemcpyAsync(void *dst, const void *src, size_t bytes, cudaStream_t stream,
                           cudaMemcpyKind kind = cudaMemcpyDefault)
{
    AvoidCudaGraphCaptureGuard guard;
    MSCCLPP_CUDATHROW(cudaMemcpyAsync(dst, src, bytes, kind, stream));
}

inline void gpuMemcpy(void *dst, const void *src, size_t bytes,
                      cudaMemcpyKind kind = cudaMemcpyDefault)
{
    AvoidCudaGraphCaptureGuard guard;
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    MSCCLPP_CUDATHROW(cudaMemcpyAsync(dst, src, bytes, kind, stream));
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(stream));
}

} // namespace detail

/* Of n elements. */
template <class T = char>
void gpuMemcpyAsync(T *dst, const T *src, size_t nelems, cudaStream_t stream,
                    cudaMemcpyKind kind = cudaMemcpyDefault)
{
    detail::gpuMemcpyAsync(dst, src, nelems * sizeof(T), stream, kind);
}
template <class T = char>
void gpuMemcpy(T *dst, const T *src, size_t nelems, cudaMemcpyKind kind = cudaMemcpyDefault)
{
    detail::gpuMemcpy(dst, src, nelems * sizeof(T), kind);
}
inline void gpuMemset(void *ptr, int value, size_t bytes)
{
    AvoidCudaGraphCaptureGuard guard;
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    MSCCLPP_CUDATHROW(cudaMemsetAsync(ptr, value, bytes, stream));
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(stream));
}

/* ---- the names of 0.5 ---- */

template <class T> using UniqueCudaPtr = detail::UniqueGpuPtr<T>;
template <class T> using UniqueCudaHostPtr = detail::UniqueGpuHostPtr<T>;

template <class T>
[[deprecated("today's name is detail::gpuCallocShared")]] std::shared_ptr<T>
allocSharedCuda(size_t count = 1)
{
    return detail::gpuCallocShared<T>(count);
}
template <class T>
[[deprecated("today's name is detail::gpuCallocShared")]] std::shared_ptr<T>
allocExtSharedCuda(size_t count = 1)
{
    return detail::gpuCallocShared<T>(count);
}
template <class T>
[[deprecated("today's name is GpuBuffer")]] std::shared_ptr<T>
allocSharedPhysicalCuda(size_t count, size_t gran = 0)
{
    return detail::gpuCallocPhysicalShared<T>(count, gran);
}
template <class T>
[[deprecated("today's name is detail::gpuCallocUnique")]] UniqueCudaPtr<T>
allocUniqueCuda(size_t count = 1)
{
    return detail::gpuCallocUnique<T>(count);
}
/* An object made of the arguments, or zeros for an array without bounds: T = int[]. */
template <class T, class... Args>
[[deprecated("today's name is detail::gpuCallocHostShared")]] std::shared_ptr<T>
makeSharedCudaHost(Args &&...args)
{
    if constexpr (std::is_array_v<T>) {
        using Element = std::remove_extent_t<T>;
        static_assert(std::is_trivial_v<Element>, "elements begin as zeros");
        Element *const elements = detail::gpuCallocHostUnique<Element>(args...).release();
        return std::shared_ptr<T>(elements, [](Element *ptr) { detail::gpuFreeHost(ptr); });
    } else {
        std::shared_ptr<T> object = detail::gpuCallocHostShared<T>();
        new (object.get()) T(std::forward<Args>(args)...);
        return object;
    }
}
template <class T>
[[deprecated("today's name is gpuMemcpyAsync")]] void
memcpyCudaAsync(T *dst, const T *src, size_t count, cudaStream_t stream,
                cudaMemcpyKind kind = cudaMemcpyDefault)
{
    gpuMemcpyAsync<T>(dst, src, count, stream, kind);
}
template <class T>
[[deprecated("today's name is gpuMemcpy")]] void memcpyCuda(T *dst, const T *src, size_t count,
                                                            cudaMemcpyKind kind = cudaMemcpyDefault)
{
    gpuMemcpy<T>(dst, src, count, kind);
}

/* ---- what there is ---- */

/* False: this dialect has no multicast. */
inline bool isNvlsSupported()
{
    return false;
}

/* Whether kernels have bulk copies: compute capability 9, and the CPU device. */
inline bool isBulkSupported()
{
#ifdef MSCCLPP_USE_CUDA
    int device = 0, major = 0;
    MSCCLPP_CUDATHROW(cudaGetDevice(&device));
    MSCCLPP_CUDATHROW(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return major >= 9;
#else
    return true;
#endif
}

/* Of the library: whether gpuCalloc or a GpuBuffer gave this memory, or the program made it by
 * cuMemCreate. */
bool isCuMemMapAllocated(void *ptr);

inline bool isCuMemMapAllocated(const void *ptr)
{
    return isCuMemMapAllocated(const_cast<void *>(ptr));
}

/* ---- buffers ---- */

enum class GpuBufferGranularity {
    Default,
    MulticastMinimum,
    MulticastRecommended,
};

/* Zeros, shareable; copies are the same memory. */
template <class T = char> class GpuBuffer
{
  public:
    /* InvalidUsage: 0 elements. granularity: ignored, since there is no multicast. */
    GpuBuffer(size_t nelems, GpuBufferGranularity granularity = GpuBufferGranularity::Default)
        : nelems_(nelems), bytes_(nelems * sizeof(T))
    {
        (void)granularity;
        if (nelems == 0) {
            throw Error("a GpuBuffer of 0 elements", ErrorCode::InvalidUsage);
        }
        MSCCLPP_CUDATHROW(cudaGetDevice(&deviceId_));
        memory_ = detail::gpuCallocPhysicalShared<T>(nelems);
    }

    size_t nelems() const { return nelems_; }
    size_t bytes() const { return bytes_; }
    std::shared_ptr<T> memory() { return memory_; }
    std::shared_ptr<const T> memory() const { return memory_; }
    T *data() { return memory_.get(); }
    const T *data() const { return memory_.get(); }
    int deviceId() const { return deviceId_; }

  private:
    size_t nelems_;
    size_t bytes_;
    int deviceId_ = -1;
    std::shared_ptr<T> memory_;
};

} // namespace mscclpp

#endif
