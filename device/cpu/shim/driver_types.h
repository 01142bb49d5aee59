/* SPDX-License-Identifier: Apache-2.0
 * <driver_types.h> for source built for the CPU device. */
#include "../cuda_names.h"
