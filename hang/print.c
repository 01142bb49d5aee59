/* SPDX-License-Identifier: Apache-2.0
 * See print.h. */
#include "hang/print.h"

#include <inttypes.h>
#include <string.h>
#include "base/util.h"
#include "hang/analyse.h"

/* ---- text ---- */

/* "block 0", "blocks 0-15", "blocks (0,0,0)-(3,1,0)" */
static void print_range(FILE *out, const char *what, const uint32_t first[3],
                        const uint32_t last[3])
{
    bool is_one = memcmp(first, last, 3 * sizeof(first[0])) == 0;
    bool is_flat = first[1] == 0 && first[2] == 0 && last[1] == 0 && last[2] == 0;
    fprintf(out, is_one ? "%s " : "%ss ", what);
    if (is_flat) {
        fprintf(out, is_one ? "%u" : "%u-%u", first[0], last[0]);
    } else if (is_one) {
        fprintf(out, "(%u,%u,%u)", first[0], first[1], first[2]);
    } else {
        fprintf(out, "(%u,%u,%u)-(%u,%u,%u)", first[0], first[1], first[2], last[0], last[1],
                last[2]);
    }
}

static void print_wait(FILE *out, const struct gsh_hang_wait *w)
{
    char text[320];
    gsh_hang_word_wait(w, text, sizeof(text));
    fprintf(out, "    ");
    if (w->is_host) {
        fprintf(out, "host thread %u", w->first_thread[0]);
    } else {
        print_range(out, "block", w->first_block, w->last_block);
        fprintf(out, ", ");
        print_range(out, "thread", w->first_thread, w->last_thread);
        if (w->n_threads > 1) {
            fprintf(out, " (%u threads)", w->n_threads);
        }
    }
    fprintf(out, ", since %.1f s, in %s\n", (double)w->waited_ns / 1e9, text);
}

static void print_requests(FILE *out, const struct gsh_hang_pe *about)
{
    if (about->n_requests <= 0) {
        return;
    }
    fprintf(out, ", %" PRId64 " requests to far PEs not done, the oldest, %s", about->n_requests,
            about->oldest);
    if (about->oldest_pe >= 0) {
        fprintf(out, " of PE %d", about->oldest_pe);
    }
    fprintf(out, ", since %.1f s", (double)about->oldest_ns / 1e9);
}

static void print_posted(FILE *out, const struct gsh_hang_pe *about)
{
    if (about->n_posted <= 0) {
        return;
    }
    fprintf(out,
            ", %" PRId64 " entr%s of its kernels not done by the NIC, the oldest, %s of PE %d, for "
            "at least %.1f s",
            about->n_posted, about->n_posted == 1 ? "y" : "ies", about->posted, about->posted_pe,
            (double)about->posted_ns / 1e9);
}

static void print_member(FILE *out, const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_member *m = &job->members[pe];
    char silence[160];
    if (m->answer != GSH_HANG_ANSWERED) {
        gsh_hang_word_silence(m, silence, sizeof(silence));
        fprintf(out, "  PE %d %s\n", pe, silence);
        return;
    }
    fprintf(out, "  PE %d, process %d of %s, node %d, %s", pe, m->about.os_pid, m->about.host,
            m->about.node, m->about.device);
    if (m->about.n_unfinished >= 0) {
        fprintf(out, ", %" PRId64 " piece%s of work left on its streams", m->about.n_unfinished,
                GSH_PLURAL(m->about.n_unfinished));
    }
    if (m->about.n_waiting > 0) {
        fprintf(out, ", %" PRId64 " of them not begun", m->about.n_waiting);
    }
    print_requests(out, &m->about);
    print_posted(out, &m->about);
    fprintf(out, "%s%s\n", m->about.is_held != 0 ? ", whose GPU does not answer" : "",
            m->about.is_ending != 0 ? ", whose job is ending" : "");
    int n = 0;
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe) {
            print_wait(out, &job->waits[i].wait);
            n++;
        }
    }
    if (n == 0) {
        fprintf(out, "    does not wait in gshmem\n");
    }
    if (m->about.n_missed > 0) {
        fprintf(out, "    and at least %u thread%s more, for which the table has no room\n",
                m->about.n_missed, GSH_PLURAL(m->about.n_missed));
    }
}

void gsh_hang_print_text(FILE *out, const struct gsh_hang_job *job)
{
    struct gsh_hang_cause cause;
    gsh_hang_analyse(job, &cause);
    fprintf(out, "gshmem: job %08" PRIx64 " of %d PE%s: what waits\n", job->job, job->n_pes,
            GSH_PLURAL(job->n_pes));
    for (int i = 0; i < job->n_pes; i++) {
        print_member(out, job, i);
    }
    fprintf(out, "gshmem: cause: %s\n", cause.text);
}

char *gsh_hang_text(const struct gsh_hang_job *job)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    gsh_hang_print_text(out, job);
    return fclose(out) == 0 ? text : NULL;
}

/* ---- JSON ---- */

static void print_string(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\":\"", name);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c < 0x20 || c >= 0x7f) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static void print_index(FILE *out, const char *name, const uint32_t at[3])
{
    fprintf(out, ",\"%s\":[%u,%u,%u]", name, at[0], at[1], at[2]);
}

