/* SPDX-License-Identifier: Apache-2.0
 * See waits.h. */
#include "runtime/instance/waits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"

_Thread_local const char *gsh_waits_this_call; /* NULL: none so far */

const char *gsh_waits_call(void)
{
    return gsh_waits_this_call != NULL ? gsh_waits_this_call : "gshmem_init";
}

static _Thread_local const char *as; /* NULL: under its own name */

void gsh_waits_call_as(const char *call)
{
    as = call;
}

/* The public call's place in the program; line 0: not known. */
static _Thread_local const char *this_file;
static _Thread_local uint32_t this_line;

static const char *without_folders(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

void gsh_waits_set_site(const char *file, uint32_t line)
{
    this_file = file;
    this_line = file != NULL ? line : 0;
}

bool gsh_waits_is_of_library(const char *file)
{
    static const char *const headers[] = {"generic.h", "generic_coll.h", "generic_complex.h",
                                          "overloads.h"};
    const size_t n = strlen(file);
    for (size_t i = 0; i < GSH_ARRAY_LEN(headers); i++) {
        if (strcmp(file, headers[i]) == 0) {
            return true;
        }
    }
    return (strncmp(file, "shmem", 5) == 0 || strncmp(file, "nvshmem", 7) == 0) && n > 2 &&
           (strcmp(file + n - 2, ".h") == 0 || (n > 4 && strcmp(file + n - 4, ".cuh") == 0));
}

struct gsh_waits_site_text gsh_waits_word_site(void)
{
    struct gsh_waits_site_text site = {""};
    if (this_line > 0 && !gsh_waits_is_of_library(without_folders(this_file))) {
        snprintf(site.text, sizeof(site.text), " at %s:%u", without_folders(this_file), this_line);
    }
    return site;
}

/* ---- known_sites by number: entry `number - 1`, which is written once ---- */

#define KNOWN_SITES 4096u
_Static_assert(KNOWN_SITES < 1u << 16, "transfers and GSH_REPORT_CMP_AT have 16 bits for a site");

static struct known_site {
    const char *file;
    uint32_t line;
} known_sites[KNOWN_SITES];
static uint32_t n_known_sites; /* under the lock; entries below are read without it */
static pthread_mutex_t known_sites_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t find_known_site(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (known_sites[i].line == this_line && strcmp(known_sites[i].file, this_file) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* 0: the table is full. */
static uint32_t add_known_site(void)
{
    (void)pthread_mutex_lock(&known_sites_lock);
    uint32_t number = find_known_site(n_known_sites);
    if (number == 0 && n_known_sites < KNOWN_SITES) {
        known_sites[n_known_sites] = (struct known_site){.file = this_file, .line = this_line};
        number = n_known_sites + 1;
        /* release: pairs with the acquires of those who read entries */
        gsh_store_release_u32(&n_known_sites, number);
    }
    (void)pthread_mutex_unlock(&known_sites_lock);
    return number;
}

uint32_t gsh_waits_site_number(void)
{
    if (this_line == 0) {
        return 0;
    }
    const uint32_t number = find_known_site(gsh_load_acquire_u32(&n_known_sites));
    return number != 0 ? number : add_known_site();
}

static const struct known_site *known_site_of(unsigned long number)
{
    const bool is_known = number != 0 && number <= gsh_load_acquire_u32(&n_known_sites);
    return is_known ? &known_sites[number - 1] : NULL;
}

const char *gsh_waits_site_file(uint32_t number, uint32_t *line)
{
    const struct known_site *known = known_site_of(number);
    *line = known != NULL ? known->line : 0;
    return known != NULL ? without_folders(known->file) : NULL;
}

uint32_t gsh_waits_use_site(uint32_t site)
{
    const uint32_t before = gsh_waits_site_number();
    const struct known_site *known = known_site_of(site);
    this_file = known != NULL ? known->file : NULL;
    this_line = known != NULL ? known->line : 0;
    return before;
}

/* Between a call's name and its place's number; no name has it. */
#define SITE_MARK '@'

static void append_site(char *to, size_t room)
{
    char mark[16];
    const uint32_t site = gsh_waits_site_number();
    const size_t length =
        (size_t)snprintf(mark, sizeof(mark), site != 0 ? "%c%u" : "%c", SITE_MARK, site);
    const size_t most = length < room ? room - 1 - length : 0;
    if (site != 0 ? most > 0 : strlen(to) <= most) {
        const size_t at = gsh_min_u64(strlen(to), most);
        memcpy(to + at, mark, length + 1);
    }
}

void gsh_waits_copy_call(char *to, size_t room, const char *call)
{
    gsh_copy_name(to, room, as != NULL ? as : call);
    append_site(to, room);
}

bool gsh_waits_split(char *call, uint32_t *cmp, const char **file, uint32_t *line)
{
    char *mark = strchr(call, SITE_MARK);
    const struct known_site *known = known_site_of(*cmp >> GSH_REPORT_SITE_SHIFT);
    *cmp &= (1u << GSH_REPORT_SITE_SHIFT) - 1;
    if (mark != NULL) {
        known = known != NULL ? known : known_site_of(strtoul(mark + 1, NULL, 10));
        *mark = '\0';
    }
    *file = known != NULL ? without_folders(known->file) : NULL;
    *line = known != NULL ? known->line : 0;
    return mark != NULL;
}

/* ---- answers ---- */

static void fill_site(struct gsh_waits_site *site, uint32_t request)
{
    if (this_line > 0) {
        site->line = this_line;
        gsh_copy_name(site->file, sizeof(site->file), without_folders(this_file));
        site->request = request;
    }
}

static void fill(struct gsh_report *e, const struct gsh_waiting *what, uint64_t waited_ns,
                 uint32_t thread)
{
    e->kind = what->kind;
    e->pe = what->pe;
    e->cmp = what->cmp;
    e->address = (uint64_t)(uintptr_t)what->address;
    e->expected = what->expected;
    e->seen = what->seen;
    e->bytes = waited_ns;
    for (int i = 0; i < 3; i++) {
        e->block[i] = e->thread[i] = 0;
    }
    e->host_thread = thread;
    e->team = what->team;
    gsh_copy_name(e->call, sizeof(e->call), what->call);
}

static void answer(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns,
                   uint32_t request)
{
    struct gsh_waits_table *table = &pe->page->waits;
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    uint32_t bit = GSH_WAITS_BIT(thread * 40503u, (uint64_t)(uintptr_t)what->address);
    uint32_t mask = 1u << bit % 32;
    if ((__atomic_fetch_or(&table->answered[bit / 32], mask, __ATOMIC_RELAXED) & mask) != 0) {
        return;
    }
    uint32_t taken = __atomic_fetch_add(&table->taken, 1, __ATOMIC_RELAXED);
    if ((int32_t)(taken - gsh_load_relaxed_u32(&table->limit)) < 0) {
        struct gsh_report *e = &table->entry[taken % GSH_WAITS_ENTRIES];
        fill(e, what, gsh_now_ns() - since_ns, thread);
        fill_site(&table->site[taken % GSH_WAITS_ENTRIES], request);
        /* release: pairs with the acquire in gsh_waits_read */
        gsh_store_release_u32(&e->state, request);
    }
}

/* ---- waits that stand in a list ---- */

static pthread_mutex_t standing_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_standing_wait *standing;             /* under the lock */
static _Thread_local struct gsh_standing_wait *stands; /* the thread's outermost one */

void gsh_waits_begin(struct gsh_standing_wait *wait, const struct gsh_instance *pe,
                     const char *call, int target)
{
    *wait = (struct gsh_standing_wait){.pe = NULL};
    if (stands != NULL) {
        pthread_mutex_lock(&standing_lock);
        if (stands->target < 0 && target >= 0) {
            stands->target = target;
            wait->outer = stands;
        }
        pthread_mutex_unlock(&standing_lock);
        return;
    }
    if (pe == NULL) {
        return;
    }
    *wait = (struct gsh_standing_wait){.pe = pe,
                                       .call = call,
                                       .file = this_file,
                                       .since_ns = gsh_now_ns(),
                                       .target = target,
                                       .line = this_line,
                                       .thread = (uint32_t)syscall(SYS_gettid)};
    stands = wait;
    pthread_mutex_lock(&standing_lock);
    wait->next = standing;
    standing = wait;
    pthread_mutex_unlock(&standing_lock);
}

void gsh_waits_end(struct gsh_standing_wait *wait)
{
    pthread_mutex_lock(&standing_lock);
    if (wait->outer != NULL) {
        wait->outer->target = -1;
    }
    if (wait->pe != NULL) {
        struct gsh_standing_wait **w = &standing;
        while (*w != wait) {
            w = &(*w)->next;
        }
        *w = wait->next;
        stands = NULL;
    }
    pthread_mutex_unlock(&standing_lock);
}

/* ---- threads in the driver ---- */

/* Shorter stays are none of a hang. */
#define DRIVER_LEAST_NS UINT64_C(50000000)

/* A thread's. It writes them by itself; readers hold the lock of the list. */
struct in_driver {
    struct in_driver *next;
    uint64_t since_ns; /* 0: it is not in the driver; stored last by release, and first by 0 */
    const void *device;
    const char *call, *file;
    uint32_t line, thread;
    unsigned depth; /* the thread's alone */
};

static struct in_driver *in_drivers; /* under standing_lock */
static _Thread_local struct in_driver *my_driver;
static pthread_key_t driver_key;
static bool has_driver_key;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static void forget_thread(void *of_thread)
{
    pthread_mutex_lock(&standing_lock);
    struct in_driver **d = &in_drivers;
    while (*d != of_thread) {
        d = &(*d)->next;
    }
    *d = (*d)->next;
    pthread_mutex_unlock(&standing_lock);
    my_driver = NULL;
    free(of_thread);
}

static void make_driver_key(void)
{
    has_driver_key = pthread_key_create(&driver_key, forget_thread) == 0;
}

/* NULL: no memory, or no key of the process is left. */
static struct in_driver *begin_thread(void)
{
    struct in_driver *d = calloc(1, sizeof(*d));
    pthread_once(&driver_once, make_driver_key);
    if (d == NULL || !has_driver_key || pthread_setspecific(driver_key, d) != 0) {
        free(d);
        return NULL;
    }
    d->thread = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&standing_lock);
    d->next = in_drivers;
    in_drivers = d;
    pthread_mutex_unlock(&standing_lock);
    my_driver = d;
    return d;
}

void gsh_waits_enter_driver(const void *device, const char *call)
{
    struct in_driver *d = my_driver;
    call = call != NULL ? call : as != NULL ? as : gsh_waits_this_call;
    if ((d == NULL && (call == NULL || (d = begin_thread()) == NULL)) || d->depth++ > 0 ||
        call == NULL) {
        return;
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    /* releases: whoever reads one of them sees the 0 before it, and pairs with the acquires */
    __atomic_store_n(&d->device, device, __ATOMIC_RELEASE);
    __atomic_store_n(&d->call, call, __ATOMIC_RELEASE);
    __atomic_store_n(&d->file, this_file, __ATOMIC_RELEASE);
    __atomic_store_n(&d->line, this_line, __ATOMIC_RELEASE);
    /* release: pairs with the acquire in read_driver */
    __atomic_store_n(&d->since_ns, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
                     __ATOMIC_RELEASE);
}

void gsh_waits_leave_driver(void)
{
    struct in_driver *d = my_driver;
    if (d != NULL && d->depth > 0 && --d->depth == 0) {
        __atomic_store_n(&d->since_ns, 0, __ATOMIC_RELAXED);
    }
}

/* Whether the thread has been in that device's driver for some time; then *w is what it does. */
static bool read_driver(const struct in_driver *d, const void *device, uint64_t now,
                        struct gsh_standing_wait *w)
{
    /* acquire: pairs with the release in gsh_waits_enter_driver */
    const uint64_t since = __atomic_load_n(&d->since_ns, __ATOMIC_ACQUIRE);
    if (since == 0 || now < since + DRIVER_LEAST_NS) {
        return false;
    }
    /* acquires: before the last load, which shows that all are of one stay */
    *w = (struct gsh_standing_wait){.call = __atomic_load_n(&d->call, __ATOMIC_ACQUIRE),
                                    .file = __atomic_load_n(&d->file, __ATOMIC_ACQUIRE),
                                    .since_ns = since,
                                    .target = -1,
                                    .line = __atomic_load_n(&d->line, __ATOMIC_ACQUIRE),
                                    .thread = d->thread};
    const bool is_of_device = __atomic_load_n(&d->device, __ATOMIC_ACQUIRE) == device;
    return is_of_device && __atomic_load_n(&d->since_ns, __ATOMIC_RELAXED) == since;
}

/* ---- what asks ---- */

static void put_standing(const struct gsh_standing_wait *w, uint32_t kind, uint64_t now, uint32_t n,
                         struct gsh_report *out, struct gsh_waits_site *sites)
{
    const struct gsh_waiting what = {.call = w->call, .kind = kind, .pe = w->target, .team = -1};
    out[n] = (struct gsh_report){.state = n};
    fill(&out[n], &what, now - w->since_ns, w->thread);
    sites[n] = (struct gsh_waits_site){.line = w->line};
    if (w->line > 0) {
        gsh_copy_name(sites[n].file, sizeof(sites[n].file), without_folders(w->file));
    }
}

/* Those of the PE that stand in the lists, behind n others. Returns how many there are now. */
static uint32_t read_standing(const struct gsh_instance *pe, uint32_t n, struct gsh_report *out,
                              struct gsh_waits_site *sites, uint32_t max)
{
    const uint64_t now = gsh_now_ns();
    /* acquire: pairs with the release at the end of set-up */
    const void *device = gsh_load_acquire_u32(&pe->is_set_up) != 0 ? pe->device : NULL;
    struct gsh_standing_wait in;
    pthread_mutex_lock(&standing_lock);
    for (const struct gsh_standing_wait *w = standing; w != NULL; w = w->next) {
        if (w->pe == pe && n++ < max) {
            put_standing(w, GSH_WAITS_PEER, now, n - 1, out, sites);
        }
    }
    for (const struct in_driver *d = in_drivers; d != NULL && device != NULL; d = d->next) {
        if (read_driver(d, device, now, &in) && n++ < max) {
            put_standing(&in, GSH_WAITS_DRIVER, now, n - 1, out, sites);
        }
    }
    pthread_mutex_unlock(&standing_lock);
    return n;
}

void gsh_waits_tell(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns)
{
    /* acquire: pairs with the release in gsh_waits_ask */
    uint32_t request = gsh_load_acquire_u32(&pe->page->control.wait_request);
    if (request != 0 && what != NULL) {
        answer(pe, what, since_ns, request);
    }
}

void gsh_waits_ask(struct gsh_instance *pe, uint32_t request)
{
    struct gsh_waits_table *table = &pe->page->waits;
    for (uint32_t i = 0; i < GSH_WAITS_BITS / 32; i++) {
        __atomic_store_n(&table->answered[i], 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&table->limit, gsh_load_relaxed_u32(&table->taken) + GSH_WAITS_ENTRIES,
                     __ATOMIC_RELAXED);
    /* release: pairs with the acquires in gsh_waits_tell and of kernels that answer */
    gsh_store_release_u32(&pe->page->control.wait_request, request);
}

void gsh_waits_close(struct gsh_instance *pe)
{
    gsh_store_release_u32(&pe->page->control.wait_request, 0);
}

uint32_t gsh_waits_read(struct gsh_instance *pe, uint32_t request, struct gsh_report *out,
                        struct gsh_waits_site *sites, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < GSH_WAITS_ENTRIES; i++) {
        const struct gsh_report *e = &pe->page->waits.entry[i];
        /* acquire: pairs with the release in answer, or of a kernel's report_trouble */
        if (gsh_load_acquire_u32(&e->state) == request) {
            if (n < max) {
                out[n] = *e;
                out[n].state = n;
                sites[n] = pe->page->waits.site[i];
                sites[n].line = sites[n].request == request ? sites[n].line : 0;
                sites[n].file[sizeof(sites[n].file) - 1] = '\0';
            }
            n++;
        }
    }
    return read_standing(pe, n, out, sites, max);
}

struct gsh_waits_site gsh_waits_reported_site(const struct gsh_instance *pe)
{
    struct gsh_waits_site site = pe->page->waits.site[GSH_WAITS_ENTRIES];
    site.file[sizeof(site.file) - 1] = '\0';
    if (site.request == 0 || gsh_waits_is_of_library(site.file)) {
        site.line = 0;
    }
    return site;
}

uint32_t gsh_waits_count_missed(const struct gsh_instance *pe)
{
    const struct gsh_waits_table *table = &pe->page->waits;
    int32_t n =
        (int32_t)(gsh_load_relaxed_u32(&table->taken) - gsh_load_relaxed_u32(&table->limit));
    return n > 0 ? (uint32_t)n : 0;
}
