/* SPDX-License-Identifier: Apache-2.0
 * The bootstrap over the PMIx server of mpirun, prterun or srun. libpmix is opened at run time.
 *
 * The declarations below are the part of the ABI that PMIx 3, 4, 5 and 6 share: pmix_proc_t,
 * pmix_value_t (the union is as large as its member pmix_envar_t in all of them, the later members
 * are pointers and words), pmix_info_t, the numbers and strings, and ten functions. The inline
 * helpers and macros of pmix.h, which changed between versions, are not used.
 *
 * PMIx_Get returns a value from malloc (in all versions PMIX_VALUE_RELEASE ends in free of the C
 * library), with the bytes of a byte object in a block of their own: both are freed here with free.
 * Values given to PMIx_Put are copied by it.
 *
 * Every call uses its own key, because a published key may not get a new value. The key contains a
 * count for the whole process, so the next init uses new keys; it is the same on all PEs, since all
 * calls are collective. */
#define _GNU_SOURCE 1
#include "bootstrap/bootstrap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/process.h"
#include "base/util.h"

enum {
    PMIX_SUCCESS = 0,
    PMIX_ERR_TIMEOUT = -24,
    PMIX_ERR_UNREACH = -25,
    PMIX_ERR_PARTIAL_SUCCESS = -52, /* of a fence: a process left instead */
    PMIX_ERR_LOST_CONNECTION = -61,
    PMIX_ERR_LOST_CONNECTION_V3 = -101,
};
enum {
    PMIX_BOOL = 1,
    PMIX_INT = 6,
    PMIX_UINT32 = 14,
    PMIX_BYTE_OBJECT = 27
};                           /* pmix_data_type_t */
#define PMIX_GLOBAL        3 /* pmix_scope_t */
#define PMIX_RANK_WILDCARD (UINT32_MAX - 1)

struct pmix_proc {
    char nspace[256];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        bool flag;
        int integer;
        uint32_t uint32;
        struct {
            char *bytes;
            size_t size;
        } bo;
        struct {
            char *name, *value;
            char separator;
        } envar;
    } data;
};

struct pmix_info {
    char key[512];
    uint32_t flags; /* 0: optional to the server */
    struct pmix_value value;
};

_Static_assert(sizeof(struct pmix_proc) == 260, "pmix_proc_t");
_Static_assert(sizeof(struct pmix_value) == 8 + 3 * sizeof(void *), "pmix_value_t");
_Static_assert(offsetof(struct pmix_info, value) == 520, "pmix_info_t");

struct pmix_api {
    int (*Init)(struct pmix_proc *self, struct pmix_info info[], size_t n_info);
    int (*Initialized)(void);
    int (*Finalize)(const struct pmix_info info[], size_t n_info);
    int (*Abort)(int status, const char message[], struct pmix_proc procs[], size_t n_procs);
    int (*Put)(uint8_t scope, const char key[], struct pmix_value *value);
    int (*Commit)(void);
    int (*Fence)(const struct pmix_proc procs[], size_t n_procs, const struct pmix_info info[],
                 size_t n_info);
    int (*Get)(const struct pmix_proc *proc, const char key[], const struct pmix_info info[],
               size_t n_info, struct pmix_value **value);
    const char *(*Error_string)(int status);
    const char *(*Get_version)(void);
};

struct pmix_bootstrap {
    struct gsh_bootstrap base;
    const struct pmix_api *api;
    struct pmix_proc self;
};

/* There is one PMIx per process, whoever uses it. It is finalized when the process ends, not with
 * the bootstrap, since not every version can be initialised twice. */
static pthread_mutex_t process_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pmix_api process_api;
static struct pmix_proc process_self;
static bool is_initialized, has_bootstrap;
static bool has_others;         /* MPI, for example, had initialized it before */
static uint64_t initialized_by; /* a forked child is not a client of the server */
static uint64_t n_calls;        /* used by the one bootstrap there is */

/* ---- the library ---- */

static void *open_library(void)
{
    static const char *const names[] = {"libpmix.so.2", "libpmix.so"};
    void *library = NULL;
    for (size_t i = 0; i < GSH_ARRAY_LEN(names) && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

static enum gsh_result load_api(struct pmix_api *api)
{
    struct {
        const char *name;
        void *entry; /* of a function pointer */
    } symbols[] = {
        {"PMIx_Init", &api->Init},
        {"PMIx_Initialized", &api->Initialized},
        {"PMIx_Finalize", &api->Finalize},
        {"PMIx_Abort", &api->Abort},
        {"PMIx_Put", &api->Put},
        {"PMIx_Commit", &api->Commit},
        {"PMIx_Fence", &api->Fence},
        {"PMIx_Get", &api->Get},
        {"PMIx_Error_string", &api->Error_string},
        {"PMIx_Get_version", &api->Get_version},
    };
    void *library = open_library();
    if (library == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "started by a PMIx launcher, but %s", dlerror());
    }
    for (size_t i = 0; i < GSH_ARRAY_LEN(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL) {
            return gsh_note(GSH_ERR_UNSUPPORTED, "libpmix has no %s", symbols[i].name);
        }
        memcpy(symbols[i].entry, &symbol, sizeof(symbol));
    }
    return GSH_OK;
}

/* A process that ends in the middle of a job does not finalize, so the launcher notices. */
static void finalize_at_exit(void)
{
    pthread_mutex_lock(&process_mutex);
    if (is_initialized && !has_bootstrap && initialized_by == gsh_process_id()) {
        process_api.Finalize(NULL, 0);
    }
    is_initialized = false;
    pthread_mutex_unlock(&process_mutex);
}

/* With process_mutex held. */
static enum gsh_result initialize(void)
{
    if (is_initialized) {
        return GSH_OK;
    }
    enum gsh_result r = load_api(&process_api);
    if (r != GSH_OK) {
        return r;
    }
    has_others = process_api.Initialized() != 0;
    int status = process_api.Init(&process_self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "PMIx_Init: %s", process_api.Error_string(status));
    }
    is_initialized = true;
    initialized_by = gsh_process_id();
    atexit(finalize_at_exit);
    gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "start-up by PMIx: %s", process_api.Get_version());
    return GSH_OK;
}

