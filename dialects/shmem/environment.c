/* SPDX-License-Identifier: Apache-2.0
 * The standard's environment variables, SHMEM_..., and SMA_..., their former names. gshmem's own
 * variable, if set, takes precedence. */
#include "environment.h"

#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gshmemx.h>
#include "runtime/layer.h"
#include "shmem.h"

static const struct {
    const char *name, *meaning;
} rows[] = {
    {"VERSION", "set: PE 0 prints the version in init"},
    {"INFO", "set: PE 0 prints these variables in init"},
    {"DEBUG", "set: as GSHMEM_DEBUG=info"},
    {"SYMMETRIC_SIZE", "bytes of each PE's heap, such as 512M or 1.5G; it grows as it is needed, "
                       "so this matters only "
                       "beyond the memory of the node, as GSHMEM_HEAP_RANGE does"},
};

/* NULL: unset or empty. */
static const char *value_of(const char *name)
{
    static const char *const prefixes[] = {"SHMEM_", "SMA_"};
    for (size_t i = 0; i < 2; i++) {
        char whole[64];
        snprintf(whole, sizeof(whole), "%s%s", prefixes[i], name);
        const char *value = secure_getenv(whole);
        if (value != NULL && *value != '\0') {
            return value;
        }
    }
    return NULL;
}

/* A number, whole or fractional, optionally with a unit; -1: not a number. */
static double parse_size(const char *text)
{
    static const char units[] = "kmgt";
    char *end;
    double bytes = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;
    if (bytes < 0) {
        return -1;
    }
    const char *unit = *end != '\0' ? strchr(units, tolower((unsigned char)*end)) : NULL;
    for (const char *u = units; unit != NULL && u <= unit; u++) {
        bytes *= 1024;
    }
    return *(end + (unit != NULL)) == '\0' && bytes < 1e18 ? bytes : -1;
}

static int result; /* of take_over */

static void take_over(void)
{
    const char *size = value_of("SYMMETRIC_SIZE");
    if (value_of("DEBUG") != NULL) {
        gshmemx_layer_offer_setting("GSHMEM_DEBUG", "info");
    }
    if (size == NULL) {
        return;
    }
    double bytes = parse_size(size);
    if (bytes < 0) {
        fprintf(stderr,
                "gshmem: error: SHMEM_SYMMETRIC_SIZE=%s is not a number of bytes, or of k, M, G or "
                "T, such as 512M or 1.5G\n",
                size);
        result = GSHMEMX_ERROR_INVALID_VALUE;
        return;
    }
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    uint64_t range = (uint64_t)2 << 20;
    while ((double)range < bytes) {
        range *= 2;
    }
    if (bytes > memory) { /* twice: globals, and the library's own part */
        char text[32];
        snprintf(text, sizeof(text), "%llu", (unsigned long long)range * 2);
        gshmemx_layer_offer_setting("GSHMEM_HEAP_RANGE", text);
    }
}

int gsh_shmem_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_over);
    return result;
}

void gsh_shmem_announce(void)
{
    char name[SHMEM_MAX_NAME_LEN];
    if (gshmem_my_pe() != 0) {
        return;
    }
    if (value_of("VERSION") != NULL) {
        gshmem_info_get_name(name);
        printf("OpenSHMEM %d.%d: %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, name);
    }
    for (size_t i = 0; value_of("INFO") != NULL && i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = value_of(rows[i].name);
        printf("SHMEM_%s=%s\n    %s\n%s", rows[i].name, value != NULL ? value : "", rows[i].meaning,
               i + 1 < sizeof(rows) / sizeof(rows[0])
                   ? ""
                   : "gshmem-info lists the variables GSHMEM_...\n");
    }
    fflush(stdout);
}
