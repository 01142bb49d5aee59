/* SPDX-License-Identifier: Apache-2.0
 * The timeline's steps after the job: calls that know an address alone concern whose memory it is;
 * clocks of two hosts and of a GPU become one within the error that the file states, what a NIC was
 * given ends when its completion was seen first, events of kernels become calls, also around a
 * loss, a part that was cut anywhere is read as far as it goes, a file that is none is refused, and
 * what found no room in a part is counted, with the reason. */
#include <glob.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/log.h"
#include "gshmem/types.h"
#include "tests/test.h"
#include "trace/clocks.h"
#include "trace/flows.h"
#include "trace/kernel_events.h"
#include "trace/load.h"
#include "trace/memories.h"
#include "trace/merge.h"
#include "trace/posts.h"
#include "trace/read.h"
#include "trace/record.h"
#include "wire/trace.h"

/* ---- whose memory ---- */

/* PE 1's memory 7 lies at 0x9000 there, outside of its heap, and is mapped at 0x500 here, before
 * the heap. Its memory 8 is in its heap. */
static void test_memories(void)
{
    const struct gsh_trace_head heads[2] = {
        {.pe = 0, .n_pes = 2, .heap_base = 0x1000, .heap_bytes = 0x100},
        {.pe = 1, .n_pes = 2, .heap_base = 0x2000, .heap_bytes = 0x100}};
    struct gsh_timeline_part parts[2] = {{.head = heads[0]}, {.head = heads[1]}};
    const uint64_t none = GSH_TRACE_NONE, of_7 = 0x9000 - 0x2000 + 8;
    struct gsh_timeline_item items[] = {
        {.part = 1, .slot = {GSH_TRACE_MEMORY, 1, .off = 0x9000, .bytes = 64, .value = 7}},
        {.part = 1, .slot = {GSH_TRACE_MEMORY, 1, .off = 0x2010, .bytes = 64, .value = 8}},
        {.part = 0, .slot = {GSH_TRACE_MEMORY, 0, .off = 0x500, .bytes = 64, .value = 7}},
        /* by its address, less the base, in 48 bits; one that nobody has told of; by its number */
        {.slot = {GSH_TRACE_CALL, GSH_TRACE_OP_ADD, .pe = GSH_TRACE_PE_BY_ADDRESS_OF, .off = none,
                  .word_off = (0x508 - UINT64_C(0x1000)) & UINT64_C(0xffffffffffff)}},
        {.slot = {GSH_TRACE_CALL, GSH_TRACE_OP_ADD, .pe = GSH_TRACE_PE_BY_ADDRESS_OF, .off = 0x30,
                  .word_off = 0x40}},
        {.slot = {GSH_TRACE_CALL, .pe = GSH_TRACE_PE_BY_MEMORY, .off = 8, .word_off = none,
                  .seen = 8}},
        {.slot = {GSH_TRACE_CALL, .pe = GSH_TRACE_PE_BY_MEMORY, .off = 8, .word_off = none,
                  .seen = 7}},
        {.slot = {GSH_TRACE_CALL, .pe = GSH_TRACE_PE_BY_MEMORY, .off = 64, .word_off = none,
                  .seen = 8}},
        {.slot = {GSH_TRACE_CALL, .pe = 1, .off = 0x30, .word_off = none}}};
    const struct {
        int32_t pe;
        uint64_t off, word_off;
    } wanted[] = {{1, none, of_7}, {-1, none, none}, {1, 0x18, none},
                  {1, none, none}, {-1, none, none}, {1, 0x30, none}};
    struct gsh_timeline t = {.parts = parts, .n_parts = 2, .items = items, .n_items = 9};
    CHECK_EQ(gsh_timeline_find_memories(&t), GSH_OK);
    for (int i = 0; i < 6; i++) {
        const struct gsh_trace_slot *s = &items[i + 3].slot;
        CHECK_EQ(s->pe, wanted[i].pe);
        CHECK_EQ(s->off, wanted[i].off);
        CHECK_EQ(s->word_off, wanted[i].word_off);
    }
}

/* ---- clocks ---- */

#define SECOND UINT64_C(1000000000)

/* The other host's clock is 5 s ahead and runs 20 ppm fast. */
static uint64_t theirs(uint64_t ns)
{
    return ns + 5 * SECOND + (uint64_t)((double)ns * 20e-6);
}

