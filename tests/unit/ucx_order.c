/* Messages that UCX delivers in any order, whole or to be fetched, arrive in the order of sending.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in is linked in, and some calls of UCX are replaced by the ones below: messages sent are
 * kept, shuffled, and delivered to the same transport. */
#include "proxy/ucx/ucx.h"
#include "tests/test.h"

enum { N = 400, FETCHES = 8 };

struct letter {
    unsigned id;
    size_t header_bytes, bytes;
    uint8_t *header, *data;
};

static struct letter sent[N + 1];
static unsigned n_sent, n_received, n_fetches;
static ucp_am_handler_param_t handlers[2];
static uint64_t random_state = 1;

/* Fetches that are under way. */
static struct {
    ucp_request_param_t param;
    void *buffer;
    const struct letter *letter;
} fetches[FETCHES];

/* ---- in place of UCX ---- */

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
    (void)param;
    if (n_sent <= N) { /* the very last one is its farewell */
        sent[n_sent++] = (struct letter){.id = id,
                                         .header_bytes = header_bytes,
                                         .bytes = bytes,
                                         .header = copy(header, header_bytes),
                                         .data = copy(data, bytes)};
    }
    return NULL;
}

/* desc is the letter. Completes at once, or later. */
ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *desc, void *buffer, size_t count,
                                      const ucp_request_param_t *param)
{
    const struct letter *letter = desc;
    (void)worker;
    CHECK_EQ(count, letter->bytes);
    if (n_fetches == FETCHES || test_random(&random_state) % 2) {
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

static void end_fetch(void)
{
    unsigned i = (unsigned)(test_random(&random_state) % n_fetches);
    const struct letter *letter = fetches[i].letter;
    ucp_am_recv_data_nbx_callback_t done = fetches[i].param.cb.recv_am;
    void *user_data = fetches[i].param.user_data;
    memcpy(fetches[i].buffer, letter->data, letter->bytes);
    fetches[i] = fetches[--n_fetches];
    done(&fetches[i], UCS_OK, letter->bytes, user_data);
}

static void bring(struct letter *letter)
{
    const ucp_am_handler_param_t *handler = &handlers[letter->id];
    bool is_fetched = test_random(&random_state) % 3 == 0;
    ucp_am_recv_param_t param = {.recv_attr = is_fetched ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
    ucs_status_t status =
        handler->cb(handler->arg, letter->header, letter->header_bytes,
                    is_fetched ? (void *)letter : (void *)letter->data, letter->bytes, &param);
    CHECK_EQ(status, is_fetched ? UCS_INPROGRESS : UCS_OK);
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

static void on_lost(void *context, int pe, const char *reason)
{
    (void)context;
    (void)pe;
    CHECK_STR(reason, "nothing is lost");
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

int main(void)
{
    static const struct gsh_ucx_core core = {
        .fail = gsh_fail, .note = gsh_note, .log = gsh_log, .log_enabled = gsh_log_enabled};
    struct gsh_transport_options options = {.my_pe = 0, .n_pes = 2};
    struct gsh_transport *t = NULL;
    const void *address;
    size_t bytes;
    options.events.message = on_message;
    options.events.lost = on_lost;
    random_state = test_seed();
    if (!CHECK_EQ(gsh_ucx_plugin_1()->create(&core, &options, &t), GSH_OK)) {
        return 1;
    }
    CHECK_EQ(t->ops->address(t, &address, &bytes), GSH_OK);
    CHECK_EQ(t->ops->set_peer(t, 1, address, bytes), GSH_OK);
    send_all(t);
    CHECK_EQ(n_sent, N + 1); /* the first is the transport's own */
    for (unsigned i = N; i > 1; i--) {
        unsigned k = 1 + (unsigned)(test_random(&random_state) % i);
        struct letter other = sent[i];
        sent[i] = sent[k];
        sent[k] = other;
    }
    for (unsigned i = 1; i <= N; i++) {
        bring(&sent[i]);
        while (n_fetches > 0 && test_random(&random_state) % 2) {
            end_fetch();
        }
    }
    while (n_fetches > 0) {
        end_fetch();
    }
    CHECK_EQ(n_received, N);
    t->ops->destroy(t);
    for (unsigned i = 0; i <= N; i++) {
        free(sent[i].header);
        free(sent[i].data);
    }
    return test_result();
}
