/* SPDX-License-Identifier: Apache-2.0
 * Turns what a kernel reported in its PE's control block into text. */
#include "runtime/instance/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/atomic.h"
#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/waits.h"
#include "wire/coll.h"
#include "wire/lock.h"

static const char *const cmp_names[] = {"==", "!=", ">", "<=", "<", ">="};

static const char *coll_name(uint64_t signature)
{
    static const char *const names[] = {
        [GSH_COLL_BROADCAST] = "broadcast",
        [GSH_COLL_COLLECT] = "collect",
        [GSH_COLL_FCOLLECT] = "fcollect",
        [GSH_COLL_ALLTOALL] = "alltoall",
        [GSH_COLL_ALLTOALLS] = "alltoalls",
        [GSH_COLL_REDUCE] = "reduce",
        [GSH_COLL_REDUCESCATTER] = "reducescatter",
        [GSH_COLL_INSCAN] = "inscan",
        [GSH_COLL_EXSCAN] = "exscan",
    };
    unsigned coll = signature & 0xff;
    return coll <= GSH_COLL_EXSCAN ? names[coll] : "?";
}

static const char *op_name(uint64_t signature)
{
    static const char *const names[] = {"and ", "or ", "xor ", "min ", "max ", "sum ", "prod "};
    unsigned op = signature >> 8 & 0xff;
    return op < GSH_REDUCE_COUNT ? names[op] : "";
}

static const char *element_name(uint64_t signature)
{
    static const char *const names[] = {
        [GSH_ELEMENT_i8] = "int8",
        [GSH_ELEMENT_i16] = "int16",
        [GSH_ELEMENT_i32] = "int32",
        [GSH_ELEMENT_i64] = "int64",
        [GSH_ELEMENT_u8] = "uint8",
        [GSH_ELEMENT_u16] = "uint16",
        [GSH_ELEMENT_u32] = "uint32",
        [GSH_ELEMENT_u64] = "uint64",
        [GSH_ELEMENT_half] = "half",
        [GSH_ELEMENT_bfloat16] = "bfloat16",
        [GSH_ELEMENT_e4m3] = "e4m3",
        [GSH_ELEMENT_e5m2] = "e5m2",
        [GSH_ELEMENT_float] = "float",
        [GSH_ELEMENT_double] = "double",
        [GSH_ELEMENT_longdouble] = "long double",
        [GSH_ELEMENT_complexf] = "complexf",
        [GSH_ELEMENT_complexd] = "complexd",
        [GSH_ELEMENT_bits] = "bytes",
    };
    unsigned element = signature >> 16 & 0xff;
    return element < GSH_ELEMENT_COUNT ? names[element] : "?";
}

/* "sum reduce of float", "broadcast of int32 from root 2", "alltoalls of bytes, strides 1 and 3" */
static void word_call(uint64_t signature, char *out, size_t bytes)
{
    uint32_t root = (uint32_t)(signature >> 32);
    int n = snprintf(out, bytes, "%s%s of %s", op_name(signature), coll_name(signature),
                     element_name(signature));
    if ((signature & 0xff) == GSH_COLL_BROADCAST) {
        snprintf(out + n, bytes - (size_t)n, " from root %u", root);
    } else if ((signature & 0xff) == GSH_COLL_ALLTOALLS) {
        snprintf(out + n, bytes - (size_t)n, ", strides %u and %u", root & GSH_COLL_LONG_STRIDE,
                 root >> 16);
    }
}

static void word_difference(const struct gsh_instance *pe, const struct gsh_report *r, char *out,
                            size_t bytes)
{
    char mine[80], its[80];
    if (r->cmp == 1) {
        snprintf(out, bytes,
                 "the members' sizes differ: %" PRIu64 " bytes on PE %d, %" PRIu64 " on PE %d",
                 r->expected, pe->my_pe, r->seen, r->pe);
        return;
    }
    if (r->cmp == 2) {
        snprintf(out, bytes,
                 "the members' values differ: %" PRIu64 " on PE %d, %" PRIu64 " on PE %d",
                 r->expected, pe->my_pe, r->seen, r->pe);
        return;
    }
    word_call(r->expected, mine, sizeof(mine));
    word_call(r->seen, its, sizeof(its));
    snprintf(out, bytes, "the members' calls differ: %s on PE %d, %s on PE %d", mine, pe->my_pe,
             its, r->pe);
}

