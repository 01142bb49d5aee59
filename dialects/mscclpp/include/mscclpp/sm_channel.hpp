/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of memory_channel.hpp. */
#ifndef MSCCLPP_SM_CHANNEL_HPP_
#define MSCCLPP_SM_CHANNEL_HPP_
#include "memory_channel.hpp"
#endif
