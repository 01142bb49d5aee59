/* SPDX-License-Identifier: Apache-2.0
 * For which PE the calling thread acts: the PE that it made. A thread that never called init acts
 * for the process's PE if there is just one. */
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
/* The same for public calls: prints "<call>: " and why there is none, and ends the process, when
 * there is none. */
struct gsh_instance *gsh_instance_need(const char *call);
/* Why the calling thread acts for no PE: "called before gshmem_init", "called after
 * gshmem_finalize", or that the process was forked. The text stays. */
const char *gsh_instance_absence(void);
/* Whether the process was forked while its parent had PEs: it has none of them. fork arranges this
 * in the child, so that no call pays for it. A child of vfork, posix_spawn or clone itself must
 * make no call before exec. */
bool gsh_instance_is_forked(void);

/* For dialects: the PE that the calling thread itself made. If it made none: the process's only PE,
 * or NULL if a dialect made that PE, or is making it, for some thread. */
struct gsh_instance *gsh_instance_of_program(void);
/* Whether PEs that the calling thread makes are of a dialect, and small (gsh_instance.is_small). */
void gsh_instance_make_for_dialect(bool is_for_dialect, bool is_small);
bool gsh_instance_is_made_for_dialect(void);
bool gsh_instance_is_made_small(void);

/* The record of a PE, zeros but for its serial number and its own; NULL: no memory. For init. */
struct gsh_instance *gsh_instance_allocate(void);
void gsh_instance_release(struct gsh_instance *pe);
/* This process's record of that number, which another PE has sent; NULL if there is none. Records
 * stay valid memory. */
struct gsh_instance *gsh_instance_numbered(uint32_t number);
/* Makes pe the calling thread's PE. */
void gsh_instance_bind(struct gsh_instance *pe);
/* Undoes it, in any thread: other threads that act for pe act for none once it is released. */
void gsh_instance_unbind(struct gsh_instance *pe);

/* For dialects, whose threads may act for several PEs one after the other: the calling thread acts
 * for pe (NULL: for none) until it returns to the PE before. Scopes nest. */
struct gsh_spoken {
    struct gsh_instance *pe;
    uint64_t serial;
    int state;
};
void gsh_instance_speak(struct gsh_instance *pe, struct gsh_spoken *before);
void gsh_instance_speak_again(const struct gsh_spoken *before);

#endif
