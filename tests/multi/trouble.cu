/* SPDX-License-Identifier: Apache-2.0
 * A program that gets into one selected kind of trouble; trouble.py starts it and judges the
 * outcome.
 *
 *     trouble CASE [uid N]     (uid N: starts its own N processes, without a launcher) */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/multi/trouble_death.cuh"
#include "tests/multi/trouble_members.cuh"
#include "tests/multi/trouble_mistakes.cuh"

static void stuck(const scene *s)
{
    /* The others are in their barrier already, and their time limits run, too. */
    if (is(s, "stuck_kernel_late")) {
        usleep(100000);
        run_kernel(s, k_wait);
    }
    if (is(s, "stuck_wait"))
        gshmem_long_wait_until(s->stuck, GSHMEM_CMP_EQ, 42);
    if (is(s, "stuck_lock") || is(s, "stuck_kernel_lock"))
        while (gshmem_test_lock(s->stuck) == 0) /* PE 1 is about to set it */
            gshmem_clear_lock(s->stuck);
    if (is(s, "stuck_lock"))
        gshmem_set_lock(s->stuck);
    if (is(s, "stuck_twice")) {
        gshmem_set_lock(s->stuck);
        gshmem_set_lock(s->stuck);
    }
    if (is(s, "stuck_kernel_lock"))
        run_kernel(s, k_lock);
    if (is(s, "stuck_barrier"))
        gshmem_barrier_all();
    if (strncmp(s->name, "stuck_reduce", 12) == 0)
        reduce(s, 1);
    if (is(s, "stuck_kernel"))
        run_kernel(s, k_wait);
    if (is(s, "stuck_kernel_barrier"))
        run_kernel(s, k_barrier);
    if (is(s, "stuck_stream")) {
        gshmemx_long_wait_until_on_stream(s->stuck, GSHMEM_CMP_EQ, 42, s->pe.stream);
        test_sync(&s->pe);
    }
}

static const struct {
    const char *name;
    int what;
} kernel_cases[] = {{"kernel_bad_pe", k_bad_pe},
                    {"kernel_stack", k_stack},
                    {"kernel_freed", k_freed},
                    {"kernel_past", k_past},
                    {"kernel_huge", k_huge},
                    {"kernel_stride", k_stride},
                    {"kernel_signal_op", k_signal_op},
                    {"kernel_cmp", k_cmp},
                    {"kernel_misaligned", k_misaligned},
                    {"kernel_null", k_null},
                    {"kernel_lock_not_held", k_unlock},
                    {"kernel_holds", k_lock},
                    {"kernel_no_front", k_lock},
                    {"kernel_no_behind", k_unlock},
                    {"kernel_exit", k_exit}};

/* The others of a case in which only PE 0 acts: they sleep in a barrier until it ends them. */
static void play(const scene *s)
{
    if (strncmp(s->name, "die_", 4) == 0) {
        death(s);
    } else if (strncmp(s->name, "differ_", 7) == 0) {
        differ(s);
    } else if (strncmp(s->name, "alike_", 6) == 0) {
        alike(s);
    } else if (strncmp(s->name, "member_", 7) == 0) {
        missing_member(s);
    } else if (s->pe.me != 0) {
        if (s->pe.me == 1 && strstr(s->name, "_lock") != NULL)
            gshmem_set_lock(s->stuck);
        if (strncmp(s->name, "stuck_", 6) == 0 && !is(s, "stuck_kernel_late"))
            pause(); /* never reaches PE 0's barrier; PE 0's report ends it */
        gshmem_barrier_all();
    } else if (strncmp(s->name, "ctx_", 4) == 0) {
        ctx_mistake(s);
    } else {
        host_mistake(s);
        stuck(s);
        for (const auto &c : kernel_cases)
            if (is(s, c.name))
                run_kernel(s, c.what);
    }
}

/* Before init: whether this will be PE 1, or, among threads, arrives second. */
static bool is_second(void)
{
    static int n_threads;
    const char *rank = getenv("GSHMEM_RANK");
    return rank ? atoi(rank) == 1 : __atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED) == 1;
}

/* From here on this process can open n more files. */
static void leave_files(int n)
{
    int lowest = dup(0);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)(lowest + n);
    setrlimit(RLIMIT_NOFILE, &limit);
    close(lowest);
}

/* Init fails on one PE, in a step that is its own, and so on all; that one stays. */
static int fail_alone(void)
{
    if (is_second())
        setenv("GSHMEM_TRACE", "/proc/none", 1);
    const int error = gshmemx_init_attr(0, NULL);
    if (is_second())
        pause();
    return error == 0 ? 9 : 1;
}

/* Some PE ends without gshmem_finalize, as if all were well. */
static int leave(const scene *s)
{
    if (is(s, "leave_all") || (is(s, "leave_return") && s->pe.me == 1))
        return 0;
    if (is(s, "leave_exit") && s->pe.me == 1)
        exit(0);
    if (is(s, "leave_status") && s->pe.me == 1)
        exit(5);
    if (is(s, "leave_thread") && s->pe.me == 1)
        pthread_exit(NULL);
    gshmem_barrier_all();
    gshmem_barrier_all();
    return 9;
}

