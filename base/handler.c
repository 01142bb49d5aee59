/* SPDX-License-Identifier: Apache-2.0
 * Calls the program's error handler, once. */
#include "base/handler.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/atomic.h"
#include "base/log.h"

static pthread_mutex_t set_mutex = PTHREAD_MUTEX_INITIALIZER;
static gshmemx_error_handler_t current_handler;
static void *current_context;

static bool is_taken;        /* atomic: a thread has begun to call the handler */
static uint32_t is_returned; /* atomic: it has */
static _Thread_local bool is_inside;

void gsh_handler_set(gshmemx_error_handler_t handler, void *context)
{
    pthread_mutex_lock(&set_mutex);
    current_handler = handler;
    current_context = context;
    pthread_mutex_unlock(&set_mutex);
}

/* The name of the call at the beginning of the message, which a colon or "(in a kernel" follows;
 * "" if the message is not about one. */
static void name_call(const char *message, char *call, size_t room)
{
    size_t n = 0;
    while (isalnum((unsigned char)message[n]) || message[n] == '_' ||
           (message[n] == ':' && message[n + 1] == ':') ||
           (n > 0 && message[n] == ':' && message[n - 1] == ':')) {
        n++;
    }
    bool is_name =
        n < room && (strncmp(message + n, ": ", 2) == 0 || strncmp(message + n, " (in ", 5) == 0);
    snprintf(call, room, "%.*s", is_name ? (int)n : 0, message);
}

static void await_return(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    /* acquire: pairs with the release in gsh_handler_tell */
    for (int i = 0; i < GSH_HANDLER_LIMIT_MS && gsh_load_acquire_u32(&is_returned) == 0; i++) {
        nanosleep(&nap, NULL);
    }
}

void gsh_handler_tell(int pe, int status, const char *text)
{
    pthread_mutex_lock(&set_mutex);
    gshmemx_error_handler_t handler = current_handler;
    void *context = current_context;
    pthread_mutex_unlock(&set_mutex);
    if (handler == NULL || is_inside) {
        return;
    }
    if (__atomic_exchange_n(&is_taken, true, __ATOMIC_RELAXED)) {
        await_return();
        return;
    }
    char message[1024], call[128];
    gsh_log_rename(text, message, sizeof(message));
    name_call(message, call, sizeof(call));
    const gshmemx_error_t error = {.version = GSHMEMX_STRUCT_VERSION(gshmemx_error_t),
                                   .pe = pe,
                                   .status = status,
                                   .call = call,
                                   .message = message};
    is_inside = true;
    handler(&error, context);
    gsh_store_release_u32(&is_returned, 1); /* pairs with the acquire in await_return */
}
