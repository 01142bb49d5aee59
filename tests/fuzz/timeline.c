/* SPDX-License-Identifier: Apache-2.0
 * What gshmemrun and gshmem-trace read of a timeline: parts that other processes have written,
 * with any head, chunks and slots, become a file that the reader takes, with slices that lie in
 * each other and end after they begin; and any file is summed up and drawn, or refused.
 *
 * The reader's source is included, so that it reads memory. */
#include "tests/fuzz/fuzz.h"

#include "tools/trace_summary.h"
#include "trace/clocks.h"
#include "trace/flows.h"
#include "trace/load.h"
#include "trace/perfetto.h"
#include "trace/read.c"
#include "trace/rows.h"
#include "wire/trace.h"

enum { CHUNKS = 2, PART_BYTES = GSH_TRACE_HEAD_BYTES + CHUNKS * GSH_TRACE_CHUNK_BYTES };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* Slices of a track lie in each other; a wait's arrow comes from a slice that begins one. */
static void check_slices(const struct gsh_told *told)
{
    for (size_t i = 0; i < told->n_slices; i++) {
        const struct gsh_told_slice *s = &told->slices[i];
        FUZZ_CHECK(s->track < told->n_tracks && s->begin_ns <= s->end_ns);
        FUZZ_CHECK(told->tracks[s->track].process < told->n_processes);
        FUZZ_CHECK(i == 0 || s->track != s[-1].track || s->begin_ns >= s[-1].begin_ns);
        FUZZ_CHECK(s->depth == 0 ||
                   (i > 0 && s->track == s[-1].track && s->depth <= s[-1].depth + 1));
    }
}

static void sum_up(const struct gsh_told *told, bool is_drawn)
{
    struct trace_summary s;
    if (trace_summarise(told, &s) == GSH_OK) {
        for (size_t i = 0; i < s.n_waits && i < TRACE_WAITS; i++) {
            (void)trace_cause(told, s.waits[i]);
        }
        if (is_drawn) {
            FUZZ_CHECK(trace_draw(told, &s, "/dev/null") == GSH_OK);
        }
        trace_summary_free(&s);
    }
}

static bool read_back(const void *data, size_t bytes, bool is_ours)
{
    struct gsh_told told = {0};
    struct bytes b = {data, (const uint8_t *)data + bytes};
    bool is_read = read_bytes("it", b, &told) == GSH_OK;
    if (is_read) {
        if (is_ours) {
            check_slices(&told);
        }
        sum_up(&told, true);
    }
    gsh_told_free(&told);
    return is_read;
}

/* ---- parts ---- */

/* Mostly small, so that what slots say fits together; else any. */
static uint64_t take_number(struct fuzz_input *in)
{
    uint64_t n = fuzz_take(in, 1);
    return n < 240 ? n : fuzz_take(in, 8);
}

static void take_slot(struct fuzz_input *in, struct gsh_trace_slot *slot)
{
    uint64_t begin = take_number(in);
    *slot = (struct gsh_trace_slot){.kind = (uint8_t)(fuzz_take(in, 1) % (GSH_TRACE_KINDS + 1)),
                                    .op = (uint8_t)fuzz_take(in, 1) % 24,
                                    .name = (uint16_t)fuzz_take(in, 1) % 8,
                                    .pe = (int32_t)take_number(in) % 4,
                                    .begin_ns = begin,
                                    .end_ns = begin + take_number(in),
                                    .bytes = take_number(in),
                                    .off = take_number(in),
                                    .word_off = take_number(in),
                                    .value = take_number(in),
                                    .seen = take_number(in)};
}