static void add_rounds(struct gsh_clock_round rounds[2][8])
{
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t at = i < 4 ? SECOND + i * 100000 : 101 * SECOND + i * 100000;
        uint64_t late = 2000 + 1000 * (i % 3); /* nobody leaves before all have entered */
        rounds[0][i] = (struct gsh_clock_round){i, at, at + late + 3000};
        rounds[1][i] = (struct gsh_clock_round){i, theirs(at + late), theirs(at + late + 2500)};
    }
}

static void test_clocks(void)
{
    struct gsh_clock_round rounds[2][8];
    add_rounds(rounds);
    struct gsh_timeline_part parts[2] = {
        {.head = {.host = 1, .n_pes = 2}, .rounds = rounds[0], .n_rounds = 8},
        {.head = {.host = 2, .pe = 1, .n_pes = 2}, .rounds = rounds[1], .n_rounds = 8}};
    struct gsh_timeline_item items[3];
    for (int i = 0; i < 3; i++) {
        uint64_t at = (uint64_t)(i + 1) * 30 * SECOND;
        items[i] = (struct gsh_timeline_item){
            .part = 1, .slot = {.begin_ns = theirs(at), .end_ns = theirs(at + 1000)}};
    }
    struct gsh_timeline t = {.parts = parts, .n_parts = 2, .items = items, .n_items = 3};
    gsh_timeline_set_clocks(&t);
    CHECK(parts[1].clock.error_ns > 0 && parts[1].clock.error_ns < 6000);
    for (int i = 0; i < 3; i++) {
        double off = (double)(int64_t)(items[i].slot.begin_ns - (uint64_t)(i + 1) * 30 * SECOND);
        CHECK(off <= parts[1].clock.error_ns && -off <= parts[1].clock.error_ns);
    }
    CHECK(parts[0].clock.error_ns == 0);
}

/* A GPU's clock counts from another time; the host's looks are 50 us apart. */
static void test_device_clock(void)
{
    struct gsh_clock_round rounds[6];
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t at = SECOND + i * 20000000;
        rounds[i] =
            (struct gsh_clock_round){at + 77 * SECOND, at - 7000 * (6 - i), at + 5000 * (i + 1)};
    }
    struct gsh_timeline_part part = {.head = {.host = 1, .n_pes = 1, .has_device_clock = 1},
                                     .device_rounds = rounds,
                                     .n_device_rounds = 6};
    struct gsh_timeline_item item = {
        .is_device_time = true,
        .slot = {.begin_ns = 78 * SECOND + 30000000, .end_ns = 78 * SECOND + 30000000}};
    struct gsh_timeline t = {.parts = &part, .n_parts = 1, .items = &item, .n_items = 1};
    gsh_timeline_set_clocks(&t);
    double off = (double)(int64_t)(item.slot.begin_ns - SECOND - 30000000);
    CHECK(part.device_clock.error_ns < 50000);
    CHECK(off <= part.device_clock.error_ns && -off <= part.device_clock.error_ns);
}

/* ---- events of kernels ---- */

static struct {
    int n;
    struct gsh_trace_slot last;
    char name[16];
} taken;

static void take(void *context, const struct gsh_trace_slot *call, const char *name,
                 uint32_t thread)
{
    (void)context, (void)thread;
    taken.n++;
    taken.last = *call;
    snprintf(taken.name, sizeof(taken.name), "%s", name);
}

static void feed(struct gsh_kernel_events *k, uint64_t kind, uint64_t payload, uint64_t ns,
                 uint64_t n_lost)
{
    uint64_t event[2] = {kind << 52 | GSH_TRACE_EVENT_TIME(ns), payload};
    struct gsh_trace_slot slot = {
        .kind = GSH_TRACE_KERNEL, .bytes = 1, .end_ns = ns + 1000, .value = n_lost};
    gsh_kernel_events_take(k, &slot, event, take, NULL);
}

