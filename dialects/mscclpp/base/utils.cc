// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/utils.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <unistd.h>
#include <vector>

#include <mscclpp/env.hpp>

namespace mscclpp
{

std::string getHostName(int maxlen, const char delim)
{
    if (maxlen < 1) {
        throw Error("getHostName: maxlen is " + std::to_string(maxlen), ErrorCode::InvalidUsage);
    }
    char name[256] = "";
    if (gethostname(name, sizeof(name) - 1) != 0) {
        throw SysError("gethostname", errno);
    }
    std::string host(name);
    host = host.substr(0, host.find(delim));
    return host.substr(0, static_cast<size_t>(maxlen) - 1);
}

namespace
{

std::vector<std::string> network_devices()
{
    std::vector<std::string> names;
    const std::string &listed = env()->hcaDevices;
    if (!listed.empty()) {
        for (size_t at = 0; at <= listed.size();) {
            const size_t end = std::min(listed.find(',', at), listed.size());
            names.push_back(listed.substr(at, end - at));
            at = end + 1;
        }
        return names;
    }
    if (DIR *devices = opendir("/sys/class/infiniband")) {
        while (const dirent *entry = readdir(devices)) {
            if (entry->d_name[0] != '.') {
                names.emplace_back(entry->d_name);
            }
        }
        closedir(devices);
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

int getIBDeviceCount()
{
    return static_cast<int>(network_devices().size());
}

std::string getIBDeviceName(Transport ibTransport)
{
    const std::vector<std::string> names = network_devices();
    const int i = static_cast<int>(ibTransport) - static_cast<int>(Transport::IB0);
    if (i < 0 || ibTransport > Transport::IB7) {
        throw Error("getIBDeviceName: " + std::to_string(ibTransport) + " is none of IB0 to IB7",
                    ErrorCode::InvalidUsage);
    }
    if (static_cast<size_t>(i) >= names.size()) {
        throw Error("getIBDeviceName: this host has " + std::to_string(names.size()) +
                        " such devices, so there is no " + std::to_string(ibTransport),
                    ErrorCode::InvalidUsage);
    }
    return names[static_cast<size_t>(i)];
}

Transport getIBTransportByDeviceName(const std::string &ibDeviceName)
{
    const std::vector<std::string> names = network_devices();
    const size_t i =
        static_cast<size_t>(std::find(names.begin(), names.end(), ibDeviceName) - names.begin());
    if (i >= names.size() || i >= 8) {
        throw Error("getIBTransportByDeviceName: this host has no device " + ibDeviceName +
                        " among the first 8",
                    ErrorCode::InvalidUsage);
    }
    return static_cast<Transport>(static_cast<size_t>(Transport::IB0) + i);
}

// ---- timers ----

namespace
{

void on_alarm(int)
{
    static const char line[] = "gshmem: mscclpp: the time of a Timer is over\n";
    const ssize_t unused = ::write(STDERR_FILENO, line, sizeof(line) - 1);
    (void)unused; // nobody could be told
    std::abort();
}

} // namespace

Timer::Timer(int timeout) : timeout_(-1)
{
    set(timeout);
    reset();
}

Timer::~Timer()
{
    if (timeout_ > 0) {
        alarm(0);
        std::signal(SIGALRM, SIG_DFL);
    }
}

int64_t Timer::elapsed() const
{
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                 start_)
        .count();
}

void Timer::set(int timeout)
{
    timeout_ = timeout;
    if (timeout > 0) {
        std::signal(SIGALRM, on_alarm);
        alarm(static_cast<unsigned>(timeout));
    }
}

void Timer::reset()
{
    start_ = std::chrono::steady_clock::now();
}

void Timer::print(const std::string &name)
{
    std::printf("%s: %lld us\n", name.c_str(), static_cast<long long>(elapsed()));
}

ScopedTimer::ScopedTimer(const std::string &name) : Timer(-1), name_(name) {}

ScopedTimer::~ScopedTimer()
{
    print(name_);
}

bool isFabricMemHandleAvailable()
{
    return false;
}

} // namespace mscclpp
