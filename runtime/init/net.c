/* SPDX-License-Identifier: Apache-2.0
 * Start-up of the proxy, and how a PE finds or hears that a job with far PEs ends. */
#include "runtime/init/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "proxy/proxy.h"
#include "base/atomic.h"
#include "base/handler.h"
#include "base/log.h"
#include "base/process.h"
#include "base/util.h"
#include "bootstrap/uid_ask.h"
#include "gshmem/types.h"
#include "runtime/far/far.h"
#include "runtime/hang/tell.h"
#include "runtime/team/absent.h"
#include "runtime/team/page.h"
#include "runtime/instance/book.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/job_report.h"
#include "runtime/instance/page.h"
#include "runtime/instance/page_pass.h"
#include "runtime/instance/report.h"
#include "runtime/instance/vote.h"
#include "runtime/instance/monitor.h"
#include "runtime/instance/waits.h"
#include "runtime/trace/proxy.h"

/* A PE that has lost another one waits so long for a PE that knows more, or found the loss first,
 * to report it. */
#define NOTICE_NS      250000000u
#define NOTICE_STEP_NS 50000000u
#define NOTICE_STEPS   20
/* That PE first prints the report of the job, if a limit has passed. */
#define REPORT_NS 3000000000u

static bool is_notified(struct gsh_net *net)
{
    return __atomic_load_n(&net->is_notified, __ATOMIC_RELAXED);
}

/* ---- the end of this process, in its own thread: it is found under the proxy's lock ---- */

static void nap_unless_notified(struct gsh_net *net, uint64_t limit_ns)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    for (uint64_t start_ns = gsh_now_ns();
         gsh_now_ns() - start_ns < limit_ns && !is_notified(net);) {
        nanosleep(&nap, NULL);
    }
}

static void await_notices(struct gsh_net *net)
{
    int n = net->pe->n_pes, steps = (net->pe->my_pe - net->lost_pe + n) % n;
    nap_unless_notified(
        net, NOTICE_NS + NOTICE_STEP_NS * (uint64_t)(steps < NOTICE_STEPS ? steps : NOTICE_STEPS));
}

/* Another PE of the node will report the loss, perhaps later, and will then end this PE. If that PE
 * heard of this one's end first, it would stay silent. */
static void await_speaker(struct gsh_net *net)
{
    nap_unless_notified(net,
                        (net->is_limit ? REPORT_NS : 0) + (uint64_t)NOTICE_STEPS * NOTICE_STEP_NS);
}

/* At most one line for each node; the monitor's rule applies to the death of a near PE. */
static bool is_first_to_speak(struct gsh_net *net)
{
    if (net->lost_pe >= 0 && net->lost_pe != net->pe->my_pe &&
        gsh_page_of(net->pe, net->lost_pe) != NULL) {
        return gsh_page_end(gsh_page_of(net->pe, net->lost_pe));
    }
    return gsh_page_take_word(net->pe);
}

/* While this PE's kernels leave their waits, perhaps for good, it does not end with the job. It
 * still passes the notice on to the others. */
static void put_off(struct gsh_net *net)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    if (gsh_page_is_leaving(net->pe->page) && !net->is_found_here) {
        gsh_end_notice_pass_on(net);
    }
    while (gsh_page_is_leaving(net->pe->page)) {
        nanosleep(&nap, NULL);
    }
}

