// SPDX-License-Identifier: Apache-2.0
// Sets of transports, and the names of transports and devices.
#include <mscclpp/core.hpp>

#include <ostream>

namespace mscclpp
{

std::string version()
{
    return std::to_string(MSCCLPP_MAJOR) + "." + std::to_string(MSCCLPP_MINOR) + "." +
           std::to_string(MSCCLPP_PATCH);
}

const TransportFlags NoTransports;
const TransportFlags AllIBTransports = Transport::IB0 | Transport::IB1 | Transport::IB2 |
                                       Transport::IB3 | Transport::IB4 | Transport::IB5 |
                                       Transport::IB6 | Transport::IB7;
const TransportFlags AllTransports = AllIBTransports | Transport::CudaIpc | Transport::Ethernet;

TransportFlags::TransportFlags(Transport transport)
    : detail::TransportFlagsBase(1ULL << static_cast<size_t>(transport))
{
}

TransportFlags::TransportFlags(detail::TransportFlagsBase flags) : detail::TransportFlagsBase(flags)
{
}

bool TransportFlags::has(Transport transport) const
{
    return detail::TransportFlagsBase::test(static_cast<size_t>(transport));
}

bool TransportFlags::none() const
{
    return detail::TransportFlagsBase::none();
}

bool TransportFlags::any() const
{
    return detail::TransportFlagsBase::any();
}

bool TransportFlags::all() const
{
    return detail::TransportFlagsBase::all();
}

size_t TransportFlags::count() const
{
    return detail::TransportFlagsBase::count();
}

TransportFlags &TransportFlags::operator|=(TransportFlags other)
{
    detail::TransportFlagsBase::operator|=(other);
    return *this;
}

TransportFlags TransportFlags::operator|(TransportFlags other) const
{
    return TransportFlags(*this) |= other;
}

TransportFlags TransportFlags::operator|(Transport transport) const
{
    return *this | TransportFlags(transport);
}

TransportFlags &TransportFlags::operator&=(TransportFlags other)
{
    detail::TransportFlagsBase::operator&=(other);
    return *this;
}

TransportFlags TransportFlags::operator&(TransportFlags other) const
{
    return TransportFlags(*this) &= other;
}

TransportFlags TransportFlags::operator&(Transport transport) const
{
    return *this & TransportFlags(transport);
}

TransportFlags &TransportFlags::operator^=(TransportFlags other)
{
    detail::TransportFlagsBase::operator^=(other);
    return *this;
}

TransportFlags TransportFlags::operator^(TransportFlags other) const
{
    return TransportFlags(*this) ^= other;
}

TransportFlags TransportFlags::operator^(Transport transport) const
{
    return *this ^ TransportFlags(transport);
}

TransportFlags TransportFlags::operator~() const
{
    return TransportFlags(~toBitset());
}

bool TransportFlags::operator==(TransportFlags other) const
{
    return toBitset() == other.toBitset();
}

bool TransportFlags::operator!=(TransportFlags other) const
{
    return !(*this == other);
}

detail::TransportFlagsBase TransportFlags::toBitset() const
{
    return *this;
}

std::ostream &operator<<(std::ostream &out, const Transport &transport)
{
    return out << std::to_string(transport);
}

std::ostream &operator<<(std::ostream &out, const DeviceType &deviceType)
{
    switch (deviceType) {
    case DeviceType::CPU:
        return out << "CPU";
    case DeviceType::GPU:
        return out << "GPU";
    default:
        return out << "UNK";
    }
}

std::ostream &operator<<(std::ostream &out, const Device &device)
{
    return out << std::to_string(device);
}

} // namespace mscclpp

namespace std
{

std::string to_string(const mscclpp::Transport &transport)
{
    const size_t i = static_cast<size_t>(transport);
    return i < static_cast<size_t>(mscclpp::Transport::NumTransports) ? mscclpp::TransportNames[i]
                                                                      : "UNK";
}

std::string to_string(const mscclpp::Device &device)
{
    const char *type = device.type == mscclpp::DeviceType::CPU   ? "CPU"
                       : device.type == mscclpp::DeviceType::GPU ? "GPU"
                                                                 : "UNK";
    return device.id < 0 ? std::string(type) : type + std::to_string(device.id);
}

size_t hash<mscclpp::TransportFlags>::operator()(const mscclpp::TransportFlags &flags) const
{
    return hash<mscclpp::detail::TransportFlagsBase>()(flags.toBitset());
}

} // namespace std
