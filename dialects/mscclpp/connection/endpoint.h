/* SPDX-License-Identifier: Apache-2.0
 * An end of a connection: how its process is reached. */
#ifndef GSH_MSCCLPP_ENDPOINT_H
#define GSH_MSCCLPP_ENDPOINT_H

#include <array>
#include <cstdint>
#include <memory>

#include <mscclpp/core.hpp>

#include "dialects/mscclpp/base/host.h"
#include "dialects/mscclpp/connection/receiver.h"

namespace mscclpp
{

/* Whether it is carried by messages between the two processes. */
inline bool is_far(Transport transport)
{
    return transport >= Transport::IB0 && transport <= Transport::Ethernet;
}

/* Whether UCX is to carry these messages. */
inline bool is_ib(Transport transport)
{
    return is_far(transport) && transport != Transport::Ethernet;
}

struct Endpoint::Impl {
    EndpointConfig config;
    uint64_t host = 0, process = 0;
    ProcessKey process_key = {};
    std::array<uint8_t, GSHMEMX_LAYER_ENTRY_KEY> entry_key = {}; /* far */
    gshmemx_layer_pe_name pe = {}; /* of its process, for hang reports */
    bool is_own = false;
    std::unique_ptr<Receiver> receiver; /* own and far */
};

} // namespace mscclpp

#endif
