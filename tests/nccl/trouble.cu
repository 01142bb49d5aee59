/* SPDX-License-Identifier: Apache-2.0
 * What trouble.py makes go wrong: PROGRAM N WAIT HOW COUNT, with N ranks, each a process, and COUNT
 * numbers in collectives. The last rank dies while the others call WAIT repeatedly (dead; forked:
 * and leaves a forked child, which lives until the others have noticed), which then go on without
 * it (shrunk; many: of many communicators), or it ends early (exits), or all do, each as
 * soon as its own part of a call is done (done), or it dies in the end (ending), or when a shrink
 * has left it out (left, killed); or it stays away (absent); or they wait, and
 * give up: all of them, by another thread (abort), or rank 0 alone (lone; parted: while the others
 * end the communicator), or one alone before the last one comes (quit); or rank 0 makes a call
 * more than the others, or all do but the last one, and they end the communicator (ahead; most); or
 * all of them without the last one's help (revoke, shrink), to go on without it; or they give up a
 * communicator that the last one does not help to make (making). Or a receive is longer than what
 * is sent (lengths), or rank 0 makes a different call (differs; ends: so that a checking build ends
 * the job). Or a kernel of rank 0 names what is not there (bounds). Or rank 0 may open few files
 * (few). GSHMEM_NODE_PES makes so many ranks a node.
 *
 * Prints how each rank ended, and how long after the trouble began all had ended. */
#include "tests/nccl/trouble_waits.cuh"
#include <algorithm>

/* Until the others' job ends this process, too, or, if the network has been faster, is lost. */
static void await_end()
{
    ncclResult_t error = ncclSuccess;
    while (error != ncclRemoteError) {
        usleep(10000);
        OK(ncclCommGetAsyncError(comm, &error));
    }
    exit(1);
}

/* As a loader of data, which outlives its parent. */
static void leave_child()
{
    if (fork() == 0) {
        alarm(600); /* if they do not notice */
        await_count(&words->n_given_up, n_ranks - 1);
        _exit(0);
    }
}

/* Calls until the last rank is known to be dead, in the middle of one. */
static void call_until_lost()
{
    pthread_barrier_wait(ready); /* none of them is still being told that the others have come */
    for (uint64_t round = 1; !is_lost; round++) {
        ncclResult_t error = ncclSuccess;
        call(round);
        if (my_rank == n_ranks - 1 && (round == 2 || is(wait_kind, "counter"))) {
            words->since = now();
            if (is(how, "forked"))
                leave_child();
            raise(SIGKILL); /* the call is under way */
        }
        CUDA_OK(cudaStreamSynchronize(0));
        OK(ncclCommGetAsyncError(comm, &error));
        DONE(error);
    }
    int n = 0;
    CHECK_EQ(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, comm, 0), ncclRemoteError);
    CHECK_EQ(ncclCommSplit(comm, 0, 0, &comm, NULL), ncclRemoteError);
    OK(ncclCommCount(comm, &n));
    CHECK_EQ(n, n_ranks);
}

static void check_new_one();

/* The others give up what they had with it. */
static void die_in_calls()
{
    call_until_lost();
    __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
    if (my_rank % 2 == 0)
        OK(ncclCommAbort(comm));
    else
        OK(ncclCommDestroy(comm));
    check_new_one();
}

/* A rank that does not arrive just waits for the others' end. */
static bool stays_away()
{
    return my_rank == n_ranks - 1 && !is(wait_kind, "counter");
}

static void check_aborted()
{
    int n = 0;
    ncclResult_t error = ncclSuccess;
    CHECK_EQ(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, comm, 0), ncclInvalidArgument);
    CHECK_EQ(ncclCommCount(comm, &n), ncclInvalidArgument);
    CHECK_EQ(ncclCommGetAsyncError(comm, &error), ncclInvalidArgument);
    CHECK_EQ(ncclCommAbort(comm), ncclInvalidArgument);
}

/* Communicators by new ids are independent of the old one. */
static void check_new_one()
{
    ncclComm_t own = NULL;
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&own, 1, id, 0));
    OK(ncclAllReduce(source, source, 1, ncclInt, ncclSum, own, 0));
    CUDA_OK(cudaStreamSynchronize(0));
    OK(ncclCommDestroy(own));
}

