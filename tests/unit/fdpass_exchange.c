/* Proves that descriptors reach the right process and exchange, with many at once, ranks out of
 * step, strangers, and peers that die; and that no failure leaves one open.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bootstrap/fdpass.h"
#include "tests/rig/bootstrap_conform.h"
#include "runtime/base/log.h"

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
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    int n_fds = test_count_fds(), fds[N_RANKS];
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
    CHECK_EQ(test_count_fds(), n_fds - 1);
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
    struct gsh_fdpass *f = open_end(rank, 60 * SECOND);
    int fds[N_RANKS], n_fds = test_count_fds();
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
    CHECK_EQ(test_count_fds(), n_fds);
    gsh_fdpass_destroy(&f);
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

/* Finds a rank's address as anyone on the host can. */
static socklen_t find_address(struct sockaddr_un *out, const char *end)
{
    char line[512];
    socklen_t bytes = 0;
    FILE *list = fopen("/proc/net/unix", "r");
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    while (list && fgets(line, sizeof(line), list)) {
        char *name = strstr(line, "@gshmem-");
        if (!name) {
            continue;
        }
        name[strcspn(name, "\n")] = '\0';
        size_t length = strlen(name);
        if (length < strlen(end) || strcmp(name + length - strlen(end), end) != 0) {
            continue;
        }
        memcpy(out->sun_path + 1, name + 1, length - 1);
        bytes = (socklen_t)(sizeof(out->sun_family) + length);
    }
    if (list) {
        fclose(list);
    }
    return bytes;
}

/* A sender that does not know the job's bytes is ignored, with its descriptor. */
static void test_strangers(void)
{
    struct gsh_fdpass *a = open_end(4000, 60 * SECOND), *b = open_end(4001, 60 * SECOND);
    struct sockaddr_un address;
    int stranger = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), n_fds = test_count_fds();
    struct {
        uint8_t job[16];
        int32_t from;
        uint32_t has_fd;
        uint64_t tag;
    } lie = {.from = 4001, .tag = 5};
    socklen_t bytes = find_address(&address, "-4000");
    CHECK(bytes > 0);
    CHECK(sendto(stranger, &lie, sizeof(lie), 0, (struct sockaddr *)&address, bytes) > 0);
    CHECK(sendto(stranger, "x", 1, 0, (struct sockaddr *)&address, bytes) == 1);
    CHECK(sendto(stranger, NULL, 0, 0, (struct sockaddr *)&address, bytes) == 0);
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
    close(mine);
    CHECK_EQ(test_count_fds(), n_fds);
    close(stranger);
    gsh_fdpass_destroy(&a);
    gsh_fdpass_destroy(&b);
}

int main(void)
{
    alarm(100);
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    new_job();
    conform_fork(N_RANKS, many, NULL);
    new_job();
    conform_fork(5, pairs, NULL);
    new_job();
    conform_fork(4, one_dies, NULL);
    new_job();
    test_timeout();
    new_job();
    test_strangers();
    /* The same rank of one job twice. */
    struct gsh_fdpass *f = open_end(0, SECOND), *again = NULL;
    CHECK_EQ(gsh_fdpass_create(test_job, 0, SECOND, &again), GSH_ERR_SYSTEM);
    CHECK(again == NULL);
    gsh_fdpass_destroy(&f);
    return test_result();
}
