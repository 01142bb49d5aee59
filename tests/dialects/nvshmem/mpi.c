/* SPDX-License-Identifier: Apache-2.0
 * Proves that an MPI program can start NVSHMEM's way with an attribute struct in which only the
 * communicator is set, whatever the rest contains, and that the interface compiles as C. With an
 * argument it leaves out nvshmem_finalize, though not MPI_Finalize, and ends as well. */
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include "tests/test.h"

int main(int argc, char **argv)
{
    int rank = -1, size = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    nvshmemx_init_attr_t attr;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memset(&attr, 0x5a, sizeof(attr));
    attr.mpi_comm = &comm;
    nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr);
    CHECK_EQ(nvshmem_my_pe(), rank);
    CHECK_EQ(nvshmem_n_pes(), size);

    int *sum = (int *)nvshmem_calloc(1, sizeof(int));
    CHECK(sum != NULL);
    nvshmem_int_atomic_add(sum, rank + 1, 0);
    nvshmem_barrier_all();
    CHECK_EQ(nvshmem_int_g(sum, 0), size * (size + 1) / 2);
    nvshmem_free(sum);
    if (argc == 1) {
        nvshmem_finalize();
    }
    MPI_Finalize();
    return test_result();
}
