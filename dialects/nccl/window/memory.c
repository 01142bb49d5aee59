/* SPDX-License-Identifier: Apache-2.0
 * Memory and windows. */
#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/include/nccl_device/window_record.h"
#include "dialects/nccl/window/record.h"
#include "dialects/nccl/window/window.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* ---- memory ---- */

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    static const char call[] = "ncclMemAlloc";
    if (ptr == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: ptr is NULL", call);
    }
    void *memory = NULL;
    int error = gshmemx_layer_alloc(call, size, &memory);
    if (error == 0) {
        *ptr = memory;
    }
    return gsh_nccl_base(call, error);
}

ncclResult_t ncclMemFree(void *ptr)
{
    static const char call[] = "ncclMemFree";
    return ptr == NULL ? ncclSuccess : gsh_nccl_base(call, gshmemx_layer_free(call, ptr));
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
    return &comm->job->windows[w->record_index];
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

/* The offset of the bytes from base, which has w's bytes; SIZE_MAX: outside. */
static size_t offset_in(const struct gsh_nccl_window *w, const char *base, const void *buffer,
                        size_t bytes)
{
    const uintptr_t off = (uintptr_t)buffer - (uintptr_t)base;
    return off <= w->bytes && bytes <= w->bytes - off ? off : SIZE_MAX;
}

void *gsh_nccl_symmetric(const struct ncclComm *comm, const void *buffer, size_t bytes)
{
    for (const struct gsh_nccl_window *w = comm->windows; w != NULL; w = w->next) {
        size_t off = SIZE_MAX;
        if ((w->flags & NCCL_WIN_COLL_SYMMETRIC) != 0) {
            off = offset_in(w, w->user, buffer, bytes);
            off = off != SIZE_MAX ? off : offset_in(w, w->buffer, buffer, bytes);
        }
        if (off != SIZE_MAX) {
            return w->buffer + off;
        }
    }
    return NULL;
}

/* Memory from gshmem_malloc is already symmetric, so a rank that registers it waits for no other. A
 * rank that registers other memory needs all ranks, and must notice if one does not join because
 * its memory is symmetric. So each rank leaves a note of its latest call for ranks that wait: twice
 * the call's number, plus 1 if this rank does not wait. Waiting ranks cannot overtake each other,
 * so a higher number comes from a rank that did not wait. */
static void leave_note(struct ncclComm *comm, uint64_t number, bool waits)
{
    if (comm->n_ranks > 1) {
        gshmem_uint64_p(comm->note, 2 * number + !waits, comm->job->my_pe);
    }
}

/* The lowest rank that does not wait in this call; -1: all wait. */
static int find_absent(const char *call, const struct ncclComm *comm, uint64_t number)
{
    int absent = -1;
    bool is_there = true;
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        struct gshmemx_layer_wait wait = {0};
        const int pe = comm->pe_of[rank];
        uint64_t note = 2 * number;
        while (is_there && rank != comm->rank &&
               (note = gshmem_uint64_g(comm->note, pe)) < 2 * number) {
            is_there = gshmemx_layer_wait_poll(call, pe, &wait);
        }
        absent = absent < 0 && note > 2 * number ? rank : absent;
    }
    return absent;
}

/* Distinguishes windows that are not the same bytes of the heap. */
static uint64_t mark_of(const struct ncclComm *comm, uint64_t number, const char *buffer,
                        size_t bytes)
{
    const uint64_t parts[] = {number, (uint64_t)(buffer - comm->job->segment), bytes};
    uint64_t mark = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        mark = (mark ^ parts[i]) * 0x9e3779b97f4a7c15u;
        mark ^= mark >> 29;
    }
    return mark;
}

static ncclResult_t differ(const char *call, int rank, int other)
{
    return gsh_nccl_fail(ncclInvalidUsage,
                         "%s: ranks %d and %d have windows at different offsets in the heap, or "
                         "one of them has none there: a window on memory of gshmem_malloc is the "
                         "same bytes of the same allocation on all ranks",
                         call, rank, other);
}

ncclResult_t gsh_nccl_windows_compare(const char *call, const struct ncclComm *comm,
                                      const uint64_t *marks, size_t bytes_apart)
{
    for (int rank = 1; rank < comm->n_ranks; rank++) {
        const char *its = (const char *)marks + (size_t)rank * bytes_apart;
        if (memcmp(its, marks, sizeof(*marks)) != 0) {
            return differ(call, 0, rank);
        }
    }
    return ncclSuccess;
}

