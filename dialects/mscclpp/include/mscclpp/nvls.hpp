/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of switch_channel.hpp. */
#ifndef MSCCLPP_NVLS_HPP_
#define MSCCLPP_NVLS_HPP_
#include "switch_channel.hpp"
#endif
