/* SPDX-License-Identifier: Apache-2.0
 * See identity.h. */
#include "runtime/init/identity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/host.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "bootstrap/gather.h"
#include "bootstrap/host_table.h"
#include "bootstrap/leg.h"
#include "gshmemx.h"
#include "runtime/far/far.h"
#include "runtime/init/setup.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/vote.h"

#define VERSION_MAGIC 0x68736721u

static const struct gsh_version own_version = {
    .magic = VERSION_MAGIC,
    .version = {GSHMEM_VENDOR_MAJOR_VERSION, GSHMEM_VENDOR_MINOR_VERSION,
                GSHMEM_VENDOR_PATCH_VERSION},
    .state_version = GSH_STATE_VERSION,
};

/* ---- settings ---- */

/* The settings that all PEs of a job with far PEs share. */
#define CHUNK_UNIT 4096u /* of GSHMEM_STAGE_CHUNK */
enum { N_FAR_SETTINGS = 9 };
static const char *const far_names[N_FAR_SETTINGS] = {
    "GSHMEM_PROXY_RINGS", "GSHMEM_PROXY_RING_SLOTS", "GSHMEM_STAGE", "GSHMEM_STAGE_CHUNK",
    "GSHMEM_CONTEXTS",    "GSHMEM_REMOTE",           "GSHMEM_NIC", /* none, the model, or others */
    "GSHMEM_NIC_STRIPES", "GSHMEM_NIC_QUEUES"};

/* What must be the same on all PEs, or on those of a job with far PEs. */
struct settings {
    int64_t node_pes;                 /* GSHMEM_NODE_PES */
    uint64_t team_memory;             /* GSHMEM_TEAM_MEMORY */
    uint32_t far[N_FAR_SETTINGS + 1]; /* one is free */
    struct gsh_device_attr device; /* if it is certain to be the CPU, without its size and name */
};
_Static_assert(sizeof(struct settings) ==
                   16 + 4 * (N_FAR_SETTINGS + 1) + sizeof(struct gsh_device_attr),
               "no padding, since it is hashed");

/* What a NIC alone concerns counts where kernels are to post to one. */
static void fill_far(const struct gsh_instance *pe, uint32_t *settings)
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

/* No padding counts: settings begin as zeros. */
static void digest(const struct settings *settings, uint8_t out[16])
{
    struct gsh_sha256 s;
    uint8_t whole[GSH_SHA256_BYTES];
    gsh_sha256_init(&s);
    gsh_sha256_update(&s, settings, sizeof(*settings));
    gsh_sha256_finish(&s, whole);
    memcpy(out, whole, 16);
}

/* These two are collective, take the same arguments on all PEs, and report a difference once. */
static enum gsh_result check_far_settings(struct gsh_bootstrap *b, const struct settings *all)
{
    struct gsh_agreement a = {.bootstrap = b};
    for (int i = 1; i < b->size; i++) {
        for (int s = 0; s < N_FAR_SETTINGS; s++) {
            if (all[i].far[s] != all[0].far[s]) {
                return gsh_agree_fail(&a, GSH_ERR_SYMMETRY,
                                      "init: %s is not the same on PE %d as on PE 0", far_names[s],
                                      i);
            }
        }
    }
    return GSH_OK;
}

static enum gsh_result check_settings(struct gsh_bootstrap *b, const struct settings *all)
{
    struct gsh_agreement a = {.bootstrap = b};
    for (int i = 1; i < b->size; i++) {
        if (all[i].node_pes != all[0].node_pes) {
            return gsh_agree_fail(&a, GSH_ERR_SYMMETRY,
                                  "init: GSHMEM_NODE_PES is %d on PE %d and %d on PE 0",
                                  (int)all[i].node_pes, i, (int)all[0].node_pes);
        }
        if (all[i].team_memory != all[0].team_memory) {
            return gsh_agree_fail(&a, GSH_ERR_SYMMETRY,
                                  "init: GSHMEM_TEAM_MEMORY is not the same on PE %d as on PE 0",
                                  i);
        }
    }
    return GSH_OK;
}

/* ---- peers ---- */

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

/* What this PE has heard: of the PEs of its host, which the bootstrap knows, or of all. */
struct heard {
    const struct gsh_host_layout *layout; /* of hosts that are known, or NULL: they are not */
    struct gsh_host_ranks from;
    struct gsh_identity *of; /* [from.n] */
};

static const struct gsh_identity *identity_of(const struct heard *heard, int pe)
{
    return &heard->of[gsh_host_ranks_index(&heard->from, pe)];
}

static size_t host_entries(int n_pes, const struct heard *heard)
{
    return heard->layout != NULL ? (size_t)gsh_host_layout_n_hosts(heard->layout)
                                 : host_hosts(n_pes);
}