static const struct gsh_report_members *who_knows; /* atomic: PEs as threads each give the same */

void gsh_report_ask(const struct gsh_report_members *members)
{
    __atomic_store_n(&who_knows, members, __ATOMIC_RELAXED);
}

/* A wait for other members of a team, or on words that belong to no team. */
static void word_sync(struct gsh_instance *pe, const struct gsh_report *r, double limit, char *out,
                      size_t bytes)
{
    const struct gsh_report_members *members = __atomic_load_n(&who_knows, __ATOMIC_RELAXED);
    if (members != NULL && members->word(pe, r, out, bytes)) {
        return;
    }
    snprintf(out, bytes,
             "waited %.1f s for PE %d at address 0x%" PRIx64 ": its arrivals expected %" PRIu64
             ", seen %" PRIu64,
             limit, r->pe, r->address, r->expected, r->seen);
}

/* False: the report is not about a wait that took too long. */
static bool word_timeout(struct gsh_instance *pe, const struct gsh_report *r, char *out,
                         size_t bytes)
{
    uint64_t ns = pe->env.wait_timeout_ns;
    double limit = (double)(r->kind == GSH_REPORT_SYNC_TIMEOUT ? GSH_SYNC_LIMIT_NS(ns) : ns) / 1e9;
    switch (r->kind) {
    case GSH_REPORT_WAIT_TIMEOUT:
        snprintf(out, bytes,
                 "waited %.1f s for address 0x%" PRIx64 " (heap offset 0x%" PRIx64
                 ") to be %s %" PRId64 "; last seen %" PRId64,
                 limit, r->address, r->address - pe->state.base,
                 r->cmp < 6 ? cmp_names[r->cmp] : "?", (int64_t)r->expected, (int64_t)r->seen);
        return true;
    case GSH_REPORT_SYNC_TIMEOUT:
        word_sync(pe, r, limit, out, bytes);
        return true;
    case GSH_REPORT_FAR_TIMEOUT:
        snprintf(out, bytes,
                 "waited %.1f s for the proxy's work for PE %d (-1: for all): address 0x%" PRIx64
                 ": expected %" PRIu64 ", seen %" PRIu64,
                 limit, r->pe, r->address, r->expected, r->seen);
        return true;
    case GSH_REPORT_LOCK_TIMEOUT:
        snprintf(out, bytes,
                 "waited %.1f s for the lock at 0x%" PRIx64 " (heap offset 0x%" PRIx64 ")", limit,
                 r->address - GSH_LOCK_NODE * sizeof(uint32_t),
                 r->address - GSH_LOCK_NODE * sizeof(uint32_t) - pe->state.base);
        return true;
    default:
        return false;
    }
}

static void word_said(const struct gsh_report *r, char *out, size_t bytes)
{
    char who[32] = "the members' counts say";
    if (r->pe >= 0) {
        snprintf(who, sizeof(who), "PE %d says", r->pe);
    }
    snprintf(out, bytes,
             "%s that %" PRIu64 " bytes lie at offset 0x%" PRIx64
             " of the heap, which ends at 0x%" PRIx64,
             who, r->bytes, r->seen, r->expected);
}

