/* SPDX-License-Identifier: Apache-2.0
 * Proves that a rank which reads what another has in a window, as that one's word says, bounds the
 * word: a place beyond the heap, one that ends there, or one before its beginning ends the job with
 * a line. Two ranks on the CPU device, of which one's word is wrong; each case is a process. */
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dialects/nccl/comm/comm.h"
#include "runtime/instance/instance.h"
#include "runtime/layer.h"
#include "tests/test.h"

enum { N = 2, BYTES = 1 << 20 };

static void need(ncclResult_t r, const char *what)
{
    if (r != ncclSuccess) {
        fprintf(stderr, "%s: %s\n", what, ncclGetLastError(NULL));
        exit(2);
    }
}
#define NEED(call) need((call), #call)

/* A case; the place lies so many bytes before the heap's end, or before its beginning. */
struct play {
    bool is_send, is_before;
    uint64_t back;
};

/* Each rank is a thread. */
struct part {
    const struct play *play;
    ncclUniqueId id;
    int rank;
    pthread_barrier_t *both;
};

static void await(ncclComm_t comm)
{
    struct gshmemx_layer_scope scope;
    gshmemx_layer_enter(comm->job->pe, comm->job->device, &scope);
    gshmemx_layer_synchronize();
    gshmemx_layer_leave(&scope);
}

/* Rank 0's source lies in its window, and nothing else in any. */
static void move(const struct part *p, ncclComm_t comm, const char *source, char *dest)
{
    if (!p->play->is_send) {
        NEED(ncclBroadcast(source, dest, BYTES, ncclUint8, 0, comm, NULL));
    } else if (p->rank == 0) {
        NEED(ncclSend(source, BYTES, ncclUint8, 1, comm, NULL));
    } else {
        NEED(ncclRecv(dest, BYTES, ncclUint8, 0, comm, NULL));
    }
    await(comm);
}

static void *run(void *arg)
{
    const struct part *p = arg;
    const struct play *play = p->play;
    ncclComm_t comm;
    ncclWindow_t window;
    void *in;
    char *const dest = malloc(BYTES);
    NEED(ncclCommInitRank(&comm, N, p->id, p->rank));
    NEED(ncclMemAlloc(&in, BYTES));
    memset(in, 7, BYTES);
    NEED(ncclCommWindowRegister(comm, in, BYTES, &window, NCCL_WIN_COLL_SYMMETRIC));
    const char *const source = p->rank == 0 ? in : dest;
    move(p, comm, source, dest); /* the truth is taken */
    if (p->rank == 1 && (dest[0] != 7 || dest[BYTES - 1] != 7)) {
        _exit(3);
    }
    if (p->rank == 0) { /* from here on it says that what its window has is elsewhere */
        const struct gsh_instance *pe = comm->job->pe;
        const uint64_t off = (play->is_before ? 0 : pe->state.stride) - play->back;
        comm->windows->buffer = (char *)(uintptr_t)(pe->state.base + off);
    }
    move(p, comm, source, dest);
    pthread_barrier_wait(p->both);
    _exit(4); /* it has been believed */
}

static void play(const struct play *play)
{
    pthread_t threads[N];
    pthread_barrier_t both;
    struct part parts[N];
    ncclUniqueId id;
    setenv("GSHMEM_DEVICE", "cpu", 1);
    setenv("GSHMEM_COLLECTIVES", "read_above=0", 1);
    NEED(ncclGetUniqueId(&id));
    pthread_barrier_init(&both, NULL, N);
    for (int i = 0; i < N; i++) {
        parts[i] = (struct part){.play = play, .id = id, .rank = i, .both = &both};
        pthread_create(&threads[i], NULL, run, &parts[i]);
    }
    pthread_join(threads[0], NULL);
}

static void test(bool is_send, bool is_before, uint64_t back)
{
    const struct play scene = {is_send, is_before, back};
    char text[4096] = "";
    size_t n = 0;
    int fds[2], status = 0;
    ssize_t got;
    CHECK_EQ(pipe(fds), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        alarm(60);
        play(&scene);
    }
    close(fds[1]);
    while (n < sizeof(text) - 1 && (got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(fds[0]);
    waitpid(child, &status, 0);
    const bool is_told = strstr(text, "PE 0 says that ") != NULL;
    if (!CHECK(is_told && WIFEXITED(status) && WEXITSTATUS(status) == 1)) {
        fprintf(stderr, "%s, %s%llu: status 0x%x:\n%s", is_send ? "send" : "broadcast",
                is_before ? "before the heap, " : "", (unsigned long long)back, (unsigned)status,
                text);
    }
}

int main(void)
{
    for (int is_send = 0; is_send < 2; is_send++) {
        test(is_send != 0, false, 0);
        test(is_send != 0, false, BYTES - 4096); /* it begins inside */
        test(is_send != 0, true, 4096);
    }
    return test_result();
}
