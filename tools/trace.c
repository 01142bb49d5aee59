/* SPDX-License-Identifier: Apache-2.0
 * gshmem-trace: what a timeline says, for people without a browser, as text and as a picture. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/util.h"
#include "gshmem/version.h"
#include "tools/trace_summary.h"
#include "trace/merge.h"
#include "trace/record.h"

static const char usage[] =
    "usage: gshmem-trace [--all] [--svg OUT] FILE\n"
    "       gshmem-trace --merge FILE\n"
    "Prints what the timeline FILE of gshmemrun --trace says: the time of each PE by call, the "
    "ten\n"
    "longest waits and who ended them, and the bytes from each PE to each.\n"
    "  --all        print every call of each PE, not the 16 with most time\n"
    "  --svg OUT    draw the same into OUT as well\n"
    "  --merge      make FILE of the parts beside it that a job has left\n"
    "  --help       print this and exit\n"
    "  --version    print the version and exit\n";

static bool prints_all; /* --all */

/* Of the PE whose first row this is. */
static void print_kinds(const struct trace_summary *s, size_t first)
{
    static const char *const names[TRACE_KINDS] = {[TRACE_WAIT] = "waits",
                                                   [TRACE_COLLECTIVE] = "collectives and barriers",
                                                   [TRACE_DATA] = "data and signals",
                                                   [TRACE_OTHER] = "other calls"};
    uint64_t ns[TRACE_KINDS] = {0};
    const char *before = "       ";
    for (size_t i = first; i < s->n_rows && s->rows[i].pe == s->rows[first].pe; i++) {
        if (s->rows[i].kind < TRACE_KINDS) {
            ns[s->rows[i].kind] += s->rows[i].ns;
        }
    }
    for (int kind = 0; kind < TRACE_KINDS; kind++) {
        char time[16];
        trace_time(ns[kind], time);
        printf("%s%s %s", before, names[kind], time);
        before = ", ";
    }
    printf("\n");
}

static void print_calls(const struct gsh_told *told, const struct trace_summary *s)
{
    char time[16], bytes[16];
    uint64_t all = told->end_ns - told->begin_ns;
    trace_time(all, time);
    printf("%zu slice%s of %zu PE%s in %s\n", told->n_slices, GSH_PLURAL(told->n_slices),
           told->n_processes, GSH_PLURAL(told->n_processes), time);
    int pe = -1, n = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct trace_row *row = &s->rows[i];
        if (row->pe != pe) {
            printf("\nPE %-3d %-44s %10s %8s %10s %6s %10s\n", row->pe, "call", "where", "calls",
                   "time", "share", "bytes");
            print_kinds(s, i);
            pe = row->pe;
            n = 0;
        }
        if (prints_all || n++ < TRACE_ROWS) {
            trace_time(row->ns, time);
            trace_bytes(row->bytes, bytes);
            printf("       %-44s %10s %8" PRIu64 " %10s %5.1f%% %10s\n", row->name, row->where,
                   row->n, time, all > 0 ? 100 * (double)row->ns / (double)all : 0,
                   row->bytes > 0 && !row->is_wait ? bytes : "");
        }
    }
}

static void print_waits(const struct gsh_told *told, const struct trace_summary *s)
{
    char time[16], late[16];
    if (s->n_waits > 0) {
        printf("\nThe longest waits\n");
    }
    for (size_t i = 0; i < s->n_waits && i < TRACE_WAITS; i++) {
        const struct gsh_told_slice *wait = s->waits[i], *cause = trace_cause(told, wait);
        trace_time(wait->end_ns - wait->begin_ns, time);
        printf("%10s  PE %d, %s: %s for %s", time, trace_pe(told, wait),
               told->tracks[wait->track].name, wait->name, wait->word);
        if (cause == NULL) {
            printf("; no recorded call ended it\n");
            continue;
        }
        bool is_late = cause->begin_ns >= wait->begin_ns;
        trace_time(is_late ? cause->begin_ns - wait->begin_ns : wait->begin_ns - cause->begin_ns,
                   late);
        printf(",\n            ended by %s of PE %d, %s, which began %s %s\n", cause->name,
               trace_pe(told, cause), told->tracks[cause->track].name, late,
               is_late ? "later" : "before it");
    }
}

