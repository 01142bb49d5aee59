/* SPDX-License-Identifier: Apache-2.0
 * <device_launch_parameters.h> for source built for the CPU device. */
#include "../cuda_names.h"
