/* SPDX-License-Identifier: Apache-2.0
 * What a kernel reported, as text. The first thread that asks takes the report; there is no second
 * one. */
#ifndef GSH_REPORT_H
#define GSH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

struct gsh_instance;

/* If the device has reported an error that has not been printed, prints it: for a process that is
 * ending anyway. Not that a time limit has passed: the PE that ends the job says so. */
void gsh_report_print(struct gsh_instance *pe);

/* Prints the first refusal of a kernel's call, if there is one that has not been printed. */
void gsh_report_print_refusal(struct gsh_instance *pe);

/* Adds to a report of a failed wait what a dialect knows of the word, and of the PE that was to
 * write it (-1: none in particular); "" if nothing. */
typedef void gsh_report_explainer(void *pe, const void *address, int peer, char *text,
                                  size_t bytes);
void gsh_report_explain_by(gsh_report_explainer *explain);
void gsh_report_explain(struct gsh_instance *pe, const void *address, int peer, char *text,
                        size_t bytes);

/* What is known of the members of teams, from code that knows more than one PE; init sets it before
 * there is a wait. */
struct gsh_report;
struct gsh_report_members {
    /* Whether the PE must report why the job ends, and then end it. If not, another PE does both.
     * The answer stays. */
    bool (*take_word)(struct gsh_instance *pe);
    /* Describes a wait for members; false: the word that was waited for belongs to no team. */
    bool (*word)(struct gsh_instance *pe, const struct gsh_report *r, char *text, size_t bytes);
};
void gsh_report_ask(const struct gsh_report_members *members);
/* Its take_word; true if there is nobody to ask. */
bool gsh_report_take_word(struct gsh_instance *pe);

/* Whether a kernel's wait has passed its time limit, and nobody has taken the report yet. */
bool gsh_report_is_of_wait(const struct gsh_instance *pe);

enum gsh_reported { GSH_REPORTED_NOTHING, GSH_REPORTED_ERROR, GSH_REPORTED_EXIT };
/* The same for a process that continues if there is no report. GSH_REPORTED_ERROR: it has been
 * printed and is the last error; GSH_REPORTED_EXIT: a kernel called gshmem_global_exit(*status). */
enum gsh_reported gsh_report_take(struct gsh_instance *pe, int *status);

#endif