static void test_kernel_events(void)
{
    struct gsh_kernel_events *k = gsh_kernel_events_create();
    const uint64_t late = (UINT64_C(3) << 36) + 12345; /* more than an event's time holds */
    CHECK(k != NULL && gsh_kernel_events_name(k, 0x7000, "put"));
    feed(k, GSH_TRACE_EVENT_BEGIN, 0x7000, late, 0);
    feed(k, GSH_TRACE_EVENT_TO, 5 | 640 << 20, late, 0);
    feed(k, GSH_TRACE_EVENT_END, 0, late + 500, 0);
    CHECK_EQ(taken.n, 1);
    CHECK_EQ(taken.last.begin_ns, late);
    CHECK_EQ(taken.last.end_ns, late + 500);
    CHECK_EQ(taken.last.pe, 5);
    CHECK_EQ(taken.last.bytes, 640);
    CHECK_STR(taken.name, "put");
    feed(k, GSH_TRACE_EVENT_BEGIN, 0x7000, late + 600, 0); /* its end is lost, and so is a start */
    feed(k, GSH_TRACE_EVENT_END, 0, late + 700, 9);
    CHECK_EQ(taken.n, 2);
    CHECK_EQ(taken.last.end_ns, late + 600);
    feed(k, GSH_TRACE_EVENT_BEGIN, 0x7000 | (uint64_t)GSH_TRACE_EVENT_WAIT << 48, late + 800, 0);
    feed(k, GSH_TRACE_EVENT_WORD,
         64 | (uint64_t)(GSH_TRACE_OP_AWAIT + GSHMEM_CMP_LT + GSH_TRACE_EVENT_WORD_4) << 48,
         late + 800, 0);
    feed(k, GSH_TRACE_EVENT_END, (UINT64_C(1) << 56) - 3, late + 900, 0);
    CHECK_EQ(taken.last.kind, GSH_TRACE_WAIT);
    CHECK_EQ(taken.last.op, GSH_TRACE_OP_AWAIT + GSHMEM_CMP_LT);
    CHECK_EQ(taken.last.off, 4);
    CHECK_EQ((int64_t)taken.last.seen, -3);
    gsh_kernel_events_destroy(k);
}

/* ---- what a NIC was given ---- */

/* Queue 3 of PE 0: position 2 is seen complete at 50 by its own completion, position 3
 * at 70 by that of position 4, and position 6 by nobody. Neither queue 4 nor PE 1's
 * queue 3 says anything of it. An entry does not end before it begins. */
static void test_posts(void)
{
    struct gsh_timeline_part parts[2] = {{.head = {.n_pes = 2}}, {.head = {.pe = 1, .n_pes = 2}}};
    struct gsh_timeline_item items[] = {
        {.slot = {GSH_TRACE_POST, .word_off = 3, .value = 6, .begin_ns = 30, .end_ns = 31}},
        {.slot = {GSH_TRACE_POST, .word_off = 3, .value = 2, .begin_ns = 10, .end_ns = 11}},
        {.slot = {GSH_TRACE_POST, .word_off = 3, .value = 3, .begin_ns = 20, .end_ns = 21}},
        {.slot = {GSH_TRACE_POST, .word_off = 3, .value = 4, .begin_ns = 80, .end_ns = 81}},
        {.slot = {GSH_TRACE_DONE, .word_off = 3, .value = 2, .begin_ns = 50, .end_ns = 55}},
        {.slot = {GSH_TRACE_DONE, .word_off = 3, .value = 4, .begin_ns = 70, .end_ns = 70}},
        {.slot = {GSH_TRACE_DONE, .word_off = 4, .value = 9, .begin_ns = 40, .end_ns = 40}},
        {.part = 1,
         .slot = {GSH_TRACE_DONE, .word_off = 3, .value = 9, .begin_ns = 45, .end_ns = 200}},
        {.slot = {GSH_TRACE_CALL, .end_ns = 90}}};
    const uint64_t ends[] = {90, 50, 70, 80};
    struct gsh_timeline t = {.parts = parts, .n_parts = 2, .items = items, .n_items = 9};
    CHECK_EQ(gsh_timeline_end_posts(&t), GSH_OK);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(items[i].slot.end_ns, ends[i]);
    }
}

/* ---- files ---- */

