/* SPDX-License-Identifier: Apache-2.0
 * Proves that a process whose PEs share one file of heaps and one of pages with those of eight
 * others is missed when it dies, in a barrier as in malloc, and whether it is the one that has made
 * the files or another: one line names one of its PEs, and all the others end with status 1. Each
 * process has eight PEs, which are threads; 72 PEs are enough for the files (heap/heap.h).
 *
 * A process makes the unique id; the others read it from a pipe. The one that forks them all has
 * one thread. */
#include <string.h>
#include <sys/prctl.h>
#include "base/env.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "heap/heap_impl.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "tests/rig/pes.h"

enum { N_PROCESSES = 9, ON_PROCESS = 8, N_PES = N_PROCESSES * ON_PROCESS };

enum death { IN_BARRIER, IN_MALLOC };

struct scene {
    int process; /* this one */
    int dying;   /* the one that dies */
    enum death death;
    gshmemx_uniqueid_t id;
};

/* Each byte has gone from one process to the next before one dies. */
static void pass_on(int me, char *heap)
{
    const int next = (me + ON_PROCESS) % N_PES, before = (me + N_PES - ON_PROCESS) % N_PES;
    gshmem_char_p(heap, (char)(me + 1), next);
    gshmem_barrier_all();
    CHECK_EQ(*heap, (char)(before + 1));
    gshmem_barrier_all();
}

static void pe_main(int thread, int n, void *arg)
{
    const struct scene *s = arg;
    const int me = s->process * n + thread;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmemx_set_attr_uniqueid_args(me, N_PES, &s->id, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr), 0)) {
        exit(3);
    }
    const struct gsh_instance *pe = gsh_instance_bound();
    CHECK(pe->node_pages != NULL);
    CHECK(pe->heap->physical.peers.is_one_file);
    pass_on(me, gshmem_malloc(64));
    if (test_failed_checks > 0) {
        exit(4);
    }
    if (s->process == s->dying) {
        if (thread == n / 2) {
            raise(SIGKILL);
        }
        pause(); /* nobody waits for it in vain but the other processes */
    }
    for (;;) {
        if (s->death == IN_BARRIER) {
            gshmem_barrier_all();
        } else {
            (void)gshmem_malloc(1 << 20);
        }
    }
}

/* The ends of pipes that the parent has. */
struct ends {
    int read, write;
};

static struct ends make_pipe(void)
{
    int fds[2] = {-1, -1};
    CHECK_EQ(pipe(fds), 0);
    return (struct ends){fds[0], fds[1]};
}

static pid_t start_server(struct ends ids, struct ends said)
{
    fflush(NULL);
    pid_t server = fork();
    if (server == 0) {
        gshmemx_uniqueid_t id;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(said.read);
        close(said.write);
        int status = gshmemx_get_uniqueid(&id);
        for (int i = 0; i < N_PROCESSES && status == 0; i++) {
            status = write(ids.write, &id, sizeof(id)) != sizeof(id);
        }
        close(ids.read);
        close(ids.write);
        while (status == 0) {
            pause(); /* until the parent ends it */
        }
        _exit(status);
    }
    return server;
}

static pid_t start_process(struct scene s, struct ends ids, struct ends said)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(said.write, 2);
        close(said.write);
        close(said.read);
        if (read(ids.read, &s.id, sizeof(s.id)) != sizeof(s.id)) {
            _exit(5);
        }
        close(ids.read);
        close(ids.write);
        test_on_threads(ON_PROCESS, pe_main, &s);
        _exit(6);
    }
    return child;
}

/* How many lines say that a PE of the process has died; *n_lines: how many the library has said. */
static int count_names(const char *text, int process, int *n_lines)
{
    int n = 0;
    *n_lines = 0;
    for (const char *p = text; (p = strstr(p, "gshmem: ")) != NULL; p++) {
        int pe = -1;
        const char *words = strstr(p, "PE ");
        const char *end = strchr(p, '\n');
        (*n_lines)++;
        while (words != NULL && end != NULL && words < end) {
            char word[16] = "";
            if (sscanf(words, "PE %d %15s", &pe, word) == 2 && strcmp(word, "died") == 0) {
                n += pe / ON_PROCESS == process;
            }
            words = strstr(words + 1, "PE ");
        }
    }
    return n;
}

static void test_death(enum death death, int dying)
{
    const struct ends ids = make_pipe(), said = make_pipe();
    pid_t children[N_PROCESSES];
    const pid_t server = start_server(ids, said);
    for (int i = 0; i < N_PROCESSES; i++) {
        children[i] =
            start_process((struct scene){.process = i, .dying = dying, .death = death}, ids, said);
    }
    close(ids.read);
    close(ids.write);
    close(said.write);
    static char text[1 << 16];
    size_t used = 0;
    for (ssize_t n; (n = read(said.read, text + used, sizeof(text) - 1 - used)) > 0;) {
        used += (size_t)n;
    }
    text[used] = '\0';
    close(said.read);
    bool is_good = true;
    for (int i = 0; i < N_PROCESSES; i++) {
        int status = -1;
        CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
        is_good &= i == dying ? CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                              : CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }
    int n_lines;
    is_good &= CHECK_EQ(count_names(text, dying, &n_lines), 1);
    is_good &= CHECK_EQ(n_lines, 1);
    if (!is_good) {
        printf("process %d of %d, death %d; said:\n%s\n", dying, N_PROCESSES, death, text);
    }
    kill(server, SIGKILL);
    int status = -1;
    CHECK_EQ(waitpid(server, &status, 0), server);
}

int main(void)
{
    setenv("GSHMEM_DEVICE", "cpu", 1);
    setenv("GSHMEM_HEAP_RANGE", "1G", 1); /* the thread sanitizer leaves few addresses */
    test_death(IN_BARRIER, 4);
    test_death(IN_MALLOC, 0);
    return test_result();
}
