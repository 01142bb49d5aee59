/* Proves that processes tell each other apart, that a PE of another version is recognised by the
 * first 8 bytes, whatever it would send next, over threads and over TCP; that init changes the
 * environment only of programs that have one thread; what a limit of file sizes does; that a PE
 * which is lost to kernels stays so; that a forked child closes what is private; and that finalize
 * wipes the job's secret.
 * Argument: the plug-in for UCX if there is one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/host.h"
#include "base/private_fd.h"
#include "base/process.h"
#include "base/siphash.h"
#include "bootstrap/uid.h"
#include "gshmemx.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "tests/rig/bootstrap_conform.h"

static void test_process(void)
{
    int ends[2], status = -1;
    uint64_t mine = gsh_process_id(), childs = 0;
    CHECK(mine != 0);
    CHECK_EQ(gsh_process_id(), mine);
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        childs = gsh_process_id();
        _exit(write(ends[1], &childs, sizeof(childs)) != sizeof(childs));
    }
    CHECK_EQ(read(ends[0], &childs, sizeof(childs)), sizeof(childs));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(childs != 0 && childs != mine);
    CHECK_EQ(gsh_process_id(), mine);
    close(ends[0]);
    close(ends[1]);
}

/* The others see that a process has closed its descriptor, or died, while its forked child lives.
 */
static void test_private(void)
{
    int shown[2], kept[2], hold[2], again, status = -1;
    char byte = 0;
    CHECK(pipe(shown) == 0 && pipe(kept) == 0 && pipe(hold) == 0);
    again = dup(kept[1]);
    gsh_private_fd_add(again);
    gsh_private_fd_add(shown[1]);
    gsh_private_fd_close(&again);
    CHECK_EQ(again, -1);
    again = dup(kept[1]); /* perhaps of the same number, but the child's, too */
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        CHECK_EQ(write(again, "x", 1), 1);
        CHECK_EQ(write(shown[1], "x", 1), -1);
        CHECK_EQ(read(hold[0], &byte, 1), 0);
        _exit(test_result());
    }
    CHECK_EQ(read(kept[0], &byte, 1), 1);
    gsh_private_fd_close(&shown[1]);
    CHECK_EQ(read(shown[0], &byte, 1), 0); /* the child waits for hold */
    close(hold[1]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    const int all[] = {shown[0], kept[0], kept[1], again, hold[0]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        close(all[i]);
    }
}

struct job {
    unsigned kind; /* GSHMEMX_INIT_ flag */
    gshmemx_uniqueid_t id;
};

struct sum {
    uint8_t least[8], most[8], rest[64];
};

static void fold_versions(void *into, const void *from)
{
    struct sum *mine = into;
    const struct sum *theirs = from;
    if (memcmp(theirs->least, mine->least, 8) < 0) {
        memcpy(mine->least, theirs->least, 8);
    }
    if (memcmp(theirs->most, mine->most, 8) > 0) {
        memcpy(mine->most, theirs->most, 8);
    }
}

/* All that every version does. */
static void be_another_version(struct job *job)
{
    static const uint8_t version[8] = {0x21, 0x67, 0x73, 0x68, 99, 1, 2, 3}, mine[24];
    struct sum sum = {{0}, {0}, {0}};
    struct gsh_uid_options options = {.timeout_ns = 60 * SECOND, .host = gsh_host_id()};
    struct gsh_uid id;
    struct gsh_bootstrap *b = NULL;
    uint8_t all[2 * sizeof(mine)], versions[2 * sizeof(version)];
    memcpy(sum.least, version, sizeof(version));
    memcpy(sum.most, version, sizeof(version));
    memcpy(id.bytes, job->id.internal, sizeof(id.bytes));
    enum gsh_result r = job->kind == GSHMEMX_INIT_THREAD_PES
                            ? gsh_bootstrap_local_create(job, 0, 2, options.timeout_ns, &b)
                            : gsh_bootstrap_uid_create(&id, 0, 2, &options, &b);
    if (CHECK_EQ(r, GSH_OK)) {
        CHECK_EQ(gsh_gather_host(b, mine, sizeof(mine), all, &sum, sizeof(sum), fold_versions),
                 GSH_OK);
        CHECK(memcmp(sum.least, sum.most, sizeof(version)) != 0);
        CHECK_EQ(b->ops->allgather(b, version, sizeof(version), versions), GSH_OK);
        CHECK_EQ(memcmp(versions, version, sizeof(version)), 0);
        CHECK_EQ(memcmp(versions + sizeof(version), version, 4), 0); /* the magic */
        b->ops->destroy(b);
    }
}

static void pe_main(int rank, int n, void *arg)
{
    struct job *job = arg;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    if (rank == 0) {
        be_another_version(job);
        return;
    }
    gshmemx_set_attr_thread_args(rank, n, job, &attr);
    gshmemx_set_attr_uniqueid_args(rank, n, &job->id, &attr);
    int error = gshmemx_init_attr(job->kind, &attr);
    const char *text = gshmemx_error_string(error);
    if (!CHECK(error != 0) || !CHECK(strstr(text, "PE 1 runs another version of gshmem")) ||
        !CHECK(strstr(text, "than PE 0 (99.1.2, state 3)"))) {
        fprintf(stderr, "the error was: %s\n", text);
    }
}

