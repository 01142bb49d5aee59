/* SPDX-License-Identifier: Apache-2.0
 * What the launcher is told: any command line and list of hosts; any job and frames on a branch's
 * standard input; any output of a process, marks of a branch among it. PEs are shared out whole, a
 * job arrives as it was sent, and output is neither lost nor added to.
 *
 * The launcher's sources are included, so that their exit comes back here, what they leave to the
 * process's end is freed, and they say nothing. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <setjmp.h>
#include <unistd.h>

__attribute__((noreturn)) static void fuzz_exit(int status);
static void *fuzz_realloc(void *old, size_t bytes);
static void *fuzz_calloc(size_t n, size_t bytes);
static char *fuzz_strdup(const char *text);
static void fuzz_free(void *p);
static FILE *nowhere;

#include <stdlib.h>
#include <string.h>
#define exit            fuzz_exit
#define malloc(n)       fuzz_realloc(NULL, n)
#define realloc(p, n)   fuzz_realloc(p, n)
#define calloc(n, size) fuzz_calloc(n, size)
#define strdup(text)    fuzz_strdup(text)
#define free(p)         fuzz_free(p)
#define chdir(path)     ((path) == NULL)
#define putenv(text)    ((void)(text))
#undef stdout
#undef stderr
#define stdout nowhere
#define stderr nowhere
#include "tools/gshmemrun_hosts.c"
#include "tools/gshmemrun_options.c"
#include "tools/gshmemrun_output.c"
#undef exit
#undef malloc
#undef realloc
#undef calloc
#undef strdup
#undef free
#undef stdout
#undef stderr
extern FILE *stdout, *stderr;

#define MAX_WORDS  16
#define MAX_HELD   4096
#define MOST_BYTES (1u << 20) /* of memory at once: more is refused */
#define TAG        7

static jmp_buf ended;
static void *held[MAX_HELD];
static int n_held;

/* ---- for the launcher ---- */

static void fuzz_exit(int status)
{
    FUZZ_CHECK(status == 0 || status == 1 || status == GSHMEMRUN_USAGE ||
               status == GSHMEMRUN_CANNOT_RUN || status == GSHMEMRUN_NOT_FOUND);
    longjmp(ended, 1);
}

static void fuzz_free(void *p)
{
    for (int i = 0; i < n_held; i++) {
        if (held[i] == p) {
            held[i] = held[--n_held];
            break;
        }
    }
    free(p);
}

static void *fuzz_realloc(void *old, size_t bytes)
{
    void *p = bytes <= MOST_BYTES && n_held < MAX_HELD ? malloc(bytes) : NULL;
    if (p == NULL) {
        return NULL;
    }
    if (old != NULL) {
        free(p);
        for (int i = 0; i < n_held; i++) {
            if (held[i] == old) {
                held[i] = held[--n_held];
                break;
            }
        }
        p = realloc(old, bytes);
        FUZZ_CHECK(p != NULL);
    }
    return held[n_held++] = p;
}

static void *fuzz_calloc(size_t n, size_t bytes)
{
    size_t all;
    void *p = __builtin_mul_overflow(n, bytes, &all) ? NULL : fuzz_realloc(NULL, all);
    return p != NULL ? memset(p, 0, all) : NULL;
}

static char *fuzz_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = fuzz_realloc(NULL, n);
    FUZZ_CHECK(p != NULL);
    return memcpy(p, text, n);
}

/* ---- ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    clearenv();
    setenv("PATH", "/bin:", 1);
    setenv("GSHMEM_DEVICE", "cpu", 1);
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL;
}

/* A pipe that holds these bytes and ends there; returns its end for reading. */
static int pipe_of(const void *data, size_t n, int *to)
{
    int ends[2];
    FUZZ_CHECK(pipe2(ends, O_NONBLOCK) == 0);
    FUZZ_CHECK(n == 0 || write(ends[1], data, n) == (ssize_t)n);
    if (to != NULL) {
        *to = ends[1];
    } else {
        close(ends[1]);
    }
    return ends[0];
}

static void check_hosts(const struct gshmemrun_options *o)
{
    int next = 0;
    for (int i = 0; i < o->n_hosts; i++) {
        FUZZ_CHECK(o->hosts[i].first == next && o->hosts[i].count >= 1);
        FUZZ_CHECK(o->hosts[i].name[0] != '\0' && o->hosts[i].name[0] != '-');
        next += o->hosts[i].count;
    }
    FUZZ_CHECK(o->n_hosts >= 1 && next == o->n_pes);
}

/* What a branch on the last host gets. */
static void check_job(const struct gshmemrun_options *o)
{
    static struct gshmemrun_options there;
    int to, from = pipe_of(NULL, 0, &to), host = o->n_hosts - 1;
    FUZZ_CHECK(gshmemrun_send_job(to, o, host));
    close(to);
    memset(&there, 0, sizeof(there));
    FUZZ_CHECK(gshmemrun_receive_job(from, &there));
    close(from);
    FUZZ_CHECK(there.n_pes == o->n_pes && there.first == o->hosts[host].first);
    FUZZ_CHECK(there.count == o->hosts[host].count && there.tags_output == o->tags_output);
    int i = 0;
    for (; o->command[i] != NULL; i++) {
        FUZZ_CHECK(strcmp(o->command[i], there.command[i]) == 0);
    }
    FUZZ_CHECK(there.command[i] == NULL);
}

