/* SPDX-License-Identifier: Apache-2.0
 * Tables, matrices and the picture of gshmem-info --check. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/own_file.h"
#include "check.h"

const char *const check_names[CHECK_N_MEASURES] = {
    "put, 8 B", "put, large", "get, 8 B", "get, large", "atomic", "signal",
};
const char *const check_units[CHECK_N_MEASURES] = {"us", "GB/s", "us", "GB/s", "us", "us"};

bool check_is_crowded;

enum { MOST_NUMBERS = 16, MOST_LINES = 20 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double check_median(const struct check_pair *pairs, size_t n_pairs, const char *route, int measure)
{
    double *values = malloc((n_pairs + 1) * sizeof(*values)), median = 0;
    size_t n = 0;
    for (size_t i = 0; values != NULL && i < n_pairs; i++) {
        if (strcmp(pairs[i].route, route) == 0) {
            values[n++] = pairs[i].values[measure];
        }
    }
    if (n > 0) {
        qsort(values, n, sizeof(*values), compare_doubles);
        median = values[n / 2];
    }
    free(values);
    return median;
}

bool check_is_slow(const struct check_pair *pair, int measure, double median)
{
    double value = pair->values[measure];
    return median > 0 && !(measure == CHECK_SIGNAL && check_is_crowded) &&
           (check_is_rate(measure) ? value < median / 2 : value > 2 * median);
}

enum { MOST_ROUTES = 8 };
static struct {
    char route[16];
    double values[CHECK_N_MEASURES];
} known[MOST_ROUTES]; /* of the report or picture that is being made */
static int n_known;

/* The medians of that route. */
static const double *medians_of(const struct check_pair *pairs, size_t n_pairs, const char *route)
{
    for (int i = 0; i < n_known; i++) {
        if (strcmp(known[i].route, route) == 0) {
            return known[i].values;
        }
    }
    n_known = n_known < MOST_ROUTES ? n_known + 1 : n_known;
    snprintf(known[n_known - 1].route, sizeof(known[0].route), "%s", route);
    for (int m = 0; m < CHECK_N_MEASURES; m++) {
        known[n_known - 1].values[m] = check_median(pairs, n_pairs, route, m);
    }
    return known[n_known - 1].values;
}

static bool is_first_of_route(const struct check_pair *pairs, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(pairs[i].route, pairs[at].route) == 0) {
            return false;
        }
    }
    return true;
}

static void print_route(FILE *out, const struct check_pair *pairs, size_t n_pairs,
                        const char *route)
{
    const double *medians = medians_of(pairs, n_pairs, route);
    size_t n = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        n += strcmp(pairs[i].route, route) == 0;
    }
    fprintf(out, "\nroute %s: %zu pairs\n  %-12s %10s %10s %10s\n", route, n, "", "median", "worst",
            "pair");
    for (int m = 0; m < CHECK_N_MEASURES; m++) {
        const struct check_pair *worst = NULL;
        for (size_t i = 0; i < n_pairs; i++) {
            bool is_worse =
                strcmp(pairs[i].route, route) == 0 &&
                (worst == NULL || (pairs[i].values[m] < worst->values[m]) == check_is_rate(m));
            worst = is_worse ? &pairs[i] : worst;
        }
        char pair[32];
        snprintf(pair, sizeof(pair), "%d->%d", worst->from, worst->to);
        fprintf(out, "  %-12s %10.3g %10.3g %10s  %s\n", check_names[m], medians[m],
                worst->values[m], pair, check_units[m]);
    }
}

static const struct check_pair *find(const struct check_pair *pairs, size_t n_pairs, int from,
                                     int to)
{
    for (size_t i = 0; i < n_pairs; i++) {
        if (pairs[i].from == from && pairs[i].to == to) {
            return &pairs[i];
        }
    }
    return NULL;
}

static bool is_any_slow(const struct check_pair *pairs, size_t n_pairs,
                        const struct check_pair *pair)
{
    const double *medians = medians_of(pairs, n_pairs, pair->route);
    for (int m = 0; m < CHECK_N_MEASURES; m++) {
        if (check_is_slow(pair, m, medians[m])) {
            return true;
        }
    }
    return false;
}

