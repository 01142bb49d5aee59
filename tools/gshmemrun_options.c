/* SPDX-License-Identifier: Apache-2.0
 * The command line of gshmemrun, with an error for each way to get it wrong. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gshmem/version.h"
#include "tools/gshmemrun_hosts.h"
#include "tools/gshmemrun_output.h"

static void print_usage(FILE *to)
{
    fprintf(
        to,
        "usage: %1$s -n N [options] program [arguments]\n"
        "       %1$s --nccl [-n N [options]] program [arguments]\n"
        "Runs N PEs of a gshmem program, on this machine or on the given hosts.\n"
        "  -n, --n-pes N     number of PEs, -np N too; with --hosts as many as they have room for\n"
        "      --hosts LIST  NAME[:PES],...: the PEs in this order; PES is 1 when not given\n"
        "      --agent CMD   what runs a command on a host: CMD NAME COMMAND...; default: ssh\n"
        "      --threads     PEs are threads of one process (see gshmemx_run)\n"
        "      --timeout S   end the job after S seconds, with status 124\n"
        "      --trace FILE  record a timeline of all PEs into FILE (see gshmem-trace)\n"
        "      --tag-output  begin each line of output with the PE's number\n"
        "      --nccl        programs linked to NCCL run on gshmem, on this machine; without -n\n"
        "                    the program is started as it is\n"
        "  -h, --help        print this and exit\n"
        "      --version     print the version and exit\n"
        "The exit status is that of the PE that failed first: 128 + n for signal n.\n"
        "SIGUSR1 and SIGUSR2 go on to all PEs.\n"
        "Hosts need this program, the PEs' program and the directory at the same paths. Of the\n"
        "environment they get PATH, LD_LIBRARY_PATH and what begins with GSHMEM_, UCX_, CUDA_.\n",
        gshmemrun_name);
}

__attribute__((noreturn, format(printf, 1, 2))) static void usage_error(const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gshmemrun_say("%s\n(%s --help says more)", text, gshmemrun_name);
    exit(GSHMEMRUN_USAGE);
}

static double parse_number(const char *option, const char *text, double lowest, double highest)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= lowest && value <= highest)) {
        usage_error("%s: '%s' is not a number from %g to %g", option, text, lowest, highest);
    }
    return value;
}

/* The value of -n, and of -np N and -npN, which other launchers have: getopt takes these for -n
 * with a value that begins with p. */
static const char *value_of_n(int argc, char **argv)
{
    bool is_attached =
        optarg > argv[optind - 1] && optarg <= argv[optind - 1] + strlen(argv[optind - 1]);
    if (!is_attached || argv[optind - 1][1] == '-' || optarg[0] != 'p') {
        return optarg;
    }
    if (optarg[1] == '\0' && optind == argc) {
        usage_error("-np needs a value");
    }
    return optarg[1] != '\0' ? optarg + 1 : argv[optind++];
}

