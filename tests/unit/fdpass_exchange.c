/* Proves that descriptors reach the right process and exchange, with many at once, ranks out of
 * step, strangers of this and of another user, ranks that fail, and peers that die; and that no
 * failure leaves one open.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_another_user; /* for who cannot become one: this process takes itself for it */
static uid_t test_euid(void)
{
    return geteuid() + is_another_user;
}
#define geteuid test_euid
#include "bootstrap/uds.c"
#undef geteuid
#include "bootstrap/fdpass.h"
#include "tests/rig/bootstrap_conform.h"
#include "base/log.h"

#define N_RANKS 8

static const uint8_t job[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const int everybody[N_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
static uint8_t test_job[16];

/* A new job for each test, because sockets of a failed one may still exist. */
static void new_job(void)
{
    static uint8_t count;
    memcpy(test_job, job, sizeof(job));
    test_job[0] = ++count;
    pid_t pid = getpid();
    memcpy(test_job + 4, &pid, sizeof(pid));
}

static struct gsh_fdpass *open_end(int rank, uint64_t timeout_ns)
{
    struct gsh_fdpass *f = NULL;
    if (!CHECK_EQ(gsh_fdpass_create(test_job, rank, timeout_ns, &f), GSH_OK)) {
        _exit(1);
    }
    return f;
}

/* A file that tells its owner and its exchange. */
static int make_file(int rank, uint64_t tag)
{
    uint64_t words[2] = {(uint64_t)rank, tag};
    int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(pwrite(fd, words, sizeof(words), 0) == sizeof(words));
    return fd;
}

static void check_file(int fd, int rank, uint64_t tag)
{
    uint64_t words[2] = {0};
    CHECK(pread(fd, words, sizeof(words), 0) == sizeof(words));
    CHECK_EQ(words[0], rank);
    CHECK_EQ(words[1], tag);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

/* Some give none: every third rank in every other exchange. */
static bool gives(int rank, uint64_t tag)
{
    return rank % 3 != 0 || tag % 2 == 0;
}

/* Without synchronisation other than the exchange itself, so ranks get ahead of each other. */
static void many(int rank, int n, void *arg)
{
    int n_fds = test_count_fds(), fds[N_RANKS];
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    (void)arg;
    for (uint64_t tag = 0; tag < 300; tag++) {
        int mine = gives(rank, tag) ? make_file(rank, tag) : -1;
        if (!CHECK_EQ(gsh_fdpass_exchange(f, everybody, n, tag, mine, fds), GSH_OK)) {
            break;
        }
        for (int i = 0; i < n; i++) {
            if (i == rank || !gives(i, tag)) {
                CHECK_EQ(fds[i], -1);
            } else {
                check_file(fds[i], i, tag);
            }
        }
        close(mine);
    }
    gsh_fdpass_destroy(&f);
    CHECK_EQ(test_count_fds(), n_fds);
}

/* Rank 0 runs several exchanges ahead with rank 1 while rank 2 has not begun, and so on. */
static void pairs(int rank, int n, void *arg)
{
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    (void)arg;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < n; i++) {
            int other = (i - rank + n) % n, fd;
            uint64_t tag = (uint64_t)round * 100 + (uint64_t)i;
            if (other == rank) {
                continue;
            }
            int mine = make_file(rank, tag);
            if (CHECK_EQ(gsh_fdpass_exchange(f, &other, 1, tag, mine, &fd), GSH_OK)) {
                check_file(fd, other, tag);
            }
            close(mine);
        }
    }
    gsh_fdpass_destroy(&f);
    CHECK(f == NULL);
}

static void one_dies(int rank, int n, void *arg)
{
    int fds[N_RANKS], n_fds = test_count_fds();
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    int mine = make_file(rank, 0);
    (void)arg;
    CHECK_EQ(gsh_fdpass_exchange(f, everybody, n, 0, mine, fds), GSH_OK);
    for (int i = 0; i < n; i++) {
        if (i != rank) {
            check_file(fds[i], i, 0);
        }
    }
    if (rank == 2) {
        raise(SIGKILL);
    }
    /* The others learn of it by sending, by waiting, or from a rank that has learnt of it. */
    CHECK_EQ(gsh_fdpass_exchange(f, everybody, n, 1, mine, fds), GSH_ERR_PEER);
    close(mine);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(fds[i], -1);
    }
    gsh_fdpass_destroy(&f);
    CHECK_EQ(test_count_fds(), n_fds);
}

