/* Proves that whoever accepts connections neither spins nor gives up while the process has no
 * descriptor for one: it leaves the client in the kernel's queue, looks again now and then, and
 * goes on once there is one; and that start-up fails when there is none for long, where a service
 * of the process goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/log.h"
#include "base/process.h"
#include "bootstrap/fdpass.h"
#include "bootstrap/socket.h"
#include "bootstrap/tcp_link.h"
#include "bootstrap/uds.h"
#include "bootstrap/uid.h"
#include "gshmemx.h"
#include "hang/names.h"
#include "hang/record.h"
#include "heap/range.h"
#include "tests/rig/bootstrap_conform.h"

#define MAX_FD    1024
#define N_REFUSED 5

/* By listener. Each has one thread that accepts. */
static struct refused {
    uint64_t last_ns;
    int n;
} refused[MAX_FD];
static int n_to_refuse;   /* atomic; of each listener */
static bool is_too_early; /* atomic: a listener looked again before its pause was over */

static void note_refused(int fd)
{
    struct refused *r = &refused[fd];
    uint64_t now = gsh_now_ns();
    if (r->n > 0 && now - r->last_ns < GSH_ACCEPT_RETRY_NS) {
        __atomic_store_n(&is_too_early, true, __ATOMIC_RELAXED);
    }
    r->last_ns = now;
    __atomic_add_fetch(&r->n, 1, __ATOMIC_RELAXED);
}

/* The library's calls come here. */
int accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    bool is_refused = refused[fd].n < __atomic_load_n(&n_to_refuse, __ATOMIC_RELAXED);
    int got = is_refused ? -1 : (int)syscall(SYS_accept4, fd, address, bytes, flags);
    if (is_refused) {
        errno = EMFILE;
    }
    if (got < 0 && errno == EMFILE) {
        note_refused(fd);
        errno = EMFILE;
    }
    return got;
}

/* Nobody accepts now. */
static void refuse(int n)
{
    memset(refused, 0, sizeof(refused));
    __atomic_store_n(&n_to_refuse, n, __ATOMIC_RELAXED);
}

static int most_refused(void)
{
    int most = 0;
    for (int i = 0; i < MAX_FD; i++) {
        int n = __atomic_load_n(&refused[i].n, __ATOMIC_RELAXED);
        most = n > most ? n : most;
    }
    return most;
}

static void check_refused(int n)
{
    CHECK_EQ(most_refused(), n);
    CHECK(!__atomic_load_n(&is_too_early, __ATOMIC_RELAXED));
    __atomic_store_n(&is_too_early, false, __ATOMIC_RELAXED);
    __atomic_store_n(&n_to_refuse, 0, __ATOMIC_RELAXED);
}

/* ---- Unix sockets ---- */

static const uint8_t job[GSH_SECRET_BYTES] = "accept_room";

static struct gsh_uds_listener *listen_as(struct gsh_uds_key *of, int rank)
{
    struct gsh_uds_listener *listener = NULL;
    uint8_t secret[GSH_SECRET_BYTES];
    pid_t pid = getpid();
    memcpy(secret, job, sizeof(secret));
    memcpy(secret, &pid, sizeof(pid));
    gsh_uds_key(of, secret, "test");
    if (!CHECK_EQ(gsh_uds_listen(of, rank, &listener), GSH_OK)) {
        exit(1);
    }
    return listener;
}

static void say_hello(struct gsh_uds_connection *connection, const struct gsh_uds_key *of, int from)
{
    *connection = (struct gsh_uds_connection){.fd = -1};
    CHECK_EQ(gsh_uds_connect(connection, of, from, 7), GSH_OK);
    CHECK(connection->has_sent_hello);
}

