/* SPDX-License-Identifier: Apache-2.0
 * The PEs of this process, and which of them a thread acts for. */
#include "runtime/instance/binding.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "runtime/instance/instance.h"

enum bound_state { NEVER_BOUND, BOUND, WAS_BOUND };

static _Thread_local struct gsh_instance *bound;
static _Thread_local uint64_t bound_serial;
static _Thread_local enum bound_state bound_state;
static _Thread_local bool makes_for_dialect, makes_small;

/* The process's PEs, counted, so that threads that never called init find a lone one. This and the
 * module list are the library's only process-wide state. */
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_instance *first_pe; /* list by next_in_process */
static struct gsh_instance *only_pe;
static struct gsh_instance *unused;   /* records of PEs that have ended: list by next_in_process */
static struct gsh_instance **records; /* [n_records]: all that were ever made; none is freed */
static size_t n_records, records_room;
/* The same while only one thread has ever made PEs. Then no thread can have finalised its own PE
 * and wrongly find another's, so there is no need to look at the calling thread's binding. */
struct gsh_instance *gsh_lone_pe;
static int n_makers; /* threads, including those that have ended */

/* In a process that was forked while its parent had PEs: what calls say; else empty. */
static char forked_text[64];

static struct gsh_instance *make_record(void)
{
    if (!gsh_array_reserve(&records, &records_room, n_records + 1, sizeof(struct gsh_instance *))) {
        return NULL;
    }
    struct gsh_instance *pe = calloc(1, sizeof(*pe));
    if (pe != NULL) {
        records[n_records++] = pe;
        pe->number = (uint32_t)n_records;
    }
    return pe;
}

struct gsh_instance *gsh_instance_allocate(void)
{
    pthread_mutex_lock(&process_lock);
    struct gsh_instance *pe = unused;
    if (pe != NULL) {
        unused = pe->next_in_process;
        const size_t stays = offsetof(struct gsh_instance, env);
        memset((char *)pe + stays, 0, sizeof(*pe) - stays);
    } else {
        pe = make_record();
    }
    pthread_mutex_unlock(&process_lock);
    return pe;
}

struct gsh_instance *gsh_instance_numbered(uint32_t number)
{
    pthread_mutex_lock(&process_lock);
    struct gsh_instance *pe = number > 0 && number <= n_records ? records[number - 1] : NULL;
    pthread_mutex_unlock(&process_lock);
    return pe;
}

void gsh_instance_release(struct gsh_instance *pe)
{
    pthread_mutex_lock(&process_lock);
    __atomic_add_fetch(&pe->serial, 1, __ATOMIC_RELAXED);
    pe->next_in_process = unused;
    unused = pe;
    pthread_mutex_unlock(&process_lock);
}

static void set_bound(struct gsh_instance *pe, enum bound_state state)
{
    bound = pe;
    bound_serial = pe != NULL ? __atomic_load_n(&pe->serial, __ATOMIC_RELAXED) : 0;
    bound_state = state;
    gsh_log_set_pe(pe != NULL ? pe->my_pe : -1);
}

/* Forgets the thread's PE if another thread has ended it. The serial number orders nothing: the
 * program has ordered this thread's next call after that end, or would race with it anyway. */
static void forget_ended(void)
{
    if (bound != NULL && __atomic_load_n(&bound->serial, __ATOMIC_RELAXED) != bound_serial) {
        set_bound(NULL, WAS_BOUND);
    }
}

void gsh_instance_bind(struct gsh_instance *pe)
{
    bool is_new_maker = bound_state == NEVER_BOUND;
    set_bound(pe, BOUND);
    pthread_mutex_lock(&process_lock);
    n_makers += is_new_maker;
    pe->is_of_dialect = makes_for_dialect;
    pe->next_in_process = first_pe;
    first_pe = pe;
    /* release: pairs with the acquires in gsh_instance_current and gsh_instance_find */
    __atomic_store_n(&only_pe, pe->next_in_process == NULL ? pe : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&gsh_lone_pe, n_makers == 1 ? only_pe : NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&process_lock);
}

