/* SPDX-License-Identifier: Apache-2.0
 * Proves start-up: repeated init and finalize, the two stages, thread levels, refused attributes;
 * and, separately, PEs by unique id in forked processes and PEs as threads by attributes.
 *
 *     init              under gshmemrun, mpirun or alone
 *     init uid N        N processes without a launcher
 *     init threads N    two jobs of N threads each, at the same time
 *     init child        what a PE of the first starts: a job of its own */
#include <gshmemx.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/test.h"

enum { repeats = 20, max_pes = 16 };

/* A sum over all PEs through symmetric memory shows that the job works. */
static void check_job(void)
{
    const int n = gshmem_n_pes();
    long *sum = gshmem_calloc(1, sizeof(*sum));
    if (!CHECK(sum != NULL)) {
        return;
    }
    gshmem_long_atomic_add(sum, gshmem_my_pe() + 1, 0);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_long_g(sum, 0), (long)n * (n + 1) / 2);
    gshmem_free(sum);
}

static void check_repeats(void)
{
    for (int i = 0; i < repeats; i++) {
        CHECK_EQ(gshmemx_init_status(), GSHMEM_STATUS_NOT_INITIALIZED);
        gshmem_init();
        if (i % 2 == 0) {
            check_job();
        }
        if (i % 4 == 0) {
            CHECK(gshmem_malloc(100000) != NULL); /* left to finalize */
        }
        gshmem_finalize();
    }
}

/* This program as a child of its PE 0, whose variables it inherits. */
static void check_child(const char *when)
{
    char self[4096] = "", command[4200];
    if (CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)) {
        snprintf(command, sizeof(command), "'%s' child", self);
        if (!CHECK_EQ(system(command), 0)) {
            fprintf(stderr, "    a child %s gshmem_finalize\n", when);
        }
    }
}

static int run_child(void)
{
    gshmem_init();
    CHECK_EQ(gshmem_my_pe(), 0);
    CHECK_EQ(gshmem_n_pes(), 1);
    check_job();
    gshmem_finalize();
    return test_result();
}

static void check_children(void)
{
    gshmem_init();
    const bool is_first = gshmem_my_pe() == 0;
    if (is_first) {
        check_child("before");
    }
    gshmem_finalize();
    if (is_first) {
        check_child("after");
    }
}

/* PEs on this PE's node: these tests run on one host. */
static int node_pes(int n)
{
    const char *text = getenv("GSHMEM_NODE_PES");
    return text != NULL && atoi(text) > 0 ? atoi(text) : n;
}

static void check_node_teams(int me, int n)
{
    const int per_node = node_pes(n), first = me / per_node * per_node, index = me - first;
    const int here = n - first < per_node ? n - first : per_node;
    int same = 0;
    for (int pe = index; pe < n; pe += per_node) {
        same++;
    }
    CHECK_EQ(gshmem_team_n_pes(GSHMEMX_TEAM_NODE), here);
    CHECK_EQ(gshmem_team_my_pe(GSHMEMX_TEAM_NODE), index);
    CHECK_EQ(gshmem_team_n_pes(GSHMEM_TEAM_SHARED), here);
    CHECK_EQ(gshmem_team_n_pes(GSHMEMX_TEAM_SAME_MYPE_NODE), same);
    CHECK_EQ(gshmem_team_my_pe(GSHMEMX_TEAM_SAME_MYPE_NODE), me / per_node);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, n - 1, GSHMEMX_TEAM_NODE),
             n - 1 < first + here ? n - 1 - first : -1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEM_TEAM_WORLD, n, GSHMEMX_TEAM_NODE), -1);
    CHECK_EQ(gshmem_team_translate_pe(GSHMEMX_TEAM_SAME_MYPE_NODE, 0, GSHMEM_TEAM_WORLD), index);
}

/* Near peers have addresses and load/store routes, far ones neither. */
static void check_routes(int me, int n)
{
    char *p = gshmem_malloc(64);
    const int per_node = node_pes(n);
    for (int pe = 0; p != NULL && pe < n; pe++) {
        const bool is_far = pe / per_node != me / per_node;
        const char *route = gshmemx_route_name(pe);
        CHECK_EQ(gshmem_ptr(p, pe) == NULL, is_far);
        CHECK_EQ(strcmp(route, "loop") == 0 || strcmp(route, "ucx") == 0, is_far);
    }
    CHECK(gshmem_ptr(p, me) == p);
    gshmem_free(p);
}

