/* SPDX-License-Identifier: Apache-2.0
 * A stack that code can leave and return to in the middle of a function. Tells the sanitizers about
 * each switch: the thread sanitizer treats a fiber as a thread. The caller decides which one runs
 * when (block.c). */
#ifndef GSH_FIBER_H
#define GSH_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(GSH_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define GSH_FIBER_UCONTEXT 1
#endif

#ifdef GSH_FIBER_UCONTEXT
#include <ucontext.h>
#endif

struct gsh_fiber {
#ifdef GSH_FIBER_UCONTEXT
    ucontext_t context;
#else
    void *sp;
#endif
    void *stack; /* lowest usable byte; NULL: an OS thread's own stack */
    size_t stack_bytes;
    char *top;     /* where its first frame begins */
    void *mapping; /* with the guard page */
    size_t mapping_bytes;
    bool has_guard;
    void (*main)(struct gsh_fiber *self);
    void *asan_fake; /* the address sanitizer's, while the fiber is not running */
    void *tsan;      /* the thread sanitizer's context */
    char tsan_made;  /* address for it: acquired by main, to be ordered after the creation */
    /* for the caller: */
    struct gsh_fiber *next;
    void *owner;
    uint64_t last_run;
};

/* Describes the calling OS thread, so that fibers can switch back to it. */
void gsh_fiber_init_thread(struct gsh_fiber *self);

/* Makes a fiber that calls main when first switched to; main must not return. NULL: out of memory.
 * Memory is allocated page by page as the stack is used; a page below it faults. */
struct gsh_fiber *gsh_fiber_create(size_t stack_bytes, void (*main)(struct gsh_fiber *self));
/* The fiber must not be running. NULL is ignored. */
void gsh_fiber_destroy(struct gsh_fiber *fiber);
/* Forgets the frames of a fiber that is not running: it calls main anew when next switched to. Not
 * under sanitizers, which remember them. */
void gsh_fiber_rewind(struct gsh_fiber *fiber);

/* Suspends `from`, the caller's own, and resumes `to`. is_parked: the only live frame of `from` is
 * the caller's. */
void gsh_fiber_switch(struct gsh_fiber *from, struct gsh_fiber *to, bool is_parked);

#endif
