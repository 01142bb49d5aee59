/* SPDX-License-Identifier: Apache-2.0
 * See info_job.h. */
#include "tools/info_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "hang/analyse.h"
#include "hang/ask.h"
#include "hang/print.h"

static void list(const struct gsh_hang_jobs *jobs)
{
    for (int i = 0; i < jobs->n; i++) {
        fprintf(stderr, "  %08" PRIx64 ", of %d PE%s", jobs->job[i].job, jobs->job[i].n_pes,
                GSH_PLURAL(jobs->job[i].n_pes));
        if (jobs->job[i].launcher != 0) {
            fprintf(stderr, ", gshmemrun's process %d", jobs->job[i].launcher);
        }
        fputc('\n', stderr);
    }
}

static void fail_to_choose(const struct gsh_hang_jobs *jobs, const char *name)
{
    struct gsh_hang_jobs all = {0};
    char silence[160];
    if (jobs->n > 0) {
        fprintf(stderr, "gshmem-info: several jobs run; choose one:\n");
        list(jobs);
    } else if (jobs->silent.os_pid != 0) {
        gsh_hang_word_silence(&jobs->silent, silence, sizeof(silence));
        fprintf(stderr, "gshmem-info: the job %s\n", silence);
    } else if (name != NULL && gsh_hang_ask(&all, 0, false) && all.n > 0) {
        fprintf(stderr, "gshmem-info: no job %s; there are:\n", name);
        list(&all);
    } else {
        fprintf(stderr, "gshmem-info: no job of yours runs here\n");
    }
    gsh_hang_jobs_free(&all);
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
    if (name != NULL ? !gsh_hang_ask_named(&jobs, name, true) : !gsh_hang_ask(&jobs, 0, true)) {
        fprintf(stderr, "gshmem-info: cannot ask: %s\n", strerror(errno));
        return 1;
    }
    if (jobs.n != 1) {
        fail_to_choose(&jobs, name);
    } else if (is_json) {
        gsh_hang_print_json(stdout, &jobs.job[0]);
    } else {
        gsh_hang_print_text(stdout, &jobs.job[0]);
    }
    int status = jobs.n == 1 ? 0 : 1;
    gsh_hang_jobs_free(&jobs);
    return fflush(stdout) == 0 ? status : 1;
}
