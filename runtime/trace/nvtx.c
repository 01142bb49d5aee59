/* SPDX-License-Identifier: Apache-2.0
 * Ranges of NVTX in the timeline. NVTX is a set of headers: at its first call a program opens the
 * library that NVTX_INJECTION64_PATH names, and calls its InitializeInjectionNvtx2. gshmemrun
 * --trace names this library, unless a profiler has set the variable. From then on NVTX's calls
 * come here. What is written down here of NVTX is its binary interface, which its headers promise
 * not to change: numbers of modules and calls, and the layout of an event.
 *
 * A range that is pushed and popped becomes a span of its thread. One that is started and ended,
 * perhaps by another thread, becomes a slice of the track "ranges". Domains, categories and colours
 * are not told apart. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "base/array.h"
#include "base/util.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "trace/record.h"

enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
    CORE_RANGE_START_EX = 4,
    CORE_RANGE_START_A = 5,
    CORE_RANGE_START_W = 6,
    CORE_RANGE_END = 7,
    CORE_RANGE_PUSH_EX = 8,
    CORE_RANGE_PUSH_A = 9,
    CORE_RANGE_PUSH_W = 10,
    CORE_RANGE_POP = 11
};
enum {
    CORE2_RANGE_START_EX = 2,
    CORE2_RANGE_END = 3,
    CORE2_RANGE_PUSH_EX = 4,
    CORE2_RANGE_POP = 5,
    CORE2_REGISTER_STRING_A = 10,
    CORE2_REGISTER_STRING_W = 11
};
enum { EXPORT_CALLBACKS = 1 };
enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };

struct event {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_kind;
    uint32_t colour;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    const void *message;
};

typedef void (*function)(void);
struct callbacks {
    size_t bytes;
    int (*get_functions)(int module, function ***functions, unsigned *n);
};

/* ---- ranges ---- */

static struct gsh_trace *recorder(void)
{
    struct gsh_instance *pe = gsh_trace_is_recording() ? gsh_instance_current() : NULL;
    return pe != NULL ? pe->trace : NULL;
}

static void narrow(char text[GSH_TRACE_TEXT_MAX + 1], const wchar_t *wide)
{
    size_t i = 0;
    for (; i < GSH_TRACE_TEXT_MAX && wide[i] != L'\0'; i++) {
        text[i] = wide[i] > 31 && wide[i] < 127 ? (char)wide[i] : '?';
    }
    text[i] = '\0';
}

/* The event's text, which may be in `room`. */
static const char *text_of(const struct event *e, char room[GSH_TRACE_TEXT_MAX + 1])
{
    bool has_text = e != NULL && e->size >= offsetof(struct event, message) + sizeof(e->message) &&
                    e->message != NULL;
    if (has_text && e->message_kind == MESSAGE_UNICODE) {
        narrow(room, e->message);
        return room;
    }
    return has_text && (e->message_kind == MESSAGE_ASCII || e->message_kind == MESSAGE_REGISTERED)
               ? e->message
               : "range";
}

static int push(const char *text)
{
    struct gsh_trace *t = recorder();
    if (t != NULL) {
        gsh_trace_span_begin(t, text != NULL ? text : "range");
    }
    return 0;
}

static int push_ex(const struct event *e)
{
    char room[GSH_TRACE_TEXT_MAX + 1];
    return push(text_of(e, room));
}

static int push_wide(const wchar_t *wide)
{
    char room[GSH_TRACE_TEXT_MAX + 1];
    narrow(room, wide != NULL ? wide : L"range");
    return push(room);
}

static int pop(void)
{
    struct gsh_trace *t = recorder();
    if (t != NULL) {
        gsh_trace_span_end(t);
    }
    return 0;
}

/* ---- ranges that any thread may end ---- */

