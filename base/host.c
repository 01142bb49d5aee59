/* SPDX-License-Identifier: Apache-2.0
 * See host.h. A file of its own: tests link another one, and so have several hosts. */
#include "base/host.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

static uint64_t hash_bytes(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ p[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

uint64_t gsh_host_id(void)
{
    char boot_id[64];
    size_t n = 0;
    struct stat st;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f != NULL) {
        n = fread(boot_id, 1, sizeof(boot_id), f);
        fclose(f);
    }
    if (n == 0 || stat("/proc/self/ns/net", &st) != 0) {
        return 0;
    }
    const uint64_t h = hash_bytes(0xcbf29ce484222325u, boot_id, n);
    return hash_bytes(h, &st.st_ino, sizeof(st.st_ino));
}
