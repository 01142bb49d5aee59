/* SPDX-License-Identifier: Apache-2.0
 * See gshmemrun_hosts.h. Both ends are the same program of the same architecture, so frames are
 * plain structs. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_hosts.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/util.h"
#include "tools/gshmemrun_output.h"

#define JOB_MAGIC 0x67736872u

/* Before the job's text: NUL-ended strings, first the launcher's name and the directory, then the
 * environment, then the command. */
struct job {
    uint32_t magic, bytes;
    int32_t n_pes, first, count;
    uint32_t is_threads, tags_output, n_variables, n_words;
};
#define JOB_MAX_BYTES (64u << 20) /* far more than the system lets a program's environment have */

struct frame {
    uint32_t kind, bytes;
};
#define FRAME_PAYLOAD 4096

extern char **environ;

/* ---- the list of hosts ---- */

__attribute__((noreturn)) static void refuse(const char *why, const char *text)
{
    gshmemrun_say("--hosts: %s: '%s' (wanted: NAME[:PES],...)", why, text);
    exit(GSHMEMRUN_USAGE);
}

static void add_host(struct gshmemrun_options *o, char *text)
{
    char *colon = strrchr(text, ':'), *end = NULL;
    long count = 1;
    if (colon != NULL) {
        count = strtol(colon + 1, &end, 10);
        if (end == colon + 1 || *end != '\0' || count < 1 || count > GSHMEMRUN_MAX_PES) {
            refuse("not a number of PEs", colon + 1);
        }
        *colon = '\0';
    }
    if (*text == '\0' || *text == '-') { /* an agent would take it as an option */
        refuse("not a host", text);
    }
    if (!gsh_array_reserve(&o->hosts, &o->hosts_room, (size_t)o->n_hosts + 1, sizeof(*o->hosts))) {
        gshmemrun_say("no memory");
        exit(1);
    }
    struct gshmemrun_host *hosts = o->hosts;
    int first = o->n_hosts == 0 ? 0 : hosts[o->n_hosts - 1].first + hosts[o->n_hosts - 1].count;
    if (first > GSHMEMRUN_MAX_PES - count) {
        refuse("too many PEs in all", text);
    }
    hosts[o->n_hosts++] =
        (struct gshmemrun_host){.name = text, .first = first, .count = (int)count};
}

void gshmemrun_find_hosts(struct gshmemrun_options *o)
{
    char *rest = strdup(o->hosts_text); /* never freed: the names point into it */
    for (char *text = strsep(&rest, ","); text != NULL; text = strsep(&rest, ",")) {
        add_host(o, text);
    }
    const struct gshmemrun_host *last = &o->hosts[o->n_hosts - 1];
    int room = last->first + last->count;
    if (o->n_pes > room) {
        gshmemrun_say("-n %d: the hosts have room for %d", o->n_pes, room);
        exit(GSHMEMRUN_USAGE);
    }
    o->n_pes = o->n_pes == 0 ? room : o->n_pes;
    while (o->hosts[o->n_hosts - 1].first >= o->n_pes) {
        o->n_hosts--;
    }
    struct gshmemrun_host *end = &o->hosts[o->n_hosts - 1];
    end->count = o->n_pes - end->first;
}

