/* SPDX-License-Identifier: Apache-2.0
 * Where this process runs and its memory lies. */
#ifndef MSCCLPP_NUMA_HPP_
#define MSCCLPP_NUMA_HPP_

namespace mscclpp
{

/* The node of a GPU; -1: unknown, as on a machine without one. InvalidUsage: deviceId < 0. */
int getDeviceNumaNode(int deviceId);
/* The calling thread runs on the node's CPUs only. InvalidUsage: there is no such node. */
void numaBind(int node);

} // namespace mscclpp

#endif
