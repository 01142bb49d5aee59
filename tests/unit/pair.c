/* SPDX-License-Identifier: Apache-2.0
 * Two processes that are in no job together: messages by tcp_link.h, and memory by range.h, with
 * true keys and with others; each notices that the other has ended or closed. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/pages.h"
#include "bootstrap/tcp_link.h"
#include "heap/range.h"
#include "heap/registrable.h"
#include "tests/test.h"

#define LIMIT_NS UINT64_C(30000000000)

static const struct gsh_memory_options options = {.n_slots = 1};

/* ---- messages, within one process ---- */

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_messages, n_lost;
    uint32_t from;
};

static bool receive(void *context, struct gsh_tcp_link *link, const void *data, size_t bytes)
{
    struct seen *s = context;
    pthread_mutex_lock(&s->lock);
    s->n_messages++;
    s->from = gsh_tcp_link_from(link);
    pthread_mutex_unlock(&s->lock);
    if (bytes == 1) {
        return false; /* what the entry does not take */
    }
    uint64_t sum[8] = {bytes};
    for (size_t i = 0; i < bytes; i++) {
        sum[1] += ((const uint8_t *)data)[i];
    }
    return gsh_tcp_link_send(link, sum, sizeof(sum), NULL, 0, LIMIT_NS) == GSH_OK;
}