static void test_timeout(void)
{
    struct gsh_fdpass *f = open_end(0, SECOND / 20);
    int n_fds = test_count_fds(), ranks[2] = {1, 0}, fds[2] = {77, 77};
    CHECK_EQ(gsh_fdpass_exchange(f, ranks, 2, 0, -1, fds), GSH_ERR_TIMEOUT);
    CHECK(strstr(gsh_last_error(), "PE 1"));
    CHECK_EQ(fds[0], -1);
    CHECK_EQ(fds[1], -1);
    CHECK_EQ(test_count_fds(), n_fds);
    gsh_fdpass_destroy(&f);
    gsh_fdpass_destroy(&f);
}

/* One rank has too few descriptors to receive the others', who do not wait for it. */
static void one_fails(int rank, int n, void *arg)
{
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    int fds[N_RANKS], mine = make_file(rank, 0);
    (void)arg;
    CHECK_EQ(gsh_fdpass_exchange(f, everybody, n, 0, -1, fds), GSH_OK); /* all have met */
    if (rank == 2) {
        int lowest = dup(mine);
        struct rlimit limit = {.rlim_cur = (rlim_t)lowest + 1, .rlim_max = (rlim_t)lowest + 100};
        close(lowest);
        CHECK_EQ(gsh_fdpass_check_room(1, 100), GSH_OK);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        CHECK_EQ(gsh_fdpass_check_room(1, 0), GSH_ERR_SYSTEM);
        CHECK(strstr(gsh_last_error(), "ulimit -n"));
    }
    /* rank 2 may have what the others sent next; they may have all that they need, and then fail in
     * the next one */
    enum gsh_result r = GSH_OK;
    for (uint64_t tag = 1; tag < 4 && r == GSH_OK; tag++) {
        r = gsh_fdpass_exchange(f, everybody, n, tag, mine, fds);
        for (int i = 0; i < n && r == GSH_OK && rank != 2; i++) {
            close(i == rank ? -1 : fds[i]);
        }
    }
    CHECK_EQ(r, rank == 2 ? GSH_ERR_SYSTEM : GSH_ERR_PEER);
    close(mine);
    gsh_fdpass_destroy(&f);
}

/* What a rank that has proved itself may send, and what it may not. The child is rank 0 by hand. */
static void check_message(const void *data, size_t bytes, enum gsh_result result, const char *words)
{
    int from = 0, got = 77, status = -1, n_fds = test_count_fds();
    new_job();
    struct gsh_fdpass *f = open_end(1, 60 * SECOND);
    pid_t child = fork();
    if (child == 0) {
        struct gsh_uds_key of;
        struct gsh_uds_connection connection = {.fd = -1};
        char c;
        test_failed_checks = 0;
        gsh_fdpass_shut(f); /* the child's copy */
        gsh_uds_key(&of, test_job, "fdpass");
        CHECK_EQ(gsh_uds_connect(&connection, &of, 0, 1), GSH_OK);
        for (bool is_in = false; !is_in;) {
            if (!CHECK_EQ(gsh_uds_receive_answer(&connection, &of, &is_in), GSH_OK)) {
                break;
            }
        }
        CHECK(send(connection.fd, data, bytes, 0) == (ssize_t)bytes);
        CHECK_EQ(fcntl(connection.fd, F_SETFL, 0), 0);
        while (recv(connection.fd, &c, 1, 0) > 0) {
        }
        _exit(test_result());
    }
    CHECK_EQ(gsh_fdpass_exchange(f, &from, 1, 7, -1, &got), result);
    CHECK(strstr(gsh_last_error(), words));
    CHECK_EQ(got, -1);
    gsh_fdpass_destroy(&f);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(test_count_fds(), n_fds);
}

static void test_messages(void)
{
    struct gsh_fdpass_message m = {GSH_FDPASS_FAILED, GSH_ERR_NOMEM, 7};
    check_message(&m, sizeof(m), GSH_ERR_PEER, "failed on PE 0: out of memory");
    check_message(&m, sizeof(m) - 1, GSH_ERR_BUG, "PE 0 sent what is no message");
    m.result = GSH_RESULT_COUNT;
    check_message(&m, sizeof(m), GSH_ERR_BUG, "PE 0 sent what is no message");
    m = (struct gsh_fdpass_message){GSH_FDPASS_DESCRIPTOR, GSH_OK, 7};
    check_message(&m, sizeof(m), GSH_ERR_SYSTEM, "ulimit -n");
    m = (struct gsh_fdpass_message){GSH_FDPASS_FAILED + 1, GSH_OK, 7};
    check_message(&m, sizeof(m), GSH_ERR_BUG, "PE 0 sent what is no message");
}

