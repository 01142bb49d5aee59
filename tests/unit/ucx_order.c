/* Messages that UCX delivers in any order, whole or to be fetched, arrive in the order of sending,
 * once. What a stranger sends changes nothing. What a PE of the job must not send, and what UCX
 * loses, loses the PE, with its line, and never memory. Data that move in either direction are a
 * sign of life.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in is linked in, and some calls of UCX are replaced by the ones below: messages sent are
 * kept, changed or shuffled, and delivered to another transport of this process. */
#include <dlfcn.h>

#include "base/util.h"
#include "proxy/ucx/carry.h"
#include "proxy/ucx/endpoint.h"
#include "tests/test.h"

enum { N = 400, FETCHES = 100 };

struct letter {
    unsigned id;
    size_t header_bytes, bytes;
    uint8_t *header, *data;
};

static struct letter sent[N + 1];
static unsigned n_sent, n_received, n_fetches, n_lost, n_lines;
static bool is_slow;      /* no fetch is complete at once */
static bool is_send_slow; /* no send is */
static char lost_reason[256], last_refusal[64];
static uint8_t key[16] = "the job's secret";
static ucp_am_handler_param_t handlers[2];
static uint64_t random_state = 1;

/* Fetches that are under way. */
static struct {
    ucp_request_param_t param;
    void *buffer;
    const struct letter *letter;
} fetches[FETCHES];

/* Sends that are under way, oldest first. */
static struct {
    ucp_send_nbx_callback_t done;
    void *user_data;
} sends[FETCHES];
static unsigned n_sends;

/* ---- in place of UCX ---- */

static const char *resource, *lanes; /* instead of what UCX says; NULL: that */
static uint64_t features;            /* of the newest context */

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t *params,
                              const ucp_config_t *config, ucp_context_h *context)
{
    ucs_status_t (*init)(unsigned, unsigned, const ucp_params_t *, const ucp_config_t *,
                         ucp_context_h *);
    *(void **)&init = real("ucp_init_version");
    features = params->features;
    return init(major, minor, params, config, context);
}

void ucp_context_print_info(const ucp_context_h context, FILE *out)
{
    void (*print)(const ucp_context_h, FILE *);
    *(void **)&print = real("ucp_context_print_info");
    if (resource != NULL) {
        fprintf(out, "#      resource 1  :  md 1  dev 2  flags -- %s\n", resource);
    } else {
        print(context, out);
    }
}

void ucp_ep_print_info(ucp_ep_h ep, FILE *out)
{
    void (*print)(ucp_ep_h, FILE *);
    *(void **)&print = real("ucp_ep_print_info");
    if (lanes != NULL) {
        fprintf(out, "%s\n", lanes);
    } else {
        print(ep, out);
    }
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                            const ucp_am_handler_param_t *param)
{
    (void)worker;
    handlers[param->id] = *param;
    return UCS_OK;
}

static uint8_t *copy(const void *from, size_t bytes)
{
    uint8_t *to = malloc(bytes + 1);
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return to;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header, size_t header_bytes,
                                 const void *data, size_t bytes, const ucp_request_param_t *param)
{
    (void)ep;
    if (n_sent <= N) { /* the very last one is its farewell */
        sent[n_sent++] = (struct letter){.id = id,
                                         .header_bytes = header_bytes,
                                         .bytes = bytes,
                                         .header = copy(header, header_bytes),
                                         .data = copy(data, bytes)};
    }
    if (is_send_slow && param->cb.send != NULL && CHECK(n_sends < FETCHES)) {
        sends[n_sends].done = param->cb.send;
        sends[n_sends].user_data = param->user_data;
        return &sends[n_sends++];
    }
    return NULL;
}

static void end_send(ucs_status_t status)
{
    ucp_send_nbx_callback_t done = sends[0].done;
    void *user_data = sends[0].user_data;
    n_sends--;
    memmove(&sends[0], &sends[1], n_sends * sizeof(sends[0]));
    done(&sends[0], status, user_data);
}

