/* SPDX-License-Identifier: Apache-2.0
 * Hangs that hang.py plants: each case leaves some PEs waiting, for ever.
 *
 *     hang CASE */
#include "tests/rig/pe.cuh"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noreturn)) static void stay(void)
{
    for (;;)
        pause();
}

/* ---- in kernels ---- */

__global__ void wait_kernel(uint64_t *word, uint64_t value)
{
    gshmem_signal_wait_until(word, GSHMEM_CMP_EQ, value);
}

__global__ void wait_own_kernel(uint64_t *words, uint64_t value)
{
    gshmem_signal_wait_until(words + threadIdx.x, GSHMEM_CMP_EQ, value);
}

__global__ void wait_int_kernel(int *words, int n)
{
    gshmem_int_wait_until_all(words, (size_t)n, nullptr, GSHMEM_CMP_GT, 0);
}

__global__ void barrier_kernel(void)
{
    gshmem_barrier_all();
}

__global__ void sync_team_kernel(gshmem_team_t team)
{
    gshmem_team_sync(team);
}

__global__ void lock_kernel(long *lock)
{
    gshmem_set_lock(lock);
}

__global__ void sum_kernel(long *words)
{
    gshmem_long_sum_reduce(GSHMEM_TEAM_WORLD, words, words + 1, 1);
}

__global__ void signal_kernel(uint64_t *word, int pe)
{
    gshmemx_signal_op(word, 1, GSHMEM_SIGNAL_SET, pe);
}

__global__ void fetch_kernel(uint64_t *word, int pe)
{
    (void)gshmem_uint64_atomic_fetch_inc(word, pe);
}

__global__ void count_kernel(uint64_t *words)
{
    for (uint64_t i = 2;; i++)
        for (int k = 0; k < 16; k++)
            if (k != 8)
                words[k] = i;
}

/* ---- cases: each PE's part, which need not return ---- */

struct scene {
    test_pe *pe;
    uint64_t *box; /* 64 words */
    gshmem_team_t team, other;
};

static void run(const scene &s, void (*kernel)(uint64_t *, uint64_t), unsigned blocks,
                unsigned threads, uint64_t *word, uint64_t value)
{
    test_collective(s.pe, kernel, blocks, threads, word, value);
    test_sync(s.pe);
}

static void missing_signal(const scene &s)
{
    if (s.pe->me == 0)
        run(s, wait_kernel, 4, 2, s.box + 8, 1);
}

static void host_missing_signal(const scene &s)
{
    if (s.pe->me == 0)
        gshmem_signal_wait_until(s.box + 8, GSHMEM_CMP_GE, 7);
}

/* The words beside the awaited one are plainly written while the report looks at them. */
static void busy_words(const scene &s)
{
    if (s.pe->me == 0)
        run(s, wait_kernel, 1, 1, s.box + 8, 1);
    if (s.pe->me == 1)
        test_collective(s.pe, count_kernel, 1, 1, (uint64_t *)gshmem_ptr(s.box, 0));
}

static void own_words(const scene &s)
{
    if (s.pe->me == 0)
        run(s, wait_own_kernel, 1, 32, s.box + 8, 1);
}

static void wrong_pe(const scene &s)
{
    if (s.pe->me == 0)
        gshmemx_signal_op(s.box, 1, GSHMEM_SIGNAL_SET, 2); /* PE 1 was meant */
    if (s.pe->me == 1)
        run(s, wait_kernel, 1, 1, s.box, 1);
}

static void wrong_address(const scene &s)
{
    if (s.pe->me == 0)
        gshmemx_signal_op(s.box + 4, 5, GSHMEM_SIGNAL_SET, 1); /* box + 3 was meant */
    if (s.pe->me == 1)
        run(s, wait_kernel, 1, 1, s.box + 3, 5);
}

static void wrong_value(const scene &s)
{
    if (s.pe->me == 0)
        gshmemx_signal_op(s.box, 3, GSHMEM_SIGNAL_SET, 1); /* 2 was meant */
    if (s.pe->me == 1)
        run(s, wait_kernel, 1, 1, s.box, 2);
}

static void vector_wait(const scene &s)
{
    int *words = (int *)s.box;
    if (s.pe->me == 0)
        gshmem_int_p(words, 1, 1);
    if (s.pe->me == 1) {
        test_collective(s.pe, wait_int_kernel, 1, 1, words, 2);
        test_sync(s.pe);
    }
}

