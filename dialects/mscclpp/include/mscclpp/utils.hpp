/* SPDX-License-Identifier: Apache-2.0
 * About this host and its network devices. */
#ifndef MSCCLPP_UTILS_HPP_
#define MSCCLPP_UTILS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include <mscclpp/core.hpp>

namespace mscclpp
{

/* The name up to the first delim, of at most maxlen - 1 characters. */
std::string getHostName(int maxlen, const char delim);

/* A clock that may have an alarm, as in 0.5. The process has one alarm: a later Timer's replaces
 * it.
 */
struct Timer {
    std::chrono::steady_clock::time_point start_;
    int timeout_;

    /* timeout: as for set. */
    Timer(int timeout = -1);
    ~Timer();

    /* Microseconds since the construction, or the last reset. */
    int64_t elapsed() const;
    /* After so many seconds, unless the Timer has gone, SIGALRM ends the process with a line.
     * 0 or less: never. */
    void set(int timeout);
    void reset();
    /* A line with the name and what has elapsed, on stdout. */
    void print(const std::string &name);
};

/* Prints when it goes. */
struct ScopedTimer : public Timer {
    const std::string name_;

    ScopedTimer(const std::string &name);
    ~ScopedTimer();
};

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
