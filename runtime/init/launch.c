/* SPDX-License-Identifier: Apache-2.0
 * Start-up by environment or attributes: choosing the bootstrap, and the unique-id helpers. */
#include "runtime/init/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/host.h"
#include "base/process.h"
#include "bootstrap/uid.h"
#include "gshmemx.h"
#include "runtime/instance/threads.h"

static struct gsh_uid_options uid_options(const struct gsh_env *env)
{
    return (struct gsh_uid_options){.ifname = env->uid_ifname,
                                    .family = env->uid_family,
                                    .timeout_ns = env->bootstrap_timeout_ns,
                                    .host = gsh_host_id()};
}

/* A launcher's bootstrap: PEs of several nodes only begin with it. */
static enum gsh_result go_over_tcp(const struct gsh_env *env, struct gsh_bootstrap **b)
{
    const struct gsh_uid_options options = uid_options(env);
    const enum gsh_result r = gsh_bootstrap_uid_over(b, &options, env->node_pes > 0);
    if (r != GSH_OK) {
        (*b)->ops->destroy(*b);
        *b = NULL;
    }
    return r;
}

static enum gsh_result by_threads(const struct gsh_env *env, struct gsh_bootstrap **out)
{
    if (env->threads < 1) {
        return gsh_fail(GSH_ERR_ARG, "gshmem_init: GSHMEM_BOOTSTRAP=threads needs GSHMEM_THREADS, "
                                     "the number of PEs");
    }
    int rank = gsh_threads_mine();
    if (rank < 0 && env->threads > 1 && gettid() == getpid()) {
        return gsh_fail(GSH_ERR_ARG,
                        "gshmem_init: the %d PEs are to be threads (gshmemrun --threads, "
                        "GSHMEM_THREADS), but this is the program's main thread: main must call "
                        "gshmemx_run, or be started without --threads",
                        env->threads);
    }
    if (rank < 0) {
        rank = gsh_threads_arrive() % env->threads;
    }
    return gsh_bootstrap_local_create(gsh_threads_key(), rank, env->threads,
                                      env->bootstrap_timeout_ns, out);
}

static enum gsh_result by_uid_text(const struct gsh_env *env, struct gsh_bootstrap **out)
{
    struct gsh_uid id;
    struct gsh_uid_options options = uid_options(env);
    if (env->uid[0] == 0 || env->rank < 0 || env->n_ranks < 1) {
        return gsh_fail(GSH_ERR_ARG, "gshmem_init: GSHMEM_BOOTSTRAP=uid needs GSHMEM_UID, "
                                     "GSHMEM_RANK and GSHMEM_N_RANKS, which gshmemrun sets");
    }
    enum gsh_result r = gsh_uid_from_text(env->uid, &id);
    return r != GSH_OK ? r : gsh_bootstrap_uid_create(&id, env->rank, env->n_ranks, &options, out);
}

static int env_int(const char *name)
{
    const char *text = secure_getenv(name);
    return text == NULL ? 0 : atoi(text);
}

/* Under an unknown launcher n separate one-PE jobs would start: report that instead. */
static enum gsh_result by_nothing(struct gsh_bootstrap **out)
{
    static const struct {
        const char *variable, *remedy;
    } launchers[] = {
        {"OMPI_COMM_WORLD_SIZE", "Open MPI without PMIx; use an mpirun with PMIx, gshmemrun, or "
                                 "gshmemx_init_attr with the MPI communicator"},
        /* Before PMI_SIZE, which srun --mpi=pmi2 sets as well. */
        {"SLURM_STEP_NUM_TASKS", "srun without PMIx; use srun --mpi=pmix"},
        {"PMI_SIZE", "a PMI-1 launcher; use gshmemrun, or gshmemx_init_attr with the MPI "
                     "communicator"},
    };
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        if (env_int(launchers[i].variable) > 1) {
            return gsh_fail(GSH_ERR_UNSUPPORTED,
                            "gshmem_init: unknown launcher: %s says this is "
                            "one of %d processes, started by %s. GSHMEM_BOOTSTRAP=single makes "
                            "each its own job",
                            launchers[i].variable, env_int(launchers[i].variable),
                            launchers[i].remedy);
        }
    }
    return gsh_bootstrap_single_create(out);
}

/* By these variables a launcher tells a process which PE it is. The children of a PE have them,
 * too; a launcher among these children sets only its own ones anew. */
static const char *const gshmemruns[] = {"GSHMEM_UID",     "GSHMEM_RANK",     "GSHMEM_N_RANKS",
                                         "GSHMEM_THREADS", "GSHMEM_LAUNCHER", NULL};
