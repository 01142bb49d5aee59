/* SPDX-License-Identifier: Apache-2.0
 * What <cuda_runtime_api.h> is for source built for the CPU device. */
#include "../cuda_names.h"
