/* SPDX-License-Identifier: Apache-2.0
 * See gshmemrun_report.h. */
#include "tools/gshmemrun_report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/thread.h"
#include "hang/ask.h"
#include "hang/print.h"

static uint32_t is_asking; /* atomic */

/* By one write, so that lines of PEs do not come in between. */
static void print(const struct gsh_hang_job *job)
{
    char *text = gsh_hang_text(job);
    if (text != NULL) {
        (void)!write(STDERR_FILENO, text, strlen(text));
    }
    free(text);
}

static void *report(void *unused)
{
    struct gsh_hang_jobs jobs = {0};
    char name[16];
    (void)unused;
    snprintf(name, sizeof(name), "%d", (int)getpid());
    if (gsh_hang_ask_named(&jobs, name, true) && jobs.n > 0) {
        print(&jobs.job[0]);
    } else {
        fprintf(stderr, "gshmemrun: no PE of the job answers on this machine\n");
    }
    gsh_hang_jobs_free(&jobs);
    /* release: the next one may begin */
    gsh_store_release_u32(&is_asking, 0);
    return NULL;
}

void gshmemrun_report(void)
{
    pthread_t thread;
    if (__atomic_exchange_n(&is_asking, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    if (gsh_create_thread(&thread, NULL, report, NULL) == 0) {
        pthread_detach(thread);
    } else {
        gsh_store_release_u32(&is_asking, 0);
    }
}