/* ---- calls ---- */

static enum gsh_result pmix_result(const struct pmix_bootstrap *p, int status, const char *call)
{
    if (status == PMIX_SUCCESS) {
        return GSH_OK;
    }
    enum gsh_result r = GSH_ERR_SYSTEM;
    if (status == PMIX_ERR_TIMEOUT) {
        r = GSH_ERR_TIMEOUT;
    } else if (status == PMIX_ERR_PARTIAL_SUCCESS || status == PMIX_ERR_UNREACH ||
               status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_LOST_CONNECTION_V3) {
        r = GSH_ERR_PEER;
    }
    return gsh_fail(r, "%s: %s%s", call, p->api->Error_string(status),
                    r == GSH_ERR_PEER ? " (another PE died or left)" : "");
}

/* The server ends a call after this many seconds. Older servers without the option wait for ever,
 * or until the launcher ends a job in which a process has died. */
static size_t add_timeout(const struct pmix_bootstrap *p, struct pmix_info *info)
{
    if (p->base.timeout_ns == 0) {
        return 0;
    }
    memset(info, 0, sizeof(*info));
    strcpy(info->key, "pmix.timeout");
    info->value.type = PMIX_INT;
    info->value.data.integer =
        (int)gsh_min_u64((p->base.timeout_ns + 999999999u) / 1000000000u, INT32_MAX);
    return 1;
}

/* collects: the servers tell each other what has been published; else they fetch it when a rank
 * asks for it. */
static enum gsh_result fence(const struct pmix_bootstrap *p, bool collects)
{
    struct pmix_info info[2];
    size_t n_info = add_timeout(p, info);
    memset(&info[n_info], 0, sizeof(info[n_info]));
    strcpy(info[n_info].key, "pmix.collect");
    info[n_info].value.type = PMIX_BOOL;
    info[n_info].value.data.flag = collects;
    return pmix_result(p, p->api->Fence(NULL, 0, info, n_info + 1), "PMIx_Fence");
}

/* A value published by `rank`, of this type; the caller frees it. */
static enum gsh_result get(const struct pmix_bootstrap *p, uint32_t rank, const char *key,
                           uint16_t type, struct pmix_value **out)
{
    struct pmix_info info;
    struct pmix_proc proc = p->self;
    struct pmix_value *value = NULL;
    proc.rank = rank;
    size_t n_info = add_timeout(p, &info);
    enum gsh_result r = pmix_result(p, p->api->Get(&proc, key, &info, n_info, &value), "PMIx_Get");
    if (r != GSH_OK) {
        return r;
    }
    if (value == NULL || value->type != type) {
        int found = value != NULL ? value->type : -1;
        free(value); /* and leaks what an unexpected type may point to */
        return gsh_fail(GSH_ERR_SYSTEM, "PMIx_Get: %s has type %d, not %d", key, found, type);
    }
    *out = value;
    return GSH_OK;
}

static enum gsh_result get_blob(const struct pmix_bootstrap *p, int rank, const char *key,
                                size_t bytes, void *out)
{
    struct pmix_value *value;
    enum gsh_result r = get(p, (uint32_t)rank, key, PMIX_BYTE_OBJECT, &value);
    if (r != GSH_OK) {
        return r;
    }
    if (value->data.bo.size == bytes) {
        memcpy(out, value->data.bo.bytes, bytes);
    } else {
        r = gsh_fail(GSH_ERR_SYMMETRY, "allgather: PE %d gives %zu bytes, this PE %zu", rank,
                     value->data.bo.size, bytes);
    }
    free(value->data.bo.bytes);
    free(value);
    return r;
}

enum { KEY_BYTES = 64 };

static void name(char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "gshmem.%llu", (unsigned long long)n_calls++);
}

