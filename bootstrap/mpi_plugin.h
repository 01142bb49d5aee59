/* SPDX-License-Identifier: Apache-2.0
 * Between libgshmem, which links no MPI, and the plug-in, which is compiled with the MPI of the
 * application. The plug-in uses nothing of libgshmem. An incompatible change gets a new name, so an
 * old plug-in is not found, rather than misunderstood. */
#ifndef GSH_MPI_PLUGIN_H
#define GSH_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define GSH_MPI_PLUGIN_ENTRY "gsh_mpi_plugin_2"

enum gsh_mpi_status { GSH_MPI_OK, GSH_MPI_FAILED, GSH_MPI_TIMEOUT };

struct gsh_mpi_error {
    char text[256]; /* MPI's own text if a call failed */
};

struct gsh_mpi_plugin {
    /* Collective over *(MPI_Comm *)mpi_comm, which is duplicated. */
    enum gsh_mpi_status (*open)(void *mpi_comm, void **handle, int *rank, int *size,
                                struct gsh_mpi_error *error);
    /* deadline_ns: on CLOCK_MONOTONIC; 0 is none. After a failure only abort and close. */
    enum gsh_mpi_status (*allgather)(void *handle, const void *mine, size_t bytes, void *all_out,
                                     uint64_t deadline_ns, struct gsh_mpi_error *error);
    /* Sends bytes to one rank, and receives as many from another. */
    enum gsh_mpi_status (*swap)(void *handle, int to, const void *mine, size_t bytes, int from,
                                void *theirs, uint64_t deadline_ns, struct gsh_mpi_error *error);
    enum gsh_mpi_status (*barrier)(void *handle, uint64_t deadline_ns, struct gsh_mpi_error *error);
    void (*abort)(void *handle, int status);
    void (*close)(void *handle);
};

/* The plug-in's only symbol. */
const struct gsh_mpi_plugin *gsh_mpi_plugin_2(void);

#endif