static const char *const others[] = {"PMIX_NAMESPACE", "PMIX_RANK",    "OMPI_COMM_WORLD_RANK",
                                     "PMI_RANK",       "SLURM_PROCID", NULL};

int gsh_launch_n_threads(const struct gsh_env *env)
{
    return env->threads > 0 && !gsh_process_is_child_of_pe(gshmemruns) ? env->threads : 0;
}

/* The kind of bootstrap that the environment names; "single" if it is the environment of a PE that
 * started this process. */
static const char *kind_of(const struct gsh_env *env)
{
    const char *kind = env->bootstrap;
    bool is_auto = strcmp(kind, "auto") == 0;
    bool is_ours = strcmp(kind, "threads") == 0 || strcmp(kind, "uid") == 0;
    bool has_ours = (is_ours || is_auto) && (env->threads > 0 || env->uid[0] != 0) &&
                    !gsh_process_is_child_of_pe(gshmemruns);
    if (is_ours) {
        return has_ours || (env->threads <= 0 && env->uid[0] == 0) ? kind : "single";
    }
    if (is_auto && has_ours) {
        return env->threads > 0 ? "threads" : "uid";
    }
    bool is_child = (is_auto || strcmp(kind, "pmix") == 0) && gsh_process_is_child_of_pe(others);
    if (is_child) {
        return "single";
    }
    return !is_auto ? kind : secure_getenv("PMIX_NAMESPACE") != NULL ? "pmix" : "none";
}

static enum gsh_result by_environment(const struct gsh_env *env, struct gsh_bootstrap **out)
{
    const char *kind = kind_of(env);
    if (strcmp(kind, "threads") == 0) {
        return by_threads(env, out);
    }
    if (strcmp(kind, "uid") == 0) {
        return by_uid_text(env, out);
    }
    if (strcmp(kind, "single") == 0) {
        return gsh_bootstrap_single_create(out);
    }
    if (strcmp(kind, "pmix") == 0) {
        enum gsh_result r = gsh_bootstrap_pmix_create(env->bootstrap_timeout_ns, out);
        return r == GSH_OK ? go_over_tcp(env, out)
                           : gsh_fail(r, "gshmem_init: %s", gsh_last_error());
    }
    return by_nothing(out);
}

static enum gsh_result check_struct(const char *name, int version, int expected)
{
    if (version != expected) {
        return gsh_fail(GSH_ERR_ARG,
                        "gshmemx_init_attr: %s has version 0x%x, this library knows 0x%x: begin "
                        "with GSHMEMX_INIT_ATTR_INITIALIZER, which sets it, and compile with "
                        "headers of the library's version",
                        name, (unsigned)version, (unsigned)expected);
    }
    return GSH_OK;
}

static enum gsh_result check_args(const gshmemx_init_args_t *args)
{
    enum gsh_result r = check_struct("gshmemx_init_args_t", args->version,
                                     GSHMEMX_STRUCT_VERSION(gshmemx_init_args_t));
    if (r == GSH_OK) {
        r = check_struct("gshmemx_uniqueid_args_t", args->uid_args.version,
                         GSHMEMX_STRUCT_VERSION(gshmemx_uniqueid_args_t));
    }
    if (r == GSH_OK) {
        r = check_struct("gshmemx_thread_args_t", args->thread_args.version,
                         GSHMEMX_STRUCT_VERSION(gshmemx_thread_args_t));
    }
    return r;
}

static enum gsh_result by_uid(const struct gsh_env *env, const gshmemx_uniqueid_args_t *a,
                              struct gsh_bootstrap **out)
{
    struct gsh_uid id;
    struct gsh_uid_options options = uid_options(env);
    if (a->id == NULL || a->nranks < 1 || a->myrank < 0 || a->myrank >= a->nranks) {
        return gsh_fail(GSH_ERR_ARG, "gshmemx_init_attr: unique id %p, PE %d of %d: not valid",
                        (const void *)a->id, a->myrank, a->nranks);
    }
    memcpy(id.bytes, a->id->internal, sizeof(id.bytes));
    return gsh_bootstrap_uid_create(&id, a->myrank, a->nranks, &options, out);
}

static enum gsh_result by_thread_args(const struct gsh_env *env, const gshmemx_thread_args_t *a,
                                      struct gsh_bootstrap **out)
{
    if (a->key == NULL || a->n_pes < 1 || a->my_pe < 0 || a->my_pe >= a->n_pes) {
        return gsh_fail(GSH_ERR_ARG, "gshmemx_init_attr: thread key %p, PE %d of %d: not valid",
                        a->key, a->my_pe, a->n_pes);
    }
    return gsh_bootstrap_local_create(a->key, a->my_pe, a->n_pes, env->bootstrap_timeout_ns, out);
}