static enum gsh_result publish(const struct pmix_bootstrap *p, const char *key, const void *mine,
                               size_t bytes)
{
    struct pmix_value value = {.type = PMIX_BYTE_OBJECT};
    value.data.bo.bytes = (char *)mine;
    value.data.bo.size = bytes;
    enum gsh_result r = pmix_result(p, p->api->Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    if (r == GSH_OK) {
        r = pmix_result(p, p->api->Commit(), "PMIx_Commit");
    }
    return r;
}

static enum gsh_result pmix_barrier(struct gsh_bootstrap *b);

static enum gsh_result pmix_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                      void *all_out)
{
    struct pmix_bootstrap *p = (struct pmix_bootstrap *)b;
    char key[KEY_BYTES];
    if (bytes == 0) {
        return pmix_barrier(b);
    }
    name(key);
    enum gsh_result r = publish(p, key, mine, bytes);
    if (r == GSH_OK) {
        r = fence(p, true);
    }
    for (int rank = 0; rank < b->size && r == GSH_OK; rank++) {
        r = get_blob(p, rank, key, bytes, (char *)all_out + (size_t)rank * bytes);
    }
    return r;
}

/* Of rank 0 alone; each server fetches it when its ranks ask. But a server that already has
 * something of rank 0 takes that for all that there is, so then they collect it. */
static enum gsh_result pmix_spread(struct gsh_bootstrap *b, void *bytes, size_t n)
{
    struct pmix_bootstrap *p = (struct pmix_bootstrap *)b;
    const bool has_published = has_others || n_calls > 0;
    char key[KEY_BYTES];
    name(key);
    enum gsh_result r = b->rank == 0 ? publish(p, key, bytes, n) : GSH_OK;
    if (r == GSH_OK) {
        r = fence(p, has_published);
    }
    return r == GSH_OK && b->rank != 0 ? get_blob(p, 0, key, n, bytes) : r;
}

/* PMIx 5.0 counts processes that have left among those that have reached a fence, so each PE
 * publishes a value. */
static enum gsh_result pmix_barrier(struct gsh_bootstrap *b)
{
    char mine = 1, *all = malloc((size_t)b->size);
    enum gsh_result r = all != NULL ? pmix_allgather(b, &mine, 1, all)
                                    : gsh_fail(GSH_ERR_NOMEM, "no memory for %d PEs", b->size);
    free(all);
    return r;
}

static void pmix_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct pmix_bootstrap *p = (struct pmix_bootstrap *)b;
    p->api->Abort(status, message != NULL ? message : "", NULL, 0);
}

static void pmix_destroy(struct gsh_bootstrap *b)
{
    if (b == NULL) {
        return;
    }
    free(b);
    pthread_mutex_lock(&process_mutex);
    has_bootstrap = false;
    pthread_mutex_unlock(&process_mutex);
}

static const struct gsh_bootstrap_ops pmix_ops = {
    .name = "pmix",
    .allgather = pmix_allgather,
    .barrier = pmix_barrier,
    .spread = pmix_spread,
    .abort = pmix_abort,
    .destroy = pmix_destroy,
};

/* The ranks on this node, as the launcher says; 0: it does not. */
static int count_near(const struct pmix_bootstrap *p)
{
    const bool before = gsh_expect_failures(true);
    struct pmix_value *value = NULL;
    int n = 0;
    if (get(p, PMIX_RANK_WILDCARD, "pmix.local.size", PMIX_UINT32, &value) == GSH_OK) {
        n = (int)value->data.uint32;
    }
    free(value);
    gsh_expect_failures(before);
    return n;
}

/* With process_mutex held. */
static enum gsh_result create(uint64_t timeout_ns, struct pmix_bootstrap **out)
{
    if (has_bootstrap) {
        return gsh_fail(GSH_ERR_STATE, "a process is one PE of a PMIx launcher's job: a second "
                                       "thread cannot be another");
    }
    enum gsh_result r = initialize();
    if (r != GSH_OK) {
        return r;
    }
    struct pmix_bootstrap *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up by PMIx");
    }
    p->base = (struct gsh_bootstrap){
        .ops = &pmix_ops, .rank = (int)process_self.rank, .timeout_ns = timeout_ns};
    p->api = &process_api;
    p->self = process_self;
    struct pmix_value *size = NULL;
    r = get(p, PMIX_RANK_WILDCARD, "pmix.job.size", PMIX_UINT32, &size);
    if (r != GSH_OK) {
        free(p);
        return r;
    }
    p->base.size = (int)size->data.uint32;
    free(size);
    p->base.is_on_one_node = count_near(p) == p->base.size;
    has_bootstrap = true;
    *out = p;
    return GSH_OK;
}

enum gsh_result gsh_bootstrap_pmix_create(uint64_t timeout_ns, struct gsh_bootstrap **out)
{
    struct pmix_bootstrap *p = NULL;
    const char *nspace = secure_getenv("PMIX_NAMESPACE");
    if (nspace == NULL || !nspace[0]) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "not started by a PMIx launcher (mpirun, prterun, "
                                             "srun --mpi=pmix): PMIX_NAMESPACE is not set");
    }
    pthread_mutex_lock(&process_mutex);
    enum gsh_result r = create(timeout_ns, &p);
    pthread_mutex_unlock(&process_mutex);
    if (r == GSH_OK) {
        *out = &p->base;
    }
    return r;
}
