/* SPDX-License-Identifier: Apache-2.0
 * What <device_launch_parameters.h> is for source built for the CPU device. */
#include "../cuda_names.h"
