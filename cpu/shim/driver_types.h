/* SPDX-License-Identifier: Apache-2.0
 * <driver_types.h> for source built for the CPU device. */
#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cuda_names.h"
