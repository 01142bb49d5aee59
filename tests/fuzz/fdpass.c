/* SPDX-License-Identifier: Apache-2.0
 * Descriptor passing of PE 1 among strangers and two other PEs, which may send anything in any
 * order: a descriptor comes only from the PE that sent it, for its exchange, once; after a failure
 * none is left, and in the end nobody has lost one.
 *
 * PE 1 waits in poll, which is the fuzzer's: there the others act, as the input says. When it ends,
 * poll fails. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "bootstrap/uds.h"
#include "bootstrap/fdpass.h"
#include "bootstrap/socket.h"

enum { N = 3, ME = 1, EXCHANGES = 3, STRANGERS = 4, MAX_FDS = 6 };

static struct fuzz_input in;
static uint8_t secret[GSH_SECRET_BYTES];
static struct gsh_uds_key listeners;
static struct gsh_uds_listener *listener;    /* of PE 2 */
static struct gsh_uds_connection connection; /* of PE 0 */
static bool is_in;                           /* PE 0 has been admitted */
static int links[N];                         /* the other ends; -1 */
static int strangers[STRANGERS];
static int n_sent[N][EXCHANGES + 1]; /* descriptors by that PE for that exchange */
static int something;                /* a descriptor to send */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    pid_t pid = getpid(); /* names of listeners differ from those of other processes */
    fuzz_quiet();
    memcpy(secret, &pid, sizeof(pid));
    gsh_uds_key(&listeners, secret, "fdpass");
    something = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return something < 0;
}

/* The same for the same input. */
ssize_t getrandom(void *out, size_t bytes, unsigned flags)
{
    (void)flags;
    memset(out, 0x40 + (int)in.bytes % 64, bytes);
    return (ssize_t)bytes;
}

static int n_open(void)
{
    int n = 0;
    for (int fd = 0; fd < 48; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

/* One datagram with n_fds descriptors. */
static bool send_with(int fd, const void *data, size_t n, int n_fds)
{
    struct iovec io = {(void *)(uintptr_t)data, n};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
    } control = {0};
    struct msghdr header = {.msg_iov = &io, .msg_iovlen = 1};
    if (n_fds > 0) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
        for (int i = 0; i < n_fds; i++) {
            memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &something, sizeof(int));
        }
    }
    return sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

/* ---- what the others do ---- */

static void meet(void)
{
    int fd, from;
    if (links[2] < 0 && gsh_uds_accept(listener, &fd, &from) == GSH_OK && fd >= 0) {
        FUZZ_CHECK(from == ME);
        links[2] = fd;
    }
    if (links[0] >= 0 || gsh_uds_connect(&connection, &listeners, 0, ME) != GSH_OK ||
        !connection.has_sent_hello) {
        return;
    }
    is_in = false;
    if (gsh_uds_receive_answer(&connection, &listeners, &is_in) == GSH_OK && is_in) {
        links[0] = connection.fd;
        connection = (struct gsh_uds_connection){.fd = -1};
    }
}

static void say(int pe)
{
    uint8_t junk[40];
    unsigned shape = (unsigned)fuzz_take(&in, 1);
    int n_fds = shape & 1 ? (int)(shape >> 1) % (MAX_FDS + 1) : -1;
    struct gsh_fdpass_message m = {.kind = 1 + (shape >> 4) % 3, .tag = fuzz_take(&in, 1) % 4};
    if (links[pe] < 0) {
        return;
    }
    if (shape & 8) {
        size_t n = fuzz_take(&in, 1) % sizeof(junk) + 1;
        memcpy(junk, &m, sizeof(m));
        fuzz_take_bytes(&in, junk + fuzz_take(&in, 1) % 8, 8);
        memcpy(&m, junk, sizeof(m)); /* it may be a message after all */
        bool is_message = n == sizeof(m) && m.kind == GSH_FDPASS_DESCRIPTOR && m.tag <= EXCHANGES;
        if (send_with(links[pe], junk, n, n_fds > 0 ? n_fds : 0)) {
            n_sent[pe][is_message ? m.tag : 0] += is_message && n_fds > 0;
        }
        return;
    }
    m.result = m.kind == GSH_FDPASS_FAILED ? 1 + (uint32_t)fuzz_take(&in, 1) % 16 : 0;
    bool has_fd = n_fds < 0 ? m.kind == GSH_FDPASS_DESCRIPTOR : n_fds > 0;
    if (send_with(links[pe], &m, sizeof(m), n_fds < 0 ? has_fd : n_fds)) {
        n_sent[pe][m.tag] += has_fd && m.kind == GSH_FDPASS_DESCRIPTOR;
    }
}

