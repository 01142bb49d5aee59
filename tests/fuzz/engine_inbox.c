/* SPDX-License-Identifier: Apache-2.0
 * Messages of other PEs' proxies, whatever they hold, while this PE has requests of its own under
 * way: an answer may bring a right token. Each is carried out within the heap, or loses its sender,
 * once, with a line. The transport is a stand-in that completes all at once. */
#include "tests/fuzz/fuzz.h"

#include "base/copy.h"
#include "proxy/engine/inbox.h"
#include "proxy/engine/order.h"
#include "proxy/engine/peer.h"
#include "proxy/engine/round.h"

#define PES       3
#define ME        1
#define HEAP      16384
#define CHUNK     12288
#define TASKS_MAX 24
#define STEPS_MAX 200

static struct gsh_proxy *proxy;
static struct gsh_task tasks[TASKS_MAX];
static void *buffers[TASKS_MAX], *region;
static int n_tasks;
static unsigned n_fails;
static uint64_t last_token;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* ---- the stand-in for a transport ---- */

static enum gsh_result make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                   void **memory, const void **key, size_t *key_bytes)
{
    (void)t, (void)off;
    region = aligned_alloc(4096, bytes);
    FUZZ_CHECK(region != NULL);
    memset(region, 0, bytes);
    *memory = region;
    *key = "a key";
    *key_bytes = 5;
    return GSH_OK;
}

static enum gsh_result remove_region(struct gsh_transport *t, uint64_t off)
{
    (void)t, (void)off;
    return GSH_OK;
}

static enum gsh_result add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                       uint64_t bytes, const void *key, size_t key_bytes)
{
    (void)t, (void)key;
    FUZZ_CHECK(pe >= 0 && pe < PES && pe != ME && off == GSH_STAGE_OFF && bytes > 0);
    FUZZ_CHECK(key_bytes > 0);
    return GSH_OK;
}

/* Reads what it is given, as a network would. */
static void read_all(const void *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    FUZZ_CHECK(copy != NULL);
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    free(copy);
}

static enum gsh_result put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                           const void *source, uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    (void)t, (void)path, (void)op;
    FUZZ_CHECK(pe >= 0 && pe < PES && bytes <= UINT64_MAX - off);
    read_all(source, bytes);
    *is_pending = false;
    return GSH_OK;
}

static enum gsh_result get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                           uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    (void)t, (void)op;
    FUZZ_CHECK(pe >= 0 && pe < PES && bytes <= UINT64_MAX - off);
    memset(dest, 0, bytes);
    *is_pending = false;
    return GSH_OK;
}

static enum gsh_result flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                             bool *is_pending)
{
    (void)t, (void)pe, (void)path, (void)op;
    *is_pending = false;
    return GSH_OK;
}

static enum gsh_result send(struct gsh_transport *t, int pe, const void *header,
                            size_t header_bytes, const void *data, size_t bytes, struct gsh_op *op,
                            bool *is_pending)
{
    struct gsh_message m;
    (void)t, (void)op;
    FUZZ_CHECK(pe >= 0 && pe < PES && pe != ME && header_bytes == sizeof(m));
    FUZZ_CHECK(bytes <= proxy->data_max);
    memcpy(&m, header, sizeof(m));
    read_all(data, bytes);
    if (m.token != 0) {
        last_token = m.token;
    }
    *is_pending = false;
    return GSH_OK;
}

static unsigned progress(struct gsh_transport *t)
{
    (void)t;
    return 0;
}

static void lose(struct gsh_transport *t, int pe, const char *reason)
{
    (void)t, (void)reason;
    FUZZ_CHECK(pe >= 0 && pe < PES && pe != ME);
}

static void destroy(struct gsh_transport *t)
{
    (void)t;
}

static const struct gsh_transport_ops ops = {.name = "stand-in",
                                             .message_max = 4096,
                                             .make_region = make_region,
                                             .remove_region = remove_region,
                                             .add_peer_region = add_peer_region,
                                             .put = put,
                                             .get = get,
                                             .flush = flush,
                                             .send = send,
                                             .lose = lose,
                                             .progress = progress,
                                             .destroy = destroy};

/* ---- this PE ---- */