void gsh_instance_unbind(struct gsh_instance *pe)
{
    set_bound(NULL, WAS_BOUND);
    pthread_mutex_lock(&process_lock);
    for (struct gsh_instance **p = &first_pe; *p != NULL; p = &(*p)->next_in_process) {
        if (*p == pe) {
            *p = pe->next_in_process;
            break;
        }
    }
    if (only_pe == pe) {
        __atomic_store_n(&only_pe, NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&gsh_lone_pe, NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&process_lock);
}

void gsh_instance_speak(struct gsh_instance *pe, struct gsh_spoken *before)
{
    *before = (struct gsh_spoken){bound, bound_serial, (int)bound_state};
    set_bound(pe, pe != NULL ? BOUND : NEVER_BOUND);
}

void gsh_instance_speak_again(const struct gsh_spoken *before)
{
    bound = before->pe;
    bound_serial = before->serial;
    bound_state = (enum bound_state)before->state;
    forget_ended();
    gsh_log_set_pe(bound != NULL ? bound->my_pe : -1);
}

struct gsh_instance *gsh_instance_bound(void)
{
    forget_ended();
    return bound;
}

/* Only tries the lock: at exit another thread may have it, and never release it. */
struct gsh_instance *gsh_instance_first(void)
{
    struct gsh_instance *pe = NULL;
    if (pthread_mutex_trylock(&process_lock) == 0) {
        pe = first_pe;
        pthread_mutex_unlock(&process_lock);
    }
    return pe;
}

struct gsh_instance *gsh_instance_find(void)
{
    forget_ended();
    if (bound != NULL || bound_state != NEVER_BOUND) {
        return bound;
    }
    return __atomic_load_n(&only_pe, __ATOMIC_ACQUIRE); /* pairs with gsh_instance_bind's release */
}

void gsh_instance_make_for_dialect(bool is_for_dialect, bool is_small)
{
    makes_for_dialect = is_for_dialect;
    makes_small = is_small;
}

bool gsh_instance_is_made_small(void)
{
    return makes_small;
}

bool gsh_instance_is_made_for_dialect(void)
{
    return makes_for_dialect;
}

struct gsh_instance *gsh_instance_of_program(void)
{
    forget_ended();
    struct gsh_instance *pe = bound;
    if (pe == NULL && bound_state == NEVER_BOUND) {
        pthread_mutex_lock(&process_lock);
        pe = only_pe != NULL && !only_pe->is_of_dialect ? only_pe : NULL;
        pthread_mutex_unlock(&process_lock);
    }
    return pe;
}

/* In a forked child: its only thread is the one that forked. Other threads of the parent may have
 * had the lock. */
static void forget_pes(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&process_lock, &unlocked, sizeof(unlocked));
    if (first_pe == NULL) {
        return;
    }
    forget_ended();
    const struct gsh_instance *pe = bound != NULL ? bound : first_pe;
    snprintf(forked_text, sizeof(forked_text), "this process was forked by PE %d, and is no PE",
             pe->my_pe);
    first_pe = only_pe = gsh_lone_pe = NULL;
    set_bound(NULL, WAS_BOUND);
}

__attribute__((constructor)) static void forget_pes_in_children(void)
{
    (void)pthread_atfork(NULL, NULL, forget_pes);
}

bool gsh_instance_is_forked(void)
{
    return forked_text[0] != '\0';
}

const char *gsh_instance_absence(void)
{
    if (gsh_instance_is_forked()) {
        return forked_text;
    }
    return bound_state == WAS_BOUND ? "called after gshmem_finalize" : "called before gshmem_init";
}

struct gsh_instance *gsh_instance_need(const char *call)
{
    struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        gsh_fail(GSH_ERR_STATE, "%s: %s", call, gsh_instance_absence());
        gsh_handler_tell(-1, 1, gsh_last_error());
        gsh_flush_stdout();
        _exit(1);
    }
    return pe;
}
