/* SPDX-License-Identifier: Apache-2.0
 * The plug-in libgshmem_ucx.so: the transport over UCX's UCP. Makes and ends the worker, and drives
 * it; what it carries is in the other files. UCX is configured by its own variables (UCX_TLS,
 * UCX_NET_DEVICES and so on); only what must hold gets another default here. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proxy/ucx/call.h"
#include "proxy/ucx/carry.h"
#include "proxy/ucx/endpoint.h"
#include "proxy/ucx/events.h"
#include "proxy/ucx/life.h"
#include "proxy/ucx/message.h"
#include "proxy/ucx/region.h"
#include "proxy/ucx/rma.h"

/* ---- progress ---- */

static unsigned ucx_progress(struct gsh_transport *t)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    if (u->is_in_progress) { /* called from within an event: UCX must not be entered twice */
        return 0;
    }
    u->is_in_progress = true;
    unsigned n = ucp_worker_progress(u->worker);
    if (u->carrying != NULL) {
        n += gsh_ucx_carry_on(u);
    }
    gsh_ucx_tick(u);
    if (u->broken != NULL) {
        gsh_ucx_bury(u);
        n++;
    }
    u->is_in_progress = false;
    return n;
}

static int ucx_event_fd(struct gsh_transport *t)
{
    return ((struct gsh_ucx *)t)->event_fd;
}

static bool ucx_arm(struct gsh_transport *t)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    u->is_clock_due = true; /* the time of the next progress is unknown */
    if (u->broken != NULL || u->carrying != NULL || u->is_deaf) {
        return false;
    }
    ucs_status_t status = ucp_worker_arm(u->worker);
    if (status != UCS_OK && status != UCS_ERR_BUSY) {
        gsh_ucx_go_deaf(u, status);
    }
    return status == UCS_OK;
}

static enum gsh_result ucx_address(struct gsh_transport *t, const void **blob, size_t *bytes)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    *blob = u->address;
    *bytes = u->address_bytes;
    return GSH_OK;
}

/* ---- making and ending ---- */

/* Closing the endpoint of a silent peer, or the worker while it has one, is not safe: UCX 1.13 ends
 * the process if part of the connection set-up still waits to be sent ("Assertion ... got REP
 * message"). After a loss the job ends anyway, so UCX is left as it is. */
static void ucx_destroy(struct gsh_transport *t)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    if (u == NULL) {
        return;
    }
    if (u->worker != NULL) {
        gsh_ucx_leave(u);
        gsh_ucx_close_events(u);
        if (u->address != NULL) {
            ucp_worker_release_address(u->worker, u->address);
        }
    }
    if (u->worker != NULL && !u->has_lost) {
        ucp_worker_destroy(u->worker);
    }
    gsh_ucx_free_regions(u);
    if (u->context != NULL && !u->has_lost) {
        ucp_cleanup(u->context);
    }
    gsh_ucx_free_peers(u);
    gsh_ucx_free_pool(&u->calls);
    gsh_ucx_free_pool(&u->messages);
    explicit_bzero(t->options.key, sizeof(t->options.key));
    free(u);
}

static const struct gsh_transport_ops ucx_ops = {
    .name = "ucx",
    .message_max = GSH_UCX_MESSAGE_MAX,
    .address = ucx_address,
    .learns_late = true,
    .set_peer = gsh_ucx_set_peer,
    .set_pair = gsh_ucx_set_pair,
    .add_region = gsh_ucx_add_region,
    .make_region = gsh_ucx_make_region,
    .remove_region = gsh_ucx_remove_region,
    .add_peer_region = gsh_ucx_add_peer_region,
    .remove_peer_region = gsh_ucx_remove_peer_region,
    .map_peer_region = gsh_ucx_map_peer_region,
    .pin = gsh_ucx_pin,
    .unpin = gsh_ucx_unpin,
    .put = gsh_ucx_put,
    .get = gsh_ucx_get,
    .flush = gsh_ucx_flush,
    .send = gsh_ucx_send,
    .lose = gsh_ucx_lose,
    .progress = ucx_progress,
    .event_fd = ucx_event_fd,
    .arm = ucx_arm,
    .destroy = ucx_destroy,
};

/* Unless the user has set the variable. A UCX that does not know it does not need it. */
static void set_default(ucp_config_t *config, const char *name, const char *value)
{
    char variable[64];
    snprintf(variable, sizeof(variable), "UCX_%s", name);
    if (secure_getenv(variable) == NULL) {
        (void)ucp_config_modify(config, name, value);
    }
}

/* Whether UCX_TLS lets UCX use its own shared memory. UCX warns about settings for transports that
 * it does not use. */
static bool has_shared_memory(void)
{
    const char *tls = secure_getenv("UCX_TLS");
    if (tls == NULL) {
        return true;
    }
    bool names_any = strstr(tls, "sm") != NULL || strstr(tls, "shm") != NULL;
    bool names_posix = strstr(tls, "posix") != NULL, names_sysv = strstr(tls, "sysv") != NULL;
    if (tls[0] == '^') {
        return !names_any && !(names_posix && names_sysv);
    }
    return names_any || names_posix || names_sysv || strstr(tls, "all") != NULL;
}

/* - Endpoints must report dead peers. UCX then leaves out transports that do not promise that; its
 * shared memory does so only when told to.
 * - UCX checks silent peers every 20 s: too late for a time limit of 10 s. */