static void host_vector_any(const scene &s)
{
    if (s.pe->me == 1)
        gshmem_int_wait_until_any((int *)s.box, 4, NULL, GSHMEM_CMP_NE, 0);
}

static void two_cycle(const scene &s)
{
    run(s, wait_kernel, 1, 1, s.box + s.pe->me, 1);
}

static void three_cycle(const scene &s)
{
    gshmem_signal_wait_until(s.box, GSHMEM_CMP_EQ, 1);
    gshmemx_signal_op(s.box, 1, GSHMEM_SIGNAL_SET, s.pe->next);
}

static void barrier_absent(const scene &s)
{
    gshmem_barrier_all();
    if (s.pe->me != 2)
        gshmem_barrier_all();
}

static void kernel_barrier_absent(const scene &s)
{
    if (s.pe->me != 1) {
        test_collective(s.pe, barrier_kernel, 1, 1);
        test_sync(s.pe);
    }
}

static void sync_absent(const scene &s)
{
    if (s.pe->me != 0)
        gshmem_sync_all();
}

static void team_sync_absent(const scene &s)
{
    if (s.pe->me == 0) {
        test_collective(s.pe, sync_team_kernel, 1, 1, s.team);
        test_sync(s.pe);
    }
}

static void broadcast_absent(const scene &s)
{
    if (s.pe->me != 0)
        gshmem_long_broadcast(GSHMEM_TEAM_WORLD, (long *)s.box, (long *)s.box + 8, 1, 0);
}

static void reduce_absent(const scene &s)
{
    if (s.pe->me != 2) {
        test_collective(s.pe, sum_kernel, 1, 1, (long *)s.box);
        test_sync(s.pe);
    }
}

static void alltoall_absent(const scene &s)
{
    if (s.pe->me != 1)
        gshmem_long_alltoall(GSHMEM_TEAM_WORLD, (long *)s.box, (long *)s.box + 8, 1);
}

static void fcollect_absent(const scene &s)
{
    if (s.pe->me != 1)
        gshmem_long_fcollect(GSHMEM_TEAM_WORLD, (long *)s.box, (long *)s.box + 8, 1);
}

static void malloc_absent(const scene &s)
{
    if (s.pe->me != 1)
        (void)gshmem_malloc(64);
}

static void teams_reversed(const scene &s)
{
    gshmem_team_sync(s.pe->me == 0 ? s.team : s.other);
    gshmem_team_sync(s.pe->me == 0 ? s.other : s.team);
}

static void kernel_teams_reversed(const scene &s)
{
    test_collective(s.pe, sync_team_kernel, 1, 1, s.pe->me == 0 ? s.team : s.other);
    test_sync(s.pe);
}

static void lock_kept(const scene &s)
{
    long *lock = (long *)s.box;
    if (s.pe->me == 1)
        gshmem_set_lock(lock);
    gshmem_barrier_all();
    if (s.pe->me == 0)
        gshmem_set_lock(lock);
}

static void kernel_lock_kept(const scene &s)
{
    long *lock = (long *)s.box;
    if (s.pe->me == 1)
        gshmem_set_lock(lock);
    gshmem_barrier_all();
    if (s.pe->me == 0) {
        test_collective(s.pe, lock_kernel, 1, 1, lock);
        test_sync(s.pe);
    }
}

static void lock_and_barrier(const scene &s)
{
    long *lock = (long *)s.box;
    if (s.pe->me == 1)
        gshmem_set_lock(lock);
    gshmem_barrier_all();
    if (s.pe->me == 0)
        gshmem_set_lock(lock);
    gshmem_barrier_all();
}

static void *keep_lock(void *lock)
{
    gshmem_set_lock((long *)lock);
    return NULL;
}

static void own_lock(const scene &s)
{
    pthread_t thread;
    if (s.pe->me != 0)
        return;
    pthread_create(&thread, NULL, keep_lock, s.box);
    pthread_join(thread, NULL);
    gshmem_set_lock((long *)s.box);
}

static void stopped(const scene &s)
{
    gshmem_barrier_all();
    if (s.pe->me == 1)
        kill(getpid(), SIGSTOP);
    gshmem_barrier_all();
}