static void abort_in_wait()
{
    ncclComm_t part = NULL;
    int rank = -1;
    OK(ncclCommSplit(comm, 0, my_rank, &part, NULL));
    pthread_barrier_wait(ready); /* none of them is still in that call */
    if (!stays_away()) {
        call(1);
        std::thread other([] {
            usleep(100000);
            OK(ncclCommAbort(comm));
        });
        CUDA_OK(cudaStreamSynchronize(0));
        other.join();
        check_aborted();
        /* one of the same id has been given up with it */
        ncclResult_t error = ncclSuccess;
        OK(ncclCommUserRank(part, &rank));
        CHECK_EQ(rank, my_rank);
        OK(ncclCommGetAsyncError(part, &error));
        CHECK_EQ(error, ncclInvalidUsage);
        CHECK_EQ(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, part, 0), ncclInvalidUsage);
        OK(ncclCommDestroy(part));
        check_new_one();
    } else {
        await_count(&words->n_given_up, n_ranks - 1);
        OK(ncclCommAbort(comm));
    }
    give_up_together();
}

/* Rank 0 alone gives up and finishes; the others wait for it until it has. */
static void abort_alone()
{
    ncclResult_t error = ncclSuccess;
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    if (my_rank > 0) {
        call(2);
        CUDA_OK(cudaStreamSynchronize(0));
        OK(ncclCommGetAsyncError(comm, &error));
        CHECK_EQ(error, ncclRemoteError);
        OK(ncclCommDestroy(comm));
        return;
    }
    usleep(100000);
    OK(ncclCommAbort(comm));
    words->since = now();
}

/* Rank 0 gives up; the others end the communicator, before or after that, and go on. */
static void end_without()
{
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    if (my_rank == 0) {
        usleep(100000); /* others likely wait for it now; nothing depends on it */
        words->since = now();
        OK(ncclCommAbort(comm));
        __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
        await_count(&words->n_ended, n_ranks - 1);
        return;
    }
    if (my_rank == n_ranks - 1)
        await_count(&words->n_given_up, 1);
    if (my_rank == 1)
        OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    check_new_one();
}

/* Rank 0 makes a call that no other rank makes, or that all but the last one make. All end the
 * communicator, and go on. */
static void end_ahead()
{
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    words->since = now();
    if (my_rank == 0 || (is(how, "most") && my_rank < n_ranks - 1))
        call(2);
    if (my_rank % 2 == 0)
        OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    pthread_barrier_wait(ready); /* an earlier exit would end another one's calls as a death does */
    CUDA_OK(cudaStreamSynchronize(0));
    check_new_one();
}

/* What a call of quit_in_wait leaves in element i of its result. */
static int result_of(int i)
{
    const char *w = wait_kind;
    const int all = n_ranks * (n_ranks + 1) / 2;
    const bool adds = is(w, "allreduce") || is(w, "reducescatter");
    return adds                ? all
           : is(w, "alltoall") ? i / (int)count + 1
                               : (my_rank + n_ranks - 1) % n_ranks + 1;
}

