/* SPDX-License-Identifier: Apache-2.0
 * Small public queries: who am I, routes, versions, error texts, and global exit. */
#include <stdio.h>
#include <string.h>
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "gshmemx.h"
#include "proxy/proxy.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"

int gshmem_my_pe(void)
{
    struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        gsh_fail(GSH_ERR_STATE, "gshmem_my_pe: %s", gsh_instance_absence());
        return -1;
    }
    return pe->my_pe;
}

int gshmem_n_pes(void)
{
    struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        gsh_fail(GSH_ERR_STATE, "gshmem_n_pes: %s", gsh_instance_absence());
        return -1;
    }
    return pe->n_pes;
}

int gshmem_pe_accessible(int pe)
{
    return pe >= 0 && pe < gsh_instance_need("gshmem_pe_accessible")->n_pes;
}

void gshmemx_call_prefix(const char *prefix)
{
    gsh_log_set_prefix(prefix);
}

void gshmemx_set_error_handler(gshmemx_error_handler_t handler, void *context)
{
    gsh_handler_set(handler, context);
}

void gshmem_query_initialized(int *initialized)
{
    *initialized = gsh_instance_current() != NULL;
}

void gshmem_pcontrol(int level, ...)
{
    (void)level;
}

const char *gshmemx_route_name(int target)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_route_name");
    if (target < 0 || target >= pe->n_pes) {
        return NULL;
    }
    const struct gsh_near *near = gsh_near_of(pe, target);
    return near != NULL && near->route_name != NULL ? near->route_name
                                                    : gsh_proxy_transport_name(pe->proxy);
}

const char *gshmemx_device_name(void)
{
    struct gsh_instance *pe = gsh_instance_current();
    return pe == NULL || !pe->is_device_ready ? NULL : pe->device_name;
}

void gshmem_info_get_version(int *major, int *minor)
{
    if (major != NULL) {
        *major = GSHMEM_MAJOR_VERSION;
    }
    if (minor != NULL) {
        *minor = GSHMEM_MINOR_VERSION;
    }
}

void gshmem_info_get_name(char *name)
{
    if (name != NULL) {
        snprintf(name, GSHMEM_MAX_NAME_LEN, "%s", GSHMEM_VENDOR_STRING);
    }
}

void gshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    if (major != NULL) {
        *major = GSHMEM_VENDOR_MAJOR_VERSION;
    }
    if (minor != NULL) {
        *minor = GSHMEM_VENDOR_MINOR_VERSION;
    }
    if (patch != NULL) {
        *patch = GSHMEM_VENDOR_PATCH_VERSION;
    }
}

void gshmem_global_exit(int status)
{
    struct gsh_instance *pe = gsh_instance_need("gshmem_global_exit");
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "gshmem_global_exit(%d)", status);
    fflush(NULL);
    gsh_end_job(pe, status, "gshmem_global_exit");
}

/* For device/context.cuh on the CPU device, which declares it. */
void gshmemx_cpu_refuse(const char *why) __attribute__((noreturn, visibility("default")));
void gshmemx_cpu_refuse(const char *why)
{
    gsh_flush_stdout();
    gsh_abort(gsh_instance_current(), 1, "%s", why);
}

const char *gshmemx_error_string(int error)
{
    static const char *const texts[] = {
        "success",
        "invalid value",
        "out of memory",
        "not supported",
        "the PEs' arguments differ",
        "no GPU selected",
        "collective launch failed",
        "internal error",
    };
    enum gsh_result last = gsh_last_error_code();
    if (error != 0 && last != GSH_OK && gsh_public_error(last) == error) {
        return gsh_last_error();
    }
    if (error < 0 || (size_t)error >= sizeof(texts) / sizeof(texts[0])) {
        return "unknown error";
    }
    return texts[error];
}
