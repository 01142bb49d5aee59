/* SPDX-License-Identifier: Apache-2.0
 * Proves that a failure is reported once, in one line that names the peer and the operation, and
 * ends every call; that the runtime's messages arrive in order, by tag, and with the length asked
 * for; that nothing is left behind if requests are under way at the end; and that a message which
 * no PE of the job would send loses its sender, and changes no memory. */
#include "proxy/engine/failure.h"
#include "proxy/engine/inbox.h"
#include "tests/rig/proxy_pes.h"

static void never_done(struct gsh_request *request)
{
    CHECK(request == NULL);
}

static bool has_failed(struct pe *pe)
{
    gsh_lock_take(&pe->proxy->lock);
    bool has = pe->n_fails > 0;
    gsh_lock_give(&pe->proxy->lock);
    return has;
}

static void await_failure(struct pe *pe)
{
    unsigned backoff = 0;
    while (!has_failed(pe)) {
        gsh_backoff(&backoff);
    }
}

static enum gsh_result give_up(void *context, int pe)
{
    int *turns = context;
    (void)pe;
    return ++*turns > 100 ? GSH_ERR_TIMEOUT : GSH_OK;
}

static void check_everything_ends(struct pe *pe)
{
    uint64_t word = 0;
    int other = pe->me == 0 ? 1 : 0;
    struct gsh_request put = {.op = GSH_FAR_PUT, .pe = other, .local = &word, .bytes = 8};
    struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    CHECK(gsh_proxy_run(pe->proxy, &put) != GSH_OK);
    CHECK(gsh_proxy_post(pe->proxy, &put) != GSH_OK);
    CHECK(gsh_proxy_run(pe->proxy, &quiet) != GSH_OK);
    CHECK(gsh_proxy_send(pe->proxy, other, 1, &word, 8) != GSH_OK);
    CHECK(gsh_proxy_receive(pe->proxy, other, 1, &word, 8, NULL, NULL) != GSH_OK);
    gsh_proxy_help(pe->proxy);
    CHECK_EQ(pe->n_fails, 1);
}

/* PE 2 leaves; the others learn of it through their requests to it. */
enum what { BY_PUT, BY_POST, BY_AMO, BY_RING, BY_QUIET, N_WHATS };
static enum what what;

static void ask_the_lost(struct pe *pe)
{
    static uint64_t words[1000];
    struct gsh_request q = {
        .op = GSH_FAR_PUT, .pe = 2, .remote_off = 64, .local = words, .bytes = sizeof(words)};
    struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    switch (what) {
    case BY_PUT:
    case BY_QUIET:
        /* The transport may accept the put, and fail only when it must become visible. */
        if (gsh_proxy_run(pe->proxy, &q) == GSH_OK) {
            CHECK(gsh_proxy_run(pe->proxy, &quiet) == GSH_ERR_PEER);
        }
        break;
    case BY_POST:
        (void)!gsh_proxy_post(pe->proxy, &q);
        break;
    case BY_AMO:
        q = (struct gsh_request){
            .op = GSH_FAR_AMO, .amo_op = GSH_AMO_ADD, .word_bytes = 8, .is_fetch = true, .pe = 2};
        CHECK(gsh_proxy_run(pe->proxy, &q) == GSH_ERR_PEER);
        break;
    default:
        ring_p(&pe->rings[0], 2, 64, 1);
        ring_push(&pe->rings[0], &(struct push){.op = GSH_RING_QUIET});
    }
}

static void lose_a_peer(struct pe *pe)
{
    if (pe->me == 2) {
        gsh_proxy_destroy(&pe->proxy);
    }
    pes_barrier(pe);
    if (pe->me < 2) {
        ask_the_lost(pe);
        await_failure(pe);
        check_everything_ends(pe);
        CHECK_EQ(pe->fail_pe, 2);
        CHECK(strstr(pe->fail_text, "PE 2") != NULL);
        CHECK(strstr(pe->fail_text, what == BY_AMO ? "atomic" : "put") != NULL ||
              strstr(pe->fail_text, "quiet") != NULL);
        CHECK(strstr(pe->fail_text, "has ended") != NULL || getenv("TEST_UCX_PLUGIN"));
        CHECK(strchr(pe->fail_text, '\n') == NULL);
    }
    pes_barrier(pe);
}