static void check_result()
{
    const size_t n = is(wait_kind, "alltoall") ? count * n_ranks : count;
    std::vector<int> seen(n);
    CUDA_OK(cudaMemcpy(seen.data(), is(wait_kind, "putsignal") ? source : dest, n * sizeof(int),
                       cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n && CHECK_EQ(seen[i], result_of((int)i)); i++)
        continue;
}

/* Calls are made on all ranks; the last one comes later. A rank that waits for it in the first call
 * gives up, with the second behind that in its stream. So it never makes the second one, and others
 * that need it there wait until their limit ends the job. If they need no more of it in the first
 * one, that may end, with the right result. */
static void quit_in_wait()
{
    const bool is_ring = is(wait_kind, "sendrecv") || is(wait_kind, "putsignal");
    const int quitter = is_ring ? 0 : n_ranks - 2;
    const std::vector<int> mine(count * n_ranks, my_rank + 1);
    CUDA_OK(cudaMemcpy(source, mine.data(), mine.size() * sizeof(int), cudaMemcpyHostToDevice));
    printf("started\n");
    fflush(stdout);
    pthread_barrier_wait(ready);
    if (my_rank == quitter) {
        call(1);
        call(2);
        usleep(100000); /* it likely waits now; nothing else depends on it */
        OK(ncclCommAbort(comm));
        CUDA_OK(cudaStreamSynchronize(0));
        printf("given up\n"); /* for trouble.py: within the limit of its own wait */
        fflush(stdout);
        __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
        await_count(&words->n_ended, n_ranks - 1);
        return;
    }
    if (my_rank == n_ranks - 1)
        await_count(&words->n_given_up, 1);
    for (uint64_t round = 1; round <= 2; round++) {
        call(round);
        CUDA_OK(cudaStreamSynchronize(0));
        check_result();
    }
    if (!is_ring || my_rank == quitter + 1) {
        printf("rank %d has made a call that rank %d has not\n", my_rank, quitter);
        exit(1);
    }
    await_end();
}

/* What ranks 0 to n - 1 can do with a communicator of their own. All of them have done it then: a
 * rank may die or exit next, and the others' calls here would find that. */
static void use_fewer(ncclComm_t fewer, int n)
{
    ncclComm_t part = NULL;
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        int one = my_rank + 1;
        CUDA_OK(cudaMemcpy(source, &one, sizeof one, cudaMemcpyHostToDevice));
        OK(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, fewer, 0));
        CUDA_OK(cudaStreamSynchronize(0));
        CUDA_OK(cudaMemcpy(&sum, dest, sizeof sum, cudaMemcpyDeviceToHost));
        CHECK_EQ(sum, n * (n + 1) / 2);
    }
    OK(ncclCommSplit(fewer, my_rank % 2, 0, &part, NULL));
    OK(ncclBroadcast(source, dest, count, ncclInt, 0, part, 0));
    CUDA_OK(cudaStreamSynchronize(0));
    CUDA_OK(cudaMemcpy(&sum, dest, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK_EQ(sum, my_rank % 2 + 1);
    OK(ncclCommDestroy(part));
    meet_among(n);
}

/* The last rank dies in the middle of a call; the others make a communicator without it, twice if
 * they are enough: then the new last one of them dies, too. */
static void die_and_shrink()
{
    ncclComm_t fewer = NULL, least = NULL;
    int last = n_ranks - 1, next = n_ranks - 2;
    call_until_lost();
    OK(ncclCommShrink(comm, &last, 1, &fewer, NULL, NCCL_SHRINK_ABORT));
    use_fewer(fewer, last);
    OK(ncclCommAbort(comm));
    use_fewer(fewer, last);
    if (next == 0) {
        OK(ncclCommDestroy(fewer));
        return;
    }
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess) { /* the first call may have all that it needs of the dead rank */
        DONE(ncclAllReduce(source, dest, count, ncclInt, ncclSum, fewer, 0));
        if (my_rank == next)
            raise(SIGKILL);
        CUDA_OK(cudaStreamSynchronize(0));
        OK(ncclCommGetAsyncError(fewer, &error));
    }
    CHECK_EQ(error, ncclRemoteError);
    OK(ncclCommShrink(fewer, &next, 1, &least, NULL, NCCL_SHRINK_ABORT));
    OK(ncclCommDestroy(fewer));
    use_fewer(least, next);
    OK(ncclCommDestroy(least));
}

/* Many communicators are lost with the last rank; others, which go on, were made between them. */
static void lose_many()
{
    enum { N_LOST = 40 };
    ncclComm_t fewer[N_LOST] = {}, lost[N_LOST] = {};
    const int last = n_ranks - 1;
    for (int i = 0; i < N_LOST; i++) {
        OK(ncclCommSplit(comm, 0, my_rank, &lost[i], NULL));
        OK(ncclCommSplit(comm, my_rank == last ? NCCL_SPLIT_NOCOLOR : 0, 0, &fewer[i], NULL));
    }
    if (my_rank == last) {
        await_count(&words->n_given_up, last);
        words->since = now();
        raise(SIGKILL);
    }
    for (ncclComm_t one : lost)
        OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, one, 0));
    __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
    CUDA_OK(cudaStreamSynchronize(0));
    for (ncclComm_t one : fewer) {
        OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, one, 0));
        CUDA_OK(cudaStreamSynchronize(0));
    }
    use_fewer(fewer[0], last);
}

/* A shrink leaves the last rank out; it ends at once and destroys nothing, while the others go on.
 */
