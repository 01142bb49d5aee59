/* SPDX-License-Identifier: Apache-2.0
 * Every public name of MSCCL++'s host headers exists with its shape: what follows fails to compile
 * otherwise. */
#ifndef GSH_TEST_NAMES_HOST_HPP
#define GSH_TEST_NAMES_HOST_HPP

#include <mscclpp/core.hpp>
#include <mscclpp/env.hpp>
#include <mscclpp/errors.hpp>
#define MSCCLPP_NO_EXECUTOR_MESSAGE
#include <mscclpp/algorithm.hpp>
#include <mscclpp/executor.hpp>
#include <mscclpp/gpu.hpp>
#include <mscclpp/gpu_data_types.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/npkit/npkit.hpp>
#include <mscclpp/numa.hpp>
#include <mscclpp/utils.hpp>
#include <mscclpp/version.hpp>

namespace names
{

using namespace mscclpp;
using std::is_base_of_v;
using std::is_constructible_v;
using std::is_same_v;
using std::shared_ptr;
using std::string;
using std::vector;

/* A member function, or a function, of exactly that type. */
#define IS(name, ...)      static_assert(sizeof(static_cast<__VA_ARGS__>(&name)) > 0)
#define IS_TYPE(type, ...) static_assert(is_same_v<type, __VA_ARGS__>)

/* ---- core.hpp ---- */

IS_TYPE(UniqueId, std::array<uint8_t, 128>);
static_assert(UniqueIdBytes == 128);
IS(version, string (*)());

static_assert(std::is_abstract_v<Bootstrap> && std::has_virtual_destructor_v<Bootstrap>);
IS(Bootstrap::getRank, int (Bootstrap::*)() const);
IS(Bootstrap::getNranks, int (Bootstrap::*)() const);
IS(Bootstrap::getNranksPerNode, int (Bootstrap::*)() const);
IS(Bootstrap::getNranksPerIpcDomain, int (Bootstrap::*)() const);
IS(Bootstrap::send, void (Bootstrap::*)(void *, int, int, int));
IS(Bootstrap::recv, void (Bootstrap::*)(void *, int, int, int));
IS(Bootstrap::send, void (Bootstrap::*)(const vector<char> &, int, int));
IS(Bootstrap::recv, void (Bootstrap::*)(vector<char> &, int, int));
IS(Bootstrap::allGather, void (Bootstrap::*)(void *, int));
IS(Bootstrap::barrier, void (Bootstrap::*)());
IS(Bootstrap::groupBarrier, void (Bootstrap::*)(const vector<int> &));
IS(Bootstrap::broadcast, void (Bootstrap::*)(void *, int, int));

static_assert(is_base_of_v<Bootstrap, TcpBootstrap> && is_constructible_v<TcpBootstrap, int, int>);
IS(TcpBootstrap::createUniqueId, UniqueId (*)());
IS(TcpBootstrap::getUniqueId, UniqueId (TcpBootstrap::*)() const);
IS(TcpBootstrap::initialize, void (TcpBootstrap::*)(UniqueId, int64_t));
IS(TcpBootstrap::initialize, void (TcpBootstrap::*)(const string &, int64_t));

static_assert(static_cast<int>(Transport::Unknown) == 0 &&
              static_cast<int>(Transport::CudaIpc) == 1 && static_cast<int>(Transport::IB0) == 2 &&
              static_cast<int>(Transport::IB7) == 9 &&
              static_cast<int>(Transport::Ethernet) == 10 &&
              static_cast<int>(Transport::NumTransports) == 11);
IS_TYPE(const std::string[12], decltype(TransportNames));
static_assert(std::is_convertible_v<Transport, TransportFlags>);
IS(TransportFlags::has, bool (TransportFlags::*)(Transport) const);
IS(TransportFlags::none, bool (TransportFlags::*)() const);
IS(TransportFlags::any, bool (TransportFlags::*)() const);
IS(TransportFlags::all, bool (TransportFlags::*)() const);
IS(TransportFlags::count, size_t (TransportFlags::*)() const);
IS(TransportFlags::toBitset, std::bitset<12> (TransportFlags::*)() const);
IS_TYPE(const TransportFlags, decltype(NoTransports));
IS_TYPE(const TransportFlags, decltype(AllIBTransports));
IS_TYPE(const TransportFlags, decltype(AllTransports));
static_assert(DeviceType::Unknown != DeviceType::CPU && DeviceType::CPU != DeviceType::GPU);
static_assert(std::is_convertible_v<DeviceType, Device> &&
              is_constructible_v<Device, DeviceType, int>);
IS(Device::type, DeviceType Device::*);
IS(Device::id, int Device::*);

IS(EndpointConfig::transport, Transport EndpointConfig::*);
IS(EndpointConfig::device, Device EndpointConfig::*);
IS(EndpointConfig::maxWriteQueueSize, int EndpointConfig::*);
IS(EndpointConfig::ib, EndpointConfig::Ib EndpointConfig::*);
static_assert(std::is_convertible_v<Transport, EndpointConfig> &&
              is_constructible_v<EndpointConfig, Transport, Device, int, EndpointConfig::Ib>);
static_assert(EndpointConfig::Ib::DefaultMaxCqSize == 1024 &&
              EndpointConfig::Ib::DefaultMaxCqPollNum == 256 &&
              EndpointConfig::Ib::DefaultMaxSendWr == 8192 &&
              EndpointConfig::Ib::DefaultMaxRecvWr == 16 &&
              EndpointConfig::Ib::DefaultMaxWrPerSend == 64);
IS(EndpointConfig::Ib::deviceIndex, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::port, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::gidIndex, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::maxCqSize, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::maxCqPollNum, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::maxSendWr, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::maxRecvWr, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::maxWrPerSend, int EndpointConfig::Ib::*);
IS(EndpointConfig::Ib::mode, EndpointConfig::Ib::Mode EndpointConfig::Ib::*);
static_assert(EndpointConfig::Ib::Mode::Default != EndpointConfig::Ib::Mode::Host &&
              EndpointConfig::Ib::Mode::Host != EndpointConfig::Ib::Mode::HostNoAtomic);

static_assert(std::is_default_constructible_v<Endpoint>);
IS(Endpoint::config, const EndpointConfig &(Endpoint::*)() const);
IS(Endpoint::transport, Transport (Endpoint::*)() const);
IS(Endpoint::device, const Device &(Endpoint::*)() const);
IS(Endpoint::hostHash, uint64_t (Endpoint::*)() const);
IS(Endpoint::pidHash, uint64_t (Endpoint::*)() const);
IS(Endpoint::maxWriteQueueSize, int (Endpoint::*)() const);
IS(Endpoint::serialize, vector<char> (Endpoint::*)() const);
IS(Endpoint::deserialize, Endpoint (*)(const vector<char> &));

static_assert(std::is_default_constructible_v<RegisteredMemory>);
IS(RegisteredMemory::data, void *(RegisteredMemory::*)() const);
IS(RegisteredMemory::originalDataPtr, void *(RegisteredMemory::*)() const);
IS(RegisteredMemory::size, size_t (RegisteredMemory::*)() const);
IS(RegisteredMemory::transports, TransportFlags (RegisteredMemory::*)() const);
IS(RegisteredMemory::serialize, vector<char> (RegisteredMemory::*)() const);
IS(RegisteredMemory::deserialize, RegisteredMemory (*)(const vector<char> &));

static_assert(std::is_default_constructible_v<Connection> &&
              std::is_copy_constructible_v<Connection>);
IS(Connection::write,
   void (Connection::*)(RegisteredMemory, uint64_t, RegisteredMemory, uint64_t, uint64_t));
IS(Connection::updateAndSync,
   void (Connection::*)(RegisteredMemory, uint64_t, uint64_t *, uint64_t));
IS(Connection::flush, void (Connection::*)(int64_t));
IS(Connection::transport, Transport (Connection::*)() const);
IS(Connection::remoteTransport, Transport (Connection::*)() const);
IS(Connection::context, shared_ptr<Context> (Connection::*)() const);
IS(Connection::localDevice, const Device &(Connection::*)() const);
IS(Connection::getMaxWriteQueueSize, int (Connection::*)() const);

static_assert(!std::is_default_constructible_v<Context> &&
              is_base_of_v<std::enable_shared_from_this<Context>, Context>);
IS(Context::create, shared_ptr<Context> (*)());
IS(Context::registerMemory, RegisteredMemory (Context::*)(void *, size_t, TransportFlags));
IS(Context::createEndpoint, Endpoint (Context::*)(EndpointConfig));
IS(Context::connect, Connection (Context::*)(const Endpoint &, const Endpoint &));

static_assert(is_constructible_v<SemaphoreStub, const Connection &>);
IS(SemaphoreStub::memory, const RegisteredMemory &(SemaphoreStub::*)() const);
IS(SemaphoreStub::serialize, vector<char> (SemaphoreStub::*)() const);
IS(SemaphoreStub::deserialize, SemaphoreStub (*)(const vector<char> &));
static_assert(is_constructible_v<Semaphore, const SemaphoreStub &, const SemaphoreStub &> &&
              std::is_default_constructible_v<Semaphore>);
IS(Semaphore::connection, Connection &(Semaphore::*)());
IS(Semaphore::localMemory, const RegisteredMemory &(Semaphore::*)() const);
IS(Semaphore::remoteMemory, const RegisteredMemory &(Semaphore::*)() const);

struct Handled {
    struct DeviceHandle {
        int value;
    };
    DeviceHandle deviceHandle() const { return {3}; }
    using Payload = uint2;
};
IS_TYPE(DeviceHandle<Handled>, Handled::DeviceHandle);
IS_TYPE(PacketPayload<Handled>, uint2);
IS_TYPE(decltype(deviceHandle(std::declval<Handled &>())), Handled::DeviceHandle);
IS_TYPE(NonblockingFuture<int>, std::shared_future<int>);

static_assert(is_constructible_v<Communicator, shared_ptr<Bootstrap>> &&
              is_constructible_v<Communicator, shared_ptr<TcpBootstrap>, shared_ptr<Context>>);
IS(Communicator::bootstrap, shared_ptr<Bootstrap> (Communicator::*)());
IS(Communicator::context, shared_ptr<Context> (Communicator::*)());
IS(Communicator::registerMemory,
   RegisteredMemory (Communicator::*)(void *, size_t, TransportFlags));
IS(Communicator::sendMemory, void (Communicator::*)(RegisteredMemory, int, int));
IS(Communicator::recvMemory, std::shared_future<RegisteredMemory> (Communicator::*)(int, int));
IS(Communicator::connect,
   std::shared_future<Connection> (Communicator::*)(const EndpointConfig &, int, int));
IS(Communicator::connect,
   std::shared_future<Connection> (Communicator::*)(const Endpoint &, int, int));
IS(Communicator::buildSemaphore,
   std::shared_future<Semaphore> (Communicator::*)(const Connection &, int, int));
IS(Communicator::remoteRankOf, int (Communicator::*)(const Connection &));
IS(Communicator::tagOf, int (Communicator::*)(const Connection &));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
IS(Communicator::setup, void (Communicator::*)());
IS(Communicator::sendMemoryOnSetup, void (Communicator::*)(RegisteredMemory, int, int));
IS(Communicator::recvMemoryOnSetup,
   NonblockingFuture<RegisteredMemory> (Communicator::*)(int, int));
using SharedConnection = shared_ptr<Connection>;
IS_TYPE(decltype(std::declval<Communicator &>().connectOnSetup(0, 0, EndpointConfig())),
        decltype(std::declval<Communicator &>().connect(0, 0, EndpointConfig())));
using ConnectedOnSetup =
    decltype(std::declval<Communicator &>().connectOnSetup(0, 0, EndpointConfig()));
static_assert(std::is_convertible_v<ConnectedOnSetup, NonblockingFuture<Connection>> &&
              std::is_convertible_v<ConnectedOnSetup, NonblockingFuture<SharedConnection>>);
static_assert(std::is_convertible_v<SharedConnection, Connection> &&
              std::is_convertible_v<Connection, SharedConnection>);
IS_TYPE(decltype(allocSharedCuda<int>(3)), shared_ptr<int>);
IS_TYPE(decltype(allocExtSharedCuda<int>()), shared_ptr<int>);
IS_TYPE(decltype(allocSharedPhysicalCuda<int>(3, 4096)), shared_ptr<int>);
IS_TYPE(decltype(allocUniqueCuda<int>(3)), UniqueCudaPtr<int>);
IS_TYPE(decltype(makeSharedCudaHost<int>(3)), shared_ptr<int>);
IS_TYPE(decltype(makeSharedCudaHost<int[]>(3)), shared_ptr<int[]>);
IS_TYPE(UniqueCudaHostPtr<int>, detail::UniqueGpuHostPtr<int>);
IS(memcpyCuda<int>, void (*)(int *, const int *, size_t, cudaMemcpyKind));
IS(memcpyCudaAsync<int>, void (*)(int *, const int *, size_t, cudaStream_t, cudaMemcpyKind));
#pragma GCC diagnostic pop

/* ---- errors.hpp, env.hpp, utils.hpp, numa.hpp ---- */

static_assert(static_cast<int>(ErrorCode::SystemError) == 0 &&
              static_cast<int>(ErrorCode::InternalError) == 1 &&
              static_cast<int>(ErrorCode::RemoteError) == 2 &&
              static_cast<int>(ErrorCode::InvalidUsage) == 3 &&
              static_cast<int>(ErrorCode::Timeout) == 4 &&
              static_cast<int>(ErrorCode::Aborted) == 5 &&
              static_cast<int>(ErrorCode::ExecutorError) == 6);
IS(errorToString, string (*)(ErrorCode));
static_assert(is_base_of_v<std::runtime_error, BaseError> && is_base_of_v<BaseError, Error> &&
              is_base_of_v<BaseError, SysError> && is_base_of_v<BaseError, CudaError> &&
              is_base_of_v<BaseError, CuError> && is_base_of_v<BaseError, IbError>);
IS(BaseError::getErrorCode, int (BaseError::*)() const);
IS(Error::getErrorCode, ErrorCode (Error::*)() const);

IS(env, shared_ptr<Env> (*)());
IS(Env::debug, const string Env::*);
IS(Env::debugSubsys, const string Env::*);
IS(Env::debugFile, const string Env::*);
IS(Env::logLevel, const string Env::*);
IS(Env::logSubsys, const string Env::*);
IS(Env::logFile, const string Env::*);
IS(Env::hcaDevices, const string Env::*);
IS(Env::ibvSo, const string Env::*);
IS(Env::ibvMode, const string Env::*);
IS(Env::ibGidIndex, const int Env::*);
IS(Env::hostid, const string Env::*);
IS(Env::socketFamily, const string Env::*);
IS(Env::socketIfname, const string Env::*);
IS(Env::commId, const string Env::*);
IS(Env::cacheDir, const string Env::*);
IS(Env::npkitDumpDir, const string Env::*);
IS(Env::cudaIpcUseDefaultStream, const bool Env::*);
IS(Env::ncclSharedLibPath, const string Env::*);
IS(Env::forceNcclFallbackOperation, const string Env::*);
IS(Env::ncclSymmetricMemory, const bool Env::*);
IS(Env::forceDisableNvls, const bool Env::*);
IS(Env::forceDisableGdr, const bool Env::*);

IS(getHostName, string (*)(int, char));
static_assert(is_constructible_v<Timer, int> && std::is_default_constructible_v<Timer> &&
              is_base_of_v<Timer, ScopedTimer> && is_constructible_v<ScopedTimer, string>);
IS_TYPE(decltype(Timer::start_), std::chrono::steady_clock::time_point);
IS_TYPE(decltype(Timer::timeout_), int);
IS_TYPE(decltype(ScopedTimer::name_), const string);
IS(Timer::elapsed, int64_t (Timer::*)() const);
IS(Timer::set, void (Timer::*)(int));
IS(Timer::reset, void (Timer::*)());
IS(Timer::print, void (Timer::*)(const string &));
IS(getIBDeviceCount, int (*)());
IS(getIBDeviceName, string (*)(Transport));
IS(getIBTransportByDeviceName, Transport (*)(const string &));
IS(isFabricMemHandleAvailable, bool (*)());
IS(getDeviceNumaNode, int (*)(int));
IS(numaBind, void (*)(int));

/* ---- gpu_utils.hpp, executor.hpp, algorithm.hpp, gpu_data_types.hpp ---- */

static_assert(std::is_default_constructible_v<AvoidCudaGraphCaptureGuard> &&
              is_constructible_v<CudaDeviceGuard, int>);
static_assert(std::is_default_constructible_v<CudaStreamWithFlags> &&
              is_constructible_v<CudaStreamWithFlags, unsigned> &&
              std::is_convertible_v<CudaStreamWithFlags, cudaStream_t> &&
              std::is_convertible_v<GpuStream, cudaStream_t>);
IS(GpuStreamPool::getStream, GpuStream (GpuStreamPool::*)());
IS(gpuStreamPool, shared_ptr<GpuStreamPool> (*)());
IS(isNvlsSupported, bool (*)());
IS(isBulkSupported, bool (*)());
IS(isCuMemMapAllocated, bool (*)(void *));
IS(detail::gpuCalloc, void *(*)(size_t));
IS(detail::gpuCallocHost, void *(*)(size_t, unsigned));
IS(detail::gpuCallocPhysical, void *(*)(size_t, size_t, size_t));
IS(detail::gpuFree, void (*)(void *));
IS(detail::gpuFreeHost, void (*)(void *));
IS(detail::gpuFreePhysical, void (*)(void *));
IS_TYPE(decltype(detail::gpuCallocShared<int>(1)), shared_ptr<int>);
IS_TYPE(decltype(detail::gpuCallocUnique<int>(1)), detail::UniqueGpuPtr<int>);
IS_TYPE(decltype(detail::gpuCallocHostShared<int>(1)), shared_ptr<int>);
IS_TYPE(decltype(detail::gpuCallocHostUnique<int>(1)), detail::UniqueGpuHostPtr<int>);
IS_TYPE(decltype(std::declval<GpuBuffer<int> &>().memory()), shared_ptr<int>);
IS_TYPE(decltype(std::declval<GpuBuffer<int> &>().data()), int *);
IS(GpuBuffer<int>::nelems, size_t (GpuBuffer<int>::*)() const);
IS(GpuBuffer<>::bytes, size_t (GpuBuffer<>::*)() const);
IS(GpuBuffer<>::deviceId, int (GpuBuffer<>::*)() const);
static_assert(is_constructible_v<GpuBuffer<>, size_t, GpuBufferGranularity>);
static_assert(PacketType::LL8 != PacketType::LL16 && is_constructible_v<ExecutionPlan, string>);
static_assert(is_constructible_v<Executor, shared_ptr<Communicator>> &&
              is_constructible_v<Executor, shared_ptr<Communicator>, shared_ptr<char>>);
IS(ExecutionPlan::name, string (ExecutionPlan::*)() const);
IS(ExecutionPlan::collective, string (ExecutionPlan::*)() const);
IS(ExecutionPlan::minMessageSize, size_t (ExecutionPlan::*)() const);
IS(ExecutionPlan::maxMessageSize, size_t (ExecutionPlan::*)() const);
IS(ExecutionPlan::isInPlace, bool (ExecutionPlan::*)() const);
IS(Executor::execute, void (Executor::*)(int, void *, void *, size_t, size_t, DataType,
                                         const ExecutionPlan &, cudaStream_t, PacketType));
static_assert(static_cast<int>(ReduceOp::SUM) == 0 && static_cast<int>(ReduceOp::MIN) == 3 &&
              static_cast<int>(CommResult::CommSuccess) == 0 &&
              static_cast<int>(CommResult::CommNumResults) == 8 &&
              AlgorithmType::Native != AlgorithmType::DSL &&
              CollectiveBufferMode::InPlace != CollectiveBufferMode::OutOfPlace);
static_assert(DataType::INT32 != DataType::UINT32 && DataType::FLOAT16 != DataType::FLOAT32 &&
              DataType::BFLOAT16 != DataType::FLOAT8_E4M3 &&
              DataType::FLOAT8_E5M2 != DataType::UINT8);
IS_TYPE(CUdeviceptr, unsigned long long);
static_assert(sizeof(f16x8) == 16 && sizeof(f32x4) == 16 && alignof(u32x4) == 16);

/* ---- what programs print, hash, copy and allocate with ---- */

IS_TYPE(decltype(std::to_string(std::declval<const Transport &>())), string);
IS_TYPE(decltype(std::to_string(std::declval<const Device &>())), string);
IS(operator<<, std::ostream &(*)(std::ostream &, const Transport &));
IS(operator<<, std::ostream &(*)(std::ostream &, const DeviceType &));
IS(operator<<, std::ostream &(*)(std::ostream &, const Device &));
IS_TYPE(decltype(std::hash<TransportFlags>()(TransportFlags())), size_t);
IS_TYPE(decltype(Transport::CudaIpc | Transport::IB0), TransportFlags);
IS_TYPE(decltype(Transport::CudaIpc & Transport::IB0), TransportFlags);
IS_TYPE(decltype(Transport::CudaIpc ^ Transport::IB0), TransportFlags);
IS_TYPE(decltype(~AllTransports), TransportFlags);
static_assert(is_constructible_v<Error, string, ErrorCode> &&
              is_constructible_v<SysError, string, int> &&
              is_constructible_v<CudaError, string, int> &&
              is_constructible_v<CuError, string, int> &&
              is_constructible_v<IbError, string, int> &&
              is_constructible_v<BaseError, string, int>);
IS(BaseError::what, const char *(BaseError::*)() const noexcept);
IS(CudaStreamWithFlags::set, void (CudaStreamWithFlags::*)(unsigned));
IS(CudaStreamWithFlags::empty, bool (CudaStreamWithFlags::*)() const);
IS(GpuStream::deviceId, int (GpuStream::*)() const);
IS(GpuStreamPool::clear, void (GpuStreamPool::*)());
IS_TYPE(decltype(detail::gpuCallocPhysicalShared<int>(1, 0, 0)), shared_ptr<int>);
IS_TYPE(decltype(detail::gpuCallocPhysicalUnique<int>(1)), detail::UniqueGpuPhysicalPtr<int>);
IS(gpuMemcpy<int>, void (*)(int *, const int *, size_t, cudaMemcpyKind));
IS(gpuMemcpyAsync<int>, void (*)(int *, const int *, size_t, cudaStream_t, cudaMemcpyKind));
IS(gpuMemset, void (*)(void *, int, size_t));
static_assert(GpuBufferGranularity::Default != GpuBufferGranularity::MulticastMinimum &&
              GpuBufferGranularity::MulticastMinimum != GpuBufferGranularity::MulticastRecommended);
inline void macros(cudaStream_t stream)
{
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(stream));
    MSCCLPP_CUTHROW(CUDA_SUCCESS);
}

#undef IS
#undef IS_TYPE

} // namespace names

#endif
