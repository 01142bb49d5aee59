/* Proves the analysis of a job that hangs, from made-up records: the sentence names a PE that does
 * not answer before a cycle, a cycle before the PE that holds up others, and follows who waits for
 * whom to its end; that a list names those who have not come to a call; that waits without room
 * in their table are counted; that a thread is named which the device's driver keeps, and that a
 * look at memory which the driver holds up holds up no report; and that records from outside are
 * refused unless they are within bounds. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include "base/util.h"
#include "gshmem/types.h"
#include "hang/analyse.h"
#include "hang/print.h"
#include "runtime/hang/look.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/waits.h"
#include "tests/test.h"

static struct gsh_hang_record record(int kind, int pe)
{
    struct gsh_hang_record r = {.magic = GSH_HANG_MAGIC, .kind = kind, .job = 7, .pe = pe};
    return r;
}

static bool take(struct gsh_hang_job *job, const struct gsh_hang_record *r)
{
    int left_out = -1;
    return gsh_hang_take(job, r, &left_out);
}

/* A job whose PEs have all answered, and do not wait. */
static struct gsh_hang_job job_of(int n_pes)
{
    struct gsh_hang_job job = {.job = 7};
    for (int i = 0; i < n_pes; i++) {
        struct gsh_hang_record r = record(GSH_HANG_PE, i);
        r.about = (struct gsh_hang_pe){.pe = i, .n_pes = n_pes, .n_nodes = 1, .os_pid = 100 + i};
        CHECK(gsh_hang_is_sound(&r, sizeof(r)) && take(&job, &r));
    }
    return job;
}

static struct gsh_hang_wait wait_of(int what, int other)
{
    return (struct gsh_hang_wait){
        .what = what,
        .other = other,
        .holder = -1,
        .team = -1,
        .channel = -1,
        .copy_pe = -1,
        .n_threads = 1,
        .n_words = 1,
        .expected = 3,
        .site = GSH_HANG_OBJECT,
        .object = 1,
        .made_at = "prog+0x10",
        .call = "gshmem_call",
    };
}

static void add_wait(struct gsh_hang_job *job, int pe, int what, int other)
{
    struct gsh_hang_record r = record(GSH_HANG_WAIT, pe);
    r.wait = wait_of(what, other);
    CHECK(gsh_hang_is_sound(&r, sizeof(r)) && take(job, &r));
}

static void expect(struct gsh_hang_job *job, enum gsh_hang_verdict verdict, int pe,
                   const char *words)
{
    struct gsh_hang_cause cause;
    gsh_hang_analyse(job, &cause);
    CHECK_EQ(cause.verdict, verdict);
    CHECK_EQ(cause.pe, pe);
    if (!CHECK(strstr(cause.text, words) != NULL)) {
        fprintf(stderr, "%s\nlacks: %s\n", cause.text, words);
    }
    gsh_hang_free(job);
}

/* Of a PE that comes by two ways the first counts, and what comes by the other is left out. */
static void test_twice(void)
{
    struct gsh_hang_job job = job_of(2);
    struct gsh_hang_record r = record(GSH_HANG_PE, 0);
    int left_out = -1;
    r.about = (struct gsh_hang_pe){.pe = 0, .n_pes = 2, .n_nodes = 1, .os_pid = 7};
    CHECK(gsh_hang_take(&job, &r, &left_out) && left_out == 0);
    CHECK_EQ(job.members[0].about.os_pid, 100);
    r = record(GSH_HANG_WAIT, 0);
    r.wait = wait_of(GSH_HANG_ARRIVAL, 1);
    CHECK(gsh_hang_take(&job, &r, &left_out));
    CHECK_EQ(job.n_waits, 0);
    r = record(GSH_HANG_ABSENT, 1);
    r.about = (struct gsh_hang_pe){.pe = 1, .n_pes = 2, .n_nodes = 1, .os_pid = 8, .state = 'T'};
    job.members[1].answer = GSH_HANG_UNKNOWN;
    CHECK(gsh_hang_take(&job, &r, &left_out) && left_out == -1);
    CHECK_EQ(job.members[1].answer, GSH_HANG_SILENT);
    CHECK_EQ(job.members[1].state, 'T');
    gsh_hang_free(&job);
}

