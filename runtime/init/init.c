/* SPDX-License-Identifier: Apache-2.0
 * Start-up and teardown of one PE, first phase: bootstrap, facts about the other PEs, the shared
 * page, the monitor, the teams. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bootstrap/shm.h"
#include "gshmemx.h"
#include "runtime/context/context.h"
#include "base/atomic.h"
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "base/process.h"
#include "base/util.h"
#include "runtime/far/far.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/death.h"
#include "runtime/instance/descriptors.h"
#include "runtime/instance/end.h"
#include "runtime/hang/serve.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/init/launch.h"
#include "runtime/init/leave_far.h"
#include "runtime/instance/leave.h"
#include "runtime/init/net.h"
#include "runtime/init/node.h"
#include "runtime/instance/page.h"
#include "runtime/instance/page_pass.h"
#include "runtime/instance/report.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/monitor.h"
#include "runtime/instance/vote.h"
#include "runtime/init/buffers.h"
#include "runtime/init/setup.h"
#include "runtime/init/statics.h"
#include "runtime/team/absent.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"
#include "runtime/trace/job.h"

/* How long a PE that has lost another one at the very end waits to be ended by its launcher. */
#define LAUNCHER_FIRST_NS 500000000

/* The settings that all PEs of a job with far PEs share. */
#define CHUNK_UNIT 4096u /* of GSHMEM_STAGE_CHUNK */
enum { N_FAR_SETTINGS = 9 };
static const char *const far_settings[N_FAR_SETTINGS] = {
    "GSHMEM_PROXY_RINGS", "GSHMEM_PROXY_RING_SLOTS", "GSHMEM_STAGE", "GSHMEM_STAGE_CHUNK",
    "GSHMEM_CONTEXTS",    "GSHMEM_REMOTE",           "GSHMEM_NIC", /* none, the model, or others */
    "GSHMEM_NIC_STRIPES", "GSHMEM_NIC_QUEUES"};

/* In every version the same place; the rest of a hello may depend on it. */
struct version {
    uint32_t magic;
    uint8_t version[3]; /* the library's */
    uint8_t state_version;
};
_Static_assert(sizeof(struct version) == 8, "the same in every version");

#define VERSION_MAGIC 0x68736721u

static const struct version own_version = {
    .magic = VERSION_MAGIC,
    .version = {GSHMEM_VENDOR_MAJOR_VERSION, GSHMEM_VENDOR_MINOR_VERSION,
                GSHMEM_VENDOR_PATCH_VERSION},
    .state_version = GSH_STATE_VERSION,
};

/* What each PE first tells all others. A version that has more to tell needs a second exchange, as
 * PEs of two versions must not give different numbers of bytes. */
struct hello {
    struct version version;
    uint64_t process;     /* gsh_process_id */
    int64_t node_pes;     /* GSHMEM_NODE_PES */
    uint64_t is_cpu;      /* gsh_setup_is_cpu */
    uint64_t team_memory; /* GSHMEM_TEAM_MEMORY */
    uint64_t host_hash;
    uint64_t instance;
    uint32_t far_settings[N_FAR_SETTINGS + 1]; /* one is free */
    uint8_t random[GSH_SECRET_BYTES];          /* rank 0's is in the job's secret */
    uint64_t bell;                             /* bell.h: its name */
    int64_t result;                            /* of making that */
    struct gsh_device_attr device;             /* if is_cpu */
};
_Static_assert(sizeof(struct hello) == 328, "the same in every version");

