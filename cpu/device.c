/* SPDX-License-Identifier: Apache-2.0
 * CPU devices, and which of them a thread uses. destroy.c ends them. */
#include "cpu/device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "cpu/fatal.h"

/* Sleeps of spinning blocks end at most this much late; the system's default of 50 us would
 * dominate their response time. */
#define TIMER_SLACK_NS 1000ul

static __thread struct gsh_cpu_binding bound;
static struct gsh_cpu_device *default_device; /* of threads without a binding; atomic */

static pthread_mutex_t unused_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_cpu_device *unused; /* list by next_unused */

/* The default devices, by the number that a thread has chosen; never freed. */
#define MAX_OWN_DEVICES 64
static __thread int chosen_number;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_cpu_device *own_devices[MAX_OWN_DEVICES]; /* atomic; made under the lock */

/* Zeros, but for the serial number. */
static struct gsh_cpu_device *allocate_device(void)
{
    pthread_mutex_lock(&unused_lock);
    struct gsh_cpu_device *device = unused;
    if (device) {
        unused = device->next_unused;
    }
    pthread_mutex_unlock(&unused_lock);
    if (!device) {
        return calloc(1, sizeof(*device));
    }
    memset((char *)device + sizeof(device->serial), 0, sizeof(*device) - sizeof(device->serial));
    return device;
}

void gsh_device_release(struct gsh_cpu_device *device)
{
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_lock(&unused_lock);
    __atomic_add_fetch(&device->serial, 1, __ATOMIC_RELAXED);
    device->next_unused = unused;
    unused = device;
    pthread_mutex_unlock(&unused_lock);
}

struct gsh_cpu_device *gshmemx_cpu_device_create(const struct gsh_cpu_config *config)
{
    struct gsh_cpu_device *device = allocate_device();
    if (!device) {
        return NULL;
    }
    if (config) {
        device->config = *config;
    }
    pthread_mutex_init(&device->lock, NULL);
    return device;
}

/* That of the number that the calling thread has chosen. */
struct gsh_cpu_device *gsh_device_own(void)
{
    struct gsh_cpu_device **entry = &own_devices[(unsigned)chosen_number % MAX_OWN_DEVICES];
    /* Pairs with the release below. */
    struct gsh_cpu_device *device = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    if (device) {
        return device;
    }
    pthread_mutex_lock(&own_lock);
    device = *entry;
    if (!device) {
        device = gshmemx_cpu_device_create(NULL);
        __atomic_store_n(entry, device, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&own_lock);
    if (!device) {
        struct gsh_cpu_config none = {.fatal = NULL};
        gsh_device_fatal(&none, "no memory for the CPU device");
    }
    return device;
}

void gshmemx_cpu_device_set_state(struct gsh_cpu_device *device, const struct gsh_state *state)
{
    /* Pairs with the acquire in gshmemx_cpu_launch. */
    __atomic_store_n(&device->state, state, __ATOMIC_RELEASE);
}

void gshmemx_cpu_device_bind(struct gsh_cpu_device *device)
{
    bound = (struct gsh_cpu_binding){
        device, device ? __atomic_load_n(&device->serial, __ATOMIC_RELAXED) : 0};
}

struct gsh_cpu_binding gshmemx_cpu_device_binding(void)
{
    return bound;
}

void gshmemx_cpu_device_bind_again(struct gsh_cpu_binding binding)
{
    bound = binding;
}

void gshmemx_cpu_device_bind_default(struct gsh_cpu_device *device)
{
    __atomic_store_n(&default_device, device, __ATOMIC_RELEASE);
}

void gshmemx_cpu_device_choose(int number)
{
    chosen_number = number;
}

int gshmemx_cpu_device_chosen(void)
{
    return chosen_number;
}

struct gsh_cpu_device *gshmemx_cpu_device_current(void)
{
    struct gsh_cpu_device *device = bound.device;
    /* What says that it is gone orders nothing: a thread that uses the device now has been told of
     * its end by other means, or has none to fear. */
    if (device && __atomic_load_n(&device->serial, __ATOMIC_RELAXED) != bound.serial) {
        bound.device = device = NULL;
    }
    if (!device) {
        device = __atomic_load_n(&default_device, __ATOMIC_ACQUIRE);
    }
    return device ? device : gsh_device_own();
}

void gsh_device_forget_default(struct gsh_cpu_device *device)
{
    struct gsh_cpu_device *expected = device;
    __atomic_compare_exchange_n(&default_device, &expected, NULL, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

void gsh_device_enter_thread(struct gsh_cpu_device *device)
{
    gshmemx_cpu_device_bind(device);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    if (device->config.thread_start) {
        device->config.thread_start(device->config.context);
    }
}