/* Words, one a line. */
static void fuzz_words(struct fuzz_input *in)
{
    static struct gshmemrun_options o;
    char *text = fuzz_take_text(in), *words[MAX_WORDS + 2] = {"gshmemrun"};
    int n = 1;
    char *rest = text;
    for (char *word = strsep(&rest, "\n"); word != NULL && n <= MAX_WORDS;
         word = strsep(&rest, "\n")) {
        words[n++] = word;
    }
    memset(&o, 0, sizeof(o));
    optind = 0; /* the C library begins again */
    if (!(n == 2 && strcmp(words[1], "--branch") == 0) && setjmp(ended) == 0) {
        gshmemrun_parse(n, words, &o);
        FUZZ_CHECK(o.n_pes >= 1 && o.command[0] != NULL);
        if (o.hosts_text != NULL) {
            check_hosts(&o);
            char **command = gshmemrun_agent_command(&o, 0);
            for (int i = 0; command[i] != NULL; i++) {
                FUZZ_CHECK(strlen(command[i]) < MOST_BYTES);
            }
            check_job(&o);
        } else {
            FUZZ_CHECK(o.n_pes <= 100000 && o.count == o.n_pes && o.path[0] != '\0');
        }
    }
    free(text);
}

static void fuzz_job(struct fuzz_input *in)
{
    static struct gshmemrun_options o;
    int from = pipe_of(in->data, in->bytes, NULL);
    memset(&o, 0, sizeof(o));
    if (gshmemrun_receive_job(from, &o)) {
        FUZZ_CHECK(o.first >= 0 && o.count >= 1 && o.n_pes - o.first >= o.count);
        int n = 0;
        while (o.command[n] != NULL) {
            FUZZ_CHECK(strlen(o.command[n]) < MOST_BYTES);
            n++;
        }
        FUZZ_CHECK(n >= 1);
    }
    close(from);
}

static void fuzz_frames(struct fuzz_input *in)
{
    static struct gshmemrun_frames frames;
    enum gshmemrun_frame kind;
    static char copy[sizeof(frames.data)];
    const void *payload;
    size_t bytes, all = 0;
    int from = pipe_of(in->data, in->bytes, NULL);
    frames.used = frames.taken = 0;
    while (gshmemrun_next_frame(&frames, from, &kind, &payload, &bytes) == GSHMEMRUN_FRAME) {
        all += bytes;
        memcpy(copy, payload, bytes);
        FUZZ_CHECK(all <= in->bytes);
    }
    close(from);
}

/* Without the tags in it; returns how many bytes are left. */
static size_t strip(char *text, size_t n)
{
    char *tag;
    while ((tag = memmem(text, n, "[7] ", 4)) != NULL) {
        memmove(tag, tag + 4, (size_t)(text + n - tag) - 4);
        n -= 4;
    }
    return n;
}

/* First byte: bit 0, lines get a tag. Then pieces, each after a byte with its length. */
static void fuzz_output(struct fuzz_input *in)
{
    static struct gshmemrun_stream s;
    static char said[1 << 14], shown[1 << 16];
    size_t n_said = 0;
    int to, shown_from, shown_to;
    bool is_tagged = fuzz_take(in, 1) & 1;
    if (in->bytes > sizeof(said) / 2) {
        return;
    }
    memset(&s, 0, sizeof(s));
    s.fd = pipe_of(NULL, 0, &to);
    shown_from = pipe_of(NULL, 0, &shown_to);
    s.to = shown_to;
    s.tag = is_tagged ? TAG : -1;
    s.takes_marks = true;
    s.mark = GSHMEMRUN_NO_MARK;
    while (in->bytes > 0) {
        size_t n = gsh_min_u64(fuzz_take(in, 1), in->bytes);
        fuzz_take_bytes(in, said + n_said, n);
        FUZZ_CHECK(n == 0 || write(to, said + n_said, n) == (ssize_t)n);
        n_said += n;
        gshmemrun_read_stream(&s);
    }
    close(to);
    gshmemrun_drain_stream(&s);
    FUZZ_CHECK(s.fd == -1);
    close(shown_to);
    ssize_t n_read = read(shown_from, shown, sizeof(shown));
    size_t n_shown = n_read > 0 ? (size_t)n_read : 0;
    close(shown_from);
    FUZZ_CHECK(n_shown <= (n_said + 1) * (is_tagged ? 6 : 1));
    if (memmem(said, n_said, MARK, strlen(MARK)) == NULL) {
        bool had_end = n_said == 0 || said[n_said - 1] == '\n' || said[n_said - 1] == '\r';
        said[n_said] = '\n';
        n_said = strip(said, n_said + !had_end);
        n_shown = strip(shown, n_shown);
        FUZZ_CHECK(n_shown == n_said && memcmp(said, shown, n_said) == 0);
    }
}

/* First byte: what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    switch (fuzz_take(&in, 1) % 4) {
    case 0:
        fuzz_words(&in);
        break;
    case 1:
        fuzz_job(&in);
        break;
    case 2:
        fuzz_frames(&in);
        break;
    default:
        fuzz_output(&in);
    }
    gshmemrun_name = "gshmemrun"; /* a job brings another */
    while (n_held > 0) {
        free(held[--n_held]);
    }
    return 0;
}