/* A promise broken by the kernel's call, or by the members' calls together. */
static void word_mistake(const struct gsh_instance *pe, const struct gsh_report *r, char *out,
                         size_t bytes)
{
    switch (r->kind) {
    case GSH_REPORT_BAD_PE:
        snprintf(out, bytes, "PE %d is out of range or not reachable: the job has PEs 0 to %d",
                 r->pe, pe->n_pes - 1);
        break;
    case GSH_REPORT_NOT_SYMMETRIC:
        if (r->address == 0) {
            snprintf(out, bytes, "the symmetric address of %" PRIu64 " bytes is NULL", r->bytes);
            break;
        }
        snprintf(out, bytes,
                 "[0x%" PRIx64 ", + %" PRIu64 ") is not symmetric: outside this PE's heap",
                 r->address, r->bytes);
        break;
    case GSH_REPORT_NOT_ALLOCATED:
        snprintf(out, bytes, "[0x%" PRIx64 ", + %" PRIu64 ") is not inside one live allocation",
                 r->address, r->bytes);
        break;
    case GSH_REPORT_BAD_STRIDE:
        snprintf(out, bytes, "a stride is %" PRId64 ", with PE %d; strides are at least 1",
                 (int64_t)r->seen, r->pe);
        break;
    case GSH_REPORT_BAD_SIGNAL_OP:
        snprintf(out, bytes,
                 "sig_op %" PRId64 ", for PE %d, is neither GSHMEM_SIGNAL_SET nor "
                 "GSHMEM_SIGNAL_ADD",
                 (int64_t)r->seen, r->pe);
        break;
    case GSH_REPORT_BAD_CMP:
        snprintf(out, bytes, "cmp %" PRId64 " is not a comparison", (int64_t)r->seen);
        break;
    case GSH_REPORT_MISALIGNED:
        snprintf(out, bytes, "address 0x%" PRIx64 ", on PE %d, is not a multiple of %" PRIu64,
                 r->address, r->pe, r->bytes);
        break;
    case GSH_REPORT_COLL_DIFFERS:
        word_difference(pe, r, out, bytes);
        break;
    case GSH_REPORT_NULL_LOCAL:
        snprintf(out, bytes, "the local address of %" PRIu64 " bytes is NULL, with PE %d", r->bytes,
                 r->pe);
        break;
    case GSH_REPORT_BAD_CTX:
        snprintf(out, bytes, "%s",
                 r->seen == GSH_CTX_INVALID ? "the context is GSHMEM_CTX_INVALID"
                                            : "the context does not exist, or has been destroyed");
        break;
    case GSH_REPORT_BAD_MEMBER:
        snprintf(out, bytes, "PE %d is out of range: the context's team has PEs 0 to %" PRIu64,
                 r->pe, r->expected - 1);
        break;
    case GSH_REPORT_BAD_TEAM:
        snprintf(out, bytes, "team %d does not exist, or has been destroyed", (int)r->seen);
        break;
    case GSH_REPORT_CHANNEL_IN_USE:
        snprintf(
            out, bytes,
            "another group of this PE's threads is making a call on channel %d of team %d; groups "
            "that call at the same time need channels of their own",
            (int)r->expected, (int)r->seen);
        break;
    case GSH_REPORT_LOCK_NOT_HELD:
        snprintf(out, bytes, "this PE does not hold the lock at 0x%" PRIx64, r->address);
        break;
    case GSH_REPORT_UNSUPPORTED:
        snprintf(out, bytes, "it is not supported");
        break;
    case GSH_REPORT_OUT_OF_RANGE:
        if (r->expected == 0) {
            snprintf(out, bytes, "%" PRId64 " is out of range: there is none", (int64_t)r->seen);
        } else {
            snprintf(out, bytes,
                     "%" PRId64 " is out of range: it is at least 0 and at most %" PRIu64,
                     (int64_t)r->seen, r->expected - 1);
        }
        break;
    case GSH_REPORT_BEYOND_HEAP:
        word_said(r, out, bytes);
        break;
    default:
        snprintf(out, bytes, "report of unknown kind %u", r->kind);
    }
}

static gsh_report_explainer *explainer; /* atomic; the process's */

void gsh_report_explain_by(gsh_report_explainer *explain)
{
    __atomic_store_n(&explainer, explain, __ATOMIC_RELEASE);
}

void gsh_report_explain(struct gsh_instance *pe, const void *address, int peer, char *text,
                        size_t bytes)
{
    gsh_report_explainer *explain = __atomic_load_n(&explainer, __ATOMIC_ACQUIRE);
    text[0] = '\0';
    if (explain != NULL) {
        explain(pe, address, peer, text, bytes);
    }
}

