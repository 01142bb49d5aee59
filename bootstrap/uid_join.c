/* SPDX-License-Identifier: Apache-2.0
 * See uid_join.h. */
#define _GNU_SOURCE 1
#include "bootstrap/uid_join.h"

#include <errno.h>
#include <string.h>
#include "bootstrap/netif.h"
#include "bootstrap/uid_relay.h"

#define MAX_TRIES 4 /* to meet the rendezvous */

static void count_sent(struct gsh_uid_join *j, int n_hellos)
{
    j->sent.messages += (uint64_t)n_hellos;
    j->sent.bytes += (uint64_t)n_hellos * sizeof(struct gsh_hello);
}

static enum gsh_result fail_rendezvous(const struct gsh_uid_join *j,
                                       const struct gsh_address *address, enum gsh_result r)
{
    char text[GSH_ADDRESS_TEXT];
    gsh_address_text(address, text);
    if (r == GSH_ERR_TIMEOUT) {
        return gsh_fail(r, "start-up: no answer from the rendezvous at %s within %g s", text,
                        (double)j->timeout_ns * 1e-9);
    }
    if (r == GSH_ERR_ARG || errno == ECONNRESET || errno == EPIPE) {
        return gsh_fail(
            r, "start-up: the process at %s does not accept this unique id, or has ended", text);
    }
    if (errno == ECONNREFUSED) {
        return gsh_fail(r,
                        "start-up: nobody serves the unique id at %s: its maker has ended, its "
                        "time limit passed, or it was used before",
                        text);
    }
    return gsh_fail_errno(r, "start-up: cannot reach the rendezvous at %s", text);
}

/* Where partners reach this rank: the interface the user names, else the address that reached the
 * rendezvous, `at`. */
static enum gsh_result open_listener(struct gsh_uid_join *j, struct gsh_address at,
                                     uint8_t link[GSH_NONCE_BYTES])
{
    enum gsh_result r = GSH_OK;
    memset(at.port, 0, sizeof(at.port));
    if (j->ifname != NULL && j->ifname[0]) {
        r = gsh_netif_choose(j->ifname, at.family == 6 ? "ipv6" : "ipv4", "this PE in start-up",
                             &at);
    }
    if (r == GSH_OK) {
        r = gsh_random(link, GSH_NONCE_BYTES);
    }
    if (r == GSH_OK) {
        r = gsh_tcp_listener_create(&at, link, &j->listener);
    }
    if (r == GSH_OK) {
        gsh_tcp_listener_set_secret(j->listener, j->secret);
    }
    return r;
}

/* All but what seals it. */
static enum gsh_result make_hello(struct gsh_uid_join *j, const struct gsh_address *at,
                                  struct gsh_hello *hello)
{
    *hello = (struct gsh_hello){.kind = GSH_HELLO_JOIN,
                                .rank = (uint32_t)j->rank,
                                .n_ranks = (uint32_t)j->n_ranks,
                                .round = j->n_tries > 1};
    memcpy(hello->host, &j->host, sizeof(hello->host));
    enum gsh_result r = open_listener(j, *at, hello->link);
    if (r == GSH_OK) {
        r = gsh_random(hello->nonce, sizeof(hello->nonce));
    }
    if (r == GSH_OK) {
        hello->address = *gsh_tcp_listener_address(j->listener);
    }
    return r;
}

/* What comes after the magic depends on the version. GSH_ERR_ARG: it is another. */
static enum gsh_result receive_challenge(int fd, struct gsh_challenge *challenge,
                                         uint64_t deadline_ns)
{
    uint8_t mine[sizeof(challenge->magic)];
    gsh_magic(mine);
    enum gsh_result r =
        gsh_socket_recv(fd, challenge->magic, sizeof(challenge->magic), deadline_ns);
    if (r == GSH_OK && memcmp(challenge->magic, mine, sizeof(mine)) != 0) {
        return GSH_ERR_ARG;
    }
    return r != GSH_OK
               ? r
               : gsh_socket_recv(fd, challenge->nonce, sizeof(challenge->nonce), deadline_ns);
}

static enum gsh_result fail_version(const struct gsh_address *address, const uint8_t magic[8])
{
    char text[GSH_ADDRESS_TEXT];
    uint8_t mine[8];
    gsh_magic(mine);
    gsh_address_text(address, text);
    if (gsh_magic_version(magic) == 0) {
        return gsh_fail(GSH_ERR_ARG, "start-up: the process at %s is no rendezvous of gshmem",
                        text);
    }
    return gsh_fail(GSH_ERR_ARG,
                    "start-up: the rendezvous at %s runs another version of gshmem (start-up %d) "
                    "than this PE (%d)",
                    text, gsh_magic_version(magic), gsh_magic_version(mine));
}

