// SPDX-License-Identifier: Apache-2.0
// See bytes.h.
#include "dialects/mscclpp/base/bytes.h"

namespace mscclpp
{

void Writer::append(const void *from, size_t bytes)
{
    const char *first = static_cast<const char *>(from);
    bytes_.insert(bytes_.end(), first, first + bytes);
}

} // namespace mscclpp
