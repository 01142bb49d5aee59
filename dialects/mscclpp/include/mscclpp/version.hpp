/* SPDX-License-Identifier: Apache-2.0
 * The version of MSCCL++ whose names these headers have. */
#ifndef MSCCLPP_VERSION_HPP_
#define MSCCLPP_VERSION_HPP_

#include <string>

#define MSCCLPP_MAJOR   0
#define MSCCLPP_MINOR   10
#define MSCCLPP_PATCH   0
#define MSCCLPP_VERSION (MSCCLPP_MAJOR * 10000 + MSCCLPP_MINOR * 100 + MSCCLPP_PATCH)

namespace mscclpp
{

/* "0.10.0": that version. */
std::string version();

} // namespace mscclpp

#endif