/* The host of PE i. Where the bootstrap knows hosts, their numbers stand for their hashes. */
static struct host *host_of(struct host *hosts, int n_pes, const struct heard *heard, int i)
{
    int number;
    if (heard->layout == NULL) {
        return find_host(hosts, host_hosts(n_pes), identity_of(heard, i)->host);
    }
    (void)gsh_host_layout_find(heard->layout, n_pes, i, &number);
    hosts[number].hash = (uint64_t)number;
    return &hosts[number];
}

/* hosts: zeroed places. host_of_node: as many as PEs. */
static void number_nodes(struct gsh_instance *pe, struct host *hosts, const struct heard *heard)
{
    const int node_pes = pe->env.node_pes;
    for (int i = 0; i < pe->n_pes; i++) {
        struct host *host = host_of(hosts, pe->n_pes, heard, i);
        int before = host->n_pes++;
        if (node_pes > 0 ? before % node_pes == 0 : before == 0) {
            pe->host_of_node[pe->n_nodes] = host->hash;
            host->node = pe->n_nodes++;
            host->n_node_pes = 0;
        }
        pe->peers[i].node = host->node;
        pe->peers[i].node_index = (unsigned)host->n_node_pes++;
    }
}

/* Of the PEs of a node that follow one another, the fewest. */
static int find_width(const struct gsh_instance *pe)
{
    int least = pe->n_pes;
    for (int i = 1, first = 0; i <= pe->n_pes; i++) {
        if (i == pe->n_pes || pe->peers[i].node != pe->peers[first].node) {
            least = i - first < least ? i - first : least;
            first = i;
        }
    }
    return gsh_leg_width(least);
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

static enum gsh_result list_host(struct gsh_instance *pe, const struct heard *heard)
{
    const uint64_t host = identity_of(heard, pe->my_pe)->host;
    size_t n = 0;
    for (int k = 0; k < heard->from.n; k++) {
        n += heard->of[k].host == host;
    }
    pe->host_pes = calloc(n, sizeof(*pe->host_pes));
    if (pe->host_pes == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    for (int k = 0; k < heard->from.n; k++) {
        const struct gsh_identity *its = &heard->of[k];
        const int i = gsh_host_ranks_at(&heard->from, k);
        if (its->host == host) {
            pe->host_pes[pe->n_host_pes++] = (struct gsh_host_pe){.process = its->process, .pe = i};
        } else if (heard->layout != NULL) {
            return gsh_fail(GSH_ERR_ARG,
                            "init: PE %d is not of this host, as it told the rendezvous", i);
        }
    }
    return GSH_OK;
}

static enum gsh_result fill_near(struct gsh_instance *pe, const struct heard *heard)
{
    enum gsh_result r = make_near(pe);
    for (int k = 0; r == GSH_OK && k < heard->from.n; k++) {
        const int i = gsh_host_ranks_at(&heard->from, k);
        struct gsh_near *near = gsh_near_of(pe, i);
        if (near != NULL) {
            near->bell = heard->of[k].bell;
        }
        const bool is_beside = near != NULL && gsh_is_of_process(pe, i);
        if (is_beside) {
            near->instance = gsh_instance_numbered(heard->of[k].instance);
        }
        if (is_beside && near->instance == NULL) {
            r = gsh_fail(GSH_ERR_ARG, "init: PE %d is not of this process, as it says", i);
        }
        if (i != pe->my_pe && gsh_is_of_process(pe, i)) {
            pe->thread_level = GSHMEM_THREAD_FUNNELED; /* a thread is the PE */
        }
    }
    return r;
}

static enum gsh_result fill_peers(struct gsh_instance *pe, const struct heard *heard)
{
    struct host *hosts = calloc(host_entries(pe->n_pes, heard), sizeof(*hosts));
    pe->peers = calloc((size_t)pe->n_pes, sizeof(*pe->peers));
    pe->host_of_node = malloc((size_t)pe->n_pes * sizeof(*pe->host_of_node));
    if (pe->peers == NULL || pe->host_of_node == NULL || hosts == NULL) {
        free(hosts);
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    pe->cuda_ordinal = -1;
    pe->thread_level = GSHMEM_THREAD_MULTIPLE;
    pe->is_one_process = heard->from.n == pe->n_pes;
    for (int k = 0; k < heard->from.n; k++) {
        struct gsh_peer *p = &pe->peers[gsh_host_ranks_at(&heard->from, k)];
        p->is_of_process = heard->of[k].process == identity_of(heard, pe->my_pe)->process;
        pe->is_one_process = pe->is_one_process && p->is_of_process;
    }
    number_nodes(pe, hosts, heard);
    free(hosts);
    pe->node_width = find_width(pe);
    const enum gsh_result r = list_host(pe, heard);
    return r == GSH_OK ? fill_near(pe, heard) : r;
}

/* ---- the exchange ---- */

static void fold(void *into, const void *from)
{
    struct gsh_identity_sum *mine = into;
    const struct gsh_identity_sum *theirs = from;
    if (memcmp(&theirs->least, &mine->least, sizeof(mine->least)) < 0) {
        mine->least = theirs->least;
    }
    if (memcmp(&theirs->most, &mine->most, sizeof(mine->most)) > 0) {
        mine->most = theirs->most;
    }
    if (memcmp(theirs->least_settings, mine->least_settings, sizeof(mine->least_settings)) < 0) {
        memcpy(mine->least_settings, theirs->least_settings, sizeof(mine->least_settings));
    }
    if (memcmp(theirs->most_settings, mine->most_settings, sizeof(mine->most_settings)) > 0) {
        memcpy(mine->most_settings, theirs->most_settings, sizeof(mine->most_settings));
    }
    for (size_t i = 0; i < sizeof(mine->random); i++) {
        mine->random[i] |= theirs->random[i];
    }
    mine->memory_bytes = gsh_max_u64(mine->memory_bytes, theirs->memory_bytes);
    mine->flags |= theirs->flags;
}

/* They differ. The same on all PEs: PE 0 and the first that differs from it are named. */
static enum gsh_result check_versions(struct gsh_bootstrap *b)
{
    struct gsh_version *all = calloc((size_t)b->size, sizeof(*all));
    if (all == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", b->size);
    }
    enum gsh_result r = b->ops->allgather(b, &own_version, sizeof(own_version), all);
    for (int i = 1; r == GSH_OK && i < b->size; i++) {
        if (memcmp(&all[i], &all[0], sizeof(all[i])) != 0) {
            const uint8_t *its = all[i].version, *first = all[0].version;
            r = gsh_fail(GSH_ERR_ARG,
                         "init: PE %d runs another version of gshmem (%d.%d.%d, state %d) than "
                         "PE 0 (%d.%d.%d, state %d)",
                         i, its[0], its[1], its[2], all[i].state_version, first[0], first[1],
                         first[2], all[0].state_version);
        }
    }
    free(all);
    return r;
}

/* Some settings differ: *all becomes those of all, from malloc. */
static enum gsh_result gather_settings(struct gsh_bootstrap *b, const struct settings *mine,
                                       struct settings **all)
{
    *all = calloc((size_t)b->size, sizeof(**all));
    if (*all == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", b->size);
    }
    const enum gsh_result r = b->ops->allgather(b, mine, sizeof(*mine), *all);
    return r == GSH_OK ? check_settings(b, *all) : r;
}

/* all: NULL, or settings of all, which differ. */
static enum gsh_result keep_told(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                                 uint64_t memory_bytes, const struct settings *all)
{
    if (!pe->needs_no_choice) {
        return GSH_OK;
    }
    pe->told = calloc(1, sizeof(*pe->told));
    if (pe->told != NULL && all != NULL) {
        pe->told->all = calloc((size_t)pe->n_pes, sizeof(*pe->told->all));
    }
    if (pe->told == NULL || (all != NULL && pe->told->all == NULL)) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d devices", pe->n_pes);
    }
    pe->told->mine = *mine;
    pe->told->memory_bytes = memory_bytes;
    for (int i = 0; all != NULL && i < pe->n_pes; i++) {
        pe->told->all[i] = all[i].device;
    }
    return GSH_OK;
}

void gsh_identity_forget(struct gsh_instance *pe)
{
    if (pe->told != NULL) {
        free(pe->told->all);
    }
    free(pe->told);
    pe->told = NULL;
}

/* On several nodes each PE has a bell, or all know that one has none. mine: what has come of this
 * PE's. */
static enum gsh_result check_bells(struct gsh_instance *pe, bool all_have, enum gsh_result mine)
{
    if (pe->n_nodes == 1) {
        gsh_bell_close(&pe->bell);
        return GSH_OK;
    }
    if (!all_have) {
        return gsh_init_vote_failed(pe, GSH_STEP_BELLS, mine);
    }
    gsh_bell_key(pe->bell, pe->secret);
    return GSH_OK;
}

/* What this PE has to say. */
struct own {
    struct gsh_identity identity;
    struct settings settings;
    struct gsh_device_attr device; /* if it is certain to be the CPU */
    struct gsh_identity_sum sum;
    enum gsh_result bell;
};

static enum gsh_result find_own(struct gsh_instance *pe, struct own *own)
{
    const bool is_cpu = gsh_setup_is_cpu(pe);
    const uint64_t host = gsh_host_id(), process = gsh_process_id();
    own->identity = (struct gsh_identity){
        .host = host != 0 ? host : process, .process = process, .instance = pe->number};
    own->sum = (struct gsh_identity_sum){.least = own_version, .most = own_version};
    uint8_t *random = own->sum.random;
    if (own->identity.process == 0 ||
        (pe->my_pe == 0 && getrandom(random, GSH_SECRET_BYTES, 0) != GSH_SECRET_BYTES)) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "init: getrandom");
    }
    own->settings.node_pes = pe->env.node_pes;
    own->settings.team_memory = pe->env.team_memory_bytes;
    fill_far(pe, own->settings.far);
    if (is_cpu) {
        gsh_setup_tell(pe, &own->device);
        own->settings.device = own->device;
        own->settings.device.memory_bytes = 0;
        memset(own->settings.device.name, 0, sizeof(own->settings.device.name));
    }
    own->bell = pe->n_pes > 1 ? gsh_bell_open(&pe->bell, &own->identity.bell) : GSH_OK;
    digest(&own->settings, own->sum.least_settings);
    memcpy(own->sum.most_settings, own->sum.least_settings, sizeof(own->sum.most_settings));
    own->sum.memory_bytes = own->device.memory_bytes;
    own->sum.flags = (is_cpu ? 0 : GSH_IDENTITY_CHOOSES) |
                     (own->bell == GSH_OK ? 0 : GSH_IDENTITY_NO_BELL) |
                     (pe->is_small ? 0 : GSH_IDENTITY_ROOMY);
    return GSH_OK;
}