static void check_stages(void)
{
    int major = 0, minor = 0, patch = -1;
    char name[GSHMEM_MAX_NAME_LEN] = "";
    CHECK_EQ(gshmemx_init_status(), GSHMEM_STATUS_NOT_INITIALIZED);
    gshmem_init();
    const bool is_cpu = gshmemx_device_name() != NULL; /* a GPU is chosen later */
    const int status = is_cpu ? GSHMEM_STATUS_IS_INITIALIZED : GSHMEM_STATUS_IS_BOOTSTRAPPED;
    CHECK_EQ(gshmemx_init_status(), status);
    const char *device = getenv("GSHMEM_DEVICE");
    CHECK(device == NULL || is_cpu == (strcmp(device, "cpu") == 0));
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    CHECK(me >= 0 && me < n);
    CHECK_EQ(gshmem_team_my_pe(GSHMEM_TEAM_WORLD), me);
    CHECK_EQ(gshmem_team_n_pes(GSHMEM_TEAM_WORLD), n);
    check_node_teams(me, n);
    CHECK_EQ(gshmem_team_my_pe(GSHMEM_TEAM_INVALID), -1);
    CHECK_EQ(gshmem_team_n_pes(99), -1);
    gshmem_info_get_version(&major, &minor);
    CHECK_EQ(major, GSHMEM_MAJOR_VERSION);
    CHECK_EQ(minor, GSHMEM_MINOR_VERSION);
    gshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK(patch >= 0);
    gshmem_info_get_name(name);
    CHECK_STR(name, GSHMEM_VENDOR_STRING);
    CHECK_EQ(gshmemx_init_status(), status); /* none of these needs more */

    CHECK(gshmemx_init_attr(0, NULL) != 0); /* a second time */
    CHECK_EQ(gshmem_my_pe(), me);

    CHECK_EQ(gshmemx_device_setup(), 0);
    CHECK_EQ(gshmemx_init_status(), GSHMEM_STATUS_IS_INITIALIZED);
    CHECK(gshmemx_device_name() != NULL);
    CHECK_EQ(gshmemx_device_setup(), 0); /* a second time: no effect */
    check_routes(me, n);
    check_job();
    gshmem_finalize();
    CHECK_EQ(gshmemx_init_status(), GSHMEM_STATUS_NOT_INITIALIZED);
}

static void check_thread_levels(void)
{
    for (int level = GSHMEM_THREAD_SINGLE; level <= GSHMEM_THREAD_MULTIPLE; level++) {
        int provided = -1, queried = -1;
        CHECK_EQ(gshmem_init_thread(level, &provided), 0);
        /* if PEs are threads, the thread that called init makes all calls */
        const bool is_alone = gshmem_n_pes() == 1 || gshmem_team_n_pes(GSHMEM_TEAM_WORLD) == 1;
        CHECK_EQ(provided, is_alone || getenv("GSHMEM_THREADS") == NULL ? GSHMEM_THREAD_MULTIPLE
                                                                        : GSHMEM_THREAD_FUNNELED);
        gshmem_query_thread(&queried);
        CHECK_EQ(queried, provided);
        gshmem_finalize();
    }
    int provided = 77;
    CHECK(gshmem_init_thread(GSHMEM_THREAD_MULTIPLE + 1, &provided) != 0);
    CHECK_EQ(provided, 77);
    CHECK_EQ(gshmemx_init_status(), GSHMEM_STATUS_NOT_INITIALIZED);
}

static void check_refused(unsigned flags, const gshmemx_init_attr_t *attr, const char *what)
{
    const int error = gshmemx_init_attr(flags, attr);
    const char *reason = gshmemx_error_string(error);
    if (!CHECK(error == GSHMEMX_ERROR_INVALID_VALUE) ||
        !CHECK(strstr(reason, "init_attr") != NULL || strstr(reason, "unique id") != NULL) ||
        !CHECK(gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED)) {
        fprintf(stderr, "    %s: error %d, \"%s\"\n", what, error, reason);
    }
}

