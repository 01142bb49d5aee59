/* SPDX-License-Identifier: Apache-2.0
 * A wait of the host in hang reports, under the call's own name. */
#ifndef GSH_MSCCLPP_WAITING_H
#define GSH_MSCCLPP_WAITING_H

#include "runtime/layer.h"

namespace mscclpp
{

/* From its construction to its end. pe: for what that PE does; -1: it is not known, or not one's.
 */
class waiting
{
  public:
    explicit waiting(const char *call, int pe = -1) { gshmemx_layer_stand(&wait_, call, pe); }
    ~waiting() { gshmemx_layer_stand_end(&wait_); }
    waiting(const waiting &) = delete;
    waiting &operator=(const waiting &) = delete;

  private:
    gshmemx_layer_standing wait_ = {};
};

} // namespace mscclpp

#endif
