/* SPDX-License-Identifier: Apache-2.0
 * Start-up without a launcher: one process makes a unique id, the program itself carries it to the
 * others (here through a pipe; a file, a socket or a job system works as well), and all of them
 * pass it to init with their PE number.
 *
 *     ./uid_init [number of PEs] */
#include <gshmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { max_pes = 64 };

static int run_pe(int me, int n, const gshmemx_uniqueid_t *id)
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    int error = gshmemx_set_attr_uniqueid_args(me, n, id, &attr);
    if (error == 0) {
        error = gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr);
    }
    if (error != 0) {
        fprintf(stderr, "uid_init: PE %d: %s\n", me, gshmemx_error_string(error));
        return 1;
    }

    /* Every PE adds its number to a sum on PE 0. */
    long *sum = gshmem_calloc(1, sizeof(*sum));
    if (sum == NULL) {
        gshmem_global_exit(1);
    }
    gshmem_long_atomic_add(sum, me + 1, 0);
    gshmem_barrier_all();
    const long found = gshmem_long_g(sum, 0), expected = (long)n * (n + 1) / 2;
    if (found != expected) {
        fprintf(stderr, "uid_init: PE %d: sum %ld, expected %ld\n", me, found, expected);
    } else if (me == 0) {
        printf("uid_init: %d PEs without a launcher: right\n", n);
    }
    gshmem_free(sum);
    gshmem_finalize();
    return found == expected ? 0 : 1;
}

/* A child: receives its id from the parent through the pipe. */
static int run_child(int me, int n, int from_parent)
{
    gshmemx_uniqueid_t id;
    if (read(from_parent, &id, sizeof(id)) != (ssize_t)sizeof(id)) {
        fprintf(stderr, "uid_init: PE %d: no id came\n", me);
        return 1;
    }
    return run_pe(me, n, &id);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    if (n < 1 || n > max_pes) {
        fprintf(stderr, "uid_init: the number of PEs must be between 1 and %d\n", max_pes);
        return 2;
    }

    /* The children are forked first: a process that uses a GPU, or has threads, must not fork. */
    int to_child[max_pes] = {0};
    for (int pe = 1; pe < n; pe++) {
        int ends[2];
        if (pipe(ends) != 0) {
            perror("uid_init: pipe");
            return 1;
        }
        const pid_t child = fork();
        if (child < 0) {
            perror("uid_init: fork");
            return 1;
        }
        if (child == 0) {
            close(ends[1]);
            return run_child(pe, n, ends[0]);
        }
        close(ends[0]);
        to_child[pe] = ends[1];
    }

    gshmemx_uniqueid_t id;
    int failed = gshmemx_get_uniqueid(&id);
    if (failed) {
        fprintf(stderr, "uid_init: PE 0: %s\n", gshmemx_error_string(failed));
    }
    for (int pe = 1; pe < n; pe++) {
        if (!failed && write(to_child[pe], &id, sizeof(id)) != (ssize_t)sizeof(id)) {
            failed = 1;
        }
        close(to_child[pe]); /* without an id the child reads an end of file and gives up */
    }
    if (!failed) {
        failed = run_pe(0, n, &id);
    }

    for (int pe = 1; pe < n; pe++) {
        int status;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            failed = 1;
        }
    }
    return failed ? 1 : 0;
}