static void set_defaults(struct gsh_ucx *u, ucp_config_t *config)
{
    uint64_t timeout_ns = u->base.options.timeout_ns;
    if (has_shared_memory() && secure_getenv("UCX_POSIX_ERROR_HANDLING") == NULL &&
        secure_getenv("UCX_SYSV_ERROR_HANDLING") == NULL) {
        set_default(config, "MM_ERROR_HANDLING", "y");
    }
    if (timeout_ns != 0) {
        char interval[32];
        snprintf(interval, sizeof(interval), "%gs",
                 (double)gsh_min_u64(timeout_ns / 4, 2000000000u) * 1e-9);
        set_default(config, "KEEPALIVE_INTERVAL", interval);
    }
}

static enum gsh_result refused(struct gsh_ucx *u, const char *what, ucs_status_t status)
{
    char settings[GSH_UCX_SETTINGS_MAX];
    return u->core->note(GSH_ERR_UNSUPPORTED, "far PEs over UCX: %s: %s%s", what,
                         ucs_status_string(status), gsh_ucx_settings(settings));
}

static enum gsh_result init_context(struct gsh_ucx *u, uint64_t features)
{
    ucp_params_t params = {
        .field_mask =
            UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME,
        .features = features,
        .estimated_num_eps = (size_t)(u->base.options.n_expected > 0 ? u->base.options.n_expected
                                                                     : u->base.options.n_pes),
        .name = "gshmem",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        return refused(u, "reading the UCX_ variables", status);
    }
    set_defaults(u, config);
    status = ucp_init(&params, config, &u->context);
    ucp_config_release(config);
    if (status != UCS_OK) {
        u->context = NULL;
        return refused(u, "starting UCX", status);
    }
    return GSH_OK;
}

/* Whether the context has a transport on which the network card itself checks keys and moves the
 * data. UCX's own description has lines like "# resource 2 : md 1 dev 2 flags -- tcp/eth0". */
static bool has_network_rma(const struct gsh_ucx *u)
{
    static const char *const without[] = {"tcp/",   "self/", "posix/", "sysv/", "cma/", "knem/",
                                          "xpmem/", "cuda",  "gdr_",   "rocm",  "ze_",  "ud_"};
    char *text = NULL, *rest = NULL;
    size_t bytes;
    bool has = false, is_understood = false;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return true;
    }
    ucp_context_print_info(u->context, out);
    fclose(out);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *slash = strstr(line, " resource ") != NULL ? strrchr(line, '/') : NULL;
        if (slash == NULL) {
            continue;
        }
        while (slash > line && slash[-1] != ' ') {
            slash--;
        }
        bool is_without = false;
        is_understood = true;
        for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
            is_without |= strncmp(slash, without[i], strlen(without[i])) == 0;
        }
        has |= !is_without;
    }
    free(text);
    return has || !is_understood;
}

/* With UCP_FEATURE_RMA, UCX also takes puts and gets as messages, from anybody who reaches a port
 * of this process, to any address in it. So without a network that needs the feature, it is left
 * out, and carry.c's messages do all. */
static enum gsh_result open_context(struct gsh_ucx *u)
{
    const uint64_t features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    if (u->base.options.is_for_messages) {
        return init_context(u, features);
    }
    enum gsh_result r = init_context(u, features | UCP_FEATURE_RMA);
    u->has_rma = r == GSH_OK && has_network_rma(u);
    if (r == GSH_OK && !u->has_rma) {
        ucp_cleanup(u->context);
        r = init_context(u, features);
    }
    if (r == GSH_OK && u->has_rma && ucp_context_query(u->context, &attr) == UCS_OK) {
        u->base.reads_cuda = (attr.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
    }
    return r;
}

static enum gsh_result open_worker(struct gsh_ucx *u)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t status = ucp_worker_create(u->context, &params, &u->worker);
    if (status != UCS_OK) {
        u->worker = NULL;
        return refused(u, "making a worker", status);
    }
    status = ucp_worker_get_address(u->worker, &u->address, &u->address_bytes);
    if (status != UCS_OK) {
        u->address = NULL;
        return refused(u, "asking for the address", status);
    }
    return GSH_OK;
}

static enum gsh_result ucx_create(const struct gsh_ucx_core *core,
                                  const struct gsh_transport_options *options,
                                  struct gsh_transport **out)
{
    struct gsh_ucx *u = calloc(1, sizeof(*u));
    if (u == NULL ||
        (u->peers = calloc((size_t)options->n_pes, sizeof(struct gsh_ucx_peer *))) == NULL) {
        free(u);
        return core->note(GSH_ERR_NOMEM, "far PEs over UCX: no memory for %d PEs", options->n_pes);
    }
    u->base.ops = &ucx_ops;
    u->base.options = *options;
    u->core = core;
    u->event_fd = u->timer_fd = -1;
    u->calls.record_bytes = sizeof(struct gsh_ucx_call);
    u->messages.record_bytes = sizeof(struct gsh_ucx_message);
    enum gsh_result r = open_context(u);
    if (r == GSH_OK) {
        r = open_worker(u);
    }
    if (r == GSH_OK) {
        r = gsh_ucx_listen(u);
    }
    if (r == GSH_OK) {
        r = gsh_ucx_open_events(u);
    }
    if (r != GSH_OK) {
        ucx_destroy(&u->base);
        return r;
    }
    core->log(GSH_LOG_INFO, GSH_LOG_PROXY, "UCX %s%s", ucp_get_version_string(),
              u->base.reads_cuda ? ", reads GPU memory" : "");
    *out = &u->base;
    return GSH_OK;
}

__attribute__((visibility("default"))) const struct gsh_ucx_plugin *gsh_ucx_plugin_2(void)
{
    static const struct gsh_ucx_plugin plugin = {.version = GSHMEM_VENDOR_STRING,
                                                 .ucx_version = ucp_get_version_string,
                                                 .create = ucx_create};
    return &plugin;
}
