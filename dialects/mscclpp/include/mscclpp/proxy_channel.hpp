/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of port_channel.hpp. */
#ifndef MSCCLPP_PROXY_CHANNEL_HPP_
#define MSCCLPP_PROXY_CHANNEL_HPP_
#include "port_channel.hpp"
#endif