static void print_json_wait(FILE *out, const struct gsh_hang_wait *w)
{
    static const char *const whats[] = {"", "word", "arrival", "lock", "network", "peer", "driver"};
    static const char *const cmps[] = {"==", "!=", ">", "<=", "<", ">="};
    static const char *const sites[] = {"elsewhere", "allocation", "globals", "library"};
    fputc('{', out);
    print_string(out, "for", whats[w->what]);
    fputc(',', out);
    print_string(out, "call", w->call);
    fputc(',', out);
    print_string(out, "file", w->line > 0 ? w->file : "");
    fprintf(out, ",\"line\":%u", w->line);
    fprintf(out, ",\"seconds\":%.3f,\"threads\":%u", (double)w->waited_ns / 1e9, w->n_threads);
    if (w->is_host) {
        fprintf(out, ",\"host_thread\":%u", w->first_thread[0]);
    } else {
        print_index(out, "first_block", w->first_block);
        print_index(out, "last_block", w->last_block);
        print_index(out, "first_thread", w->first_thread);
        print_index(out, "last_thread", w->last_thread);
    }
    if (w->what != GSH_HANG_ARRIVAL) {
        fprintf(out, ",\"address\":%" PRIu64 ",", w->address);
        print_string(out, "site", sites[w->site]);
        fprintf(out, ",\"allocation\":%d,\"offset\":%" PRIu64 ",", w->object, w->object_off);
        print_string(out, "made_at", w->made_at);
    } else {
        fprintf(out,
                ",\"team\":%d,\"channel\":%d,\"team_pes\":%d,\"team_first\":%d,"
                "\"team_stride\":%d",
                w->team, w->channel, w->team_pes, w->team_first, w->team_stride);
    }
    if (w->what == GSH_HANG_WORD) {
        fprintf(out, ",\"words\":%u,", w->n_words);
        print_string(out, "comparison", cmps[w->cmp]);
    }
    fprintf(out, ",\"expected\":%" PRId64 ",\"seen\":%" PRId64 ",\"pe\":%d", (int64_t)w->expected,
            (int64_t)w->seen, w->other);
    if (w->what == GSH_HANG_LOCK) {
        fprintf(out, ",\"holder\":%d", w->holder);
    }
    fputc('}', out);
}

static void print_json_oldest(FILE *out, const char *key, const char *name, int pe, uint64_t ns)
{
    fprintf(out, ",\"%s\":{", key);
    print_string(out, "name", name);
    fprintf(out, ",\"pe\":%d,\"seconds\":%.3f}", pe, (double)ns / 1e9);
}

static void print_json_member(FILE *out, const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_member *m = &job->members[pe];
    static const char *const answers[] = {"unknown", "silent", "answered"};
    int n = 0;
    fprintf(out, "%s{\"pe\":%d,", pe > 0 ? "," : "", pe);
    print_string(out, "state", answers[m->answer]);
    if (m->answer == GSH_HANG_ANSWERED) {
        fprintf(out,
                ",\"process\":%d,\"node\":%d,\"work\":%" PRId64 ",\"not_begun\":%" PRId64
                ",\"missed\":%u,",
                m->about.os_pid, m->about.node, m->about.n_unfinished, m->about.n_waiting,
                m->about.n_missed);
        print_string(out, "host", m->about.host);
        fputc(',', out);
        print_string(out, "device", m->about.device);
        fprintf(out, ",\"gpu_answers\":%s", m->about.is_held != 0 ? "false" : "true");
        fprintf(out, ",\"is_ending\":%s", m->about.is_ending != 0 ? "true" : "false");
        fprintf(out, ",\"requests\":%" PRId64, m->about.n_requests);
        if (m->about.n_requests > 0) {
            print_json_oldest(out, "oldest_request", m->about.oldest, m->about.oldest_pe,
                              m->about.oldest_ns);
        }
        fprintf(out, ",\"nic_entries\":%" PRId64, m->about.n_posted);
        if (m->about.n_posted > 0) {
            print_json_oldest(out, "oldest_nic_entry", m->about.posted, m->about.posted_pe,
                              m->about.posted_ns);
        }
    } else if (m->os_pid > 0) {
        fprintf(out, ",\"process\":%d", m->os_pid);
    }
    fprintf(out, ",\"waits\":[");
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe) {
            fprintf(out, "%s", n++ > 0 ? "," : "");
            print_json_wait(out, &job->waits[i].wait);
        }
    }
    fprintf(out, "]}");
}

void gsh_hang_print_silence_json(FILE *out, int os_pid)
{
    fprintf(out, "{\"version\":1,\"silent_process\":%d}\n", os_pid);
}

void gsh_hang_print_json(FILE *out, const struct gsh_hang_job *job)
{
    static const char *const verdicts[] = {"none", "lost", "cycle", "first", "unsent", "own"};
    struct gsh_hang_cause cause;
    gsh_hang_analyse(job, &cause);
    fprintf(out, "{\"version\":1,\"job\":\"%08" PRIx64 "\",\"n_pes\":%d,\"launcher\":%d,\"pes\":[",
            job->job, job->n_pes, job->launcher);
    for (int i = 0; i < job->n_pes; i++) {
        print_json_member(out, job, i);
    }
    fprintf(out, "],\"verdict\":{");
    print_string(out, "kind", verdicts[cause.verdict]);
    fprintf(out, ",\"pe\":%d,", cause.pe);
    print_string(out, "text", cause.text);
    fprintf(out, "}}\n");
}
