/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects without a job: messages. Each link is one over TCP, which authenticates both
 * ends and by which each sees that the other has gone. Where both ends may and can use UCX, the
 * messages go by a link of proxy/pairs.h instead: the first two over TCP, in whole frames under its
 * tags, are
 *
 *   connector -> entry   struct offer, and the connector's address if the pair is new
 *   entry -> connector   struct offer, and the entry's address if the pair is new; or why it stays
 *                        with TCP, as a text without NUL
 *
 * and the pair's keys are derived from the TCP link's. */
#define _GNU_SOURCE 1
#include "runtime/layer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/thread.h"
#include "base/util.h"
#include "bootstrap/tcp_link.h"
#include "proxy/pairs.h"
#include "runtime/api/layer_outcome.h"
#include "runtime/init/registrable.h"

/* What travels. */
struct key {
    struct gsh_tcp_link_key tcp;
    uint32_t has_offers; /* a link to this entry begins with them */
    uint32_t zero;
};
_Static_assert(GSHMEMX_LAYER_ENTRY_KEY == sizeof(struct key), "layer.h");
_Static_assert(GSHMEMX_LAYER_MESSAGE == GSH_TCP_LINK_MAX_BYTES, "layer.h");
_Static_assert(GSHMEMX_LAYER_MESSAGE == GSH_PAIR_MESSAGE_MAX, "layer.h");
_Static_assert(GSHMEMX_LAYER_HEAD == GSH_PAIR_HEAD_MAX, "layer.h");
_Static_assert(GSH_PAIR_ID_BYTES == GSH_NONCE_BYTES,
               "the listener's challenge, of each process one");

static const uint8_t offer_magic[8] = {'g', 's', 'h', 'p', 'a', 'i', 'r', 1};

struct offer {
    uint8_t magic[8];
    uint32_t is_ucx;
    uint32_t pair;       /* the sender's number for the other process */
    uint32_t pair_there; /* of the connector: the entry's number for it; 0: the pair is new */
    uint32_t zero;
    uint64_t link; /* the sender's number for this link */
    uint8_t rest[GSHMEMX_LAYER_HEAD - 32];
};
_Static_assert(sizeof(struct offer) == GSHMEMX_LAYER_HEAD, "the head of a message");

/* The dialect's functions take a plain pointer for it. */
struct link {
    struct gsh_tcp_link *tcp;
    struct gsh_pair_link *pair; /* NULL: TCP carries the messages */
    struct entry *entry;        /* NULL: the connector's */
    pthread_t thread;           /* of an entry's link over UCX: reads */
    bool is_agreed;             /* what comes over TCP is no offer any more */
    uint64_t timeout_ns;
};

struct entry {
    bool (*receive)(void *context, void *link, const void *data, size_t bytes);
    void (*lost)(void *context, void *link);
    void *context;
    bool has_offers;
    struct gsh_tcp_entry *entry;
};

/* ---- whether UCX is to be had ---- */

static bool is_required(const struct gsh_env *env)
{
    return strcmp(env->transport, "ucx") == 0;
}

/* Once in a process: programs make many connections. */
static void warn(const char *why)
{
    static uint32_t has_warned;
    if (__atomic_exchange_n(&has_warned, 1, __ATOMIC_RELAXED) == 0) { /* orders nothing */
        gsh_log(GSH_LOG_WARN, GSH_LOG_PROXY,
                "connections without a job go over TCP, not over UCX: %s", why);
    }
}

static enum gsh_result open_ucx(const struct gsh_env *env, const void **address, size_t *bytes)
{
    const struct gsh_pairs_options options = {.plugin = env->ucx_plugin,
                                              .timeout_ns = env->proxy_timeout_ns,
                                              .spin_ns = env->proxy_spin_ns};
    if (strcmp(env->transport, "loop") == 0) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "GSHMEM_TRANSPORT is loop");
    }
    enum gsh_result r = gsh_pairs_open(&options, address, bytes);
    if (r == GSH_OK && *bytes > GSH_PAIR_ADDRESS_MAX) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "UCX's address takes %zu bytes", *bytes);
    }
    return r;
}