static void check_attributes(void)
{
    const gshmemx_init_attr_t usual = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_uniqueid_t id = GSHMEMX_UNIQUEID_INITIALIZER;
    const int key = 0;
    gshmemx_init_attr_t attr = usual;
    check_refused(GSHMEMX_INIT_WITH_UNIQUEID, NULL, "no attributes");
    check_refused(GSHMEMX_INIT_WITH_UNIQUEID, &attr, "no id");
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "no key");
    check_refused(GSHMEMX_INIT_WITH_MPI_COMM, &attr, "no communicator");
    check_refused(1u << 20, &attr, "an unknown flag");
    gshmemx_set_attr_thread_args(0, 1, &key, &attr);
    check_refused(GSHMEMX_INIT_THREAD_PES | GSHMEMX_INIT_WITH_UNIQUEID, &attr, "two flags");
    gshmemx_set_attr_thread_args(2, 2, &key, &attr);
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "PE 2 of 2");
    gshmemx_set_attr_thread_args(-1, 2, &key, &attr);
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "PE -1");
    gshmemx_set_attr_thread_args(0, 0, &key, &attr);
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "0 PEs");
    attr = usual;
    gshmemx_set_attr_uniqueid_args(3, 2, &id, &attr);
    check_refused(GSHMEMX_INIT_WITH_UNIQUEID, &attr, "PE 3 of 2 by id");
    gshmemx_set_attr_uniqueid_args(0, 2, &id, &attr);
    check_refused(GSHMEMX_INIT_WITH_UNIQUEID, &attr, "an id that nobody made");
    gshmemx_set_attr_thread_args(0, 1, &key, &attr);
    attr.version++;
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "another version");
    attr.version--;
    attr.args.thread_args.version++;
    check_refused(GSHMEMX_INIT_THREAD_PES, &attr, "another version of the thread arguments");

    /* Uninitialised except for the communicator. */
    for (int fill = 0; fill < 256; fill += 0x55) {
        memset(&attr, fill, sizeof(attr));
        gshmemx_set_attr_mpi_comm_args(&id, &attr);
        check_refused(GSHMEMX_INIT_WITH_MPI_COMM, &attr, "no initialiser");
        CHECK(strstr(gshmemx_error_string(GSHMEMX_ERROR_INVALID_VALUE),
                     "GSHMEMX_INIT_ATTR_INITIALIZER") != NULL);
    }

    /* After all this a job of one PE still starts. */
    attr = usual;
    gshmemx_set_attr_thread_args(0, 1, &key, &attr);
    CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0);
    CHECK_EQ(gshmem_n_pes(), 1);
    check_job();
    gshmem_finalize();
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    check_stages();
    check_thread_levels();
    check_attributes();
    check_repeats();
    check_children();
    return test_result();
}

/* ---- unique id, no launcher ------------------------------------------------------------------ */

static void run_by_id(int me, int n, const gshmemx_uniqueid_t *id)
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_uniqueid_args(me, n, id, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr), 0)) {
        return;
    }
    CHECK_EQ(gshmem_my_pe(), me);
    CHECK_EQ(gshmem_n_pes(), n);
    check_job();
    gshmem_finalize();
}

/* Two jobs one after the other, each with an id of its own. */
static int run_uid(int n)
{
    enum { jobs = 2 };
    int pipes[max_pes][2];
    for (int pe = 1; pe < n; pe++) {
        if (pipe(pipes[pe]) != 0) {
            return 1;
        }
        const pid_t child = fork();
        if (child < 0) {
            return 1;
        }
        if (child == 0) {
            close(pipes[pe][1]);
            for (int job = 0; job < jobs; job++) {
                gshmemx_uniqueid_t id;
                if (CHECK_EQ(read(pipes[pe][0], &id, sizeof(id)), sizeof(id))) {
                    run_by_id(pe, n, &id);
                }
            }
            exit(test_result());
        }
        close(pipes[pe][0]);
    }
    for (int job = 0; job < jobs; job++) {
        gshmemx_uniqueid_t id;
        CHECK_EQ(gshmemx_get_uniqueid(&id), 0);
        for (int pe = 1; pe < n; pe++) {
            CHECK_EQ(write(pipes[pe][1], &id, sizeof(id)), sizeof(id));
        }
        run_by_id(0, n, &id);
    }
    for (int pe = 1; pe < n; pe++) {
        int status = 0;
        CHECK(wait(&status) > 0);
        CHECK_EQ(status, 0);
    }
    return test_result();
}

/* ---- threads by attributes ------------------------------------------------------------------- */

struct thread_pe {
    pthread_t thread;
    const void *key;
    int me, n;
};

static void *run_thread(void *arg)
{
    const struct thread_pe *t = arg;
    for (int i = 0; i < 3; i++) {
        gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
        gshmemx_set_attr_thread_args(t->me, t->n, t->key, &attr);
        if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0)) {
            return NULL;
        }
        CHECK_EQ(gshmem_my_pe(), t->me);
        CHECK_EQ(gshmem_n_pes(), t->n);
        check_job();
        if (node_pes(t->n) == t->n) {
            CHECK_STR(gshmemx_route_name((t->me + 1) % t->n), t->n == 1 ? "self" : "thread");
        }
        check_routes(t->me, t->n);
        gshmem_finalize();
    }
    return NULL;
}

static int run_threads(int n)
{
    struct thread_pe pes[2 * max_pes];
    const char keys[2] = {0, 0};
    for (int i = 0; i < 2 * n; i++) {
        pes[i] = (struct thread_pe){.key = &keys[i / n], .me = i % n, .n = n};
        if (pthread_create(&pes[i].thread, NULL, run_thread, &pes[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 2 * n; i++) {
        pthread_join(pes[i].thread, NULL);
    }
    return test_result();
}

int main(int argc, char **argv)
{
    const int n = argc > 2 ? atoi(argv[2]) : 2;
    if (argc > 1 && (n < 1 || n > max_pes)) {
        return 2;
    }
    if (argc > 1 && strcmp(argv[1], "uid") == 0) {
        return run_uid(n);
    }
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        return run_threads(n);
    }
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        return run_child();
    }
    return gshmemx_run(pe_main, argc, argv);
}