static enum gsh_result do_amo(void *context, int op, void *address, size_t word_bytes,
                              uint64_t operand, uint64_t cond, uint64_t *old)
{
    (void)context, (void)cond;
    bool is_of_halves =
        op == GSH_AMO_FETCH || op == GSH_AMO_SET || op == GSH_AMO_SWAP || op == GSH_AMO_FLOAT_ADD;
    FUZZ_CHECK(op >= 0 && op < GSH_AMO_OPS);
    FUZZ_CHECK(word_bytes == 4 || word_bytes == 8 || (word_bytes == 2 && is_of_halves));
    FUZZ_CHECK((uintptr_t)address % word_bytes == 0);
    *old = 0;
    memcpy(old, address, word_bytes);
    memcpy(address, &operand, word_bytes);
    return GSH_OK;
}

static enum gsh_result copy(void *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memmove(to, from, bytes);
    return GSH_OK;
}

static void on_fail(void *context, int pe, bool is_silent, const char *text)
{
    (void)context;
    FUZZ_CHECK(!is_silent && pe >= 0 && pe < PES && strncmp(text, "PE ", 3) == 0 && n_fails++ == 0);
}

static void on_lost(void *context, int pe, const char *text)
{
    (void)context;
    FUZZ_CHECK(pe >= 0 && pe < PES && pe != ME && strncmp(text, "PE ", 3) == 0);
}

static void on_notice(void *context, int pe, const void *data, size_t bytes)
{
    (void)context;
    FUZZ_CHECK(pe >= 0 && pe < PES && bytes <= GSH_PROXY_NOTICE_MAX);
    read_all(data, bytes);
}

static void begin(bool has_copy_streams, bool outlives, struct gsh_late_copy_streams *copy_streams,
                  void *heap)
{
    static struct gsh_transport stand_in;
    struct gsh_proxy_options options = {.my_pe = ME,
                                        .n_pes = PES,
                                        .transport = "loop",
                                        .stage_chunk = CHUNK,
                                        .stage_buffers = 4,
                                        .fail = on_fail,
                                        .lost = outlives ? on_lost : NULL,
                                        .notice = on_notice};
    struct gsh_proxy_memory memory = {.is_host = !has_copy_streams,
                                      .amo = do_amo,
                                      .copy_in = copy,
                                      .copy_out = copy,
                                      .copy_stream_ops =
                                          has_copy_streams ? &gsh_late_copy_stream_ops : NULL,
                                      .copy_streams = copy_streams};
    const void *key;
    size_t key_bytes;
    stand_in = (struct gsh_transport){.ops = &ops};
    FUZZ_CHECK(gsh_proxy_create(&options, &proxy) == GSH_OK);
    proxy->transport->ops->destroy(proxy->transport);
    proxy->transport = &stand_in;
    FUZZ_CHECK(gsh_proxy_set_memory(proxy, &memory, heap) == GSH_OK);
    proxy->is_native = false; /* so that puts and gets are messages, too */
    FUZZ_CHECK(gsh_proxy_add_region(proxy, 0, HEAP, &key, &key_bytes) == GSH_OK);
}

/* ---- what happens ---- */

static void never_mind(struct gsh_request *request)
{
    (void)request;
}

/* A request of this PE's to another. */
static void request(struct fuzz_input *in)
{
    static const uint8_t all_ops[] = {GSH_FAR_PUT,   GSH_FAR_GET,   GSH_FAR_G,
                                      GSH_FAR_AMO,   GSH_FAR_IPUT,  GSH_FAR_IGET,
                                      GSH_FAR_QUIET, GSH_FAR_FENCE, GSH_FAR_PUT_SIGNAL};
    if (n_tasks == TASKS_MAX) {
        return;
    }
    struct gsh_task *task = &tasks[n_tasks];
    uint64_t n = 1 + fuzz_take(in, 2) % 8000, size = UINT64_C(1) << fuzz_take(in, 1) % 4;
    ptrdiff_t stride = 1 + (ptrdiff_t)(fuzz_take(in, 1) % 2);
    buffers[n_tasks++] = calloc(n, 1);
    *task = (struct gsh_task){.proxy = proxy, .source = GSH_SOURCE_HOST};
    task->request = (struct gsh_request){.op = all_ops[fuzz_take(in, 1) % sizeof(all_ops)],
                                         .pe = fuzz_take(in, 1) % 2 ? 2 : 0,
                                         .word_bytes = 8,
                                         .amo_op = GSH_AMO_ADD,
                                         .sig_op = GSH_SIGNAL_ADD,
                                         .is_fetch = true,
                                         .local = buffers[n_tasks - 1],
                                         .bytes = n,
                                         .elem_bytes = size,
                                         .nelems = n / (size * (uint64_t)stride),
                                         .remote_stride = stride,
                                         .local_stride = stride,
                                         .done = never_mind};
    gsh_order_submit(proxy, task);
}