/* What the network has not done is said with the oldest request's age. */
static void test_requests(void)
{
    struct gsh_hang_record r = record(GSH_HANG_PE, 0);
    struct gsh_hang_job job = {.job = 7};
    r.about = (struct gsh_hang_pe){.n_pes = 2,
                                   .n_nodes = 1,
                                   .n_requests = 3,
                                   .oldest_ns = UINT64_C(12300000000),
                                   .oldest_pe = 1,
                                   .oldest = "put",
                                   .n_posted = 2,
                                   .posted_ns = UINT64_C(4500000000),
                                   .posted_pe = 1,
                                   .posted = "READ"};
    CHECK(gsh_hang_is_sound(&r, sizeof(r)) && take(&job, &r));
    char *text = gsh_hang_text(&job);
    CHECK(text != NULL &&
          strstr(text, ", 3 requests to far PEs not done, the oldest, put of PE 1, "
                       "since 12.3 s, 2 entries of its kernels not done by the NIC, "
                       "the oldest, READ of PE 1, for at least 4.5 s\n") != NULL);
    free(text);
    gsh_hang_free(&job);
    struct gsh_hang_record bad = r;
    memset(bad.about.oldest, 'x', sizeof(bad.about.oldest));
    CHECK(!gsh_hang_is_sound(&bad, sizeof(bad)));
    bad = r;
    memset(bad.about.posted, 'x', sizeof(bad.about.posted));
    CHECK(!gsh_hang_is_sound(&bad, sizeof(bad)));
    bad = r;
    bad.about.posted_pe = -2;
    CHECK(!gsh_hang_is_sound(&bad, sizeof(bad)));
}

