/* SPDX-License-Identifier: Apache-2.0
 * Finding the plug-ins that are installed beside libgshmem. */
#include "base/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *gsh_plugin_open(const char *name, int flags)
{
    static const char here = 0;
    Dl_info self;
    char path[4096];
    char exe[2048];
    if (strchr(name, '/') == NULL && dladdr(&here, &self) && self.dli_fname != NULL) {
        /* A program that contains this code and was found through PATH has no directory there. */
        const char *file = self.dli_fname, *slash = strrchr(file, '/');
        ssize_t bytes = slash == NULL ? readlink("/proc/self/exe", exe, sizeof(exe) - 1) : -1;
        if (bytes > 0) {
            exe[bytes] = '\0';
            file = exe;
            slash = strrchr(file, '/');
        }
        int n = slash == NULL
                    ? 0
                    : snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - file), file, name);
        if (n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0) {
            name = path;
        }
    }
    return dlopen(name, flags);
}
