/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of poll_device.hpp. */
#ifndef MSCCLPP_POLL_HPP_
#define MSCCLPP_POLL_HPP_
#include "poll_device.hpp"
#endif
