/* SPDX-License-Identifier: Apache-2.0
 * From what runtime/layer.h returns to the exceptions that this dialect throws. */
#ifndef GSH_MSCCLPP_CHECK_H
#define GSH_MSCCLPP_CHECK_H

#include <string>

#include "runtime/layer.h"

#include <mscclpp/errors.hpp>

namespace mscclpp
{

inline ErrorCode code_of(int outcome)
{
    switch (outcome) {
    case GSHMEMX_LAYER_WRONG:
        return ErrorCode::InvalidUsage;
    case GSHMEMX_LAYER_LACKING:
        return ErrorCode::SystemError;
    case GSHMEMX_LAYER_LATE:
        return ErrorCode::Timeout;
    case GSHMEMX_LAYER_LOST:
    case GSHMEMX_LAYER_BROKEN:
        return ErrorCode::RemoteError;
    default:
        return ErrorCode::InternalError;
    }
}

/* Throws unless it is GSHMEMX_LAYER_DONE. doing: what failed, for the text. */
inline void check(int outcome, const std::string &doing)
{
    if (outcome != GSHMEMX_LAYER_DONE) {
        throw Error(doing + ": " + gshmemx_layer_why(), code_of(outcome));
    }
}

[[noreturn]] inline void refuse(const std::string &why)
{
    throw Error(why, ErrorCode::InvalidUsage);
}

} // namespace mscclpp

#endif