/* A limit passes for two peers in one tick: each one's operations have its reason, so that the loss
 * is known as one by silence, whichever operation tells it. */
static void lose_two(struct pe *pe)
{
    struct gsh_proxy *proxy = pe->proxy;
    const char one[] = "1 s without an answer (GSHMEM_PROXY_TIMEOUT)";
    const char two[] = "2 s without an answer (GSHMEM_PROXY_TIMEOUT)";
    for (int teller = 1; pe->me == 0 && teller <= 3; teller++) {
        gsh_lock_take(&proxy->lock);
        gsh_engine_lost(proxy, 1, true, one);
        if (teller == 1) {
            gsh_engine_fail(proxy, 1, GSH_ERR_PEER, "a put", NULL);
        }
        gsh_engine_lost(proxy, 2, true, two);
        if (teller == 2) {
            gsh_engine_fail(proxy, 2, GSH_ERR_PEER, "a put", NULL);
        }
        gsh_engine_report_lost(proxy);
        CHECK_EQ(pe->n_fails, 1);
        CHECK_EQ(pe->fail_pe, teller < 3 ? teller : 2);
        CHECK(strstr(pe->fail_text, teller == 1 ? one : two) != NULL);
        pe->n_fails = 0;
        proxy->lost_pe = -1;
        proxy->failure = GSH_OK;
        gsh_lock_give(&proxy->lock);
    }
    pes_barrier(pe);
}

/* Ranges not wholly within the heap are refused by the PE that asks for them. */
static uint64_t words[2];
static const struct {
    const char *name;
    struct gsh_request request;
} beyond[] = {
    {"a put of 16 bytes", {.op = GSH_FAR_PUT, .remote_off = HEAP - 8, .bytes = 16}},
    {"a put of 8 bytes", {.op = GSH_FAR_P, .remote_off = HEAP, .bytes = 8}},
    {"a get of 1 bytes", {.op = GSH_FAR_GET, .remote_off = UINT64_MAX, .bytes = 1}},
    {"a g", {.op = GSH_FAR_G, .remote_off = HEAP - 4, .word_bytes = 8, .is_fetch = true}},
    {"an atomic operation", {.op = GSH_FAR_AMO, .remote_off = UINT64_MAX - 7, .word_bytes = 8}},
    {"an iput of 2 elements",
     {.op = GSH_FAR_IPUT, .remote_stride = HEAP / 8, .local_stride = 1, .nelems = 2}},
    {"an iget of 2 elements",
     {.op = GSH_FAR_IGET, .remote_stride = HEAP / 8, .local_stride = 1, .nelems = 2}},
    {"a put_signal of 8 bytes", {.op = GSH_FAR_PUT_SIGNAL, .bytes = 8, .sig_off = HEAP - 4}},
    {"its signal", {.op = GSH_FAR_PUT_SIGNAL, .bytes = 8, .sig_off = HEAP - 4}},
    {"gshmem_putmem of 8 bytes",
     {.op = GSH_FAR_PUT, .call = "gshmem_putmem", .remote_off = HEAP, .bytes = 8}},
    {"a put_signal of 8 bytes", {.op = GSH_FAR_PUT_SIGNAL, .bytes = 8, .remote_off = HEAP}},
};
static size_t which;
static bool by_put;

static void ask_beyond_memory(struct pe *pe)
{
    char address[32];
    struct gsh_request q = beyond[which].request;
    q.pe = 1;
    q.local = words;
    q.elem_bytes = 8;
    if (pe->me == 0) {
        snprintf(address, sizeof(address), " at %p ", (void *)(pe->heap + q.remote_off));
        enum gsh_result r = by_put ? gsh_proxy_put(pe->proxy, GSH_CONTEXT_DEFAULT, "the_call", 1,
                                                   q.remote_off, words, q.bytes, false)
                                   : gsh_proxy_run(pe->proxy, &q);
        CHECK_EQ(r, GSH_ERR_ARG);
        CHECK(strstr(pe->fail_text, "PE 1") != NULL);
        CHECK(strstr(pe->fail_text, by_put ? "the_call of 16 bytes" : beyond[which].name) != NULL);
        CHECK(strstr(pe->fail_text, address) != NULL);
        CHECK(strstr(pe->fail_text, "not symmetric") != NULL);
        check_everything_ends(pe);
    }
    pes_barrier(pe);
}