static uint64_t hash_bytes(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ p[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

/* PEs with equal hashes can pass descriptors and map each other's memory: one kernel, one network
 * namespace (abstract sockets belong to it). */
static uint64_t host_hash(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    char boot_id[64] = {0};
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f != NULL) {
        size_t n = fread(boot_id, 1, sizeof(boot_id), f);
        h = hash_bytes(h, boot_id, n);
        fclose(f);
    }
    struct stat st;
    if (stat("/proc/self/ns/net", &st) == 0) {
        h = hash_bytes(h, &st.st_ino, sizeof(st.st_ino));
    }
    return h;
}

static enum gsh_result check_hello(const struct hello *all, int i)
{
    if (all[i].node_pes != all[0].node_pes) {
        return gsh_fail(GSH_ERR_SYMMETRY, "init: GSHMEM_NODE_PES is %d on PE %d and %d on PE 0",
                        (int)all[i].node_pes, i, (int)all[0].node_pes);
    }
    if (all[i].team_memory != all[0].team_memory) {
        return gsh_fail(GSH_ERR_SYMMETRY,
                        "init: GSHMEM_TEAM_MEMORY is not the same on PE %d as on PE 0", i);
    }
    return GSH_OK;
}

/* A host is one node, or several if GSHMEM_NODE_PES divides it. */
struct host {
    uint64_t hash;
    int n_pes;      /* met so far; 0: the place is free */
    int node;       /* of the latest */
    int n_node_pes; /* of that node so far */
};

/* At least twice as many entries as PEs, a power of two. */
static size_t host_hosts(int n_pes)
{
    size_t n = 2;
    while (n < 2 * (size_t)n_pes) {
        n *= 2;
    }
    return n;
}

static struct host *find_host(struct host *hosts, size_t n_hosts, uint64_t hash)
{
    size_t at = hash & (n_hosts - 1);
    while (hosts[at].n_pes > 0 && hosts[at].hash != hash) {
        at = (at + 1) & (n_hosts - 1);
    }
    hosts[at].hash = hash;
    return &hosts[at];
}

/* hosts: zeroed places. host_of_node: as many as PEs. */
static void number_nodes(struct gsh_instance *pe, struct host *hosts, const struct hello *all)
{
    const int node_pes = (int)all[0].node_pes;
    size_t n_hosts = host_hosts(pe->n_pes);
    for (int i = 0; i < pe->n_pes; i++) {
        struct host *host = find_host(hosts, n_hosts, all[i].host_hash);
        int before = host->n_pes++;
        if (node_pes > 0 ? before % node_pes == 0 : before == 0) {
            pe->host_of_node[pe->n_nodes] = all[i].host_hash;
            host->node = pe->n_nodes++;
            host->n_node_pes = 0;
        }
        pe->peers[i].node = host->node;
        pe->peers[i].node_index = (unsigned)host->n_node_pes++;
    }
}

static enum gsh_result check_far_settings(const struct hello *all, int n)
{
    for (int i = 1; i < n; i++) {
        for (int s = 0; s < N_FAR_SETTINGS; s++) {
            if (all[i].far_settings[s] != all[0].far_settings[s]) {
                return gsh_fail(GSH_ERR_SYMMETRY, "init: %s is not the same on PE %d as on PE 0",
                                far_settings[s], i);
            }
        }
    }
    return GSH_OK;
}

static enum gsh_result make_near(struct gsh_instance *pe)
{
    size_t n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n += pe->peers[i].node == pe->peers[pe->my_pe].node;
    }
    pe->near = calloc(n, sizeof(*pe->near));
    return pe->near != NULL ? GSH_OK
                            : gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
}

static enum gsh_result list_host(struct gsh_instance *pe, const struct hello *all)
{
    const uint64_t host = all[pe->my_pe].host_hash;
    size_t n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n += all[i].host_hash == host;
    }
    pe->host_pes = calloc(n, sizeof(*pe->host_pes));
    if (pe->host_pes == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    for (int i = 0; i < pe->n_pes; i++) {
        if (all[i].host_hash == host) {
            pe->host_pes[pe->n_host_pes++] =
                (struct gsh_host_pe){.process = all[i].process, .pe = i};
        }
    }
    return GSH_OK;
}

static enum gsh_result fill_peers(struct gsh_instance *pe, const struct hello *all)
{
    struct host *hosts = calloc(host_hosts(pe->n_pes), sizeof(*hosts));
    pe->peers = calloc((size_t)pe->n_pes, sizeof(*pe->peers));
    pe->host_of_node = malloc((size_t)pe->n_pes * sizeof(*pe->host_of_node));
    if (pe->peers == NULL || pe->host_of_node == NULL || hosts == NULL) {
        free(hosts);
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    enum gsh_result r = GSH_OK;
    pe->cuda_ordinal = -1;
    pe->thread_level = GSHMEM_THREAD_MULTIPLE;
    pe->is_one_process = true;
    pe->needs_no_choice = true;
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        struct gsh_peer *p = &pe->peers[i];
        r = check_hello(all, i);
        p->is_of_process = all[i].process == all[pe->my_pe].process;
        pe->is_one_process = pe->is_one_process && p->is_of_process;
        pe->needs_no_choice = pe->needs_no_choice && all[i].is_cpu;
    }
    number_nodes(pe, hosts, all);
    if (r == GSH_OK && pe->n_nodes > 1) {
        r = check_far_settings(all, pe->n_pes);
    }
    if (r == GSH_OK) {
        r = make_near(pe);
    }
    if (r == GSH_OK) {
        r = list_host(pe, all);
    }
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        struct gsh_near *near = gsh_near_of(pe, i);
        if (near != NULL) {
            near->bell = all[i].bell;
        }
        const bool is_beside = near != NULL && gsh_is_of_process(pe, i);
        if (is_beside) {
            near->instance = gsh_instance_at(all[i].instance);
        }
        if (is_beside && near->instance == NULL) {
            r = gsh_fail(GSH_ERR_ARG, "init: PE %d is not of this process, as it says", i);
        }
        if (i != pe->my_pe && gsh_is_of_process(pe, i)) {
            pe->thread_level = GSHMEM_THREAD_FUNNELED; /* a thread is the PE */
        }
    }
    free(hosts);
    return r;
}