static void test_causes(void)
{
    struct gsh_hang_job job = job_of(3);
    expect(&job, GSH_HANG_NO_WAIT, -1, "no PE waits");

    job = job_of(4); /* a chain */
    add_wait(&job, 0, GSH_HANG_ARRIVAL, 1);
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 3);
    expect(&job, GSH_HANG_FIRST, 3,
           "PE 3 has not made gshmem_call: arrival 3, for which PE 1 waits");

    job = job_of(4);
    add_wait(&job, 3, GSH_HANG_ARRIVAL, 1); /* leads to the cycle, and is not part of it */
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 2);
    add_wait(&job, 2, GSH_HANG_LOCK, 1);
    expect(&job, GSH_HANG_CYCLE, 1,
           "PEs wait for each other: PE 1 waits for PE 2 in gshmem_call: arrival 3, and PE 2 waits "
           "for PE 1 in gshmem_call: the lock at allocation 1 (made at prog+0x10) + 0x0");

    job = job_of(2); /* a wait of a PE that has not answered */
    job.members[1].answer = GSH_HANG_SILENT;
    struct gsh_hang_record r = record(GSH_HANG_WAIT, 1);
    r.wait = wait_of(GSH_HANG_ARRIVAL, 0);
    CHECK(gsh_hang_is_sound(&r, sizeof(r)) && !take(&job, &r));
    gsh_hang_free(&job);

    job = job_of(4); /* who does not answer counts more than a cycle */
    job.members[3].answer = GSH_HANG_SILENT;
    job.members[3].os_pid = 1003;
    job.members[3].state = 't';
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 2);
    add_wait(&job, 2, GSH_HANG_ARRIVAL, 1);
    add_wait(&job, 2, GSH_HANG_ARRIVAL, 3);
    expect(&job, GSH_HANG_LOST, 3,
           "PE 3 does not answer: its process 1003 is stopped by a debugger");

    job = job_of(3); /* a PE that has ended may be who was to write */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    job.members[1].answer = job.members[2].answer = GSH_HANG_UNKNOWN; /* of another node, say */
    job.members[2].has_ended = true;
    expect(&job, GSH_HANG_LOST, 2, "PE 2 does not answer: it has ended; PE 0 waits in gshmem_call");

    job = job_of(2); /* nobody waits */
    expect(&job, GSH_HANG_NO_WAIT, -1, "no PE waits in gshmem");
    job = job_of(2);
    job.members[1].answer = GSH_HANG_SILENT;
    job.members[1].os_pid = 1001;
    job.members[1].state = 'S';
    expect(&job, GSH_HANG_NO_WAIT, 1,
           "no PE waits in gshmem; PE 1 does not answer: its process 1001 is alive, but the "
           "library's thread in it that answers does not run");

    job = job_of(3);
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 0);
    expect(&job, GSH_HANG_UNSENT, 0, "PE 2, which does not wait, has not written it");

    job = job_of(3);
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    add_wait(&job, 1, GSH_HANG_WORD, -1);
    add_wait(&job, 2, GSH_HANG_WORD, -1);
    expect(&job, GSH_HANG_UNSENT, 0, "every other PE waits, too");

    job = job_of(4); /* PE 3 has left a ring too early */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    add_wait(&job, 1, GSH_HANG_WORD, -1);
    add_wait(&job, 2, GSH_HANG_WORD, -1);
    add_wait(&job, 3, GSH_HANG_ARRIVAL, 0);
    job.waits[3].wait.is_host = 1;
    expect(&job, GSH_HANG_UNSENT, 3,
           "PE 3 has left its kernels and waits in gshmem_call: arrival 3; the other PEs wait in "
           "kernels, too");

    job = job_of(5); /* of those that have, the ones that wait for the same */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    for (int pe = 1; pe < 5; pe++) {
        add_wait(&job, pe, GSH_HANG_ARRIVAL, 0);
        job.waits[pe].wait.is_host = 1;
    }
    job.waits[3].wait.expected = 4;
    expect(&job, GSH_HANG_UNSENT, 0,
           "and it is 0; PEs 1, 2 and 4 have left their kernels and wait in gshmem_call: arrival "
           "3; PE 3 has left its kernels and waits in gshmem_call: arrival 4");

    job = job_of(3); /* a later value came */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    job.waits[0].wait.seen = 4;
    expect(&job, GSH_HANG_UNSENT, 0, "; the word is beyond that already: a later value came");

    job = job_of(2); /* a kernel has ended without giving its lock back */
    add_wait(&job, 0, GSH_HANG_LOCK, 1);
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 0);
    job.waits[0].wait.holder = 1;
    job.waits[1].wait.is_host = 1;
    expect(&job, GSH_HANG_CYCLE, 0,
           "+ 0x0, which PE 1 holds, and PE 1 has left its kernels and waits for PE 0 in "
           "gshmem_call: arrival 3");

    job = job_of(3); /* a PE whose kernel has not begun */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    add_wait(&job, 1, GSH_HANG_WORD, -1);
    add_wait(&job, 2, GSH_HANG_ARRIVAL, 0);
    job.waits[2].wait.is_host = 1;
    job.members[2].about.n_unfinished = 1;
    expect(&job, GSH_HANG_UNSENT, 0, "every other PE waits, too, so none is left");

    job = job_of(2); /* of two, the other one writes the word */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    add_wait(&job, 1, GSH_HANG_ARRIVAL, 0);
    expect(&job, GSH_HANG_CYCLE, 0, "PE 0 waits for PE 1");

    job = job_of(2); /* a message that does not come */
    add_wait(&job, 0, GSH_HANG_PEER, 1);
    expect(&job, GSH_HANG_FIRST, 1,
           "PE 1 has not done its part of gshmem_call, for which PE 0 waits");

    job = job_of(3); /* whose part is missing is not known */
    add_wait(&job, 0, GSH_HANG_PEER, -1);
    add_wait(&job, 1, GSH_HANG_PEER, -1);
    expect(&job, GSH_HANG_UNSENT, 0, "PE 2, which does not wait, has not done its part of it");

    job = job_of(2);
    add_wait(&job, 1, GSH_HANG_LOCK, 1);
    expect(&job, GSH_HANG_OWN, 1, "its own thread that has the lock");
}

static void add_driver(struct gsh_hang_job *job, int pe)
{
    add_wait(job, pe, GSH_HANG_DRIVER, -1);
    job->waits[job->n_waits - 1].wait.is_host = 1;
    job->waits[job->n_waits - 1].wait.first_thread[0] = 70;
}

