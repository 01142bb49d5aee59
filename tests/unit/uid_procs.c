/* Proves that start-up by unique id works between processes over IPv4 and IPv6, that strangers and
 * damaged or used ids do no harm, and that the death of a rank ends the others with its name.
 * A process of its own makes and serves each id. The process that forks the ranks has one thread
 * only: a fork while another thread allocates would leave the thread sanitizer's locks taken.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bootstrap/socket.h"
#include "bootstrap/uid.h"
#include "bootstrap/uid_wire.h"
#include "tests/rig/bootstrap_conform.h"
#include "base/log.h"
#include "base/util.h"

static struct gsh_uid_options options = {
    .ifname = "lo", .family = "ipv4", .timeout_ns = 60 * SECOND};
static struct gsh_uid id;

/* As this program was started with. */
static struct rlimit files;

/* ---- the process that serves `id` ---- */

static struct {
    pid_t pid; /* 0: none */
    int from, to;
} server;

#define MAX_OWN 160
static int n_own = 20; /* descriptors that it opens, told to, beside those of strangers */

/* The thread that served the id closes all that it had. */
static void wait_for_thread(int n_fds)
{
    for (uint64_t end = gsh_now_ns() + 20 * SECOND; gsh_now_ns() < end;) {
        if (test_count_fds() == n_fds) {
            break;
        }
        sched_yield();
    }
    CHECK_EQ(test_count_fds(), n_fds);
}

static void serve(const struct gsh_uid_options *how, int n_spare, int from, int to)
{
    int own[MAX_OWN], n_fds = test_count_fds(), lowest = dup(0);
    struct rlimit few = files;
    struct gsh_uid_options mine = *how;
    char byte;
    close(lowest);
    few.rlim_cur = (rlim_t)(lowest + n_spare);
    CHECK(n_spare == 0 || setrlimit(RLIMIT_NOFILE, &few) == 0);
    mine.n_files = how->n_files > 0 ? how->n_files + lowest : 0;
    if (gsh_uid_create(&mine, &id) != GSH_OK) {
        memset(&id, 0, sizeof(id));
    }
    CHECK_EQ(write(to, &id, sizeof(id)), sizeof(id));
    while (read(from, &byte, 1) == 1) {
        for (int i = 0; i < n_own; i++) {
            own[i] = dup(0);
            CHECK(own[i] >= 0);
        }
        for (int i = 0; i < n_own; i++) {
            gsh_socket_close(&own[i]);
        }
        CHECK_EQ(write(to, &byte, 1), 1);
    }
    wait_for_thread(n_fds);
}

static void end_server(void)
{
    int status = -1;
    if (server.pid > 0) {
        close(server.to);
        CHECK(waitpid(server.pid, &status, 0) == server.pid && status == 0);
        close(server.from);
    }
    server.pid = 0;
}

/* n_spare: how many descriptors the process may open; 0: as many as this one. */
static bool start_server(const struct gsh_uid_options *how, int n_spare)
{
    struct gsh_uid_content content;
    int to[2], from[2];
    end_server();
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    server.pid = fork();
    if (server.pid == 0) {
        test_failed_checks = 0;
        close(to[1]);
        close(from[0]);
        serve(how, n_spare, to[0], from[1]);
        _exit(test_result());
    }
    close(to[0]);
    close(from[1]);
    server.to = to[1];
    server.from = from[0];
    CHECK_EQ(read(server.from, &id, sizeof(id)), sizeof(id));
    return gsh_uid_decode(&id, &content) == GSH_OK;
}

static bool make_id(const char *family)
{
    options.family = family;
    return start_server(&options, 0);
}

/* ---- the cases ---- */

static struct gsh_bootstrap *join(int rank, int n)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &options, &b), GSH_OK)) {
        fprintf(stderr, "%s\n", gsh_last_error());
        _exit(1);
    }
    return b;
}