static void leave_out(bool is_killed)
{
    ncclComm_t fewer = NULL;
    ncclResult_t error = ncclSuccess;
    int last = n_ranks - 1;
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    OK(ncclDevCommDestroy(comm, &dev)); /* kernels with it might need the rank */
    pthread_barrier_wait(ready);        /* none of them is still in that call */
    if (my_rank == last) {
        words->since = now();
        if (is_killed)
            raise(SIGKILL);
        exit(0);
    }
    OK(ncclCommShrink(comm, &last, 1, &fewer, NULL, NCCL_SHRINK_DEFAULT));
    use_fewer(fewer, last);
    await_count(&words->n_ended, 1);
    use_fewer(fewer, last);
    OK(ncclCommGetAsyncError(comm, &error));
    CHECK_EQ(error, ncclSuccess); /* nothing has needed the rank that is gone */
    if (my_rank % 2 == 0) {
        OK(ncclCommRevoke(
            comm, NCCL_REVOKE_DEFAULT)); /* else the others of the id would be given up, too */
        OK(ncclCommAbort(comm));
    } else {
        OK(ncclCommDestroy(comm));
    }
    use_fewer(fewer, last);
    OK(ncclCommDestroy(fewer));
    check_new_one();
}

/* All ranks agree to end the job, which near ranks do by shared pages. The last one dies at its
 * next message over a socket: before the last barrier, in which the others wait for it. */
static void die_in_the_end()
{
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof steps / sizeof steps[0], steps};
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    words->since = now();
    if (my_rank == n_ranks - 1) {
        CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        CHECK_EQ(
            syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program), 0);
    }
    OK(ncclCommDestroy(comm));
    check_new_one();
}

/* No rank destroys anything. The last one ends first, with a status of its own; the others do what
 * does not need it, and then what does. */
static void exit_early()
{
    ncclComm_t fewer = NULL;
    int last = n_ranks - 1;
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    OK(ncclCommSplit(comm, my_rank == last ? NCCL_SPLIT_NOCOLOR : 0, 0, &fewer, NULL));
    pthread_barrier_wait(ready); /* none of them is still in that call */
    words->since = now();
    if (my_rank == last)
        exit(7);
    use_fewer(fewer, last);
    await_count(&words->n_ended, 1);
    use_fewer(fewer, last);
    for (int i = 1; !is_lost; i++) {
        call(1);
        if (i % MAX_QUEUED == 0)
            CUDA_OK(cudaStreamSynchronize(0));
    }
    CUDA_OK(cudaStreamSynchronize(0));
    use_fewer(fewer, last);
}

/* No rank destroys anything: each exits as soon as its own part of a call is done, while others may
 * still wait for what it has put. */
