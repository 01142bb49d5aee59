/* SPDX-License-Identifier: Apache-2.0
 * The memory that CUDA's calls have given to the program, so that only that is taken back: a set of
 * addresses, in a table that is at most half full and looked through from the entry that the
 * address gives. */
#include <pthread.h>
#include <stdlib.h>
#include "cpu/cpu.h"

struct given {
    uintptr_t code; /* 0: free. Not the address itself, or leak detectors would take it for a use */
    int kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct given *table;
static size_t n_entries, n_given; /* n_entries: a power of two, or 0 */

static uintptr_t code_of(const void *p)
{
    return ~(uintptr_t)p;
}

/* The entry that is the same, or the free one where it belongs. */
static size_t find(const struct given *in, size_t n, struct given what)
{
    size_t i = (size_t)(what.code / 16 * 0x9e3779b97f4a7c15u >> 20) & (n - 1);
    while (in[i].code != 0 && (in[i].code != what.code || in[i].kind != what.kind)) {
        i = (i + 1) & (n - 1);
    }
    return i;
}

static bool grow(void)
{
    size_t n = n_entries > 0 ? 2 * n_entries : 64;
    struct given *larger = calloc(n, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_entries; i++) {
        if (table[i].code != 0) {
            larger[find(larger, n, table[i])] = table[i];
        }
    }
    free(table);
    table = larger;
    n_entries = n;
    return true;
}

int gshmemx_cpu_memory_given(const void *p, int kind)
{
    pthread_mutex_lock(&lock);
    bool has_room = 2 * (n_given + 1) <= n_entries || grow();
    if (has_room) {
        const struct given given = {code_of(p), kind};
        table[find(table, n_entries, given)] = given;
        n_given++;
    }
    pthread_mutex_unlock(&lock);
    return has_room ? GSH_CPU_OK : GSH_CPU_ERR_NOMEM;
}

/* Frees the entry, and moves those after it that a search would now miss. */
static void remove_entry(size_t hole)
{
    table[hole].code = 0;
    for (size_t i = (hole + 1) & (n_entries - 1); table[i].code != 0;
         i = (i + 1) & (n_entries - 1)) {
        struct given moved = table[i];
        table[i].code = 0;
        table[find(table, n_entries, moved)] = moved;
    }
    n_given--;
}

int gshmemx_cpu_memory_taken(const void *p, int kind)
{
    int r = GSH_CPU_ERR_ARG;
    pthread_mutex_lock(&lock);
    if (n_entries > 0 && p != NULL) {
        size_t entry = find(table, n_entries, (struct given){code_of(p), kind});
        if (table[entry].code != 0) {
            remove_entry(entry);
            r = GSH_CPU_OK;
        }
    }
    pthread_mutex_unlock(&lock);
    return r;
}