static void exchange(int rank, int n, void *arg)
{
    (void)arg;
    struct gsh_bootstrap *b = join(rank, n);
    conform_exchange(b, 65537);
    b->ops->destroy(b);
}

static void exchange_little(int rank, int n, void *arg)
{
    (void)arg;
    struct gsh_bootstrap *b = join(rank, n);
    conform_allgather(b, 100, 0);
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    b->ops->destroy(b);
}

/* Seven ranks on each host, whoever brings their hellos. */
static void exchange_in_hosts(int rank, int n, void *arg)
{
    (void)arg;
    options.host = (uint64_t)(rank / 7) + 1;
    struct gsh_bootstrap *b = join(rank, n);
    CHECK_EQ(b->hosts.most, 7);
    conform_gather_host(b, 100, 0);
    b->ops->destroy(b);
}

/* The id reaches the other processes as text. */
static void exchange_by_text(int rank, int n, void *arg)
{
    memset(&id, 0, sizeof(id));
    CHECK_EQ(gsh_uid_from_text(arg, &id), GSH_OK);
    exchange(rank, n, NULL);
}

static void kill_one(int rank, int n, void *arg)
{
    struct gsh_bootstrap *b = join(rank, n);
    char all[64];
    (void)arg;
    conform_allgather(b, 8, 0);
    if (rank == 1) {
        raise(SIGKILL);
    }
    CHECK_EQ(b->ops->allgather(b, "x", 1, all), GSH_ERR_PEER);
    CHECK(strstr(gsh_last_error(), "PE 1"));
    b->ops->destroy(b);
}

/* PE 2 connects to the rendezvous, joins, and is gone before PE 1 comes. */
static void die_in_start_up(int rank, int n, void *arg)
{
    struct gsh_bootstrap *b = NULL;
    struct gsh_uid_content content;
    struct gsh_challenge challenge;
    const int *turn = arg;
    char byte;
    if (rank == 1) {
        CHECK_EQ(read(turn[0], &byte, 1), 1);
    }
    if (rank == 2) {
        struct gsh_hello hello = {.kind = GSH_HELLO_JOIN, .rank = 2, .n_ranks = (uint32_t)n};
        int fd = -1;
        CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
        CHECK_EQ(gsh_socket_connect(&content.address, 0, &fd), GSH_OK);
        CHECK_EQ(gsh_socket_recv(fd, &challenge, sizeof(challenge), 0), GSH_OK);
        gsh_hello_seal(&hello, content.secret, challenge.nonce);
        CHECK_EQ(gsh_socket_send(fd, &hello, sizeof(hello), 0), GSH_OK);
        CHECK_EQ(shutdown(fd, SHUT_WR), 0);
        /* The answer, which is the failure it caused. */
        CHECK_EQ(gsh_socket_recv(fd, &byte, 1, 0), GSH_OK);
        close(fd);
        CHECK_EQ(write(turn[1], "x", 1), 1);
        return;
    }
    CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &options, &b), GSH_ERR_PEER);
    if (!CHECK(strstr(gsh_last_error(), "PE 2"))) {
        fprintf(stderr, "PE %d: the error was: %s\n", rank, gsh_last_error());
    }
}