/* desc is the letter. Completes at once, or later. */
ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *desc, void *buffer, size_t count,
                                      const ucp_request_param_t *param)
{
    const struct letter *letter = desc;
    (void)worker;
    CHECK_EQ(count, letter->bytes);
    if (n_fetches == FETCHES || (!is_slow && test_random(&random_state) % 2)) {
        memcpy(buffer, letter->data, count);
        return NULL;
    }
    fetches[n_fetches].param = *param;
    fetches[n_fetches].buffer = buffer;
    fetches[n_fetches].letter = letter;
    n_fetches++;
    return &fetches[n_fetches];
}

void ucp_request_free(void *request)
{
    (void)request;
}

static void end_fetch(ucs_status_t status)
{
    unsigned i = (unsigned)(test_random(&random_state) % n_fetches);
    const struct letter *letter = fetches[i].letter;
    ucp_am_recv_data_nbx_callback_t done = fetches[i].param.cb.recv_am;
    void *user_data = fetches[i].param.user_data;
    memcpy(fetches[i].buffer, letter->data, letter->bytes);
    fetches[i] = fetches[--n_fetches];
    done(&fetches[i], status, letter->bytes, user_data);
}

/* To the transport that was made last. */
static void bring(struct letter *letter, bool may_fetch)
{
    const ucp_am_handler_param_t *handler = &handlers[letter->id];
    bool is_fetched = may_fetch && test_random(&random_state) % 3 == 0;
    ucp_am_recv_param_t param = {.recv_attr = is_fetched ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
    ucs_status_t status =
        handler->cb(handler->arg, letter->header, letter->header_bytes,
                    is_fetched ? (void *)letter : (void *)letter->data, letter->bytes, &param);
    CHECK_EQ(status, is_fetched ? UCS_INPROGRESS : UCS_OK);
}

static void bring_to(struct gsh_transport *t, struct letter *letter)
{
    void *last = handlers[letter->id].arg;
    handlers[letter->id].arg = t;
    bring(letter, false);
    handlers[letter->id].arg = last;
}

/* ---- the transport's user ---- */

static size_t bytes_of(unsigned i)
{
    return i % 3 == 0 ? 0 : (i * 37u) % 3000u;
}

static void on_message(void *context, int from, const void *header, size_t header_bytes,
                       const void *data, size_t bytes)
{
    unsigned i;
    size_t wrong = 0;
    (void)context;
    CHECK_EQ(from, 0);
    if (!CHECK_EQ(header_bytes, sizeof(i))) {
        return;
    }
    memcpy(&i, header, sizeof(i));
    CHECK_EQ(i, n_received);
    CHECK_EQ(bytes, bytes_of(i));
    for (size_t k = 0; k < bytes; k++) {
        wrong += ((const uint8_t *)data)[k] != (uint8_t)(i + k);
    }
    CHECK_EQ(wrong, 0);
    n_received++;
}

static void on_lost(void *context, int pe, bool is_silent, const char *reason)
{
    (void)context;
    CHECK_EQ(is_silent, strstr(reason, "GSHMEM_PROXY_TIMEOUT") != NULL);
    CHECK_EQ(pe, 0);
    snprintf(lost_reason, sizeof(lost_reason), "%s", reason);
    n_lost++;
}

static void never(struct gsh_op *op, enum gsh_result r)
{
    (void)op;
    CHECK(r == GSH_OK && false);
}

static void send_all(struct gsh_transport *t)
{
    struct gsh_op op = {.done = never};
    uint8_t data[3000];
    for (unsigned i = 0; i < N; i++) {
        bool is_pending = true;
        for (size_t k = 0; k < sizeof(data); k++) {
            data[k] = (uint8_t)(i + k);
        }
        CHECK_EQ(t->ops->send(t, 1, &i, sizeof(i), data, bytes_of(i), &op, &is_pending), GSH_OK);
        CHECK(!is_pending);
    }
}

/* ---- PEs ---- */

static void count_line(enum gsh_log_level level, enum gsh_log_subsys subsys, const char *format,
                       ...)
{
    (void)subsys;
    (void)format;
    n_lines += level <= GSH_LOG_WARN;
}

/* Events of the transports to come; NULL: none. */
static enum gsh_result (*learns)(void *context, int pe);

static struct gsh_transport *create(int me)
{
    static const struct gsh_ucx_core core = {
        .fail = gsh_fail, .note = gsh_note, .log = count_line, .log_enabled = gsh_log_enabled};
    struct gsh_transport_options options = {.my_pe = me, .n_pes = 3, .timeout_ns = 1600000000u};
    struct gsh_transport *t = NULL;
    memcpy(options.key, key, sizeof(key));
    options.events.message = on_message;
    options.events.lost = on_lost;
    options.events.learn = learns;
    lost_reason[0] = '\0';
    n_sent = n_received = n_fetches = 0;
    if (!CHECK_EQ(gsh_ucx_plugin_2()->create(&core, &options, &t), GSH_OK)) {
        exit(1);
    }
    return t;
}

static void connect_to(struct gsh_transport *t, int pe, struct gsh_transport *other)
{
    const void *address;
    size_t bytes;
    CHECK_EQ(other->ops->address(other, &address, &bytes), GSH_OK);
    CHECK_EQ(t->ops->set_peer(t, pe, address, bytes), GSH_OK);
}

/* Without waiting for answers to its farewell. */
static void end(struct gsh_transport *t)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    for (size_t i = 0; i < u->n_used; i++) {
        u->used[i]->is_bye_answered = true;
    }
    t->ops->destroy(t);
}