/* GSH_OK: TCP it is. */
static enum gsh_result stay_with_tcp(const struct gsh_env *env, const char *why)
{
    char text[512];
    snprintf(text, sizeof(text), "%s", why);
    if (is_required(env)) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "GSHMEM_TRANSPORT is ucx, but: %s", text);
    }
    if (strcmp(env->transport, "loop") != 0) {
        warn(text);
    }
    return GSH_OK;
}

/* ---- an entry's links ---- */

static void *read_all(void *arg)
{
    struct link *link = arg;
    void *data = malloc(GSHMEMX_LAYER_MESSAGE);
    size_t bytes = 0;
    bool is_taken = data != NULL;
    while (is_taken &&
           gsh_pair_link_receive(link->pair, data, GSHMEMX_LAYER_MESSAGE, &bytes, 0) == GSH_OK) {
        is_taken = link->entry->receive(link->entry->context, link, data, bytes);
    }
    if (!is_taken) {
        gsh_pair_link_lose(link->pair);
        gsh_tcp_link_hang_up(link->tcp);
    }
    free(data);
    return NULL;
}

static bool answer(struct link *link, const struct offer *mine, const void *data, size_t bytes)
{
    return gsh_tcp_link_send(link->tcp, mine, sizeof(*mine), data, bytes, link->timeout_ns) ==
           GSH_OK;
}

/* The pair's other side begins it now, or it is one that it has begun. */
static enum gsh_result join_pair(const struct link *link, const struct offer *theirs,
                                 const void *address, size_t bytes, uint32_t *pair)
{
    uint8_t send_key[GSH_SIPHASH_KEY_BYTES], receive_key[GSH_SIPHASH_KEY_BYTES];
    if (theirs->pair_there != 0) {
        *pair = theirs->pair_there;
        return gsh_pair_is_begun_by(*pair, theirs->pair)
                   ? GSH_OK
                   : gsh_note(GSH_ERR_PEER, "this connection over UCX has been lost");
    }
    enum gsh_result r = gsh_pair_reserve(pair);
    if (r == GSH_OK) {
        gsh_tcp_link_derive(link->tcp, "pair", send_key, receive_key);
        r = gsh_pair_set(*pair, theirs->pair, NULL, send_key, receive_key, address, bytes);
        explicit_bzero(send_key, sizeof(send_key));
        explicit_bzero(receive_key, sizeof(receive_key));
    }
    return r;
}

/* GSH_OK: link->pair is bound. */
static enum gsh_result take_ucx(struct link *link, const struct offer *theirs, const void *address,
                                size_t bytes, struct offer *mine, const void **own_address,
                                size_t *own_bytes)
{
    const struct gsh_env *env;
    enum gsh_result r = gsh_setup_env(&env);
    if (r == GSH_OK) {
        r = open_ucx(env, own_address, own_bytes);
    }
    if (r == GSH_OK) {
        r = join_pair(link, theirs, address, bytes, &mine->pair);
    }
    if (r == GSH_OK) {
        r = gsh_pair_link_create(NULL, NULL, &link->pair, &mine->link);
    }
    if (r == GSH_OK) {
        gsh_pair_link_bind(link->pair, mine->pair, theirs->link);
    }
    return r;
}

/* The connector's offer; false: it is none. */
static bool agree(struct link *link, const void *data, size_t bytes)
{
    struct offer theirs, mine = {0};
    const void *address = NULL;
    size_t address_bytes = 0;
    if (bytes < sizeof(theirs)) {
        return false;
    }
    memcpy(&theirs, data, sizeof(theirs));
    if (memcmp(theirs.magic, offer_magic, sizeof(offer_magic)) != 0) {
        return false;
    }
    memcpy(mine.magic, offer_magic, sizeof(offer_magic));
    link->is_agreed = true;
    if (theirs.is_ucx == 0) {
        return answer(link, &mine, NULL, 0);
    }
    if (take_ucx(link, &theirs, (const uint8_t *)data + sizeof(theirs), bytes - sizeof(theirs),
                 &mine, &address, &address_bytes) != GSH_OK) {
        const char *why = gsh_last_error();
        gsh_pair_link_destroy(&link->pair);
        return answer(link, &mine, why, strlen(why));
    }
    mine.is_ucx = 1;
    if (gsh_create_thread(&link->thread, NULL, read_all, link) != 0) {
        gsh_pair_link_destroy(&link->pair);
        return false;
    }
    return answer(link, &mine, address, theirs.pair_there == 0 ? address_bytes : 0);
}