static void test_strangers(void)
{
    struct gsh_uid_content content;
    struct gsh_hello lie = {.kind = GSH_HELLO_JOIN, .rank = 0, .n_ranks = 4};
    struct gsh_challenge challenge;
    char garbage[4096];
    int fds[200];
    memset(garbage, 'G', sizeof(garbage));
    CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
    /* More than the listener has places for: silent ones, garbage, half a hello, a false proof. */
    for (int i = 0; i < 200; i++) {
        size_t moved;
        fds[i] = -1;
        CHECK_EQ(gsh_socket_connect(&content.address, 0, &fds[i]), GSH_OK);
        if (i % 4 == 1) {
            (void)!gsh_socket_send_some(fds[i], garbage, sizeof(garbage), &moved);
        }
        if (i % 4 == 2) {
            (void)!gsh_socket_send_some(fds[i], &lie, 20, &moved);
        }
    }
    int fd = -1;
    uint8_t wrong_secret[GSH_SHA256_BYTES] = {1};
    CHECK_EQ(gsh_socket_connect(&content.address, 0, &fd), GSH_OK);
    CHECK_EQ(gsh_socket_recv(fd, &challenge, sizeof(challenge), 0), GSH_OK);
    gsh_hello_seal(&lie, wrong_secret, challenge.nonce);
    CHECK_EQ(gsh_socket_send(fd, &lie, sizeof(lie), 0), GSH_OK);
    CHECK_EQ(gsh_socket_recv(fd, garbage, 1, 0), GSH_ERR_PEER);
    gsh_socket_close(&fd);
    conform_fork(4, exchange, NULL);
    for (int i = 0; i < 200; i++) {
        gsh_socket_close(&fds[i]);
    }
}

/* Shared by the PEs of be_silent. */
struct silence {
    uint64_t limit_ns; /* PE 3's */
    bool is_too_short; /* atomic: it has passed before PE 3 has met the others */
};

/* PE 0 of 4 joins with the id's secret, and is then silent. PE 3 has met all others, waits for PE
 * 0's answer alone, and has the shortest time limit; the others lose PE 3. */
static void be_silent(int rank, int n, void *arg)
{
    struct silence *silence = arg;
    struct gsh_bootstrap *b = NULL;
    struct gsh_uid_options mine = options;
    struct gsh_uid_content content;
    struct gsh_challenge challenge;
    struct gsh_address at = {.family = 4, .ip = {127, 0, 0, 1}};
    struct gsh_hello hello = {.kind = GSH_HELLO_JOIN, .n_ranks = (uint32_t)n};
    int fd = -1, listener = -1, links[2] = {-1, -1}, n_links = 0;
    if (rank == 3) {
        mine.timeout_ns = silence->limit_ns;
        CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &mine, &b), GSH_ERR_TIMEOUT);
        __atomic_store_n(&silence->is_too_short,
                         strstr(gsh_last_error(), "PE 0 did not answer") == NULL, __ATOMIC_RELEASE);
        return;
    }
    if (rank > 0) {
        CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &mine, &b), GSH_ERR_PEER);
        if (!CHECK(strstr(gsh_last_error(), "PE "))) {
            fprintf(stderr, "PE %d: the error was: %s\n", rank, gsh_last_error());
        }
        return;
    }
    CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
    CHECK_EQ(gsh_socket_listen(&at, &listener, &hello.address), GSH_OK);
    CHECK_EQ(gsh_socket_connect(&content.address, 0, &fd), GSH_OK);
    CHECK_EQ(gsh_socket_recv(fd, &challenge, sizeof(challenge), 0), GSH_OK);
    gsh_hello_seal(&hello, content.secret, challenge.nonce);
    CHECK_EQ(gsh_socket_send(fd, &hello, sizeof(hello), 0), GSH_OK);
    /* PE 2 and PE 3 link up with it, until they end */
    while (n_links < 2 && !__atomic_load_n(&silence->is_too_short, __ATOMIC_ACQUIRE)) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        if (poll(&p, 1, 100) == 1) {
            CHECK_EQ(gsh_socket_accept(listener, &links[n_links++]), GSH_OK);
        }
    }
    for (int i = 0; i < n_links; i++) {
        char byte;
        while (gsh_socket_recv(links[i], &byte, 1, 0) == GSH_OK) {
        }
        close(links[i]);
    }
    close(fd);
    close(listener);
}

/* On a busy machine PE 3 may have met nobody in a second: then it gets more. */
static void test_silence(void)
{
    struct silence *silence =
        mmap(NULL, sizeof(*silence), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(silence != MAP_FAILED)) {
        return;
    }
    silence->limit_ns = SECOND;
    silence->is_too_short = true;
    while (silence->is_too_short && CHECK(silence->limit_ns < 60 * SECOND)) {
        silence->is_too_short = false;
        CHECK(make_id("ipv4"));
        conform_fork(4, be_silent, silence);
        silence->limit_ns *= 4;
    }
    munmap(silence, sizeof(*silence));
}

