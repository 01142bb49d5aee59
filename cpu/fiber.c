/* SPDX-License-Identifier: Apache-2.0
 * Stacks, and the context switch for x86-64, aarch64 and, slower, all others. */
#include "cpu/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cpu/sanitizer.h"

/* Each guard page is one more mapping of the process; Linux allows 65530 by default. Stacks beyond
 * this number have none, so the rest of the program can still map memory. */
#define MAX_GUARDS 12000

static int n_guards;

/* ---- the switch ------------------------------------------------------------------------------
 *
 * gsh_fiber_swap(void **from_sp, void *to_sp) saves the registers that a call preserves on the
 * current stack and takes them from the other. Floating-point control words are not switched: all
 * fibers of an OS thread share them. A new fiber "returns" into gsh_fiber_enter, which calls
 * start(fiber); its own caller is declared undefined, where unwinders and debuggers stop. */

GSH_NO_TSAN static void start(struct gsh_fiber *self)
{
    gsh_asan_finish_switch(NULL);
    gsh_tsan_acquire(&self->tsan_made);
    self->main(self);
    abort();
}

#if defined(GSH_FIBER_UCONTEXT)

static void enter(unsigned hi, unsigned lo)
{
    start((struct gsh_fiber *)(uintptr_t)((uint64_t)hi << 32 | lo));
}

static void prepare(struct gsh_fiber *fiber, char *top)
{
    uint64_t self = (uintptr_t)fiber;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = (size_t)(top - (char *)fiber->stack);
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))enter, 2, (unsigned)(self >> 32), (unsigned)self);
}

#elif defined(__x86_64__)

void gsh_fiber_swap(void **from_sp, void *to_sp) __attribute__((visibility("hidden")));
void gsh_fiber_enter(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".p2align 4\n"
        ".globl gsh_fiber_swap\n"
        ".hidden gsh_fiber_swap\n"
        ".type gsh_fiber_swap, @function\n"
        "gsh_fiber_swap:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %rbp, 0\n"
        "pushq %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %rbx, 0\n"
        "pushq %r12\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %r12, 0\n"
        "pushq %r13\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %r13, 0\n"
        "pushq %r14\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %r14, 0\n"
        "pushq %r15\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %r15, 0\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n .cfi_adjust_cfa_offset -8\n .cfi_restore %r15\n"
        "popq %r14\n .cfi_adjust_cfa_offset -8\n .cfi_restore %r14\n"
        "popq %r13\n .cfi_adjust_cfa_offset -8\n .cfi_restore %r13\n"
        "popq %r12\n .cfi_adjust_cfa_offset -8\n .cfi_restore %r12\n"
        "popq %rbx\n .cfi_adjust_cfa_offset -8\n .cfi_restore %rbx\n"
        "popq %rbp\n .cfi_adjust_cfa_offset -8\n .cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size gsh_fiber_swap, . - gsh_fiber_swap\n"
        ".p2align 4\n"
        ".globl gsh_fiber_enter\n"
        ".hidden gsh_fiber_enter\n"
        ".type gsh_fiber_enter, @function\n"
        "gsh_fiber_enter:\n"
        ".cfi_startproc\n"
        ".cfi_undefined %rip\n"
        "movq %r12, %rdi\n"
        "callq *%rbx\n"
        "ud2\n"
        ".cfi_endproc\n"
        ".size gsh_fiber_enter, . - gsh_fiber_enter\n");

static void prepare(struct gsh_fiber *fiber, char *top)
{
    /* As gsh_fiber_swap pushes: r15 r14 r13 r12 rbx rbp, return address; with two words above,
     * gsh_fiber_enter finds the stack aligned to 16 bytes, as its call must. */
    uint64_t *sp = (uint64_t *)(void *)top - 9;
    sp[3] = (uint64_t)(uintptr_t)fiber; /* r12 */
    sp[4] = (uint64_t)(uintptr_t)start; /* rbx */
    sp[6] = (uint64_t)(uintptr_t)gsh_fiber_enter;
    fiber->sp = sp;
}

#elif defined(__aarch64__)

void gsh_fiber_swap(void **from_sp, void *to_sp) __attribute__((visibility("hidden")));
void gsh_fiber_enter(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".p2align 4\n"
        ".globl gsh_fiber_swap\n"
        ".hidden gsh_fiber_swap\n"
        ".type gsh_fiber_swap, %function\n"
        "gsh_fiber_swap:\n"
        ".cfi_startproc\n"
        "sub sp, sp, #160\n .cfi_adjust_cfa_offset 160\n"
        "stp x19, x20, [sp, #0]\n .cfi_rel_offset x19, 0\n .cfi_rel_offset x20, 8\n"
        "stp x21, x22, [sp, #16]\n .cfi_rel_offset x21, 16\n .cfi_rel_offset x22, 24\n"
        "stp x23, x24, [sp, #32]\n .cfi_rel_offset x23, 32\n .cfi_rel_offset x24, 40\n"
        "stp x25, x26, [sp, #48]\n .cfi_rel_offset x25, 48\n .cfi_rel_offset x26, 56\n"
        "stp x27, x28, [sp, #64]\n .cfi_rel_offset x27, 64\n .cfi_rel_offset x28, 72\n"
        "stp x29, x30, [sp, #80]\n .cfi_rel_offset x29, 80\n .cfi_rel_offset x30, 88\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"
        "ldp x19, x20, [sp, #0]\n .cfi_restore x19\n .cfi_restore x20\n"
        "ldp x21, x22, [sp, #16]\n .cfi_restore x21\n .cfi_restore x22\n"
        "ldp x23, x24, [sp, #32]\n .cfi_restore x23\n .cfi_restore x24\n"
        "ldp x25, x26, [sp, #48]\n .cfi_restore x25\n .cfi_restore x26\n"
        "ldp x27, x28, [sp, #64]\n .cfi_restore x27\n .cfi_restore x28\n"
        "ldp x29, x30, [sp, #80]\n .cfi_restore x29\n .cfi_restore x30\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n .cfi_adjust_cfa_offset -160\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size gsh_fiber_swap, . - gsh_fiber_swap\n"
        ".p2align 4\n"
        ".globl gsh_fiber_enter\n"
        ".hidden gsh_fiber_enter\n"
        ".type gsh_fiber_enter, %function\n"
        "gsh_fiber_enter:\n"
        ".cfi_startproc\n"
        ".cfi_undefined x30\n"
        "mov x0, x20\n"
        "blr x19\n"
        "brk #1\n"
        ".cfi_endproc\n"
        ".size gsh_fiber_enter, . - gsh_fiber_enter\n");

