/* Proves that a program not linked to MPI exchanges blobs through its launcher's PMIx server, in
 * several jobs one after another, and says so if there is no launcher; and that its ranks go on by
 * a unique id that it has carried, or without, if one cannot. Starts itself by mpirun.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/over_conform.h"
#include "base/log.h"

static void test_no_launcher(void)
{
    struct gsh_bootstrap *b = NULL;
    CHECK_EQ(gsh_bootstrap_pmix_create(SECOND, &b), GSH_ERR_UNSUPPORTED);
    CHECK(b == NULL);
    CHECK(strstr(gsh_last_error(), "PMIX_NAMESPACE"));
}

static void test_job(void)
{
    for (int i = 0; i < 3; i++) {
        struct gsh_bootstrap *b = NULL, *second = NULL;
        if (!CHECK_EQ(gsh_bootstrap_pmix_create(60 * SECOND, &b), GSH_OK)) {
            fprintf(stderr, "%s\n", gsh_last_error());
            return;
        }
        CHECK_EQ(b->size, 5);
        conform_exchange(b, 65537);
        CHECK_EQ(gsh_bootstrap_pmix_create(60 * SECOND, &second), GSH_ERR_STATE);
        if (i < 2) {
            over_conform(b);
        } else {
            b->ops->destroy(b);
        }
    }
}

/* PE 0 ends without coming. A server that has seen its end before the others come no longer watches
 * for it: then the time limit ends their call. */
static void test_one_leaves(void)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_pmix_create(5 * SECOND, &b), GSH_OK)) {
        return;
    }
    if (b->rank != 0) {
        enum gsh_result r = b->ops->barrier(b);
        CHECK(r == GSH_ERR_PEER || r == GSH_ERR_TIMEOUT);
    }
    b->ops->destroy(b);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "job") == 0) {
        gsh_log_setup(GSH_LOG_NONE, 0, NULL);
        test_job();
        test_one_leaves();
        return test_result();
    }
    unsetenv("PMIX_NAMESPACE");
    test_no_launcher();
    if (test_result() != 0) {
        return 1;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    execlp("mpirun", "mpirun", "--oversubscribe", "-n", "5", argv[0], "job", (char *)NULL);
    test_skip("mpirun");
}