/* The frames that PE 0 of 2 sends to PE 1, of which somebody has changed one. */
enum change { NOTHING, THE_TAG, THE_DATA, THE_NOTICE, FROM_BEFORE, N_CHANGES };

static void send_frames(int fd, const struct gsh_link_keys *keys, enum change change)
{
    struct {
        struct gsh_frame head;
        uint64_t data;
    } f = {.head = {.kind = GSH_FRAME_DATA, .call = 1, .bytes = 8}, .data = 5}, first;
    f.head.tag = gsh_frame_tag(&f.head, &f.data, 8, keys->of_client);
    first = f;
    CHECK_EQ(gsh_socket_send(fd, &f, sizeof(f), 0), GSH_OK);
    f.head.call = 2;
    f.head.kind = change == THE_NOTICE ? GSH_FRAME_NOTICE : GSH_FRAME_DATA;
    f.head.tag = gsh_frame_tag(&f.head, &f.data, 8, keys->of_client) + (change == THE_TAG);
    f.data += change == THE_DATA;
    if (change == FROM_BEFORE) {
        first.head.call = 2; /* or it is seen to be of another call */
        f = first;
    }
    CHECK_EQ(gsh_socket_send(fd, &f, sizeof(f), 0), GSH_OK);
}

/* PE 0 of 2 makes the handshakes by hand. */
static void play_first(enum change change)
{
    struct gsh_uid_content content;
    struct gsh_challenge challenge;
    struct gsh_answer answer;
    struct gsh_welcome welcome;
    struct gsh_address at = {.family = 4, .ip = {127, 0, 0, 1}};
    struct gsh_hello join = {.kind = GSH_HELLO_JOIN, .n_ranks = 2},
                     link = {.kind = GSH_HELLO_LINK, .n_ranks = 2}, theirs;
    struct gsh_link_keys keys;
    int fd = -1, listener = -1, in = -1, out = -1;
    CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
    CHECK_EQ(gsh_socket_listen(&at, &listener, &join.address), GSH_OK);
    CHECK_EQ(gsh_socket_connect(&content.address, 0, &fd), GSH_OK);
    CHECK_EQ(gsh_socket_recv(fd, &challenge, sizeof(challenge), 0), GSH_OK);
    gsh_hello_seal(&join, content.secret, challenge.nonce);
    CHECK_EQ(gsh_socket_send(fd, &join, sizeof(join), 0), GSH_OK);
    CHECK_EQ(gsh_answer_recv(fd, &join, content.secret, &answer, &welcome, 0), GSH_OK);
    close(fd);
    const struct gsh_partner partner = welcome.partners[0];
    gsh_hello_seal(&link, content.secret, partner.link);
    gsh_link_keys(&link, content.secret, &keys);
    CHECK_EQ(gsh_socket_connect(&partner.address, 0, &out), GSH_OK);
    CHECK_EQ(gsh_socket_send(out, &link, sizeof(link), 0), GSH_OK);
    struct pollfd p = {.fd = listener, .events = POLLIN};
    CHECK_EQ(poll(&p, 1, -1), 1);
    CHECK_EQ(gsh_socket_accept(listener, &in), GSH_OK);
    CHECK_EQ(gsh_socket_recv(in, &theirs, sizeof(theirs), 0), GSH_OK);
    CHECK(gsh_answer_send(in, &theirs, content.secret, GSH_OK, NULL, 0));
    CHECK_EQ(gsh_answer_recv(out, &link, content.secret, &answer, &welcome, 0), GSH_OK);
    send_frames(out, &keys, change);
    char byte;
    while (gsh_socket_recv(in, &byte, 1, 0) == GSH_OK) { /* until PE 1 ends */
    }
    close(in);
    close(out);
    close(listener);
}

