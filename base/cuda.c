/* SPDX-License-Identifier: Apache-2.0
 * Opens libcuda.so.1 and looks up the functions of cuda.def. The library stays open until the
 * process ends: the driver cannot be unloaded safely. */
#include "base/cuda.h"

#ifdef GSH_HAVE_CUDA

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t opened = PTHREAD_ONCE_INIT, used = PTHREAD_ONCE_INIT;
static void *library;          /* written inside opened */
static struct gsh_cuda driver; /* written inside used */
static char reason[256]; /* why there is no driver; "" if there is; written inside used or opened */
static const struct gsh_cuda *override_table;

/* The macros of cuda.h map a name to the version the headers were made for; so the name is taken
 * after their expansion. */
#define NAME_(symbol) #symbol
#define NAME(symbol)  NAME_(symbol)

static void look_up(void)
{
    /* A function pointer is read from dlsym's object pointer by its bytes, as POSIX allows. */
    void *entry;
#define GSH_CUDA_OPTIONAL(name)             \
    entry = dlsym(library, NAME(cu##name)); \
    memcpy(&driver.name, &entry, sizeof(entry));
#define GSH_CUDA_FUNCTION(name)                                                      \
    GSH_CUDA_OPTIONAL(name)                                                          \
    if (entry == NULL && !reason[0]) {                                               \
        snprintf(reason, sizeof(reason), "the CUDA driver is too old: it has no %s", \
                 NAME(cu##name));                                                    \
    }
#include "base/cuda.def"
#undef GSH_CUDA_FUNCTION
}

static void start_driver(void)
{
    int n_devices = 0;
    const char *name = NULL, *what = "cuInit";
    CUresult code = driver.Init(0);
    if (code == CUDA_SUCCESS) {
        what = "cuDeviceGetCount";
        code = driver.DeviceGetCount(&n_devices);
    }
    if (code != CUDA_SUCCESS) {
        driver.GetErrorName(code, &name);
        snprintf(reason, sizeof(reason), "%s: %s", what, name != NULL ? name : "unknown error");
    } else if (n_devices == 0) {
        snprintf(reason, sizeof(reason), "the CUDA driver finds no device");
    }
}

static void open_driver(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(reason, sizeof(reason), "no CUDA driver: %.200s", dlerror());
    }
}

static void use_driver(void)
{
    pthread_once(&opened, open_driver);
    if (library != NULL) {
        look_up();
    }
    if (!reason[0]) {
        start_driver();
    }
}

bool gsh_cuda_is_installed(void)
{
    /* Pairs with the release in gsh_cuda_override. */
    if (__atomic_load_n(&override_table, __ATOMIC_ACQUIRE) != NULL) {
        return true;
    }
    pthread_once(&opened, open_driver);
    return library != NULL;
}

const struct gsh_cuda *gsh_cuda(void)
{
    /* Pairs with the release in gsh_cuda_override. */
    const struct gsh_cuda *table = __atomic_load_n(&override_table, __ATOMIC_ACQUIRE);
    if (table != NULL) {
        return table;
    }
    pthread_once(&used, use_driver);
    if (!reason[0]) {
        return &driver;
    }
    (void)gsh_note(GSH_ERR_UNSUPPORTED, "%s", reason);
    return NULL;
}

void gsh_cuda_override(const struct gsh_cuda *table)
{
    /* Pairs with the acquire in gsh_cuda. */
    __atomic_store_n(&override_table, table, __ATOMIC_RELEASE);
}

static enum gsh_result word(CUresult code, const char *what,
                            enum gsh_result (*say)(enum gsh_result, const char *, ...))
{
    if (code == CUDA_SUCCESS) {
        return GSH_OK;
    }
    enum gsh_result r = code == CUDA_ERROR_OUT_OF_MEMORY   ? GSH_ERR_NOMEM
                        : code == CUDA_ERROR_NOT_SUPPORTED ? GSH_ERR_UNSUPPORTED
                                                           : GSH_ERR_CUDA;
    const struct gsh_cuda *cuda = gsh_cuda();
    const char *name = NULL, *text = NULL;
    if (cuda != NULL && cuda->GetErrorName != NULL) {
        cuda->GetErrorName(code, &name);
    }
    if (cuda != NULL && cuda->GetErrorString != NULL) {
        cuda->GetErrorString(code, &text);
    }
    if (name == NULL) {
        return say(r, "%s: CUDA error %d", what, (int)code);
    }
    return say(r, "%s: %s (%s)", what, name, text != NULL ? text : "no text");
}

enum gsh_result gsh_cuda_result(CUresult code, const char *what)
{
    return word(code, what, gsh_fail);
}

enum gsh_result gsh_cuda_note(CUresult code, const char *what)
{
    return word(code, what, gsh_note);
}

#else

#include <stddef.h>

const struct gsh_cuda *gsh_cuda(void)
{
    (void)gsh_note(GSH_ERR_UNSUPPORTED, "this library was built without CUDA");
    return NULL;
}

bool gsh_cuda_is_installed(void)
{
    return false;
}

void gsh_cuda_override(const struct gsh_cuda *table)
{
    (void)table;
}

enum gsh_result gsh_cuda_result(CUresult code, const char *what)
{
    if (code == 0) {
        return GSH_OK;
    }
    return gsh_fail(GSH_ERR_CUDA, "%s: CUDA error %d", what, (int)code);
}

enum gsh_result gsh_cuda_note(CUresult code, const char *what)
{
    if (code == 0) {
        return GSH_OK;
    }
    return gsh_note(GSH_ERR_CUDA, "%s: CUDA error %d", what, (int)code);
}

#endif