/* The rendezvous has closed the connection without an answer. */
static bool is_sent_away(enum gsh_result r)
{
    return r == GSH_ERR_PEER && (errno == ECONNRESET || errno == EPIPE);
}

/* Whether the runs, of hosts of at most so many ranks, have all ranks. */
static bool are_runs_good(const struct gsh_host_layout *hosts, int n_ranks)
{
    uint64_t n = 0;
    for (int i = 0; i < hosts->n_runs; i++) {
        const struct gsh_host_run *run = &hosts->runs[i];
        if (run->n_hosts < 1 || run->ranks < 1 || run->ranks > (uint32_t)hosts->most) {
            return false;
        }
        n += (uint64_t)run->n_hosts * run->ranks;
    }
    return n == (uint64_t)n_ranks;
}

/* Whether each host gets some. */
static bool is_dealing_good(const struct gsh_host_layout *hosts, int n_ranks)
{
    const uint64_t n_hosts = hosts->runs[0].n_hosts, at_once = (uint64_t)hosts->dealt_ranks;
    return hosts->n_runs == 1 && n_hosts >= 1 && n_hosts <= (uint64_t)n_ranks &&
           n_hosts * at_once <= (uint64_t)n_ranks &&
           hosts->most == gsh_host_dealt_to(n_ranks, (int)at_once, (int)n_hosts, 0);
}

static bool are_hosts_good(const struct gsh_host_layout *hosts, int n_ranks)
{
    return hosts->most == 0          ? hosts->n_runs == 0 && hosts->dealt_ranks == 0
           : hosts->dealt_ranks != 0 ? is_dealing_good(hosts, n_ranks)
                                     : are_runs_good(hosts, n_ranks);
}

/* How ranks lie on hosts; bytes of runs that are not regular. */
static enum gsh_result read_hosts(struct gsh_uid_join *j, const struct gsh_welcome *welcome,
                                  const char *runs, size_t bytes)
{
    const uint32_t most = welcome->host_ranks, at_once = welcome->dealt_ranks,
                   n = (uint32_t)j->n_ranks;
    if (most <= n && at_once <= n) {
        j->hosts =
            most > 0 && at_once == 0 && bytes == 0
                ? gsh_host_layout_regular(j->n_ranks, (int)most)
                : (struct gsh_host_layout){.most = (int)most,
                                           .dealt_ranks = (int)at_once,
                                           .n_runs = (int)(bytes / sizeof(j->hosts.runs[0]))};
        if (bytes > 0) {
            memcpy(j->hosts.runs, runs, bytes);
        }
    }
    if (most > n || at_once > n || !are_hosts_good(&j->hosts, j->n_ranks)) {
        return gsh_fail(GSH_ERR_BUG, "start-up: an answer with %u of %d PEs on each host", most,
                        j->n_ranks);
    }
    return GSH_OK;
}

/* What an answer tells: the partners, or why the job cannot start. payload has room for a NUL. */
static enum gsh_result read_answer(struct gsh_uid_join *j, const struct gsh_answer *answer,
                                   char *payload, struct gsh_welcome *welcome)
{
    const size_t bytes = gsh_welcome_bytes(j->rounds);
    if (answer->result != GSH_OK) {
        payload[answer->bytes] = '\0';
        return gsh_fail((enum gsh_result)answer->result, "start-up: %s", payload);
    }
    if (answer->bytes < bytes || (answer->bytes - bytes) % sizeof(j->hosts.runs[0]) != 0 ||
        answer->bytes - bytes > sizeof(j->hosts.runs)) {
        return gsh_fail(GSH_ERR_BUG, "start-up: an answer of %u bytes", answer->bytes);
    }
    memcpy(welcome, payload, bytes);
    return read_hosts(j, welcome, payload + bytes, answer->bytes - bytes);
}

/* Says hello on a connection with the rendezvous, and waits for the answer. */
static enum gsh_result say_hello(struct gsh_uid_join *j, struct gsh_relay *relay, int fd,
                                 struct gsh_hello *hello, const uint8_t challenge[GSH_NONCE_BYTES],
                                 struct gsh_answer *answer, void *payload, uint64_t deadline_ns)
{
    hello->kind = relay != NULL ? GSH_HELLO_RELAY : GSH_HELLO_JOIN;
    gsh_hello_seal(hello, j->secret, challenge);
    enum gsh_result r = gsh_socket_send(fd, hello, sizeof(*hello), deadline_ns);
    if (r != GSH_OK) {
        return r;
    }
    count_sent(j, 1);
    if (relay == NULL) {
        return gsh_answer_recv(fd, hello, j->secret, answer, payload, deadline_ns);
    }
    r = gsh_relay_serve(relay, fd, challenge, j->secret, hello, answer, payload, deadline_ns);
    count_sent(j, relay->n_brought);
    return r;
}