static void forge(int rank, int n, void *arg)
{
    const enum change change = *(enum change *)arg;
    uint64_t mine = 6, all[2] = {0};
    if (rank == 0) {
        play_first(change);
        return;
    }
    struct gsh_bootstrap *b = join(rank, n);
    CHECK_EQ(b->ops->allgather(b, &mine, 8, all), GSH_OK);
    CHECK_EQ(all[0], 5);
    enum gsh_result r = b->ops->allgather(b, &mine, 8, all);
    CHECK_EQ(r, change == NOTHING ? GSH_OK : GSH_ERR_BUG);
    CHECK(r == GSH_OK || strstr(gsh_last_error(), "what came from PE 0 is not what it has sent"));
    b->ops->destroy(b);
}

/* A process of n idle strangers. It tells when all are connected; told to, it says whether none has
 * been sent away. */
struct strangers {
    pid_t pid;
    int from[2], to[2];
};

static void start_strangers(struct strangers *s, int n)
{
    CHECK(pipe(s->from) == 0 && pipe(s->to) == 0);
    s->pid = fork();
    if (s->pid == 0) {
        struct gsh_uid_content content;
        int *fds = calloc((size_t)n, sizeof(*fds)), n_gone = 0;
        char data[100], byte = 'x';
        test_failed_checks = 0;
        close(s->to[1]);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
        CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(gsh_socket_connect(&content.address, 0, &fds[i]), GSH_OK);
        }
        CHECK_EQ(write(s->from[1], &byte, 1), 1);
        CHECK_EQ(read(s->to[0], &byte, 1), 1);
        for (int i = 0; i < n; i++) {
            size_t moved; /* the challenge, then nothing */
            n_gone += gsh_socket_recv_some(fds[i], data, sizeof(data), &moved) != GSH_OK;
        }
        byte = n_gone == 0 ? 'n' : 's';
        CHECK_EQ(write(s->from[1], &byte, 1), 1);
        CHECK_EQ(read(s->to[0], &byte, 1), 0);
        _exit(test_result());
    }
    close(s->to[0]);
    char byte;
    CHECK_EQ(read(s->from[0], &byte, 1), 1);
}

/* 's': some have been sent away; 'n': none has. */
static char ask_strangers(struct strangers *s)
{
    char byte = 'x';
    CHECK_EQ(write(s->to[1], &byte, 1), 1);
    CHECK_EQ(read(s->from[0], &byte, 1), 1);
    return byte;
}

static void end_strangers(struct strangers *s)
{
    int status = -1;
    close(s->to[1]);
    CHECK(waitpid(s->pid, &status, 0) == s->pid && status == 0);
    close(s->from[0]);
    close(s->from[1]);
}

static void join_first(int rank, int n, void *arg)
{
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    struct gsh_bootstrap *b = join(rank, *(int *)arg);
    (void)n;
    b->ops->destroy(b);
}

/* Many strangers that say nothing: ranks come beside them, without any having to go. */
static void test_idle_strangers(void)
{
    struct strangers s;
    int notes[2], n_ranks = 2;
    int n_strangers = (int)gsh_min_u64(400, files.rlim_cur / 16);
    struct gsh_uid_options noting = options;
    CHECK_EQ(pipe(notes), 0);
    noting.notes_to = notes[1];
    CHECK(start_server(&noting, 0));
    start_strangers(&s, n_strangers);
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        join_first(0, 1, &n_ranks);
        _exit(test_result());
    }
    int32_t note = -1;
    CHECK_EQ(read(notes[0], &note, sizeof(note)), sizeof(note));
    CHECK_EQ(note, 0); /* it has come, behind all strangers */
    CHECK_EQ(ask_strangers(&s), 'n');
    join_first(1, 1, &n_ranks);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    end_strangers(&s);
    close(notes[0]);
    close(notes[1]);
}

