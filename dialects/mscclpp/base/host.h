/* SPDX-License-Identifier: Apache-2.0
 * Which processes can share memory with this one. */
#ifndef GSH_MSCCLPP_HOST_H
#define GSH_MSCCLPP_HOST_H

#include <array>
#include <cstdint>

#include "runtime/layer.h"

namespace mscclpp
{

using ProcessKey = std::array<uint8_t, GSHMEMX_LAYER_RANGE_KEY>;

/* The same for processes that can share memory: by MSCCLPP_HOSTID, the machine and its network
 * namespace. */
uint64_t own_host();
ProcessKey own_process_key();
/* The same in one process, unlike in others. */
uint64_t own_process();
uint64_t random_number();
/* Once, before anything listens: what MSCCLPP_SOCKET_... say counts where GSHMEM_... do not. */
void offer_settings();

} // namespace mscclpp

#endif
