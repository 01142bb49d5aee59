/* SPDX-License-Identifier: Apache-2.0
 * By the device's own means, else by a line on stderr. */
#include "cpu/fatal.h"

#include <stdio.h>
#include <unistd.h>

void gsh_device_fatal(const struct gsh_cpu_config *config, const char *message)
{
    if (config->fatal) {
        config->fatal(config->context, message);
    }
    char line[1100];
    int n = snprintf(line, sizeof(line), "gshmem: %s\n", message);
    size_t bytes = n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1;
    if (write(STDERR_FILENO, line, bytes) < 0) {
        _exit(2);
    }
    _exit(1);
}