/* Strangers take all descriptors of the process that serves: they go, and the job starts. */
static void test_no_descriptors(void)
{
    struct strangers s;
    int n_ranks = 2;
    CHECK(start_server(&options, 30));
    start_strangers(&s, 35);
    conform_fork(n_ranks, join_first, &n_ranks);
    CHECK_EQ(ask_strangers(&s), 's');
    end_strangers(&s);
}

/* More strangers than the listener has places for: ranks come, and the process that serves keeps
 * most of its descriptors for itself; n_files: or as many as it has said that it needs. */
static void test_few_places(int own, int n_files)
{
    struct strangers s;
    int notes[2], n_ranks = 2, status = -1;
    char byte = 'x';
    struct gsh_uid_options noting = options;
    CHECK_EQ(pipe(notes), 0);
    noting.notes_to = notes[1];
    noting.n_files = n_files;
    n_own = own;
    CHECK(start_server(&noting, own + (n_files > 0 ? 16 : 20)));
    start_strangers(&s, 30);
    pid_t child = fork();
    if (child == 0) {
        test_failed_checks = 0;
        join_first(0, 1, &n_ranks);
        _exit(test_result());
    }
    int32_t note = -1;
    CHECK_EQ(read(notes[0], &note, sizeof(note)), sizeof(note));
    CHECK_EQ(note, 0); /* it has come, behind all strangers, and PE 1 has not */
    CHECK_EQ(write(server.to, &byte, 1), 1); /* it has n_own more */
    CHECK_EQ(read(server.from, &byte, 1), 1);
    join_first(1, 1, &n_ranks);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ(ask_strangers(&s), 's');
    end_strangers(&s);
    close(notes[0]);
    close(notes[1]);
}

static void expect_refusal(const struct gsh_uid *wrong, enum gsh_result expected, const char *text)
{
    struct gsh_bootstrap *b = NULL;
    CHECK_EQ(gsh_bootstrap_uid_create(wrong, 0, 1, &options, &b), expected);
    if (!CHECK(strstr(gsh_last_error(), text))) {
        fprintf(stderr, "the error was: %s\n", gsh_last_error());
    }
}

/* PE 3 is a relay, since it comes first. PE `dying`, this one or one that it has brought,
 * ends while all wait for PE 17; each learns which one it was, and so does PE 17, which comes then.
 */
static void lose_one(int rank, int n, void *arg)
{
    struct gsh_bootstrap *b = NULL;
    const int *dying = arg;
    char text[64];
    snprintf(text, sizeof(text), "PE %d ended during start-up", *dying);
    CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &options, &b), GSH_ERR_PEER);
    if (!CHECK(strstr(gsh_last_error(), text))) {
        fprintf(stderr, "PE %d: the error was: %s\n", rank, gsh_last_error());
    }
}

static void test_lost_by_relay(int dying)
{
    enum { N = 18, FIRST = 3 };
    pid_t children[N];
    int notes[2];
    int32_t note;
    struct gsh_uid_options noting = options;
    CHECK_EQ(pipe(notes), 0);
    noting.notes_to = notes[1];
    CHECK(start_server(&noting, 0));
    for (int i = 0; i < N; i++) {
        /* the first, then the others below 17, then that one */
        const int rank = i == 0 ? FIRST : i <= FIRST ? i - 1 : i;
        if (rank == N - 1) {
            for (int k = 1; k < N - 1; k++) {
                CHECK_EQ(read(notes[0], &note, sizeof(note)), sizeof(note));
                CHECK(note >= 0 && note < N - 1 && note != FIRST);
            }
            CHECK_EQ(kill(children[dying], SIGKILL), 0);
            CHECK_EQ(read(notes[0], &note, sizeof(note)), sizeof(note));
            CHECK_EQ(note, GSH_UID_NONE_WAITS);
        }
        children[rank] = fork();
        if (children[rank] == 0) {
            test_failed_checks = 0;
            lose_one(rank, N, &dying);
            _exit(test_result());
        }
        if (i == 0) {
            CHECK_EQ(read(notes[0], &note, sizeof(note)), sizeof(note));
            CHECK_EQ(note, FIRST);
        }
    }
    test_join_processes(N, children);
    end_server();
    close(notes[0]);
    close(notes[1]);
}