/* The put's fast path, for a peer that is known already. */
static void put_beyond_memory(struct pe *pe)
{
    if (pe->me == 0) {
        CHECK_EQ(gsh_proxy_put(pe->proxy, GSH_CONTEXT_DEFAULT, "first", 1, 64, words, 8, false),
                 GSH_OK);
    }
    ask_beyond_memory(pe);
}

/* A kernel's offsets below the heap arrive with their top bit cut off. */
static void p_below_memory(struct pe *pe)
{
    char address[32];
    if (pe->me == 0) {
        snprintf(address, sizeof(address), " at %p ", (void *)(pe->heap - 64));
        ring_p(&pe->rings[0], 1, (uint64_t)-64 & INT64_MAX, 1);
        await_failure(pe);
        CHECK(strstr(pe->fail_text, address) != NULL);
        CHECK(strstr(pe->fail_text, "not symmetric") != NULL);
    }
    pes_barrier(pe);
}

static void refuse(struct pe *pe)
{
    uint8_t *data = calloc(1, gsh_proxy_message_max(pe->proxy) + 1);
    struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    int turns = 0;
    CHECK(gsh_proxy_send(pe->proxy, 1, 1, data, gsh_proxy_message_max(pe->proxy) + 1) ==
          GSH_ERR_ARG);
    CHECK(gsh_proxy_post(pe->proxy, &quiet) == GSH_ERR_ARG);
    CHECK(gsh_proxy_receive(pe->proxy, 1, 99, data, 8, give_up, &turns) == GSH_ERR_TIMEOUT);
    free(data);
    pes_barrier(pe);
    struct gsh_proxy_options options = pe->proxy->options;
    struct gsh_proxy *other = NULL;
    options.transport = "pigeon";
    CHECK(gsh_proxy_create(&options, &other) == GSH_ERR_ARG);
    CHECK(strstr(gsh_last_error(), "pigeon") != NULL);
    CHECK(other == NULL);
    gsh_proxy_destroy(&other);
}

#define MAILS 200

static void mail(struct pe *pe)
{
    size_t most = gsh_proxy_message_max(pe->proxy);
    uint8_t *data = malloc(most);
    uint64_t got = 0;
    for (uint64_t i = 0; i < MAILS; i++) {
        for (int to = 0; to < pe->n; to++) {
            CHECK(gsh_proxy_send(pe->proxy, to, i % 3, &i, sizeof(i)) == GSH_OK);
        }
    }
    memset(data, pe->me, most);
    CHECK(gsh_proxy_send(pe->proxy, (pe->me + 1) % pe->n, 1000, data, most) == GSH_OK);
    CHECK(gsh_proxy_send(pe->proxy, (pe->me + 1) % pe->n, 1001, NULL, 0) == GSH_OK);
    CHECK(gsh_proxy_send(pe->proxy, (pe->me + 1) % pe->n, 1002, data, 5) == GSH_OK);
    /* Tags in an order other than that of sending; within each, the order of sending. */
    for (int tag = 2; tag >= 0; tag--) {
        for (uint64_t i = (uint64_t)tag; i < MAILS; i += 3) {
            for (int from = 0; from < pe->n; from++) {
                CHECK(gsh_proxy_receive(pe->proxy, from, (uint64_t)tag, &got, sizeof(got), NULL,
                                        NULL) == GSH_OK);
                CHECK_EQ(got, i);
            }
        }
    }
    int left = (pe->me + pe->n - 1) % pe->n;
    CHECK(gsh_proxy_receive(pe->proxy, left, 1000, data, most, NULL, NULL) == GSH_OK);
    CHECK(data[0] == left && data[most - 1] == left);
    CHECK(gsh_proxy_receive(pe->proxy, left, 1001, NULL, 0, NULL, NULL) == GSH_OK);
    CHECK(gsh_proxy_receive(pe->proxy, left, 1002, data, 4, NULL, NULL) == GSH_ERR_SYMMETRY);
    /* Never received: destroy frees it. */
    CHECK(gsh_proxy_send(pe->proxy, (pe->me + 1) % pe->n, 1003, data, 5) == GSH_OK);
    free(data);
    pes_barrier(pe);
}

