/* When a PE dies in a job that outlives it, some of the others leave an agreement with it and begin
 * the next one, without it, before others know: messages of either are taken for no other,
 * whichever PE is ahead, and none is left in the end. Votes of a team take one such agreement, of a
 * few words, unless they differ. A message's number of words is bounded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/atomic.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/team/bootstrap.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"
#include "tests/test.h"

/* PEs 0 and 1 live; 2 dies during a test, 3 before some. */
enum { n_pes = 4, n_made = 3, n_live = 2, n_units = 64 };

static const int with_dead[] = {0, 1, 2}, live[] = {0, 1};
static struct gsh_instance instances[n_made];

static void make(struct gsh_instance *pe, int my_pe)
{
    *pe = (struct gsh_instance){
        .my_pe = my_pe, .n_pes = n_pes, .n_nodes = 1, .outlives_deaths = true};
    pe->env.wait_timeout_ns = 20000000000u;
    pe->teams = calloc(1, sizeof(*pe->teams));
    pe->teams->n_units = n_units;
    pe->teams->max_node_pes = n_pes;
    pe->peers = calloc(n_pes, sizeof(*pe->peers));
    pe->near = calloc(n_pes, sizeof(*pe->near));
}

static void make_job(void)
{
    for (int i = 0; i < n_made; i++) {
        make(&instances[i], i);
    }
    for (int owner = 0; owner < n_pes; owner++) {
        void *page = aligned_alloc(64, gsh_align_up(gsh_page_bytes(&instances[0]), 64));
        memset(page, 0, gsh_page_bytes(&instances[0]));
        for (int i = 0; i < n_made; i++) {
            instances[i].near[owner].page = page;
            instances[i].near[owner].page_words = (uint8_t *)page + GSH_PAGE_HEAD_BYTES;
            instances[i].peers[owner].node_index = (unsigned)owner;
        }
    }
    for (int i = 0; i < n_made; i++) {
        instances[i].page = instances[i].near[i].page;
    }
}

static void end_job(void)
{
    for (int owner = 0; owner < n_pes; owner++) {
        free(instances[0].near[owner].page);
    }
    for (int i = 0; i < n_made; i++) {
        CHECK(instances[i].teams->early == NULL);
        gsh_early_messages_destroy(instances[i].teams);
        free(instances[i].teams);
        free(instances[i].peers);
        free(instances[i].near);
    }
}

/* As the thread that hears of deaths does. */
static void hear(int pe, int dead)
{
    __atomic_store_n(&instances[pe].peers[dead].death, (uint8_t)GSH_DEATH_HOST, __ATOMIC_RELEASE);
    __atomic_fetch_add(&instances[pe].n_deaths, 1, __ATOMIC_RELEASE);
}

struct part {
    int me;
    const int *pes;
    int n;
    uint64_t max;
    pthread_t thread;
};

static void *agree(void *arg)
{
    struct part *p = arg;
    const struct gsh_team_agreement a = {
        .pe = &instances[p->me], .call = "agree", .key = GSH_AGREE_PART(1)};
    struct gsh_ballot ballot = {.max = {(uint64_t)p->me + 1}};
    gsh_team_agree(&a, p->pes, p->n, p->me, &ballot);
    p->max = ballot.max[0];
    return NULL;
}

static void begin(struct part *p)
{
    CHECK_EQ(pthread_create(&p->thread, NULL, agree, p), 0);
}

static void end(struct part *p)
{
    pthread_join(p->thread, NULL);
}

static void await(const uint64_t *word, uint64_t value)
{
    for (unsigned backoff = 0; gsh_load_acquire_u64(word) != value;) {
        gsh_backoff(&backoff);
    }
}

/* PE 1 is in an agreement with PE 2 when PE 0's message of the next one comes. */
static void hear_late(bool has_earlier_death)
{
    struct part old = {.me = 1, .pes = with_dead, .n = 3},
                next[] = {{.me = 0, .pes = live, .n = 2}, {.me = 1, .pes = live, .n = 2}};
    make_job();
    for (int i = 0; has_earlier_death && i < n_live; i++) {
        hear(i, 3);
    }
    begin(&old);
    hear(0, 2);
    begin(&next[0]);
    await(&gsh_page_inbox(&instances[1], 1, 0)->taken, 1);
    hear(1, 2);
    end(&old);
    begin(&next[1]);
    end(&next[0]);
    end(&next[1]);
    CHECK_EQ(next[0].max, 2);
    CHECK_EQ(next[1].max, 2);
    end_job();
}