static struct link *of_tcp(struct entry *entry, struct gsh_tcp_link *tcp)
{
    struct link *link = *gsh_tcp_link_own(tcp);
    if (link == NULL && (link = calloc(1, sizeof(*link))) != NULL) {
        link->tcp = tcp;
        link->entry = entry;
        link->is_agreed = !entry->has_offers;
        link->timeout_ns = gshmemx_layer_timeout_ns();
        *gsh_tcp_link_own(tcp) = link;
    }
    return link;
}

static bool receive(void *context, struct gsh_tcp_link *tcp, const void *data, size_t bytes)
{
    struct entry *entry = context;
    struct link *link = of_tcp(entry, tcp);
    if (link == NULL) {
        return false;
    }
    if (!link->is_agreed) {
        return agree(link, data, bytes);
    }
    return link->pair == NULL && entry->receive(entry->context, link, data, bytes);
}

static void lost(void *context, struct gsh_tcp_link *tcp)
{
    const struct entry *entry = context;
    struct link *link = *gsh_tcp_link_own(tcp);
    if (link == NULL) {
        return;
    }
    if (link->pair != NULL) {
        gsh_pair_link_lose(link->pair);
        pthread_join(link->thread, NULL);
        gsh_pair_link_destroy(&link->pair);
    }
    entry->lost(entry->context, link);
    free(link);
}

int gshmemx_layer_entry_open(bool (*on_message)(void *context, void *link, const void *data,
                                                size_t bytes),
                             void (*on_loss)(void *context, void *link), void *context,
                             bool may_use_ucx, void **entry, uint8_t key[GSHMEMX_LAYER_ENTRY_KEY])
{
    static const struct gsh_tcp_entry_calls calls = {receive, lost};
    const struct gsh_env *env;
    const void *address;
    size_t bytes;
    struct key made = {.has_offers = may_use_ucx};
    struct entry *e = malloc(sizeof(*e));
    if (e == NULL) {
        return gsh_layer_outcome(gsh_note(GSH_ERR_NOMEM, "no host memory for a connection"));
    }
    *e = (struct entry){
        .receive = on_message, .lost = on_loss, .context = context, .has_offers = may_use_ucx};
    enum gsh_result r = gsh_setup_env(&env);
    if (r == GSH_OK && may_use_ucx && open_ucx(env, &address, &bytes) != GSH_OK) {
        r = stay_with_tcp(env, gsh_last_error());
    }
    if (r == GSH_OK) {
        r = gsh_tcp_entry_open(env->uid_ifname, env->uid_family, &calls, e, &e->entry, &made.tcp);
    }
    if (r != GSH_OK) {
        free(e);
        return gsh_layer_outcome(r);
    }
    memcpy(key, &made, sizeof(made));
    *entry = e;
    return GSHMEMX_LAYER_DONE;
}

void gshmemx_layer_entry_close(void *entry)
{
    struct entry *e = entry;
    if (e != NULL) {
        gsh_tcp_entry_close(&e->entry);
    }
    free(e);
}

/* ---- the connector's ---- */

/* Behind it no second pair with the same process begins. */
static pthread_mutex_t introducing = PTHREAD_MUTEX_INITIALIZER;

static bool is_gone(void *context)
{
    return gsh_tcp_link_is_lost(((struct link *)context)->tcp);
}

