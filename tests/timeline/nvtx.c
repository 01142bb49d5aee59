/* SPDX-License-Identifier: Apache-2.0
 * Marks ranges by NVTX: pushed ones, in a domain, by a registered name, and one that another thread
 * ends. With NVTX's headers (WITH_NVTX3) by those; else by the binary interface between the headers
 * and the library that the environment names, so that it is tested everywhere. nvtx.py looks. */
#include <dlfcn.h>
#include <gshmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(WITH_NVTX3)
#include <nvtx3/nvToolsExt.h>
#else
#define NVTX_VERSION                 3
#define NVTX_MESSAGE_TYPE_ASCII      1
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    union {
        const char *ascii;
        void *registered;
    } message;
} nvtxEventAttributes_t;
typedef uint64_t nvtxRangeId_t;
typedef void (*function)(void);

/* What the library fills in. */
static function start_a, end, push_a, pop, domain_push_ex, domain_pop, register_a;
static function *core[16] = {[5] = &start_a, [7] = &end, [9] = &push_a, [11] = &pop};
static function *core2[16] = {[4] = &domain_push_ex, [5] = &domain_pop, [10] = &register_a};

static int nvtxRangePushA(const char *text)
{
    return ((int (*)(const char *))push_a)(text);
}

static int nvtxRangePop(void)
{
    return ((int (*)(void))pop)();
}

static nvtxRangeId_t nvtxRangeStartA(const char *text)
{
    return ((nvtxRangeId_t(*)(const char *))start_a)(text);
}

static void nvtxRangeEnd(nvtxRangeId_t id)
{
    ((void (*)(nvtxRangeId_t))end)(id);
}

static int nvtxDomainRangePushEx(void *domain, const nvtxEventAttributes_t *event)
{
    return ((int (*)(void *, const nvtxEventAttributes_t *))domain_push_ex)(domain, event);
}

static int nvtxDomainRangePop(void *domain)
{
    return ((int (*)(void *))domain_pop)(domain);
}

static void *nvtxDomainRegisterStringA(void *domain, const char *text)
{
    return ((void *(*)(void *, const char *))register_a)(domain, text);
}

static int get_functions(int module, function ***functions, unsigned *n)
{
    *functions = module == 1 ? core : module == 5 ? core2 : NULL;
    *n = 16;
    return *functions != NULL; /* 1: there are some */
}

static const void *get_table(uint32_t table)
{
    static const struct {
        size_t bytes;
        int (*get_functions)(int module, function ***functions, unsigned *n);
    } callbacks = {sizeof(callbacks), get_functions};
    return table == 1 ? &callbacks : NULL;
}

static int open_library(void)
{
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    int (*initialise)(const void *(*)(uint32_t)) = NULL;
    if (library != NULL) {
        *(void **)&initialise = dlsym(library, "InitializeInjectionNvtx2");
    }
    return initialise != NULL && initialise(get_table) == 1;
}

static void *nvtxDomainCreateA(const char *name)
{
    static char domain;
    (void)name;
    return &domain;
}
#endif

static void *end_range(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    gshmem_init();
#if !defined(WITH_NVTX3)
    if (!open_library()) {
        fprintf(stderr, "there is no library for NVTX\n");
        return 1;
    }
#endif
    void *domain = nvtxDomainCreateA("mine");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = sizeof(event)};
    nvtxRangeId_t id = nvtxRangeStartA("started");
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("outer");
        event.messageType = NVTX_MESSAGE_TYPE_ASCII;
        event.message.ascii = "inner";
        nvtxDomainRangePushEx(domain, &event);
        gshmem_barrier_all();
        nvtxDomainRangePop(domain);
        nvtxRangePop();
    }
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    if (pthread_create(&thread, NULL, end_range, &id) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    gshmem_finalize();
    return 0;
}