/* The host's PEs wait for each other on its cores. */
static void tell_crowd(const struct gsh_instance *pe)
{
    int n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n += gsh_host_of(pe, i) == gsh_host_of(pe, pe->my_pe);
    }
    gsh_backoff_crowd(n, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

/* The same on all PEs: PE 0 and the first that differs from it are named. */
static enum gsh_result check_versions(const struct hello *all, int n)
{
    const struct version *first = &all[0].version;
    for (int i = 1; i < n; i++) {
        const struct version *its = &all[i].version;
        if (memcmp(its, first, sizeof(*its)) != 0) {
            const uint8_t *a = its->version, *b = first->version;
            return gsh_fail(GSH_ERR_ARG,
                            "init: PE %d runs another version of gshmem (%d.%d.%d, state %d) than "
                            "PE 0 (%d.%d.%d, state %d)",
                            i, a[0], a[1], a[2], its->state_version, b[0], b[1], b[2],
                            first->state_version);
        }
    }
    return GSH_OK;
}

/* What a NIC alone concerns counts where kernels are to post to one. */
static void fill_far_settings(const struct gsh_instance *pe, uint32_t *settings)
{
    const struct gsh_env *env = &pe->env;
    const enum gsh_far_nic_kind nic = gsh_far_nic_kind(pe);
    const bool has_nic = nic != GSH_FAR_NIC_NONE;
    const uint32_t all[N_FAR_SETTINGS] = {
        (uint32_t)env->proxy_rings,
        (uint32_t)env->proxy_ring_slots,
        gsh_far_stages_always(pe),
        (uint32_t)(env->stage_chunk_bytes / CHUNK_UNIT), /* gsh_far_check: a multiple */
        (uint32_t)env->contexts,
        (uint32_t)env->remote[0], /* auto, proxy or nic */
        (uint32_t)nic,
        has_nic ? (uint32_t)env->nic_stripes : 0,
        has_nic ? (uint32_t)env->nic_queues : 0};
    memcpy(settings, all, sizeof(all));
}

/* What all have told of their devices, if that is certain. */
static enum gsh_result keep_attrs(struct gsh_instance *pe, const struct hello *all)
{
    if (!pe->needs_no_choice) {
        return GSH_OK;
    }
    pe->attrs = calloc((size_t)pe->n_pes, sizeof(*pe->attrs));
    if (pe->attrs == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d devices", pe->n_pes);
    }
    for (int i = 0; i < pe->n_pes; i++) {
        pe->attrs[i] = all[i].device;
    }
    return GSH_OK;
}

/* On several nodes each PE has a bell, or all know of one that has none. */
static enum gsh_result check_bells(struct gsh_instance *pe, const struct hello *all)
{
    int first = 0;
    if (pe->n_nodes == 1) {
        gsh_bell_close(&pe->bell);
        return GSH_OK;
    }
    while (first < pe->n_pes && all[first].result == GSH_OK) {
        first++;
    }
    if (first == pe->n_pes) {
        gsh_bell_key(pe->bell, pe->secret);
        return GSH_OK;
    }
    return gsh_init_vote_failed(pe, GSH_STEP_BELLS, (enum gsh_result)all[pe->my_pe].result);
}

static enum gsh_result exchange_identities(struct gsh_instance *pe)
{
    struct hello mine = {.version = own_version,
                         .process = gsh_process_id(),
                         .node_pes = pe->env.node_pes,
                         .is_cpu = gsh_setup_is_cpu(pe),
                         .team_memory = pe->env.team_memory_bytes,
                         .host_hash = host_hash(),
                         .instance = (uint64_t)(uintptr_t)pe};
    fill_far_settings(pe, mine.far_settings);
    if (mine.process == 0 ||
        getrandom(mine.random, sizeof(mine.random), 0) != (ssize_t)sizeof(mine.random)) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "init: getrandom");
    }
    struct hello *all = calloc((size_t)pe->n_pes, sizeof(*all));
    if (all == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    if (mine.is_cpu) {
        gsh_setup_tell(pe, &mine.device);
    }
    mine.result = pe->n_pes > 1 ? gsh_bell_open(&pe->bell, &mine.bell) : GSH_OK;
    enum gsh_result r = pe->bootstrap->ops->allgather(pe->bootstrap, &mine, sizeof(mine), all);
    if (r == GSH_OK) {
        r = check_versions(all, pe->n_pes);
    }
    if (r == GSH_OK) {
        gsh_key_secret(pe->bootstrap->shared_key, all[0].random, pe->secret);
        explicit_bzero(all[0].random, sizeof(all[0].random));
        r = fill_peers(pe, all);
    }
    if (r == GSH_OK) {
        r = check_bells(pe, all);
    }
    if (r == GSH_OK) {
        r = keep_attrs(pe, all);
    }
    explicit_bzero(mine.random, sizeof(mine.random));
    free(all);
    return r;
}

