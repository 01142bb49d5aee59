/* SPDX-License-Identifier: Apache-2.0
 * What a test program needs: CHECK and related macros record a failure and continue, test_result()
 * is what main returns (0 passed, 1 failed), test_skip exits with 77. Any thread may check. C17,
 * C++17, CUDA (host code). */
#ifndef GSH_TEST_H
#define GSH_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned test_failed_checks;

__attribute__((unused)) static bool test_check(bool ok, const char *file, int line,
                                               const char *what)
{
    if (!ok) {
        /* A loop that fails everywhere reports once per screen, not once per element. */
        if (__atomic_add_fetch(&test_failed_checks, 1, __ATOMIC_RELAXED) <= 20) {
            fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
        }
    }
    return ok;
}

__attribute__((unused)) static bool test_check_eq(int64_t a, int64_t b, const char *file, int line,
                                                  const char *what)
{
    char text[512];
    if (a == b) {
        return true;
    }
    snprintf(text, sizeof(text), "%s (%" PRId64 " and %" PRId64 ")", what, a, b);
    return test_check(false, file, line, text);
}

__attribute__((unused)) static bool test_check_str(const char *a, const char *b, const char *file,
                                                   int line, const char *what)
{
    char text[1024];
    if (a && b && strcmp(a, b) == 0) {
        return true;
    }
    snprintf(text, sizeof(text), "%s (\"%.400s\" and \"%.400s\")", what, a ? a : "NULL",
             b ? b : "NULL");
    return test_check(false, file, line, text);
}

/* Each evaluates to whether the check held, so that a test can stop: if (!CHECK(p)) return ...; */
#define CHECK(cond) test_check((cond) ? true : false, __FILE__, __LINE__, #cond)
/* Two integers; both are printed when they differ. */
#define CHECK_EQ(a, b) test_check_eq((int64_t)(a), (int64_t)(b), __FILE__, __LINE__, #a " == " #b)
/* Two strings. */
#define CHECK_STR(a, b) test_check_str((a), (b), __FILE__, __LINE__, #a " == " #b)

/* What main returns. */
__attribute__((unused)) static int test_result(void)
{
    unsigned n = __atomic_load_n(&test_failed_checks, __ATOMIC_RELAXED);
    if (n > 0) {
        fprintf(stderr, "%u checks failed\n", n);
    }
    return n > 0 ? 1 : 0;
}

/* Ends the program as skipped; missing says what it would need. */
__attribute__((unused, noreturn)) static void test_skip(const char *missing)
{
    printf("skipped: %s\n", missing);
    exit(77);
}

/* Seeded random numbers (splitmix64): the same sequence for the same *state on every machine. */
__attribute__((unused)) static uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The seed of this run: TEST_SEED in the environment, else fixed. Printed, so that a failure can be
 * repeated. */
__attribute__((unused)) static uint64_t test_seed(void)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
    printf("seed %" PRIu64 "\n", seed);
    return seed;
}

#endif