static void free_letters(void)
{
    for (unsigned i = 0; i < n_sent; i++) {
        free(sent[i].header);
        free(sent[i].data);
    }
    n_sent = 0;
}

static void shuffle(void)
{
    for (unsigned i = N; i > 1; i--) {
        unsigned k = 1 + (unsigned)(test_random(&random_state) % i);
        struct letter other = sent[i];
        sent[i] = sent[k];
        sent[k] = other;
    }
}

/* PE 0 sends to PE 1. */
static void test_order(void)
{
    struct gsh_transport *from = create(0), *to = create(1);
    connect_to(from, 1, to);
    send_all(from);
    CHECK_EQ(n_sent, N + 1); /* the first is the transport's own */
    shuffle();
    for (unsigned i = 1; i <= N; i++) {
        bring(&sent[i], true);
        while (n_fetches > 0 && test_random(&random_state) % 2) {
            end_fetch(UCS_OK);
        }
    }
    while (n_fetches > 0) {
        end_fetch(UCS_OK);
    }
    CHECK_EQ(n_received, N);
    for (unsigned i = 1; i <= N; i++) { /* a second time they are not taken */
        bring(&sent[i], false);
    }
    CHECK_EQ(n_received, N);
    CHECK_STR(lost_reason, "");
    free_letters();
    end(from);
    end(to);
    free_letters();
}

/* ---- strangers, who do not have the key ---- */

static struct gsh_ucx_peer *known(struct gsh_transport *t, int pe)
{
    return ((struct gsh_ucx *)t)->peers[pe];
}

/* Nothing but the message itself is taken: not one with another bit, not a part of it, not by
 * another PE, not at another key. */