/* One node: each step is followed by a vote. */
static enum gsh_result link_node(struct gsh_instance *pe, struct gsh_page_passing *passing)
{
    /* all listeners are open before any PE sends */
    enum gsh_result r = gsh_init_vote(pe, GSH_STEP_LISTENERS, gsh_page_open(pe, passing));
    if (r == GSH_OK) {
        r = gsh_page_exchange(pe, gsh_page_bytes(pe), passing);
        /* PEs of one process wait for no other's page */
        r = pe->is_one_process ? r : gsh_init_vote(pe, GSH_STEP_PAGES, r);
    }
    if (r == GSH_OK) {
        r = gsh_monitor_prepare(pe, &pe->monitor);
        r = pe->is_one_process ? gsh_blame(r, "init") : gsh_init_vote(pe, GSH_STEP_MONITOR, r);
    }
    if (r == GSH_OK) { /* of this PE's failure here its end tells the others */
        r = gsh_monitor_link(pe->monitor);
        r = gsh_blame(r == GSH_OK ? gsh_node_bootstrap_create(pe, &pe->job_bootstrap) : r, "init");
    }
    return r;
}

/* This PE's part of what follows. If it fails, the caller tells those of the node that wait. */
static enum gsh_result enter_node(struct gsh_instance *pe, const struct gsh_page_passing *passing)
{
    enum gsh_result r = gsh_page_exchange(pe, gsh_page_bytes(pe), passing);
    r = r == GSH_OK ? gsh_monitor_link(pe->monitor) : r;
    r = r == GSH_OK ? gsh_node_bootstrap_create(pe, &pe->node_bootstrap) : r;
    r = r == GSH_OK ? gsh_net_bootstrap_create(pe, pe->bootstrap, &pe->job_bootstrap) : r;
    return r == GSH_OK ? gsh_net_start(pe) : r;
}

/* Several nodes. *own: what has come of this PE's part, of which PEs of other nodes do not know. If
 * they do not look up addresses, an exchange of these has told them of its beginning. */
static enum gsh_result join_nodes(struct gsh_instance *pe, struct gsh_page_passing *passing,
                                  enum gsh_result *own)
{
    enum gsh_result mine = gsh_page_open(pe, passing);
    mine = mine == GSH_OK ? gsh_monitor_prepare(pe, &pe->monitor) : mine;
    mine = gsh_net_introduce(pe, pe->bootstrap, mine);
    if (mine != GSH_OK && !gsh_looks_up(pe)) {
        return mine; /* of all PEs */
    }
    *own = mine == GSH_OK ? enter_node(pe, passing) : mine;
    if (*own != GSH_OK) {
        gsh_bell_ring_all(pe);
    }
    return GSH_OK;
}

