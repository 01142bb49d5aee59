/* SPDX-License-Identifier: Apache-2.0
 * An earlier name of concurrency_device.hpp. */
#ifndef MSCCLPP_CONCURRENCY_HPP_
#define MSCCLPP_CONCURRENCY_HPP_
#include "concurrency_device.hpp"
#endif