static int pe_main(int argc, char **argv)
{
    scene s = {};
    s.name = argc > 1 ? argv[1] : "";
    if (is(&s, "before_init")) {
        long word = 0;
        gshmem_long_p(&word, 1, 0);
        return 0;
    }
    if (is(&s, "never_init"))
        return 0;
    if (is(&s, "kernel_before_init")) {
        int what = k_barrier;
        long *none = NULL;
        void *args[] = {&what, &none, &none, &none};
        CUDA(cudaLaunchKernel((const void *)trouble_kernel, dim3(1), dim3(1), args, 0, 0));
        CUDA(cudaDeviceSynchronize());
        return 0;
    }
    if (is(&s, "die_before_init") && is_second())
        die();
    if (is(&s, "leave_before_init") && is_second())
        return 0;
    if (is(&s, "fails_alone"))
        return fail_alone();
    if (is(&s, "few_files") && is_second())
        leave_files(11);
    if (is(&s, "few_files_far") && is_second())
        leave_files(13);
    if (is(&s, "differ_range") && is_second())
        setenv("GSHMEM_HEAP_RANGE", "8G", 1);
    if (is(&s, "differ_keep") && is_second())
        setenv("GSHMEM_HEAP_KEEP", "1M", 1);
    if (is(&s, "differ_collectives") && is_second())
        setenv("GSHMEM_COLLECTIVES", "thread=0,far=1K", 1);
    if (is(&s, "differ_nodes") && is_second())
        setenv("GSHMEM_NODE_PES", "7", 1);
    if (is(&s, "differ_team_memory") && is_second())
        setenv("GSHMEM_TEAM_MEMORY", "64M", 1);
    s.pe = test_begin();
    if (strncmp(s.name, "leave_", 6) == 0)
        return leave(&s);
    if (is(&s, "after_finalize")) {
        gshmem_finalize();
        gshmem_barrier_all();
        return 0;
    }
    s.word = (long *)test_heap(64 * sizeof *s.word);
    s.stuck = (long *)test_heap(sizeof *s.stuck);
    s.dest = (long *)test_heap(most_nelems * sizeof *s.dest);
    s.source = (long *)test_heap(most_nelems * sizeof *s.source);
    s.freed = (long *)test_heap(sizeof *s.freed);
    gshmem_free(s.freed);
    gshmem_barrier_all();
    play(&s);
    /* Only checking builds detect some mistakes; in others the job ends well. */
    if (s.pe.me == 0 && strncmp(s.name, "alike_", 6) != 0 && strncmp(s.name, "differ_", 7) != 0)
        gshmem_barrier_all();
    if (is(&s, "running_kernel")) /* finalize waits for it */
        test_collective(&s.pe, trouble_kernel, 1, 1, (int)k_long, s.word, s.freed, s.stuck);
    gshmem_finalize();
    return 0;
}

/* ---- without a launcher ---------------------------------------------------------------------- */

/* Init by environment, as gshmemrun would set it, of processes without a watcher. */
static int run_uid(int n, int argc, char **argv)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    for (int pe = 0; pe < n; pe++) {
        const pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            gshmemx_uniqueid_t id;
            gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
            close(ends[1]);
            if (read(ends[0], &id, sizeof id) != (ssize_t)sizeof id)
                return 1;
            scene s = {};
            s.name = argv[1];
            gshmemx_set_attr_uniqueid_args(pe, n, &id, &attr);
            if (strcmp(s.name, "die_before_init") == 0 && pe == 1)
                die();
            if (gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
                return 1;
            s.pe.me = pe;
            s.pe.n = n;
            if (gshmemx_device_setup() != 0)
                return 1;
            CUDA(cudaStreamCreateWithFlags(&s.pe.stream, cudaStreamNonBlocking));
            s.stuck = (long *)test_heap(sizeof *s.stuck);
            play(&s);
            gshmem_finalize();
            return 0;
        }
    }
    (void)argc;
    gshmemx_uniqueid_t id;
    if (gshmemx_get_uniqueid(&id) != 0)
        return 1;
    for (int pe = 0; pe < n; pe++)
        if (write(ends[1], &id, sizeof id) != (ssize_t)sizeof id)
            return 1;
    int n_failed = 0, status = 0;
    while (wait(&status) > 0)
        n_failed += status != 0;
    return n_failed == n ? 1 : 100 + n_failed; /* all of them must fail */
}

static void hear(const gshmemx_error_t *error, void *)
{
    dprintf(STDOUT_FILENO, "heard: PE %d, status %d, %s: %s\n", error->pe, error->status,
            error->call, error->message);
}

int main(int argc, char **argv)
{
    gshmemx_set_error_handler(hear, NULL);
    if (argc > 3 && strcmp(argv[2], "uid") == 0)
        return run_uid(atoi(argv[3]), argc, argv);
    if (argc > 1 && strcmp(argv[1], "no_run") == 0)
        return pe_main(argc, argv);
    return gshmemx_run(pe_main, argc, argv);
}
