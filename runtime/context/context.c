/* SPDX-License-Identifier: Apache-2.0
 * See context.h. Free entries form a list, so memory grows only with the most contexts that existed
 * at one time. */
#include "runtime/context/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/lock.h"
#include "runtime/far/far.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"

#define TABLE_BYTES (GSH_CTX_ENTRIES * sizeof(struct gsh_ctx_record))

struct gsh_contexts {
    struct gsh_lock lock;
    struct gsh_ctx_record *records; /* [GSH_CTX_ENTRIES]; host memory, mapped for the device */
    uint32_t n_entries;             /* entries from here on have never been used */
    uint32_t free;                  /* the first free entry before that; 0: none */
    uint32_t next[GSH_CTX_ENTRIES]; /* for a free entry: the next one */
    uint32_t generation[GSH_CTX_ENTRIES]; /* how often the entry was handed out */
    uint32_t n_users[GSH_CONTEXTS];       /* by number: contexts that have it */
    bool is_known[GSH_CONTEXTS];          /* by number: some context has had it */
    uint32_t n_numbers;                   /* all numbers in use are below; at least 1 */
};

/* ---- the table ---- */

enum gsh_result gsh_contexts_create(struct gsh_instance *pe)
{
    if ((uint32_t)pe->env.contexts >= GSH_CONTEXTS) {
        return gsh_fail(GSH_ERR_ARG, "init: GSHMEM_CONTEXTS=%d is more than %u", pe->env.contexts,
                        GSH_CONTEXTS - 1);
    }
    struct gsh_contexts *contexts = calloc(1, sizeof(*contexts));
    void *p = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (contexts == NULL || p == MAP_FAILED) {
        free(contexts);
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for contexts");
    }
    contexts->records = p;
    contexts->n_entries = 1;
    contexts->n_numbers = 1 + (uint32_t)pe->env.contexts;
    pe->contexts = contexts;
    return GSH_OK;
}

void gsh_contexts_destroy(struct gsh_instance *pe)
{
    if (pe->contexts != NULL) {
        munmap(pe->contexts->records, TABLE_BYTES);
        free(pe->contexts);
        pe->contexts = NULL;
    }
}

void *gsh_contexts_table(const struct gsh_instance *pe, size_t *bytes)
{
    *bytes = TABLE_BYTES;
    return pe->contexts->records;
}

/* 0: there is none. */
static uint32_t take_entry(struct gsh_contexts *contexts)
{
    uint32_t entry = contexts->free;
    if (entry != 0) {
        contexts->free = contexts->next[entry];
        return entry;
    }
    return contexts->n_entries < GSH_CTX_ENTRIES ? contexts->n_entries++ : 0;
}

static void give_entry(struct gsh_contexts *contexts, uint32_t entry)
{
    contexts->next[entry] = contexts->free;
    contexts->free = entry;
}

/* An unused number if there is one; the default context's only when there is no other. */
static gsh_context take_number(struct gsh_contexts *contexts)
{
    gsh_context best = contexts->n_numbers > 1 ? 1 : 0;
    for (gsh_context i = best + 1; i < contexts->n_numbers && contexts->n_users[best] > 0; i++) {
        best = contexts->n_users[i] < contexts->n_users[best] ? i : best;
    }
    contexts->n_users[best]++;
    return best;
}

/* ---- making and ending ---- */