/* A PE whose host thread the driver keeps is a cause of its own, if no other wait of it is. */
static void test_driver(void)
{
    static const char in[] = "PE 1's host thread 70 is in gshmem_call, from which the device's "
                             "driver has not returned";
    char words[256];
    struct gsh_hang_job job = job_of(2);
    add_driver(&job, 1);
    snprintf(words, sizeof(words), "%s: a kernel may find no room", in);
    expect(&job, GSH_HANG_OWN, 1, words);

    job = job_of(2); /* another PE waits for it */
    add_wait(&job, 0, GSH_HANG_ARRIVAL, 1);
    add_driver(&job, 1);
    snprintf(words, sizeof(words),
             "PE 1 has not made gshmem_call: arrival 3, for which PE 0 "
             "waits: %s",
             in);
    expect(&job, GSH_HANG_OWN, 1, words);

    job = job_of(3); /* its kernel waits */
    add_wait(&job, 0, GSH_HANG_ARRIVAL, 1);
    add_wait(&job, 1, GSH_HANG_WORD, -1);
    add_driver(&job, 1);
    snprintf(
        words, sizeof(words),
        "PE 2, which does not wait, has not written it, and nothing is left on its streams; %s",
        in);
    expect(&job, GSH_HANG_UNSENT, 1, words);

    job = job_of(1); /* a GPU that copies nothing */
    add_wait(&job, 0, GSH_HANG_WORD, -1);
    job.members[0].about.is_held = 1;
    job.members[0].about.is_ending = 1;
    char *text = gsh_hang_text(&job);
    CHECK(strstr(text, ", whose GPU does not answer, whose job is ending\n") != NULL);
    free(text);
    expect(&job, GSH_HANG_UNSENT, 0, "; PE 0's GPU does not answer: copies wait for its kernels");
    job = job_of(1);
    job.members[0].about.is_held = 1;
    expect(&job, GSH_HANG_NO_WAIT, 0, "no PE waits in gshmem; PE 0's GPU does not answer");

    job = job_of(2); /* who does not answer is not blamed for the driver */
    add_driver(&job, 1);
    job.members[0].answer = GSH_HANG_SILENT;
    expect(&job, GSH_HANG_OWN, 1, in);
}

static void expect_words(const struct gsh_hang_wait *w, const char *words)
{
    char text[320];
    gsh_hang_word_wait(w, text, sizeof(text));
    CHECK_STR(text, words);
}

static void test_words(void)
{
    struct gsh_hang_wait w = wait_of(GSH_HANG_WORD, -1);
    w.made_at[0] = '\0';
    expect_words(&w, "gshmem_call: allocation 1 + 0x0 to be == 3, and it is 0");
    w.n_words = 32;
    expect_words(&w, "gshmem_call: 32 words from allocation 1 + 0x0 on to be == 3, and they are 0");
    w.differ = 1;
    expect_words(&w,
                 "gshmem_call: 32 words from allocation 1 + 0x0 on to be == 3, and they are not");
    w = wait_of(GSH_HANG_ARRIVAL, 4);
    w.team = 13070;
    w.team_pes = 3;
    w.team_first = 2;
    expect_words(&w, "gshmem_call of team 13070 (3 PEs, first PE 2): arrival 3 of PE 4");
    w.team_stride = 2;
    expect_words(&w, "gshmem_call of team 13070 (PEs 2 to 6, stride 2): arrival 3 of PE 4");
    w.team_stride = 1;
    expect_words(&w, "gshmem_call of team 13070 (PEs 2 to 4): arrival 3 of PE 4");
    w = wait_of(GSH_HANG_LOCK, 0);
    w.holder = 0;
    w.made_at[0] = '\0';
    expect_words(&w, "gshmem_call: the lock at allocation 1 + 0x0, held by PE 0");
}

static void refuse(struct gsh_hang_record r)
{
    CHECK(!gsh_hang_is_sound(&r, sizeof(r)));
}

static void test_bounds(void)
{
    struct gsh_hang_record r = record(GSH_HANG_WAIT, 0), bad;
    r.wait = wait_of(GSH_HANG_WORD, -1);
    CHECK(gsh_hang_is_sound(&r, sizeof(r)));
    CHECK(!gsh_hang_is_sound(&r, sizeof(r) - 1));
    bad = r, bad.magic++;
    refuse(bad);
    bad = r, bad.wait.n_words = 0;
    refuse(bad);
    bad = r, bad.wait.team_pes = -1;
    refuse(bad);
    bad = r, bad.wait.team_first = GSH_HANG_PES_MAX;
    refuse(bad);
    bad = r, bad.wait.team_stride = GSH_HANG_PES_MAX;
    refuse(bad);
    bad = r, bad.wait.cmp = 6;
    refuse(bad);
    bad = r, bad.wait.what = GSH_HANG_DRIVER + 1;
    refuse(bad);
    bad = r, bad.wait.site = -1;
    refuse(bad);
    bad = r, bad.wait.other = GSH_HANG_PES_MAX;
    refuse(bad);
    bad = r, bad.pe = -1;
    refuse(bad);
    bad = r, memset(bad.wait.call, 'x', sizeof(bad.wait.call));
    refuse(bad);
    bad = r, memset(bad.wait.made_at, 'x', sizeof(bad.wait.made_at));
    refuse(bad);
    bad = record(GSH_HANG_PE, 0);
    refuse(bad); /* no PEs */
    bad = record(9, 0);
    refuse(bad);

    struct gsh_hang_job job = job_of(2); /* sound, but not of this job */
    bad = r, bad.wait.other = 2;
    CHECK(!take(&job, &bad));
    bad = r, bad.wait.copy_pe = 2;
    CHECK(!take(&job, &bad));
    bad = r, bad.pe = 2;
    CHECK(!take(&job, &bad));
    bad = r, bad.job++;
    CHECK(!take(&job, &bad));
    bad = record(GSH_HANG_PEERS, 0);
    bad.peers.first = 1;
    bad.peers.n = 16; /* more than there are */
    CHECK(gsh_hang_is_sound(&bad, sizeof(bad)) && take(&job, &bad));
    gsh_hang_free(&job);
}

