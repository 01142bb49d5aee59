/* SPDX-License-Identifier: Apache-2.0
 * About this host and its network devices. */
#ifndef MSCCLPP_UTILS_HPP_
#define MSCCLPP_UTILS_HPP_

#include <string>

#include <mscclpp/core.hpp>

namespace mscclpp
{

/* The name up to the first delim, of at most maxlen - 1 characters. */
std::string getHostName(int maxlen, const char delim);

/* InfiniBand and RoCE devices of this host, as Linux lists them, or as MSCCLPP_HCA_DEVICES does. */
int getIBDeviceCount();
/* InvalidUsage: not one of IB0..IB7, or no such device. */
std::string getIBDeviceName(Transport ibTransport);
Transport getIBTransportByDeviceName(const std::string &ibDeviceName);

/* Whether GPU memory could be shared by handles that cross hosts. Here only inside gshmem's heap:
 * false. */
bool isFabricMemHandleAvailable();

} // namespace mscclpp

#endif
