// SPDX-License-Identifier: Apache-2.0
#include "dialects/mscclpp/base/host.h"

#include <fstream>
#include <mutex>
#include <string>
#include <sys/random.h>
#include <unistd.h>

#include <mscclpp/env.hpp>

#include "dialects/mscclpp/base/check.h"

namespace mscclpp
{

namespace
{

uint64_t hash_of(const void *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3;
    }
    return hash;
}

uint64_t find_host()
{
    std::string about = env()->hostid;
    std::string boot;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    char name[256] = "";
    const ssize_t n = readlink("/proc/self/ns/net", name, sizeof(name) - 1);
    about += "/" + boot + "/" + std::string(name, n > 0 ? static_cast<size_t>(n) : 0);
    if (boot.empty() && gethostname(name, sizeof(name) - 1) == 0) {
        about += name;
    }
    return hash_of(about.data(), about.size());
}

} // namespace

uint64_t own_host()
{
    static const uint64_t host = find_host();
    return host;
}

ProcessKey own_process_key()
{
    ProcessKey key;
    check(gshmemx_layer_process_key(key.data()), "sharing with other processes");
    return key;
}

uint64_t own_process()
{
    const ProcessKey key = own_process_key();
    return hash_of(key.data(), key.size());
}

uint64_t random_number()
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
        throw SysError("getrandom", errno);
    }
    return number;
}

void offer_settings()
{
    static std::once_flag once;
    std::call_once(once, [] {
        const std::string &family = env()->socketFamily;
        if (!env()->socketIfname.empty()) {
            gshmemx_layer_offer_setting("GSHMEM_UID_IFNAME", env()->socketIfname.c_str());
        }
        if (family == "AF_INET" || family == "AF_INET6") {
            gshmemx_layer_offer_setting("GSHMEM_UID_FAMILY", family == "AF_INET" ? "ipv4" : "ipv6");
        }
    });
}

} // namespace mscclpp