/* What needs no other PE. */
static enum gsh_result make_own(struct gsh_instance *pe)
{
    enum gsh_result r = gsh_monitor_start(pe->monitor);
    if (r == GSH_OK) {
        r = gsh_trace_job_begin(pe);
    }
    if (r == GSH_OK) {
        r = gsh_teams_create(pe);
    }
    if (r == GSH_OK) {
        r = gsh_contexts_create(pe);
    }
    if (r == GSH_OK) {
        gsh_hang_begin(pe);
        r = gsh_setup_prepare(pe);
    }
    return r;
}

/* Whether an exchange of device set-up, as part of init, tells all PEs what each has come to. */
static bool is_told_by_setup(const struct gsh_instance *pe)
{
    return pe->needs_no_choice && !pe->outlives_deaths;
}

/* The first exchange of all PEs after `own`, this PE's outcome, tells it to them: one of device
 * set-up, or a vote. */
static enum gsh_result end_init(struct gsh_instance *pe, enum gsh_result own)
{
    enum gsh_result r = own;
    if (!is_told_by_setup(pe)) {
        r = gsh_init_vote(pe, GSH_STEP_READY, own);
    }
    if (!is_told_by_setup(pe) && r == GSH_OK) {
        gsh_net_settle(pe);
        r = gsh_deaths_create(pe);
    }
    if (pe->n_nodes > 1 && is_told_by_setup(pe)) {
        r = gsh_setup_chosen(pe, r);
    } else if (pe->needs_no_choice && (is_told_by_setup(pe) || r == GSH_OK)) {
        r = gsh_setup_in_init(pe, r);
    }
    return r == GSH_OK ? gsh_trace_job_note_clocks(pe) : r;
}

static void destroy(struct gsh_instance *pe)
{
    gsh_hang_end(pe);
    /* first the threads that use the network and the device, then the network, which uses this
     * PE's memory */
    gsh_net_close(pe);
    gsh_monitor_destroy(&pe->monitor);
    gsh_deaths_destroy(pe);
    gsh_net_destroy(pe);
    gsh_statics_unshare(pe);
    gsh_setup_undo(pe);
    gsh_trace_job_destroy(pe);
    if (pe->job_bootstrap != NULL) {
        pe->job_bootstrap->ops->destroy(pe->job_bootstrap);
    }
    if (pe->node_bootstrap != NULL) {
        pe->node_bootstrap->ops->destroy(pe->node_bootstrap);
    }
    gsh_node_pes_free(pe);
    gsh_fdpass_destroy(&pe->fdpass);
    if (pe->teams != NULL) {
        gsh_pages_unmap(pe, gsh_page_bytes(pe));
    }
    gsh_contexts_destroy(pe);
    gsh_teams_destroy(pe);
    gsh_bell_close(&pe->bell);
    free(pe->attrs);
    free(pe->near);
    free(pe->host_of_node);
    free(pe->host_pes);
    free(pe->peers);
    free(pe->lock_holders);
    if (pe->bootstrap != NULL) {
        pe->bootstrap->ops->destroy(pe->bootstrap);
    }
    explicit_bzero(pe->secret, sizeof(pe->secret)); /* the record stays */
    gsh_instance_release(pe);
}

/* A kernel that waits for a far PE waits for the proxy's CUDA calls. These must not wait for the
 * kernel in turn. They would in two cases: while another kernel is loaded, which CUDA does at its
 * first launch, and in a work queue that streams share when there are more than 8. CUDA reads the
 * variables when it starts, and gshmem starts it later. Values set by the user stay. had_threads:
 * whether the process had other threads when init began, before those of the bootstrap; such a
 * thread may be reading the environment. */
static void free_proxy_of_kernels(const struct gsh_instance *pe, bool had_threads)
{
    if (pe->n_nodes == 1 || gsh_setup_is_cpu(pe) ||
        (secure_getenv("CUDA_MODULE_LOADING") != NULL &&
         secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS") != NULL)) {
        return;
    }
    if (!had_threads) {
        setenv("CUDA_MODULE_LOADING", "EAGER", 0);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    } else if (pe->my_pe == 0) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT,
                "init: the program has threads already, so its environment stays as it is: kernels "
                "that wait for far PEs may hang unless it is started with "
                "CUDA_MODULE_LOADING=EAGER and CUDA_DEVICE_MAX_CONNECTIONS=32");
    }
}

