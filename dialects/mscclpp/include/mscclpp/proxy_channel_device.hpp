/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of port_channel_device.hpp. */
#ifndef MSCCLPP_PROXY_CHANNEL_DEVICE_HPP_
#define MSCCLPP_PROXY_CHANNEL_DEVICE_HPP_
#include "port_channel_device.hpp"
#endif
