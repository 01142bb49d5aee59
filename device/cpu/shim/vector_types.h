/* SPDX-License-Identifier: Apache-2.0
 * What <vector_types.h> is for source built for the CPU device. */
#include "../cuda_names.h"
