// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/env.hpp>

#include <cerrno>
#include <stdlib.h>

#include <mscclpp/errors.hpp>

namespace mscclpp
{

namespace
{

std::string text_of(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : "";
}

[[noreturn]] void refuse(const char *name, const std::string &value, const char *wanted)
{
    throw Error(std::string(name) + "=" + value + " is not " + wanted, ErrorCode::InvalidUsage);
}

int number_of(const char *name, int otherwise)
{
    const std::string value = text_of(name);
    if (value.empty()) {
        return otherwise;
    }
    char *end = nullptr;
    errno = 0;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || errno != 0 || number < INT32_MIN || number > INT32_MAX) {
        refuse(name, value, "a whole number");
    }
    return static_cast<int>(number);
}

bool is_on(const char *name)
{
    const std::string value = text_of(name);
    if (value.empty() || value == "0" || value == "false" || value == "False") {
        return false;
    }
    if (value == "1" || value == "true" || value == "True") {
        return true;
    }
    refuse(name, value, "0 or 1");
}

} // namespace

Env::Env()
    : debug(text_of("MSCCLPP_DEBUG")), debugSubsys(text_of("MSCCLPP_DEBUG_SUBSYS")),
      debugFile(text_of("MSCCLPP_DEBUG_FILE")), logLevel(text_of("MSCCLPP_LOG_LEVEL")),
      logSubsys(text_of("MSCCLPP_LOG_SUBSYS")), logFile(text_of("MSCCLPP_LOG_FILE")),
      hcaDevices(text_of("MSCCLPP_HCA_DEVICES")), ibvSo(text_of("MSCCLPP_IBV_SO")),
      ibvMode(text_of("MSCCLPP_IBV_MODE")), ibGidIndex(number_of("MSCCLPP_IB_GID_INDEX", 0)),
      hostid(text_of("MSCCLPP_HOSTID")), socketFamily(text_of("MSCCLPP_SOCKET_FAMILY")),
      socketIfname(text_of("MSCCLPP_SOCKET_IFNAME")), commId(text_of("MSCCLPP_COMM_ID")),
      cacheDir(text_of("MSCCLPP_CACHE_DIR")), npkitDumpDir(text_of("MSCCLPP_NPKIT_DUMP_DIR")),
      cudaIpcUseDefaultStream(is_on("MSCCLPP_CUDAIPC_USE_DEFAULT_STREAM")),
      ncclSharedLibPath(text_of("MSCCLPP_NCCL_LIB_PATH")),
      forceNcclFallbackOperation(text_of("MSCCLPP_FORCE_NCCL_FALLBACK_OPERATION")),
      ncclSymmetricMemory(is_on("MSCCLPP_NCCL_SYMMETRIC_MEMORY")),
      forceDisableNvls(is_on("MSCCLPP_FORCE_DISABLE_NVLS")),
      forceDisableGdr(is_on("MSCCLPP_FORCE_DISABLE_GDR"))
{
}

std::shared_ptr<Env> env()
{
    static const std::shared_ptr<Env> once(new Env());
    return once;
}

} // namespace mscclpp
