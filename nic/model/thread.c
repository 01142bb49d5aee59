/* SPDX-License-Identifier: Apache-2.0
 * See thread.h. */
#include "nic/model/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/lock.h"
#include "base/private_fd.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "base/util.h"
#include "nic/model/round.h"

#define SPIN_NS 50000u
#define LOOK_NS 20000 /* between two looks at the doorbells, where kernels wake nobody */

/* The thread sanitizer takes what one thread did before for an order that others have asked for. So
 * waiting threads do not execute entries under it: their own programs' order must do. */
#ifdef GSH_UNDER_TSAN
static const bool waiting_threads_help = false;
#else
static const bool waiting_threads_help = true;
#endif

struct gsh_model_thread {
    struct gsh_lock lock; /* the adapter's */
    struct gsh_nic_wake wake;
    uint32_t is_stopping, is_asleep;
    int event_fd;
    bool is_running;
    pthread_t thread;
};

static void wake(void *context)
{
    struct gsh_model_thread *t = ((struct gsh_model *)context)->thread;
    uint64_t one = 1;
    /* The doorbell before the look at is_asleep; pairs with the fence in sleep_idle. Not a release:
     * a thread that rings orders what it wrote by fences of its own. */
    __sync_synchronize();
    if (__atomic_load_n(&t->is_asleep, __ATOMIC_RELAXED) == 0 ||
        __atomic_exchange_n(&t->is_asleep, 0, __ATOMIC_RELAXED) == 0) {
        return;
    }
    while (write(t->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static unsigned locked_round(struct gsh_model *model)
{
    gsh_lock_take(&model->thread->lock);
    unsigned n = gsh_model_round(model);
    gsh_lock_give(&model->thread->lock);
    return n;
}

static void sleep_idle(struct gsh_model *model)
{
    struct gsh_model_thread *t = model->thread;
    struct pollfd fd = {.fd = t->event_fd, .events = POLLIN};
    const struct timespec look = {.tv_nsec = LOOK_NS};
    const bool is_woken = model->base.options.copy == NULL; /* by kernels, threads of the process */
    uint64_t count;
    __atomic_store_n(&t->is_asleep, 1, __ATOMIC_RELAXED);
    __sync_synchronize(); /* is_asleep before the look at the doorbells; pairs with wake */
    if (locked_round(model) == 0 && gsh_load_acquire_u32(&t->is_stopping) == 0) {
        (void)ppoll(&fd, 1, is_woken ? NULL : &look, NULL);
    }
    if (__atomic_exchange_n(&t->is_asleep, 0, __ATOMIC_RELAXED) == 1) {
        return;
    }
    /* Another thread cleared it, and has written or is about to. */
    while (read(t->event_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

static void *thread_main(void *context)
{
    struct gsh_model *model = context;
    const struct gsh_adapter_options *o = &model->base.options;
    uint64_t idle_since = 0;
    unsigned backoff = 0;
    if (o->thread_start != NULL) {
        o->thread_start(o->context);
    }
    while (gsh_load_acquire_u32(&model->thread->is_stopping) == 0) {
        if (locked_round(model) > 0) {
            idle_since = 0;
            backoff = 0;
            continue;
        }
        uint64_t now = gsh_now_ns();
        idle_since = idle_since == 0 ? now : idle_since;
        if (now - idle_since < SPIN_NS) {
            gsh_backoff(&backoff);
        } else {
            sleep_idle(model);
        }
    }
    return NULL;
}

enum gsh_result gsh_model_thread_start(struct gsh_model *model)
{
    int error = gsh_create_thread(&model->thread->thread, NULL, thread_main, model);
    if (error != 0) {
        errno = error;
        return gsh_fail_errno(GSH_ERR_SYSTEM, "the model NIC's thread");
    }
    pthread_setname_np(model->thread->thread, "gshmem-nic");
    model->thread->is_running = true;
    return GSH_OK;
}

void gsh_model_thread_help(struct gsh_model *model)
{
    if (waiting_threads_help && model->thread->is_running && gsh_lock_try(&model->thread->lock)) {
        (void)gsh_model_round(model);
        gsh_lock_give(&model->thread->lock);
    }
}

void gsh_model_thread_stop(struct gsh_model *model)
{
    struct gsh_model_thread *t = model->thread;
    if (t != NULL && t->is_running) {
        gsh_store_release_u32(&t->is_stopping, 1);
        wake(model);
        pthread_join(t->thread, NULL);
        t->is_running = false;
    }
}

enum gsh_result gsh_model_thread_create(struct gsh_model *model)
{
    struct gsh_model_thread *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for the model NIC");
    }
    model->thread = t;
    t->wake = (struct gsh_nic_wake){.call = wake, .context = model};
    model->base.wake = &t->wake;
    t->event_fd = eventfd(0, EFD_CLOEXEC);
    if (t->event_fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM, "the model NIC: no eventfd: %s", strerror(errno));
    }
    gsh_private_fd_add(t->event_fd);
    return GSH_OK;
}

void gsh_model_thread_destroy(struct gsh_model *model)
{
    if (model->thread != NULL) {
        gsh_private_fd_close(&model->thread->event_fd);
    }
    free(model->thread);
    model->thread = NULL;
}
