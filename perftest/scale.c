/* SPDX-License-Identifier: Apache-2.0
 * What many PEs on one machine cost, phase by phase: time, CPU time, memory, mappings, descriptors.
 * Each PE adds a line for each phase to a file, which scale.py sums up:
 *
 *     PE phase wall_ms cpu_ms
 *
 * and each process a line of what it holds before its first byte, and at its end:
 *
 *     PE "held" pss_kib virtual_mib page_table_kib mappings descriptors threads
 *
 * CPU time is the PE's: of its process, or of its thread if PEs are threads. The times of PEs that
 * are processes begin at the process's start.
 *
 * With a second argument the last PE dies instead, once all have come and have said what they hold:
 *
 *     PE death monotonic_ms
 *
 *     scale FILE [dies] */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <fcntl.h>
#include <gshmem.h>
#include <gshmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BARRIERS = 20, ALLOCATION = 4096, DEATH_STATUS = 3 };

/* A PE's. */
struct watch {
    int file, pe;
    bool is_thread;
    double wall_ms, cpu_ms; /* when the phase began */
};

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double cpu_ms(const struct watch *w)
{
    return clock_ms(w->is_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID);
}

static void begin(struct watch *w)
{
    w->cpu_ms = cpu_ms(w);
    w->wall_ms = clock_ms(CLOCK_MONOTONIC);
}

/* `times`: how often it was done. */
static void end(struct watch *w, const char *phase, int times)
{
    const double wall = clock_ms(CLOCK_MONOTONIC) - w->wall_ms, cpu = cpu_ms(w) - w->cpu_ms;
    dprintf(w->file, "%d %s %.3f %.3f\n", w->pe, phase, wall / times, cpu / times);
}

static unsigned long number_after(const char *path, const char *key)
{
    char line[512];
    unsigned long value = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = strtoul(line + strlen(key), NULL, 10);
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return value;
}

static int count_lines(const char *path)
{
    char text[4096];
    int n = 0;
    FILE *f = fopen(path, "re");
    for (size_t got; f != NULL && (got = fread(text, 1, sizeof text, f)) > 0;) {
        for (size_t i = 0; i < got; i++) {
            n += text[i] == '\n';
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static int count_entries(const char *path)
{
    int n = -3; /* ".", ".." and its own descriptor */
    DIR *d = opendir(path);
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static void note_held(const struct watch *w, const char *when)
{
    if (!w->is_thread || w->pe == 0) {
        dprintf(w->file, "%d held_%s %lu %lu %lu %d %d %lu\n", w->pe, when,
                number_after("/proc/self/smaps_rollup", "Pss:"),
                number_after("/proc/self/status", "VmSize:") / 1024,
                number_after("/proc/self/status", "VmPTE:"), count_lines("/proc/self/maps"),
                count_entries("/proc/self/fd"), number_after("/proc/self/status", "Threads:"));
    }
}

static int pe_main(int argc, char **argv)
{
    struct watch w = {.file = argc >= 2 ? open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC) : -1,
                      .is_thread = getenv("GSHMEM_THREADS") != NULL};
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    if (w.file < 0) {
        fprintf(stderr, "scale: needs a file, which exists, to add its lines to\n");
        return 1;
    }
    begin(&w);
    w.cpu_ms = w.is_thread ? w.cpu_ms : 0;
    gshmem_init();
    w.pe = gshmem_my_pe();
    end(&w, "init", 1);
    gshmem_barrier_all();
    note_held(&w, "first");
    gshmem_barrier_all();
    if (argc > 2 && w.pe == gshmem_n_pes() - 1) {
        dprintf(w.file, "%d death %.3f\n", w.pe, clock_ms(CLOCK_MONOTONIC));
        _exit(DEATH_STATUS);
    }

    begin(&w);
    int failed = gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, gshmem_n_pes(), NULL, 0, &team);
    end(&w, "team", 1);
    begin(&w);
    char *memory = failed == 0 ? gshmem_malloc(ALLOCATION) : NULL;
    end(&w, "malloc", 1);
    if (memory == NULL) {
        gshmem_global_exit(1);
    }
    begin(&w);
    for (int i = 0; i < BARRIERS; i++) {
        gshmem_barrier_all();
    }
    end(&w, "barrier", BARRIERS);
    /* a byte from the left neighbour, which then has come to all */
    const int right = (w.pe + 1) % gshmem_n_pes();
    gshmem_char_p(memory, (char)('a' + w.pe % 26), right);
    gshmem_barrier_all();
    const int left = (w.pe + gshmem_n_pes() - 1) % gshmem_n_pes();
    if (*memory != (char)('a' + left % 26)) {
        fprintf(stderr, "scale: PE %d did not get its neighbour's byte\n", w.pe);
        gshmem_global_exit(1);
    }
    note_held(&w, "last");
    gshmem_barrier_all();
    begin(&w);
    gshmem_free(memory);
    end(&w, "free", 1);
    begin(&w);
    gshmem_finalize();
    end(&w, "finalize", 1);
    close(w.file);
    return 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
