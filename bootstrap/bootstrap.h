/* SPDX-License-Identifier: Apache-2.0
 * How the PEs of a job exchange small blobs before (and beside) everything else. One table of
 * functions; each kind is made by its own create function. Knows nothing of CUDA or heaps.
 * "Rank" is the PE number here. All functions but create and destroy are collective over the
 * ranks of the bootstrap, in the same order everywhere, called by one thread of a rank at a time.
 */
#ifndef GSH_BOOTSTRAP_H
#define GSH_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keys.h"
#include "base/result.h"
#include "bootstrap/host_layout.h"

struct gsh_bootstrap;
struct gsh_uid_asking;

#define GSH_COMBINE_MAX_BYTES 40
#define GSH_GATHER_MAX_VALUE  128 /* bytes that gather_combine combines */
#define GSH_SPREAD_MAX_BYTES  256

struct gsh_bootstrap_ops {
    const char *name;
    /* Each rank gives `bytes` bytes (the same everywhere); all_out receives size * bytes in rank
     * order. Returns GSH_ERR_PEER when another rank is gone, GSH_ERR_TIMEOUT past the limit. */
    enum gsh_result (*allgather)(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                 void *all_out);
    enum gsh_result (*barrier)(struct gsh_bootstrap *b);
    /* NULL, or faster than allgather for few bytes that all need together: mine becomes what fold
     * makes of all ranks' values, in any order, of some more than once. At most
     * GSH_COMBINE_MAX_BYTES, the same everywhere. Results as allgather's. */
    enum gsh_result (*combine)(struct gsh_bootstrap *b, void *mine, size_t bytes,
                               void (*fold)(void *into, const void *from));
    /* NULL, or as combine, where groups of ranks have combined already: mine is what the rank's
     * group has come to, and width what leg.h says of the groups, the same everywhere. */
    enum gsh_result (*combine_groups)(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                      void (*fold)(void *into, const void *from), int width);
    /* NULL, or an allgather and a combine of value in the same messages; at most
     * GSH_GATHER_MAX_VALUE bytes of that. gather.h calls it. */
    enum gsh_result (*gather_combine)(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                      void *all_out, void *value, size_t value_bytes,
                                      void (*fold)(void *into, const void *from));
    /* NULL, or makes the table of which ranks are of a host, for as long as the caller needs it: of
     * those that give the same number. */
    enum gsh_result (*gather_hosts)(struct gsh_bootstrap *b, uint64_t host,
                                    struct gsh_host_table *out);
    /* As gather_combine, but theirs receives the blobs of this rank's host alone, in rank order;
     * not NULL where hosts are known. gather.h calls it. */
    enum gsh_result (*gather_host)(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                   void *theirs, void *value, size_t value_bytes,
                                   void (*fold)(void *into, const void *from));
    /* NULL, or whether a rank that this one is linked with has ended, or failed in a call, so that
     * a call would fail. Not collective; waits for nothing; only between calls. */
    bool (*has_lost)(struct gsh_bootstrap *b);
    /* NULL, or tells all ranks the n bytes of rank 0, at most GSH_SPREAD_MAX_BYTES, in place of
     * their own. */
    enum gsh_result (*spread)(struct gsh_bootstrap *b, void *bytes, size_t n);
    /* Asks the launcher to end the job. May return before the job ends, or if it cannot end it. */
    void (*abort)(struct gsh_bootstrap *b, int status, const char *message);
    /* Not collective; frees b. */
    void (*destroy)(struct gsh_bootstrap *b);
};

/* What a rank has sent since it was made. */
struct gsh_bootstrap_counts {
    uint64_t messages, bytes;
};

/* First member of every kind's own struct. */
struct gsh_bootstrap {
    const struct gsh_bootstrap_ops *ops;
    int rank;
    int size;
    uint64_t timeout_ns; /* of each call; 0 is none */
    /* Set by an owner that goes on without lost ranks, or names them itself: GSH_ERR_PEER is noted,
     * not printed. Only the bootstrap over TCP looks at it. */
    bool may_lose_ranks;
    /* What the ranks know, the same on all, and no exchange has carried: a reader of the exchanges
     * does not know it. Zeros: this kind has nothing of the sort. */
    uint8_t shared_key[GSH_KEY_BYTES];
    /* What has carried the id of a start-up by unique id, if a launcher has (uid.h); or NULL. */
    struct gsh_bootstrap *launcher;
    /* The launcher says that all ranks are on one node; the same on all. */
    bool is_on_one_node;
    /* How the ranks lie on hosts, with all its runs, if that is known. The same on all ranks. */
    struct gsh_host_layout hosts;
    /* By it ranks look up what others have published (uid_ask.h). NULL: they cannot, the same on
     * all. */
    struct gsh_uid_asking *asking;
    /* Of the bootstrap over TCP, without questions; over the proxy: gsh_proxy_sent. */
    struct gsh_bootstrap_counts counts;
    struct gsh_bootstrap_counts asked; /* questions, and bytes with their answers; atomic */
};

/* One PE, no launcher. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_single_create(struct gsh_bootstrap **out);

/* The PMIx server of the launcher (mpirun, prterun, srun --mpi=pmix). GSH_ERR_UNSUPPORTED, with a
 * reason kept by gsh_note, when there is none or libpmix cannot be opened. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_pmix_create(uint64_t timeout_ns,
                                                           struct gsh_bootstrap **out);

/* The application's MPI communicator, through the plug-in. mpi_comm points to an MPI_Comm. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_mpi_create(const char *plugin, void *mpi_comm,
                                                          uint64_t timeout_ns,
                                                          struct gsh_bootstrap **out);

/* Threads of one process: the n_ranks callers that give the same key form one job. */
GSH_CHECK_RESULT enum gsh_result gsh_bootstrap_local_create(const void *key, int rank, int n_ranks,
                                                            uint64_t timeout_ns,
                                                            struct gsh_bootstrap **out);
/* The caller's thread, one of the key's n_ranks, joins no further job: one that needs it fails with
 * GSH_ERR_PEER. */
void gsh_bootstrap_local_leave(const void *key, int rank, int n_ranks);

#endif
