/* SPDX-License-Identifier: Apache-2.0
 * Collections of collectives, native or from plans, are not part of this dialect: only the types
 * that such code shares with kernels exist. */
#ifndef MSCCLPP_ALGORITHM_HPP_
#define MSCCLPP_ALGORITHM_HPP_

#include <mscclpp/core.hpp>
#include <mscclpp/gpu_data_types.hpp>

#ifndef MSCCLPP_NO_EXECUTOR_MESSAGE
#pragma message("mscclpp/algorithm.hpp: gshmem has no collections of algorithms")
#endif

namespace mscclpp
{

enum class CollectiveBufferMode {
    Any = 0,
    InPlace,
    OutOfPlace,
};

enum class AlgorithmType {
    Native = 0,
    DSL,
};

enum class CommResult {
    CommSuccess = 0,
    CommUnhandledCudaError = 1,
    CommSystemError = 2,
    CommInternalError = 3,
    CommInvalidArgument = 4,
    CommInvalidUsage = 5,
    CommRemoteError = 6,
    CommInProgress = 7,
    CommNumResults = 8,
};

enum class ReduceOp {
    SUM = 0,
    MIN = 3,
    NOP = 255,
};

} // namespace mscclpp

#endif
