/* SPDX-License-Identifier: Apache-2.0
 * Whatever records processes send for a hang report: those that are taken are within their bounds,
 * the analysis ends and names a PE of the job or none, and the report is text and one line of JSON.
 * An input is a list of records: kind, way and PE, then a number of changes to one that is sound.
 */
#include "tests/fuzz/fuzz.h"

#include "hang/analyse.h"
#include "hang/print.h"

#define PES     6
#define RECORDS 64
#define WAYS    3

static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL;
}

static struct gsh_hang_record sound_record(int kind, int pe)
{
    struct gsh_hang_record r = {.magic = GSH_HANG_MAGIC, .kind = kind, .job = 1, .pe = pe};
    if (kind == GSH_HANG_PE || kind == GSH_HANG_ABSENT) {
        r.about = (struct gsh_hang_pe){
            .pe = pe, .n_pes = PES, .n_nodes = 2, .node = pe % 2, .host = "host", .device = "cpu"};
    } else if (kind == GSH_HANG_PEERS) {
        r.peers.first = pe;
        r.peers.n = 1;
    } else {
        r.wait = (struct gsh_hang_wait){.what = 1 + pe % 4,
                                        .other = (pe + 1) % PES,
                                        .holder = -1,
                                        .team = -1,
                                        .copy_pe = -1,
                                        .n_threads = 1,
                                        .n_words = 1,
                                        .call = "gshmem_call"};
    }
    return r;
}

static struct gsh_hang_record next_record(struct fuzz_input *in)
{
    uint8_t head = (uint8_t)fuzz_take(in, 1), changes = (uint8_t)fuzz_take(in, 1) % 8;
    struct gsh_hang_record r = sound_record(head % 7, head / 7 % PES);
    for (; changes > 0; changes--) {
        size_t at = fuzz_take(in, 1) * 4 % sizeof(r);
        uint32_t value = (uint32_t)fuzz_take(in, 4);
        memcpy((char *)&r + at, &value, sizeof(value));
    }
    return r;
}

static void check_json(const struct gsh_hang_job *job)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    FUZZ_CHECK(out != NULL);
    gsh_hang_print_json(out, job);
    FUZZ_CHECK(fclose(out) == 0 && bytes > 0 && strchr(text, '\n') == text + bytes - 1);
    for (size_t i = 0; i + 1 < bytes; i++) {
        FUZZ_CHECK(text[i] >= ' ' && text[i] < 0x7f);
    }
    free(text);
}

static void check_job(const struct gsh_hang_job *job)
{
    struct gsh_hang_cause cause;
    gsh_hang_analyse(job, &cause);
    FUZZ_CHECK(memchr(cause.text, '\0', sizeof(cause.text)) != NULL && cause.text[0] != '\0');
    FUZZ_CHECK(cause.pe >= -1 && cause.pe < job->n_pes);
    FUZZ_CHECK(cause.verdict == GSH_HANG_NO_WAIT || cause.pe >= 0);
    for (int i = 1; i < job->n_waits; i++) {
        FUZZ_CHECK(job->waits[i - 1].pe <= job->waits[i].pe);
    }
    gsh_hang_print_text(nowhere, job);
    check_json(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    struct gsh_hang_job job = {.job = 1};
    int left_out[WAYS] = {-1, -1, -1};
    for (int i = 0; i < RECORDS && in.bytes > 0; i++) {
        int way = (int)(fuzz_take(&in, 1) % WAYS);
        struct gsh_hang_record r = next_record(&in);
        if (gsh_hang_is_sound(&r, sizeof(r)) && r.job == job.job &&
            (job.members != NULL || r.about.n_pes <= 1024)) {
            (void)gsh_hang_take(&job, &r, &left_out[way]);
        }
    }
    if (job.members != NULL) {
        check_job(&job);
    }
    gsh_hang_free(&job);
    return 0;
}