/* The agent's words, the host, this program, --branch. */
char **gshmemrun_agent_command(const struct gshmemrun_options *o, int host)
{
    static char self[4096];
    size_t n_words = strlen(o->agent) / 2 + 6, i = 0;
    /* one block: the words, and the text they point into */
    char **words = calloc(1, n_words * sizeof(*words) + strlen(o->agent) + 1), *save = NULL;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (words == NULL || n <= 0) {
        gshmemrun_say("cannot prepare the agent");
        exit(1);
    }
    char *text = strcpy((char *)(words + n_words), o->agent);
    self[n] = '\0';
    for (char *word = strtok_r(text, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        words[i++] = word;
    }
    if (i == 0) {
        gshmemrun_say("--agent is empty");
        exit(GSHMEMRUN_USAGE);
    }
    words[i++] = (char *)(uintptr_t)o->hosts[host].name;
    words[i++] = self;
    words[i] = "--branch";
    return words;
}

/* ---- the job ---- */

/* Whether a variable of our environment concerns the job on another host. */
static bool travels(const char *variable)
{
    static const char *const begins[] = {"GSHMEM_", "UCX_", "CUDA_", "NCCL_", "NVSHMEM_", "OMP_"};
    static const char *const names[] = {
        "PATH=",          "LD_LIBRARY_PATH=", "PYTHONPATH=",   "ASAN_OPTIONS=",
        "UBSAN_OPTIONS=", "TSAN_OPTIONS=",    "LSAN_OPTIONS=", "NVTX_INJECTION64_PATH="};
    for (size_t i = 0; i < GSH_ARRAY_LEN(begins); i++) {
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < GSH_ARRAY_LEN(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void put_string(FILE *to, const char *text)
{
    fwrite(text, 1, strlen(text) + 1, to);
}

bool gshmemrun_send_job(int fd, const struct gshmemrun_options *o, int host)
{
    char *text = NULL, here[4096];
    size_t bytes = 0;
    struct job job = {.magic = JOB_MAGIC,
                      .n_pes = o->n_pes,
                      .first = o->hosts[host].first,
                      .count = o->hosts[host].count,
                      .is_threads = o->is_threads,
                      .tags_output = o->tags_output};
    FILE *to = open_memstream(&text, &bytes);
    if (to == NULL) {
        return false;
    }
    put_string(to, gshmemrun_name);
    put_string(to, getcwd(here, sizeof(here)) != NULL ? here : "/");
    for (char **v = environ; *v != NULL; v++) {
        if (travels(*v)) {
            put_string(to, *v);
            job.n_variables++;
        }
    }
    for (char **w = o->command; *w != NULL; w++) {
        put_string(to, *w);
        job.n_words++;
    }
    bool is_ok = fclose(to) == 0 && bytes <= JOB_MAX_BYTES;
    job.bytes = (uint32_t)bytes;
    if (is_ok) {
        gshmemrun_write_all(fd, &job, sizeof(job));
        gshmemrun_write_all(fd, text, bytes);
    }
    free(text);
    return is_ok;
}

static bool read_all(int fd, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t n = read(fd, at, bytes);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The next string; NULL at the end of the text. */
static char *next_string(char **at, char *end)
{
    char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    *at = nul != NULL ? nul + 1 : end;
    return nul != NULL ? text : NULL;
}

static bool take_job(struct gshmemrun_options *o, const struct job *job, char *text)
{
    char *at = text, *end = text + job->bytes;
    const char *name = next_string(&at, end), *here = next_string(&at, end);
    gshmemrun_name = name != NULL ? name : gshmemrun_name;
    if (here == NULL || chdir(here) != 0) {
        gshmemrun_say("the directory %s is not on this host: %s", here != NULL ? here : "",
                      strerror(errno));
        return false;
    }
    for (uint32_t i = 0; i < job->n_variables; i++) {
        char *variable = next_string(&at, end);
        if (variable == NULL) {
            return false;
        }
        putenv(variable);
    }
    o->command = calloc((size_t)job->n_words + 1, sizeof(*o->command));
    for (uint32_t i = 0; o->command != NULL && i < job->n_words; i++) {
        o->command[i] = next_string(&at, end);
    }
    o->n_pes = job->n_pes;
    o->first = job->first;
    o->count = job->count;
    o->is_threads = job->is_threads != 0;
    o->tags_output = job->tags_output != 0;
    return o->command != NULL && job->n_words > 0 && o->command[job->n_words - 1] != NULL;
}

bool gshmemrun_receive_job(int fd, struct gshmemrun_options *o)
{
    struct job job;
    /* never freed: environment and command point into the text */
    char *text = NULL;
    bool is_ok = read_all(fd, &job, sizeof(job)) && job.magic == JOB_MAGIC && job.n_words > 0 &&
                 job.n_words <= job.bytes && job.bytes <= JOB_MAX_BYTES && job.first >= 0 &&
                 job.count > 0 && job.n_pes > 0 && job.n_pes <= GSHMEMRUN_MAX_PES &&
                 job.count <= job.n_pes - job.first && (text = malloc(job.bytes)) != NULL &&
                 read_all(fd, text, job.bytes);
    if (!is_ok) {
        gshmemrun_say("--branch is for gshmemrun itself: no job came in");
        return false;
    }
    return take_job(o, &job, text);
}

/* ---- frames ---- */

void gshmemrun_send_frame(int fd, enum gshmemrun_frame kind, const void *data, size_t bytes)
{
    struct frame frame = {.kind = kind, .bytes = (uint32_t)bytes};
    if (fd < 0) {
        return;
    }
    gshmemrun_write_all(fd, &frame, sizeof(frame));
    gshmemrun_write_all(fd, data, bytes);
}

enum gshmemrun_event gshmemrun_next_frame(struct gshmemrun_frames *frames, int fd,
                                          enum gshmemrun_frame *kind, const void **payload,
                                          size_t *bytes)
{
    struct frame frame;
    if (frames->taken > 0) {
        frames->used -= frames->taken;
        memmove(frames->data, frames->data + frames->taken, frames->used);
        frames->taken = 0;
    }
    for (;;) {
        if (frames->used >= sizeof(frame)) {
            memcpy(&frame, frames->data, sizeof(frame));
            if (frame.bytes > FRAME_PAYLOAD) {
                return GSHMEMRUN_LAUNCHER_GONE; /* not from a launcher of ours */
            }
            if (frames->used >= sizeof(frame) + frame.bytes) {
                break;
            }
        }
        ssize_t n = read(fd, frames->data + frames->used, sizeof(frames->data) - frames->used);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            return GSHMEMRUN_LAUNCHER_GONE;
        }
        if (n < 0) {
            return GSHMEMRUN_NOTHING_YET;
        }
        frames->used += (size_t)n;
    }
    *kind = (enum gshmemrun_frame)frame.kind;
    *payload = frames->data + sizeof(frame);
    *bytes = frame.bytes;
    frames->taken = sizeof(frame) + frame.bytes;
    return GSHMEMRUN_FRAME;
}