/* Returns the first result that is not GSH_OK, or GSH_OK with a client. */
static enum gsh_result accept_next(struct gsh_uds_listener *listener, int *fd, int *from)
{
    for (;;) {
        struct pollfd p = {.fd = gsh_uds_fd(listener), .events = POLLIN};
        enum gsh_result r = gsh_uds_accept(listener, fd, from);
        if (r != GSH_OK || *fd >= 0) {
            return r;
        }
        CHECK(poll(&p, 1, gsh_uds_poll_ms(listener, 60000)) >= 0);
    }
}

/* The kernel refuses; the client that is in already is heard nevertheless, and is not sent away for
 * those that are not. */
static void test_limit(void)
{
    struct gsh_uds_key of;
    struct gsh_uds_listener *listener = listen_as(&of, 7);
    struct gsh_uds_connection connections[3];
    struct rlimit limit, low;
    int got[3] = {-1, -1, -1}, from = -1;
    refuse(0);
    for (int i = 0; i < 3; i++) {
        say_hello(&connections[i], &of, i);
    }
    int lowest = dup(0);
    close(lowest);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)lowest + 1;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    CHECK_EQ(accept_next(listener, &got[0], &from), GSH_OK);
    CHECK_EQ(from, 0);
    while (most_refused() < N_REFUSED) {
        struct pollfd p = {.fd = gsh_uds_fd(listener), .events = POLLIN};
        CHECK_EQ(gsh_uds_accept(listener, &got[1], &from), GSH_OK);
        CHECK_EQ(got[1], -1);
        CHECK_EQ(poll(&p, 1, 0), 0); /* nothing to do until the pause is over */
        int pause_ms = gsh_uds_poll_ms(listener, -1);
        CHECK(pause_ms >= 0 && (uint64_t)pause_ms <= GSH_ACCEPT_RETRY_NS / 1000000 + 1);
        CHECK_EQ(gsh_uds_poll_ms(listener, 0), 0);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(accept_next(listener, &got[i], &from), GSH_OK);
        CHECK_EQ(from, i);
    }
    CHECK_EQ(gsh_uds_poll_ms(listener, -1), -1);
    check_refused(N_REFUSED);
    for (int i = 0; i < 3; i++) {
        bool is_in = false;
        CHECK_EQ(gsh_uds_receive_answer(&connections[i], &of, &is_in), GSH_OK);
        CHECK(is_in);
        close(connections[i].fd);
        close(got[i]);
    }
    gsh_uds_close(&listener);
}

static void exchange(int rank, int n, void *arg)
{
    struct gsh_fdpass *f = NULL;
    int both[2] = {0, 1}, fds[2] = {-1, -1}, mine = dup(0);
    (void)n;
    refuse(N_REFUSED);
    CHECK_EQ(gsh_fdpass_create(arg, rank, 60 * SECOND, &f), GSH_OK);
    CHECK_EQ(gsh_fdpass_exchange(f, both, 2, 0, mine, fds), GSH_OK);
    CHECK(fds[1 - rank] >= 0);
    check_refused(rank == 1 ? N_REFUSED : 0); /* the higher one listens */
    gsh_fdpass_destroy(&f);
}

static void test_exchange(void)
{
    uint8_t secret[GSH_SECRET_BYTES];
    pid_t pid = getpid();
    memcpy(secret, job, sizeof(secret));
    memcpy(secret, &pid, sizeof(pid));
    conform_fork(2, exchange, secret);
}

/* The thread that shares memory with other processes. */
static void test_range(void)
{
    struct gsh_uds_key of;
    struct gsh_uds_connection connection = {.fd = -1};
    struct gsh_range_key key;
    bool is_in = false;
    refuse(N_REFUSED);
    CHECK_EQ(gsh_range_process_key(&key), GSH_OK);
    gsh_uds_key(&of, key.secret, "range");
    CHECK_EQ(gsh_uds_connect(&connection, &of, 1, 0), GSH_OK);
    while (!is_in) {
        struct pollfd p = {.fd = connection.fd, .events = POLLIN};
        if (!CHECK_EQ(poll(&p, 1, 60000), 1) ||
            !CHECK_EQ(gsh_uds_receive_answer(&connection, &of, &is_in), GSH_OK)) {
            break;
        }
    }
    check_refused(N_REFUSED);
    close(connection.fd);
}