static void prepare(struct gsh_fiber *fiber, char *top)
{
    /* As gsh_fiber_swap stores: x19 .. x30, d8 .. d15. */
    uint64_t *sp = (uint64_t *)(void *)top - 20;
    sp[0] = (uint64_t)(uintptr_t)start; /* x19 */
    sp[1] = (uint64_t)(uintptr_t)fiber; /* x20 */
    sp[11] = (uint64_t)(uintptr_t)gsh_fiber_enter;
    fiber->sp = sp;
}

#endif

GSH_NO_TSAN void gsh_fiber_switch(struct gsh_fiber *from, struct gsh_fiber *to, bool is_parked)
{
    gsh_asan_start_switch(is_parked ? NULL : &from->asan_fake, to->stack, to->stack_bytes);
    gsh_tsan_become(to->tsan);
#ifdef GSH_FIBER_UCONTEXT
    swapcontext(&from->context, &to->context);
#else
    gsh_fiber_swap(&from->sp, to->sp);
#endif
    gsh_asan_finish_switch(is_parked ? NULL : from->asan_fake);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

void gsh_fiber_init_thread(struct gsh_fiber *self)
{
    pthread_attr_t attr;
    memset(self, 0, sizeof(*self));
    self->tsan = gsh_tsan_current();
    /* Only the address sanitizer needs the bounds. */
    if (gsh_asan_is_on() && pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &self->stack, &self->stack_bytes);
        pthread_attr_destroy(&attr);
    }
}

/* Not the C library's mmap, which the thread sanitizer intercepts: it would mark each byte. */
static void *map_unwatched(void *hint, size_t bytes)
{
#ifdef SYS_mmap
    return (void *)syscall(SYS_mmap, hint, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0L);
#else
    return mmap(hint, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
#endif
}

/* The sanitizer still remembers an ended OS thread's writes to the memory of its stack; the C
 * library's munmap makes it forget them. */
static void *map_stack(size_t bytes)
{
    void *stack = map_unwatched(NULL, bytes), *before = NULL;
    while (gsh_tsan_is_on() && stack != MAP_FAILED && stack != before) {
        before = stack;
        munmap(stack, bytes);
        stack = map_unwatched(before, bytes);
    }
    return stack;
}

static bool add_guard(char *stack, size_t page)
{
    if (__atomic_add_fetch(&n_guards, 1, __ATOMIC_RELAXED) <= MAX_GUARDS &&
        mprotect(stack, page, PROT_NONE) == 0) {
        return true;
    }
    __atomic_sub_fetch(&n_guards, 1, __ATOMIC_RELAXED);
    return false;
}

struct gsh_fiber *gsh_fiber_create(size_t stack_bytes, void (*main)(struct gsh_fiber *self))
{
    static unsigned n_created;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (stack_bytes + page - 1) / page * page;
    struct gsh_fiber *fiber = calloc(1, sizeof(*fiber));
    if (!fiber) {
        return NULL;
    }
    char *stack = map_stack(page + bytes);
    fiber->tsan = stack == MAP_FAILED ? NULL : gsh_tsan_create();
    if (stack == MAP_FAILED || (gsh_tsan_is_on() && !fiber->tsan)) {
        if (stack != MAP_FAILED) {
            munmap(stack, page + bytes);
        }
        free(fiber);
        return NULL;
    }
    fiber->has_guard = add_guard(stack, page);
    fiber->mapping = stack;
    fiber->mapping_bytes = page + bytes;
    fiber->stack = stack + page;
    fiber->stack_bytes = bytes;
    fiber->main = main;
    /* The tops of all stacks would fall into one cache set: spread them over a page. */
    size_t colour = __atomic_fetch_add(&n_created, 1, __ATOMIC_RELAXED) * 5 % 32;
    fiber->top = stack + page + bytes - colour * 64;
    prepare(fiber, fiber->top);
    gsh_tsan_release(&fiber->tsan_made);
    return fiber;
}

void gsh_fiber_rewind(struct gsh_fiber *fiber)
{
    prepare(fiber, fiber->top);
}

void gsh_fiber_destroy(struct gsh_fiber *fiber)
{
    if (!fiber) {
        return;
    }
    if (fiber->has_guard) {
        __atomic_sub_fetch(&n_guards, 1, __ATOMIC_RELAXED);
    }
    /* The addresses may be reused for something else: no trace of old frames may remain. */
    gsh_asan_unpoison(fiber->stack, fiber->stack_bytes);
    gsh_tsan_destroy(fiber->tsan);
    munmap(fiber->mapping, fiber->mapping_bytes);
    free(fiber);
}
