/* SPDX-License-Identifier: Apache-2.0
 * Memory and windows. */
#include <stdlib.h>
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "dialects/nccl/src/group.h"
#include "gshmem.h"
#include "gshmemx.h"

/* ---- memory ---- */

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    static const char call[] = "ncclMemAlloc";
    if (ptr == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: ptr is NULL", call);
    }
    if (gshmemx_init_status() == GSHMEM_STATUS_NOT_INITIALIZED) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: memory is symmetric, and made once gshmem runs: after the first "
                             "communicator, or gshmem_init",
                             call);
    }
    /* What is registered must be a window's size: none is smaller. */
    void *memory = gshmem_align(NCCL_WIN_REQUIRED_ALIGNMENT, size > 0 ? size : 1);
    if (memory == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no %zu bytes on all ranks", call, size);
    }
    *ptr = memory;
    return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr)
{
    /* With the last communicator the memory has gone already. */
    if (gshmemx_init_status() != GSHMEM_STATUS_NOT_INITIALIZED) {
        gshmem_free(ptr);
    }
    return ncclSuccess;
}

/* ---- registration of buffers: counted, so that what is left open is found ---- */

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle)
{
    static const char call[] = "ncclCommRegister";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (buff == NULL || size == 0 || handle == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: %zu bytes at %p: not valid", call, size,
                             buff);
    }
    comm->n_registered++;
    *handle = buff;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    static const char call[] = "ncclCommDeregister";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess && (handle == NULL || comm->n_registered == 0)) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %p is not registered", call, handle);
    }
    if (r == ncclSuccess) {
        comm->n_registered--;
    }
    return r;
}

/* ---- windows ---- */

static ncclWindow_t handle_of(const struct ncclComm *comm, const struct gsh_nccl_window *w)
{
    return &comm->job->windows[w->place];
}

static struct gsh_nccl_window **find(struct ncclComm *comm, ncclWindow_t win)
{
    struct gsh_nccl_window **p = &comm->windows;
    while (*p != NULL && handle_of(comm, *p) != win) {
        p = &(*p)->next;
    }
    return p;
}

const struct gsh_nccl_window *gsh_nccl_window_find(struct ncclComm *comm, ncclWindow_t win)
{
    return *find(comm, win);
}

const struct gsh_nccl_window *gsh_nccl_window_of(const struct ncclComm *comm, const void *buffer,
                                                 size_t bytes)
{
    uintptr_t a = (uintptr_t)buffer;
    for (const struct gsh_nccl_window *w = comm->windows; w != NULL; w = w->next) {
        uintptr_t begin = (uintptr_t)w->buffer;
        if ((w->flags & NCCL_WIN_COLL_SYMMETRIC) != 0 && a >= begin && bytes <= w->bytes &&
            a - begin <= w->bytes - bytes) {
            return w;
        }
    }
    return NULL;
}

static int free_place(const struct gsh_nccl_job *job)
{
    for (int i = 0; i < GSH_NCCL_N_WINDOWS; i++) {
        if (job->is_window_used[i] == 0) {
            return i;
        }
    }
    return -1;
}

ncclResult_t gsh_nccl_window_place(const char *call, struct ncclComm *comm, void *buffer,
                                   size_t bytes, int flags, int *place)
{
    struct gsh_nccl_job *job = comm->job;
    *place = free_place(job);
    if (*place < 0) {
        return gsh_nccl_fail(ncclSystemError, "%s: no room: a rank has at most %d windows", call,
                             GSH_NCCL_N_WINDOWS);
    }
    struct ncclWindow_vidmem record = {
        .local = (uint64_t)(uintptr_t)buffer,
        .bytes = bytes,
        .lsa_stride = comm->lsa_stride,
        .lsa_rank = comm->lsa_rank,
        .lsa_size = comm->lsa_size,
        .rank = comm->rank,
        .flags = (uint32_t)flags,
        .owner = gsh_nccl_comm_id(comm),
    };
    gsh_nccl_write(&job->windows[*place], &record, sizeof(record));
    job->is_window_used[*place] = 1;
    return ncclSuccess;
}

void gsh_nccl_window_unplace(struct ncclComm *comm, int place)
{
    comm->job->is_window_used[place] = 0;
}

static ncclResult_t run_register(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    struct gsh_nccl_window *w = malloc(sizeof(*w));
    if (w == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
    }
    *w = (struct gsh_nccl_window){
        .next = comm->windows, .buffer = c->dest, .bytes = c->count, .flags = c->a};
    ncclResult_t r = gsh_nccl_window_place(c->name, comm, c->dest, c->count, c->a, &w->place);
    if (r != ncclSuccess) {
        free(w);
        return r;
    }
    comm->windows = w;
    *c->window = handle_of(comm, w);
    return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win,
                                    int winFlags)
{
    static const char call[] = "ncclCommWindowRegister";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (win == NULL || buff == NULL || size == 0 ||
        (winFlags & ~(NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING)) != 0) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: %zu bytes at %p, window %p, flags 0x%x: not valid", call, size,
                             buff, (void *)win, (unsigned)winFlags);
    }
    if (gshmem_ptr(buff, comm->job->my_pe) == NULL ||
        gshmem_ptr((char *)buff + size - 1, comm->job->my_pe) == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: %zu bytes at %p do not lie in symmetric memory: a window is made "
                             "of memory from ncclMemAlloc or gshmem_malloc",
                             call, size, buff);
    }
    struct gsh_nccl_call c = {.name = call,
                              .run = run_register,
                              .comm = comm,
                              .meets = true,
                              .dest = buff,
                              .count = size,
                              .window = win,
                              .a = winFlags};
    return gsh_nccl_submit(&c);
}

static void unlink_window(struct ncclComm *comm, struct gsh_nccl_window **p)
{
    struct gsh_nccl_window *w = *p;
    *p = w->next;
    gsh_nccl_window_unplace(comm, w->place);
    free(w);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win)
{
    static const char call[] = "ncclCommWindowDeregister";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess || win == NULL) {
        return r;
    }
    struct gsh_nccl_window **p = find(comm, win);
    if (*p == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: the communicator has no window %p", call,
                             (void *)win);
    }
    gsh_nccl_window_hide(comm, (*p)->place);
    unlink_window(comm, p);
    return ncclSuccess;
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void **outUserPtr)
{
    static const char call[] = "ncclWinGetUserPtr";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    struct gsh_nccl_window *w = *find(comm, win);
    if (w == NULL || outUserPtr == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: window %p: not valid", call, (void *)win);
    }
    *outUserPtr = w->buffer;
    return ncclSuccess;
}

void gsh_nccl_windows_free(struct ncclComm *comm)
{
    while (comm->windows != NULL) {
        unlink_window(comm, &comm->windows);
    }
}