/* The entry's offer, and what follows it: room for GSH_PAIR_ADDRESS_MAX bytes. */
static enum gsh_result ask(struct link *link, const struct offer *mine, const void *address,
                           size_t bytes, struct offer *theirs, uint8_t *rest, size_t *rest_bytes)
{
    uint8_t *all = malloc(sizeof(*theirs) + GSH_PAIR_ADDRESS_MAX);
    size_t n = 0;
    if (all == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for a connection");
    }
    enum gsh_result r =
        gsh_tcp_link_send(link->tcp, mine, sizeof(*mine), address, bytes, link->timeout_ns);
    if (r == GSH_OK) {
        r = gsh_tcp_link_receive(link->tcp, all, sizeof(*theirs) + GSH_PAIR_ADDRESS_MAX, &n,
                                 link->timeout_ns);
    }
    if (r == GSH_OK &&
        (n < sizeof(*theirs) || memcmp(all, offer_magic, sizeof(offer_magic)) != 0)) {
        r = GSH_ERR_BUG;
    }
    if (r == GSH_OK) {
        memcpy(theirs, all, sizeof(*theirs));
        *rest_bytes = n - sizeof(*theirs);
        memcpy(rest, all + sizeof(*theirs), *rest_bytes);
    }
    free(all);
    return r == GSH_OK
               ? r
               : gsh_note(r, "the other end did not say how it is reached: %s", gsh_result_name(r));
}

static enum gsh_result ask_for_tcp(struct link *link)
{
    struct offer mine = {0}, theirs;
    uint8_t rest[GSH_PAIR_ADDRESS_MAX];
    size_t bytes;
    memcpy(mine.magic, offer_magic, sizeof(offer_magic));
    return ask(link, &mine, NULL, 0, &theirs, rest, &bytes);
}

/* Its own address is not NULL. */
static enum gsh_result introduce(struct link *link, const struct gsh_env *env,
                                 const uint8_t id[GSH_PAIR_ID_BYTES], const void *address,
                                 size_t address_bytes)
{
    struct offer mine = {.is_ucx = 1}, theirs = {0};
    uint8_t rest[GSH_PAIR_ADDRESS_MAX];
    uint8_t send_key[GSH_SIPHASH_KEY_BYTES], receive_key[GSH_SIPHASH_KEY_BYTES];
    size_t bytes = 0;
    memcpy(mine.magic, offer_magic, sizeof(offer_magic));
    mine.pair = gsh_pair_find(id, &mine.pair_there);
    const bool is_new = mine.pair == 0;
    enum gsh_result r = is_new ? gsh_pair_reserve(&mine.pair) : GSH_OK;
    if (r == GSH_OK) {
        r = gsh_pair_link_create(is_gone, link, &link->pair, &mine.link);
    }
    if (r == GSH_OK) {
        r = ask(link, &mine, address, is_new ? address_bytes : 0, &theirs, rest, &bytes);
    }
    if (r == GSH_OK && theirs.is_ucx == 0) {
        char why[512];
        snprintf(why, sizeof(why), "the other end: %.*s", (int)gsh_min_u64(bytes, 480),
                 (const char *)rest);
        gsh_pair_link_destroy(&link->pair);
        return stay_with_tcp(env, why);
    }
    if (r == GSH_OK && is_new) {
        gsh_tcp_link_derive(link->tcp, "pair", send_key, receive_key);
        r = gsh_pair_set(mine.pair, theirs.pair, id, send_key, receive_key, rest, bytes);
        explicit_bzero(send_key, sizeof(send_key));
        explicit_bzero(receive_key, sizeof(receive_key));
    }
    if (r == GSH_OK) {
        gsh_pair_link_bind(link->pair, mine.pair, theirs.link);
    }
    return r;
}

static enum gsh_result connect_ucx(struct link *link, const struct key *key, bool may_use_ucx)
{
    const struct gsh_env *env;
    const void *address = NULL;
    size_t bytes = 0;
    enum gsh_result r = gsh_setup_env(&env);
    if (r != GSH_OK) {
        return r;
    }
    if (!may_use_ucx || open_ucx(env, &address, &bytes) != GSH_OK) {
        r = may_use_ucx ? stay_with_tcp(env, gsh_last_error()) : GSH_OK;
        return r == GSH_OK ? ask_for_tcp(link) : r;
    }
    pthread_mutex_lock(&introducing);
    r = introduce(link, env, key->tcp.challenge, address, bytes);
    pthread_mutex_unlock(&introducing);
    return r == GSH_OK && link->pair != NULL ? gsh_pair_link_greet(link->pair, link->timeout_ns)
                                             : r;
}