static enum gsh_result begin_job(struct gsh_instance *pe)
{
    struct gsh_page_passing passing = {0};
    enum gsh_result own = GSH_OK, r = GSH_OK;
    if (pe->n_nodes > 1 && is_told_by_setup(pe)) {
        r = gsh_setup_check(pe);
    }
    if (r == GSH_OK) {
        r = pe->n_nodes > 1 ? join_nodes(pe, &passing, &own) : link_node(pe, &passing);
    }
    gsh_page_end_passing(pe, &passing);
    if (r == GSH_OK) {
        r = end_init(pe, own == GSH_OK ? make_own(pe) : own);
    }
    if (pe->fdpass != NULL) {
        gsh_fdpass_heed(pe->fdpass, -1, NULL, NULL);
    }
    gsh_bell_close(&pe->bell);
    free(pe->attrs);
    pe->attrs = NULL;
    return r;
}

static enum gsh_result bring_up(struct gsh_instance *pe, unsigned flags,
                                const gshmemx_init_attr_t *attr)
{
    bool had_threads = gsh_process_n_threads() != 1;
    enum gsh_result r = gsh_env_read(&pe->env);
    if (r == GSH_OK) {
        r = gsh_launch_bootstrap(&pe->env, flags, attr, &pe->bootstrap);
        if (r != GSH_OK && pe->env.rank <= 0) {
            gsh_env_warn(true, true); /* a misspelt name may be why */
        }
    }
    if (r != GSH_OK) {
        return r;
    }
    gsh_process_mark();
    pe->my_pe = pe->bootstrap->rank;
    pe->n_pes = pe->bootstrap->size;
    gsh_log_set_pe(pe->my_pe);
    gsh_report_ask(&gsh_absent_members);
    r = exchange_identities(pe);
    if (r == GSH_OK && pe->n_nodes == 1 && pe->bootstrap->ops->forgo != NULL) {
        pe->bootstrap->ops->forgo(pe->bootstrap);
    }
    if (r == GSH_OK) {
        gsh_env_warn(pe->my_pe == 0, pe->peers[pe->my_pe].node_index == 0);
        free_proxy_of_kernels(pe, had_threads);
        tell_crowd(pe);
        r = gsh_teams_plan(pe);
    }
    if (r == GSH_OK) {
        r = gsh_page_make(pe, gsh_page_bytes(pe));
    }
    if (r == GSH_OK) {
        r = begin_job(pe);
    }
    if (r == GSH_OK && pe->wants_static_data) {
        r = gsh_statics_share(pe);
    }
    return r;
}

static enum gsh_result instance_create(unsigned flags, const gshmemx_init_attr_t *attr)
{
    struct gsh_instance *pe = gsh_instance_allocate();
    if (pe == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory");
    }
    pe->page_fd = -1;
    pe->outlives_deaths = gsh_instance_is_made_for_dialect();
    pe->wants_static_data = (flags & GSHMEMX_INIT_STATIC_DATA) != 0;
    flags &= ~(unsigned)GSHMEMX_INIT_STATIC_DATA;
    enum gsh_result r = bring_up(pe, flags, attr);
    if (r != GSH_OK) {
        destroy(pe);
        gsh_log_set_pe(-1);
        return r;
    }
    gsh_leave_check_exit();
    gsh_leave_far_at_exit(pe);
    gsh_instance_bind(pe);
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "PE %d of %d, started by %s", pe->my_pe, pe->n_pes,
            pe->bootstrap->ops->name);
    return GSH_OK;
}

int gshmemx_init_attr(unsigned int flags, const gshmemx_init_attr_t *attr)
{
    if (gsh_instance_bound() != NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_STATE, "gshmem_init: this PE is already "
                                                        "initialised"));
    }
    if (gsh_instance_is_forked() && !gsh_instance_is_made_for_dialect()) {
        return gsh_public_error(gsh_fail(GSH_ERR_STATE, "gshmem_init: %s", gsh_instance_absence()));
    }
    return gsh_public_error(instance_create(flags, attr));
}

void gshmem_init(void)
{
    if (gshmemx_init_attr(0, NULL) != 0) {
        gsh_handler_tell(-1, 1, gsh_last_error());
        gsh_flush_stdout();
        _exit(1); /* the reason has been printed; the launcher ends the others */
    }
}