static void test_forged(void)
{
    struct gsh_transport *from = create(0), *other = create(2), *to = create(1);
    connect_to(from, 1, to);
    send_all(from);
    for (unsigned k = 0; k < 4; k++) { /* its first words, packed and split messages */
        static const unsigned which[] = {0, 1, 2, 29};
        struct letter l = sent[which[k]];
        uint8_t *part = l.header_bytes > 0 ? l.header : l.data;
        size_t bytes = l.header_bytes > 0 ? l.header_bytes : l.bytes;
        CHECK_EQ(l.header_bytes > 0, k == 3);
        for (size_t bit = 0; bit < 8 * gsh_min_u64(bytes, 300); bit++) {
            part[bit / 8] ^= (uint8_t)(1u << bit % 8);
            bring(&l, false);
            part[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t n = 0; n < bytes; n++) {
            struct letter cut = l;
            *(l.header_bytes > 0 ? &cut.header_bytes : &cut.bytes) = n;
            bring(&cut, false);
        }
    }
    bring_to(other, &sent[1]); /* it is PE 1's */
    bring_to(from, &sent[1]);  /* and not its sender's own */
    key[3] ^= 1;
    ((struct gsh_ucx *)to)->base.options.key[3] ^= 1;
    bring(&sent[1], false);
    ((struct gsh_ucx *)to)->base.options.key[3] ^= 1;
    key[3] ^= 1;
    CHECK_EQ(n_received, 0);
    CHECK(known(to, 0) == NULL && known(other, 0) == NULL);
    bring(&sent[1], false);
    CHECK_EQ(n_received, 1);
    CHECK_STR(lost_reason, "");
    free_letters();
    end(from);
    end(other);
    end(to);
    free_letters();
}

/* A stranger makes this PE fetch what it never sends: few are kept, few lines are written, and the
 * job's messages arrive. */
static void test_never_sent(void)
{
    struct gsh_transport *from = create(0), *to = create(1);
    ucp_am_recv_param_t param = {.recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV};
    uint8_t junk[100] = {0};
    struct letter lie = {.id = GSH_UCX_ID_PACKED, .data = junk, .bytes = sizeof(junk)};
    connect_to(from, 1, to);
    send_all(from);
    is_slow = true;
    n_lines = 0;
    for (unsigned i = 0; i < 90; i++) {
        (void)handlers[lie.id].cb(to, NULL, 0, &lie, lie.bytes, &param);
    }
    CHECK_EQ(n_fetches, 64);
    while (n_fetches > 0) {
        end_fetch(n_fetches % 2 ? UCS_OK : UCS_ERR_CANCELED);
    }
    CHECK_EQ(n_lines, 7); /* the 1st, 2nd, 4th ... 64th of 90 */
    (void)handlers[sent[1].id].cb(to, NULL, 0, &sent[1], sent[1].bytes, &param);
    end_fetch(UCS_OK);
    is_slow = false;
    CHECK_EQ(n_received, 1);
    CHECK_STR(lost_reason, "");
    free_letters();
    end(from);
    end(to);
    free_letters();
}

/* Messages without a sequence: any order within a window, none twice. */
static void test_window(void)
{
    struct gsh_ucx_window w = {0};
    CHECK(!gsh_ucx_is_first(&w, 0) && gsh_ucx_is_first(&w, 3) && !gsh_ucx_is_first(&w, 3));
    CHECK(gsh_ucx_is_first(&w, 1) && gsh_ucx_is_first(&w, 2) && !gsh_ucx_is_first(&w, 1));
    CHECK(gsh_ucx_is_first(&w, 66) && !gsh_ucx_is_first(&w, 3) && !gsh_ucx_is_first(&w, 2));
    CHECK(gsh_ucx_is_first(&w, 4) && !gsh_ucx_is_first(&w, 4) && gsh_ucx_is_first(&w, 1000));
    CHECK(!gsh_ucx_is_first(&w, 936) && gsh_ucx_is_first(&w, 937));
    CHECK(gsh_ucx_is_first(&w, UINT64_MAX) && !gsh_ucx_is_first(&w, 0));
}

/* ---- what UCX may do by itself ---- */

/* UCX is asked for puts and gets only where a network card makes them, and to a peer only if its
 * lanes are that card's: else a stranger could put, and a large put would keep this PE from
 * answering. */
/* For the address sanitizer: a transport that has lost a peer keeps UCX's worker, which may still
 * write (ucx_destroy). */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libuc";
}

