/* SPDX-License-Identifier: Apache-2.0
 * The transport over UCX: finds and opens its plug-in. Only the plug-in knows UCX. */
#include "proxy/transport.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/plugin.h"
#include "base/util.h"
#include "proxy/ucx/plugin.h"

/* When loaded, UCX installs handlers for crash signals and SIGHUP. The previous ones are restored:
 * a debugger, a sanitizer, or the program itself may need them. */
static const int kept_signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGHUP};

/* The plug-in stays open: UCX cannot be unloaded. */
static void *open_plugin(const char *name)
{
    struct sigaction kept[GSH_ARRAY_LEN(kept_signals)];
    for (size_t i = 0; i < GSH_ARRAY_LEN(kept_signals); i++) {
        sigaction(kept_signals[i], NULL, &kept[i]);
    }
    void *library = gsh_plugin_open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (size_t i = 0; i < GSH_ARRAY_LEN(kept_signals); i++) {
        sigaction(kept_signals[i], &kept[i], NULL);
    }
    return library;
}

static enum gsh_result load(const char *name, const struct gsh_ucx_plugin **out)
{
    const struct gsh_ucx_plugin *(*entry)(void);
    void *library = open_plugin(name);
    if (library == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "far PEs over UCX: cannot open the plug-in (GSHMEM_UCX_PLUGIN): %s",
                        dlerror());
    }
    void *symbol = dlsym(library, GSH_UCX_PLUGIN_ENTRY);
    if (symbol == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "far PEs over UCX: %s is not a plug-in of gshmem",
                        name);
    }
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    if (strcmp((*out)->version, GSHMEM_VENDOR_STRING) != 0) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "far PEs over UCX: the plug-in %s is of %s, and this is %s", name,
                        (*out)->version, GSHMEM_VENDOR_STRING);
    }
    return GSH_OK;
}

enum gsh_result gsh_transport_ucx_create(const struct gsh_transport_options *options,
                                         struct gsh_transport **out)
{
    static const struct gsh_ucx_core core = {
        .fail = gsh_fail, .note = gsh_note, .log = gsh_log, .log_enabled = gsh_log_enabled};
    const struct gsh_ucx_plugin *plugin = NULL;
    enum gsh_result r = load(options->plugin, &plugin);
    return r == GSH_OK ? plugin->create(&core, options, out) : r;
}

const char *gsh_transport_ucx_version(const char *name)
{
    const struct gsh_ucx_plugin *plugin = NULL;
    return load(name, &plugin) == GSH_OK ? plugin->ucx_version() : NULL;
}