/* ---- strangers ---- */

static socklen_t name_of(int rank, struct sockaddr_un *out)
{
    struct gsh_uds_key of;
    gsh_uds_key(&of, test_job, "fdpass");
    return address_of(&of, rank, out);
}

/* Whether this process now counts as another user for those that look at it. */
static bool become_another_user(void)
{
    return geteuid() == 0 && setgid(65534) == 0 && setuid(65534) == 0;
}

/* A connection, or -1. */
static int connect_as_stranger(const struct sockaddr_un *address, socklen_t bytes)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)address, bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Clients that do not know the job's bytes are ignored, with their descriptors, and hold up nobody.
 */
static void test_strangers(void)
{
    struct gsh_fdpass *a = open_end(4000, 60 * SECOND), *b = open_end(4001, 60 * SECOND);
    struct sockaddr_un address, other;
    struct gsh_uds_key wrong;
    int strangers[300], n_fds = test_count_fds();
    struct gsh_uds_hello lie = {.magic = HELLO_MAGIC, .from = 4000, .to = 4001};
    socklen_t bytes = name_of(4001, &address);
    gsh_uds_key(&wrong, job, "fdpass");
    hello_mac(&wrong, &lie, lie.mac);
    /* what is known of one name says nothing about another, nor about the job's bytes */
    char hex[9];
    snprintf(hex, sizeof(hex), "%02x%02x%02x%02x", test_job[8], test_job[9], test_job[10],
             test_job[11]);
    CHECK(strstr(address.sun_path + 1, hex) == NULL);
    CHECK_EQ(name_of(4000, &other), bytes);
    CHECK(memcmp(other.sun_path + 1, address.sun_path + 1, strlen("gshmem-fdpass-")) == 0);
    CHECK(memcmp(other.sun_path + 15, address.sun_path + 15, 8) != 0);
    for (int i = 0; i < 300; i++) { /* more than a listener has places for */
        strangers[i] = connect_as_stranger(&address, bytes);
        if (i % 3 == 1) {
            CHECK(send(strangers[i], "x", 1, 0) == 1);
        } else if (i % 3 == 2) {
            CHECK(send(strangers[i], &lie, sizeof(lie), 0) == sizeof(lie));
        }
    }
    int to_b = 4001, to_a = 4000, got, mine = make_file(4001, 5);
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        CHECK_EQ(gsh_fdpass_exchange(b, &to_a, 1, 5, mine, &got), GSH_OK);
        _exit(test_result());
    }
    if (CHECK_EQ(gsh_fdpass_exchange(a, &to_b, 1, 5, -1, &got), GSH_OK)) {
        check_file(got, 4001, 5);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    char end;
    CHECK(recv(strangers[1], &end, 1, 0) <= 0); /* never answered, but sent away */
    CHECK(recv(strangers[2], &end, 1, 0) <= 0);
    for (int i = 0; i < 300; i++) {
        close(strangers[i]);
    }
    close(mine);
    gsh_fdpass_destroy(&a);
    gsh_fdpass_destroy(&b);
    CHECK(test_count_fds() < n_fds);
}

/* Another user knows all, even the job's bytes: its connection is not accepted. */
static void test_other_client(void)
{
    struct gsh_uds_key of;
    struct gsh_uds_listener *listener = NULL;
    struct sockaddr_un address;
    int gate[2], fd = -1, from = -1, status = -1;
    gsh_uds_key(&of, test_job, "fdpass");
    if (!CHECK_EQ(gsh_uds_listen(&of, 1, &listener), GSH_OK) || !CHECK_EQ(pipe(gate), 0)) {
        return;
    }
    socklen_t bytes = name_of(1, &address);
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        struct gsh_uds_hello hello = {.magic = HELLO_MAGIC, .from = 0, .to = 1};
        char c;
        (void)!become_another_user();
        hello_mac(&of, &hello, hello.mac);
        int s = connect_as_stranger(&address, bytes);
        (void)!send(s, &hello, sizeof(hello), MSG_NOSIGNAL);
        CHECK(write(gate[1], "x", 1) == 1);
        CHECK(recv(s, &c, 1, 0) <= 0); /* closed without a word */
        _exit(test_result());
    }
    char c;
    CHECK(read(gate[0], &c, 1) == 1);
    is_another_user = geteuid() != 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        CHECK_EQ(gsh_uds_accept(listener, &fd, &from), GSH_OK);
        CHECK_EQ(fd, -1);
        sched_yield();
    }
    is_another_user = false;
    CHECK_EQ(status, 0);
    close(gate[0]);
    close(gate[1]);
    gsh_uds_close(&listener);
}

