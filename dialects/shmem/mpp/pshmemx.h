/* SPDX-License-Identifier: Apache-2.0
 * Older programs look for the header here. */
#include "../pshmemx.h"