/* Kernels that leave no longer need the proxy. */
static void end_waits(struct gsh_net *net)
{
    uint32_t *word = &net->pe->page->control.abort_word, was = GSH_ABORT_LEAVE;
    if (!__atomic_compare_exchange_n(word, &was, GSH_ABORT_LEAVE_FAR, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        gsh_store_release_u32(word, GSH_ABORT_END);
    }
}

static void *end_main(void *arg)
{
    struct gsh_net *net = arg;
    struct gsh_instance *pe = net->pe;
    gsh_log_set_pe(pe->my_pe);
    put_off(net);
    if (net->is_found_here) {
        await_notices(net);
    }
    bool is_known =
        net->is_found_here && gsh_monitor_is_ended_by_launcher(pe->monitor, net->lost_pe);
    if (net->is_found_here && !is_known && !is_notified(net) && is_first_to_speak(net)) {
        if (net->is_limit) {
            gsh_job_report_print(pe);
        }
        gsh_fail(GSH_ERR_PEER, "%s; ending the job", net->notice.text);
        gsh_handler_tell(pe->my_pe, net->notice.status, gsh_last_error());
    } else {
        gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "ending: PE %d ended the job: %s", net->notice.origin,
                net->notice.text);
        if (net->is_found_here) {
            await_speaker(net);
        }
        gsh_report_print(pe);
    }
    if (net->is_limit) {
        end_waits(net);
    }
    gsh_monitor_tell_abort(pe->monitor, net->notice.status);
    gsh_end_notice_pass_on(net);
    if (net->is_found_here) {
        pe->bootstrap->ops->abort(pe->bootstrap, net->notice.status, net->notice.text);
    }
    if (!net->is_found_here || net->lost_pe >= 0) {
        gsh_process_say_follows();
    }
    _exit(net->notice.status);
}

/* The same if the process outlives the job: the proxy has failed, or others have lost this PE. */
static void *lose_main(void *arg)
{
    struct gsh_net *net = arg;
    gsh_log_set_pe(net->pe->my_pe);
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "the job is lost: %s", net->notice.text);
    gsh_proxy_stop(net->pe->proxy);
    gsh_end_notice_pass_on(net);
    gsh_deaths_await_moment();
    gsh_deaths_all(net->pe, GSH_DEATH_KERNELS);
    gsh_end_notice_leave_net(net);
    return NULL;
}

static void end_process(struct gsh_net *net)
{
    pthread_t thread;
    bool is_outlived = net->pe->outlives_deaths && net->notice.is_loss != 0;
    if (is_outlived) {
        gsh_deaths_all(net->pe, GSH_DEATH_HOST);
    } else if (!net->is_limit) { /* else they are asked first what they wait for */
        end_waits(net);
    }
    if (pthread_create(&thread, NULL, is_outlived ? lose_main : end_main, net) != 0) {
        gsh_fail(GSH_ERR_PEER, "%s; ending the job", net->notice.text);
        gsh_handler_tell(net->pe->my_pe, net->notice.status, gsh_last_error());
        _exit(net->notice.status);
    }
    pthread_detach(thread);
    if (!is_outlived) {
        gsh_end_notice_leave_net(net);
    }
}

static void on_fail(void *context, int lost_pe, bool is_silent, const char *text)
{
    struct gsh_net *net = context;
    if (__atomic_load_n(&net->is_closed, __ATOMIC_ACQUIRE) || !gsh_end_notice_take_end(net)) {
        return;
    }
    net->is_found_here = true;
    net->lost_pe = lost_pe;
    net->is_limit = is_silent;
    /* is_loss: if the others outlive this PE, it is lost to them */
    net->notice = (struct gsh_end_notice){.origin = net->pe->my_pe, .status = 1, .is_loss = 1};
    snprintf(net->notice.text, sizeof(net->notice.text), "%s", text);
    end_process(net);
}

/* A far PE is lost, and the proxy goes on. */
static void on_lost(void *context, int lost_pe, const char *text)
{
    struct gsh_net *net = context;
    if (__atomic_load_n(&net->is_closed, __ATOMIC_ACQUIRE)) {
        return;
    }
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "%s", text);
    (void)gsh_deaths_report(net->pe, lost_pe);
}

/* Whether the notice says no more than that another PE is dead. */
static bool take_loss(struct gsh_net *net, const struct gsh_end_notice *notice)
{
    struct gsh_instance *pe = net->pe;
    if (!gsh_deaths_are_single(pe) || notice->is_loss == 0 || notice->origin == pe->my_pe) {
        return false;
    }
    if (notice->origin >= 0 && notice->origin < pe->n_pes &&
        !gsh_is_death_among(pe, &notice->origin, 1)) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "PE %d is said to have died or exited", notice->origin);
        (void)gsh_deaths_report(pe, notice->origin);
    }
    return true;
}

