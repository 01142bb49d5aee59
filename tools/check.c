/* SPDX-License-Identifier: Apache-2.0
 * The order of gshmem-info --check. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <gshmemx.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/env.h"
#include "base/own_file.h"
#include "base/util.h"

static const char *svg_path;

/* What PE 0 has to say; whether no pair was wrong and all of it is written. */
static bool say(const struct check_pair *pairs, size_t n_pairs, int n_differences)
{
    int n_slow = 0, n_pes = gshmem_n_pes();
    int n_wrong = check_report(stdout, pairs, n_pairs, n_pes, &n_slow);
    bool is_drawn = svg_path == NULL || check_draw(svg_path, pairs, n_pairs, n_pes);
    if (!is_drawn) {
        fprintf(stderr, "gshmem-info: cannot write %s: %s\n", svg_path, strerror(errno));
    }
    printf("\n%d difference%s, %d slow pair%s, %d wrong pair%s\n", n_differences,
           GSH_PLURAL(n_differences), n_slow, GSH_PLURAL(n_slow), n_wrong, GSH_PLURAL(n_wrong));
    fflush(stdout);
    return n_wrong == 0 && is_drawn;
}

/* Before minutes are spent on what it is to hold. An earlier picture stays until then. */
static bool can_draw(void)
{
    if (svg_path == NULL) {
        return true;
    }
    int file = gsh_own_file_open(svg_path, O_APPEND);
    if (file < 0) {
        fprintf(stderr, "gshmem-info: cannot write %s: %s\n", svg_path, strerror(errno));
        return false;
    }
    close(file);
    return true;
}

static int pe_main(int argc, char **argv)
{
    (void)argc, (void)argv;
    if (gshmemx_init_attr(0, NULL) != 0) {
        return 1;
    }
    if ((gshmem_my_pe() == 0 && !can_draw()) || gshmemx_device_setup() != 0) {
        gshmem_global_exit(1);
    }
    const int n_pes = gshmem_n_pes(), me = gshmem_my_pe();
    size_t n_pairs;
    struct check_pair *pairs = check_list_pairs(n_pes, &n_pairs);
    if (pairs == NULL) {
        fprintf(stderr, "gshmem-info: no memory for %d PEs\n", n_pes);
        gshmem_global_exit(1);
    }
    bool is_right = true;
    int n_differences = check_compare(stdout);
    if (!check_run_pairs(pairs, n_pairs)) {
        fprintf(stderr, "gshmem-info: no memory for the pairs of %d PEs\n", n_pes);
        gshmem_global_exit(1);
    }
    if (me == 0) {
        is_right = say(pairs, n_pairs, n_differences);
    }
    free(pairs);
    gshmem_finalize();
    return !is_right;
}

int check_main(const char *svg)
{
    char *no_arguments[] = {NULL};
    svg_path = svg;
    if (gsh_env_text("GSHMEM_WAIT_TIMEOUT") == NULL) {
        setenv("GSHMEM_WAIT_TIMEOUT", "60", 1); /* a route that does not work is named */
    }
    return gshmemx_run(pe_main, 0, no_arguments);
}
