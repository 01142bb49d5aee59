/* SPDX-License-Identifier: Apache-2.0
 * Messages over UCX: of strangers, who have no key, and of a PE of the job that may send anything,
 * while this PE has puts, gets and flushes under way to it. A message without a right tag changes
 * nothing. With one it is carried out within the regions, or loses its PE, once. UCX is the
 * stand-in below, which completes what is sent at once, and fetches when the input says so. */
#include "tests/fuzz/fuzz.h"

#include "base/util.h"
#include "proxy/ucx/carry.h"

#define PES       3
#define ME        1
#define REGION    4096
#define OPS_MAX   16
#define STEPS_MAX 120

static const uint8_t key[16] = "the job's secret";
static ucp_am_handler_param_t handlers[2];
static struct gsh_transport *t;
static uint8_t *regions[2], *buffers[OPS_MAX];
static struct gsh_op ops[OPS_MAX];
static int n_ops;
static unsigned n_lost[PES], n_messages;
static uint64_t last_token;

/* One fetch may be under way. */
static struct {
    bool is_there;
    ucp_request_param_t param;
    uint8_t *to;
    size_t bytes;
} fetching;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* ---- in place of UCX ---- */

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                            const ucp_am_handler_param_t *param)
{
    (void)worker;
    handlers[param->id] = *param;
    return UCS_OK;
}

/* Notes the token of the newest question. */
ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header, size_t header_bytes,
                                 const void *data, size_t bytes, const ucp_request_param_t *param)
{
    struct gsh_ucx_wire wire;
    struct gsh_ucx_range range;
    const uint8_t *start = id == GSH_UCX_ID_PACKED ? data : header;
    (void)ep, (void)param;
    FUZZ_CHECK((id == GSH_UCX_ID_PACKED ? bytes : header_bytes) >= sizeof(wire));
    memcpy(&wire, start, sizeof(wire));
    if (wire.kind == GSH_UCX_GET || wire.kind == GSH_UCX_FLUSH) {
        memcpy(&range, start + sizeof(wire), sizeof(range));
        last_token = range.token;
    }
    return NULL;
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *desc, void *buffer, size_t count,
                                      const ucp_request_param_t *param)
{
    (void)worker;
    if (fetching.is_there) {
        memcpy(buffer, desc, count);
        return NULL;
    }
    fetching.is_there = true;
    fetching.param = *param;
    fetching.to = buffer;
    fetching.bytes = count;
    memcpy(buffer, desc, count);
    return &fetching;
}

static void end_fetch(ucs_status_t status)
{
    if (fetching.is_there) {
        fetching.is_there = false;
        fetching.param.cb.recv_am(&fetching, status, fetching.bytes, fetching.param.user_data);
    }
}

void ucp_request_free(void *request)
{
    (void)request;
}

ucs_status_t ucp_request_check_status(void *request)
{
    (void)request;
    return UCS_OK;
}

ucs_status_t ucp_config_read(const char *prefix, const char *file, ucp_config_t **config)
{
    (void)prefix, (void)file;
    *config = NULL;
    return UCS_OK;
}

ucs_status_t ucp_config_modify(ucp_config_t *config, const char *name, const char *value)
{
    (void)config, (void)name, (void)value;
    return UCS_OK;
}

void ucp_config_release(ucp_config_t *config)
{
    (void)config;
}

ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t *params,
                              const ucp_config_t *config, ucp_context_h *context)
{
    (void)major, (void)minor, (void)params, (void)config;
    *context = (ucp_context_h)handlers;
    return UCS_OK;
}

void ucp_context_print_info(const ucp_context_h context, FILE *out)
{
    (void)context;
    fputs("#      resource 1  :  md 1  dev 1  flags -- tcp/lo\n", out);
}

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    (void)context;
    attr->memory_types = 0;
    return UCS_OK;
}

void ucp_cleanup(ucp_context_h context)
{
    (void)context;
}

ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                               ucp_worker_h *worker)
{
    (void)context, (void)params;
    *worker = (ucp_worker_h)handlers;
    return UCS_OK;
}

