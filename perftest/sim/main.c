/* SPDX-License-Identifier: Apache-2.0
 * A job of many PEs in virtual time. README.md says what it does and how it is called. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "perftest/sim/goal.h"
#include "perftest/sim/phases.h"

struct options {
    struct sim_model model;
    int n_pes;
    uint64_t seed, bytes;
    const char *what; /* job, failures, or a part */
    const char *csv, *goal;
};

static const char usage_text[] =
    "usage: sim [-n PEs] [--model=FILE] [--set=NAME=NUMBER] [--seed=NUMBER]\n"
    "           [--bytes=NUMBER] [--csv=FILE] [--goal=FILE] [WHAT]\n"
    "Runs gshmem's start-up and collectives for many PEs in virtual time. WHAT is one of\n"
    "  job           start-up, malloc, growth, barrier, team_split, finalize (the default)\n"
    "  failures      the same, with a PE that dies, or hangs, at the beginning of each phase\n"
    "  scale         what perftest/scale measures of real PEs\n"
    "  exchanges     the exchanges of start-up alone\n"
    "  sync          a barrier\n"
    "  reduce, broadcast, fcollect, alltoall, reducescatter\n"
    "                a collective of --bytes bytes of each PE\n"
    "  votes         allocations that some PEs fail, or ask for with other sizes\n"
    "  parameters    writes the model's parameters, for --model\n"
    "-n: PEs, 1024 if not given. --csv adds the table to a file; --goal writes the schedule for\n"
    "LogGOPSim. perftest/sim/README.md tells more.\n";

static int usage(void)
{
    fputs(usage_text, stderr);
    return 2;
}

/* The whole text is a number. */
static bool read_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 0);
    const bool is_good = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_good) {
        fprintf(stderr, "sim: '%s' is not a number\n", text);
    }
    return is_good;
}

static bool read_model(struct options *o, const char *name)
{
    FILE *file = fopen(name, "r");
    if (file == NULL) {
        perror(name);
        return false;
    }
    const bool is_good = sim_model_read(&o->model, file, name);
    fclose(file);
    return is_good;
}

static bool read_option(struct options *o, const char *arg)
{
    if (strncmp(arg, "--model=", 8) == 0) {
        return read_model(o, arg + 8);
    }
    if (strncmp(arg, "--set=", 6) == 0) {
        return sim_model_set(&o->model, arg + 6);
    }
    if (strncmp(arg, "--seed=", 7) == 0) {
        return read_number(arg + 7, &o->seed);
    }
    if (strncmp(arg, "--bytes=", 8) == 0) {
        return read_number(arg + 8, &o->bytes);
    }
    if (strncmp(arg, "--csv=", 6) == 0) {
        o->csv = arg + 6;
    } else if (strncmp(arg, "--goal=", 7) == 0) {
        o->goal = arg + 7;
    } else if (arg[0] != '-' && o->what == NULL) {
        o->what = arg;
    } else {
        return false;
    }
    return true;
}

/* ---- tables ---- */

static const char *time_text(double ns, char text[32])
{
    const char *const unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
    const double value = ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
    snprintf(text, 32, "%.4g %s", value, unit);
    return text;
}

static const char *bytes_text(double bytes, char text[32])
{
    const char *const unit = bytes < 1024 ? "B" : bytes < 1048576 ? "KiB" : "MiB";
    snprintf(text, 32, "%.4g %s",
             bytes < 1024      ? bytes
             : bytes < 1048576 ? bytes / 1024
                               : bytes / 1048576,
             unit);
    return text;
}