static void stopped_sender(const scene &s)
{
    if (s.pe->me == 2)
        kill(getpid(), SIGSTOP);
    if (s.pe->me == 0)
        gshmem_signal_wait_until(s.box, GSHMEM_CMP_EQ, 1);
}

static void stream_behind_wait(const scene &s)
{
    if (s.pe->me == 0) { /* nobody sends what the stream waits for, so it sends nothing */
        gshmemx_signal_wait_until_on_stream(s.box + 1, GSHMEM_CMP_EQ, 1, s.pe->stream);
        gshmemx_signal_op_on_stream(s.box, 1, GSHMEM_SIGNAL_SET, 1, s.pe->stream);
        test_sync(s.pe);
    }
    if (s.pe->me == 1)
        gshmem_signal_wait_until(s.box, GSHMEM_CMP_EQ, 1);
}

/* What would wake the first kernel is in the second one, for which there is no room. */
static void kernel_not_resident(const scene &s)
{
    if (s.pe->me != 0)
        return;
    test_collective(s.pe, wait_kernel, 1, 1, s.box, (uint64_t)1);
    test_collective(s.pe, signal_kernel, 1, 1, s.box, 0);
    test_sync(s.pe);
}

/* PE 0 fetches from PE 1 until PE 1 answers no more. The first fetches may be answered: PE 0 may
   leave a barrier long before PE 1 does. Or long after: what PE 1 has sent in it may still be in
   PE 1's proxy, and would stay there. So PE 1 stops after a fetch has come. */
static void await_fetch(const scene &s)
{
    if (s.pe->me == 1)
        gshmem_signal_wait_until(s.box, GSHMEM_CMP_GE, 1);
}

static void fetch_until_lost(const scene &s)
{
    while (s.pe->me == 0) {
        test_collective(s.pe, fetch_kernel, 1, 1, s.box, 1);
        test_sync(s.pe);
    }
}

static void far_stopped(const scene &s)
{
    await_fetch(s);
    if (s.pe->me == 1)
        kill(getpid(), SIGSTOP);
    fetch_until_lost(s);
}

static void host_far_stopped(const scene &s)
{
    await_fetch(s);
    if (s.pe->me == 1)
        kill(getpid(), SIGSTOP);
    while (s.pe->me == 0)
        (void)gshmem_uint64_atomic_fetch_inc(s.box, 1);
}

/* The number of this process's thread of that name; 0: there is none. */
static int find_thread(const char *name)
{
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && !found && (d = readdir(tasks));) {
        char path[300], line[64] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) && strncmp(line, name, strlen(name)) == 0)
            found = atoi(d->d_name);
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return found;
}

/* All threads of this process, as find_thread's; returns how many. */
static int list_threads(int *threads, int room)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && n < room && (d = readdir(tasks));)
        if (atoi(d->d_name) > 0)
            threads[n++] = atoi(d->d_name);
    closedir(tasks);
    return n;
}

/* A child stops threads of this process for good, as a debugger does; the caller's, too, if it is
 * among them. */
static void stop_threads(const int *threads, int n)
{
    int is_stopped[2];
    char said = 0;
    if (pipe(is_stopped) != 0)
        exit(1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        for (int i = 0; i < n; i++) {
            int status;
            if (ptrace(PTRACE_SEIZE, threads[i], NULL, NULL) != 0 ||
                ptrace(PTRACE_INTERRUPT, threads[i], NULL, NULL) != 0 ||
                waitpid(threads[i], &status, __WALL) != threads[i])
                _exit(1);
        }
        if (write(is_stopped[1], "!", 1) != 1)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay();
    }
    close(is_stopped[1]);
    if (read(is_stopped[0], &said, 1) != 1)
        exit(1);
}

static void stop_thread(int thread)
{
    stop_threads(&thread, thread > 0);
}

/* Under a debugger that has stopped all of its threads. */
static void debugged(const scene &s)
{
    gshmem_barrier_all();
    if (s.pe->me == 1) {
        int threads[256];
        stop_threads(threads, list_threads(threads, 256));
    }
    gshmem_barrier_all();
}

/* The library's thread that answers does not run, and the program's does. */
static void unscheduled(const scene &s)
{
    gshmem_barrier_all();
    if (s.pe->me == 1) {
        stop_thread(find_thread("gshmem-hang"));
        stay();
    }
    gshmem_barrier_all();
}

/* Nobody ends the job of a PE that is dead: gshmemrun is stopped, and those threads are that would
 * notice. */