static void lost(void *context, struct gsh_tcp_link *link)
{
    struct seen *s = context;
    (void)link;
    pthread_mutex_lock(&s->lock);
    s->n_lost++;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void await_losses(struct seen *s, int n)
{
    pthread_mutex_lock(&s->lock);
    while (s->n_lost < n) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void check_message(struct gsh_tcp_link *link, size_t bytes)
{
    static uint8_t data[GSH_TCP_LINK_MAX_BYTES];
    uint64_t sum[8];
    size_t got = 0;
    memset(data, 3, sizeof(data));
    CHECK_EQ(gsh_tcp_link_send(link, data, 64, data, bytes - 64, LIMIT_NS), GSH_OK);
    CHECK_EQ(gsh_tcp_link_receive(link, sum, sizeof(sum), &got, LIMIT_NS), GSH_OK);
    CHECK_EQ(got, sizeof(sum));
    CHECK_EQ(sum[0], bytes);
    CHECK_EQ(sum[1], 3 * bytes);
}

static void test_messages(void)
{
    static const struct gsh_tcp_entry_calls calls = {receive, lost};
    struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct gsh_tcp_entry *entry = NULL, *other = NULL;
    struct gsh_tcp_link *link = NULL, *second = NULL, *none = NULL;
    struct gsh_tcp_link_key key, other_key, wrong;
    uint8_t byte = 0;
    size_t got;
    CHECK_EQ(gsh_tcp_entry_open("lo", "ipv4", &calls, &s, &entry, &key), GSH_OK);
    CHECK_EQ(gsh_tcp_entry_open("lo", "ipv4", &calls, &s, &other, &other_key), GSH_OK);
    CHECK(key.number != other_key.number);
    CHECK_EQ(gsh_tcp_link_connect(&key, 77, LIMIT_NS, &link), GSH_OK);
    CHECK_EQ(gsh_tcp_link_connect(&key, 78, LIMIT_NS, &second), GSH_OK);
    check_message(link, 64);
    check_message(link, 65);
    check_message(link, GSH_TCP_LINK_MAX_BYTES);
    CHECK_EQ(s.from, 77);
    check_message(second, 1000);
    CHECK_EQ(s.from, 78);
    CHECK(!gsh_tcp_link_is_lost(link));
    /* nothing has come: the link lives on */
    CHECK(!gsh_tcp_link_has_message(link));
    CHECK_EQ(gsh_tcp_link_receive(link, &byte, 1, &got, 1), GSH_ERR_TIMEOUT);
    check_message(link, 64);
    /* one that the entry does not take ends this link alone */
    CHECK_EQ(gsh_tcp_link_send(link, &byte, 1, NULL, 0, LIMIT_NS), GSH_OK);
    await_losses(&s, 1);
    CHECK_EQ(gsh_tcp_link_receive(link, &byte, 1, &got, LIMIT_NS), GSH_ERR_PEER);
    CHECK(gsh_tcp_link_is_lost(link));
    CHECK(!gsh_tcp_link_is_lost(second));
    gsh_tcp_link_close(&second);
    await_losses(&s, 2);

    wrong = key;
    wrong.secret[31] ^= 1;
    CHECK_EQ(gsh_tcp_link_connect(&wrong, 1, LIMIT_NS, &none), GSH_ERR_PEER);
    wrong = key;
    wrong.number = 1000;
    CHECK_EQ(gsh_tcp_link_connect(&wrong, 1, LIMIT_NS, &none), GSH_ERR_PEER);
    wrong = key;
    wrong.magic[0]++;
    CHECK_EQ(gsh_tcp_link_connect(&wrong, 1, LIMIT_NS, &none), GSH_ERR_ARG);
    CHECK(!gsh_tcp_link_is_key(&key, sizeof(key) - 1, &wrong));

    CHECK_EQ(gsh_tcp_link_connect(&other_key, 1, LIMIT_NS, &second), GSH_OK);
    gsh_tcp_entry_close(&other);
    CHECK_EQ(s.n_lost, 3);
    CHECK(gsh_tcp_link_is_lost(second));
    CHECK_EQ(gsh_tcp_link_connect(&other_key, 1, LIMIT_NS, &none), GSH_ERR_PEER);
    gsh_tcp_link_close(&link);
    gsh_tcp_link_close(&second);
    gsh_tcp_entry_close(&entry);
}

/* ---- memory, of two processes ---- */

enum { N_RANGES = 4 };

struct told {
    struct gsh_range_key process, keys[N_RANGES];
};

static void tell(int fd, const void *data, size_t bytes)
{
    CHECK_EQ(write(fd, data, bytes), bytes);
}

static void await(int fd, void *data, size_t bytes)
{
    CHECK_EQ(read(fd, data, bytes), bytes);
}

static enum gsh_result try_to_open(const struct gsh_range_key *key)
{
    struct gsh_opened_range *opened = NULL;
    void *ptr;
    enum gsh_result r = gsh_range_open(&gsh_memory_host, &options, key, LIMIT_NS, &opened, &ptr);
    gsh_range_close(&opened);
    return r;
}

/* The child: adds 1 to the first and last byte of each. */
static int open_all(int in, int out)
{
    struct told told;
    struct gsh_opened_range *opened[N_RANGES] = {NULL};
    char step = 0;
    int watch = -1;
    await(in, &told, sizeof(told));
    for (int i = 0; i < N_RANGES; i++) {
        void *ptr = NULL;
        CHECK_EQ(
            gsh_range_open(&gsh_memory_host, &options, &told.keys[i], LIMIT_NS, &opened[i], &ptr),
            GSH_OK);
        char *bytes = ptr;
        bytes[0]++;
        bytes[told.keys[i].bytes - 1]++;
    }
    struct gsh_range_key wrong = told.keys[0];
    wrong.bytes = UINT64_C(1) << 40;
    CHECK_EQ(try_to_open(&wrong), GSH_ERR_ARG);
    wrong = told.keys[0];
    wrong.at = UINT64_MAX;
    CHECK_EQ(try_to_open(&wrong), GSH_ERR_ARG);
    wrong = told.keys[0];
    wrong.secret[0]++;
    CHECK_EQ(try_to_open(&wrong), GSH_ERR_PEER);
    wrong = told.keys[0];
    wrong.number = 99;
    CHECK_EQ(try_to_open(&wrong), GSH_ERR_PEER);
    CHECK_EQ(try_to_open(&told.process), GSH_ERR_ARG);
    tell(out, &step, 1);
    await(in, &step, 1); /* all are released now */
    CHECK_EQ(try_to_open(&told.keys[0]), GSH_ERR_PEER);
    for (int i = 0; i < N_RANGES; i++) {
        gsh_range_close(&opened[i]);
    }
    CHECK_EQ(gsh_range_watch(&told.process, LIMIT_NS, &watch), GSH_OK);
    struct pollfd p = {.fd = watch, .events = POLLIN};
    CHECK_EQ(poll(&p, 1, 0), 0);
    CHECK_EQ(gsh_range_process_key(&told.process), GSH_OK);
    tell(out, &told.process, sizeof(told.process));
    await(in, &step, 1); /* the parent watches this process, which ends */
    return test_result();
}

static void test_memory(int in, int out, pid_t child)
{
    const uint64_t page = gsh_page_size();
    void *made = NULL,
         *shared = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *own = shared;
    struct told told = {0};
    struct gsh_range *ranges[N_RANGES] = {NULL};
    char step = 0;
    int watch = -1;
    CHECK_EQ(gsh_registrable_alloc(&gsh_memory_host, &options, 2 * page, &made), GSH_OK);
    /* the second begins within a page of the first, and ends behind it */
    const struct {
        char *ptr;
        uint64_t bytes;
    } of[N_RANGES] = {
        {own + 100, page}, {own + page + 200, 50}, {own + page + 300, page}, {made, 7}};
    memset(own, 5, 3 * page);
    CHECK_EQ(gsh_range_process_key(&told.process), GSH_OK);
    for (int i = 0; i < N_RANGES; i++) {
        CHECK_EQ(gsh_range_export(&gsh_memory_host, &options, of[i].ptr, of[i].bytes, &ranges[i],
                                  &told.keys[i]),
                 GSH_OK);
        of[i].ptr[0] = 20;
        of[i].ptr[of[i].bytes - 1] = 30;
    }
    struct gsh_range *none = NULL;
    struct gsh_range_key no_key;
    CHECK_EQ(gsh_range_export(&gsh_memory_host, &options, NULL, 5, &none, &no_key), GSH_ERR_ARG);
    CHECK_EQ(gsh_range_export(&gsh_memory_host, &options, own, 0, &none, &no_key), GSH_ERR_ARG);
    CHECK_EQ(gsh_range_export(&gsh_memory_host, &options, own, UINT64_MAX, &none, &no_key),
             GSH_ERR_ARG);
    CHECK_EQ(gsh_range_export(&gsh_memory_host, &options, &step, 1, &none, &no_key),
             GSH_ERR_UNSUPPORTED); /* the stack */
    /* in its own process it is the memory itself */
    struct gsh_opened_range *opened = NULL;
    void *ptr = NULL;
    CHECK_EQ(gsh_range_open(&gsh_memory_host, &options, &told.keys[1], LIMIT_NS, &opened, &ptr),
             GSH_OK);
    CHECK(ptr == of[1].ptr);
    gsh_range_close(&opened);

    tell(out, &told, sizeof(told));
    await(in, &step, 1);
    for (int i = 0; i < N_RANGES; i++) {
        CHECK_EQ(of[i].ptr[0], 21);
        CHECK_EQ(of[i].ptr[of[i].bytes - 1], 31);
        gsh_range_release(&ranges[i]);
    }
    CHECK_EQ(own[0], 5);
    CHECK_EQ(own[3 * page - 1], 5);
    own[100] = 77; /* private again */
    tell(out, &step, 1);
    await(in, &told.process, sizeof(told.process));
    CHECK_EQ(gsh_range_watch(&told.process, LIMIT_NS, &watch), GSH_OK);
    tell(out, &step, 1);
    struct pollfd p = {.fd = watch, .events = POLLRDHUP};
    CHECK_EQ(poll(&p, 1, 30000), 1);
    int status = 1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    close(watch);
    CHECK_EQ(gsh_range_watch(&told.process, LIMIT_NS, &watch), GSH_ERR_PEER);
    CHECK_EQ(gsh_registrable_free(made), GSH_OK);
    munmap(own, 3 * page);
}

int main(void)
{
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        return open_all(to_child[0], to_parent[1]);
    }
    close(to_parent[1]);
    test_memory(to_parent[0], to_child[1], child);
    test_messages();
    return test_result();
}