int gshmemx_layer_link_connect(const uint8_t given[GSHMEMX_LAYER_ENTRY_KEY], uint32_t from,
                               bool may_use_ucx, uint64_t timeout_ns, void **out)
{
    struct key key;
    struct link *link = calloc(1, sizeof(*link));
    memcpy(&key, given, sizeof(key));
    *out = NULL;
    if (link == NULL) {
        return gsh_layer_outcome(gsh_note(GSH_ERR_NOMEM, "no host memory for a connection"));
    }
    link->timeout_ns = timeout_ns;
    enum gsh_result r = key.has_offers > 1 || key.zero != 0
                            ? gsh_note(GSH_ERR_ARG, "these bytes are no key of an entry")
                            : gsh_tcp_link_connect(&key.tcp, from, timeout_ns, &link->tcp);
    if (r == GSH_OK && key.has_offers != 0) {
        r = connect_ucx(link, &key, may_use_ucx);
    }
    explicit_bzero(&key, sizeof(key));
    if (r != GSH_OK) {
        gsh_pair_link_destroy(&link->pair);
        gsh_tcp_link_close(&link->tcp);
        free(link);
        return gsh_layer_outcome(r);
    }
    *out = link;
    return GSHMEMX_LAYER_DONE;
}

void gshmemx_layer_link_close(void *given)
{
    struct link *link = given;
    if (link == NULL) {
        return;
    }
    if (link->pair != NULL) {
        gsh_pair_link_finish(link->pair, link->timeout_ns);
        gsh_pair_link_destroy(&link->pair);
    }
    gsh_tcp_link_close(&link->tcp);
    free(link);
}

/* ---- of both ends ---- */

uint32_t gshmemx_layer_link_from(const void *link)
{
    return gsh_tcp_link_from(((const struct link *)link)->tcp);
}

const char *gshmemx_layer_link_carrier(const void *link)
{
    return ((const struct link *)link)->pair != NULL ? "UCX" : "TCP";
}

static int tell(struct link *link, enum gsh_result r, const char *doing)
{
    char text[256] = "";
    if (link->pair != NULL && r == GSH_ERR_PEER) {
        gsh_pair_link_reason(link->pair, text);
    }
    if (r == GSH_ERR_TIMEOUT) {
        r = gsh_note(r, "the other end did not %s in time", doing);
    } else if (r == GSH_ERR_PEER) {
        r = gsh_note(r, "the other end has ended or has closed the connection%s%s",
                     text[0] != '\0' ? ": " : "", text);
    } else if (r == GSH_ERR_BUG) {
        r = gsh_note(r, "the other end sent what is no message");
    } else if (r != GSH_OK) {
        r = gsh_note(r, "the connection failed: %s", gsh_result_name(r));
    }
    return gsh_layer_outcome(r);
}

int gshmemx_layer_link_send(void *given, const void *head, const void *data, size_t bytes,
                            uint64_t timeout_ns)
{
    struct link *link = given;
    return tell(
        link,
        link->pair != NULL
            ? gsh_pair_link_send(link->pair, head, GSHMEMX_LAYER_HEAD, data, bytes, timeout_ns)
            : gsh_tcp_link_send(link->tcp, head, GSHMEMX_LAYER_HEAD, data, bytes, timeout_ns),
        "take");
}

int gshmemx_layer_link_receive(void *given, void *data, size_t room, size_t *bytes,
                               uint64_t timeout_ns)
{
    struct link *link = given;
    return tell(link,
                link->pair != NULL
                    ? gsh_pair_link_receive(link->pair, data, room, bytes, timeout_ns)
                    : gsh_tcp_link_receive(link->tcp, data, room, bytes, timeout_ns),
                "answer");
}

bool gshmemx_layer_link_has_reply(void *given)
{
    const struct link *link = given;
    return link->pair != NULL ? gsh_pair_link_has_message(link->pair)
                              : gsh_tcp_link_has_message(link->tcp);
}

bool gshmemx_layer_link_is_lost(void *given)
{
    const struct link *link = given;
    return gsh_tcp_link_is_lost(link->tcp) ||
           (link->pair != NULL && gsh_pair_link_is_lost(link->pair));
}