static void dead(const scene &s)
{
    if (s.pe->me == 0)
        kill(getppid(), SIGSTOP);
    if (s.pe->me != 1)
        stop_thread(find_thread("gshmem-monitor"));
    gshmem_barrier_all();
    if (s.pe->me == 1)
        kill(getpid(), SIGKILL);
    gshmem_barrier_all();
}

static void proxy_dead(const scene &s)
{
    await_fetch(s);
    if (s.pe->me == 1) /* perhaps while it has the proxy's lock: this PE calls gshmem no more */
        stop_thread(find_thread("gshmem-proxy"));
    fetch_until_lost(s);
}

/* The NIC takes hours: hang.py's environment. */
static void nic_late(const scene &s)
{
    if (s.pe->me == 0) {
        test_collective(s.pe, fetch_kernel, 1, 1, s.box, 1);
        test_sync(s.pe);
    }
}

static void finalize_early(const scene &s)
{
    if (s.pe->me == 1)
        gshmem_finalize();
    else
        gshmem_barrier_all();
}

/* Each PE is to get a signal of its own, and PE 1 gets none. An earlier one has come everywhere. */
static void one_missing(const scene &s)
{
    gshmemx_signal_op(s.box, 1, GSHMEM_SIGNAL_SET, s.pe->me);
    for (int i = 0; i < s.pe->n && s.pe->me == 0; i++)
        if (i != 1)
            gshmemx_signal_op(s.box + 8, 1, GSHMEM_SIGNAL_SET, i);
    run(s, wait_kernel, 1, 1, s.box + 8, 1);
    gshmem_barrier_all();
}

static void chain(const scene &s)
{
    if (s.pe->me == 0)
        gshmem_barrier_all();
    if (s.pe->me == 1) {
        gshmem_signal_wait_until(s.box, GSHMEM_CMP_EQ, 1);
        gshmem_barrier_all();
    }
    if (s.pe->me == 2)
        stay(); /* in place of the signal to PE 1 */
}

static void say_own_handler(int)
{
    const char text[] = "own handler\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

static void own_handler(const scene &s)
{
    host_missing_signal(s);
    stay();
}

static void alone(const scene &s)
{
    run(s, wait_kernel, 1, 1, s.box, 1);
}

#define CASE(name)  \
    {               \
#name, name \
    }
static const struct {
    const char *name;
    void (*play)(const scene &s);
} cases[] = {
    CASE(missing_signal),
    CASE(own_words),
    CASE(host_missing_signal),
    CASE(busy_words),
    CASE(wrong_pe),
    CASE(wrong_address),
    CASE(wrong_value),
    CASE(vector_wait),
    CASE(host_vector_any),
    CASE(two_cycle),
    CASE(three_cycle),
    CASE(barrier_absent),
    CASE(kernel_barrier_absent),
    CASE(sync_absent),
    CASE(team_sync_absent),
    CASE(broadcast_absent),
    CASE(reduce_absent),
    CASE(alltoall_absent),
    CASE(fcollect_absent),
    CASE(malloc_absent),
    CASE(teams_reversed),
    CASE(kernel_teams_reversed),
    CASE(lock_kept),
    CASE(kernel_lock_kept),
    CASE(lock_and_barrier),
    CASE(own_lock),
    CASE(stopped),
    CASE(stopped_sender),
    CASE(debugged),
    CASE(unscheduled),
    CASE(dead),
    CASE(stream_behind_wait),
    CASE(kernel_not_resident),
    CASE(far_stopped),
    CASE(host_far_stopped),
    CASE(proxy_dead),
    CASE(nic_late),
    CASE(finalize_early),
    CASE(one_missing),
    CASE(chain),
    CASE(own_handler),
    CASE(alone),
};

static int pe_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "own_handler") == 0)
        signal(SIGUSR2, say_own_handler); /* before init, which leaves it */
    test_pe pe = test_begin();
    scene s = {&pe, (uint64_t *)test_heap(64 * sizeof(uint64_t)), GSHMEM_TEAM_INVALID,
               GSHMEM_TEAM_INVALID};
    gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &s.team);
    gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, pe.n, NULL, 0, &s.other);
    gshmem_barrier_all();
    for (const auto &c : cases)
        if (argc > 1 && strcmp(argv[1], c.name) == 0)
            c.play(s);
    stay();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