static void exit_when_done()
{
    const int all = n_ranks * (n_ranks + 1) / 2;
    std::vector<int> numbers(count, my_rank + 1);
    CUDA_OK(cudaMemcpy(source, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    words->since = now();
    OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, comm, 0));
    CUDA_OK(cudaStreamSynchronize(0));
    CUDA_OK(cudaMemcpy(numbers.data(), dest, count * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK_EQ((size_t)std::count(numbers.begin(), numbers.end(), all), count);
    exit(test_result());
}

/* The others go on without the last one, which then takes part in ending the old one. */
static void go_on_without(bool by_shrink)
{
    ncclComm_t fewer = NULL;
    int last = n_ranks - 1, sum = 0;
    if (my_rank < last) {
        call(1);
        usleep(50000);
        if (!by_shrink)
            OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
        OK(ncclCommShrink(comm, &last, 1, &fewer, NULL,
                          by_shrink ? NCCL_SHRINK_ABORT : NCCL_SHRINK_DEFAULT));
        CUDA_OK(cudaStreamSynchronize(0));
        CHECK_EQ(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, comm, 0), ncclInvalidUsage);
        for (int i = 0; i < 3; i++) {
            int one = my_rank + 1;
            CUDA_OK(cudaMemcpy(source, &one, sizeof one, cudaMemcpyHostToDevice));
            OK(ncclAllReduce(source, dest, 1, ncclInt, ncclSum, fewer, 0));
            CUDA_OK(cudaStreamSynchronize(0));
            CUDA_OK(cudaMemcpy(&sum, dest, sizeof sum, cudaMemcpyDeviceToHost));
            CHECK_EQ(sum, last * (last + 1) / 2);
        }
        OK(ncclCommDestroy(fewer));
        __atomic_add_fetch(&words->n_given_up, 1, __ATOMIC_RELEASE);
    } else {
        await_count(&words->n_given_up, last);
        OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
        CHECK_EQ(ncclCommRevoke(comm, 4), ncclInvalidArgument);
    }
    ncclResult_t error = ncclInternalError;
    OK(ncclCommGetAsyncError(comm, &error));
    CHECK_EQ(error, ncclSuccess);
    OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    words->since = now();
}

/* A split in which the last rank does not take part, without blocking. */
static void abort_making()
{
    ncclComm_t part = NULL;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t error = ncclSuccess;
    config.blocking = 0;
    if (!stays_away()) {
        CHECK_EQ(ncclCommSplit(comm, 0, my_rank, &part, &config), ncclInProgress);
        usleep(100000);
        OK(ncclCommGetAsyncError(part, &error));
        CHECK_EQ(error, ncclInProgress);
        OK(ncclCommAbort(part));
        CHECK_EQ(ncclCommGetAsyncError(part, &error), ncclInvalidArgument);
        OK(ncclCommAbort(comm));
        check_new_one();
    } else {
        await_count(&words->n_given_up, n_ranks - 1);
        OK(ncclCommAbort(comm));
    }
    give_up_together();
}

/* The limit applies from start-up on. trouble.py learns whether start-up was within it; no rank
 * waits before all have started. */
static void wait_in_vain()
{
    printf("started\n");
    fflush(stdout);
    pthread_barrier_wait(ready);
    if (stays_away())
        await_end();
    call(1);
    CUDA_OK(cudaStreamSynchronize(0));
    await_end(); /* the last rank is in another LSA team */
}

/* A rank sends fewer numbers than the next rank receives: another length sent the same way, or few
 * instead of many. Among 3 ranks the first one; among 4 the second one, whose next is far. */
static void send_too_few()
{
    exchange(count);
    exchange(my_rank != n_ranks - 3 ? count : count > 1000 ? 16 : count - 1);
    CUDA_OK(cudaStreamSynchronize(0));
    await_end();
}

/* One of the differences that need not be within a window. */
static ncclResult_t call_differently(bool is_first)
{
    const char *w = wait_kind;
    const int root = is_first && is(w, "root") ? 1 : 0;
    if (is(w, "root"))
        return ncclBroadcast(source, dest, count, ncclInt, root, comm, 0);
    if (is_first && is(w, "kind"))
        return ncclAllGather(source, dest, count, ncclInt, comm, 0);
    return ncclAllReduce(source, dest, is_first && is(w, "count") ? count - 1 : count,
                         is_first && is(w, "type") ? ncclFloat : ncclInt,
                         is_first && is(w, "op") ? ncclMax : ncclSum, comm, 0);
}

/* Rank 0's call differs. Of it and rank 1, the second to call gets the error; from then on calls of
 * all ranks do, and none waits. */
static void find_difference()
{
    ncclResult_t error = ncclSuccess;
    OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, comm, 0));
    pthread_barrier_wait(ready); /* or the last rank may hear of it in this call */
    const ncclResult_t result = call_differently(my_rank == 0);
    if (result == ncclInvalidArgument)
        printf("rank %d is the second\n", my_rank);
    else
        CHECK_EQ(result, ncclSuccess);
    while (error == ncclSuccess) {
        OK(ncclCommGetAsyncError(comm, &error));
        sched_yield();
    }
    CHECK_EQ(error, ncclInvalidArgument);
    CHECK(strstr(ncclGetLastError(comm), "differ") != NULL ||
          strstr(ncclGetLastError(comm), "collective 2") != NULL);
    OK(ncclGroupStart());
    OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, comm, 0));
    CHECK_EQ(ncclGroupEnd(), ncclInvalidArgument);
    OK(ncclCommAbort(comm)); /* the calls that differ may wait for each other */
    CUDA_OK(cudaStreamSynchronize(0));
    give_up_together();
}

/* Rank 0's call differs, and checking builds end the job. */
static void call_otherwise()
{
    const bool is_first = my_rank == 0;
    const size_t bytes = count * n_ranks * sizeof(int) + 4096;
    ncclWindow_t both[2] = {};
    OK(ncclCommWindowRegister(comm, source, bytes, &both[0], NCCL_WIN_COLL_SYMMETRIC));
    OK(ncclCommWindowRegister(comm, dest, bytes, &both[1], NCCL_WIN_COLL_SYMMETRIC));
    int *other = NULL;
    CUDA_OK(cudaMalloc((void **)&other, bytes));
    OK(ncclAllReduce(source, dest, count, ncclInt, ncclSum, comm, 0));
    pthread_barrier_wait(ready); /* as above */
    (void)ncclAllReduce(source, is_first && is(wait_kind, "window") ? other : dest, count,
                        is_first && is(wait_kind, "type") ? ncclFloat : ncclInt,
                        is_first && is(wait_kind, "op") ? ncclMax : ncclSum, comm, 0);
    CUDA_OK(cudaStreamSynchronize(0));
    await_end();
}