/* All kinds of requests are under way when the proxies end. */
static void leave_early(struct pe *pe)
{
    static uint64_t source[4000], dest[4000];
    int target = (pe->me + 1) % pe->n;
    for (uint64_t i = 0; i < 50; i++) {
        ring_put(&pe->rings[0], target, 4096, source, 20000);
        ring_fence(&pe->rings[0]);
        struct gsh_request iget = {.op = GSH_FAR_IGET,
                                   .pe = target,
                                   .remote_off = 65536,
                                   .local = dest,
                                   .elem_bytes = 8,
                                   .nelems = 4000,
                                   .remote_stride = 1,
                                   .local_stride = 1};
        if (pe->me == 0) {
            (void)!gsh_proxy_post(pe->proxy, &iget);
        }
    }
}

/* ---- messages that no PE of the job would send ---- */

#define WILD (UINT64_C(0x414141414140))

enum answered { UNASKED, ASKED, ASKED_OF_ANOTHER, ANSWERED };

/* of 16 bytes, if it answers; else to a heap of HEAP bytes */
static const struct hostile {
    const char *reason;
    struct gsh_message m;
    size_t bytes;
    enum answered answered;
} hostile[] = {
    {.reason = "acknowledges more", .m = {.kind = GSH_MESSAGE_ACK, .acks = 1}},
    {.reason = "acknowledges more", .m = {.kind = GSH_MESSAGE_ACK, .acks = UINT32_MAX}},
    {.reason = "of no known kind", .m = {.kind = GSH_MESSAGE_KINDS}},
    {.reason = "of no known kind", .m = {.kind = 255}},
    {.reason = "its length", .m = {.kind = GSH_MESSAGE_ACK}, .bytes = 1},
    {.reason = "its length", .m = {.kind = GSH_MESSAGE_GET, .bytes = 8}, .bytes = 8},
    {.reason = "its length", .m = {.kind = GSH_MESSAGE_PUT}, .bytes = 65536},
    {.reason = "its length", .m = {.kind = GSH_MESSAGE_NOTICE}, .bytes = GSH_PROXY_NOTICE_MAX + 1},
    {.reason = "not in the heap", .m = {.kind = GSH_MESSAGE_PUT, .off = HEAP - 7}, .bytes = 8},
    {.reason = "not in the heap", .m = {.kind = GSH_MESSAGE_PUT, .off = UINT64_MAX}, .bytes = 8},
    {.reason = "not in the heap",
     .m = {.kind = GSH_MESSAGE_AMO, .amo_op = GSH_AMO_SET, .word_bytes = 8, .off = HEAP}},
    {.reason = "none, or its word",
     .m = {.kind = GSH_MESSAGE_AMO, .amo_op = GSH_AMO_SET, .word_bytes = 8, .off = 4}},
    {.reason = "none, or its word",
     .m = {.kind = GSH_MESSAGE_AMO, .amo_op = GSH_AMO_SET, .word_bytes = 3}},
    {.reason = "none, or its word", .m = {.kind = GSH_MESSAGE_AMO, .amo_op = 200, .word_bytes = 8}},
    {.reason = "none, or its word", .m = {.kind = GSH_MESSAGE_PUT_SIGNAL, .amo_op = GSH_AMO_XOR}},
    {.reason = "not in the heap",
     .m = {.kind = GSH_MESSAGE_PUT_SIGNAL, .amo_op = GSH_AMO_SET, .amo = {.off = UINT64_MAX - 7}}},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IPUT, .strided = {.elem_bytes = 8, .nelems = 2, .stride = HEAP / 8}},
     .bytes = 16},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IPUT, .strided = {.elem_bytes = 8, .nelems = 2, .stride = -1}},
     .bytes = 16},
    {.reason = "its length",
     .m = {.kind = GSH_MESSAGE_IPUT, .strided = {.elem_bytes = 8, .nelems = 3, .stride = 1}},
     .bytes = 16},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IPUT,
           .strided = {.elem_bytes = UINT64_C(1) << 63, .nelems = 2, .stride = 1}}},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IPUT, .strided = {.nelems = UINT64_MAX, .stride = 2}}},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IGET, .strided = {.elem_bytes = 1, .nelems = 9000, .stride = 1}}},
    {.reason = "its elements",
     .m = {.kind = GSH_MESSAGE_IGET,
           .strided = {.elem_bytes = 16, .nelems = UINT64_C(1) << 60, .stride = 1}}},
    {.reason = "", .m = {.kind = GSH_MESSAGE_GET, .bytes = 65536}}, /* by the way it would answer */
    {.reason = "not in the heap", .m = {.kind = GSH_MESSAGE_GET, .off = HEAP - 8, .bytes = 16}},
    {.reason = "not in the heap", .m = {.kind = GSH_MESSAGE_GET}},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_VALUE, .token = WILD}},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_DATA, .token = WILD}, .bytes = 16},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_ELEMENTS, .token = WILD}, .bytes = 16},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_STAGED_DATA, .token = WILD}},
    {.reason = "not asked for",
     .m = {.kind = GSH_MESSAGE_DATA},
     .bytes = 16,
     .answered = ASKED_OF_ANOTHER},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_DATA}, .bytes = 16, .answered = ANSWERED},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_DATA}, .bytes = 17, .answered = ASKED},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_DATA}, .bytes = 15, .answered = ASKED},
    {.reason = "not asked for", .m = {.kind = GSH_MESSAGE_VALUE}, .answered = ASKED},
    {.reason = "not asked for",
     .m = {.kind = GSH_MESSAGE_ELEMENTS},
     .bytes = 16,
     .answered = ASKED},
    {.reason = "",
     .m = {.kind = GSH_MESSAGE_STAGED_DATA, .staged = {.bytes = 16}},
     .answered = ASKED},
    {.reason = "", .m = {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.bytes = 16}}},
    {.reason = "not in the heap",
     .m = {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.bytes = HEAP + 1}}},
    {.reason = "", .m = {.kind = GSH_MESSAGE_WANT, .bytes = UINT64_MAX}},
    {.reason = "", .m = {.kind = GSH_MESSAGE_GRANT, .staged = {.slot = 0, .bytes = 12288}}},
};