/* False: not into the file. */
static bool print_phases(const struct options *o, const struct sim *s)
{
    uint64_t begin = sim_begin_ns(s), longest = 0, kept = 0;
    int dominates = 0;
    FILE *csv = o->csv == NULL ? NULL : fopen(o->csv, "a");
    if (o->csv != NULL && csv == NULL) {
        perror(o->csv);
        return false;
    }
    if (csv != NULL && ftell(csv) == 0) {
        fprintf(csv, "pes,phase,rounds,messages,sent_bytes,call_bytes,kept_bytes,ns,pe_ns\n");
    }
    printf("%d PEs on %d nodes; for each PE at most, where the rendezvous counts as one:\n\n",
           o->n_pes, sim_n_nodes(&o->model, o->n_pes));
    printf("%-20s %7s %9s %12s %12s %12s %12s\n", "phase", "rounds", "messages", "sent", "memory",
           "keeps", "time");
    for (int i = 0; i < sim_n_phases(s); i++) {
        const struct sim_phase *p = sim_phase(s, i);
        const uint64_t ns = p->end_ns > begin ? p->end_ns - begin : 0;
        char sent[32], memory[32], keeps[32], time[32];
        kept += p->keeps_bytes;
        printf("%-20s %7" PRIu64 " %9" PRIu64 " %12s %12s %12s %12s\n", p->name, p->rounds,
               p->most.messages, bytes_text((double)p->most.bytes, sent),
               bytes_text((double)p->memory, memory), bytes_text((double)p->keeps_bytes, keeps),
               time_text((double)ns, time));
        if (csv != NULL) {
            fprintf(csv,
                    "%d,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%" PRIu64 "\n",
                    o->n_pes, p->name, p->rounds, p->most.messages, p->most.bytes, p->memory,
                    p->keeps_bytes, ns, p->longest_ns);
        }
        dominates = ns > longest ? i : dominates;
        longest = ns > longest ? ns : longest;
        begin = p->end_ns > begin ? p->end_ns : begin;
    }
    char time[32], share[32], keeps[32];
    printf("\n%s in all, most of it in '%s' (%s); a PE keeps %s; %" PRIu64 " events\n",
           time_text((double)(sim_end_ns(s) - sim_begin_ns(s)), time),
           sim_phase(s, dominates)->name, time_text((double)longest, share),
           bytes_text((double)kept, keeps), sim_n_events(s));
    if (sim_n_connections(s) > 0) {
        printf("the rendezvous has %d connections\n", sim_n_connections(s));
    }
    return csv == NULL || fclose(csv) == 0;
}

/* ---- what is simulated ---- */

static const struct {
    const char *name;
    enum gsh_coll coll;
} colls[] = {{"reduce", GSH_COLL_REDUCE},
             {"broadcast", GSH_COLL_BROADCAST},
             {"fcollect", GSH_COLL_FCOLLECT},
             {"alltoall", GSH_COLL_ALLTOALL},
             {"reducescatter", GSH_COLL_REDUCESCATTER}};
enum { N_COLLS = sizeof(colls) / sizeof(colls[0]) };

static bool is_by_leaders(const struct options *o, int coll)
{
    const uint64_t n_nodes = (uint64_t)sim_n_nodes(&o->model, o->n_pes);
    const uint64_t n = colls[coll].coll == GSH_COLL_REDUCE      ? n_nodes
                       : colls[coll].coll == GSH_COLL_BROADCAST ? 1
                                                                : (uint64_t)o->n_pes;
    return colls[coll].coll != GSH_COLL_ALLTOALL && colls[coll].coll != GSH_COLL_REDUCESCATTER &&
           gsh_coll_block_bytes(o->bytes) * n <= (uint64_t)o->model.far_flat;
}

static void add_all(struct sim *s)
{
    sim_add_init(s);
    sim_add_malloc(s);
    sim_add_grow(s);
    sim_add_sync(s);
    sim_add_split(s);
    sim_add_finalize(s);
}

