/* SPDX-License-Identifier: Apache-2.0
 * Proves that the thread which launches the kernel for GIN's large puts has one kernel at a time,
 * launches it again for puts that the one before has not served, and, once CUDA refuses a launch,
 * says so, lets puts copy alone, and launches nothing more. */
#include "dialects/nccl/base/copier.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "dialects/nccl/base/error.h"
#include "dialects/nccl/kernels/copier.h"
#include "runtime/layer.h"
#include "tests/test.h"

enum { REFUSED = 719 };

/* The device: a launch only counts. The copier's thread writes it, and the test looks. */
static struct gsh_nccl_copy_words words;
static struct gsh_nccl_copy_slots slots;
static int answer;
static uint64_t n_launched; /* atomic */
static bool is_refused, is_destroyed;
static char text[200];

static int create(struct gsh_nccl_copies *copies)
{
    memset(&words, 0, sizeof(words));
    n_launched = 0;
    is_refused = is_destroyed = false;
    *copies = (struct gsh_nccl_copies){.slots = &slots, .words = &words};
    return 0;
}

static void destroy(struct gsh_nccl_copies *copies)
{
    CHECK(copies->words == &words);
    is_destroyed = true;
}

static void begin_thread(void) {}

static int help(struct gsh_nccl_copies *copies)
{
    /* The kernel before has ended, and a put waits. */
    CHECK_EQ(__atomic_load_n(&copies->words->n_ended, __ATOMIC_RELAXED), n_launched);
    CHECK(__atomic_load_n(&copies->words->asked, __ATOMIC_RELAXED) >
          __atomic_load_n(&copies->words->served, __ATOMIC_RELAXED));
    __atomic_add_fetch(&n_launched, 1, __ATOMIC_RELEASE);
    return answer;
}

static void refuse(struct gsh_nccl_copies *copies)
{
    CHECK(copies->slots == &slots);
    is_refused = true;
}

const struct gsh_nccl_copier_ops gsh_nccl_copier_ops_cpu = {create, destroy, begin_thread, help,
                                                            refuse};

ncclResult_t gsh_nccl_fail(ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return result;
}

const char *gshmemx_device_name(void)
{
    return "cpu";
}

void gshmemx_layer_enter(void *pe, int device, struct gshmemx_layer_scope *scope)
{
    (void)pe, (void)device, (void)scope;
}

void gshmemx_layer_leave(const struct gshmemx_layer_scope *scope)
{
    (void)scope;
}

/* A put asks; as ask_for_help in gin_copy.h. */
static void ask(uint64_t number)
{
    __atomic_store_n(&words.asked, number, __ATOMIC_RELEASE);
}

/* The kernel ends; as leave in kernels/copier.cu. */
static void end_kernel(uint64_t served)
{
    __atomic_store_n(&words.served, served, __ATOMIC_RELAXED);
    __atomic_add_fetch(&words.n_ended, 1, __ATOMIC_RELEASE);
}

static void await_launches(uint64_t n)
{
    while (__atomic_load_n(&n_launched, __ATOMIC_ACQUIRE) < n) {
        sched_yield();
    }
}

static void test_launches(void)
{
    int pe = 0;
    answer = 0;
    struct gsh_nccl_copier *copier = gsh_nccl_copier_create(&pe, 0);
    CHECK(gsh_nccl_copier_need(copier));
    CHECK(gsh_nccl_copier_need(copier)); /* has one already */
    ask(1);
    await_launches(1);
    ask(2); /* help sees to it that this one waits for the kernel's end */
    end_kernel(1);
    await_launches(2);
    ask(3);
    end_kernel(3); /* served before the end: no launch */
    ask(4);
    await_launches(3);
    end_kernel(4);
    gsh_nccl_copier_stop(copier);
    CHECK_EQ(n_launched, 3);
    CHECK_EQ(gsh_nccl_copier_error(copier), 0);
    CHECK(!is_refused);
    gsh_nccl_copier_end(copier);
    CHECK(is_destroyed);
}

static void test_refused(void)
{
    int pe = 0;
    answer = REFUSED;
    struct gsh_nccl_copier *copier = gsh_nccl_copier_create(&pe, 0);
    CHECK(gsh_nccl_copier_need(copier));
    CHECK_EQ(gsh_nccl_copier_error(copier), 0);
    ask(1);
    while (gsh_nccl_copier_error(copier) == 0) {
        sched_yield();
    }
    end_kernel(0);
    ask(2);
    gsh_nccl_copier_stop(copier);
    CHECK_EQ(gsh_nccl_copier_error(copier), REFUSED);
    CHECK(is_refused);
    CHECK_EQ(n_launched, 1);
    CHECK(strstr(text, "error 719") != NULL);
    gsh_nccl_copier_end(copier);
}

static void test_none(void)
{
    CHECK(!gsh_nccl_copier_need(NULL));
    CHECK_EQ(gsh_nccl_copier_error(NULL), 0);
    CHECK(gsh_nccl_copier_slots(NULL) == NULL && gsh_nccl_copier_asked(NULL) == NULL);
    gsh_nccl_copier_leave(NULL);
    gsh_nccl_copier_stop(NULL);
    gsh_nccl_copier_end(NULL);
}

int main(void)
{
    test_launches();
    test_refused();
    test_none();
    return test_result();
}