/* Checking builds: like gsh_nccl_windows_compare, but at once. The marks of successive calls
 * alternate between two words. A peer waits for a rank that still reads them before it makes the
 * call after the next. */
static ncclResult_t compare_now(const char *call, const struct ncclComm *comm, uint64_t number)
{
    bool is_there = true;
    for (int rank = 0; rank < comm->n_ranks; rank++) {
        struct gshmemx_layer_wait wait = {0};
        const int pe = comm->pe_of[rank];
        while (is_there && rank != comm->rank && gshmem_uint64_g(comm->note, pe) < 2 * number) {
            is_there = gshmemx_layer_wait_poll(call, pe, &wait);
        }
        if (is_there && rank != comm->rank &&
            gshmem_uint64_g(&comm->note[1 + number % 2], pe) != comm->marks) {
            return differ(call, comm->rank, rank);
        }
    }
    return ncclSuccess;
}

/* If one rank fails, all ranks that wait fail. */
static ncclResult_t register_together(const char *call, struct ncclComm *comm, uint64_t number,
                                      struct gsh_nccl_window *w)
{
    void *alias = NULL;
    const int absent = find_absent(call, comm, number);
    ncclResult_t r = gsh_nccl_check_lives(call, comm->job, comm->control_team);
    if (r != ncclSuccess) {
        return r;
    }
    if (absent >= 0) {
        return gsh_nccl_fail(
            ncclInvalidUsage,
            "%s: this rank's %zu bytes at %p are not of gshmem_malloc, and rank "
            "%d's are, or its call has failed: all ranks give such memory, or none "
            "does",
            call, w->bytes, (void *)w->user, absent);
    }
    r = gsh_nccl_agreement_lock(call, comm->job, comm->control_team, NULL, 0);
    if (r != ncclSuccess) {
        return r;
    }
    int error = gshmemx_layer_register(call, comm->control_team, w->user, w->bytes, &alias);
    gsh_nccl_agreement_unlock(comm->job);
    if (error == 0) {
        w->buffer = alias;
        w->is_registered = true;
    }
    r = gsh_nccl_check_lives(call, comm->job, comm->control_team);
    return r != ncclSuccess ? r : gsh_nccl_base(call, error);
}

static ncclResult_t run_register(const struct gsh_nccl_call *c)
{
    struct ncclComm *comm = c->comm;
    const uint64_t number = ++comm->n_registrations;
    const struct gsh_nccl_registration *asked = &c->registration;
    const bool is_symmetric = gshmemx_layer_is_symmetric(asked->buffer, asked->bytes) != 0;
    struct gsh_nccl_window *w = malloc(sizeof(*w));
    const int record_index = w != NULL ? gsh_nccl_record_take(comm->job) : -1;
    const uint64_t mark =
        is_symmetric && record_index >= 0 ? mark_of(comm, number, asked->buffer, asked->bytes) : 0;
    ncclResult_t r = ncclSuccess;
    if (GSH_CHECKS && comm->n_ranks > 1) {
        gshmem_uint64_p(&comm->note[1 + number % 2], comm->marks + mark, comm->job->my_pe);
        gshmem_fence(); /* the note comes last; other ranks wait for it */
    }
    leave_note(comm, number, !is_symmetric && record_index >= 0);
    if (record_index < 0) {
        r = w != NULL ? gsh_nccl_record_none(c->name)
                      : gsh_nccl_fail(ncclSystemError, "%s: no memory", c->name);
        free(w);
        return r;
    }
    *w = (struct gsh_nccl_window){.user = asked->buffer,
                                  .buffer = asked->buffer,
                                  .bytes = asked->bytes,
                                  .flags = asked->flags,
                                  .record_index = record_index,
                                  .mark = mark};
    comm->marks += mark;
    if ((asked->flags & NCCL_WIN_COLL_SYMMETRIC) != 0) {
        /* Collectives on it may be direct. A failure is theirs to report, which try again. */
        (void)gshmemx_layer_load_colls(c->name, true);
    }
    if (!is_symmetric) {
        r = register_together(c->name, comm, number, w);
    } else if (GSH_CHECKS && comm->n_ranks > 1) {
        r = compare_now(c->name, comm, number);
    }
    if (r != ncclSuccess) {
        comm->marks -= mark;
        gsh_nccl_record_give(comm, record_index);
        free(w);
        return r;
    }
    gsh_nccl_record_write(comm, record_index, w->buffer, w->bytes, w->flags);
    w->next = comm->windows;
    comm->windows = w;
    *asked->window = handle_of(comm, w);
    return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win,
                                    int winFlags)
{
    static const char call[] = "ncclCommWindowRegister";
    static const int flags = NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING | NCCL_WIN_GIN_ONLY;
    ncclResult_t r = gsh_nccl_need_open(call, comm);
    if (r == ncclSuccess && (winFlags & NCCL_WIN_CFT_COUNTED) != 0) {
        r = gsh_nccl_fail(ncclInvalidUsage,
                          "%s: NCCL_WIN_CFT_COUNTED: no device here has logical endpoints", call);
    }
    if (r == ncclSuccess &&
        (win == NULL || buff == NULL || size == 0 || (winFlags & ~flags) != 0)) {
        r = gsh_nccl_fail(ncclInvalidArgument,
                          "%s: %zu bytes at %p, window %p, flags 0x%x: not valid", call, size, buff,
                          (void *)win, (unsigned)winFlags);
    }
    struct gsh_nccl_call c = {
        .name = call,
        .family = GSH_NCCL_REGISTER,
        .run = run_register,
        .comm = comm,
        .agrees = true,
        .registration = {.buffer = buff, .bytes = size, .flags = winFlags, .window = win}};
    return gsh_nccl_submit(r, &c);
}