int gshmem_init_thread(int requested, int *provided)
{
    if (requested < GSHMEM_THREAD_SINGLE || requested > GSHMEM_THREAD_MULTIPLE) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG,
                                         "gshmem_init_thread: there is no thread "
                                         "level %d",
                                         requested));
    }
    int error = gshmemx_init_attr(0, NULL);
    if (error == 0 && provided != NULL) {
        gshmem_query_thread(provided);
    }
    return error;
}

void gshmem_query_thread(int *provided)
{
    int level = gsh_instance_need("gshmem_query_thread")->thread_level;
    if (provided != NULL) {
        *provided = level;
    }
}

int gshmemx_init_status(void)
{
    const struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        return GSHMEM_STATUS_NOT_INITIALIZED;
    }
    return pe->is_device_ready ? GSHMEM_STATUS_IS_INITIALIZED : GSHMEM_STATUS_IS_BOOTSTRAPPED;
}

/* A lock may be set by the host and cleared by a kernel, or vice versa. */
static void warn_of_locks(struct gsh_instance *pe, const char *call)
{
    int n = __atomic_load_n(&pe->n_locks_held, __ATOMIC_RELAXED) +
            (int)__atomic_load_n(&pe->page->control.n_locks, __ATOMIC_RELAXED);
    if (n > 0) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_ALL, "%s: %d lock%s still held", call, n,
                n == 1 ? " is" : "s are");
    }
}

/* A PE has died, and others may still be waiting for it in memory that this PE has shared, so all
 * of that stays. The end of the job no longer concerns this process: others do not wait for it in
 * the last barrier. Jobs that outlive deaths are started by a unique id, where abort ends no
 * process. */
static void leave_behind(struct gsh_instance *pe)
{
    pe->bootstrap->ops->abort(pe->bootstrap, 0, "");
    gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_LEAVE);
    gsh_instance_unbind(pe);
}

/* A PE has died after the monitor's end. A launcher that sees that names the PE, and ends this one.
 * PEs would only name each other. */
__attribute__((noreturn)) static void end_late(struct gsh_instance *pe, const char *call)
{
    const struct timespec patience = {.tv_nsec = LAUNCHER_FIRST_NS};
    int failed = -1;
    gsh_flush_stdout();
    nanosleep(&patience, NULL);
    if (!gsh_process_ends_others(pe->env.launcher, &failed) && gsh_page_take_word(pe)) {
        gsh_fail(GSH_ERR_PEER, "%s: %s; ending the job", call, gsh_last_error());
    }
    gsh_process_say_follows();
    _exit(1);
}

void gshmem_finalize(void)
{
    static const char call[] = "gshmem_finalize";
    struct gsh_instance *pe = gsh_instance_need(call);
    gsh_waits_name_call(call);
    if (pe != gsh_instance_bound()) {
        /* the thread that called init would continue with a PE and a device that are gone */
        gsh_log_set_pe(pe->my_pe);
        gsh_abort(pe, 1, "%s: called by another thread than the one that called init", call);
    }
    gsh_descriptors_check(pe, call);
    if (pe->is_device_ready) {
        /* kernels that still run may use the heap */
        gsh_require(pe, call, pe->device_ops->synchronize(pe));
        gsh_report_print_refusal(pe); /* before the monitor has looked */
        gsh_contexts_quiet(pe, call);
    }
    warn_of_locks(pe, call); /* kernels are done */
    gsh_require(pe, call, gsh_trace_job_end(pe));
    /* after the last round no PE uses this one's memory, page or messages */
    enum gsh_result r = pe->is_device_ready ? gsh_heap_leave(pe->heap)
                                            : pe->job_bootstrap->ops->barrier(pe->job_bootstrap);
    if (r != GSH_OK && gsh_is_death(pe)) {
        leave_behind(pe);
        return;
    }
    gsh_require(pe, call, r);
    gsh_buffers_end(pe);
    gsh_net_close(pe);
    gsh_monitor_destroy(&pe->monitor);
    gsh_deaths_destroy(pe);
    gsh_trace_job_close(pe);
    pe->bootstrap->may_lose_ranks = true; /* without a line: see end_late */
    r = pe->bootstrap->ops->barrier(pe->bootstrap);
    if (r != GSH_OK && pe->outlives_deaths) { /* other PEs of this process may not be as far */
        leave_behind(pe);
        return;
    }
    if (r == GSH_ERR_PEER) {
        end_late(pe, call);
    }
    gsh_require(pe, call, r);
    gsh_trace_job_merge(pe);
    gsh_instance_unbind(pe);
    destroy(pe);
}
