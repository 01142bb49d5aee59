/* SPDX-License-Identifier: Apache-2.0
 * Makes a model adapter. */
#ifndef GSH_MODEL_CREATE_H
#define GSH_MODEL_CREATE_H

#include "nic/nic.h"

/* As gsh_adapter_create. */
GSH_CHECK_RESULT enum gsh_result gsh_model_create(const struct gsh_adapter_options *options,
                                                  struct gsh_adapter **out);

#endif
