/* What gshmem-info --check says of results: pairs slower than half the median of their own route
 * are marked, wrong ones are named, and there is a picture; the list of pairs is as the guide says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"
#include "tools/check.h"

/* Half of the PEs in each of two routes, of which one is ten times slower. */
static struct check_pair *make(int n_pes, size_t *n)
{
    struct check_pair *pairs = check_list_pairs(n_pes, n);
    for (size_t i = 0; pairs != NULL && i < *n; i++) {
        bool is_far = (pairs[i].from < n_pes / 2) != (pairs[i].to < n_pes / 2);
        strcpy(pairs[i].route, is_far ? "ucx" : "memory");
        for (int m = 0; m < CHECK_N_MEASURES; m++) {
            pairs[i].values[m] = check_is_rate(m) == is_far ? 1 : 10;
        }
    }
    return pairs;
}

static struct check_pair *pair_of(struct check_pair *pairs, size_t n, int from, int to)
{
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].from == from && pairs[i].to == to) {
            return &pairs[i];
        }
    }
    return NULL;
}

static char *report(const struct check_pair *pairs, size_t n, int n_pes, int want_wrong,
                    int want_slow)
{
    char *text = NULL;
    size_t bytes;
    int n_slow = -1;
    FILE *out = open_memstream(&text, &bytes);
    CHECK_EQ(check_report(out, pairs, n, n_pes, &n_slow), want_wrong);
    CHECK_EQ(n_slow, want_slow);
    fclose(out);
    return text;
}

static void test_marks(int n_pes)
{
    size_t n;
    struct check_pair *pairs = make(n_pes, &n);
    CHECK_EQ(n, n_pes * (n_pes - 1));
    free(report(pairs, n, n_pes, 0, 0));
    pair_of(pairs, n, 1, 0)->values[CHECK_PUT_RATE] = 4.9;      /* of 10 */
    pair_of(pairs, n, 0, 1)->values[CHECK_PUT_RATE] = 5.1;      /* not yet slow */
    pair_of(pairs, n, 0, n_pes - 1)->values[CHECK_ATOMIC] = 21; /* of 10 */
    pair_of(pairs, n, n_pes - 1, 0)->wrong = (struct check_wrong){CHECK_GET_RATE, 0x12, 0x34, 99};
    char *text = report(pairs, n, n_pes, 1, 2);
    char slow[100], wrong[160];
    CHECK(strstr(text, "slow: PE 1 -> PE 0 (memory): put, large 4.9 GB/s (median 10);\n"));
    snprintf(slow, sizeof(slow), "slow: PE 0 -> PE %d (ucx): atomic 21 us (median 10);\n",
             n_pes - 1);
    snprintf(wrong, sizeof(wrong),
             "WRONG: PE %d -> PE 0 (ucx): get, large: the byte at offset 99 is 0x34, and should be "
             "0x12\n",
             n_pes - 1);
    CHECK(strstr(text, slow) && strstr(text, wrong));
    CHECK(strstr(text, "what to do (memory)") && strstr(text, "what to do (ucx)"));
    CHECK(n_pes <= 16 ? strstr(text, " 4.9!") : strstr(text, "\n    1 ! ......"));
    free(text);
    free(pairs);
}

/* Beyond CHECK_MOST_PES: no more pairs than these have, and every PE asks and answers. */
static void test_many(int n_pes)
{
    size_t n;
    struct check_pair *pairs = make(n_pes, &n);
    char *has = calloc((size_t)n_pes, 1);
    CHECK(n >= (size_t)n_pes && n <= CHECK_MOST_PES * CHECK_MOST_PES + (size_t)n_pes);
    for (size_t i = 0; i < n; i++) {
        CHECK(pairs[i].from != pairs[i].to && (i == 0 || pairs[i].from >= pairs[i - 1].from));
        has[pairs[i].from] |= 1;
        has[pairs[i].to] |= 2;
    }
    for (int pe = 0; pe < n_pes; pe++) {
        CHECK_EQ(has[pe], 3);
    }
    char *text = report(pairs, n, n_pes, 0, 0);
    CHECK(strstr(text, "pairs were tried"));
    free(text);
    free(has);
    free(pairs);
}

static void test_bytes(void)
{
    uint8_t data[256];
    struct check_wrong wrong = {.call = -1};
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = check_byte(3, 4, CHECK_PUT_RATE, i);
    }
    check_bytes(data, sizeof(data), 3, 4, CHECK_PUT_RATE, &wrong);
    CHECK_EQ(wrong.call, -1);
    check_bytes(data, sizeof(data), 4, 3, CHECK_PUT_RATE, &wrong); /* another pair's */
    CHECK_EQ(wrong.call, CHECK_PUT_RATE);
    data[200] ^= 1;
    check_bytes(data, sizeof(data), 3, 4, CHECK_PUT_RATE, &wrong);
    CHECK_EQ(wrong.offset, 200);
    CHECK_EQ(wrong.seen ^ wrong.expected, 1);
}

static void test_picture(void)
{
    char path[] = "/tmp/gshmem-svg-XXXXXX";
    size_t n;
    int fd = mkstemp(path);
    struct check_pair *pairs = make(5, &n);
    CHECK(fd >= 0 && check_draw(path, pairs, n, 5));
    CHECK(lseek(fd, 0, SEEK_END) > 1000);
    CHECK(!check_draw("/no/such/folder/x.svg", pairs, n, 5));
    close(fd);
    unlink(path);
    free(pairs);
}

int main(void)
{
    test_marks(4);
    test_marks(20);
    test_many(65);
    test_many(1000);
    test_many(5000);
    test_bytes();
    test_picture();
    return test_result();
}