/* Texts of others do not end a JSON string. */
static void test_json(void)
{
    struct gsh_hang_job job = job_of(1);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct gsh_hang_record r = record(GSH_HANG_WAIT, 0);
    r.wait = wait_of(GSH_HANG_WORD, -1);
    strcpy(r.wait.call, "a\"b\\c\n");
    CHECK(take(&job, &r));
    gsh_hang_print_json(out, &job);
    fclose(out);
    CHECK(strstr(text, "\"call\":\"a\\\"b\\\\c\\u000a\"") != NULL);
    CHECK(strchr(text, '\n') == text + bytes - 1);
    free(text);
    gsh_hang_free(&job);
}

/* Waits that find no room in the table are counted, and the report says how many. */
static void test_overflow(void)
{
    struct gsh_instance *pe = calloc(1, sizeof(*pe));
    struct gsh_hang_job job = job_of(1);
    uint64_t n_told = 0;
    pe->page = calloc(1, sizeof(*pe->page));
    gsh_waits_ask(pe, 1);
    /* Each wait for another word has an entry of its own, but for those of which a hash is equal.
     */
    for (; gsh_waits_count_missed(pe) < 3 && n_told < 1000 * GSH_WAITS_ENTRIES; n_told++) {
        const struct gsh_waiting what = {
            .call = "a call", .pe = -1, .address = (const void *)(uintptr_t)(8 * (n_told + 1))};
        CHECK(gsh_waits_count_missed(pe) == 0 || n_told > GSH_WAITS_ENTRIES);
        gsh_waits_tell(pe, &what, 0);
    }
    CHECK_EQ(gsh_waits_count_missed(pe), 3);
    CHECK_EQ(gsh_waits_read(pe, 1, NULL, NULL, 0), GSH_WAITS_ENTRIES);
    gsh_waits_ask(pe, 2); /* there is room anew */
    CHECK_EQ(gsh_waits_count_missed(pe), 0);
    CHECK_EQ(gsh_waits_read(pe, 2, NULL, NULL, 0), 0);
    job.members[0].about.n_missed = 3;
    char *text = gsh_hang_text(&job);
    CHECK(strstr(text, "    and at least 3 threads more, for which the table has no room\n") !=
          NULL);
    free(text);
    gsh_hang_free(&job);
    free(pe->page);
    free(pe);
}

/* ---- the driver ---- */

static pthread_barrier_t both;

static void *stay_in_driver(void *device)
{
    gsh_waits_enter_driver(device, NULL); /* no call: nobody's business */
    gsh_waits_leave_driver();
    gsh_waits_set_site("folder/file.c", 12);
    gsh_waits_enter_driver(device, "gshmem_launch");
    gsh_waits_enter_driver(device, "gshmem_inner");
    gsh_waits_leave_driver();
    pthread_barrier_wait(&both); /* it is in there */
    pthread_barrier_wait(&both); /* it has been read */
    gsh_waits_leave_driver();
    pthread_barrier_wait(&both); /* it is out again */
    pthread_barrier_wait(&both); /* it has been read */
    return NULL;
}