enum gsh_result gsh_launch_bootstrap(const struct gsh_env *env, unsigned flags,
                                     const gshmemx_init_attr_t *attr, struct gsh_bootstrap **out)
{
    if (flags == 0) {
        return by_environment(env, out);
    }
    if (attr == NULL) {
        return gsh_fail(GSH_ERR_ARG, "gshmemx_init_attr: flags 0x%x need attributes", flags);
    }
    enum gsh_result r = check_struct("gshmemx_init_attr_t", attr->version,
                                     GSHMEMX_STRUCT_VERSION(gshmemx_init_attr_t));
    if (r == GSH_OK) {
        r = check_args(&attr->args);
    }
    if (r != GSH_OK) {
        return r;
    }
    switch (flags) {
    case GSHMEMX_INIT_THREAD_PES:
        return by_thread_args(env, &attr->args.thread_args, out);
    case GSHMEMX_INIT_WITH_MPI_COMM:
        if (attr->mpi_comm == NULL) {
            return gsh_fail(GSH_ERR_ARG, "gshmemx_init_attr: the MPI communicator is NULL");
        }
        r = gsh_bootstrap_mpi_create(env->mpi_plugin, attr->mpi_comm, env->bootstrap_timeout_ns,
                                     out);
        return r == GSH_OK ? go_over_tcp(env, out) : r;
    case GSHMEMX_INIT_WITH_UNIQUEID:
        return by_uid(env, &attr->args.uid_args, out);
    default:
        return gsh_fail(GSH_ERR_ARG,
                        "gshmemx_init_attr: flags 0x%x: give exactly one of "
                        "GSHMEMX_INIT_THREAD_PES, _WITH_MPI_COMM, _WITH_UNIQUEID",
                        flags);
    }
}

int gshmemx_get_uniqueid(gshmemx_uniqueid_t *id)
{
    struct gsh_env env;
    struct gsh_uid uid;
    if (id == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "gshmemx_get_uniqueid: the id is NULL"));
    }
    enum gsh_result r = gsh_env_read(&env);
    if (r == GSH_OK) {
        struct gsh_uid_options options = uid_options(&env);
        r = gsh_uid_create(&options, &uid);
    }
    if (r == GSH_OK) {
        id->version = GSHMEMX_STRUCT_VERSION(gshmemx_uniqueid_t);
        memcpy(id->internal, uid.bytes, sizeof(uid.bytes));
    }
    return gsh_public_error(r);
}

void gsh_launch_drop_uniqueid(const gshmemx_uniqueid_t *id)
{
    struct gsh_uid uid;
    memcpy(uid.bytes, id->internal, sizeof(uid.bytes));
    gsh_uid_drop(&uid);
}

int gshmemx_set_attr_uniqueid_args(int my_pe, int n_pes, const gshmemx_uniqueid_t *id,
                                   gshmemx_init_attr_t *attr)
{
    if (attr == NULL) {
        return gsh_public_error(
            gsh_fail(GSH_ERR_ARG, "gshmemx_set_attr_uniqueid_args: the attributes are NULL"));
    }
    attr->args.uid_args.version = GSHMEMX_STRUCT_VERSION(gshmemx_uniqueid_args_t);
    attr->args.uid_args.id = (gshmemx_uniqueid_t *)(uintptr_t)id;
    attr->args.uid_args.myrank = my_pe;
    attr->args.uid_args.nranks = n_pes;
    return 0;
}

int gshmemx_set_attr_mpi_comm_args(void *mpi_comm, gshmemx_init_attr_t *attr)
{
    if (attr == NULL) {
        return gsh_public_error(
            gsh_fail(GSH_ERR_ARG, "gshmemx_set_attr_mpi_comm_args: the attributes are NULL"));
    }
    attr->mpi_comm = mpi_comm;
    return 0;
}

int gshmemx_set_attr_thread_args(int my_pe, int n_pes, const void *key, gshmemx_init_attr_t *attr)
{
    if (attr == NULL) {
        return gsh_public_error(
            gsh_fail(GSH_ERR_ARG, "gshmemx_set_attr_thread_args: the attributes are NULL"));
    }
    attr->args.thread_args.version = GSHMEMX_STRUCT_VERSION(gshmemx_thread_args_t);
    attr->args.thread_args.key = key;
    attr->args.thread_args.my_pe = my_pe;
    attr->args.thread_args.n_pes = n_pes;
    return 0;
}