/* A message: 56 bytes as they come, some of them made likelier; then the length of its data. */
static void message(struct fuzz_input *in)
{
    struct gsh_message m;
    unsigned likely = (unsigned)fuzz_take(in, 1);
    int from = likely & 1 ? 2 : 0;
    fuzz_take_bytes(in, &m, sizeof(m));
    size_t bytes = fuzz_take(in, 2) % 4200;
    m.acks = likely & 2 ? 0 : m.acks;
    m.token = likely & 4 ? last_token : m.token;
    m.off = likely & 8 ? m.off % HEAP : m.off;
    m.kind %= likely & 16 ? GSH_MESSAGE_KINDS : 255;
    if (likely & 32) {
        m.strided.elem_bytes = UINT64_C(1) << m.strided.elem_bytes % 4;
        m.strided.nelems %= 512;
        bytes = m.strided.elem_bytes * m.strided.nelems % 4200;
    }
    if (likely & 64) {
        m.staged.slot = m.staged.slot % 5 * CHUNK;
        m.staged.bytes %= CHUNK + 1;
    }
    uint8_t *data = malloc(bytes + 1);
    FUZZ_CHECK(data != NULL);
    memset(data, (int)likely, bytes + 1);
    uint8_t *exact = realloc(data, bytes > 0 ? bytes : 1);
    gsh_inbox_arrived(proxy, from, &m, likely & 128 && bytes == 7 ? 55 : sizeof(m), exact, bytes);
    free(exact);
}

static void check(void)
{
    const struct gsh_stage *stage = &proxy->stage;
    FUZZ_CHECK((proxy->failure != GSH_OK) == (n_fails == 1));
    FUZZ_CHECK(stage->n_free_slots <= stage->n_chunks && stage->n_free_chunks <= stage->n_chunks);
    FUZZ_CHECK(stage->n_free_ins <= GSH_STAGE_SMALL_INS);
    FUZZ_CHECK(stage->n_free_outs <= GSH_STAGE_SMALL_OUTS);
    for (int pe = 0; pe < PES; pe++) {
        const struct gsh_engine_peer *peer = gsh_engine_peer_find(proxy, pe, GSH_CONTEXT_DEFAULT);
        FUZZ_CHECK(peer == NULL || (peer->acked <= peer->sent && peer->n_gets <= GSH_GETS_MAX &&
                                    peer->mailbox_bytes <= GSH_RUNTIME_MESSAGE_MAX));
    }
}

/* First byte: bit 0, there are copy streams; bit 1: losses of peers are outlived. Then steps: a
 * byte that says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    unsigned how = (unsigned)fuzz_take(&in, 1);
    bool has_copy_streams = how & 1;
    void *heap = aligned_alloc(64, HEAP);
    struct gsh_late_copy_streams *copy_streams = gsh_late_copy_streams_create(1, do_amo, NULL);
    FUZZ_CHECK(heap != NULL && copy_streams != NULL);
    memset(heap, 0, HEAP);
    n_tasks = 0;
    n_fails = 0;
    last_token = 0;
    region = NULL;
    begin(has_copy_streams, how & 2, copy_streams, heap);
    gsh_lock_take(&proxy->lock);
    for (int i = 0; i < STEPS_MAX && in.bytes > 0 && proxy->failure == GSH_OK; i++) {
        unsigned step = (unsigned)fuzz_take(&in, 1) % 4;
        if (step == 0) {
            request(&in);
        } else if (step == 1) {
            gsh_engine_round(proxy, 1);
        } else {
            message(&in);
        }
        check();
    }
    for (int i = 0; i < 50 && proxy->failure == GSH_OK; i++) {
        gsh_engine_round(proxy, 1);
    }
    check();
    gsh_lock_give(&proxy->lock);
    gsh_proxy_destroy(&proxy);
    gsh_late_copy_streams_destroy(copy_streams);
    for (int i = 0; i < n_tasks; i++) {
        free(buffers[i]);
    }
    free(region);
    free(heap);
    return 0;
}
