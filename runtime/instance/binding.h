/* SPDX-License-Identifier: Apache-2.0
 * Which PE the calling thread acts for: the one it made, else, in a thread that never called init,
 * the process's only PE when it has just one. */
#ifndef GSH_BINDING_H
#define GSH_BINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsh_instance;

/* Private to binding.c and gsh_instance_current: the process's PE while only one thread has ever
 * made PEs, else NULL. */
extern struct gsh_instance *gsh_lone_pe;
struct gsh_instance *gsh_instance_find(void);

/* The calling thread's PE, NULL before init and after finalize. Part of every host call: usually
 * one load. */
static inline struct gsh_instance *gsh_instance_current(void)
{
    /* acquire: pairs with the release in gsh_instance_bind */
    struct gsh_instance *pe = __atomic_load_n(&gsh_lone_pe, __ATOMIC_ACQUIRE);
    return __builtin_expect(pe != NULL, 1) ? pe : gsh_instance_find();
}
/* The PE the calling thread itself made, or NULL. */
struct gsh_instance *gsh_instance_bound(void);
/* One of the process's PEs, the latest; NULL: none. */
struct gsh_instance *gsh_instance_first(void);
/* The same for public calls: prints "<call>: called before gshmem_init" (or after finalize) and
 * ends the process when there is none. */
struct gsh_instance *gsh_instance_need(const char *call);

/* For dialects: the PE the calling thread itself made, else the process's only PE, unless a dialect
 * made that, or is making it, for some thread; or NULL. */
struct gsh_instance *gsh_instance_of_program(void);
/* Whether PEs that the calling thread makes are of a dialect. */
void gsh_instance_make_for_dialect(bool is_for_dialect);
bool gsh_instance_is_made_for_dialect(void);

/* The record of a PE, zeros but for its serial number; NULL: no memory. For init. */
struct gsh_instance *gsh_instance_allocate(void);
void gsh_instance_release(struct gsh_instance *pe);
/* Whether that number, which another PE has told, is the address of a record of this process: then
 * it is the record, else NULL. Records stay valid memory. */
struct gsh_instance *gsh_instance_at(uint64_t address);
/* Makes pe the calling thread's PE. */
void gsh_instance_bind(struct gsh_instance *pe);
/* Undoes it, in any thread: other threads that act for pe act for none once it is released. */
void gsh_instance_unbind(struct gsh_instance *pe);

/* For dialects, whose threads may act for several PEs in turn: the calling thread acts for pe
 * (NULL: for none) until it returns to what it did before. Turns nest. */
struct gsh_spoken {
    struct gsh_instance *pe;
    uint64_t serial;
    int state;
};
void gsh_instance_speak(struct gsh_instance *pe, struct gsh_spoken *before);
void gsh_instance_speak_again(const struct gsh_spoken *before);

#endif