static uint64_t token_for(struct gsh_proxy *proxy, struct gsh_task *task, enum answered answered)
{
    struct gsh_outstanding asked = {.task = task,
                                    .pe = answered == ASKED_OF_ANOTHER ? 2 : 0,
                                    .kind = GSH_MESSAGE_DATA,
                                    .n = 16};
    uint64_t token = 0, next = 0;
    CHECK(gsh_outstanding_add(&proxy->asked, &asked, &token));
    if (answered == ANSWERED) {
        CHECK(gsh_outstanding_take(&proxy->asked, 0, GSH_MESSAGE_DATA, token, &asked));
        CHECK(!gsh_outstanding_take(&proxy->asked, 0, GSH_MESSAGE_DATA, token, &asked));
        CHECK(gsh_outstanding_add(&proxy->asked, &asked, &next)); /* its place is in use again */
        CHECK((uint32_t)next == (uint32_t)token && next != token);
    }
    return token;
}

/* Each loses the PE that sends it, with a line, and changes nothing here. */
static void refuse_hostile(struct pe *pe)
{
    static _Thread_local uint8_t data[65536], dest[32], clean[HEAP];
    struct gsh_proxy *proxy = pe->proxy;
    memset(data, 0xee, sizeof(data));
    for (size_t i = 0; pe->me == 1 && i < GSH_ARRAY_LEN(hostile); i++) {
        const struct hostile *h = &hostile[i];
        struct gsh_task task = {
            .request = {.op = GSH_FAR_GET, .local = dest + 8, .bytes = 16, .done = never_done},
            .proxy = proxy,
            .outstanding = 1,
            .at = 16};
        struct gsh_message m = h->m;
        gsh_lock_take(&proxy->lock);
        if (h->answered != UNASKED) {
            m.token = token_for(proxy, &task, h->answered);
        }
        gsh_inbox_arrived(proxy, 0, &m, sizeof(m), data, h->bytes);
        CHECK_EQ(pe->n_fails, 1);
        CHECK_EQ(pe->fail_pe, 0);
        if (!CHECK(strstr(pe->fail_text, h->reason) != NULL)) {
            fprintf(stderr, "message %zu: %s\n", i, pe->fail_text);
        }
        CHECK(memcmp(pe->heap, clean, HEAP) == 0 && memcmp(dest, clean, sizeof(dest)) == 0);
        pe->n_fails = 0;
        proxy->failure = GSH_OK;
        gsh_lock_give(&proxy->lock);
    }
    pes_barrier(pe);
}

