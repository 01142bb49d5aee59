// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/errors.hpp>

#include <cstring>

namespace mscclpp
{

std::string errorToString(enum ErrorCode error)
{
    switch (error) {
    case ErrorCode::SystemError:
        return "SystemError";
    case ErrorCode::InternalError:
        return "InternalError";
    case ErrorCode::RemoteError:
        return "RemoteError";
    case ErrorCode::InvalidUsage:
        return "InvalidUsage";
    case ErrorCode::Timeout:
        return "Timeout";
    case ErrorCode::Aborted:
        return "Aborted";
    case ErrorCode::ExecutorError:
        return "ExecutorError";
    }
    return "UnknownError";
}

BaseError::BaseError(const std::string &message, int errorCode)
    : std::runtime_error(""), message_(message), errorCode_(errorCode)
{
}

BaseError::BaseError(int errorCode) : std::runtime_error(""), errorCode_(errorCode) {}

int BaseError::getErrorCode() const
{
    return errorCode_;
}

const char *BaseError::what() const noexcept
{
    return message_.c_str();
}

Error::Error(const std::string &message, ErrorCode errorCode)
    : BaseError(message + " (" + errorToString(errorCode) + ")", static_cast<int>(errorCode))
{
}

ErrorCode Error::getErrorCode() const
{
    return static_cast<ErrorCode>(errorCode_);
}

SysError::SysError(const std::string &message, int errorCode)
    : BaseError(message + " (system error: " + std::strerror(errorCode) + ")", errorCode)
{
}

CudaError::CudaError(const std::string &message, int errorCode)
    : BaseError(message + " (CUDA error " + std::to_string(errorCode) + ")", errorCode)
{
}

CuError::CuError(const std::string &message, int errorCode)
    : BaseError(message + " (CUDA driver error " + std::to_string(errorCode) + ")", errorCode)
{
}

IbError::IbError(const std::string &message, int errorCode)
    : BaseError(message + " (network error: " + std::strerror(errorCode) + ")", errorCode)
{
}

} // namespace mscclpp