/* Ends the members' access to each other's memory: collective over them, with the PE's agreement
 * lock held. */
static ncclResult_t unregister(const char *call, struct ncclComm *comm,
                               const struct gsh_nccl_window *w)
{
    return gsh_nccl_base(call,
                         gshmemx_layer_unregister(call, comm->control_team, w->buffer, w->bytes));
}

static ncclResult_t run_deregister(const struct gsh_nccl_call *c)
{
    struct gsh_nccl_window *w = c->deregistration.window;
    if (c->deregistration.is_visible) {
        gsh_nccl_record_hide(c->comm, w->record_index);
    }
    gsh_nccl_record_give(c->comm, w->record_index);
    if (!w->is_registered) {
        return ncclSuccess;
    }
    ncclResult_t r = gsh_nccl_agreement_lock(c->name, c->comm->job, c->comm->control_team, NULL, 0);
    if (r == ncclSuccess) {
        r = unregister(c->name, c->comm, w);
        gsh_nccl_agreement_unlock(c->comm->job);
    }
    return r;
}

static struct gsh_nccl_window *unlink_window(struct ncclComm *comm, struct gsh_nccl_window **p)
{
    struct gsh_nccl_window *w = *p;
    *p = w->next;
    comm->marks -= w->mark;
    return w;
}

static void link_window(struct ncclComm *comm, struct gsh_nccl_window *w)
{
    w->next = comm->windows;
    comm->windows = w;
    comm->marks += w->mark;
}

static void undo_deregister(const struct gsh_nccl_call *c)
{
    link_window(c->comm, c->deregistration.window);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win)
{
    static const char call[] = "ncclCommWindowDeregister";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    if (win == NULL) {
        return ncclSuccess;
    }
    struct gsh_nccl_window **p = find(comm, win);
    if (*p == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: the communicator has no window %p", call,
                          (void *)win);
        return gsh_nccl_refuse(r);
    }
    struct gsh_nccl_window *w = unlink_window(comm, p);
    const bool is_in_group = gsh_nccl_is_in_group();
    if (!is_in_group) {
        gsh_nccl_record_hide(comm, w->record_index);
    }
    /* If a thread has several ranks, the other ranks' calls come later. */
    struct gsh_nccl_call c = {.name = call,
                              .family = GSH_NCCL_DEREGISTER,
                              .run = run_deregister,
                              .comm = comm,
                              .agrees = w->is_registered,
                              .is_detached = w->is_registered,
                              .owned = w,
                              .undo = undo_deregister,
                              .deregistration = {.window = w, .is_visible = is_in_group}};
    return gsh_nccl_submit(r, &c);
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
    *outUserPtr = w->user;
    return ncclSuccess;
}

void gsh_nccl_windows_free(struct ncclComm *comm)
{
    while (comm->windows != NULL) {
        struct gsh_nccl_window *w = unlink_window(comm, &comm->windows);
        gsh_nccl_record_give(comm, w->record_index);
        if (w->is_registered) {
            (void)unregister("ncclCommDestroy", comm, w);
        }
        free(w);
    }
}
