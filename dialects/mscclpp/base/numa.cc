// SPDX-License-Identifier: Apache-2.0
// By what Linux tells in /sys, so that no other library is needed.
#include <mscclpp/numa.hpp>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <string>

#include <mscclpp/errors.hpp>

#include "runtime/layer.h"

namespace mscclpp
{

int getDeviceNumaNode(int deviceId)
{
    if (deviceId < 0) {
        throw Error("getDeviceNumaNode: there is no device " + std::to_string(deviceId),
                    ErrorCode::InvalidUsage);
    }
    return gshmemx_layer_device_node(deviceId);
}

void numaBind(int node)
{
    std::ifstream list("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string text;
    if (node < 0 || !std::getline(list, text)) {
        throw Error("numaBind: there is no node " + std::to_string(node), ErrorCode::InvalidUsage);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *at = text.c_str(); *at != '\0';) {
        char *end = nullptr;
        const long first = std::strtol(at, &end, 10);
        const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) {
            CPU_SET(static_cast<size_t>(cpu), &set);
        }
        at = *end == ',' ? end + 1 : "";
    }
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        throw SysError("numaBind: node " + std::to_string(node), errno);
    }
}

} // namespace mscclpp