void ucp_worker_destroy(ucp_worker_h worker)
{
    (void)worker;
}

ucs_status_t ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address, size_t *bytes)
{
    (void)worker;
    *address = (ucp_address_t *)handlers;
    *bytes = 8;
    return UCS_OK;
}

void ucp_worker_release_address(ucp_worker_h worker, ucp_address_t *address)
{
    (void)worker, (void)address;
}

ucs_status_t ucp_worker_get_efd(ucp_worker_h worker, int *fd)
{
    (void)worker, (void)fd;
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    (void)worker;
    return UCS_OK;
}

unsigned ucp_worker_progress(ucp_worker_h worker)
{
    (void)worker;
    return 0;
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep)
{
    (void)worker, (void)params;
    *ep = (ucp_ep_h)handlers;
    return UCS_OK;
}

void ucp_ep_print_info(ucp_ep_h ep, FILE *out)
{
    (void)ep;
    fputs("#  lane[0]: 1:tcp/lo.0 md[1]\n", out);
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    (void)ep, (void)param;
    return NULL;
}

ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    (void)ep, (void)param;
    return NULL;
}

ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey)
{
    (void)ep, (void)packed;
    *rkey = (ucp_rkey_h)handlers;
    return UCS_OK;
}

void ucp_rkey_destroy(ucp_rkey_h rkey)
{
    (void)rkey;
}

ucs_status_t ucp_rkey_ptr(ucp_rkey_h rkey, uint64_t address, void **here)
{
    (void)rkey, (void)address, (void)here;
    return UCS_ERR_UNREACHABLE;
}

ucs_status_t ucp_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **packed, size_t *bytes)
{
    (void)context, (void)memh;
    *packed = (void *)(uintptr_t) "a key";
    *bytes = 5;
    return UCS_OK;
}

void ucp_rkey_buffer_release(void *packed)
{
    (void)packed;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *memh)
{
    (void)context, (void)params;
    *memh = (ucp_mem_h)handlers;
    return UCS_OK;
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h memh)
{
    (void)context, (void)memh;
    return UCS_OK;
}

ucs_status_t ucp_mem_query(const ucp_mem_h memh, ucp_mem_attr_t *attr)
{
    (void)memh, (void)attr;
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void *source, size_t bytes, uint64_t address,
                             ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    (void)ep, (void)source, (void)bytes, (void)address, (void)rkey, (void)param;
    return NULL;
}

ucs_status_ptr_t ucp_get_nbx(ucp_ep_h ep, void *dest, size_t bytes, uint64_t address,
                             ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    (void)ep, (void)dest, (void)bytes, (void)address, (void)rkey, (void)param;
    return NULL;
}

const char *ucp_get_version_string(void)
{
    return "a stand-in";
}

const char *ucs_status_string(ucs_status_t status)
{
    return status == UCS_OK ? "ok" : "not ok";
}

/* ---- this PE ---- */

static void on_message(void *context, int from, const void *header, size_t header_bytes,
                       const void *data, size_t bytes)
{
    (void)context;
    FUZZ_CHECK(from >= 0 && from < PES && from != ME && n_lost[from] == 0);
    FUZZ_CHECK(header_bytes <= GSH_TRANSPORT_HEADER_MAX && bytes <= GSH_UCX_MESSAGE_MAX);
    uint8_t *copy = malloc(header_bytes + bytes + 1);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, header, header_bytes);
    if (bytes > 0) {
        memcpy(copy + header_bytes, data, bytes);
    }
    free(copy);
    n_messages++;
}

static void on_lost(void *context, int pe, bool is_silent, const char *reason)
{
    (void)context, (void)is_silent;
    FUZZ_CHECK(pe >= 0 && pe < PES && pe != ME && reason[0] != '\0' && n_lost[pe]++ == 0);
}

