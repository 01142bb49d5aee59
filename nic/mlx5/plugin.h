/* SPDX-License-Identifier: Apache-2.0
 * Between libgshmem and the plug-in libgshmem_mlx5.so, which is compiled with the headers of
 * libibverbs and libmlx5 and opens both by name. It uses nothing of libgshmem but what it is handed
 * here. An incompatible change gets a new name for the entry; plug-ins of other versions of gshmem
 * are refused by their version. */
#ifndef GSH_MLX5_PLUGIN_H
#define GSH_MLX5_PLUGIN_H

#include <stdbool.h>
#include "base/result.h"
#include "gshmem/version.h"
#include "nic/nic.h"

#define GSH_MLX5_PLUGIN_ENTRY "gsh_mlx5_plugin_1"

/* base of the libgshmem that opened the plug-in. */
struct gsh_mlx5_core {
    enum gsh_result (*note)(enum gsh_result r, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    const char *(*last_error)(void);
};

struct gsh_mlx5_plugin {
    const char *version; /* GSHMEM_VENDOR_STRING of its build */
    /* core stays valid for ever. As gsh_adapter_create; the name is a list, or empty. */
    enum gsh_result (*create)(const struct gsh_mlx5_core *core,
                              const struct gsh_adapter_options *options, struct gsh_adapter **out);
    /* As gsh_adapter_list, of the adapters of verbs; false: noted. */
    bool (*list)(const struct gsh_mlx5_core *core, unsigned i, struct gsh_adapter_listing *out);
};

/* The plug-in's only symbol. */
const struct gsh_mlx5_plugin *gsh_mlx5_plugin_1(void);

#endif