/* A part with one chunk of every kind of slot. */
static size_t make_part(uint8_t *data)
{
    struct gsh_trace_head head = {.magic = GSH_TRACE_MAGIC, .n_pes = 1};
    struct gsh_trace_chunk chunk = {.magic = GSH_TRACE_MAGIC, .track = 1};
    memset(data, 0, GSH_TRACE_HEAD_BYTES + GSH_TRACE_CHUNK_BYTES);
    memcpy(data, &head, sizeof(head));
    uint8_t *at = data + GSH_TRACE_HEAD_BYTES;
    memcpy(at, &chunk, sizeof(chunk));
    for (uint8_t kind = GSH_TRACE_CALL; kind < GSH_TRACE_KINDS; kind++) {
        struct gsh_trace_slot slot = {
            .kind = kind, .name = 1, .begin_ns = kind, .end_ns = 100, .bytes = 8, .value = 1};
        at += sizeof(slot);
        memcpy(at, &slot, sizeof(slot));
        if (kind == GSH_TRACE_NAME || kind == GSH_TRACE_TRACK) {
            at += sizeof(slot);
            memcpy(at, "somename", 8);
        } else if (kind == GSH_TRACE_KERNEL) {
            at += 2 * sizeof(slot);
        }
    }
    return GSH_TRACE_HEAD_BYTES + GSH_TRACE_CHUNK_BYTES;
}

static void test_parts(void)
{
    static uint8_t data[GSH_TRACE_HEAD_BYTES + GSH_TRACE_CHUNK_BYTES], copy[sizeof(data)];
    size_t bytes = make_part(data);
    struct gsh_timeline t = {0};
    CHECK_EQ(gsh_timeline_load(&t, data, bytes), GSH_OK);
    /* CALL, WAIT, SPAN, ALLOC, FREE, REQUEST, TRANSFER, RANGE, NIC, MEMORY, POST, DONE */
    CHECK_EQ(t.n_items, 12);
    CHECK_STR(t.items[0].name, "somename");
    CHECK_STR(t.tracks[0].name, "somename");
    gsh_timeline_free(&t);
    CHECK_EQ(gsh_timeline_load(&t, data, 100), GSH_ERR_ARG);
    srand(1);
    for (int i = 0; i < 3000; i++) { /* whatever the bytes are, they are read or refused */
        memcpy(copy, data, bytes);
        for (int k = 0; k < 4; k++) {
            copy[GSH_TRACE_HEAD_BYTES + rand() % 2048] = (uint8_t)rand();
        }
        if (gsh_timeline_load(&t, copy, bytes) == GSH_OK) {
            gsh_timeline_set_clocks(&t);
            CHECK_EQ(gsh_timeline_end_posts(&t), GSH_OK);
            CHECK_EQ(gsh_timeline_find_flows(&t), GSH_OK);
        }
        gsh_timeline_free(&t);
    }
}

static void test_files(void)
{
    static const uint8_t good[] = {0x0a, 20,  0xe2, 0x03, 17,  0x08, 1,   0x1a, 13,  0x32, 11,
                                   'P',  'E', ' ',  '0',  ' ', '(',  'x', ' ',  'o', 'n',  ')'};
    char path[] = "/tmp/gshmem-timeline-XXXXXX";
    int fd = mkstemp(path);
    struct gsh_told told;
    CHECK(fd >= 0);
    for (size_t n = 0; n <= sizeof(good); n++) {
        CHECK_EQ(pwrite(fd, good, n, 0), (ssize_t)n);
        CHECK_EQ(gsh_told_read(path, &told), n == sizeof(good) ? GSH_OK : GSH_ERR_ARG);
        if (n == sizeof(good)) {
            CHECK_EQ(told.n_processes, 1);
            gsh_told_free(&told);
        }
    }
    srand(2);
    for (int i = 0; i < 2000; i++) {
        uint8_t copy[sizeof(good)];
        memcpy(copy, good, sizeof(good));
        copy[rand() % (int)sizeof(copy)] = (uint8_t)rand();
        CHECK_EQ(pwrite(fd, copy, sizeof(copy), 0), (ssize_t)sizeof(copy));
        if (gsh_told_read(path, &told) == GSH_OK) {
            gsh_told_free(&told);
        }
    }
    close(fd);
    unlink(path);
}

/* ---- parts without room ---- */

static struct gsh_trace_slot call_at(uint64_t ns)
{
    return (struct gsh_trace_slot){.kind = GSH_TRACE_CALL,
                                   .pe = -1,
                                   .begin_ns = ns,
                                   .end_ns = ns,
                                   .off = GSH_TRACE_NONE,
                                   .word_off = GSH_TRACE_NONE};
}

/* One chunk fits: of its slots one is its head, one and its text name the track, and as many the
 * call. Then come LATE calls and a batch of events. */
