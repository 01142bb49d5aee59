/* SPDX-License-Identifier: Apache-2.0
 * What objects are serialized to: a mark of the kind and version, then plain values, in the byte
 * order of the machines that gshmem runs on. Bytes that are read may come from anywhere. */
#ifndef GSH_MSCCLPP_BYTES_H
#define GSH_MSCCLPP_BYTES_H

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "dialects/mscclpp/base/check.h"

namespace mscclpp
{

constexpr uint32_t mark_of_endpoint = 0x4d534501, mark_of_memory = 0x4d534d01,
                   mark_of_semaphore = 0x4d535301;

class Writer
{
  public:
    explicit Writer(uint32_t mark) { add(mark); }

    template <class Type> void add(const Type &value)
    {
        static_assert(std::is_trivially_copyable_v<Type>, "plain values only");
        append(&value, sizeof(value));
    }
    void add_bytes(const std::vector<char> &more) { append(more.data(), more.size()); }
    std::vector<char> take() { return std::move(bytes_); }

  private:
    /* Out of line: where GCC 12 sees several in a row, it warns of writes that cannot happen. */
    void append(const void *from, size_t bytes);

    std::vector<char> bytes_;
};

/* Each read throws InvalidUsage if the bytes end before it. */
class Reader
{
  public:
    Reader(const std::vector<char> &bytes, uint32_t mark, const char *what)
        : bytes_(bytes), what_(what)
    {
        if (read<uint32_t>() != mark) {
            fail("are those of something else");
        }
    }

    template <class Type> Type read()
    {
        Type value;
        static_assert(std::is_trivially_copyable_v<Type>, "plain values only");
        if (bytes_.size() - at_ < sizeof(value)) {
            fail("end too early");
        }
        std::memcpy(&value, bytes_.data() + at_, sizeof(value));
        at_ += sizeof(value);
        return value;
    }
    std::vector<char> rest()
    {
        return std::vector<char>(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.end());
    }
    /* A value of an enumeration, or of 0 and 1. */
    uint32_t read_below(uint32_t end)
    {
        const uint32_t value = read<uint32_t>();
        if (value >= end) {
            fail("have a value that none has");
        }
        return value;
    }
    void expect_end()
    {
        if (at_ != bytes_.size()) {
            fail("go on after their end");
        }
    }
    [[noreturn]] void fail(const char *how) const
    {
        refuse(std::string("the ") + std::to_string(bytes_.size()) + " bytes of " + what_ + " " +
               how);
    }

  private:
    const std::vector<char> &bytes_;
    const char *what_;
    size_t at_ = 0;
};

} // namespace mscclpp

#endif