static void print_numbers(FILE *out, const struct check_pair *pairs, size_t n_pairs, int n_pes,
                          int measure)
{
    fprintf(out, "\n%s, %s (row: who calls; column: whom; ! slow, X wrong)\n      ",
            check_names[measure], check_units[measure]);
    for (int to = 0; to < n_pes; to++) {
        fprintf(out, " %7d", to);
    }
    for (int from = 0; from < n_pes; from++) {
        fprintf(out, "\n  %3d ", from);
        for (int to = 0; to < n_pes; to++) {
            const struct check_pair *pair = find(pairs, n_pairs, from, to);
            const double *medians = pair ? medians_of(pairs, n_pairs, pair->route) : NULL;
            if (pair == NULL) {
                fprintf(out, " %6s ", "-");
            } else {
                fprintf(out, " %6.3g%c", pair->values[measure],
                        pair->wrong.call >= 0                            ? 'X'
                        : check_is_slow(pair, measure, medians[measure]) ? '!'
                                                                         : ' ');
            }
        }
    }
    fprintf(out, "\n");
}

static void print_marks(FILE *out, const struct check_pair *pairs, size_t n_pairs, int n_pes)
{
    fprintf(out, "\npairs (row: who calls; column: whom): . fine, ! slow, X wrong\n");
    for (int from = 0; from < n_pes; from++) {
        fprintf(out, "  %3d ", from);
        for (int to = 0; to < n_pes; to++) {
            const struct check_pair *pair = find(pairs, n_pairs, from, to);
            fputc(pair == NULL                        ? ' '
                  : pair->wrong.call >= 0             ? 'X'
                  : is_any_slow(pairs, n_pairs, pair) ? '!'
                                                      : '.',
                  out);
        }
        fprintf(out, "\n");
    }
}

static void print_slow(FILE *out, const struct check_pair *pair, const double *medians)
{
    fprintf(out, "slow: PE %d -> PE %d (%s):", pair->from, pair->to, pair->route);
    for (int m = 0; m < CHECK_N_MEASURES; m++) {
        if (check_is_slow(pair, m, medians[m])) {
            fprintf(out, " %s %.3g %s (median %.3g);", check_names[m], pair->values[m],
                    check_units[m], medians[m]);
        }
    }
    fprintf(out, "\n");
}

static void print_advice(FILE *out, const char *route)
{
    static const struct {
        const char *route, *advice;
    } rows[] = {
        {"memory", "look for other work on these CPUs (top), and at how the launcher binds PEs"},
        {"thread", "look for other work on these CPUs (top)"},
        {"nvlink", "compare nvidia-smi topo -m and nvidia-smi nvlink -s of the GPUs of that pair"},
        {"pcie", "compare nvidia-smi topo -m and the link width and speed of nvidia-smi -q"},
        {"ucx", "look at UCX_NET_DEVICES and the links of that host (ibstat, ethtool), and at "
                "GSHMEM_PROXY_CPUS: the proxies need CPUs of their own"},
        {"loop", "this transport is for tests"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].route, route) == 0) {
            fprintf(out, "what to do (%s): run it again; if the same pair is slow, %s\n", route,
                    rows[i].advice);
        }
    }
}