/* An address is not kept once there is a connection; another path's is made of it, told anew. */
static struct gsh_transport *asker, *asked_for;
static unsigned n_learnt;
static bool is_forgotten;

static enum gsh_result tell_address(void *context, int pe)
{
    (void)context;
    n_learnt++;
    if (!is_forgotten) {
        connect_to(asker, pe, asked_for);
    }
    return is_forgotten ? GSH_ERR_PEER : GSH_OK;
}

static void test_address(void)
{
    struct gsh_ucx_peer *peer = NULL;
    asked_for = create(0);
    learns = tell_address;
    asker = create(1);
    learns = NULL;
    n_lost = 0;
    CHECK_EQ(gsh_ucx_use((struct gsh_ucx *)asker, 0, &peer), GSH_OK);
    CHECK(peer->ep != NULL && peer->address == NULL);
    CHECK_EQ(n_learnt, 1);
    CHECK_EQ(gsh_ucx_make_path(peer, 3), GSH_OK);
    CHECK(gsh_ucx_path(peer, 4) == NULL && gsh_ucx_path(peer, 3)->ep == NULL);
    ucp_ep_h ep = gsh_ucx_use_path(peer, 3);
    CHECK(ep != NULL && ep != peer->ep && gsh_ucx_use_path(peer, 3) == ep);
    CHECK(peer->address == NULL);
    CHECK_EQ(n_learnt, 2);
    is_forgotten = true;
    CHECK_EQ(gsh_ucx_make_path(peer, 4), GSH_OK);
    CHECK(gsh_ucx_path(peer, 3)->ep == ep && gsh_ucx_use_path(peer, 4) == NULL);
    CHECK_EQ(n_learnt, 3);
    asker->ops->progress(asker);
    CHECK_EQ(n_lost, 1);
    CHECK_STR(lost_reason, "its address is not to be had a second time");
    end(asker);
    end(asked_for);
    free_letters();
}

static void test_features(void)
{
    static const struct {
        const char *resource, *lanes;
        bool has_rma, is_carried;
    } all[] = {
        {"tcp/eth0", "lane[0]: 1:tcp/eth0.0 md[1]", false, true},
        {"posix/memory", "lane[0]: 1:posix/memory.0 md[1]\nlane[1]: 2:cma/memory.0", false, true},
        {"ud_mlx5/mlx5_0:1", "lane[0]: 1:ud_mlx5/mlx5_0:1.0 md[1]", false, true},
        {"rc_mlx5/mlx5_0:1", "lane[0]: 1:rc_mlx5/mlx5_0:1.0 md[1]", true, false},
        {"rc_mlx5/mlx5_0:1", "lane[0]: 1:tcp/eth0.0 md[1]", true, true},
        {"dc_mlx5/mlx5_0:1", "lane[0]: 1:posix/memory.0\nlane[1]: 2:cma/memory.0", true, true},
    };
    for (size_t i = 0; i < GSH_ARRAY_LEN(all); i++) {
        struct gsh_ucx_peer *peer;
        resource = all[i].resource;
        lanes = all[i].lanes;
        struct gsh_transport *other = create(0), *t = create(1);
        CHECK_EQ((features & UCP_FEATURE_RMA) != 0, all[i].has_rma);
        CHECK((features & UCP_FEATURE_AM) != 0);
        connect_to(t, 0, other);
        CHECK_EQ(gsh_ucx_use((struct gsh_ucx *)t, 0, &peer), GSH_OK);
        if (!CHECK_EQ(peer->is_carried, all[i].is_carried)) {
            fprintf(stderr, "%s\n", lanes);
        }
        end(t);
        end(other);
        free_letters();
    }
    resource = lanes = NULL;
}

/* ---- a PE of the job that is not to be trusted with this one's memory ---- */

#define MEMORY 4096

