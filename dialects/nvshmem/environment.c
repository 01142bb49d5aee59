/* SPDX-License-Identifier: Apache-2.0
 * NVSHMEM's environment variables that correspond to one of gshmem's. gshmem's own variable, if
 * set, takes precedence; other NVSHMEM_... variables, and other values, are ignored. What the
 * environment lacks may stand in the file that NVSHMEM_CONF_FILE names: lines NAME=VALUE, of which
 * the first counts; blank lines, and those that begin with #, say nothing. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "internal.h"
#include "runtime/layer.h"

/* values: "theirs=ours theirs=ours ...", theirs in any case, for each part of a comma-separated
 * list; NULL: any value, unchanged. */
static const struct row {
    const char *theirs, *ours, *values;
} rows[] = {
    {"NVSHMEM_DEBUG", "GSHMEM_DEBUG",
     "none=none version=warn warn=warn info=info abort=warn trace=trace"},
    {"NVSHMEM_DEBUG_SUBSYS", "GSHMEM_DEBUG_SUBSYS",
     "init=init bootstrap=bootstrap mem=heap p2p=rma coll=sync proxy=proxy transport=proxy "
     "topo=device all=all"},
    {"NVSHMEM_DEBUG_FILE", "GSHMEM_DEBUG_FILE", NULL},
    {"NVSHMEM_MAX_MEMORY_PER_GPU", "GSHMEM_HEAP_RANGE", NULL},
    {"NVSHMEM_CUMEM_HANDLE_TYPE", "GSHMEM_HEAP_HANDLE", "file_descriptor=fd fabric=fabric"},
    {"NVSHMEM_BOOTSTRAP_PMI", "GSHMEM_BOOTSTRAP", "pmix=pmix"},
    {"NVSHMEM_BOOTSTRAP", "GSHMEM_BOOTSTRAP", "pmi=auto mpi=auto shmem=auto uid=auto"},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "GSHMEM_UID_IFNAME", NULL},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", "GSHMEM_UID_FAMILY", "af_inet=ipv4 af_inet6=ipv6"},
    {"NVSHMEM_REMOTE_TRANSPORT", "GSHMEM_TRANSPORT", "ucx=ucx"},
};

#define MOST_BYTES ((size_t)64 << 10) /* of the file */

/* Appends our word for the first `length` bytes of that value, if there is one. */
static void translate_one(const char *values, const char *theirs, size_t length, char *ours,
                          size_t size)
{
    for (const char *at = values; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ' ? 1 : 0;
        if (strncasecmp(at, theirs, length) == 0 && at[length] == '=') {
            size_t used = strlen(ours);
            snprintf(ours + used, size - used, "%s%.*s", used > 0 ? "," : "",
                     (int)strcspn(at + length + 1, " "), at + length + 1);
            return;
        }
    }
}

/* Our word for that value, or "" if there is none. */
static void translate(const char *values, const char *theirs, char *ours, size_t size)
{
    ours[0] = '\0';
    for (const char *at = theirs; *at != '\0';) {
        size_t length = strcspn(at, ",");
        translate_one(values, at, length, ours, size);
        at += length + (at[length] == ',' ? 1 : 0);
    }
}

/* The file's text; NULL if none is named, or it cannot be read, which a line says. */
static char *read_file(void)
{
    const char *path = secure_getenv("NVSHMEM_CONF_FILE");
    if (path == NULL || *path == '\0') {
        return NULL;
    }
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? calloc(1, MOST_BYTES + 1) : NULL;
    size_t bytes = text != NULL ? fread(text, 1, MOST_BYTES + 1, file) : 0;
    bool is_read = text != NULL && !ferror(file) && bytes <= MOST_BYTES;
    if (file != NULL) {
        fclose(file);
    }
    if (!is_read) {
        fprintf(stderr, "gshmem: warning: NVSHMEM_CONF_FILE: cannot read %s, or it is too long\n",
                path);
        free(text);
        return NULL;
    }
    return text;
}

/* What the file says of that variable, copied to value; false: nothing, or too much. */
static bool find_in(const char *text, const char *name, char *value, size_t size)
{
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *start = at + strspn(at, " \t"), *end = start + strcspn(start, "\r\n");
        size_t length = strlen(name);
        at = end + strspn(end, "\r\n");
        if (strncmp(start, name, length) != 0) {
            continue;
        }
        start += length + strspn(start + length, " \t");
        if (*start != '=') {
            continue;
        }
        start += 1 + strspn(start + 1, " \t");
        while (end > start && (end[-1] == ' ' || end[-1] == '\t')) {
            end--;
        }
        if (end <= start || (size_t)(end - start) >= size) {
            return false;
        }
        memcpy(value, start, (size_t)(end - start));
        value[end - start] = '\0';
        return true;
    }
    return false;
}

static void take_over(void)
{
    char *text = read_file(), in_file[1024];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = secure_getenv(rows[i].theirs);
        char ours[128];
        if (value == NULL && find_in(text, rows[i].theirs, in_file, sizeof(in_file))) {
            value = in_file;
        }
        if (value == NULL || *value == '\0') {
            continue;
        }
        if (rows[i].values != NULL) {
            translate(rows[i].values, value, ours, sizeof(ours));
            value = ours;
        }
        if (*value != '\0') {
            gshmemx_layer_offer_setting(rows[i].ours, value);
        }
    }
    free(text);
}

void gsh_nvshmem_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_over);
}
