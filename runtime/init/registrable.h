/* SPDX-License-Identifier: Apache-2.0
 * Memory of the calling process, of the kind that init would choose, for programs that allocate it
 * before there is a PE. */
#ifndef GSH_SETUP_REGISTRABLE_H
#define GSH_SETUP_REGISTRABLE_H

#include <stdint.h>
#include "base/result.h"

/* Any thread, with or without a PE. On GPUs it lies on the calling thread's current device. It is
 * mapped for this device and for all that can access it. Failures are kept by gsh_note;
 * heap/registrable.h frees it.
 * */
GSH_CHECK_RESULT enum gsh_result gsh_setup_registrable(uint64_t bytes, void **out);

#endif