static int simulate(const struct options *o, const struct sim_fault *fault, bool is_quiet)
{
    struct sim *s = sim_create(&o->model, o->n_pes, o->seed);
    bool is_known = false;
    if (strcmp(o->what, "job") == 0) {
        add_all(s);
        is_known = true;
    } else if (strcmp(o->what, "votes") == 0) {
        sim_add_failed_malloc(s, SIM_ONE_DIFFERS);
        sim_add_failed_malloc(s, SIM_ONE_FAILS);
        is_known = true;
    } else if (strcmp(o->what, "scale") == 0) {
        sim_add_scale(s);
        is_known = true;
    } else if (strcmp(o->what, "exchanges") == 0) {
        sim_add_exchanges(s);
        is_known = true;
    } else if (strcmp(o->what, "sync") == 0) {
        sim_add_sync(s);
        is_known = true;
    }
    for (int i = 0; i < N_COLLS; i++) {
        if (strcmp(o->what, colls[i].name) == 0 && o->model.dealt_hosts <= 0) {
            sim_add_coll(s, colls[i].name, colls[i].coll, o->bytes, is_by_leaders(o, i));
            is_known = true;
        }
    }
    int status = is_known ? 0 : usage();
    if (is_known && o->goal != NULL) {
        status = sim_write_goal(s, o->goal) ? 0 : 1;
    }
    if (is_known && !sim_run(s, *fault)) {
        fprintf(stderr, "some PEs wait for what never comes\n");
        status = 1;
    }
    if (is_known && !is_quiet && status == 0) {
        status = print_phases(o, s) ? 0 : 1;
    }
    sim_destroy(s);
    return status;
}

/* A PE that dies, and one that stays and does nothing, at the beginning of each phase. */
static int fail_everywhere(const struct options *o)
{
    const char *before = "";
    struct sim *all = sim_create(&o->model, o->n_pes, o->seed);
    add_all(all);
    printf("%d PEs, of which PE %d dies or hangs when it begins a phase:\n\n", o->n_pes,
           o->n_pes / 2);
    printf("%-20s %-7s %12s %12s %9s %9s\n", "phase", "", "first notice", "last", "PEs", "do not");
    for (int i = 0; i < sim_n_calls(all); i++) {
        const char *name = sim_phase_of_call(all, i);
        for (int hangs = 0; hangs < 2 && strcmp(name, before) != 0; hangs++) {
            char first[32], last[32];
            struct sim *s = sim_create(&o->model, o->n_pes, o->seed);
            add_all(s);
            (void)sim_run(s, (struct sim_fault){o->n_pes / 2, i, hangs != 0});
            const struct sim_notice n = sim_noticed(s);
            printf("%-20s %-7s %12s %12s %9d %9d\n", name, hangs != 0 ? "hangs" : "dies",
                   n.n_noticed == 0 ? "never" : time_text((double)n.first - (double)n.at, first),
                   n.n_noticed == 0 ? "" : time_text((double)n.last - (double)n.at, last),
                   n.n_noticed, n.n_waiting);
            if (sim_rendezvous_text(s)[0] != '\0') {
                printf("    %s\n", sim_rendezvous_text(s));
            }
            sim_destroy(s);
        }
        before = name;
    }
    sim_destroy(all);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.n_pes = 1024, .seed = 1, .bytes = 8};
    const struct sim_fault none = {.pe = -1};
    sim_model_init(&o.model);
    for (int i = 1; i < argc; i++) {
        uint64_t n_pes;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage_text, stdout);
            return 0;
        }
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
            if (!read_number(argv[++i], &n_pes)) {
                return 2;
            }
            o.n_pes = n_pes <= 1 << 20 ? (int)n_pes : 0;
        } else if (!read_option(&o, argv[i])) {
            return usage();
        }
    }
    o.what = o.what != NULL ? o.what : "job";
    if (o.n_pes < 1 || o.n_pes > 1 << 20) {
        fprintf(stderr, "-n: 1 to %d PEs\n", 1 << 20);
        return 2;
    }
    if (strcmp(o.what, "parameters") == 0) {
        sim_model_write(&o.model, stdout);
        return 0;
    }
    return strcmp(o.what, "failures") == 0 ? fail_everywhere(&o) : simulate(&o, &none, false);
}
