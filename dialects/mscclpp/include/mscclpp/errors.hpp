/* SPDX-License-Identifier: Apache-2.0
 * What the calls of this dialect throw. Each message says what was refused and why; the code says
 * of which kind it is. */
#ifndef MSCCLPP_ERRORS_HPP_
#define MSCCLPP_ERRORS_HPP_

#include <stdexcept>
#include <string>

namespace mscclpp
{

enum class ErrorCode {
    SystemError,   /* the system refused something */
    InternalError, /* a mistake of this library */
    RemoteError,   /* another process died, left, or sent what it must not */
    InvalidUsage,  /* a mistake of the caller */
    Timeout,       /* another process did not answer in time */
    Aborted,       /* ended by request */
    ExecutorError  /* there is no executor here */
};

std::string errorToString(enum ErrorCode error);

class BaseError : public std::runtime_error
{
  public:
    BaseError(const std::string &message, int errorCode);
    explicit BaseError(int errorCode);
    virtual ~BaseError() = default;

    int getErrorCode() const;
    const char *what() const noexcept override;

  protected:
    std::string message_;
    int errorCode_;
};

class Error : public BaseError
{
  public:
    Error(const std::string &message, ErrorCode errorCode);
    virtual ~Error() = default;

    ErrorCode getErrorCode() const;
};

/* errorCode: errno's. */
class SysError : public BaseError
{
  public:
    SysError(const std::string &message, int errorCode);
    virtual ~SysError() = default;
};

/* errorCode: a cudaError_t. */
class CudaError : public BaseError
{
  public:
    CudaError(const std::string &message, int errorCode);
    virtual ~CudaError() = default;
};

/* errorCode: a CUresult. */
class CuError : public BaseError
{
  public:
    CuError(const std::string &message, int errorCode);
    virtual ~CuError() = default;
};

/* errorCode: errno's, of a network. */
class IbError : public BaseError
{
  public:
    IbError(const std::string &message, int errorCode);
    virtual ~IbError() = default;
};

} // namespace mscclpp

#endif