/* Another user has taken a rank's name, as it could once that rank is dead: it gets nothing. */
static void test_taken_name(void)
{
    struct sockaddr_un address;
    int ready[2], status = -1, to = 1, got = 77, mine = make_file(0, 0);
    socklen_t bytes = name_of(1, &address);
    if (!CHECK_EQ(pipe(ready), 0)) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        char data[100];
        (void)!become_another_user();
        int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        CHECK_EQ(bind(s, (struct sockaddr *)&address, bytes), 0);
        CHECK_EQ(listen(s, 1), 0);
        CHECK(write(ready[1], "x", 1) == 1);
        int c = accept(s, NULL, NULL);
        CHECK(c >= 0);
        CHECK(recv(c, data, sizeof(data), 0) <= 0); /* not even a hello */
        _exit(test_result());
    }
    char c;
    CHECK(read(ready[0], &c, 1) == 1);
    struct gsh_fdpass *f = open_end(0, 60 * SECOND);
    is_another_user = geteuid() != 0;
    CHECK_EQ(gsh_fdpass_exchange(f, &to, 1, 0, mine, &got), GSH_ERR_SYSTEM);
    CHECK(strstr(gsh_last_error(), "belongs to another user"));
    is_another_user = false;
    CHECK_EQ(got, -1);
    gsh_fdpass_destroy(&f);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(mine);
    close(ready[0]);
    close(ready[1]);
}

/* A process of this user that has the name but not the secret gets a hello, and no descriptor. */
static void test_impostor(void)
{
    struct gsh_uds_key of;
    struct sockaddr_un address;
    int ready[2], status = -1, to = 1, got = 77, mine = make_file(0, 0);
    socklen_t bytes = name_of(1, &address);
    if (!CHECK_EQ(pipe(ready), 0)) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        struct gsh_uds_answer answer = {{0}};
        char data[100];
        int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        CHECK_EQ(bind(s, (struct sockaddr *)&address, bytes), 0);
        CHECK_EQ(listen(s, 1), 0);
        CHECK(write(ready[1], "x", 1) == 1);
        int c = accept(s, NULL, NULL);
        CHECK(recv(c, data, sizeof(data), 0) == sizeof(struct gsh_uds_hello));
        /* neither the job's bytes nor its key */
        gsh_uds_key(&of, test_job, "fdpass");
        CHECK(memmem(data, sizeof(struct gsh_uds_hello), test_job, sizeof(test_job)) == NULL);
        CHECK(memmem(data, sizeof(struct gsh_uds_hello), of.key, 8) == NULL);
        CHECK(send(c, &answer, sizeof(answer), 0) == sizeof(answer));
        CHECK(recv(c, data, sizeof(data), 0) <= 0);
        _exit(test_result());
    }
    char c;
    CHECK(read(ready[0], &c, 1) == 1);
    struct gsh_fdpass *f = open_end(0, 60 * SECOND);
    CHECK_EQ(gsh_fdpass_exchange(f, &to, 1, 0, mine, &got), GSH_ERR_SYSTEM);
    CHECK(strstr(gsh_last_error(), "did not prove the job's secret"));
    CHECK_EQ(got, -1);
    gsh_fdpass_destroy(&f);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(mine);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    alarm(600);
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    new_job();
    conform_fork(N_RANKS, many, NULL);
    new_job();
    conform_fork(5, pairs, NULL);
    new_job();
    conform_fork(4, one_dies, NULL);
    new_job();
    conform_fork(4, one_fails, NULL);
    test_messages();
    new_job();
    test_timeout();
    new_job();
    test_strangers();
    new_job();
    test_other_client();
    new_job();
    test_taken_name();
    new_job();
    test_impostor();
    /* The same rank of one job twice. */
    struct gsh_fdpass *f = open_end(0, SECOND), *again = NULL;
    CHECK_EQ(gsh_fdpass_create(test_job, 0, SECOND, &again), GSH_ERR_SYSTEM);
    CHECK(again == NULL);
    gsh_fdpass_destroy(&f);
    return test_result();
}
