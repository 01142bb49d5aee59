/* SPDX-License-Identifier: Apache-2.0
 * The command line of the Jacobi example. */
#ifndef JACOBI_OPTIONS_H
#define JACOBI_OPTIONS_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum variant { VARIANT_HOST, VARIANT_KERNEL, VARIANT_PERSISTENT, VARIANT_ALL };
static const char *const variant_name[] = {"host", "kernel", "persistent", "all"};

struct options {
    int nx = 512, ny = 512;
    int iterations = 1000, norm_every = 1;
    double tolerance = 1e-8;
    int variant = VARIANT_ALL;
    int blocks = 0; /* 0: as many as can run on the device at once */
    bool is_csv = false, is_check = true, is_quiet = false;
    bool is_kernel_bandwidth = false, is_help = false;
};

static const char usage[] =
    "usage: jacobi [options]\n"
    "Solves Laplace's equation on a grid by Jacobi iteration, on all PEs together, and compares "
    "the\n"
    "result with that of one PE alone. Exit status 0: all results are right.\n"
    "  --nx N, --ny N       columns and rows of the grid, boundary included (512)\n"
    "  --iterations N       at most so many iterations (1000)\n"
    "  --tolerance X        stop after the first iteration whose residual is at most X (1e-8)\n"
    "  --norm-every N       compute the residual in every Nth iteration and the last (1)\n"
    "  --variant NAME       host, kernel, persistent or all (all)\n"
    "  --blocks N           about so many blocks of threads per PE (as many as run at once)\n"
    "  --kernel-bandwidth   time the kernel alone on one PE, beside a copy of the same size\n"
    "  --no-check           no run of one PE alone: no comparison, no efficiency\n"
    "  --csv                results as comma-separated values\n"
    "  --quiet              no progress\n";

/* Each returns NULL, or the reason for refusing the value, stored in `text`. */
static const char *parse_int(const char *value, int low, int high, int *result, char *text,
                             size_t size)
{
    char *end;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || n < low || n > high) {
        snprintf(text, size, "'%s' is not a number from %d to %d", value, low, high);
        return text;
    }
    *result = (int)n;
    return NULL;
}

static const char *parse_tolerance(const char *value, double *result, char *text, size_t size)
{
    char *end;
    const double x = strtod(value, &end);
    if (end == value || *end != '\0' || !(x >= 0) || isinf(x)) {
        snprintf(text, size, "'%s' is not a number that is at least 0", value);
        return text;
    }
    *result = x;
    return NULL;
}

static const char *parse_variant(const char *value, int *result, char *text, size_t size)
{
    for (int v = 0; v <= VARIANT_ALL; v++) {
        if (strcmp(value, variant_name[v]) == 0) {
            *result = v;
            return NULL;
        }
    }
    snprintf(text, size, "'%s' is not one of host, kernel, persistent, all", value);
    return text;
}

/* An option without a value; false if it is not one of these. */
static bool parse_flag(const char *name, options *o)
{
    const struct {
        const char *name;
        bool *flag;
        bool value;
    } flags[] = {{"--csv", &o->is_csv, true},
                 {"--no-check", &o->is_check, false},
                 {"--quiet", &o->is_quiet, true},
                 {"--kernel-bandwidth", &o->is_kernel_bandwidth, true},
                 {"--help", &o->is_help, true}};
    for (const auto &f : flags) {
        if (strcmp(name, f.name) == 0) {
            *f.flag = f.value;
            return true;
        }
    }
    return false;
}

/* Fills in *o from the command line. Returns true, or false with one line in `reason`. */
static bool parse_options(int argc, char **argv, options *o, char *reason, size_t size)
{
    for (int i = 1; i < argc; i++) {
        if (parse_flag(argv[i], o)) {
            continue;
        }
        /* Options with a value: "--name value" or "--name=value". */
        const char *equals = strchr(argv[i], '=');
        const size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const struct {
            const char *name;
            int low, high;
            int *result; /* NULL: no whole number */
        } valued[] = {{"--nx", 3, 1 << 20, &o->nx},
                      {"--ny", 3, 1 << 24, &o->ny},
                      {"--iterations", 1, 1 << 30, &o->iterations},
                      {"--norm-every", 1, 1 << 30, &o->norm_every},
                      {"--blocks", 2, 1 << 20, &o->blocks},
                      {"--tolerance", 0, 0, NULL},
                      {"--variant", 0, 0, NULL}};
        int found = -1;
        for (int v = 0; v < (int)(sizeof(valued) / sizeof(*valued)); v++) {
            if (strlen(valued[v].name) == length && !strncmp(argv[i], valued[v].name, length)) {
                found = v;
            }
        }
        if (found < 0) {
            snprintf(reason, size, "unknown option '%s' (--help lists them)", argv[i]);
            return false;
        }
        const char *value = equals ? equals + 1 : ++i < argc ? argv[i] : NULL;
        char text[160];
        const char *why = "a value is missing";
        if (value != NULL && valued[found].result != NULL) {
            why = parse_int(value, valued[found].low, valued[found].high, valued[found].result,
                            text, sizeof(text));
        } else if (value != NULL && strcmp(valued[found].name, "--tolerance") == 0) {
            why = parse_tolerance(value, &o->tolerance, text, sizeof(text));
        } else if (value != NULL) {
            why = parse_variant(value, &o->variant, text, sizeof(text));
        }
        if (why != NULL) {
            snprintf(reason, size, "%s: %s", valued[found].name, why);
            return false;
        }
    }
    return true;
}

#endif