/* A page that may not be made is an error; the attempt would be a signal. */
static void little_files(int rank, int n, void *arg)
{
    const struct rlimit little = {8192, 8192};
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_thread_args(rank, n, arg, &attr);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    int error = gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr);
    CHECK(error != 0 && strstr(gshmemx_error_string(error), "(ulimit -f)"));
}

/* As when a second near PE dies after all are lost. */
static void test_deaths(void)
{
    const int others[2] = {0, 2};
    struct gsh_peer peers[3] = {0};
    struct gsh_host_page *page = calloc(1, sizeof(*page));
    struct gsh_instance pe = {.my_pe = 1, .n_pes = 3, .peers = peers, .page = page};
    gsh_deaths_all(&pe, GSH_DEATH_HOST);
    CHECK(gsh_is_death_among(&pe, others, 2) && gsh_is_death(&pe));
    CHECK(!gsh_is_death_at(&pe, others, 2, GSH_DEATH_KERNELS));
    gsh_deaths_all(&pe, GSH_DEATH_KERNELS);
    gsh_deaths_all(&pe, GSH_DEATH_HOST);
    CHECK(gsh_is_death_at(&pe, &others[0], 1, GSH_DEATH_KERNELS));
    CHECK(gsh_is_death_at(&pe, &others[1], 1, GSH_DEATH_KERNELS));
    CHECK_EQ(peers[1].death, GSH_DEATH_NONE);
    free(page);
}

static pthread_barrier_t meeting;

static void *sleep_till_the_end(void *unused)
{
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    return unused;
}

/* How often the bytes are in memory that malloc gives or gave. */
static int count_in_heap(const uint8_t *bytes, size_t n)
{
    int n_found = 0;
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        uintptr_t begin, end;
        if (strstr(line, "[heap]") == NULL || sscanf(line, "%lx-%lx", &begin, &end) != 2) {
            continue;
        }
        const uint8_t *at = (const uint8_t *)begin;
        while ((at = memmem(at, end - (uintptr_t)at, bytes, n)) != NULL) {
            n_found++;
            at++;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return n_found;
}

/* Finalize leaves neither the job's secret nor the key of its messages behind. Only a run without
 * MALLOC_PERTURB_ sees what freed memory holds. */
static void finalize_without_trace(void)
{
    static const uint8_t none[GSH_SECRET_BYTES];
    const struct gsh_instance *pe = gsh_instance_current(); /* its record is never freed */
    uint8_t secret[GSH_SECRET_BYTES], key[GSH_KEY_BYTES];
    memcpy(secret, pe->secret, sizeof(secret));
    gsh_key_derive(secret, "messages", key);
    gshmem_finalize();
    CHECK(memcmp(pe->secret, none, sizeof(none)) == 0);
    CHECK_EQ(count_in_heap(secret, sizeof(secret)), 0);
    CHECK_EQ(count_in_heap(key, GSH_SIPHASH_KEY_BYTES), 0);
}

/* PE 1's program has a second thread. Both are far, and their devices could be GPUs. */
static void far_pe_main(int rank, int n, void *arg)
{
    struct job *job = arg;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    pthread_t other;
    CHECK_EQ(pthread_barrier_init(&meeting, NULL, 2), 0);
    if (rank == 1) {
        CHECK_EQ(pthread_create(&other, NULL, sleep_till_the_end, NULL), 0);
        pthread_barrier_wait(&meeting);
    }
    gshmemx_set_attr_uniqueid_args(rank, n, &job->id, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(job->kind, &attr), 0)) {
        exit(1);
    }
    const char *loading = getenv("CUDA_MODULE_LOADING");
    CHECK_EQ(loading != NULL, rank == 0);
    CHECK(rank == 1 || strcmp(loading, "EAGER") == 0);
    CHECK_EQ(getenv("CUDA_DEVICE_MAX_CONNECTIONS") != NULL, rank == 0);
    finalize_without_trace();
    if (rank == 1) {
        pthread_barrier_wait(&meeting);
        pthread_join(other, NULL);
    }
}

/* While this process serves the unique id by a thread: a leak check at exit would look for that
 * thread in the child. */
static void far_child(int rank, int n, void *arg)
{
    far_pe_main(rank, n, arg);
    fflush(NULL);
    _exit(test_result());
}

static void test_environment(const char *plugin, struct job *job)
{
    pid_t children[2];
    unsetenv("CUDA_MODULE_LOADING");
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    setenv("GSHMEM_UCX_PLUGIN", plugin, 1);
    setenv("GSHMEM_NODE_PES", "1", 1);
    setenv("GSHMEM_DEVICE", "cuda", 1);
    CHECK_EQ(gshmemx_get_uniqueid(&job->id), 0);
    test_start_processes(2, far_child, job, children);
    test_join_processes(2, children);
}

int main(int argc, char **argv)
{
    struct job by_threads = {.kind = GSHMEMX_INIT_THREAD_PES};
    struct job by_id = {.kind = GSHMEMX_INIT_WITH_UNIQUEID};
    setenv("GSHMEM_DEBUG", "none", 1);
    setenv("GSHMEM_UID_IFNAME", "lo", 1);
    test_process();
    test_private();
    test_deaths();
    test_on_threads(2, pe_main, &by_threads);
    CHECK_EQ(gshmemx_get_uniqueid(&by_id.id), 0);
    test_on_threads(2, pe_main, &by_id);
    pid_t child;
    test_start_processes(1, little_files, &by_threads, &child);
    test_join_processes(1, &child);
    if (argc > 1) {
        test_environment(argv[1], &by_id);
    }
    return test_result();
}
