/* SPDX-License-Identifier: Apache-2.0
 * Conformance to OpenSHMEM 1.5, section by section: all, or those named. */
#include <gshmemx.h>
#include "conform.h"

static const struct {
    const char *name;
    int (*run)(const struct conform *c);
} sections[] = {
    {"query", conform_query},
    {"memory", conform_memory_calls},
    {"teams", conform_teams},
    {"contexts", conform_contexts},
    {"rma", conform_rma},
    {"rma_strided", conform_rma_strided},
    {"amo", conform_amo},
    {"signal", conform_signal},
    {"wait", conform_wait},
    {"collectives", conform_collectives},
    {"reductions", conform_reductions},
    {"active_sets", conform_active_sets},
    {"order", conform_order},
    {"locks", conform_locks},
    {"old", conform_old},
};

static int is_wanted(int argc, char **argv, const char *name)
{
    int wanted = argc < 2;
    for (int i = 1; i < argc; i++) {
        wanted |= strcmp(argv[i], name) == 0;
    }
    return wanted;
}

static int pe_main(int argc, char **argv)
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    int failed = 0;
    const struct conform c = {.me = me, .n = n, .next = (me + 1) % n, .previous = (me + n - 1) % n};
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (is_wanted(argc, argv, sections[i].name)) {
            failed |= sections[i].run(&c);
            shmem_barrier_all();
        }
    }
    shmem_finalize();
    return failed;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