/* So many descriptors that 40 ranks need relays, and their strangers get places, too. */
static void test_relays(void)
{
    options.most_direct = 1;
    CHECK(start_server(&options, 24));
    conform_fork(40, exchange_little, NULL);
    CHECK(start_server(&options, 0));
    conform_fork(40, exchange_in_hosts, NULL);
    CHECK(start_server(&options, 0));
    conform_fork(2, exchange, NULL);
    test_lost_by_relay(5);
    test_lost_by_relay(3);
    options.most_direct = 0;
}

static void test_bad_ids(void)
{
    struct gsh_uid bad = id, out;
    struct gsh_uid_content content;
    char text[2 * GSH_UID_BYTES + 1];
    /* Used before. */
    expect_refusal(&id, GSH_ERR_PEER, "nobody serves");
    bad.bytes[40] ^= 1;
    expect_refusal(&bad, GSH_ERR_ARG, "damaged");
    memset(&bad, 0, sizeof(bad));
    expect_refusal(&bad, GSH_ERR_ARG, "not a unique id: it was made by no call of this library");
    gsh_uid_to_text(&id, text);
    text[5] = 'x';
    CHECK_EQ(gsh_uid_from_text(text, &out), GSH_ERR_ARG);
    text[100] = '\0';
    CHECK_EQ(gsh_uid_from_text(text, &out), GSH_ERR_ARG);
    CHECK_EQ(gsh_uid_from_text("", &out), GSH_ERR_ARG);
    /* A well-formed id that leads to a rendezvous with another secret. */
    CHECK(start_server(&options, 0));
    CHECK_EQ(gsh_uid_decode(&id, &content), GSH_OK);
    CHECK_EQ(gsh_uid_encode(&content.address, &bad), GSH_OK);
    expect_refusal(&bad, GSH_ERR_PEER, "does not accept this unique id");
    exchange(0, 1, NULL);
}

/* A rendezvous whose version is another sends a magic that says so, and what this one does not
 * know. */
static void test_other_version(void)
{
    static const uint8_t greeting[9] = "gshmhs\0\7?", stranger[9] = "HTTP/1.1 ";
    struct gsh_address at = {.family = 4, .ip = {127, 0, 0, 1}}, bound;
    struct gsh_uid wrong;
    int listener = -1, fd = -1, status = -1;
    size_t moved;
    CHECK_EQ(gsh_socket_listen(&at, &listener, &bound), GSH_OK);
    CHECK_EQ(gsh_uid_encode(&bound, &wrong), GSH_OK);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct pollfd p = {.fd = listener, .events = POLLIN};
            bool is_well =
                poll(&p, 1, 60000) == 1 && gsh_socket_accept(listener, &fd) == GSH_OK &&
                gsh_socket_send_some(fd, i == 0 ? greeting : stranger, 9, &moved) == GSH_OK;
            /* until the other side leaves */
            p.fd = fd;
            _exit(is_well && poll(&p, 1, 60000) == 1 ? 0 : 1);
        }
        expect_refusal(&wrong, GSH_ERR_ARG,
                       i == 0 ? "runs another version of gshmem (start-up 7) than this PE (6)"
                              : "is no rendezvous of gshmem");
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    gsh_socket_close(&listener);
}