/* Returns how many slots of those left it has filled. */
static size_t take_slots(struct fuzz_input *in, struct gsh_trace_slot *slots, size_t n)
{
    take_slot(in, slots);
    uint64_t behind = slots->kind == GSH_TRACE_KERNEL
                          ? slots->bytes / 4 + 1
                          : slots->bytes / sizeof(*slots) + (slots->bytes % sizeof(*slots) != 0);
    bool has_more = slots->kind == GSH_TRACE_KERNEL || slots->kind == GSH_TRACE_NAME ||
                    slots->kind == GSH_TRACE_TRACK;
    if (!has_more || behind >= n) {
        return 1;
    }
    uint64_t *words = (uint64_t *)(slots + 1);
    for (uint64_t i = 0; slots->kind == GSH_TRACE_KERNEL && i < slots->bytes; i++) {
        words[2 * i] =
            (fuzz_take(in, 1) % 8) << 52 | (fuzz_take(in, 1) % 3) << 36 | fuzz_take(in, 1);
        words[2 * i + 1] = (fuzz_take(in, 1) & 3) << 48 | take_number(in);
    }
    if (slots->kind != GSH_TRACE_KERNEL) {
        fuzz_take_bytes(in, words, slots->bytes);
    }
    return (size_t)behind + 1;
}

static void take_part(struct fuzz_input *in, uint8_t *part, int pe)
{
    struct gsh_trace_head head = {.magic = GSH_TRACE_MAGIC,
                                  .pe = pe,
                                  .n_pes = 3,
                                  .job = fuzz_take(in, 1) % 2,
                                  .host = fuzz_take(in, 1) % 2,
                                  .begin_ns = take_number(in),
                                  .has_device_clock = fuzz_take(in, 1) % 2,
                                  .host_name = "host"};
    memset(part, 0, PART_BYTES);
    if (fuzz_take(in, 1) == 255) {
        fuzz_take_bytes(in, &head, sizeof(head));
    }
    memcpy(part, &head, sizeof(head));
    for (int c = 0; c < CHUNKS; c++) {
        struct gsh_trace_slot *slots =
            (void *)(part + GSH_TRACE_HEAD_BYTES + (size_t)c * GSH_TRACE_CHUNK_BYTES);
        const struct gsh_trace_chunk chunk = {.magic = GSH_TRACE_MAGIC,
                                              .track = (uint32_t)fuzz_take(in, 1)};
        memcpy(slots, &chunk, sizeof(chunk));
        size_t n = fuzz_take(in, 1) % 32;
        for (size_t i = 1; n > 0 && in->bytes > 0 && i < GSH_TRACE_CHUNK_SLOTS; n--) {
            i += take_slots(in, slots + i, GSH_TRACE_CHUNK_SLOTS - i);
        }
    }
}

static void fuzz_parts(struct fuzz_input *in)
{
    static uint64_t part[PART_BYTES / sizeof(uint64_t)];
    struct gsh_timeline t = {0};
    char *data = NULL;
    size_t bytes = 0;
    int n = (int)(fuzz_take(in, 1) % 3) + 1;
    for (int pe = 0; pe < n; pe++) {
        take_part(in, (uint8_t *)part, pe);
        size_t cut = fuzz_take(in, 1) == 255 ? fuzz_take(in, 3) % PART_BYTES : PART_BYTES;
        (void)gsh_timeline_load(&t, part, cut);
    }
    if (t.n_parts > 0) {
        FILE *out = open_memstream(&data, &bytes);
        FUZZ_CHECK(out != NULL);
        gsh_timeline_set_clocks(&t);
        FUZZ_CHECK(gsh_timeline_set_rows(&t) == GSH_OK);
        FUZZ_CHECK(gsh_timeline_find_flows(&t) == GSH_OK);
        FUZZ_CHECK(gsh_perfetto_write(&t, out) == GSH_OK);
        fclose(out);
        FUZZ_CHECK(read_back(data, bytes, true));
        free(data);
    }
    gsh_timeline_free(&t);
}

/* First byte: whether the rest makes parts, or is a file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    if (fuzz_take(&in, 1) % 2 == 0) {
        fuzz_parts(&in);
    } else {
        (void)read_back(in.data, in.bytes, false);
    }
    return 0;
}
