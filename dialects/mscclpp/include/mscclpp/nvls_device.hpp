/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of switch_channel_device.hpp. */
#ifndef MSCCLPP_NVLS_DEVICE_HPP_
#define MSCCLPP_NVLS_DEVICE_HPP_
#include "switch_channel_device.hpp"
#endif