static void on_notice(void *context, int from_pe, const void *data, size_t bytes)
{
    struct gsh_net *net = context;
    if (gsh_absent_receive(net, from_pe, data, bytes) ||
        gsh_hang_receive(net->pe, from_pe, data, bytes)) {
        return;
    }
    __atomic_store_n(&net->is_notified, true, __ATOMIC_RELAXED);
    struct gsh_end_notice notice;
    if (bytes != sizeof(notice) || __atomic_load_n(&net->is_closed, __ATOMIC_ACQUIRE)) {
        return;
    }
    memcpy(&notice, data, sizeof(notice));
    if (take_loss(net, &notice) || !gsh_end_notice_take_end(net)) {
        return;
    }
    net->notice = notice;
    net->notice.text[sizeof(net->notice.text) - 1] = '\0';
    end_process(net);
}

/* ---- start-up ---- */

static void on_thread_start(void *context)
{
    const struct gsh_net *net = context;
    gsh_log_set_pe(net->pe->my_pe);
}

static void on_event(void *context, const struct gsh_proxy_event *event)
{
    const struct gsh_net *net = context;
    gsh_trace_proxy_event(net->pe, event);
}

static void on_waiting(void *context, const char *call, int pe, uint64_t since_ns)
{
    const struct gsh_net *net = context;
    const struct gsh_waiting what = {.call = call,
                                     .kind = GSH_REPORT_FAR_TIMEOUT,
                                     .pe = pe,
                                     .cmp = GSHMEM_CMP_GE,
                                     .team = -1,
                                     .expected = 1};
    gsh_waits_tell(net->pe, &what, since_ns);
}

static enum gsh_result look_up(void *context, int pe, uint64_t number, const void **blob,
                               size_t *bytes)
{
    struct gsh_net *net = context;
    struct gsh_bootstrap *b = net->pe->bootstrap;
    const uint64_t limit_ns = net->pe->env.proxy_timeout_ns;
    if (!gsh_looks_up(net->pe)) {
        return gsh_book_look_up(net->pe->book, number, pe, blob, bytes);
    }
    free(net->looked_up);
    net->looked_up = NULL;
    /* meanwhile this PE answers nobody, so others must not take it for lost */
    const enum gsh_result r =
        gsh_uid_look_up(b->asking, pe, number, limit_ns != 0 ? limit_ns / 2 : b->timeout_ns,
                        &net->looked_up, bytes);
    if (r != GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "%s", gsh_last_error());
    }
    *blob = net->looked_up;
    return r;
}

static enum gsh_result create_book(struct gsh_instance *pe)
{
    uint64_t room;
    void *shared = gsh_page_book(pe, gsh_page_bytes(pe), &room);
    return gsh_book_create(shared, room, pe->peers[pe->my_pe].node_index == 0, pe->n_pes,
                           &pe->book);
}

static enum gsh_result create_proxy(struct gsh_instance *pe)
{
    struct gsh_proxy_options options = {
        .my_pe = pe->my_pe,
        .n_pes = pe->n_pes,
        .transport = pe->env.transport,
        .plugin = pe->env.ucx_plugin,
        .is_one_process = pe->is_one_process,
        .timeout_ns = pe->env.proxy_timeout_ns,
        .loop_seed = (uint64_t)pe->env.loop_seed,
        .spin_ns = pe->env.proxy_spin_ns,
        .stages_always = gsh_far_stages_always(pe),
        .stage_chunk = pe->env.stage_chunk_bytes,
        .stage_buffers = (unsigned)pe->env.stage_buffers,
        .fail = on_fail,
        .lost = gsh_deaths_are_single(pe) ? on_lost : NULL,
        .notice = on_notice,
        .look_up = look_up,
        .observe = pe->env.trace[0] != '\0' ? on_event : NULL,
        .context = pe->net,
        .thread_start = on_thread_start,
    };
    uint8_t key[GSH_KEY_BYTES];
    gsh_key_derive(pe->secret, "messages", key);
    memcpy(options.key, key, sizeof(options.key));
    gsh_proxy_tell_waits_by(on_waiting);
    enum gsh_result r = gsh_proxy_create(&options, &pe->proxy);
    explicit_bzero(key, sizeof(key));
    explicit_bzero(options.key, sizeof(options.key));
    return r;
}

