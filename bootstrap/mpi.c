/* SPDX-License-Identifier: Apache-2.0
 * The plug-in libgshmem_mpi.so: the bootstrap's calls over an MPI communicator. Waits use
 * non-blocking collectives, so they can end at a time limit. Starts MPI if the application has not,
 * and then ends it with the process. */
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/util.h"
#include "bootstrap/mpi_plugin.h"

struct handle {
    MPI_Comm comm; /* our own duplicate */
    int size;
    bool is_broken; /* a collective is unfinished: the communicator cannot be freed */
};

static int n_open; /* handles; init and finalize are made by one thread at a time under MPI */

static enum gsh_mpi_status fail(struct gsh_mpi_error *error, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    snprintf(error->text, sizeof(error->text), "%s: %.180s", call, text);
    return GSH_MPI_FAILED;
}

/* Only after every PE has left: MPI_Finalize waits for the others, which a process that ends in the
 * middle of a job must not do. */
static void finalize_at_exit(void)
{
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (!is_finalized && __atomic_load_n(&n_open, __ATOMIC_RELAXED) == 0) {
        MPI_Finalize();
    }
}

static enum gsh_mpi_status ensure_mpi(struct gsh_mpi_error *error)
{
    int is_initialized = 0, is_finalized = 0, provided = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_finalized) {
        snprintf(error->text, sizeof(error->text), "MPI_Finalize has been called already");
        return GSH_MPI_FAILED;
    }
    if (is_initialized) {
        return GSH_MPI_OK;
    }
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (code != MPI_SUCCESS) {
        return fail(error, "MPI_Init_thread", code);
    }
    atexit(finalize_at_exit);
    return GSH_MPI_OK;
}

/* A collective call that others make has failed here, so no further one is made. */
static enum gsh_mpi_status fall_out(struct handle *h, enum gsh_mpi_status status)
{
    h->is_broken = true;
    return status;
}

static enum gsh_mpi_status mpi_open(void *mpi_comm, void **out, int *rank, int *size,
                                    struct gsh_mpi_error *error)
{
    MPI_Comm comm;
    enum gsh_mpi_status status = ensure_mpi(error);
    if (status != GSH_MPI_OK) {
        return status;
    }
    memcpy(&comm, mpi_comm, sizeof(comm));
    if (comm == MPI_COMM_NULL) {
        snprintf(error->text, sizeof(error->text), "the communicator is MPI_COMM_NULL");
        return GSH_MPI_FAILED;
    }
    struct handle *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return GSH_MPI_FAILED;
    }
    int code = MPI_Comm_dup(comm, &h->comm);
    if (code != MPI_SUCCESS) {
        free(h);
        return fail(error, "MPI_Comm_dup", code);
    }
    MPI_Comm_set_errhandler(h->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(h->comm, rank);
    MPI_Comm_size(h->comm, &h->size);
    *size = h->size;
    *out = h;
    __atomic_add_fetch(&n_open, 1, __ATOMIC_RELAXED);
    return GSH_MPI_OK;
}

/* Tests in turns, and yields the core in between: soon to other PEs, later to any process. */
static enum gsh_mpi_status finish(struct handle *h, MPI_Request *request, const char *call,
                                  uint64_t deadline_ns, struct gsh_mpi_error *error)
{
    for (unsigned backoff = 0;; backoff++) {
        struct timespec pause = {0, backoff < 1000 ? 0 : 50000};
        int is_done = 0;
        int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            return fall_out(h, fail(error, call, code));
        }
        if (is_done) {
            return GSH_MPI_OK;
        }
        if (deadline_ns != 0 && gsh_now_ns() >= deadline_ns) {
            h->is_broken = true;
            snprintf(error->text, sizeof(error->text), "%s: not all PEs came", call);
            return GSH_MPI_TIMEOUT;
        }
        if (backoff >= 100) {
            nanosleep(&pause, NULL);
        }
    }
}