int check_report(FILE *out, const struct check_pair *pairs, size_t n_pairs, int n_pes, int *n_slow)
{
    int n_wrong = 0;
    n_known = 0;
    *n_slow = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        if (is_first_of_route(pairs, i)) {
            print_route(out, pairs, n_pairs, pairs[i].route);
        }
    }
    if (n_pes > CHECK_MOST_PES) {
        fprintf(out, "\n%zu of %zu pairs were tried: PEs that are 1, 2, 4, ... apart\n", n_pairs,
                (size_t)n_pes * (size_t)(n_pes - 1));
    } else if (n_pes > MOST_NUMBERS) {
        print_marks(out, pairs, n_pairs, n_pes);
    } else if (n_pes > 1) {
        for (int m = 0; m < CHECK_N_MEASURES; m++) {
            print_numbers(out, pairs, n_pairs, n_pes, m);
        }
    }
    if (check_is_crowded) {
        fprintf(out, "\na host has more PEs than CPUs for them: how long a signal takes depends on "
                     "what else runs, and is not judged\n");
    }
    fprintf(out, "\n");
    for (size_t i = 0; i < n_pairs; i++) {
        const struct check_pair *p = &pairs[i];
        if (p->wrong.call >= 0) {
            fprintf(out,
                    "WRONG: PE %d -> PE %d (%s): %s: %s %llu is 0x%02x, and should be 0x%02x\n",
                    p->from, p->to, p->route, check_names[p->wrong.call],
                    p->wrong.call == CHECK_ATOMIC ? "the result of number" : "the byte at offset",
                    (unsigned long long)p->wrong.offset, p->wrong.seen, p->wrong.expected);
            n_wrong++;
        }
    }
    for (size_t i = 0; i < n_pairs; i++) {
        if (is_any_slow(pairs, n_pairs, &pairs[i]) && ++*n_slow <= MOST_LINES) {
            print_slow(out, &pairs[i], medians_of(pairs, n_pairs, pairs[i].route));
        }
    }
    for (size_t i = 0; *n_slow > 0 && i < n_pairs; i++) {
        bool is_slow = false;
        for (size_t k = i; is_first_of_route(pairs, i) && k < n_pairs && !is_slow; k++) {
            is_slow = strcmp(pairs[k].route, pairs[i].route) == 0 &&
                      is_any_slow(pairs, n_pairs, &pairs[k]);
        }
        if (is_slow) {
            print_advice(out, pairs[i].route);
        }
    }
    return n_wrong;
}

static void draw_matrix(FILE *out, const struct check_pair *pairs, size_t n_pairs, int measure,
                        int x, int y, int cell)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\">%s, %s</text>\n", x, y - 6, check_names[measure],
            check_units[measure]);
    for (size_t i = 0; i < n_pairs; i++) {
        const struct check_pair *p = &pairs[i];
        double median = medians_of(pairs, n_pairs, p->route)[measure], value = p->values[measure];
        /* 1: as the median, 0: half as fast or worse */
        double speed = median > 0 && value > 0
                           ? (check_is_rate(measure) ? value / median : median / value)
                           : 1;
        double shade = speed >= 1 ? 1 : speed <= 0.5 ? 0 : 2 * speed - 1;
        bool is_wrong = p->wrong.call >= 0;
        fprintf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                "fill-opacity=\"%.2f\" stroke=\"%s\"><title>PE %d to PE %d, %s: %.3g %s%s"
                "</title></rect>\n",
                x + p->to * cell, y + p->from * cell, cell - 1, cell - 1,
                is_wrong    ? "#000000"
                : shade > 0 ? "#2a7f62"
                            : "#c0392b",
                is_wrong || shade <= 0 ? 1.0 : 0.25 + 0.75 * shade,
                shade > 0 && !is_wrong ? "none" : "#7b1e12", p->from, p->to, p->route, value,
                check_units[measure], is_wrong ? ", WRONG" : "");
    }
}

bool check_draw(const char *path, const struct check_pair *pairs, size_t n_pairs, int n_pes)
{
    const int cell = n_pes <= 16 ? 16 : n_pes <= CHECK_MOST_PES ? 6 : 2;
    const int side = n_pes * cell + 40, width = 3 * (side < 140 ? 140 : side) + 20;
    const int step = (width - 20) / 3;
    FILE *out = gsh_own_file_create(path);
    n_known = 0;
    if (out == NULL) {
        return false;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<text x=\"20\" y=\"20\">Row: who calls. Column: whom. Red: slower "
            "than half the median of its route. Black: wrong.</text>\n",
            width < 520 ? 520 : width, 2 * side + 50);
    for (int m = 0; m < CHECK_N_MEASURES; m++) {
        draw_matrix(out, pairs, n_pairs, m, 20 + m % 3 * step, 55 + m / 3 * side, cell);
    }
    fprintf(out, "</svg>\n");
    bool is_written = !ferror(out);
    return fclose(out) == 0 && is_written;
}
