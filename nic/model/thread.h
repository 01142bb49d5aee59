/* SPDX-License-Identifier: Apache-2.0
 * A model adapter's thread: it makes rounds, and sleeps when it is idle until a kernel wakes it. */
#ifndef GSH_MODEL_THREAD_H
#define GSH_MODEL_THREAD_H

#include "nic/model/model.h"

/* Makes model->thread, and what wakes it. GSH_ERR_NOMEM, noted. */
GSH_CHECK_RESULT enum gsh_result gsh_model_thread_create(struct gsh_model *model);
GSH_CHECK_RESULT enum gsh_result gsh_model_thread_start(struct gsh_model *model);
void gsh_model_thread_stop(struct gsh_model *model); /* accepts none */
void gsh_model_thread_destroy(struct gsh_model *model);
/* A round by another thread that waits, unless somebody makes one. */
void gsh_model_thread_help(struct gsh_model *model);

#endif
