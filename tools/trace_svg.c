/* SPDX-License-Identifier: Apache-2.0
 * Draws a timeline: a strip for each track, its slices and the arrows between them, and below it
 * the bytes from each PE to each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/own_file.h"
#include "base/util.h"
#include "tools/trace_summary.h"

enum { LEFT = 190, WIDTH = 900, STRIP = 22, TOP = 46, CELL_W = 74, CELL_H = 24, STRIPS_MAX = 64 };
enum { MATRIX_MAX = 12, SLICES_MAX = 4000, ARROWS_MAX = 400 };

struct drawing {
    const struct gsh_told *told;
    const struct trace_summary *summary;
    FILE *out;
    uint64_t begin_ns, end_ns;
    int *strip_of; /* [n_tracks]; -1: none */
    int n_strips;
};

static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&') {
            fprintf(out, "&#%d;", *text);
        } else {
            fputc(*text, out);
        }
    }
}

static double x_of(const struct drawing *d, uint64_t ns)
{
    double all = d->end_ns > d->begin_ns ? (double)(d->end_ns - d->begin_ns) : 1;
    return LEFT + WIDTH * (double)(ns - d->begin_ns) / all;
}

static double y_of(const struct drawing *d, size_t track)
{
    return TOP + STRIP * d->strip_of[track];
}

static const char *colour_of(const struct gsh_told_slice *s)
{
    return strcmp(s->category, "wait") == 0   ? "#e4794f"
           : strcmp(s->category, "span") == 0 ? "#d9dce2"
           : strcmp(s->category, "get") == 0  ? "#6aa9a0"
           : s->n_arrows > 0 || s->bytes > 0  ? "#4f7fbf"
                                              : "#9aa5b8";
}

static int order_tracks(const void *x, const void *y)
{
    const struct gsh_told_track *a = *(const struct gsh_told_track *const *)x;
    const struct gsh_told_track *b = *(const struct gsh_told_track *const *)y;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    /* host, kernels, network, proxy, streams */
    int where = strcmp(trace_where(a), trace_where(b));
    return where != 0 ? where : strverscmp(a->name, b->name);
}

/* By process, host threads first; tracks of one name are one strip. */
static bool give_strips(struct drawing *d)
{
    const struct gsh_told *t = d->told;
    const struct gsh_told_track **sorted = calloc(t->n_tracks + 1, sizeof(*sorted));
    bool *is_used = calloc(t->n_tracks + 1, sizeof(*is_used));
    d->strip_of = calloc(t->n_tracks + 1, sizeof(*d->strip_of));
    bool has_memory = sorted != NULL && is_used != NULL && d->strip_of != NULL;
    for (size_t i = 0; has_memory && i < t->n_slices; i++) {
        is_used[t->slices[i].track] = true;
    }
    for (size_t i = 0; has_memory && i < t->n_tracks; i++) {
        sorted[i] = &t->tracks[i];
    }
    if (has_memory && t->n_tracks > 0) {
        qsort(sorted, t->n_tracks, sizeof(*sorted), order_tracks);
    }
    for (size_t i = 0; has_memory && i < t->n_tracks; i++) {
        size_t track = (size_t)(sorted[i] - t->tracks);
        bool is_same = i > 0 && sorted[i - 1]->process == sorted[i]->process &&
                       strcmp(sorted[i - 1]->name, sorted[i]->name) == 0;
        d->strip_of[track] = is_same ? d->strip_of[sorted[i - 1] - t->tracks]
                             : is_used[track] && d->n_strips < STRIPS_MAX ? d->n_strips++
                                                                          : -1;
    }
    free(sorted);
    free(is_used);
    return has_memory;
}

static void draw_strips(const struct drawing *d)
{
    FILE *out = d->out;
    for (size_t i = 0; i < d->told->n_tracks; i++) {
        const struct gsh_told_track *track = &d->told->tracks[i];
        if (d->strip_of[i] >= 0) {
            fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"l\">PE %d, ", LEFT - 8, y_of(d, i) + 14,
                    d->told->processes[track->process].pe);
            put_text(out, track->name);
            fprintf(out, "</text>\n<path d=\"M%d %.1fh%d\" stroke=\"#e7e9ee\"/>\n", LEFT,
                    y_of(d, i) + STRIP - 1, WIDTH);
        }
    }
}

/* The longest ones, if there are very many. */
static uint64_t shortest_drawn(const struct gsh_told *t)
{
    uint64_t least = 0;
    for (size_t n = t->n_slices; n > SLICES_MAX;) {
        least = least == 0 ? 100 : 2 * least;
        n = 0;
        for (size_t i = 0; i < t->n_slices; i++) {
            n += t->slices[i].end_ns - t->slices[i].begin_ns >= least;
        }
    }
    return least;
}