static enum gsh_result exchange(struct gsh_instance *pe, struct own *own, struct heard *heard)
{
    struct gsh_bootstrap *b = pe->bootstrap;
    struct gsh_identity_sum *sum = &own->sum;
    struct settings *settings = NULL;
    enum gsh_result r = gsh_gather_host(b, &own->identity, sizeof(own->identity), heard->of, sum,
                                        sizeof(*sum), fold);
    if (r == GSH_OK && memcmp(&sum->least, &sum->most, sizeof(sum->least)) != 0) {
        r = check_versions(b);
    }
    if (r == GSH_OK &&
        memcmp(sum->least_settings, sum->most_settings, sizeof(sum->least_settings)) != 0) {
        r = gather_settings(b, &own->settings, &settings);
    }
    if (r == GSH_OK) {
        gsh_key_secret(b->shared_key, sum->random, pe->secret);
        pe->needs_no_choice = (sum->flags & GSH_IDENTITY_CHOOSES) == 0;
        pe->is_small = (sum->flags & GSH_IDENTITY_ROOMY) == 0;
        r = fill_peers(pe, heard);
    }
    if (r == GSH_OK && settings != NULL && pe->n_nodes > 1) {
        r = check_far_settings(b, settings);
    }
    if (r == GSH_OK) {
        r = check_bells(pe, (sum->flags & GSH_IDENTITY_NO_BELL) == 0, own->bell);
    }
    if (r == GSH_OK) {
        r = keep_told(pe, &own->device, sum->memory_bytes, settings);
    }
    free(settings);
    return r;
}