/* What a PE first tells others of its address; one that is longer follows. */
enum { GREETING_ADDRESS_BYTES = 248 };
struct gsh_net_greeting {
    int32_t result;
    uint32_t bytes; /* result is no GSH_OK: whether that was found before */
    uint8_t address[GREETING_ADDRESS_BYTES];
};

/* The first PE whose outcome is a failure prints its reason, which it has only noted so far, and no
 * PE returns before that. */
static enum gsh_result fail_same(struct gsh_instance *pe, struct gsh_bootstrap *b, int first,
                                 enum gsh_result its)
{
    char why[512];
    snprintf(why, sizeof(why), "%s", gsh_last_error());
    const enum gsh_result r =
        first == pe->my_pe
            ? gsh_fail(its, "%s", why)
            : gsh_note(its, "init: PE %d has no way to PEs whose memory it cannot map", first);
    (void)b->ops->barrier(b);
    return r;
}

/* The PEs know that `first` has failed. */
static enum gsh_result fail_of(struct gsh_instance *pe, struct gsh_bootstrap *b, int first,
                               const struct gsh_net_greeting *its, enum gsh_result mine)
{
    if (its->bytes == 0) {
        return fail_same(pe, b, first, (enum gsh_result)its->result);
    }
    return gsh_init_vote_failed(pe, GSH_STEP_ADDRESSES, mine);
}

static void free_told(struct gsh_net *net)
{
    free(net->greetings);
    free(net->long_addresses);
    net->greetings = NULL;
    net->long_addresses = NULL;
}

/* Gathers addresses of up to max bytes, which greetings do not hold. */
static enum gsh_result exchange_long(struct gsh_instance *pe, struct gsh_bootstrap *b,
                                     const void *address, size_t max)
{
    struct gsh_net *net = pe->net;
    uint8_t *own = calloc(1, max);
    net->long_addresses = calloc((size_t)pe->n_pes, max);
    net->long_bytes = max;
    enum gsh_result r =
        own != NULL && net->long_addresses != NULL
            ? GSH_OK
            : gsh_fail(GSH_ERR_NOMEM, "init: no memory for the addresses of %d PEs", pe->n_pes);
    if (r == GSH_OK) {
        memcpy(own, address, net->greetings[pe->my_pe].bytes);
        r = b->ops->allgather(b, own, max, net->long_addresses);
    }
    free(own);
    return r;
}

/* Returns the same on all PEs, as long as none is lost. mine: what this PE has come to; had_failed:
 * that was before it had a network. */
static enum gsh_result exchange_addresses(struct gsh_instance *pe, struct gsh_bootstrap *b,
                                          bool had_failed, enum gsh_result mine)
{
    const void *address = NULL;
    size_t bytes = 0, max = 0;
    struct gsh_net_greeting own = {0}, *greetings = calloc((size_t)pe->n_pes, sizeof(*greetings));
    if (greetings == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the addresses of %d PEs", pe->n_pes);
    }
    pe->net->greetings = greetings;
    if (mine == GSH_OK) {
        mine = gsh_proxy_address(pe->proxy, &address, &bytes);
    }
    own.result = (int32_t)mine;
    own.bytes = mine == GSH_OK ? (uint32_t)bytes : had_failed;
    if (mine == GSH_OK && bytes <= sizeof(own.address)) {
        memcpy(own.address, address, bytes);
    }
    int first = 0;
    enum gsh_result r = b->ops->allgather(b, &own, sizeof(own), greetings);
    for (; r == GSH_OK && first < pe->n_pes && greetings[first].result == GSH_OK; first++) {
        max = gsh_max_u64(max, greetings[first].bytes);
    }
    if (r == GSH_OK && first < pe->n_pes) {
        r = fail_of(pe, b, first, &greetings[first], mine);
    } else if (r == GSH_OK && max > sizeof(own.address)) {
        r = exchange_long(pe, b, address, max);
    }
    return r;
}