static void draw_slices(const struct drawing *d)
{
    FILE *out = d->out;
    uint64_t least = shortest_drawn(d->told);
    char time[16];
    for (size_t i = 0; i < d->told->n_slices; i++) {
        const struct gsh_told_slice *s = &d->told->slices[i];
        if (d->strip_of[s->track] < 0 || s->end_ns - s->begin_ns < least) {
            continue;
        }
        double x = x_of(d, s->begin_ns), w = x_of(d, s->end_ns) - x;
        double inset = s->depth > 3 ? 6 : 2.0 * s->depth;
        trace_time(s->end_ns - s->begin_ns, time);
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"><title>", x,
                y_of(d, s->track) + 2 + inset, w < 0.6 ? 0.6 : w, STRIP - 6 - 2 * inset,
                colour_of(s));
        put_text(out, s->name);
        fprintf(out, ", %s</title></rect>\n", time);
    }
}

static void draw_arrows(const struct drawing *d)
{
    FILE *out = d->out;
    size_t n = 0;
    for (size_t i = 0; i < d->summary->n_waits && n < ARROWS_MAX; i++) {
        const struct gsh_told_slice *wait = d->summary->waits[i];
        const struct gsh_told_slice *cause = trace_cause(d->told, wait);
        if (cause == NULL || d->strip_of[cause->track] < 0 || d->strip_of[wait->track] < 0) {
            continue;
        }
        fprintf(out,
                "<path d=\"M%.2f %.1fL%.2f %.1f\" stroke=\"#2b2f38\" stroke-opacity=\"0.55\" "
                "marker-end=\"url(#a)\"/>\n",
                x_of(d, cause->begin_ns), y_of(d, cause->track) + STRIP / 2.0,
                x_of(d, wait->end_ns), y_of(d, wait->track) + STRIP / 2.0);
        n++;
    }
}

static void draw_matrix(const struct drawing *d, double top)
{
    FILE *out = d->out;
    const struct trace_summary *s = d->summary;
    int n = s->n_pes < MATRIX_MAX ? s->n_pes : MATRIX_MAX;
    uint64_t most = 1;
    char text[16];
    for (int i = 0; i < n * n; i++) {
        most = gsh_max_u64(most, s->bytes[(i / n) * s->n_pes + i % n]);
    }
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"l\">bytes from, to</text>\n", LEFT - 8,
            top + 16);
    for (int from = 0; from < n; from++) {
        fprintf(out,
                "<text x=\"%d\" y=\"%.1f\" class=\"m\">PE %d</text>\n"
                "<text x=\"%d\" y=\"%.1f\" class=\"l\">PE %d</text>\n",
                LEFT + from * CELL_W + CELL_W / 2, top + 16, from, LEFT - 8,
                top + 16 + CELL_H * (from + 1), from);
        for (int to = 0; to < n; to++) {
            uint64_t bytes = s->bytes[from * s->n_pes + to];
            trace_bytes(bytes, text);
            fprintf(out,
                    "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#4f7fbf\" "
                    "fill-opacity=\"%.2f\"/><text x=\"%d\" y=\"%.1f\" class=\"m\">%s</text>\n",
                    LEFT + to * CELL_W, top + CELL_H * (from + 1), CELL_W - 2, CELL_H - 2,
                    0.06 + 0.5 * (double)bytes / (double)most, LEFT + to * CELL_W + CELL_W / 2,
                    top + 16 + CELL_H * (from + 1), bytes > 0 ? text : "");
        }
    }
}

enum gsh_result trace_draw(const struct gsh_told *told, const struct trace_summary *s,
                           const char *file)
{
    struct drawing d = {
        .told = told, .summary = s, .begin_ns = told->begin_ns, .end_ns = told->end_ns};
    char time[16];
    if (!give_strips(&d)) {
        free(d.strip_of);
        return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
    }
    FILE *out = d.out = gsh_own_file_create(file);
    if (out == NULL) {
        free(d.strip_of);
        return gsh_fail_errno(GSH_ERR_SYSTEM, "timeline: cannot write %s", file);
    }
    int n = s->n_pes < MATRIX_MAX ? s->n_pes : MATRIX_MAX;
    double below = TOP + STRIP * d.n_strips + 22;
    trace_time(told->end_ns - told->begin_ns, time);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.l{text-anchor:end;fill:#2b2f38}.m{text-anchor:middle;fill:#2b2f38}</style>\n"
            "<defs><marker id=\"a\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" "
            "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"#2b2f38\"/>"
            "</marker></defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"%d\" y=\"20\" fill=\"#2b2f38\">%s: blue: puts and signals; green: gets; "
            "orange: waits; grey: other calls and spans; arrows: what ended a wait</text>\n",
            LEFT + WIDTH + 20, below + CELL_H * (n + 1) + 10, LEFT, time);
    draw_strips(&d);
    draw_slices(&d);
    draw_arrows(&d);
    draw_matrix(&d, below);
    fputs("</svg>\n", out);
    bool has_failed = ferror(out) != 0;
    free(d.strip_of);
    return fclose(out) != 0 || has_failed
               ? gsh_fail_errno(GSH_ERR_SYSTEM, "timeline: cannot write %s", file)
               : GSH_OK;
}
