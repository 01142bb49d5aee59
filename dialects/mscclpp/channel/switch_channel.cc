// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/switch_channel.hpp>

namespace mscclpp
{

namespace
{

[[noreturn]] void refuse(const char *call)
{
    throw Error(std::string(call) +
                    ": this library does not use multicast memory (isNvlsSupported() is false)",
                ErrorCode::InvalidUsage);
}

} // namespace

NvlsConnection::NvlsConnection(size_t, int)
{
    refuse("NvlsConnection");
}

NvlsConnection::NvlsConnection(const std::vector<char> &)
{
    refuse("NvlsConnection");
}

std::vector<char> NvlsConnection::serialize()
{
    refuse("NvlsConnection::serialize");
}

SwitchChannel NvlsConnection::bindAllocatedMemory(unsigned long long, size_t)
{
    refuse("NvlsConnection::bindAllocatedMemory");
}

size_t NvlsConnection::getMultiCastMinGranularity()
{
    refuse("NvlsConnection::getMultiCastMinGranularity");
}

void NvlsConnection::attachBarrier(int)
{
    refuse("NvlsConnection::attachBarrier");
}

std::shared_ptr<NvlsConnection> connectNvlsCollective(std::shared_ptr<Communicator>,
                                                      std::vector<int>, size_t)
{
    refuse("connectNvlsCollective");
}

} // namespace mscclpp
