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
    uint64_t h = 0xcbf29ce484222325u;
    char boot_id[64] = {0};
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f != NULL) {
        size_t n = fread(boot_id, 1, sizeof(boot_id), f);
        h = hash_bytes(h, boot_id, n);
        fclose(f);
    }
    struct stat st;
    if (stat("/proc/self/ns/net", &st) == 0) {
        h = hash_bytes(h, &st.st_ino, sizeof(st.st_ino));
    }
    return h;
}