/* The caller holds the lock. 0: no room. */
static uint64_t make_locked(struct gsh_instance *pe, gshmem_team_t team, bool is_private)
{
    struct gsh_contexts *contexts = pe->contexts;
    uint32_t entry = take_entry(contexts);
    if (entry == 0) {
        return 0;
    }
    gsh_context number = take_number(contexts);
    if (number != 0 && gsh_far_open(pe, number) != GSH_OK) {
        contexts->n_users[number]--;
        give_entry(contexts, entry);
        return 0;
    }
    contexts->is_known[number] = true; /* for set-up, if it is still to come */
    struct gsh_ctx_record *record = &contexts->records[entry];
    uint64_t generation = contexts->generation[entry]++ % GSH_CTX_GENERATIONS;
    uint64_t handle = number | (uint64_t)(uint32_t)team << GSH_CTX_AT_TEAM |
                      (uint64_t)entry << GSH_CTX_AT_ENTRY | generation << GSH_CTX_AT_GENERATION;
    record->owner = is_private ? (uint64_t)pthread_self() : 0;
    __atomic_store_n(&record->handle, handle, __ATOMIC_RELEASE);
    return handle;
}

uint64_t gsh_context_make(struct gsh_instance *pe, gshmem_team_t team, bool is_private)
{
    gsh_lock_take(&pe->contexts->lock);
    uint64_t handle = make_locked(pe, team, is_private);
    gsh_lock_give(&pe->contexts->lock);
    return handle;
}

static uint64_t handle_at(const struct gsh_contexts *contexts, uint32_t entry)
{
    return __atomic_load_n(&contexts->records[entry].handle, __ATOMIC_ACQUIRE);
}

bool gsh_context_end(struct gsh_instance *pe, uint64_t handle)
{
    struct gsh_contexts *contexts = pe->contexts;
    uint32_t entry = GSH_CTX_ENTRY(handle);
    gsh_lock_take(&contexts->lock);
    bool is_there = entry != 0 && handle_at(contexts, entry) == handle;
    if (is_there) {
        __atomic_store_n(&contexts->records[entry].handle, 0, __ATOMIC_RELEASE);
        contexts->n_users[GSH_CTX_NUMBER(handle)]--;
        give_entry(contexts, entry);
    }
    gsh_lock_give(&contexts->lock);
    return is_there;
}

void gsh_contexts_end(struct gsh_instance *pe, gshmem_team_t team, const char *call)
{
    struct gsh_contexts *contexts = pe->contexts;
    gsh_lock_take(&contexts->lock);
    uint32_t n = contexts->n_entries;
    gsh_lock_give(&contexts->lock);
    for (uint32_t entry = 1; entry < n; entry++) {
        uint64_t handle = handle_at(contexts, entry);
        if (handle != 0 && GSH_CTX_TEAM(handle) == team) {
            gsh_context_quiet(pe, GSH_CTX_NUMBER(handle), call);
            (void)gsh_context_end(pe, handle);
        }
    }
}

enum gsh_result gsh_contexts_open(struct gsh_instance *pe)
{
    struct gsh_contexts *contexts = pe->contexts;
    enum gsh_result r = GSH_OK;
    gsh_lock_take(&contexts->lock);
    for (gsh_context i = 1; r == GSH_OK && i < contexts->n_numbers; i++) {
        r = contexts->is_known[i] ? gsh_far_open(pe, i) : GSH_OK;
    }
    gsh_lock_give(&contexts->lock);
    return r;
}

/* ---- what calls ask ---- */

void gsh_context_quiet(struct gsh_instance *pe, gsh_context number, const char *call)
{
    if (pe->is_device_ready) {
        gsh_require(pe, call, pe->device_ops->quiet(pe, number));
        gsh_far_quiet(pe, number, call);
    }
}

void gsh_contexts_quiet(struct gsh_instance *pe, const char *call)
{
    gsh_require(pe, call, pe->device_ops->quiet_all(pe));
    gsh_far_quiet_all(pe, call);
}

bool gsh_context_exists(const struct gsh_instance *pe, uint64_t handle)
{
    uint32_t entry = GSH_CTX_ENTRY(handle);
    return entry != 0 && handle_at(pe->contexts, entry) == handle;
}

bool gsh_context_is_ours(const struct gsh_instance *pe, uint64_t handle)
{
    uint64_t owner = pe->contexts->records[GSH_CTX_ENTRY(handle)].owner;
    return owner == 0 || owner == (uint64_t)pthread_self();
}
