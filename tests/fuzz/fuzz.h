/* SPDX-License-Identifier: Apache-2.0
 * What a fuzzer needs. libFuzzer calls LLVMFuzzerTestOneInput with bytes that it makes up; the
 * fuzzer hands them to a parser as another process would, and FUZZ_CHECKs what the parser promises.
 * The sanitizers see the rest. A fuzzer has one thread, keeps nothing from one input to the next,
 * and does the same for the same bytes. */
#ifndef GSH_FUZZ_H
#define GSH_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Ends the run; libFuzzer keeps the input. */
#define FUZZ_CHECK(cond) ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #cond))

__attribute__((unused, noreturn)) static void fuzz_fail(const char *file, int line,
                                                        const char *what)
{
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    abort();
}

/* Messages about what is wrong with made-up bytes would be most of the time. */
__attribute__((unused)) static void fuzz_quiet(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
}

/* The bytes that are left of an input. */
struct fuzz_input {
    const uint8_t *data;
    size_t bytes;
};

/* The next n bytes, at most 8, as a number, the lowest first; zeros after the end. */
__attribute__((unused)) static uint64_t fuzz_take(struct fuzz_input *in, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n && in->bytes > 0; i++) {
        value |= (uint64_t)*in->data++ << (8 * i);
        in->bytes--;
    }
    return value;
}

/* Fills out with the next n bytes; zeros after the end. */
__attribute__((unused)) static void fuzz_take_bytes(struct fuzz_input *in, void *out, size_t n)
{
    size_t there = n < in->bytes ? n : in->bytes;
    memset(out, 0, n);
    if (there > 0) {
        memcpy(out, in->data, there);
        in->data += there;
        in->bytes -= there;
    }
}

/* All that is left, as a string; the caller frees it. */
__attribute__((unused)) static char *fuzz_take_text(struct fuzz_input *in)
{
    size_t n = in->bytes;
    char *text = malloc(n + 1);
    if (text == NULL) {
        abort();
    }
    fuzz_take_bytes(in, text, n);
    text[n] = '\0';
    return text;
}

#endif
