/* SPDX-License-Identifier: Apache-2.0
 * Between libgshmem, which links no UCX, and the plug-in libgshmem_ucx.so, which does. The plug-in
 * uses nothing of libgshmem but what it is handed here. An incompatible change gets a new name for
 * the entry; plug-ins of other versions of gshmem are refused by their version. */
#ifndef GSH_UCX_PLUGIN_H
#define GSH_UCX_PLUGIN_H

#include <stdbool.h>
#include "base/log.h"
#include "base/result.h"
#include "gshmem/version.h"
#include "proxy/transport.h"

#define GSH_UCX_PLUGIN_ENTRY "gsh_ucx_plugin_2"

/* base of the libgshmem that opened the plug-in. */
struct gsh_ucx_core {
    enum gsh_result (*fail)(enum gsh_result r, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    enum gsh_result (*note)(enum gsh_result r, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    void (*log)(enum gsh_log_level level, enum gsh_log_subsys subsys, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    bool (*log_enabled)(enum gsh_log_level level, enum gsh_log_subsys subsys);
};

struct gsh_ucx_plugin {
    const char *version; /* GSHMEM_VENDOR_STRING of its build */
    const char *(*ucx_version)(void);
    /* core stays valid for ever. A failure is noted, not logged. */
    enum gsh_result (*create)(const struct gsh_ucx_core *core,
                              const struct gsh_transport_options *options,
                              struct gsh_transport **out);
};

/* The plug-in's only symbol. */
const struct gsh_ucx_plugin *gsh_ucx_plugin_2(void);

#endif
