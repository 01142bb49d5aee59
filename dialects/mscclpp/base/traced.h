/* SPDX-License-Identifier: Apache-2.0
 * A call of the host in the timeline, under its own name. */
#ifndef GSH_MSCCLPP_TRACED_H
#define GSH_MSCCLPP_TRACED_H

#include "runtime/layer.h"

namespace mscclpp
{

class traced
{
  public:
    explicit traced(const gshmemx_layer_traced_call &call)
    {
        gshmemx_layer_trace_begin(&slice, &call);
    }
    ~traced() { gshmemx_layer_trace_end(&slice); }
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    static gshmemx_layer_traced_call call(const char *name)
    {
        gshmemx_layer_traced_call c = {};
        c.call = name;
        c.kind = GSHMEMX_LAYER_TRACED_CALL;
        return c;
    }
    static gshmemx_layer_traced_call write(const char *name, uint64_t memory, uint64_t offset,
                                           size_t bytes)
    {
        gshmemx_layer_traced_call c = call(name);
        c.kind = GSHMEMX_LAYER_TRACED_WRITE;
        c.memory = memory;
        c.offset = offset;
        c.bytes = bytes;
        return c;
    }
    static gshmemx_layer_traced_call update(const char *name, uint64_t memory, uint64_t offset,
                                            uint64_t value)
    {
        gshmemx_layer_traced_call c = call(name);
        c.kind = GSHMEMX_LAYER_TRACED_UPDATE;
        c.memory = memory;
        c.offset = offset;
        c.value = value;
        return c;
    }

  private:
    gshmemx_layer_traced slice = {};
};

} // namespace mscclpp

#endif