/* A message as PE 0 would send it to PE 1, with a tag that is right. */
static void send_crafted(uint8_t kind, uint64_t sequence, const void *header, size_t header_bytes,
                         const void *data, size_t bytes)
{
    uint8_t text[2048];
    struct gsh_ucx_wire wire = {
        .header_bytes = (uint16_t)header_bytes, .kind = kind, .sequence = sequence};
    struct letter l = {.id = GSH_UCX_ID_PACKED, .data = text};
    wire.tag = gsh_ucx_tag(key, 1, &wire, header, data, bytes);
    memcpy(text, &wire, sizeof(wire));
    memcpy(text + sizeof(wire), header, header_bytes);
    if (bytes > 0) {
        memcpy(text + sizeof(wire) + header_bytes, data, bytes);
    }
    l.bytes = sizeof(wire) + header_bytes + bytes;
    bring(&l, false);
}

enum trouble {
    PUT_BEYOND,
    PUT_NOTHING,
    GET_BEYOND,
    GOT_UNASKED,
    GOT_WILD,
    GOT_STALE,
    GOT_LONG,
    GOT_ELSEWHERE,
    GOT_FOR_FLUSH,
    FLUSHED_FOR_GET,
    SHORT_HEADER,
    N_TROUBLES
};

static void make_trouble(enum trouble trouble, struct gsh_ucx_range range, uint64_t sequence)
{
    static const char *const reasons[] = {
        "it puts to memory", "of its kind",        "it gets from memory", "it answers a get",
        "it answers a get",  "it answers a get",   "it answers a get",    "it answers a get",
        "it answers a get",  "it answers a flush", "of its kind"};
    static const uint8_t kinds[] = {GSH_UCX_PUT, GSH_UCX_PUT,     GSH_UCX_GET, GSH_UCX_GOT,
                                    GSH_UCX_GOT, GSH_UCX_GOT,     GSH_UCX_GOT, GSH_UCX_GOT,
                                    GSH_UCX_GOT, GSH_UCX_FLUSHED, GSH_UCX_PUT};
    uint8_t data[64];
    size_t bytes = kinds[trouble] == GSH_UCX_PUT || kinds[trouble] == GSH_UCX_GOT ? 8 : 0;
    memset(data, 0xee, sizeof(data));
    switch (trouble) {
    case PUT_BEYOND:
        range.off = MEMORY - 7;
        break;
    case PUT_NOTHING:
        bytes = 0;
        break;
    case GET_BEYOND:
        range.off = MEMORY - 16;
        range.bytes = UINT64_MAX;
        break;
    case GOT_UNASKED:
        range.token += 1;
        break;
    case GOT_WILD:
        range.token = 0x414141414140;
        break;
    case GOT_STALE:
        range.token -= UINT64_C(1) << 32;
        break;
    case GOT_LONG:
        bytes = 17;
        break;
    case GOT_ELSEWHERE:
        range.off = (uint64_t)-8;
        break;
    default:
        break;
    }
    send_crafted(kinds[trouble], sequence, &range, trouble == SHORT_HEADER ? 8 : sizeof(range),
                 data, bytes);
    snprintf(last_refusal, sizeof(last_refusal), "%s", reasons[trouble]);
}

static void ignore_end(struct gsh_op *op, enum gsh_result r)
{
    (void)op;
    CHECK_EQ(r, GSH_ERR_PEER);
}

/* PE 1 has a get and a flush under way to PE 0, which answers, or asks, wrongly: it is lost, in one
 * line, and nothing is written. */