/* PE 0 has sent a message of an agreement with PE 2, which PE 1 never makes. */
static void hear_early(void)
{
    struct part old = {.me = 0, .pes = with_dead, .n = 3},
                next[] = {{.me = 0, .pes = live, .n = 2}, {.me = 1, .pes = live, .n = 2}};
    make_job();
    begin(&old);
    await(&gsh_page_inbox(&instances[1], 1, 0)->sent, 1);
    hear(0, 2);
    end(&old);
    hear(1, 2);
    begin(&next[0]);
    begin(&next[1]);
    end(&next[0]);
    end(&next[1]);
    CHECK_EQ(next[0].max, 2);
    CHECK_EQ(next[1].max, 2);
    end_job();
}

/* Nothing is sent by a PE that knows, when it begins, that another one has died. */
static void know_before(void)
{
    struct part old = {.me = 0, .pes = with_dead, .n = 3};
    make_job();
    hear(0, 2);
    begin(&old);
    end(&old);
    CHECK_EQ(gsh_page_inbox(&instances[1], 1, 0)->sent, 0);
    end_job();
}

/* PE 0's message of an agreement that PE 1 does not make claims to have more words than an inbox.
 */
static void claim_words(void)
{
    struct part both[] = {{.me = 0, .pes = live, .n = 2}, {.me = 1, .pes = live, .n = 2}};
    make_job();
    struct gsh_page_inbox *inbox = gsh_page_inbox(&instances[1], 1, 0);
    inbox->words[0] = GSH_AGREE_PART(2); /* the key; then the list, and the number of words */
    inbox->words[GSH_BALLOT_OWN_WORDS - 1] = UINT64_C(1) << 45;
    inbox->sent = 1;
    begin(&both[0]);
    begin(&both[1]);
    end(&both[0]);
    end(&both[1]);
    CHECK_EQ(both[0].max, 2);
    CHECK_EQ(both[1].max, 2);
    CHECK(instances[1].teams->early != NULL); /* it has been taken, as far as there is room */
    gsh_early_messages_destroy(instances[1].teams);
    end_job();
}

struct voter {
    struct part part;
    uint64_t bytes; /* what it registers */
    enum gsh_result result;
    uint16_t flags;
    char text[256];
};

static void *vote(void *arg)
{
    struct voter *v = arg;
    int pes[] = {0, 1, 2};
    const struct gsh_team team = {.pes = pes, .n_pes = n_made, .my_index = v->part.me, .handle = 1};
    struct gsh_team_bootstrap b;
    struct gsh_agreement a;
    const struct gsh_vote mine = {
        .call = GSH_VOTE_REGISTER, .flags = v->part.me == 0 ? 3 : 6, .args = {v->bytes, 0}};
    gsh_team_bootstrap_init(&b, &instances[v->part.me], &team, "vote");
    CHECK_EQ(gsh_agreement_init(&a, &b.base), GSH_OK);
    v->result = gsh_agree(&a, mine, "registering", &v->flags);
    snprintf(v->text, sizeof(v->text), "%s", gsh_last_error());
    gsh_agreement_finish(&a);
    return NULL;
}

/* All three live. odd: the PE that registers something else; -1: none. */
static void vote_alike(int odd)
{
    struct voter voters[n_made];
    make_job();
    for (int i = 0; i < n_made; i++) {
        voters[i] = (struct voter){.part = {.me = i}, .bytes = i == odd ? 128 : 64};
        CHECK_EQ(pthread_create(&voters[i].part.thread, NULL, vote, &voters[i]), 0);
    }
    for (int i = 0; i < n_made; i++) {
        end(&voters[i].part);
        CHECK_EQ(voters[i].result, odd < 0 ? GSH_OK : GSH_ERR_SYMMETRY);
        CHECK(odd >= 0 || voters[i].flags == 2);
        CHECK(odd < 0 || strstr(voters[i].text, "PE 0 registers 64 bytes") != NULL);
    }
    /* one message to the next PE, without words for each member */
    const struct gsh_page_inbox *next = gsh_page_inbox(&instances[1], 1, 0);
    CHECK(odd >= 0 || (next->sent == 1 && next->words[GSH_BALLOT_OWN_WORDS - 1] == 0));
    end_job();
}

int main(void)
{
    vote_alike(-1);
    vote_alike(2);
    hear_late(false);
    hear_late(true);
    hear_early();
    know_before();
    claim_words();
    return test_result();
}
