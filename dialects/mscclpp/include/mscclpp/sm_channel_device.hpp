/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of memory_channel_device.hpp. */
#ifndef MSCCLPP_SM_CHANNEL_DEVICE_HPP_
#define MSCCLPP_SM_CHANNEL_DEVICE_HPP_
#include "memory_channel_device.hpp"
#endif
