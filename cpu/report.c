/* SPDX-License-Identifier: Apache-2.0
 * Words the report of a kernel's mistake at a barrier: which threads of the block wait where, and
 * which have exited. */
#include "cpu/report.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "cpu/fatal.h"
#include "cpu/here.h"
#include "cpu/run.h"
#include "cpu/sanitizer.h"

static const char *const barrier_name[] = {
    [GSH_CPU_SYNCTHREADS] = "__syncthreads",
    [GSH_CPU_SYNCTHREADS_COUNT] = "__syncthreads_count",
    [GSH_CPU_SYNCTHREADS_AND] = "__syncthreads_and",
    [GSH_CPU_SYNCTHREADS_OR] = "__syncthreads_or",
    [GSH_CPU_GRID_SYNC] = "this_grid().sync()",
};

static const char *const warp_name[] = {
    [GSH_CPU_SYNCWARP] = "__syncwarp",        [GSH_CPU_SHFL] = "__shfl_sync",
    [GSH_CPU_BALLOT] = "__ballot_sync",       [GSH_CPU_MATCH_ANY] = "__match_any_sync",
    [GSH_CPU_MATCH_ALL] = "__match_all_sync", [GSH_CPU_REDUCE] = "__reduce_sync",
};

#define N_BARRIERS (sizeof(barrier_name) / sizeof(barrier_name[0]))
#define N_WARP     (sizeof(warp_name) / sizeof(warp_name[0]))

struct text {
    char bytes[1024];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, args);
    va_end(args);
    text->used += n > 0 ? (size_t)n : 0;
    if (text->used >= sizeof(text->bytes)) {
        text->used = sizeof(text->bytes) - 1;
    }
}

/* "kernel jacobi" if the program's symbols are available, else what addr2line understands. */
static void add_kernel(struct text *text, const void *kernel)
{
    Dl_info info;
    if (!kernel || !dladdr(kernel, &info)) {
        add(text, "kernel");
        return;
    }
    if (info.dli_sname && info.dli_saddr == kernel) {
        add(text, "kernel %s", info.dli_sname);
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    add(text, "kernel %s+0x%zx", slash ? slash + 1 : info.dli_fname,
        (size_t)((const char *)kernel - (const char *)info.dli_fbase));
}

static void add_block(struct text *text, const struct gsh_cpu_block *b)
{
    add_kernel(text, b->run->launch.kernel);
    add(text, ": block (%u,%u,%u): ", b->index.x, b->index.y, b->index.z);
}

/* Whether a thread of those four warps has exited. */
GSH_NO_TSAN static bool has_exited(const struct gsh_cpu_block *b, uint32_t group)
{
    for (uint32_t i = group * GSH_CPU_GROUP; i < b->n_threads && i / GSH_CPU_GROUP == group; i++) {
        if (b->threads[i].state == GSH_THREAD_EXITED) {
            return true;
        }
    }
    return false;
}

GSH_NO_TSAN bool gsh_block_is_stuck(const struct gsh_cpu_block *b)
{
    if (b->n_exited == 0 || b->is_left) {
        return false;
    }
    for (uint32_t i = 0; i < b->n_threads; i++) {
        const struct gsh_block_thread *t = &b->threads[i];
        if (t->state == GSH_THREAD_AT_BARRIER) {
            return true;
        }
        if (t->state == GSH_THREAD_AT_GROUP && has_exited(b, i / GSH_CPU_GROUP)) {
            return true;
        }
        for (uint32_t left = t->state == GSH_THREAD_AT_WARP ? t->mask : 0; left; left &= left - 1) {
            if (b->threads[i / 32 * 32 + (uint32_t)__builtin_ctz(left)].state ==
                GSH_THREAD_EXITED) {
                return true;
            }
        }
    }
    return false;
}

GSH_NO_TSAN void gsh_block_fatal(struct gsh_cpu_block *b, const char *format, ...)
{
    struct text text = {.used = 0};
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    add_block(&text, b);
    add(&text, "%s", message);
    gsh_device_fatal(b->config, text.bytes);
}

/* One clause: how many wait at this call. *n_clauses counts the clauses. */
static void add_waiting(struct text *text, unsigned n, unsigned n_threads, const char *call,
                        int *n_clauses)
{
    if (n == 0) {
        return;
    }
    if ((*n_clauses)++ == 0) {
        add(text, "%u of %u threads wait at %s", n, n_threads, call);
    } else {
        add(text, ", %u at %s", n, call);
    }
}

GSH_NO_TSAN void gsh_block_fatal_stuck(struct gsh_cpu_block *b)
{
    unsigned at_barrier[N_BARRIERS] = {0}, at_warp[N_WARP] = {0};
    unsigned at_group = 0, n_running = 0;
    struct text text = {.used = 0};
    int n_clauses = 0;
    for (uint32_t i = 0; i < b->n_threads; i++) {
        const struct gsh_block_thread *t = &b->threads[i];
        if (t->state == GSH_THREAD_AT_BARRIER) {
            at_barrier[t->kind]++;
        } else if (t->state == GSH_THREAD_AT_WARP) {
            at_warp[t->kind]++;
        } else if (t->state == GSH_THREAD_AT_GROUP) {
            at_group++;
        } else if (t->state != GSH_THREAD_EXITED) {
            n_running++;
        }
    }
    add_block(&text, b);
    for (size_t k = 0; k < N_BARRIERS; k++) {
        add_waiting(&text, at_barrier[k], b->n_threads, barrier_name[k], &n_clauses);
    }
    for (size_t k = 0; k < N_WARP; k++) {
        add_waiting(&text, at_warp[k], b->n_threads, warp_name[k], &n_clauses);
    }
    add_waiting(&text, at_group, b->n_threads, "a barrier of four warps", &n_clauses);
    if (b->n_exited > 0) {
        add(&text, " while %u have exited", b->n_exited);
    }
    if (n_running > 0) {
        add(&text, "%s %u still run", b->n_exited > 0 ? " and" : " while", n_running);
    }
    gsh_device_fatal(b->config, text.bytes);
}

void gshmemx_cpu_report(void)
{
    const struct gsh_cpu_config *config =
        gshmem_cpu_self->block ? gshmem_cpu_self->block->config : gsh_here_config();
    if (config->report) {
        config->report(config->context);
    }
}
