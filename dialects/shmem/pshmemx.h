/* SPDX-License-Identifier: Apache-2.0
 * Profilers look for the names pshmemx_ here; shmemx.h has them all. */
#include "shmemx.h"
