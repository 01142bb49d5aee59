/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of packet_device.hpp. */
#ifndef MSCCLPP_PACKET_HPP_
#define MSCCLPP_PACKET_HPP_
#include "packet_device.hpp"
#endif
