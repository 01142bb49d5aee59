/* SPDX-License-Identifier: Apache-2.0
 * What a kernel reported, in words. A report is taken once, by the first thread that comes. */
#ifndef GSH_REPORT_H
#define GSH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

struct gsh_instance;

/* If the device has reported an error that has not been printed, prints it: for a process that is
 * ending anyhow. */
void gsh_report_print(struct gsh_instance *pe);

/* What is known of a word that was waited for in vain, and of the PE that was to write it (-1: none
 * in particular), beyond the report: a dialect's names, to be appended; "" without any. */
typedef void gsh_report_explainer(void *pe, const void *address, int peer, char *text,
                                  size_t bytes);
void gsh_report_explain_by(gsh_report_explainer *explain);
void gsh_report_explain(struct gsh_instance *pe, const void *address, int peer, char *text,
                        size_t bytes);

/* What is known of the members of teams, by who knows more than one PE; init gives it before there
 * is a wait. */
struct gsh_report;
struct gsh_report_members {
    /* Whether the caller is to say why the job ends, and then ends it; if not, another PE does. */
    bool (*take_word)(struct gsh_instance *pe);
    /* A wait for members, in words; false: the word that was waited for is none of a team's. */
    bool (*word)(struct gsh_instance *pe, const struct gsh_report *r, char *text, size_t bytes);
};
void gsh_report_ask(const struct gsh_report_members *members);

enum gsh_reported { GSH_REPORTED_NOTHING, GSH_REPORTED_ERROR, GSH_REPORTED_EXIT };
/* The same for a process that goes on unless there is one. GSH_REPORTED_ERROR: it has been printed
 * and is the last error; GSH_REPORTED_EXIT: a kernel called gshmem_global_exit(*status). */
enum gsh_reported gsh_report_take(struct gsh_instance *pe, int *status);

#endif