/* The thread that answers who asks why a job hangs. */
static void test_hang(void)
{
    struct sockaddr_un at;
    struct gsh_hang_question question = {.magic = GSH_HANG_MAGIC};
    struct gsh_hang_record record;
    int n_records = 0;
    gshmem_init();
    refuse(N_REFUSED);
    socklen_t bytes = gsh_hang_name_listener(&at, gsh_process_id(), (int)getpid());
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, bytes), 0);
    CHECK(send(fd, &question, sizeof(question), 0) == sizeof(question));
    do {
        if (!CHECK(recv(fd, &record, sizeof(record), 0) == sizeof(record))) {
            break;
        }
        n_records++;
    } while (record.kind != GSH_HANG_END);
    CHECK(n_records > 1);
    check_refused(N_REFUSED);
    close(fd);
    gshmem_finalize();
}

/* ---- TCP ---- */

static struct gsh_uid_options options = {
    .ifname = "lo", .family = "ipv4", .timeout_ns = 60 * SECOND};

static void join(int rank, int n, void *id)
{
    struct gsh_bootstrap *b = NULL;
    if (CHECK_EQ(gsh_bootstrap_uid_create(id, rank, n, &options, &b), GSH_OK)) {
        conform_allgather(b, 8, 0);
        b->ops->destroy(b);
    }
}

static void test_uid(void)
{
    struct gsh_uid id;
    refuse(N_REFUSED);
    if (CHECK_EQ(gsh_uid_create(&options, &id), GSH_OK)) {
        test_on_threads(2, join, &id);
    }
    check_refused(N_REFUSED);
}

static bool receive(void *context, struct gsh_tcp_link *link, const void *data, size_t bytes)
{
    (void)context, (void)link, (void)data, (void)bytes;
    return true;
}

static void lost(void *context, struct gsh_tcp_link *link)
{
    (void)context, (void)link;
}

static void *connect_link(void *key)
{
    struct gsh_tcp_link *link = NULL;
    CHECK_EQ(gsh_tcp_link_connect(key, 1, 60 * SECOND, &link), GSH_OK);
    gsh_tcp_link_close(&link);
    return NULL;
}

/* There is no descriptor for long. */
static void test_long(void)
{
    static const struct gsh_tcp_entry_calls calls = {.receive = receive, .lost = lost};
    struct gsh_uds_key of;
    struct gsh_uds_listener *listener = listen_as(&of, 7);
    struct gsh_uds_connection connection;
    struct gsh_tcp_entry *entry = NULL;
    struct gsh_tcp_link_key key;
    pthread_t connector;
    int fd, from;
    refuse(INT32_MAX);
    if (!CHECK_EQ(gsh_tcp_entry_open("lo", "ipv4", &calls, NULL, &entry, &key), GSH_OK)) {
        return;
    }
    pthread_create(&connector, NULL, connect_link, &key);
    say_hello(&connection, &of, 0);
    CHECK_EQ(accept_next(listener, &fd, &from), GSH_ERR_SYSTEM);
    CHECK_EQ(errno, EMFILE);
    while (most_refused() <= GSH_ACCEPT_LOOKS) { /* the entry's listener */
        (void)poll(NULL, 0, 1);
    }
    __atomic_store_n(&n_to_refuse, 0, __ATOMIC_RELAXED);
    pthread_join(connector, NULL);
    CHECK_EQ(accept_next(listener, &fd, &from), GSH_OK);
    CHECK(!__atomic_load_n(&is_too_early, __ATOMIC_RELAXED));
    gsh_tcp_entry_close(&entry);
    gsh_uds_close(&listener);
    close(connection.fd);
    close(fd);
}

int main(void)
{
    alarm(600);
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    test_limit();
    test_exchange();
    test_uid();
    test_long();
    test_range();
    test_hang();
    return test_result();
}
