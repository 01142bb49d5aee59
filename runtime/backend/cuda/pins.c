/* SPDX-License-Identifier: Apache-2.0
 * See pins.h. Compiled only where there are CUDA headers. */
#include "runtime/backend/cuda/pins.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/util.h"

/* Bytes: [start, end). */
struct range {
    uintptr_t start, end;
};

struct ranges {
    struct range *list;
    size_t n, room;
};

static struct {
    pthread_mutex_t mutex;
    struct ranges buffers; /* two PEs may have the same one */
    struct ranges pins;    /* registrations, which do not overlap; each is a run of buffers */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Room for n ranges in all, so that push cannot fail. */
static bool make_room(struct ranges *r, size_t n)
{
    return gsh_array_reserve(&r->list, &r->room, n, sizeof(*r->list));
}

static void push(struct ranges *r, struct range it)
{
    r->list[r->n++] = it;
}

static bool take_out(struct ranges *r, struct range it)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].start == it.start && r->list[i].end == it.end) {
            r->list[i] = r->list[--r->n];
            return true;
        }
    }
    return false;
}

static bool overlap(struct range a, struct range b)
{
    return a.start < b.end && b.start < a.end;
}

/* These bytes and those of all buffers that overlap them, directly or through others. */
static struct range run_of(struct range run)
{
    for (size_t i = 0; i < table.buffers.n; i++) {
        const struct range it = table.buffers.list[i];
        if (overlap(it, run) && (it.start < run.start || it.end > run.end)) {
            run.start = gsh_min_u64(run.start, it.start);
            run.end = gsh_max_u64(run.end, it.end);
            i = (size_t)-1; /* from the first again: the larger run may reach it */
        }
    }
    return run;
}

/* Whether the buffers there still make up just this run. */
static bool is_run(struct range run)
{
    for (size_t i = 0; i < table.buffers.n; i++) {
        if (overlap(table.buffers.list[i], run)) {
            const struct range its = run_of(table.buffers.list[i]);
            return its.start == run.start && its.end == run.end;
        }
    }
    return false;
}

/* ---- registrations ---- */

/* There is room in the table: there are no more runs than buffers. */
static CUresult register_run(const struct gsh_cuda *cuda, struct range run)
{
    CUresult code =
        cuda->MemHostRegister((void *)run.start, run.end - run.start,
                              CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (code == CUDA_SUCCESS) {
        push(&table.pins, run);
    }
    return code;
}

/* Undoes the table's registrations there; false: there are none. */
static bool unregister_on(const struct gsh_cuda *cuda, struct range bytes)
{
    bool is_any = false;
    for (size_t i = table.pins.n; i-- > 0;) {
        if (overlap(table.pins.list[i], bytes)) {
            cuda->MemHostUnregister((void *)table.pins.list[i].start);
            table.pins.list[i] = table.pins.list[--table.pins.n];
            is_any = true;
        }
    }
    return is_any;
}

/* Registers each run of buffers there; unregister_on came before. */
static void register_on(const struct gsh_cuda *cuda, struct range bytes)
{
    for (size_t i = 0; i < table.buffers.n; i++) {
        const struct range it = table.buffers.list[i];
        bool is_done = !overlap(it, bytes);
        for (size_t k = 0; k < table.pins.n && !is_done; k++) {
            is_done = overlap(it, table.pins.list[k]);
        }
        if (!is_done) {
            CUresult code = register_run(cuda, run_of(it));
            (void)code; /* it was pinned a moment ago; without it copies are slower */
        }
    }
}

/* Whether CUDA knows all of it as one range, whoever pinned it. */
static bool is_one_range(const struct gsh_cuda *cuda, struct range it)
{
    CUdeviceptr start = 0;
    size_t bytes = 0;
    return cuda->PointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, it.start) ==
               CUDA_SUCCESS &&
           cuda->PointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, it.start) ==
               CUDA_SUCCESS &&
           start <= it.start && it.end <= start + bytes;
}

/* ---- buffers ---- */

static struct range range_of(const void *memory, size_t bytes)
{
    return (struct range){(uintptr_t)memory, (uintptr_t)memory + bytes};
}

CUresult gsh_cuda_pin_memory(const struct gsh_cuda *cuda, void *memory, size_t bytes)
{
    const struct range it = range_of(memory, bytes);
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&table.mutex);
    const size_t n = table.buffers.n + 1;
    if (!make_room(&table.buffers, n) || !make_room(&table.pins, n)) {
        code = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (!is_one_range(cuda, it)) {
        const struct range run = run_of(it);
        const bool was_any = unregister_on(cuda, run);
        code = register_run(cuda, run);
        if (code != CUDA_SUCCESS && was_any) {
            register_on(cuda, run);
        }
    }
    if (code == CUDA_SUCCESS) {
        push(&table.buffers, it);
    }
    pthread_mutex_unlock(&table.mutex);
    return code;
}

void gsh_cuda_unpin_memory(const struct gsh_cuda *cuda, void *memory, size_t bytes)
{
    const struct range it = range_of(memory, bytes);
    pthread_mutex_lock(&table.mutex);
    const struct range run = run_of(it);
    if (take_out(&table.buffers, it) && !is_run(run) && unregister_on(cuda, run)) {
        register_on(cuda, run);
    }
    pthread_mutex_unlock(&table.mutex);
}