static void test_refused(enum trouble trouble)
{
    static uint8_t memory[MEMORY], dest[64], clean[MEMORY];
    struct gsh_transport *other = create(0), *t = create(1);
    struct gsh_op get = {.done = ignore_end}, flush = {.done = ignore_end};
    struct gsh_ucx_range range;
    const void *region;
    size_t bytes;
    bool is_pending = false;
    connect_to(t, 0, other);
    CHECK_EQ(other->ops->add_region(other, memory, 0, MEMORY, &region, &bytes), GSH_OK);
    CHECK_EQ(t->ops->add_peer_region(t, 0, 0, MEMORY, region, bytes), GSH_OK);
    CHECK_EQ(t->ops->add_region(t, memory, 0, MEMORY, &region, &bytes), GSH_OK);
    CHECK_EQ(t->ops->get(t, 0, 0, dest + 16, 16, &get, &is_pending), GSH_OK);
    CHECK(is_pending);
    unsigned asked = n_sent - 1;
    if (trouble == GOT_FOR_FLUSH) {
        known(t, 0)->path_0.is_unflushed = true;
        CHECK_EQ(t->ops->flush(t, 0, 0, &flush, &is_pending), GSH_OK);
        asked = n_sent - 1;
    }
    memcpy(&range, sent[asked].data + sizeof(struct gsh_ucx_wire), sizeof(range));
    range.off = 0;
    range.bytes = 16;
    make_trouble(trouble, range, 0);
    send_crafted(GSH_UCX_DATA, 1, "more", 4, NULL, 0); /* not taken either */
    t->ops->progress(t);
    CHECK(strstr(lost_reason, last_refusal) != NULL);
    CHECK_EQ(n_lost, 1);
    CHECK_EQ(n_received, 0);
    CHECK(memcmp(memory, clean, MEMORY) == 0 && memcmp(dest, clean, sizeof(dest)) == 0);
    end(t);
    end(other);
    free_letters();
}

/* UCX says that it cannot fetch a message: the ones after it would wait for ever. */
static void test_lost_in_fetch(void)
{
    struct gsh_transport *from = create(0), *to = create(1);
    connect_to(from, 1, to);
    send_all(from);
    struct letter *l = &sent[29];
    ucp_am_recv_param_t param = {.recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV};
    CHECK(l->header_bytes > 0);
    n_lost = 0;
    while (n_fetches == 0) { /* some are complete at once, and held back */
        (void)handlers[l->id].cb(to, l->header, l->header_bytes, l, l->bytes, &param);
    }
    end_fetch(UCS_ERR_CANCELED);
    to->ops->progress(to);
    CHECK_EQ(n_lost, 1);
    CHECK(strstr(lost_reason, "is lost (UCX: ") != NULL);
    CHECK_EQ(n_received, 0);
    free_letters();
    end(from);
    end(to);
    free_letters();
}

/* A PE keeps no more early messages than it must. */
static void test_too_early(void)
{
    struct gsh_transport *t = create(1);
    unsigned n = 0;
    n_lost = 0;
    for (uint64_t sequence = 100000; known(t, 0) == NULL || !known(t, 0)->is_refused; sequence--) {
        send_crafted(GSH_UCX_DATA, sequence, "x", 1, NULL, 0);
        send_crafted(GSH_UCX_DATA, sequence, "x", 1, NULL, 0); /* twice is once */
        n++;
    }
    CHECK_EQ(n, 16385);
    t->ops->progress(t);
    CHECK_EQ(n_lost, 1);
    CHECK(strstr(lost_reason, "before their turn") != NULL);
    end(t);
}

/* ---- as time goes on ---- */

/* The clock is the test's: without this call none of the time limit passes. */
static void tick(struct gsh_transport *t)
{
    struct gsh_ucx *u = (struct gsh_ucx *)t;
    u->next_tick_ns = 1;
    u->is_clock_due = true;
    t->ops->progress(t);
    u->next_tick_ns = UINT64_MAX;
}

/* One of the messages that on_message expects. */
static void send_number(unsigned i)
{
    uint8_t data[1500];
    for (size_t k = 0; k < bytes_of(i); k++) {
        data[k] = (uint8_t)(i + k);
    }
    send_crafted(GSH_UCX_DATA, i, &i, sizeof(i), data, bytes_of(i));
}

/* A message is missing, though its sender goes on sending: it may be late, but not for as long as
 * the time limit. */
