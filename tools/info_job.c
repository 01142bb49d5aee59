/* SPDX-License-Identifier: Apache-2.0
 * See info_job.h. */
#include "tools/info_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "hang/ask.h"
#include "hang/print.h"

static int fail_to_choose(const struct gsh_hang_jobs *jobs, const char *name)
{
    if (jobs->n == 0) {
        fprintf(stderr, "gshmem-info: no job of yours runs here\n");
        return 1;
    }
    if (name != NULL) {
        fprintf(stderr, "gshmem-info: no job %s; there are:\n", name);
    } else {
        fprintf(stderr, "gshmem-info: several jobs run; choose one:\n");
    }
    for (int i = 0; i < jobs->n; i++) {
        fprintf(stderr, "  %08" PRIx64 ", of %d PE%s, gshmemrun's process %d\n", jobs->job[i].job,
                jobs->job[i].n_pes, GSH_PLURAL(jobs->job[i].n_pes), jobs->job[i].launcher);
    }
    return 1;
}

int gsh_info_job(int argc, char **argv)
{
    struct gsh_hang_jobs jobs;
    const char *name = NULL;
    bool is_json = false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            is_json = true;
        } else if (name == NULL && argv[i][0] != '-') {
            name = argv[i];
        } else {
            fprintf(stderr, "usage: gshmem-info --job [ID] [--json]\n");
            return 2;
        }
    }
    if (!gsh_hang_ask(&jobs, 0, true)) {
        fprintf(stderr, "gshmem-info: cannot ask: %s\n", strerror(errno));
        return 1;
    }
    const struct gsh_hang_job *job = name != NULL  ? gsh_hang_find(&jobs, name)
                                     : jobs.n == 1 ? &jobs.job[0]
                                                   : NULL;
    int status = 0;
    if (job == NULL) {
        status = fail_to_choose(&jobs, name);
    } else if (is_json) {
        gsh_hang_print_json(stdout, job);
    } else {
        gsh_hang_print_text(stdout, job);
    }
    gsh_hang_jobs_free(&jobs);
    return fflush(stdout) == 0 ? status : 1;
}