/* PE 1 says only what is a message. */
static void listen_to_me(int pe)
{
    uint8_t data[64];
    struct gsh_fdpass_message m;
    ssize_t n = links[pe] >= 0 ? recv(links[pe], data, sizeof(data), MSG_DONTWAIT) : -1;
    if (n > 0) { /* without room for a descriptor */
        memcpy(&m, data, sizeof(m));
        FUZZ_CHECK(n == sizeof(m) && m.tag >= 1 && m.tag <= EXCHANGES);
        FUZZ_CHECK(m.kind >= GSH_FDPASS_NONE && m.kind <= GSH_FDPASS_FAILED);
    }
}

/* At PE 1's listener: a hello that is damaged, or is for another listener, or junk. */
static void strange(void)
{
    unsigned shape = (unsigned)fuzz_take(&in, 1);
    int *fd = &strangers[shape % STRANGERS];
    struct gsh_uds_connection other = {.fd = -1};
    struct sockaddr_un address;
    socklen_t bytes = sizeof(address);
    if (*fd >= 0) {
        gsh_socket_close(fd);
        return;
    }
    if (gsh_uds_connect(&other, &listeners, (int)fuzz_take(&in, 1) % 8 - 2, ME) != GSH_OK ||
        !other.has_sent_hello || shape & 128) {
        gsh_socket_close(&other.fd);
        return;
    }
    FUZZ_CHECK(getpeername(other.fd, (struct sockaddr *)&address, &bytes) == 0);
    gsh_socket_close(&other.fd);
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0 && connect(*fd, (struct sockaddr *)&address, bytes) == 0) {
        size_t n = shape & 4 ? sizeof(other.hello) : fuzz_take(&in, 1) % sizeof(other.hello);
        ((uint8_t *)&other.hello)[fuzz_take(&in, 1) % sizeof(other.hello)] ^=
            (uint8_t)(fuzz_take(&in, 1) | 1);
        (void)send_with(*fd, &other.hello, n, shape >> 4 & 3);
    }
}

static void act(void)
{
    switch (fuzz_take(&in, 1) % 8) {
    case 0:
    case 1:
        meet();
        break;
    case 2:
    case 3:
        say(0);
        break;
    case 4:
        say(2);
        break;
    case 5:
        strange();
        break;
    case 6:
        listen_to_me(0);
        listen_to_me(2);
        break;
    default:
        if (fuzz_take(&in, 1) % 8 == 0) {
            gsh_socket_close(&links[fuzz_take(&in, 1) % 2 * 2]);
        }
    }
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    static const struct timespec now;
    (void)timeout;
    if (in.bytes == 0) {
        errno = EBADF;
        return -1;
    }
    for (int i = 0; i < 4 && in.bytes > 0; i++) {
        act();
    }
    return ppoll(fds, n, &now, NULL);
}

/* ---- ---- */

static void check(enum gsh_result r, const int *ranks, int n, uint64_t tag, int *fds)
{
    FUZZ_CHECK(r == GSH_OK || r == GSH_ERR_PEER || r == GSH_ERR_SYSTEM || r == GSH_ERR_BUG ||
               r == GSH_ERR_TIMEOUT);
    for (int i = 0; i < n; i++) {
        FUZZ_CHECK(fds[i] == -1 || (r == GSH_OK && ranks[i] != ME));
        if (fds[i] >= 0) {
            FUZZ_CHECK(n_sent[ranks[i]][tag] > 0 && fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
            close(fds[i]);
        }
    }
}

/* First byte: bit 0, without PE 2; bit 1, PE 1 has nothing to send; bit 2, its listener closes
 * later. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int ranks[N] = {0, ME, 2};
    struct gsh_fdpass *f = NULL;
    int fds[N], before = n_open();
    in = (struct fuzz_input){data, bytes};
    unsigned mode = (unsigned)fuzz_take(&in, 1);
    int n = mode & 1 ? 2 : N;
    memset(n_sent, 0, sizeof(n_sent));
    memset(links, -1, sizeof(links));
    memset(strangers, -1, sizeof(strangers));
    connection = (struct gsh_uds_connection){.fd = -1};
    FUZZ_CHECK(gsh_uds_listen(&listeners, 2, &listener) == GSH_OK);
    FUZZ_CHECK(gsh_fdpass_create(secret, ME, UINT64_C(10000000000), &f) == GSH_OK);
    for (uint64_t tag = 1; tag <= EXCHANGES; tag++) {
        int my_fd = mode & 2 ? -1 : something;
        check(gsh_fdpass_exchange(f, ranks, n, tag, my_fd, fds), ranks, n, tag, fds);
        if (mode & 4) {
            gsh_fdpass_shut(f);
        }
    }
    gsh_fdpass_destroy(&f);
    gsh_uds_close(&listener);
    gsh_socket_close(&connection.fd);
    for (int i = 0; i < N; i++) {
        gsh_socket_close(&links[i]);
    }
    for (int i = 0; i < STRANGERS; i++) {
        gsh_socket_close(&strangers[i]);
    }
    FUZZ_CHECK(n_open() == before);
    return 0;
}
