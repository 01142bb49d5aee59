/* SPDX-License-Identifier: Apache-2.0
 * Finding the plug-ins that are installed beside libgshmem. */
#include "runtime/base/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *gsh_plugin_open(const char *name, int flags)
{
    static const char here = 0;
    Dl_info self;
    char path[4096];
    const char *slash;
    if (strchr(name, '/') == NULL && dladdr(&here, &self) && self.dli_fname != NULL &&
        (slash = strrchr(self.dli_fname, '/')) != NULL) {
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname),
                         self.dli_fname, name);
        if (n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0) {
            name = path;
        }
    }
    return dlopen(name, flags);
}
