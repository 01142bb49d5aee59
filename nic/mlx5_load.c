/* SPDX-License-Identifier: Apache-2.0
 * See mlx5_load.h. */
#include "nic/mlx5_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "base/plugin.h"
#include "nic/mlx5/plugin.h"

static const struct gsh_mlx5_core core = {.note = gsh_note, .last_error = gsh_last_error};

static enum gsh_result load(const char *name, const struct gsh_mlx5_plugin **out)
{
    const struct gsh_mlx5_plugin *(*entry)(void);
    void *library = gsh_plugin_open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "mlx5 adapters: cannot open the plug-in (GSHMEM_NIC_PLUGIN): %s",
                        dlerror());
    }
    void *symbol = dlsym(library, GSH_MLX5_PLUGIN_ENTRY);
    if (symbol == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "mlx5 adapters: %s is not a plug-in of gshmem", name);
    }
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    if (strcmp((*out)->version, GSHMEM_VENDOR_STRING) != 0) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "mlx5 adapters: the plug-in %s is of %s, and this is %s", name,
                        (*out)->version, GSHMEM_VENDOR_STRING);
    }
    return GSH_OK;
}

enum gsh_result gsh_mlx5_create(const struct gsh_adapter_options *options, struct gsh_adapter **out)
{
    const struct gsh_mlx5_plugin *plugin = NULL;
    enum gsh_result r = load(options->plugin, &plugin);
    return r == GSH_OK ? plugin->create(&core, options, out) : r;
}

bool gsh_mlx5_list_all(const char *name, unsigned i, struct gsh_adapter_listing *out)
{
    const struct gsh_mlx5_plugin *plugin = NULL;
    const bool is_listed = load(name, &plugin) == GSH_OK && plugin->list(&core, i, out);
    if (is_listed || i > 0) {
        return is_listed;
    }
    *out = (struct gsh_adapter_listing){.name = "mlx5", .what = "adapters of the mlx5 family"};
    snprintf(out->lacks, sizeof(out->lacks), "%.191s", gsh_last_error());
    return true;
}
