/* SPDX-License-Identifier: Apache-2.0
 * <cuda_runtime.h> for source built for the CPU device. */
#include "../cuda_names.h"