static void test_driver_read(void)
{
    struct gsh_instance *pe = calloc(1, sizeof(*pe)), *other = calloc(1, sizeof(*other));
    struct gsh_report found[2];
    struct gsh_waits_site sites[2];
    pthread_t thread;
    int devices[2];
    pe->page = other->page = calloc(1, sizeof(*pe->page));
    pe->device = &devices[0];
    other->device = &devices[1];
    pe->is_set_up = other->is_set_up = 1;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, stay_in_driver, pe->device);
    pthread_barrier_wait(&both);
    while (gsh_waits_read(pe, 1, found, sites, 2) == 0) { /* it has not been there for long */
    }
    CHECK_EQ(gsh_waits_read(other, 1, NULL, NULL, 0), 0);
    CHECK_EQ(found[0].kind, GSH_WAITS_DRIVER);
    CHECK_STR(found[0].call, "gshmem_launch");
    CHECK(found[0].host_thread != 0 && found[0].bytes > 0);
    CHECK_STR(sites[0].file, "file.c");
    CHECK_EQ(sites[0].line, 12);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    CHECK_EQ(gsh_waits_read(pe, 1, NULL, NULL, 0), 0);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&both);
    free(pe->page);
    free(other);
    free(pe);
}

static void add_one(void *copy)
{
    ++*(int *)copy;
}

static void be_held(void *copy)
{
    (void)copy;
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
}

static enum gsh_hang_looked look(const struct gsh_instance *pe, void (*at)(void *), int *number)
{
    return gsh_hang_look(pe, at, number, sizeof(*number));
}

static void test_look(void)
{
    struct gsh_instance *pe = calloc(1, sizeof(*pe)), *other = calloc(1, sizeof(*other));
    int number = 7;
    pthread_barrier_init(&both, NULL, 2);
    while (look(pe, add_one, &number) != GSH_HANG_LOOK_DONE) {
    }
    CHECK_EQ(number, 8);
    CHECK_EQ(look(pe, be_held, &number), GSH_HANG_LOOK_HELD);
    pthread_barrier_wait(&both);
    CHECK_EQ(look(pe, add_one, &number), GSH_HANG_LOOK_HELD); /* one is still under way */
    CHECK_EQ(look(other, add_one, &number), GSH_HANG_LOOK_NONE);
    CHECK_EQ(number, 8);
    pthread_barrier_wait(&both);
    gsh_hang_look_await(pe);
    while (look(pe, add_one, &number) != GSH_HANG_LOOK_DONE) {
    }
    CHECK_EQ(number, 9);
    gsh_hang_look_await(pe);
    gsh_hang_look_stop();
    pthread_barrier_destroy(&both);
    free(pe);
    free(other);
}

static void expect_missing(struct gsh_hang_job *job, int me, const int *pes, int n,
                           const char *words)
{
    char text[512];
    const bool is_any = gsh_hang_word_missing(job, me, "gshmem_call", pes, n, text, sizeof(text));
    CHECK_EQ(is_any, words[0] != '\0');
    CHECK_STR(text, words);
}

/* Who has not come to a call, and what each does instead. */
static void test_missing(void)
{
    static const int two[] = {4, 0}, all[] = {0, 4, 3};
    struct gsh_hang_job job = job_of(5);
    struct gsh_hang_record r = record(GSH_HANG_WAIT, 0);
    for (int pe = 0; pe < 5; pe += 4) {
        r.pe = pe;
        r.wait = wait_of(GSH_HANG_ARRIVAL, 1);
        r.wait.is_host = 1;
        CHECK(take(&job, &r));
    }
    r.pe = 2;
    gsh_copy_name(r.wait.call, sizeof(r.wait.call), "gshmem_other");
    CHECK(take(&job, &r));
    job.members[3].answer = GSH_HANG_UNKNOWN;
    job.members[3].node = -1;
    expect_missing(&job, 0, NULL, 5,
                   "PE 1 (does not wait in gshmem), PE 2 (in gshmem_other: arrival 3), "
                   "PE 3 (does not answer: it has ended)");
    expect_missing(&job, 4, all, 3, "PE 3 (does not answer: it has ended)");
    expect_missing(&job, 0, two, 2, "");  /* both have come */
    expect_missing(&job, 1, NULL, 5, ""); /* which is elsewhere itself */
    gsh_hang_free(&job);
    job = job_of(9);
    r = record(GSH_HANG_WAIT, 8);
    r.wait = wait_of(GSH_HANG_ARRIVAL, 0);
    r.wait.is_host = 1;
    CHECK(take(&job, &r));
    char text[512];
    CHECK(gsh_hang_word_missing(&job, 8, "gshmem_call", NULL, 9, text, sizeof(text)));
    CHECK(strstr(text, "PE 5 (does not wait in gshmem) and 2 more") != NULL);
    gsh_hang_free(&job);
}

int main(void)
{
    test_missing();
    test_requests();
    test_causes();
    test_driver();
    test_driver_read();
    test_look();
    test_words();
    test_twice();
    test_bounds();
    test_json();
    test_overflow();
    return test_result();
}
