/* SPDX-License-Identifier: Apache-2.0
 * The command line of gshmemrun, with an error for each way to get it wrong. */
#define _GNU_SOURCE 1
#include "bootstrap/gshmemrun_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_usage(FILE *to)
{
    fputs("usage: gshmemrun -n N [options] program [arguments]\n"
          "Runs N PEs of a gshmem program on this machine.\n"
          "  -n, --n-pes N     number of PEs\n"
          "      --threads     PEs are threads of one process (see gshmemx_run)\n"
          "      --timeout S   end the job after S seconds, with status 124\n"
          "      --tag-output  begin each line of output with the PE's number\n"
          "  -h, --help        print this and exit\n"
          "The exit status is that of the PE that failed first: 128 + n for signal n.\n",
          to);
}

__attribute__((noreturn, format(printf, 1, 2))) static void usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gshmemrun: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n(gshmemrun --help says more)\n", stderr);
    va_end(args);
    exit(GSHMEMRUN_USAGE);
}

static double parse_number(const char *option, const char *text, double lowest, double highest)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= lowest && value <= highest))
        usage_error("%s: '%s' is not a number from %g to %g", option, text, lowest, highest);
    return value;
}

static void parse(int argc, char **argv, struct gshmemrun_options *o)
{
    static const struct option names[] = {
        {"n-pes", required_argument, NULL, 'n'},   {"threads", no_argument, NULL, 't'},
        {"timeout", required_argument, NULL, 's'}, {"tag-output", no_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    double n;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:n:h", names, NULL)) != -1) {
        switch (c) {
        case 'n':
            n = parse_number("-n", optarg, 1, 100000);
            if (n != (int)n)
                usage_error("-n: '%s' is not a whole number", optarg);
            o->n_pes = (int)n;
            break;
        case 't':
            o->is_threads = true;
            break;
        case 's':
            o->timeout_ns = (uint64_t)(parse_number("--timeout", optarg, 0.001, 1e9) * 1e9);
            break;
        case 'g':
            o->tags_output = true;
            break;
        case 'h':
            print_usage(stdout);
            exit(0);
        case ':':
            usage_error("%s needs a value", argv[optind - 1]);
        default:
            usage_error("unknown option %s", argv[optind - 1]);
        }
    }
    if (o->n_pes == 0)
        usage_error("how many PEs? -n is missing");
    if (optind == argc)
        usage_error("no program given");
    o->command = argv + optind;
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* Looked for here and not by execvp, so that a missing program is said once. */
static void find_program(struct gshmemrun_options *o)
{
    const char *name = o->command[0], *dirs = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(o->path, sizeof o->path, "%s", name);
        if (is_program(o->path))
            return;
        struct stat s;
        if (stat(name, &s) != 0) {
            fprintf(stderr, "gshmemrun: %s: %s\n", name, strerror(errno));
            exit(GSHMEMRUN_NOT_FOUND);
        }
        fprintf(stderr, "gshmemrun: %s is not an executable file\n", name);
        exit(GSHMEMRUN_CANNOT_RUN);
    }
    for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; *dir;) {
        size_t n = strcspn(dir, ":");
        snprintf(o->path, sizeof o->path, "%.*s/%s", (int)n, n ? dir : ".", name);
        if (is_program(o->path))
            return;
        dir += n + (dir[n] == ':');
    }
    fprintf(stderr, "gshmemrun: %s: not found in PATH%s%s\n", name,
            is_program(name) ? "; did you mean ./" : "", is_program(name) ? name : "");
    exit(GSHMEMRUN_NOT_FOUND);
}

void gshmemrun_parse(int argc, char **argv, struct gshmemrun_options *options)
{
    parse(argc, argv, options);
    find_program(options);
}
