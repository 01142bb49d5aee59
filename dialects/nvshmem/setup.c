/* SPDX-License-Identifier: Apache-2.0
 * Init, finalize and versions under NVSHMEM's names. */
#include <dlfcn.h>
#include <gshmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"
#include "nvshmem.h"
#include "runtime/layer.h"

/* Messages use the program's names for calls, even for calls before init. */
__attribute__((constructor)) static void name_calls(void)
{
    gshmemx_call_prefix("nvshmem");
}

/* Inits of this thread's PE after the first one, each to be followed by a finalize. */
static _Thread_local int n_more_inits;

static bool is_finalized_at_exit;

/* A program that ends well may leave out the last finalize. */
static void finalize_at_exit(void)
{
    n_more_inits = 0;
    nvshmem_finalize();
    is_finalized_at_exit = true;
}

/* A failing init has already printed why; the launcher ends the other PEs. */
static void end_unless(int error)
{
    if (error != 0) {
        gshmemx_layer_tell_error(255);
        fflush(stdout);
        _exit(255);
    }
}

static int refuse(const char *why)
{
    fprintf(stderr, "gshmem: error: nvshmemx_init_attr: %s\n", why);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

/* Their structs need no version: programs leave everything but the communicator unset. */
static int fill(unsigned int flags, const nvshmemx_init_attr_t *theirs, gshmemx_init_attr_t *ours)
{
    if ((flags & (NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_UNIQUEID)) != 0 &&
        theirs == NULL) {
        return refuse("attr is NULL");
    }
    switch (flags) {
    case NVSHMEMX_INIT_WITH_MPI_COMM:
        return gshmemx_set_attr_mpi_comm_args(theirs->mpi_comm, ours);
    case NVSHMEMX_INIT_WITH_UNIQUEID:
        return gshmemx_set_attr_uniqueid_args(
            theirs->args.uid_args.myrank, theirs->args.uid_args.nranks,
            (const gshmemx_uniqueid_t *)(const void *)theirs->args.uid_args.id, ours);
    case 0:
    case NVSHMEMX_INIT_WITH_SHMEM:
        return 0;
    case NVSHMEMX_INIT_THREAD_PES:
        return refuse("threads become PEs by gshmemx_run or gshmemx_set_attr_thread_args");
    default:
        return refuse("flags must name exactly one way to start");
    }
}

/* Makes that GPU the current one, which set-up uses. Programs for the CPU device need no driver. */
static int choose_gpu(int id)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        return 0;
    }
    union {
        void *address;
        int (*init)(unsigned int);
        int (*retain)(void **, int);
        int (*set)(void *);
    } init = {dlsym(driver, "cuInit")}, retain = {dlsym(driver, "cuDevicePrimaryCtxRetain")},
      set = {dlsym(driver, "cuCtxSetCurrent")};
    void *context = NULL;
    bool is_chosen = init.address != NULL && retain.address != NULL && set.address != NULL &&
                     init.init(0) == 0 && retain.retain(&context, id) == 0 && set.set(context) == 0;
    return is_chosen ? 0 : refuse("args.cuda_device_id is no GPU of this process");
}

/* Whether the program has initialised the struct; its two versions differ in nothing else. */
static bool is_initialised(const nvshmemx_init_attr_t *theirs)
{
    const nvshmemx_init_args_t fresh = NVSHMEMX_INIT_ARGS_INITIALIZER;
    return (theirs->version == NVSHMEM_INIT_ATTR_V2_IDENTIFIER ||
            theirs->version == NVSHMEM_INIT_ATTR_V1_IDENTIFIER) &&
           theirs->args.version == fresh.version;
}

static int device_of(const nvshmemx_init_attr_t *theirs)
{
    return theirs != NULL && is_initialised(theirs) ? theirs->args.cuda_device_id : -1;
}

int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    gshmemx_init_attr_t ours = GSHMEMX_INIT_ATTR_INITIALIZER;
    unsigned int our_flags = flags == NVSHMEMX_INIT_WITH_SHMEM ? 0 : flags;
    int is_initialized = 0;
    name_calls(); /* the program may have libraries of other dialects, too */
    gsh_nvshmem_environment();
    gshmem_query_initialized(&is_initialized);
    if (is_initialized) {
        n_more_inits++;
        return 0;
    }
    int error = fill(flags, attr, &ours);
    if (error == 0 && device_of(attr) >= 0) {
        error = choose_gpu(device_of(attr));
    }
    if (error == 0) {
        error = gshmemx_init_attr(our_flags, &ours);
    }
    if (error == 0) {
        gshmemx_layer_finalize_at_exit(finalize_at_exit);
    }
    return error;
}

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr)
{
    end_unless(nvshmemx_hostlib_init_attr(flags, attr));
    return 0;
}

void nvshmem_init(void)
{
    end_unless(nvshmemx_hostlib_init_attr(0, NULL));
}

int nvshmem_init_thread(int requested, int *provided)
{
    if (requested < NVSHMEM_THREAD_SINGLE || requested > NVSHMEM_THREAD_MULTIPLE) {
        fprintf(stderr, "gshmem: error: nvshmem_init_thread: there is no thread level %d\n",
                requested);
        end_unless(NVSHMEMX_ERROR_INVALID_VALUE);
    }
    nvshmem_init();
    if (provided != NULL) {
        gshmem_query_thread(provided);
    }
    return 0;
}

void nvshmem_finalize(void)
{
    if (n_more_inits > 0) {
        n_more_inits--;
        return;
    }
    if (!is_finalized_at_exit) { /* else an exit handler of the program, from before init */
        gshmem_finalize();
    }
}

void nvshmemx_hostlib_finalize(void)
{
    nvshmem_finalize();
}

/* ---- attributes ---- */

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *id)
{
    gshmemx_uniqueid_t ours = GSHMEMX_UNIQUEID_INITIALIZER;
    gsh_nvshmem_environment();
    int error = gshmemx_get_uniqueid(id == NULL ? NULL : &ours);
    if (error == 0) {
        memcpy(id, &ours, sizeof(*id));
    }
    return error;
}

/* Makes any struct one that states its version. */
static void repair(nvshmemx_init_attr_t *attr)
{
    const nvshmemx_init_attr_t fresh = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (!is_initialised(attr)) {
        *attr = fresh;
    }
}

int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t *id,
                                    nvshmemx_init_attr_t *attr)
{
    if (attr == NULL) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    repair(attr);
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)(size_t)id;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return 0;
}

int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    if (attr == NULL) {
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    repair(attr);
    attr->mpi_comm = mpi_comm;
    return 0;
}

/* ---- versions ---- */

void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

void nvshmem_info_get_name(char *name)
{
    memcpy(name, NVSHMEM_VENDOR_STRING, sizeof(NVSHMEM_VENDOR_STRING));
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team;
    (void)ptr;
    return NULL;
}