static void parse(int argc, char **argv, struct gshmemrun_options *o)
{
    static const struct option names[] = {
        {"n-pes", required_argument, NULL, 'n'},
        {"np", required_argument, NULL, 'n'},
        {"as", required_argument, NULL, 'A'},
        {"threads", no_argument, NULL, 't'},
        {"timeout", required_argument, NULL, 's'},
        {"tag-output", no_argument, NULL, 'g'},
        {"trace", required_argument, NULL, 'T'},
        {"hosts", required_argument, NULL, 'H'},
        {"agent", required_argument, NULL, 'a'},
        {"nccl", no_argument, NULL, 'N'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    const char *value;
    double n;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:n:h", names, NULL)) != -1) {
        switch (c) {
        case 'n':
            value = value_of_n(argc, argv);
            n = parse_number("-n", value, 1, GSHMEMRUN_MAX_PES);
            if (n != (int)n) {
                usage_error("-n: '%s' is not a whole number", value);
            }
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
        case 'T':
            if (optarg[0] == '\0') {
                usage_error("%s needs a value", "--trace");
            }
            o->trace = optarg;
            break;
        case 'H':
            o->hosts_text = optarg;
            break;
        case 'a':
            o->agent = optarg;
            break;
        case 'N':
            o->is_nccl = true;
            break;
        case 'A': /* not for users: what runs this program */
            gshmemrun_name = optarg;
            break;
        case 'V':
            printf("%s\n", GSHMEM_VENDOR_STRING);
            exit(0);
        case 'h':
            print_usage(stdout);
            exit(0);
        case ':':
            usage_error("%s needs a value", argv[optind - 1]);
        default:
            usage_error("unknown option %s", argv[optind - 1]);
        }
    }
    if (o->n_pes == 0 && o->hosts_text == NULL && !o->is_nccl) {
        usage_error("how many PEs? -n is missing");
    }
    if (o->agent != NULL && o->hosts_text == NULL) {
        usage_error("--agent is for --hosts");
    }
    if (o->hosts_text != NULL && o->is_threads) {
        usage_error("--threads: PEs of one process are on one host");
    }
    if (o->hosts_text != NULL && o->is_nccl) {
        usage_error("--nccl is for this machine: LD_PRELOAD does not reach other hosts");
    }
    if (optind == argc) {
        usage_error("no program given");
    }
    o->command = argv + optind;
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* What a script's first line names must be there, too: the system says of either that there is no
 * such file. */
static void check_interpreter(const char *path)
{
    char line[PATH_MAX + 2] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return; /* it may be run, and not read */
    }
    const bool is_script = fgets(line, sizeof(line), file) != NULL && strncmp(line, "#!", 2) == 0;
    fclose(file);
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    if (!is_script || *name == '\0' || access(name, F_OK) == 0) {
        return;
    }
    const size_t length = strlen(name);
    const bool has_return = name[length - 1] == '\r';
    name[length - has_return] = '\0';
    gshmemrun_say("%s: its interpreter is missing: %s%s", path, name,
                  has_return ? ", with a carriage return behind it" : "");
    exit(GSHMEMRUN_CANNOT_RUN);
}

static void look_for_program(struct gshmemrun_options *o)
{
    const char *name = o->command[0], *dirs = secure_getenv("PATH");
    if (strchr(name, '/') != NULL) {
        snprintf(o->path, sizeof(o->path), "%s", name);
        if (is_program(o->path)) {
            return;
        }
        struct stat s;
        if (stat(name, &s) != 0) {
            gshmemrun_say("%s: %s", name, strerror(errno));
            exit(GSHMEMRUN_NOT_FOUND);
        }
        gshmemrun_say("%s is not an executable file", name);
        exit(GSHMEMRUN_CANNOT_RUN);
    }
    for (const char *dir = dirs != NULL ? dirs : "/bin:/usr/bin"; *dir;) {
        size_t n = strcspn(dir, ":");
        snprintf(o->path, sizeof(o->path), "%.*s/%s", (int)n, n ? dir : ".", name);
        if (is_program(o->path)) {
            return;
        }
        dir += n + (dir[n] == ':');
    }
    gshmemrun_say("%s: not found in PATH%s%s", name, is_program(name) ? "; did you mean ./" : "",
                  is_program(name) ? name : "");
    exit(GSHMEMRUN_NOT_FOUND);
}

/* Searched for here and not by execvp, so that a missing program is reported once. */
static void find_program(struct gshmemrun_options *o)
{
    look_for_program(o);
    check_interpreter(o->path);
}

void gshmemrun_parse(int argc, char **argv, struct gshmemrun_options *options)
{
    if (argc == 2 && strcmp(argv[1], "--branch") == 0) {
        options->is_branch = true;
        gshmemrun_send_mark(GSHMEMRUN_STARTED);
        if (!gshmemrun_receive_job(STDIN_FILENO, options)) {
            exit(GSHMEMRUN_USAGE);
        }
        find_program(options);
        return;
    }
    parse(argc, argv, options);
    if (options->hosts_text != NULL) {
        options->agent = options->agent != NULL ? options->agent : "ssh";
        gshmemrun_find_hosts(options);
        return; /* the hosts search for the program */
    }
    options->count = options->n_pes;
    find_program(options);
}
