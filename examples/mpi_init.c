/* SPDX-License-Identifier: Apache-2.0
 * With MPI: the PEs are the ranks of a communicator that the program chooses, and both libraries
 * are used side by side. Here the ranks are reversed, to show that the communicator decides.
 *
 *     mpirun -n 4 ./mpi_init */
#include <gshmemx.h>
#include <mpi.h>
#include <stdio.h>

/* Leaves this PE's number with the next PE; returns what the previous one left here. */
static int exchange(int me, int n)
{
    int *box = gshmem_calloc(1, sizeof(*box));
    if (box == NULL) {
        gshmem_global_exit(1);
    }
    gshmem_int_p(box, me, (me + 1) % n);
    gshmem_barrier_all();
    const int found = gshmem_int_g(box, me);
    gshmem_free(box);
    return found;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int world_rank, n, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
    MPI_Comm_rank(reversed, &rank);
    MPI_Comm_size(reversed, &n);

    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    int error = gshmemx_set_attr_mpi_comm_args(&reversed, &attr);
    if (error == 0) {
        error = gshmemx_init_attr(GSHMEMX_INIT_WITH_MPI_COMM, &attr);
    }
    if (error != 0) {
        fprintf(stderr, "mpi_init: rank %d: %s\n", world_rank, gshmemx_error_string(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    int wrong = gshmem_my_pe() != rank || gshmem_n_pes() != n;
    wrong += exchange(rank, n) != (rank + n - 1) % n;
    if (wrong) {
        fprintf(stderr, "mpi_init: rank %d, PE %d of %d: wrong\n", world_rank, gshmem_my_pe(),
                gshmem_n_pes());
    }
    gshmem_finalize();

    int all_wrong;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0 && all_wrong == 0) {
        printf("mpi_init: %d PEs on an MPI communicator: right\n", n);
    }
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return all_wrong ? 1 : 0;
}