/* Collective. Where the bootstrap does not know hosts, all learn who is of which, if they can. */
static enum gsh_result find_hosts(struct gsh_bootstrap *b, uint64_t host,
                                  struct gsh_host_table *table)
{
    if (b->hosts.most > 0 || b->ops->gather_hosts == NULL) {
        return GSH_OK;
    }
    const enum gsh_result r = b->ops->gather_hosts(b, host, table);
    if (r == GSH_OK) {
        b->hosts = (struct gsh_host_layout){.table = table, .most = gsh_host_table_most(table)};
    }
    return r;
}

static enum gsh_result exchange_with_host(struct gsh_instance *pe, struct own *own)
{
    const struct gsh_bootstrap *b = pe->bootstrap;
    struct heard heard = {.layout = b->hosts.most > 0 ? &b->hosts : NULL,
                          .from = gsh_host_range(b)};
    heard.of = calloc((size_t)heard.from.n, sizeof(*heard.of));
    if (heard.of == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for %d peers", pe->n_pes);
    }
    const enum gsh_result r = exchange(pe, own, &heard);
    free(heard.of);
    return r;
}

enum gsh_result gsh_identity_exchange(struct gsh_instance *pe)
{
    struct own own = {.bell = GSH_OK};
    struct gsh_host_table table = {0};
    enum gsh_result r = find_own(pe, &own);
    r = r == GSH_OK ? find_hosts(pe->bootstrap, own.identity.host, &table) : r;
    r = r == GSH_OK ? exchange_with_host(pe, &own) : r;
    explicit_bzero(own.sum.random, sizeof(own.sum.random));
    if (pe->bootstrap->hosts.table != NULL) {
        pe->bootstrap->hosts = (struct gsh_host_layout){0};
    }
    gsh_host_table_free(&table);
    return r;
}