static void check_full(const char *folder, uint64_t limit, const char *why)
{
    enum { LATE = 7, EVENTS = 5 };
    const uint64_t fit = GSH_TRACE_CHUNK_SLOTS - 5;
    uint64_t events[2 * EVENTS] = {0};
    char file[64];
    size_t n_parts = 0;
    struct gsh_told told;
    struct gsh_trace *t = NULL;
    snprintf(file, sizeof(file), "%s/full", folder);
    const struct gsh_trace_options options = {.file = file, .limit_bytes = limit, .n_pes = 1};
    CHECK_EQ(gsh_trace_create(&options, &t), GSH_OK);
    for (uint64_t i = 0; i < fit + LATE; i++) {
        struct gsh_trace_slot slot = call_at(i + 1);
        gsh_trace_write(t, "call", &slot);
    }
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_KERNEL, .bytes = EVENTS};
    gsh_trace_write_with(t, &slot, events, sizeof(events));
    gsh_trace_destroy(&t, true);
    CHECK_EQ(gsh_trace_merge(file, 0, file, &n_parts), GSH_OK);
    CHECK_EQ(n_parts, 1);
    CHECK_EQ(gsh_told_read(file, &told), GSH_OK);
    CHECK_EQ(told.n_slices, fit);
    CHECK_EQ(told.processes[0].n_left_out, LATE + EVENTS);
    CHECK_STR(told.processes[0].left_why, why);
    CHECK_EQ(told.processes[0].n_lost, 0);
    gsh_told_free(&told);
    CHECK_EQ(gsh_trace_merge(file, 0, file, &n_parts), GSH_OK);
    CHECK_EQ(n_parts, 0);
    unlink(file);
}

/* Of two parts beside each other, one becomes another user's. */
static void test_owner(void)
{
    char folder[] = "/tmp/gshmem-timeline-XXXXXX", file[64], pattern[80];
    struct gsh_trace *t = NULL;
    size_t n_parts = 0;
    glob_t theirs;
    if (geteuid() != 0) {
        printf("not root: no part of another user is tried\n");
        return;
    }
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof(file), "%s/owner", folder);
    struct gsh_trace_options options = {.file = file, .limit_bytes = 1 << 20, .n_pes = 2};
    for (options.pe = 0; options.pe < 2; options.pe++) {
        CHECK_EQ(gsh_trace_create(&options, &t), GSH_OK);
        gsh_trace_destroy(&t, true);
    }
    snprintf(pattern, sizeof(pattern), "%s.part.1.*", file);
    CHECK_EQ(glob(pattern, 0, NULL, &theirs), 0);
    CHECK_EQ(chown(theirs.gl_pathv[0], 65534, (gid_t)-1), 0);
    CHECK_EQ(gsh_trace_merge(file, 0, file, &n_parts), GSH_OK);
    CHECK_EQ(n_parts, 1);
    gsh_trace_clear(file);
    CHECK_EQ(unlink(theirs.gl_pathv[0]), 0); /* it has been left where it was */
    globfree(&theirs);
    unlink(file);
    CHECK_EQ(rmdir(folder), 0);
}

static void test_full(void)
{
    const uint64_t room = GSH_TRACE_HEAD_BYTES + GSH_TRACE_CHUNK_BYTES;
    struct rlimit before;
    char folder[] = "/tmp/gshmem-timeline-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    check_full(folder, room, "GSHMEM_TRACE_LIMIT");
    /* the system's refusal; the file of the calls is shorter */
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit narrow = {.rlim_cur = room, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
    check_full(folder, 4 * room, "File too large");
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_EQ(rmdir(folder), 0); /* no part is left */
}

static void test_try_file(void)
{
    char folder[] = "/tmp/gshmem-timeline-XXXXXX", file[64];
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(gsh_trace_try_file(folder), GSH_ERR_ARG);
    snprintf(file, sizeof(file), "%s/new", folder);
    CHECK_EQ(gsh_trace_try_file(file), GSH_OK);
    snprintf(file, sizeof(file), "%s/none/new", folder);
    CHECK_EQ(gsh_trace_try_file(file), GSH_ERR_ARG);
    CHECK_EQ(gsh_trace_try_file("new"), GSH_OK);
    rmdir(folder);
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    test_memories();
    test_clocks();
    test_device_clock();
    test_kernel_events();
    test_posts();
    test_parts();
    test_files();
    test_owner();
    test_full();
    test_try_file();
    return test_result();
}
