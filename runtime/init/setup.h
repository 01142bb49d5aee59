/* SPDX-License-Identifier: Apache-2.0
 * The second phase of init: choose the device, decide which PEs are reachable, make the heap,
 * upload the state. */
#ifndef GSH_SETUP_H
#define GSH_SETUP_H

#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/backend/modules.h"

#ifndef GSH_CHECKS
#define GSH_CHECKS 0 /* 1 in a checking build: -Dchecks=true */
#endif

/* The rare half of gsh_instance_need_device. */
struct gsh_instance *gsh_instance_complete(const char *call);
/* As gsh_instance_need; also fills modules loaded since the last call, and names the call for hang
 * reports. Part of every host call that is not collective: three loads and a store. The device may
 * not be ready yet if set-up waits for the program to choose a GPU: then nothing is symmetric, and
 * gsh_peer_address says so. */
static inline struct gsh_instance *gsh_instance_need_device(const char *call)
{
    struct gsh_instance *pe = gsh_instance_current();
    bool is_ready = pe != NULL && pe->is_device_ready && gsh_modules_are_filled(pe);
    gsh_waits_name_call(call);
    return __builtin_expect(is_ready, 1) ? pe : gsh_instance_complete(call);
}

/* As above, for calls that are collective over all PEs: completes device set-up. */
struct gsh_instance *gsh_instance_set_up(const char *call);

/* Which kind of device set-up takes, by the environment, the process's kernels and its GPUs.
 * Failures are kept by gsh_note. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_choose_kind(const struct gsh_env *env,
                                                       bool wants_static_data, bool *is_cuda);
/* Whether this PE's device is certain to be the CPU. Then set-up need not wait for a choice; if
 * this holds on all PEs it is part of init. */
bool gsh_setup_is_cpu(const struct gsh_instance *pe);
/* First phase: if all kernels are for the CPU device, makes its executor at once, so that streams
 * made before device set-up belong to this PE. Not collective. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_prepare(struct gsh_instance *pe);
/* Collective; once per PE. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_device(struct gsh_instance *pe);
/* The same as the end of init. prior: this PE's outcome since the last step that told it to all; on
 * several nodes GSH_OK. If it failed, all PEs fail, and PE 0 prints the words that this PE has
 * noted. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_in_init(struct gsh_instance *pe, enum gsh_result prior);
/* First phase, if gsh_setup_is_cpu: what this PE tells the others of its device, also of a failure,
 * which it prints. Not collective. */
void gsh_setup_tell(struct gsh_instance *pe, struct gsh_device_attr *mine);
/* On several nodes, if all have told (pe->told): collective over pe->bootstrap, with the same
 * result on all, but for a PE without a device: its own. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_check(struct gsh_instance *pe);
/* The end of init there, after that; collective. prior: this PE's outcome since, of which the
 * others do not know. If one has failed, all PEs fail, and PE 0 prints the words that it has noted.
 */
GSH_CHECK_RESULT enum gsh_result gsh_setup_chosen(struct gsh_instance *pe, enum gsh_result prior);
/* Releases what gsh_setup_device made, even if that stopped half-way. Not collective; no PE may use
 * this PE's memory any more. */
void gsh_setup_undo(struct gsh_instance *pe);
/* Checking builds: publishes the live allocations to the device's checks. */
GSH_CHECK_RESULT enum gsh_result gsh_setup_publish_allocations(struct gsh_instance *pe);

#endif