static void test_gap(void)
{
    struct gsh_transport *other = create(0), *t = create(1);
    struct gsh_op op = {.done = never};
    unsigned n_ticks = 0;
    bool is_pending = true;
    connect_to(t, 0, other);
    CHECK_EQ(t->ops->send(t, 0, &n_ticks, sizeof(n_ticks), NULL, 0, &op, &is_pending), GSH_OK);
    n_lost = 0;
    ((struct gsh_ucx *)t)->next_tick_ns = UINT64_MAX;
    for (unsigned i = 1; i <= 10; i++) {
        send_number(i);
        tick(t);
    }
    CHECK_EQ(n_received, 0);
    send_number(0);
    CHECK_EQ(n_received, 11);
    for (; n_lost == 0 && n_ticks < 100; n_ticks++) {
        send_number(12 + n_ticks % 20);
        tick(t);
    }
    CHECK_EQ(n_lost, 1);
    CHECK_EQ(n_ticks, 16);
    CHECK_STR(lost_reason, "a message from it has not come, but later ones have");
    CHECK_EQ(n_received, 11);
    end(t);
    end(other);
    free_letters();
}

/* PE 1 has a large put under way to PE 0, which is busy and answers nothing: it lives for as long
 * as parts of the put leave, or anything of it arrives, and no longer. */
static void test_slow(void)
{
    static uint64_t words[64];
    static uint8_t memory[2 << 20];
    struct gsh_transport *other = create(0), *t = create(1);
    struct gsh_op put = {.done = ignore_end};
    const void *region;
    size_t bytes;
    bool is_pending = false;
    unsigned n_quiet = 0;
    connect_to(t, 0, other);
    CHECK_EQ(other->ops->add_region(other, memory, 0, sizeof(memory), &region, &bytes), GSH_OK);
    CHECK_EQ(t->ops->add_peer_region(t, 0, 0, sizeof(memory), region, bytes), GSH_OK);
    CHECK_EQ(t->ops->add_region(t, words, 0, sizeof(words), &region, &bytes), GSH_OK);
    n_lost = 0;
    is_send_slow = true;
    CHECK_EQ(t->ops->put(t, 0, 0, 0, memory, sizeof(memory), &put, &is_pending), GSH_OK);
    CHECK(is_pending);
    ((struct gsh_ucx *)t)->next_tick_ns = UINT64_MAX;
    for (unsigned i = 0; i < 64 && CHECK(n_sends > 0); i++) {
        end_send(UCS_OK);
        t->ops->progress(t); /* and the next part is sent */
        tick(t);
    }
    for (uint64_t sequence = 0; sequence < 64; sequence++) {
        uint64_t off = 8 * sequence;
        struct gsh_ucx_range range = {.off = off, .bytes = sizeof(off)};
        send_crafted(GSH_UCX_PUT, sequence, &range, sizeof(range), &off, sizeof(off));
        tick(t);
    }
    CHECK_EQ(words[63], 8 * 63);
    CHECK_EQ(n_lost, 0);
    for (; n_lost == 0 && n_quiet < 100; n_quiet++) {
        tick(t);
    }
    CHECK_EQ(n_lost, 1);
    CHECK_EQ(n_quiet, 15);
    CHECK_STR(lost_reason, "no answer for 1.5 s (GSHMEM_PROXY_TIMEOUT is 1.6 s)");
    while (n_sends > 0) {
        end_send(UCS_ERR_CANCELED);
    }
    is_send_slow = false;
    end(t);
    end(other);
    free_letters();
}

int main(void)
{
    random_state = test_seed();
    gsh_log_setup(GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    test_order();
    test_forged();
    test_never_sent();
    test_window();
    test_features();
    test_address();
    for (enum trouble trouble = 0; trouble < N_TROUBLES; trouble++) {
        n_lost = 0;
        last_refusal[0] = '\0';
        test_refused(trouble);
    }
    test_lost_in_fetch();
    test_too_early();
    test_gap();
    test_slow();
    return test_result();
}