/* Others can look up this PE's address from now on. */
static enum gsh_result publish_address(struct gsh_instance *pe)
{
    const void *address = NULL;
    size_t bytes = 0;
    const enum gsh_result r = gsh_proxy_address(pe->proxy, &address, &bytes);
    return r == GSH_OK ? gsh_uid_publish(pe->bootstrap->asking, GSH_PROXY_ADDRESS, address, bytes)
                       : r;
}

enum gsh_result gsh_net_introduce(struct gsh_instance *pe, struct gsh_bootstrap *bootstrap,
                                  enum gsh_result prior)
{
    pe->net = calloc(1, sizeof(*pe->net));
    if (pe->net == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the network");
    }
    pe->net->pe = pe;
    pe->net->lost_pe = -1;
    enum gsh_result mine = prior == GSH_OK ? gsh_far_check(pe) : prior;
    mine = mine == GSH_OK ? create_proxy(pe) : mine;
    if (gsh_looks_up(pe)) {
        return mine == GSH_OK ? publish_address(pe) : mine;
    }
    return exchange_addresses(pe, bootstrap, prior != GSH_OK, mine);
}

static enum gsh_result set_peers(struct gsh_instance *pe)
{
    const struct gsh_net *net = pe->net;
    const bool are_long = net->long_addresses != NULL;
    const uint8_t *addresses = are_long ? net->long_addresses : net->greetings[0].address;
    const size_t stride = are_long ? net->long_bytes : sizeof(net->greetings[0]);
    if (gsh_looks_up(pe)) {
        return GSH_OK;
    }
    enum gsh_result r = create_book(pe);
    if (r == GSH_OK && gsh_proxy_learns_late(pe->proxy)) {
        return gsh_book_add(pe->book, GSH_PROXY_ADDRESS,
                            &(struct gsh_book_source){.blobs = addresses,
                                                      .lengths = &net->greetings[0].bytes,
                                                      .blob_stride = stride,
                                                      .length_stride = sizeof(net->greetings[0])});
    }
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        if (i != pe->my_pe) {
            r = gsh_proxy_set_peer(pe->proxy, i, addresses + (size_t)i * stride,
                                   net->greetings[i].bytes);
        }
    }
    return r;
}

enum gsh_result gsh_net_start(struct gsh_instance *pe)
{
    enum gsh_result r = set_peers(pe);
    free_told(pe->net);
    r = r == GSH_OK ? gsh_proxy_start(pe->proxy) : r;
    if (r == GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "far PEs are reached over %s",
                gsh_proxy_transport_name(pe->proxy));
    }
    return r;
}

void gsh_net_settle(struct gsh_instance *pe)
{
    if (pe->book != NULL) {
        gsh_book_settle(pe->book, GSH_PROXY_ADDRESS);
    }
}

void gsh_net_close(struct gsh_instance *pe)
{
    if (pe->net != NULL) {
        __atomic_store_n(&pe->net->is_closed, true, __ATOMIC_RELEASE);
    }
    if (pe->proxy != NULL) {
        gsh_proxy_await_calls(pe->proxy); /* they may use what is destroyed next */
    }
}

void gsh_net_destroy(struct gsh_instance *pe)
{
    gsh_net_close(pe);
    if (pe->net != NULL) {
        gsh_end_notice_await_end(pe->net);
    }
    gsh_proxy_destroy(&pe->proxy);
    gsh_book_destroy(&pe->book);
    if (pe->net != NULL) {
        free_told(pe->net);
        free(pe->net->looked_up);
    }
    free(pe->net);
    pe->net = NULL;
}