static void print_bytes(const struct trace_summary *s)
{
    enum { SHOWN = 16 };
    char text[16];
    int n = s->n_pes < SHOWN ? s->n_pes : SHOWN;
    printf("\nBytes from (line) to (column)\n       ");
    for (int to = 0; to < n; to++) {
        printf(" %9s%-3d", "PE ", to);
    }
    for (int from = 0; from < n; from++) {
        printf("\nPE %-3d ", from);
        for (int to = 0; to < n; to++) {
            trace_bytes(s->bytes[(size_t)from * (size_t)s->n_pes + (size_t)to], text);
            printf(" %12s", text);
        }
    }
    printf("\n");
    if (n < s->n_pes) {
        printf("(%d more PEs)\n", s->n_pes - n);
    }
}

static void print_notes(const struct gsh_told *told)
{
    for (size_t i = 0; i < told->n_processes; i++) {
        const struct gsh_told_process *p = &told->processes[i];
        if (p->n_lost > 0) {
            printf("PE %d: %" PRIu64 " events are missing: more came than were taken\n", p->pe,
                   p->n_lost);
        }
        if (p->n_left_out > 0) {
            printf("PE %d: %" PRIu64 " events are missing, the last ones: %s\n", p->pe,
                   p->n_left_out, p->left_why);
        }
        if (p->error_ns > 0) {
            printf("PE %d: its clock may be wrong by %" PRIu64 " ns\n", p->pe, p->error_ns);
        }
        if (strstr(p->name, "ended early") != NULL) {
            printf("PE %d ended early\n", p->pe);
        }
    }
}

/* A mistyped command line costs no timeline, nor anything else that is no picture. */
static bool may_draw(const char *svg)
{
    int first = '<';
    struct stat s;
    FILE *old = stat(svg, &s) == 0 && S_ISREG(s.st_mode) ? fopen(svg, "re") : NULL;
    if (old != NULL) {
        first = fgetc(old);
        fclose(old);
    }
    if (first != '<' && first != EOF) {
        fprintf(stderr, "gshmem-trace: %s exists and is no picture; it stays as it is\n", svg);
        return false;
    }
    return true;
}

static int summarise(const char *file, const char *svg)
{
    struct gsh_told told;
    struct trace_summary s = {0};
    if ((svg != NULL && !may_draw(svg)) || gsh_told_read(file, &told) != GSH_OK) {
        return 1;
    }
    enum gsh_result r = trace_summarise(&told, &s);
    if (r == GSH_OK) {
        print_calls(&told, &s);
        print_waits(&told, &s);
        print_bytes(&s);
        print_notes(&told);
        r = svg != NULL ? trace_draw(&told, &s, svg) : GSH_OK;
    }
    trace_summary_free(&s);
    gsh_told_free(&told);
    return r == GSH_OK ? 0 : 1;
}

/* gshmemrun has mostly made the file already. */
static int merge(const char *file)
{
    size_t n_parts = 0;
    if (gsh_trace_merge(file, 0, file, &n_parts) != GSH_OK) {
        return 1;
    }
    if (n_parts == 0) {
        bool is_there = access(file, F_OK) == 0;
        fprintf(stderr, "gshmem-trace: there are no parts %s" GSH_TRACE_PART_INFIX "*%s\n", file,
                is_there ? "; the file stays as it is" : "");
        return is_there ? 0 : 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    gsh_log_setup(GSH_LOG_WARN, GSH_LOG_ALL, NULL);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("%s\n", GSHMEM_VENDOR_STRING);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--all") == 0) {
        prints_all = true;
        argc--;
        argv++;
    }
    if (argc == 3 && !prints_all && strcmp(argv[1], "--merge") == 0 && argv[2][0] != '-') {
        return merge(argv[2]);
    }
    if (argc == 4 && strcmp(argv[1], "--svg") == 0 && argv[3][0] != '-') {
        return summarise(argv[3], argv[2]);
    }
    if (argc == 4 && strcmp(argv[2], "--svg") == 0 && argv[1][0] != '-') {
        return summarise(argv[1], argv[3]);
    }
    if (argc == 2 && argv[1][0] != '-') {
        return summarise(argv[1], NULL);
    }
    fputs(usage, stderr);
    return 2;
}