static enum gsh_mpi_status mpi_allgather(void *handle, const void *mine, size_t bytes,
                                         void *all_out, uint64_t deadline_ns,
                                         struct gsh_mpi_error *error)
{
    struct handle *h = handle;
    MPI_Request request;
    if (bytes > INT_MAX) {
        snprintf(error->text, sizeof(error->text), "%zu bytes are more than MPI counts", bytes);
        return GSH_MPI_FAILED;
    }
    /* Our own buffer: after a time limit MPI may still write to it, so it is left to MPI. */
    char *buffer = calloc((size_t)h->size + 1, bytes > 0 ? bytes : 1);
    if (buffer == NULL) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return GSH_MPI_FAILED;
    }
    char *own = buffer + (size_t)h->size * bytes;
    if (bytes > 0) {
        memcpy(own, mine, bytes);
    }
    int code =
        MPI_Iallgather(own, (int)bytes, MPI_BYTE, buffer, (int)bytes, MPI_BYTE, h->comm, &request);
    if (code != MPI_SUCCESS) {
        free(buffer);
        return fall_out(h, fail(error, "MPI_Iallgather", code));
    }
    enum gsh_mpi_status status = finish(h, &request, "MPI_Iallgather", deadline_ns, error);
    if (status == GSH_MPI_OK && bytes > 0) {
        memcpy(all_out, buffer, (size_t)h->size * bytes);
    }
    if (!h->is_broken) {
        free(buffer);
    }
    return status;
}

static enum gsh_mpi_status mpi_swap(void *handle, int to, const void *mine, size_t bytes, int from,
                                    void *theirs, uint64_t deadline_ns, struct gsh_mpi_error *error)
{
    struct handle *h = handle;
    MPI_Request sent, received;
    char *buffer = bytes <= INT_MAX / 2 ? malloc(2 * bytes + 1) : NULL; /* our own, as above */
    if (buffer == NULL) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return GSH_MPI_FAILED;
    }
    memcpy(buffer, mine, bytes);
    int code = MPI_Irecv(buffer + bytes, (int)bytes, MPI_BYTE, from, 0, h->comm, &received);
    if (code != MPI_SUCCESS) {
        free(buffer);
        return fall_out(h, fail(error, "MPI_Irecv", code));
    }
    code = MPI_Isend(buffer, (int)bytes, MPI_BYTE, to, 0, h->comm, &sent);
    if (code != MPI_SUCCESS) {
        return fall_out(h, fail(error, "MPI_Isend", code));
    }
    enum gsh_mpi_status status = finish(h, &sent, "MPI_Isend", deadline_ns, error);
    if (status == GSH_MPI_OK) {
        status = finish(h, &received, "MPI_Irecv", deadline_ns, error);
    }
    if (status == GSH_MPI_OK) {
        memcpy(theirs, buffer + bytes, bytes);
        free(buffer);
    }
    return status;
}

/* After MPI_Finalize only the last barrier comes, where a program leaves its finalize to its exit:
 * all PEs have met by other means just before, and MPI_Finalize is collective, too. */
static enum gsh_mpi_status mpi_barrier(void *handle, uint64_t deadline_ns,
                                       struct gsh_mpi_error *error)
{
    struct handle *h = handle;
    MPI_Request request;
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized) {
        return GSH_MPI_OK;
    }
    int code = MPI_Ibarrier(h->comm, &request);
    if (code != MPI_SUCCESS) {
        return fall_out(h, fail(error, "MPI_Ibarrier", code));
    }
    return finish(h, &request, "MPI_Ibarrier", deadline_ns, error);
}

static void mpi_abort(void *handle, int status)
{
    struct handle *h = handle;
    MPI_Abort(h->comm, status);
}

static void mpi_close(void *handle)
{
    struct handle *h = handle;
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (!is_finalized && !h->is_broken) {
        MPI_Comm_free(&h->comm);
    }
    if (!h->is_broken) {
        __atomic_sub_fetch(&n_open, 1, __ATOMIC_RELAXED);
    }
    free(h);
}

__attribute__((visibility("default"))) const struct gsh_mpi_plugin *gsh_mpi_plugin_2(void)
{
    static const struct gsh_mpi_plugin plugin = {
        .open = mpi_open,
        .allgather = mpi_allgather,
        .swap = mpi_swap,
        .barrier = mpi_barrier,
        .abort = mpi_abort,
        .close = mpi_close,
    };
    return &plugin;
}