static void begin(void)
{
    static const struct gsh_ucx_core core = {
        .fail = gsh_fail, .note = gsh_note, .log = gsh_log, .log_enabled = gsh_log_enabled};
    struct gsh_transport_options options = {
        .my_pe = ME, .n_pes = PES, .events = {.message = on_message, .lost = on_lost}};
    const void *region_key;
    size_t bytes;
    memcpy(options.key, key, sizeof(key));
    FUZZ_CHECK(gsh_ucx_plugin_2()->create(&core, &options, &t) == GSH_OK);
    for (uint64_t r = 0; r < 2; r++) {
        regions[r] = calloc(1, REGION);
        FUZZ_CHECK(t->ops->add_region(t, regions[r], r * REGION, REGION, &region_key, &bytes) ==
                   GSH_OK);
    }
    for (int pe = 0; pe < PES; pe += 2) {
        FUZZ_CHECK(t->ops->set_peer(t, pe, "address", 8) == GSH_OK);
        FUZZ_CHECK(t->ops->add_peer_region(t, pe, 0, 4 * REGION, "12345678key", 11) == GSH_OK);
    }
}

static void end(void)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    end_fetch(UCS_ERR_CANCELED);
    for (size_t i = 0; i < u->n_used; i++) {
        u->used[i]->is_bye_answered = true;
    }
    t->ops->destroy(t);
    for (int i = 0; i < n_ops; i++) {
        free(buffers[i]);
    }
    free(regions[0]);
    free(regions[1]);
}

/* ---- what happens ---- */

static void done(struct gsh_op *op, enum gsh_result r)
{
    (void)r;
    FUZZ_CHECK(op >= ops && op < ops + n_ops && op->done == done);
    op->done = NULL; /* once */
}

static void own_operation(struct fuzz_input *in)
{
    unsigned what = (unsigned)fuzz_take(in, 1);
    uint64_t bytes = 1 + fuzz_take(in, 2) % 9000;
    int pe = what & 1 ? 2 : 0;
    bool is_pending = false;
    if (n_ops == OPS_MAX) {
        return;
    }
    int i = n_ops++;
    buffers[i] = calloc(1, bytes);
    ops[i] = (struct gsh_op){.done = done};
    enum gsh_result r = what & 2 ? t->ops->get(t, pe, 0, buffers[i], bytes, &ops[i], &is_pending)
                        : what & 4
                            ? t->ops->put(t, pe, 0, 0, buffers[i], bytes, &ops[i], &is_pending)
                            : t->ops->flush(t, pe, 0, &ops[i], &is_pending);
    FUZZ_CHECK(r == GSH_OK || r == GSH_ERR_PEER);
}

struct before {
    unsigned n_messages;
    uint64_t sequence[PES];
    uint8_t regions[2][REGION];
};

static uint64_t sequence_of(int pe)
{
    const struct gsh_ucx_peer *peer = ((struct gsh_ucx *)t)->peers[pe];
    return peer != NULL ? peer->receive_sequence + peer->n_early + peer->controls.newest : 0;
}

static void look(struct before *b)
{
    b->n_messages = n_messages;
    for (int pe = 0; pe < PES; pe++) {
        b->sequence[pe] = sequence_of(pe);
    }
    memcpy(b->regions[0], regions[0], REGION);
    memcpy(b->regions[1], regions[1], REGION);
}

