/* SPDX-License-Identifier: Apache-2.0
 * The bootstrap over the application's MPI communicator: finds and opens the plug-in and puts its
 * calls into the table. Only the plug-in knows MPI. */
#include "bootstrap/bootstrap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/plugin.h"
#include "base/util.h"
#include "bootstrap/leg.h"
#include "bootstrap/mpi_plugin.h"

struct mpi_bootstrap {
    struct gsh_bootstrap base;
    const struct gsh_mpi_plugin *plugin;
    void *handle;
};

static uint64_t deadline_ns(const struct gsh_bootstrap *b)
{
    return b->timeout_ns ? gsh_now_ns() + b->timeout_ns : 0;
}

static enum gsh_result mpi_result(enum gsh_mpi_status status, const struct gsh_mpi_error *error)
{
    if (status == GSH_MPI_OK) {
        return GSH_OK;
    }
    return gsh_fail(status == GSH_MPI_TIMEOUT ? GSH_ERR_TIMEOUT : GSH_ERR_SYSTEM,
                    "start-up over MPI: %s", error->text);
}

static enum gsh_result mpi_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                     void *all_out)
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    struct gsh_mpi_error error;
    return mpi_result(m->plugin->allgather(m->handle, mine, bytes, all_out, deadline_ns(b), &error),
                      &error);
}

static enum gsh_result mpi_barrier(struct gsh_bootstrap *b)
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    struct gsh_mpi_error error;
    return mpi_result(m->plugin->barrier(m->handle, deadline_ns(b), &error), &error);
}

static enum gsh_result mpi_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                   void (*fold)(void *into, const void *from))
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    const uint64_t limit_ns = deadline_ns(b);
    enum gsh_mpi_status status = GSH_MPI_OK;
    struct gsh_mpi_error error;
    for (struct gsh_leg leg = {0};
         status == GSH_MPI_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        uint64_t theirs[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
        status =
            m->plugin->swap(m->handle, leg.to, mine, bytes, leg.from, theirs, limit_ns, &error);
        b->counts.messages++;
        b->counts.bytes += bytes;
        if (status == GSH_MPI_OK) {
            fold(mine, theirs);
        }
    }
    return mpi_result(status, &error);
}

/* In each round a rank has rank 0's bytes already, or may get them. */
static enum gsh_result mpi_spread(struct gsh_bootstrap *b, void *bytes, size_t n)
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    const uint64_t limit_ns = deadline_ns(b);
    enum gsh_mpi_status status = GSH_MPI_OK;
    struct gsh_mpi_error error;
    for (struct gsh_leg leg = {0};
         status == GSH_MPI_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        uint8_t theirs[GSH_SPREAD_MAX_BYTES];
        status = m->plugin->swap(m->handle, leg.to, bytes, n, leg.from, theirs, limit_ns, &error);
        b->counts.messages++;
        b->counts.bytes += n;
        if (status == GSH_MPI_OK && b->rank >= leg.distance && b->rank < 2 * leg.distance) {
            memcpy(bytes, theirs, n);
        }
    }
    return mpi_result(status, &error);
}

static void mpi_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    (void)message;
    m->plugin->abort(m->handle, status);
}

static void mpi_destroy(struct gsh_bootstrap *b)
{
    struct mpi_bootstrap *m = (struct mpi_bootstrap *)b;
    if (m == NULL) {
        return;
    }
    if (m->handle != NULL) {
        m->plugin->close(m->handle);
    }
    free(m);
}

static const struct gsh_bootstrap_ops mpi_ops = {
    .name = "mpi",
    .allgather = mpi_allgather,
    .barrier = mpi_barrier,
    .combine = mpi_combine,
    .spread = mpi_spread,
    .abort = mpi_abort,
    .destroy = mpi_destroy,
};

/* The plug-in stays open: MPI cannot be unloaded. Its symbols are global because components of some
 * MPIs need each other's. */
static void *open_plugin(const char *name)
{
    return gsh_plugin_open(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

static enum gsh_result load(const char *name, const struct gsh_mpi_plugin **out)
{
    const struct gsh_mpi_plugin *(*entry)(void);
    void *library = open_plugin(name);
    if (library == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "start-up over MPI: cannot open the plug-in (GSHMEM_MPI_PLUGIN): %s",
                        dlerror());
    }
    void *symbol = dlsym(library, GSH_MPI_PLUGIN_ENTRY);
    if (symbol == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "start-up over MPI: %s is not a plug-in of this version of gshmem", name);
    }
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    return GSH_OK;
}

enum gsh_result gsh_bootstrap_mpi_create(const char *plugin, void *mpi_comm, uint64_t timeout_ns,
                                         struct gsh_bootstrap **out)
{
    const struct gsh_mpi_plugin *calls = NULL;
    struct gsh_mpi_error error;
    if (mpi_comm == NULL) {
        return gsh_fail(GSH_ERR_ARG, "start-up over MPI: no communicator given");
    }
    enum gsh_result r = load(plugin, &calls);
    if (r != GSH_OK) {
        return r;
    }
    struct mpi_bootstrap *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over MPI");
    }
    m->base.ops = &mpi_ops;
    m->base.timeout_ns = timeout_ns;
    m->plugin = calls;
    r = mpi_result(calls->open(mpi_comm, &m->handle, &m->base.rank, &m->base.size, &error), &error);
    if (r != GSH_OK) {
        mpi_destroy(&m->base);
        return r;
    }
    gsh_log(GSH_LOG_INFO, GSH_LOG_BOOTSTRAP, "start-up over MPI: PE %d of %d", m->base.rank,
            m->base.size);
    *out = &m->base;
    return GSH_OK;
}