/* Whether there is a report, or refusal. If so, it now belongs to the caller alone. */
static bool take(uint32_t *state)
{
    uint32_t is_filled = 2;
    /* acquire: pairs with the kernel's release store of 2, after the fields */
    return __atomic_compare_exchange_n(state, &is_filled, 3, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void gsh_report_print_refusal(struct gsh_instance *pe)
{
    struct gsh_refusal *n = &pe->page->control.refusal;
    char text[80] = "";
    if (gsh_load_relaxed_u32(&n->state) != 2 || !take(&n->state)) {
        return;
    }
    switch (n->what) {
    case GSH_REFUSAL_NO_TEAM:
        snprintf(text, sizeof(text), "there is no team %d of which this PE is a member", n->value);
        break;
    case GSH_REFUSAL_NO_CHANNEL:
        snprintf(text, sizeof(text), "the channel is %d, and the team has %d", n->value, n->of);
        break;
    case GSH_REFUSAL_NO_ROOT:
        snprintf(text, sizeof(text), "the root is %d, and the team has %d PEs", n->value, n->of);
        break;
    default:
        snprintf(text, sizeof(text), "the strides %d and %d must be at least 1", n->value, n->of);
    }
    gsh_fail(GSH_ERR_ARG, "%.40s (in a kernel): %s", n->call, text);
}

static void print(struct gsh_instance *pe, const struct gsh_report *reported)
{
    struct gsh_report own = *reported;
    const struct gsh_report *r = &own;
    char text[512], more[160] = "", call[sizeof(r->call)], at[80] = "";
    const struct gsh_waits_site site = gsh_waits_reported_site(pe);
    const char *file;
    uint32_t line;
    gsh_copy_name(call, sizeof(call), r->call);
    const bool is_of_host = gsh_waits_split(call, &own.cmp, &file, &line);
    if (line != 0) {
        snprintf(at, sizeof(at), " at %s:%u", file, line);
    } else if (site.line != 0) {
        snprintf(at, sizeof(at), " at %s:%u", site.file, site.line);
    }
    if (!word_timeout(pe, r, text, sizeof(text))) {
        word_mistake(pe, r, text, sizeof(text));
    }
    if (r->kind == GSH_REPORT_WAIT_TIMEOUT || r->kind == GSH_REPORT_SYNC_TIMEOUT) {
        gsh_report_explain(pe, (const void *)(uintptr_t)r->address, r->pe, more, sizeof(more));
    }
    if (is_of_host) {
        gsh_fail(GSH_ERR_STATE, "%s%s (host call, by the library's kernel): %s%s", call, at, text,
                 more);
        return;
    }
    gsh_fail(GSH_ERR_STATE, "%s%s (in a kernel, block %u,%u,%u thread %u,%u,%u): %s%s", call, at,
             r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2], text,
             more);
}

/* Whether a wait has passed its time limit. */
static bool is_of_limit(const struct gsh_report *r)
{
    return r->kind == GSH_REPORT_WAIT_TIMEOUT || r->kind == GSH_REPORT_SYNC_TIMEOUT ||
           r->kind == GSH_REPORT_FAR_TIMEOUT || r->kind == GSH_REPORT_LOCK_TIMEOUT;
}

void gsh_report_print(struct gsh_instance *pe)
{
    struct gsh_report *r = &pe->page->control.report;
    /* of limits, the PE that ends the job has said that one has passed */
    if (take(&r->state) && r->kind != GSH_REPORT_GLOBAL_EXIT && !is_of_limit(r)) {
        print(pe, r);
    }
}

bool gsh_report_take_word(struct gsh_instance *pe)
{
    const struct gsh_report_members *members = __atomic_load_n(&who_knows, __ATOMIC_RELAXED);
    return members == NULL || members->take_word(pe);
}

bool gsh_report_is_of_wait(const struct gsh_instance *pe)
{
    const struct gsh_report *r = &pe->page->control.report;
    /* acquire: pairs with the kernel's release store of 2, after the fields */
    return gsh_load_acquire_u32(&r->state) == 2 && is_of_limit(r);
}

enum gsh_reported gsh_report_take(struct gsh_instance *pe, int *status)
{
    struct gsh_report *r = &pe->page->control.report;
    gsh_report_print_refusal(pe);
    if (!take(&r->state)) {
        return GSH_REPORTED_NOTHING;
    }
    if (r->kind == GSH_REPORT_GLOBAL_EXIT) {
        *status = (int)r->expected;
        return GSH_REPORTED_EXIT;
    }
    if (!gsh_report_take_word(pe)) {
        return GSH_REPORTED_NOTHING; /* the kernel stands still until the job ends */
    }
    print(pe, r);
    return GSH_REPORTED_ERROR;
}