/* Gives a copy of exactly these bytes to a handler. */
static void bring(unsigned id, const uint8_t *text, size_t header_bytes, size_t bytes,
                  bool is_fetched)
{
    uint8_t *header = malloc(header_bytes + 1), *data = malloc(bytes + 1);
    ucp_am_recv_param_t param = {.recv_attr = is_fetched ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
    FUZZ_CHECK(header != NULL && data != NULL);
    header = realloc(header, header_bytes > 0 ? header_bytes : 1);
    data = realloc(data, bytes > 0 ? bytes : 1);
    memcpy(header, text, header_bytes);
    memcpy(data, text + header_bytes, bytes);
    (void)handlers[id].cb(handlers[id].arg, header, header_bytes, data, bytes, &param);
    free(header);
    free(data);
}

/* First byte, bit 0: from PE 2; 1: no right tag; 2: as it comes, without any form; 3: the next
 * sequence; 4: the newest token; 5: a range within the regions; 6: fetched. */
static void message(struct fuzz_input *in)
{
    static uint8_t text[sizeof(struct gsh_ucx_wire) + 512 + 9000];
    unsigned how = (unsigned)fuzz_take(in, 1);
    struct gsh_ucx_wire wire = {.from_pe = how & 1 ? 2 : 0, .kind = (uint8_t)fuzz_take(in, 1)};
    struct gsh_ucx_range range;
    struct before before;
    fuzz_take_bytes(in, &range, sizeof(range));
    size_t bytes = fuzz_take(in, 2) % 9000, header_bytes = fuzz_take(in, 1) % 64;
    uint64_t ahead = fuzz_take(in, 1) % 4;
    look(&before);
    if (how & 4) {
        fuzz_take_bytes(in, text, sizeof(wire) + 64);
        bring(bytes % 2, text, bytes % 2 ? sizeof(wire) + header_bytes : 0, bytes, how & 64);
    } else {
        wire.kind %= how & 128 ? 255 : GSH_UCX_KINDS;
        header_bytes = wire.kind >= GSH_UCX_PING ? 0
                       : header_bytes < 48       ? sizeof(range)
                                                 : header_bytes;
        bool is_control = wire.kind >= GSH_UCX_PING;
        struct gsh_ucx_peer *peer = ((struct gsh_ucx *)t)->peers[wire.from_pe];
        uint64_t next = peer == NULL ? 0
                        : is_control ? peer->controls.newest + 1
                                     : peer->receive_sequence;
        wire.sequence = how & 8 ? next : next + ahead - 1;
        wire.header_bytes = (uint16_t)header_bytes;
        range.token = how & 16 ? last_token : range.token;
        if (how & 32) {
            range.off %= 2 * REGION;
            range.bytes %= 2 * REGION;
        }
        memset(text, 0x5a, sizeof(text));
        memcpy(text + sizeof(wire), &range, sizeof(range));
        bool is_split = bytes > GSH_UCX_PACKED_MAX - sizeof(wire) - header_bytes;
        wire.tag = gsh_ucx_tag(key, ME, &wire, text + sizeof(wire),
                               text + sizeof(wire) + header_bytes, bytes);
        wire.tag ^= how & 2 ? 1 + range.bytes : 0;
        memcpy(text, &wire, sizeof(wire));
        bring(is_split, text, is_split ? sizeof(wire) + header_bytes : 0,
              is_split ? bytes : sizeof(wire) + header_bytes + bytes, how & 64);
    }
    if ((how & 4) || ((how & 2) && range.bytes != UINT64_MAX)) {
        FUZZ_CHECK(n_messages == before.n_messages);
        for (int pe = 0; pe < PES; pe++) {
            FUZZ_CHECK(sequence_of(pe) == before.sequence[pe]);
        }
        FUZZ_CHECK(memcmp(regions[0], before.regions[0], REGION) == 0);
        FUZZ_CHECK(memcmp(regions[1], before.regions[1], REGION) == 0);
    }
}

/* Steps: a byte that says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    n_ops = 0;
    n_messages = 0;
    last_token = 0;
    memset(n_lost, 0, sizeof(n_lost));
    fetching.is_there = false;
    begin();
    for (int i = 0; i < STEPS_MAX && in.bytes > 0; i++) {
        unsigned step = (unsigned)fuzz_take(&in, 1) % 8;
        if (step == 0) {
            own_operation(&in);
        } else if (step == 1) {
            t->ops->progress(t);
        } else if (step == 2) {
            end_fetch(fuzz_take(&in, 1) % 4 ? UCS_OK : UCS_ERR_CANCELED);
        } else {
            message(&in);
        }
    }
    t->ops->progress(t);
    end();
    return 0;
}