struct started {
    uint64_t id, begin_ns;
    char text[GSH_TRACE_TEXT_MAX + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct started *all;
static size_t n_all, room_all;
static uint64_t n_ids;

static uint64_t start(const char *text)
{
    uint64_t id = 0;
    if (recorder() == NULL) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    if (gsh_array_reserve(&all, &room_all, n_all + 1, sizeof(*all))) {
        struct started *s = &all[n_all++];
        s->id = id = ++n_ids;
        s->begin_ns = gsh_now_ns();
        gsh_copy_name(s->text, sizeof(s->text), text != NULL ? text : "range");
    }
    pthread_mutex_unlock(&lock);
    return id;
}

static uint64_t start_ex(const struct event *e)
{
    char room[GSH_TRACE_TEXT_MAX + 1];
    return start(text_of(e, room));
}

static uint64_t start_wide(const wchar_t *wide)
{
    char room[GSH_TRACE_TEXT_MAX + 1];
    narrow(room, wide != NULL ? wide : L"range");
    return start(room);
}

static void end(uint64_t id)
{
    struct gsh_trace *t = recorder();
    struct started found = {.id = 0};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_all && found.id == 0; i++) {
        if (all[i].id == id) {
            found = all[i];
            all[i] = all[--n_all];
        }
    }
    pthread_mutex_unlock(&lock);
    if (t == NULL || found.id == 0) {
        return;
    }
    struct gsh_trace_slot slot = {.kind = GSH_TRACE_RANGE,
                                  .pe = -1,
                                  .begin_ns = found.begin_ns,
                                  .end_ns = gsh_now_ns(),
                                  .off = GSH_TRACE_NONE,
                                  .word_off = GSH_TRACE_NONE};
    gsh_trace_write(t, gsh_trace_keep(t, found.text), &slot);
}

/* ---- the same in domains ---- */

static int domain_push_ex(void *domain, const struct event *e)
{
    (void)domain;
    return push_ex(e);
}

static int domain_pop(void *domain)
{
    (void)domain;
    return pop();
}

static uint64_t domain_start_ex(void *domain, const struct event *e)
{
    (void)domain;
    return start_ex(e);
}

static void domain_end(void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

/* A registered text is its own handle, and stays. */
static void *register_text(void *domain, const char *text)
{
    (void)domain;
    return text != NULL ? strdup(text) : NULL;
}

static void *register_wide(void *domain, const wchar_t *wide)
{
    char room[GSH_TRACE_TEXT_MAX + 1];
    narrow(room, wide != NULL ? wide : L"range");
    return register_text(domain, room);
}

/* ---- the interface ---- */

struct entry {
    unsigned id;
    function f;
};

static void fill(const struct callbacks *c, int module, const struct entry *entries, size_t n)
{
    function **functions = NULL;
    unsigned n_functions = 0;
    if (c->get_functions(module, &functions, &n_functions) == 0 || functions == NULL) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (entries[i].id < n_functions && functions[entries[i].id] != NULL) {
            *functions[entries[i].id] = entries[i].f;
        }
    }
}

/* NVTX's headers call it, with their function that gives tables. 1: it is done. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table))
{
    static const struct entry core[] = {
        {CORE_RANGE_START_EX, (function)start_ex},  {CORE_RANGE_START_A, (function)start},
        {CORE_RANGE_START_W, (function)start_wide}, {CORE_RANGE_END, (function)end},
        {CORE_RANGE_PUSH_EX, (function)push_ex},    {CORE_RANGE_PUSH_A, (function)push},
        {CORE_RANGE_PUSH_W, (function)push_wide},   {CORE_RANGE_POP, (function)pop}};
    static const struct entry core2[] = {{CORE2_RANGE_START_EX, (function)domain_start_ex},
                                         {CORE2_RANGE_END, (function)domain_end},
                                         {CORE2_RANGE_PUSH_EX, (function)domain_push_ex},
                                         {CORE2_RANGE_POP, (function)domain_pop},
                                         {CORE2_REGISTER_STRING_A, (function)register_text},
                                         {CORE2_REGISTER_STRING_W, (function)register_wide}};
    const struct callbacks *c = get_table(EXPORT_CALLBACKS);
    if (c == NULL || c->bytes < sizeof(*c)) {
        return 0;
    }
    fill(c, MODULE_CORE, core, GSH_ARRAY_LEN(core));
    fill(c, MODULE_CORE2, core2, GSH_ARRAY_LEN(core2));
    return 1;
}
