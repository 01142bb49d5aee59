/* SPDX-License-Identifier: Apache-2.0
 * See sites.h. A table by the offset: an allocation replaces what was at its place, be it one that
 * has been freed or another one. */
#include "runtime/instance/sites.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "runtime/instance/waits.h"

#define SITES 4096u

static struct site {
    const struct gsh_instance *pe;
    uint64_t off;
    const void *caller;
    uint32_t line_site; /* gsh_waits_site_number's */
} sites[SITES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct site *entry_of(const struct gsh_instance *pe, uint64_t off)
{
    uint64_t mixed = (off / 64 + (uint64_t)(uintptr_t)pe) * UINT64_C(0x9e3779b97f4a7c15);
    return &sites[(mixed >> 40) % SITES];
}

void gsh_sites_note(const struct gsh_instance *pe, uint64_t off, const void *caller)
{
    const uint32_t number = gsh_waits_site_number();
    pthread_mutex_lock(&lock);
    *entry_of(pe, off) = (struct site){pe, off, caller, number};
    pthread_mutex_unlock(&lock);
}

void gsh_sites_word(const struct gsh_instance *pe, uint64_t off, char *text, size_t bytes)
{
    Dl_info file;
    pthread_mutex_lock(&lock);
    struct site site = *entry_of(pe, off);
    pthread_mutex_unlock(&lock);
    text[0] = '\0';
    uint32_t line;
    const char *const source = gsh_waits_site_file(site.line_site, &line);
    if (site.pe == pe && site.off == off && source != NULL) {
        snprintf(text, bytes, "%.36s:%" PRIu32, source, line);
        return;
    }
    if (site.pe != pe || site.off != off || dladdr(site.caller, &file) == 0 ||
        file.dli_fname == NULL) {
        return;
    }
    /* a call's return is behind it, perhaps in the next line */
    uint64_t at = (uint64_t)((uintptr_t)site.caller - (uintptr_t)file.dli_fbase) - 1;
    const char *name = strrchr(file.dli_fname, '/');
    snprintf(text, bytes, "%.30s+0x%" PRIx64, name != NULL ? name + 1 : file.dli_fname, at);
}
