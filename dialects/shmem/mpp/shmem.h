/* SPDX-License-Identifier: Apache-2.0
 * Where older programs look for it. */
#include "../shmem.h"
