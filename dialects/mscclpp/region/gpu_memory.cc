// SPDX-License-Identifier: Apache-2.0
// Memory for GpuBuffer and gpuCalloc.
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/region/registered.h"

namespace mscclpp
{

namespace
{

struct Given {
    std::mutex mutex;
    std::map<const char *, size_t> blocks; // by where each begins
};

// Never destroyed: objects of static duration may free later.
Given &given()
{
    static Given *once = new Given();
    return *once;
}

} // namespace

namespace detail
{

// Declared for programs by gpu_utils.hpp, which needs CUDA's names.
void *gpuAllocShareable(size_t bytes);
void gpuFreeShareable(void *ptr);

void *gpuAllocShareable(size_t bytes)
{
    void *ptr = nullptr;
    if (gshmemx_layer_alloc("gpuCalloc", bytes, &ptr) != 0) {
        throw Error("no " + std::to_string(bytes) +
                        " bytes of device memory: " + gshmemx_layer_why(),
                    ErrorCode::SystemError);
    }
    std::lock_guard<std::mutex> hold(given().mutex);
    given().blocks[static_cast<const char *>(ptr)] = bytes;
    return ptr;
}

void gpuFreeShareable(void *ptr)
{
    if (ptr == nullptr) {
        return;
    }
    size_t bytes = 0; // of what is nobody's, which is refused below
    {
        std::lock_guard<std::mutex> hold(given().mutex);
        const auto found = given().blocks.find(static_cast<const char *>(ptr));
        if (found != given().blocks.end()) {
            bytes = found->second;
            given().blocks.erase(found);
        }
    }
    note_freed(static_cast<const char *>(ptr), bytes);
    if (gshmemx_layer_free("gpuFree", ptr) != 0) {
        throw Error(std::string("gpuFree: ") + gshmemx_layer_why(), ErrorCode::InvalidUsage);
    }
}

} // namespace detail

bool isCuMemMapAllocated(void *ptr);

bool isCuMemMapAllocated(void *ptr)
{
    const char *at = static_cast<const char *>(ptr);
    std::lock_guard<std::mutex> hold(given().mutex);
    auto next = given().blocks.upper_bound(at);
    return next != given().blocks.begin() && (--next, at < next->first + next->second);
}

} // namespace mscclpp
