/* SPDX-License-Identifier: Apache-2.0
 * The executor and its plans are not part of this dialect. The names exist so that programs which
 * mention them compile; to make a plan or an executor throws ErrorCode::ExecutorError. */
#ifndef MSCCLPP_EXECUTOR_HPP_
#define MSCCLPP_EXECUTOR_HPP_

#include <cstddef>
#include <memory>
#include <string>

#include <mscclpp/core.hpp>
#include <mscclpp/gpu.hpp>
#include <mscclpp/gpu_data_types.hpp>

#ifndef MSCCLPP_NO_EXECUTOR_MESSAGE
#pragma message("mscclpp/executor.hpp: gshmem has no executor; making one throws ExecutorError")
#endif

namespace mscclpp
{

enum class PacketType {
    LL8,
    LL16,
};

class ExecutionPlan
{
  public:
    explicit ExecutionPlan(const std::string &planPath, int rank = 0)
    {
        throw Error("there is no executor here for the plan " + planPath + " of rank " +
                        std::to_string(rank),
                    ErrorCode::ExecutorError);
    }

    std::string name() const { return ""; }
    std::string collective() const { return ""; }
    size_t minMessageSize() const { return 0; }
    size_t maxMessageSize() const { return 0; }
    bool isInPlace() const { return false; }
};

class Executor
{
  public:
    explicit Executor(std::shared_ptr<Communicator> comm,
                      std::shared_ptr<char> defaultScratchBuffer = nullptr)
    {
        (void)comm;
        (void)defaultScratchBuffer;
        throw Error("there is no executor here", ErrorCode::ExecutorError);
    }
    Executor(const Executor &) = delete;
    Executor &operator=(const Executor &) = delete;

    void execute(int, void *, void *, size_t, size_t, DataType, const ExecutionPlan &, cudaStream_t,
                 PacketType = PacketType::LL16)
    {
    }
};

} // namespace mscclpp

#endif
