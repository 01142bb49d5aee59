/* SPDX-License-Identifier: Apache-2.0
 * See verbs.h. */
#include "nic/mlx5/verbs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_verbs table;
static bool is_open;

static bool find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof(symbol)); /* a pointer to a function is one to an object here */
    return symbol != NULL;
}

/* The name of a function that is missing; NULL: there is all. */
static const char *fill(struct gsh_verbs *v, void *verbs, void *mlx5)
{
#define REQUIRE(library, name)                     \
    if (!find(library, #name, (void *)&v->name)) { \
        return #name;                              \
    }
#define VERBS(name)          REQUIRE(verbs, name)
#define VERBS_OPTIONAL(name) (void)find(verbs, #name, (void *)&v->name);
#define MLX5(name)           REQUIRE(mlx5, name)
#define MLX5_OPTIONAL(name)  (void)find(mlx5, #name, (void *)&v->name);
    GSH_VERBS_FUNCTIONS(VERBS, VERBS_OPTIONAL)
    GSH_MLX5DV_FUNCTIONS(MLX5, MLX5_OPTIONAL)
    return NULL;
}

/* They stay open: they cannot be unloaded. */
static enum gsh_result open_both(const struct gsh_mlx5_core *core)
{
    void *verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *mlx5 =
        verbs != NULL ? dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (mlx5 == NULL) {
        return core->note(GSH_ERR_UNSUPPORTED, "adapters of verbs: %s", dlerror());
    }
    const char *missing = fill(&table, verbs, mlx5);
    return missing != NULL ? core->note(GSH_ERR_UNSUPPORTED,
                                        "adapters of verbs: libibverbs or libmlx5 is too old: it "
                                        "has no %s",
                                        missing)
                           : GSH_OK;
}

const struct gsh_verbs *gsh_verbs_open(const struct gsh_mlx5_core *core)
{
    pthread_mutex_lock(&lock);
    is_open = is_open || open_both(core) == GSH_OK;
    const struct gsh_verbs *v = is_open ? &table : NULL;
    pthread_mutex_unlock(&lock);
    return v;
}
