/* SPDX-License-Identifier: Apache-2.0
 * gshmem-info --check: what differs between the PEs of a job, and how fast and how right the calls
 * between each two of them are. It makes host calls of the public API alone, so it runs wherever a
 * program of the library does.
 *
 * Pairs take turns, one at a time, in the order of a list that every PE makes alike. The first PE
 * of a pair asks: it makes the calls and takes the time. The second answers: it fills the memory
 * that is got, returns signals, and compares the bytes that were put. */
#ifndef GSH_CHECK_H
#define GSH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CHECK_MOST_PES = 64, /* beyond, each PE asks some of the others */
    CHECK_MOST_BYTES = 1 << 20,
    CHECK_TEXT_BYTES = 256,
};

enum check_measure {
    CHECK_PUT_LATENCY, /* of 8 bytes, in microseconds, until it is complete */
    CHECK_PUT_RATE,    /* GB/s, of as many bytes as there are in a piece */
    CHECK_GET_LATENCY,
    CHECK_GET_RATE,
    CHECK_ATOMIC, /* a fetching one, in microseconds */
    CHECK_SIGNAL, /* there and back, half of it, in microseconds */
    CHECK_N_MEASURES,
};

/* The first wrong byte of a pair. */
struct check_wrong {
    int32_t call; /* enum check_measure; -1: none */
    uint32_t expected, seen;
    uint64_t offset; /* in the data; of an atomic, its number */
};

struct check_pair {
    int32_t from, to;
    char route[16];
    double values[CHECK_N_MEASURES];
    struct check_wrong wrong;
};

/* The list of pairs of n_pes PEs: an array from malloc, NULL: no memory. */
struct check_pair *check_list_pairs(int n_pes, size_t *n_pairs);

/* The byte at an offset of the data that PE `from` gives to PE `to`. */
uint8_t check_byte(int from, int to, int call, size_t offset);
/* Compares; a wrong byte is written to *wrong, which is left alone if all are right. */
void check_bytes(const uint8_t *data, size_t bytes, int from, int to, int call,
                 struct check_wrong *wrong);

/* Runs through the list. Afterwards PE 0 has the results in it. Collective. False: no memory. */
bool check_run_pairs(struct check_pair *pairs, size_t n_pairs);

/* Compares versions, settings and machines of all PEs; PE 0 prints what differs. Returns how much
 * does. Collective. */
int check_compare(FILE *out);

/* Prints tables and matrices; returns how many pairs are wrong. *n_slow: how many are slow. */
int check_report(FILE *out, const struct check_pair *pairs, size_t n_pairs, int n_pes, int *n_slow);
/* Writes the picture; false: it cannot be written, errno says why. */
bool check_draw(const char *path, const struct check_pair *pairs, size_t n_pairs, int n_pes);

/* The median of that measure among pairs of the same route; 0: there is none. */
double check_median(const struct check_pair *pairs, size_t n_pairs, const char *route, int measure);
/* Whether it is slower than half the median: a time of more than twice, or less than half the rate.
 */
bool check_is_slow(const struct check_pair *pair, int measure, double median);
/* A host has more PEs than CPUs, so that signals wait for their turn to run: they are not slow. */
extern bool check_is_crowded;
extern const char *const check_names[CHECK_N_MEASURES], *const check_units[CHECK_N_MEASURES];
static inline bool check_is_rate(int measure)
{
    return measure == CHECK_PUT_RATE || measure == CHECK_GET_RATE;
}

/* gshmem-info --check [--svg FILE]: the exit status. */
int check_main(const char *svg);

#endif