/* Grants and slots: only what was asked for, of the region that was told, by whom it was granted.
 */
static void refuse_slots(struct pe *pe)
{
    struct gsh_proxy *proxy = pe->proxy;
    uint8_t source[20000] = {0};
    if (pe->me == 0) { /* both know each other's slots */
        run_put(pe, 1, 0, source, sizeof(source));
        run_quiet(pe);
    }
    pes_barrier(pe);
    gsh_lock_take(&proxy->lock);
    struct gsh_message all[] = {
        {.kind = GSH_MESSAGE_GRANT, .staged = {.slot = 0, .bytes = 12288}},
        {.kind = GSH_MESSAGE_GRANT, .at = 24576, .staged = {.slot = 0, .bytes = 12288}},
        {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.slot = 0, .bytes = 8}},
        {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.slot = 12289, .bytes = 8}},
        {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.slot = UINT64_MAX - 12287, .bytes = 8}},
        {.kind = GSH_MESSAGE_STAGED_PUT, .staged = {.slot = 12288, .bytes = 12289}},
    };
    for (size_t i = 0; i < GSH_ARRAY_LEN(all); i++) {
        unsigned n_free = proxy->stage.n_free_slots;
        gsh_inbox_arrived(proxy, 1 - pe->me, &all[i], sizeof(all[i]), source, i == 1 ? 8 : 0);
        CHECK_EQ(pe->n_fails, 1);
        CHECK_EQ(proxy->stage.n_free_slots, n_free);
        pe->n_fails = 0;
        proxy->failure = GSH_OK;
    }
    gsh_lock_give(&proxy->lock);
    pes_barrier(pe);
}

int main(void)
{
    uint64_t seed = test_seed();
    struct pes_options options = {.n = 3, .n_rings = 1, .seed = seed, .may_fail = true};
    for (what = 0; what < N_WHATS; what++) {
        options.seed++;
        pes_run(options, lose_a_peer);
    }
    for (which = 0; which < sizeof(beyond) / sizeof(beyond[0]); which++) {
        pes_run(options, ask_beyond_memory);
    }
    which = 0;
    by_put = true;
    pes_run(options, put_beyond_memory);
    pes_run(options, p_below_memory);
    options.is_device = true;
    for (what = 0; what < N_WHATS; what++) {
        options.seed++;
        pes_run(options, lose_a_peer);
    }
    pes_run(options, leave_early);
    pes_run(options, refuse_hostile);
    pes_run(options, lose_two);
    options.n = 2;
    pes_run(options, refuse_slots);
    options.n = 3;
    options.is_device = false;
    pes_run(options, refuse_hostile);
    pes_run(options, refuse);
    pes_run((struct pes_options){.n = 4, .seed = seed, .spin_ns = 20000}, mail);
    pes_run(options, leave_early);
    return test_result();
}
