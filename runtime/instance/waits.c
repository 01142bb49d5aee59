/* SPDX-License-Identifier: Apache-2.0
 * See waits.h. */
#include "runtime/instance/waits.h"

#include <sys/syscall.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"

static _Thread_local const char *this_call = "gshmem_init";

void gsh_waits_name_call(const char *call)
{
    this_call = call;
}

const char *gsh_waits_call(void)
{
    return this_call;
}

static bool is_own(const struct gsh_waits_entry *e, uint32_t thread, const struct gsh_waiting *what)
{
    return e->is_host && e->thread[0] == thread && e->address == (uint64_t)(uintptr_t)what->address;
}

static void fill(struct gsh_waits_entry *e, const struct gsh_waiting *what, uint64_t waited_ns,
                 uint32_t thread)
{
    e->kind = what->kind;
    e->pe = what->pe;
    e->cmp = what->cmp;
    e->address = (uint64_t)(uintptr_t)what->address;
    e->expected = what->expected;
    e->seen = what->seen;
    e->waited_ns = waited_ns;
    for (int i = 0; i < 3; i++) {
        e->block[i] = e->thread[i] = 0;
    }
    e->thread[0] = thread;
    e->is_host = 1;
    e->team = what->team;
    gsh_copy_name(e->call, sizeof(e->call), what->call);
}

void gsh_waits_tell(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns,
                    uint32_t request)
{
    struct gsh_waits_table *table = &pe->page->waits;
    uint32_t thread = (uint32_t)syscall(SYS_gettid), place = thread * 2654435761u;
    for (uint32_t i = 0; i < GSH_WAITS_PROBES; i++) {
        struct gsh_waits_entry *e = &table->entry[(place + i) % GSH_WAITS_ENTRIES];
        /* acquire: pairs with the release below and that of a kernel */
        uint32_t tag = gsh_load_acquire_u32(&e->tag);
        if (tag == request * 2 + 1 && is_own(e, thread, what)) {
            return;
        }
        if (tag / 2 >= request || (tag != 0 && tag % 2 == 0)) {
            continue;
        }
        if (__atomic_compare_exchange_n(&e->tag, &tag, request * 2, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            fill(e, what, gsh_now_ns() - since_ns, thread);
            /* release: pairs with the acquire in gsh_waits_read */
            gsh_store_release_u32(&e->tag, request * 2 + 1);
            return;
        }
    }
    __atomic_fetch_or(&table->missed[place % GSH_WAITS_MISSED_BITS / 32], 1u << place % 32,
                      __ATOMIC_RELAXED);
}

void gsh_waits_ask(struct gsh_instance *pe, uint32_t request)
{
    for (uint32_t i = 0; i < GSH_WAITS_MISSED_BITS / 32; i++) {
        __atomic_store_n(&pe->page->waits.missed[i], 0, __ATOMIC_RELAXED);
    }
    /* release: pairs with the acquires of those who answer */
    gsh_store_release_u32(&pe->page->control.wait_request, request);
}

void gsh_waits_close(struct gsh_instance *pe)
{
    gsh_store_release_u32(&pe->page->control.wait_request, 0);
}

uint32_t gsh_waits_read(struct gsh_instance *pe, uint32_t request, struct gsh_waits_entry *out,
                        uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < GSH_WAITS_ENTRIES; i++) {
        const struct gsh_waits_entry *e = &pe->page->waits.entry[i];
        /* acquire: pairs with the release in gsh_waits_tell, or of a kernel's */
        if (gsh_load_acquire_u32(&e->tag) == request * 2 + 1) {
            if (n < max) {
                out[n] = *e;
            }
            n++;
        }
    }
    return n;
}

uint32_t gsh_waits_count_missed(const struct gsh_instance *pe)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < GSH_WAITS_MISSED_BITS / 32; i++) {
        n += (uint32_t)__builtin_popcount(gsh_load_relaxed_u32(&pe->page->waits.missed[i]));
    }
    return n;
}