/* A rendezvous that has the secret, and tells the only rank of unlikely hosts. */
static void test_bad_welcome(uint32_t host_ranks, uint32_t dealt_ranks, int n_runs,
                             struct gsh_host_run run)
{
    struct gsh_address at = {.family = 4, .ip = {127, 0, 0, 1}}, bound;
    struct gsh_uid_content content;
    struct gsh_challenge challenge = {.nonce = "fresh"};
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD] = {0};
    const size_t welcome_bytes = gsh_welcome_bytes(0);
    char expected[64];
    struct gsh_hello hello;
    struct gsh_uid its;
    int listener = -1, fd = -1, status = -1;
    memcpy(payload, &host_ranks, sizeof(host_ranks));
    memcpy(payload + sizeof(host_ranks), &dealt_ranks, sizeof(dealt_ranks));
    memcpy(payload + welcome_bytes, &run, sizeof(run));
    gsh_magic(challenge.magic);
    CHECK_EQ(gsh_socket_listen(&at, &listener, &bound), GSH_OK);
    CHECK_EQ(gsh_uid_encode(&bound, &its), GSH_OK);
    CHECK_EQ(gsh_uid_decode(&its, &content), GSH_OK);
    pid_t child = fork();
    if (child == 0) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        bool is_well = poll(&p, 1, 60000) == 1 && gsh_socket_accept(listener, &fd) == GSH_OK &&
                       gsh_socket_send(fd, &challenge, sizeof(challenge), 0) == GSH_OK &&
                       gsh_socket_recv(fd, &hello, sizeof(hello), 0) == GSH_OK &&
                       gsh_answer_send(fd, &hello, content.secret, GSH_OK, payload,
                                       welcome_bytes + (size_t)n_runs * sizeof(run));
        p.fd = fd; /* until the other side leaves */
        _exit(is_well && poll(&p, 1, 60000) == 1 ? 0 : 1);
    }
    snprintf(expected, sizeof(expected), "an answer with %u of 1 PEs on each host", host_ranks);
    expect_refusal(&its, GSH_ERR_BUG, expected);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    gsh_socket_close(&listener);
}

int main(void)
{
    char text[2 * GSH_UID_BYTES + 1];
    int turn[2];
    alarm(600);
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (make_id("ipv6")) {
        conform_fork(4, exchange, NULL);
    } else {
        printf("no IPv6 here: left out\n");
    }
    CHECK(make_id("ipv4"));
    gsh_uid_to_text(&id, text);
    conform_fork(7, exchange_by_text, text);
    CHECK(make_id("any"));
    conform_fork(6, kill_one, NULL);
    CHECK(make_id("ipv4"));
    CHECK_EQ(pipe(turn), 0);
    conform_fork(3, die_in_start_up, turn);
    test_silence();
    for (enum change change = NOTHING; change < N_CHANGES; change++) {
        CHECK(make_id("ipv4"));
        conform_fork(2, forge, &change);
    }
    test_idle_strangers();
    test_no_descriptors();
    test_few_places(20, 0);
    test_few_places(MAX_OWN, MAX_OWN + 8);
    CHECK(make_id("ipv4"));
    test_strangers();
    test_relays();
    test_bad_ids();
    test_other_version();
    test_bad_welcome(2, 0, 0, (struct gsh_host_run){0, 0});
    test_bad_welcome(1, 0, 1, (struct gsh_host_run){1, 2});
    test_bad_welcome(1, 0, 1, (struct gsh_host_run){2, 1});
    test_bad_welcome(1, 0, 1, (struct gsh_host_run){1, 0});
    test_bad_welcome(0, 0, 1, (struct gsh_host_run){1, 1});
    test_bad_welcome(1, 0, 2, (struct gsh_host_run){1, 1}); /* the second is all zeros */
    test_bad_welcome(0, 1, 0, (struct gsh_host_run){0, 0});
    test_bad_welcome(1, 1, 0, (struct gsh_host_run){0, 0});
    test_bad_welcome(1, 1, 1, (struct gsh_host_run){0, 1});
    test_bad_welcome(1, 1, 1, (struct gsh_host_run){2, 1});
    test_bad_welcome(1, 1, 1, (struct gsh_host_run){UINT32_MAX, 1});
    test_bad_welcome(1, UINT32_MAX, 1, (struct gsh_host_run){1, 1});
    test_bad_welcome(1, 1, 2, (struct gsh_host_run){1, 1});
    end_server();
    return test_result();
}
