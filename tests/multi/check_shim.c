/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into gshmem-info --check: stands for a route that loses bytes, and for a slow one.
 * SHIM_WRONG=FROM-TO: of large puts the byte at 4711 is wrong; SHIM_GET=FROM-TO: the same of gets.
 * SHIM_SLOW=FROM-TO: large puts take 200 ms more. */
#include <dlfcn.h>
#include <gshmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGE = 4096, OFFSET = 4711 };

static bool is_pair(const char *variable, int pe)
{
    int from, to;
    const char *text = getenv(variable);
    return text != NULL && sscanf(text, "%d-%d", &from, &to) == 2 && from == gshmem_my_pe() &&
           to == pe;
}

void gshmem_putmem(void *dest, const void *source, size_t bytes, int pe)
{
    void (*put)(void *, const void *, size_t, int);
    void *found = dlsym(RTLD_NEXT, "gshmem_putmem");
    memcpy(&put, &found, sizeof(put));
    put(dest, source, bytes, pe);
    if (bytes > LARGE && is_pair("SHIM_WRONG", pe)) {
        unsigned char wrong = ((const unsigned char *)source)[OFFSET] ^ 0x10;
        put((char *)dest + OFFSET, &wrong, 1, pe);
    }
    if (bytes > LARGE && is_pair("SHIM_SLOW", pe)) {
        nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
    }
}

void gshmem_getmem(void *dest, const void *source, size_t bytes, int pe)
{
    void (*get)(void *, const void *, size_t, int);
    void *found = dlsym(RTLD_NEXT, "gshmem_getmem");
    memcpy(&get, &found, sizeof(get));
    get(dest, source, bytes, pe);
    if (bytes > LARGE && is_pair("SHIM_GET", pe)) {
        ((unsigned char *)dest)[OFFSET] ^= 0x10;
    }
}