/* may_fail: being sent away is an error, else it is *is_away, without a text. relay: of this rank,
 * or NULL. */
static enum gsh_result contact_rendezvous(struct gsh_uid_join *j, struct gsh_relay *relay,
                                          const struct gsh_address *address, uint64_t deadline_ns,
                                          struct gsh_welcome *welcome, bool may_fail, bool *is_away)
{
    int fd = -1;
    struct gsh_address at;
    struct gsh_challenge challenge;
    struct gsh_answer answer;
    char payload[GSH_ANSWER_MAX_PAYLOAD + 1];
    struct gsh_hello hello;
    enum gsh_result r = gsh_socket_connect(address, deadline_ns, &fd);
    if (r == GSH_OK) {
        r = receive_challenge(fd, &challenge, deadline_ns);
    }
    if (r != GSH_OK) {
        *is_away = is_sent_away(r);
        gsh_socket_close(&fd);
        if (*is_away && !may_fail) {
            return r;
        }
        return r == GSH_ERR_ARG ? fail_version(address, challenge.magic)
                                : fail_rendezvous(j, address, r);
    }
    r = gsh_socket_local_address(fd, &at);
    r = r == GSH_OK ? make_hello(j, &at, &hello) : gsh_fail_errno(r, "start-up: local address");
    if (r == GSH_OK) {
        r = say_hello(j, relay, fd, &hello, challenge.nonce, &answer, payload, deadline_ns);
        *is_away = is_sent_away(r);
        if (r != GSH_OK && (may_fail || !*is_away)) {
            r = fail_rendezvous(j, address, r);
        }
    }
    gsh_socket_close(&fd);
    return r == GSH_OK ? read_answer(j, &answer, payload, welcome) : r;
}

/* *is_away: the relay has ended, without a text. */
static enum gsh_result follow_relay(struct gsh_uid_join *j, struct gsh_relay *relay,
                                    const struct gsh_address *at, const struct gsh_address *address,
                                    uint64_t deadline_ns, struct gsh_welcome *welcome,
                                    bool *is_away)
{
    struct gsh_answer answer;
    char payload[GSH_ANSWER_MAX_PAYLOAD + 1];
    struct gsh_hello hello;
    enum gsh_result r = make_hello(j, at, &hello);
    if (r != GSH_OK) {
        return r;
    }
    r = gsh_relay_ask(relay, &hello, &answer, payload, deadline_ns);
    *is_away = r == GSH_ERR_PEER;
    if (r == GSH_OK) {
        return read_answer(j, &answer, payload, welcome);
    }
    return *is_away ? r : fail_rendezvous(j, address, r);
}

/* A rank that has been slow to say hello may be sent away for others (tcp_listener.c), or its relay
 * may end. So it comes again, by itself, before it gives up. */
enum gsh_result gsh_uid_join(struct gsh_uid_join *j, const struct gsh_address *rendezvous,
                             uint64_t deadline_ns, struct gsh_welcome *welcome)
{
    const int most_direct = j->most_direct > 0 ? j->most_direct : GSH_UID_MOST_DIRECT;
    for (j->n_tries = 1;; j->n_tries++) {
        const bool may_fail = j->n_tries == MAX_TRIES;
        bool is_away = false;
        struct gsh_relay relay = {.fd = -1};
        struct gsh_address at;
        const enum gsh_relay_role role =
            j->n_ranks > most_direct && j->rank >= 0 && j->n_tries == 1
                ? gsh_relay_enter(&relay, j->secret, j->rank, deadline_ns, &at)
                : GSH_RELAY_NONE;
        enum gsh_result r =
            role == GSH_RELAY_FOLLOWS
                ? follow_relay(j, &relay, &at, rendezvous, deadline_ns, welcome, &is_away)
                : contact_rendezvous(j, role == GSH_RELAY_LEADS ? &relay : NULL, rendezvous,
                                     deadline_ns, welcome, may_fail, &is_away);
        gsh_relay_leave(&relay);
        if (!is_away || may_fail) {
            return r;
        }
        gsh_tcp_listener_destroy(&j->listener);
    }
}
