/* SPDX-License-Identifier: Apache-2.0
 * See look.h. */
#include "runtime/hang/look.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include "base/thread.h"

#define LIMIT_NS 100000000L

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* any of the following, which are under the lock */
static pthread_t thread;
static bool is_running, is_stopping, is_busy;
static const struct gsh_instance *of; /* while it is busy */
static void (*run)(void *);
static _Alignas(16) unsigned char copy[GSH_HANG_LOOK_BYTES]; /* while it is busy: the thread's */

static void make_condition(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
    pthread_condattr_destroy(&attr);
}

static void *look_main(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!is_stopping) {
        if (!is_busy) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        run(copy);
        pthread_mutex_lock(&lock);
        is_busy = false;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Under the lock: until it is done, or the time has passed. */
static bool await_done(void)
{
    struct timespec end;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LIMIT_NS;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_nsec -= 1000000000L;
        end.tv_sec++;
    }
    while (is_busy && error == 0) {
        error = pthread_cond_timedwait(&changed, &lock, &end);
    }
    return !is_busy;
}

enum gsh_hang_looked gsh_hang_look(const struct gsh_instance *pe, void (*look)(void *copy),
                                   void *work, size_t bytes)
{
    enum gsh_hang_looked looked = GSH_HANG_LOOK_NONE;
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
    if (!is_running) {
        is_stopping = false;
        is_running = gsh_create_thread(&thread, NULL, look_main, NULL) == 0;
        if (is_running) {
            pthread_setname_np(thread, "gshmem-look");
        }
    }
    if (is_running && !is_busy && bytes <= sizeof(copy)) {
        memcpy(copy, work, bytes);
        of = pe;
        run = look;
        is_busy = true;
        pthread_cond_broadcast(&changed);
        looked = await_done() ? GSH_HANG_LOOK_DONE : GSH_HANG_LOOK_HELD;
        if (looked == GSH_HANG_LOOK_DONE) {
            memcpy(work, copy, bytes);
        }
    } else if (is_busy && of == pe) {
        looked = GSH_HANG_LOOK_HELD;
    }
    pthread_mutex_unlock(&lock);
    return looked;
}

void gsh_hang_look_await(const struct gsh_instance *pe)
{
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
    while (is_busy && of == pe) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void gsh_hang_look_stop(void)
{
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
    bool was_running = is_running;
    is_stopping = true;
    is_running = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (was_running) {
        pthread_join(thread, NULL);
    }
}
