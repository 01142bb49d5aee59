/* SPDX-License-Identifier: Apache-2.0
 * The end of the process for what cannot be reported to a caller. */
#ifndef GSH_FATAL_H
#define GSH_FATAL_H

#include "cpu.h"

/* Ends the process with the message, in the way that the device is configured for. */
void gsh_device_fatal(const struct gsh_cpu_config *config, const char *message)
    __attribute__((noreturn));

#endif
