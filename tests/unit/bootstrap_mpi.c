/* Proves that the MPI plug-in is found and serves any communicator, whole or split, started by the
 * application or not, and that its ranks go on by a unique id that it has carried, or without, if
 * one cannot. Starts itself by
 * mpirun.
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>

#include "tests/rig/over_conform.h"
#include "base/log.h"

static uint64_t timeout_ns = 60 * SECOND;

static struct gsh_bootstrap *open_on(const char *plugin, MPI_Comm comm)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_mpi_create(plugin, &comm, timeout_ns, &b), GSH_OK)) {
        fprintf(stderr, "%s\n", gsh_last_error());
        exit(1);
    }
    return b;
}

static void test_split(const char *plugin)
{
    int rank, half_rank, half_size;
    MPI_Comm half;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Backwards, so that PE numbers are the new ranks and not the old ones. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    struct gsh_bootstrap *b = open_on(plugin, half);
    MPI_Comm_free(&half);
    CHECK_EQ(b->rank, half_rank);
    CHECK_EQ(b->size, half_size);
    conform_exchange(b, 4096);
    b->ops->destroy(b);
}

static void test_bad(const char *plugin)
{
    struct gsh_bootstrap *b = NULL;
    MPI_Comm none = MPI_COMM_NULL;
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    CHECK_EQ(gsh_bootstrap_mpi_create(plugin, NULL, 0, &b), GSH_ERR_ARG);
    CHECK_EQ(gsh_bootstrap_mpi_create(plugin, &none, 0, &b), GSH_ERR_SYSTEM);
    CHECK(strstr(gsh_last_error(), "MPI_COMM_NULL"));
    CHECK_EQ(gsh_bootstrap_mpi_create("libno_such_plugin.so", &none, 0, &b), GSH_ERR_UNSUPPORTED);
    CHECK(strstr(gsh_last_error(), "GSHMEM_MPI_PLUGIN"));
    CHECK_EQ(gsh_bootstrap_mpi_create("libc.so.6", &none, 0, &b), GSH_ERR_UNSUPPORTED);
    CHECK(b == NULL);
}

/* Ranks that say that they are of two hosts go on over TCP unasked. */
static void test_over(const char *plugin)
{
    over_conform(open_on(plugin, MPI_COMM_WORLD));
    struct gsh_bootstrap *b = open_on(plugin, MPI_COMM_WORLD);
    CHECK(over_conform_go(&b, "lo", 1 + (uint64_t)b->rank % 2, false, GSH_OK));
    CHECK_EQ(b->hosts.dealt_ranks, 1);
    conform_exchange(b, 100);
    b->ops->destroy(b);
}

static void test_timeout(const char *plugin)
{
    struct gsh_bootstrap *b = open_on(plugin, MPI_COMM_WORLD);
    b->timeout_ns = SECOND / 10;
    if (b->rank != 0) {
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_TIMEOUT);
    }
    b->ops->destroy(b);
}

static int run_job(const char *how, const char *plugin)
{
    if (strcmp(how, "started") == 0) {
        MPI_Init(NULL, NULL);
    }
    for (int i = 0; i < 2; i++) {
        struct gsh_bootstrap *b = open_on(plugin, MPI_COMM_WORLD);
        CHECK_EQ(b->size, 5);
        conform_exchange(b, 65537);
        b->ops->destroy(b);
    }
    test_split(plugin);
    test_bad(plugin); /* and no line is printed from now on */
    test_over(plugin);
    if (strcmp(how, "started") == 0) {
        test_timeout(plugin);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    return test_result();
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        return run_job(argv[1], argv[2]);
    }
    const char *plugin = argc > 1 ? argv[1] : "libgshmem_mpi.so";
    const char *ways[] = {"started", "not-started"};
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            execlp("mpirun", "mpirun", "--oversubscribe", "-n", "5", argv[0], ways[i], plugin,
                   (char *)NULL);
            _exit(77);
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            test_skip("mpirun");
        }
        CHECK_EQ(status, 0);
    }
    return test_result();
}
