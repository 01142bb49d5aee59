/* SPDX-License-Identifier: Apache-2.0
 * The variables MSCCLPP_..., read once. Those that this library does not act on are here because
 * programs read them; GSHMEM_... variables do the rest. */
#ifndef MSCCLPP_ENV_HPP_
#define MSCCLPP_ENV_HPP_

#include <memory>
#include <string>

namespace mscclpp
{

class Env
{
  public:
    const std::string debug;       /* MSCCLPP_DEBUG; not acted on: GSHMEM_DEBUG */
    const std::string debugSubsys; /* MSCCLPP_DEBUG_SUBSYS; not acted on */
    const std::string debugFile;   /* MSCCLPP_DEBUG_FILE; not acted on */
    const std::string logLevel;    /* MSCCLPP_LOG_LEVEL; not acted on */
    const std::string logSubsys;   /* MSCCLPP_LOG_SUBSYS; not acted on */
    const std::string logFile;     /* MSCCLPP_LOG_FILE; not acted on */
    const std::string hcaDevices;  /* MSCCLPP_HCA_DEVICES: names, with commas, of IB0, IB1, ... */
    const std::string ibvSo;       /* MSCCLPP_IBV_SO; not acted on */
    const std::string ibvMode;     /* MSCCLPP_IBV_MODE; not acted on */
    const int ibGidIndex;          /* MSCCLPP_IB_GID_INDEX; not acted on */
    /* MSCCLPP_HOSTID: processes with different values are on different hosts. */
    const std::string hostid;
    const std::string socketFamily;      /* MSCCLPP_SOCKET_FAMILY: AF_INET, AF_INET6 */
    const std::string socketIfname;      /* MSCCLPP_SOCKET_IFNAME: as GSHMEM_UID_IFNAME */
    const std::string commId;            /* MSCCLPP_COMM_ID: as initialize's text */
    const std::string cacheDir;          /* MSCCLPP_CACHE_DIR; not acted on */
    const std::string npkitDumpDir;      /* MSCCLPP_NPKIT_DUMP_DIR; not acted on */
    const bool cudaIpcUseDefaultStream;  /* MSCCLPP_CUDAIPC_USE_DEFAULT_STREAM; not acted on */
    const std::string ncclSharedLibPath; /* MSCCLPP_NCCL_LIB_PATH; not acted on */
    const std::string
        forceNcclFallbackOperation; /* MSCCLPP_FORCE_NCCL_FALLBACK_OPERATION; not acted on */
    const bool ncclSymmetricMemory; /* MSCCLPP_NCCL_SYMMETRIC_MEMORY; not acted on */
    const bool forceDisableNvls;    /* MSCCLPP_FORCE_DISABLE_NVLS; there is no multicast */
    const bool forceDisableGdr;     /* MSCCLPP_FORCE_DISABLE_GDR; not acted on */

  private:
    Env();

    friend std::shared_ptr<Env> env();
};

/* Any thread. InvalidUsage: a number or a switch is none. */
std::shared_ptr<Env> env();

} // namespace mscclpp

#endif
