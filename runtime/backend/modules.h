/* SPDX-License-Identifier: Apache-2.0
 * The process's registered modules: translation units with kernels, each with its own copy of the
 * constant block. Registration comes from static constructors, before main or when a library is
 * loaded; the blocks are filled once a PE's device is ready. */
#ifndef GSH_MODULES_H
#define GSH_MODULES_H

#include <stdbool.h>
#include "runtime/instance/instance.h"

/* The failure for a unit or module that a PE on a part of a GPU cannot use. */
GSH_CHECK_RESULT enum gsh_result gsh_modules_not_shared(void);

/* Whether any unit with kernels for that device has registered. */
bool gsh_modules_have_cuda(void);
bool gsh_modules_have_cpu(void);

/* Fills every registered module on the calling thread's current device. GSH_ERR_STATE, naming both
 * versions, when one was compiled with headers that do not match this library. */
GSH_CHECK_RESULT enum gsh_result gsh_modules_fill(struct gsh_instance *pe,
                                                  const struct gsh_state *state);

/* Registrations so far; written by modules.c. */
extern uint64_t gsh_modules_generation;
/* Whether nothing has registered since this PE's last fill; if not, gsh_modules_refresh is due. */
static inline bool gsh_modules_are_filled(const struct gsh_instance *pe)
{
    /* acquire: pairs with the release in gshmemx_module_register */
    return __atomic_load_n(&gsh_modules_generation, __ATOMIC_ACQUIRE) == pe->module_generation;
}
/* Fills what has registered since, if anything. */
GSH_CHECK_RESULT enum gsh_result gsh_modules_refresh(struct gsh_instance *pe);

#endif
