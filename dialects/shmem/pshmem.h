/* SPDX-License-Identifier: Apache-2.0
 * Profilers look for the names pshmem_ here; shmem.h has them all. */
#include "shmem.h"