static void cross_bounds()
{
    pthread_barrier_wait(ready);
    for (int b = 0; my_rank == 0 && b < N_BOUNDS; b++)
        if (is(wait_kind, bounds[b]))
            gshmem_launch(cross_kernel, dim3(1), dim3(1), 0, 0, dev, win,
                          count * n_ranks * sizeof(int) + 4096, b);
    CUDA_OK(cudaStreamSynchronize(0));
    await_end();
}

/* Start-up finds that rank 0 can hold too few descriptors, wherever they end: all ranks hear it,
 * and none waits. From a number that lets the ranks meet on, to the first one that is enough. */
static void open_few()
{
    rlimit most, few;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
    for (int room = n_ranks + 8;; room++) {
        if (my_rank == 0)
            OK(ncclGetUniqueId(&words->id));
        pthread_barrier_wait(ready);
        if (my_rank == 0) {
            const int lowest = dup(0);
            close(lowest);
            few = most;
            few.rlim_cur = (rlim_t)(lowest + room);
            CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        }
        const ncclResult_t result = ncclCommInitRank(&comm, n_ranks, words->id, my_rank);
        if (my_rank == 0) {
            CHECK_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
            words->result = result;
        }
        pthread_barrier_wait(ready);
        CHECK_EQ(result, words->result);
        if (result == ncclSuccess)
            break;
        CHECK(strstr(ncclGetLastError(NULL), "open files") != NULL ||
              strstr(ncclGetLastError(NULL), "descriptor") != NULL);
    }
    words->since = now();
    OK(ncclCommDestroy(comm));
}

static int run_rank()
{
    test_choose_gpu(my_rank);
    if (is(how, "few")) {
        open_few();
        return 0;
    }
    make_comm();
    if (is(how, "dead") || is(how, "forked"))
        die_in_calls();
    else if (is(how, "shrunk"))
        die_and_shrink();
    else if (is(how, "left") || is(how, "killed"))
        leave_out(is(how, "killed"));
    else if (is(how, "exits"))
        exit_early();
    else if (is(how, "done"))
        exit_when_done();
    else if (is(how, "many"))
        lose_many();
    else if (is(how, "ending"))
        die_in_the_end();
    else if (is(how, "abort"))
        abort_in_wait();
    else if (is(how, "lone"))
        abort_alone();
    else if (is(how, "parted"))
        end_without();
    else if (is(how, "ahead") || is(how, "most"))
        end_ahead();
    else if (is(how, "revoke") || is(how, "shrink"))
        go_on_without(is(how, "shrink"));
    else if (is(how, "lengths"))
        send_too_few();
    else if (is(how, "differs"))
        find_difference();
    else if (is(how, "ends"))
        call_otherwise();
    else if (is(how, "bounds"))
        cross_bounds();
    else if (is(how, "making"))
        abort_making();
    else if (is(how, "quit"))
        quit_in_wait();
    else
        wait_in_vain();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    n_ranks = atoi(argv[1]);
    wait_kind = argv[2];
    how = argv[3];
    count = (size_t)atol(argv[4]);
    words = (shared_words *)mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ready = (pthread_barrier_t *)mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(ready, &attr, (unsigned)n_ranks);
    std::vector<pid_t> pids;
    for (my_rank = 0; my_rank < n_ranks; my_rank++) {
        pids.push_back(fork());
        if (pids[my_rank] == 0) {
            if (my_rank == 0)
                OK(ncclGetUniqueId(&words->id));
            pthread_barrier_wait(ready);
            exit(run_rank() | test_result());
        }
    }
    words->since = now();
    for (int n = 0; n < n_ranks; n++) {
        int status = 0;
        const pid_t pid = wait(&status);
        for (int i = 0; i < n_ranks; i++)
            if (pids[i] == pid && WIFEXITED(status))
                printf("rank %d: status %d\n", i, WEXITSTATUS(status));
            else if (pids[i] == pid)
                printf("rank %d: signal %d\n", i, WTERMSIG(status));
        fflush(stdout); /* if the others hang, this is known */
        __atomic_add_fetch(&words->n_ended, 1, __ATOMIC_RELEASE);
    }
    printf("after %.3f s\n", now() - words->since);
    return 0;
}
