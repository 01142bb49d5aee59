/* With GSHMEM_LOG_FORMAT=json each message is one line with one object, whatever its bytes are, and
 * with %r in GSHMEM_LOG_FILE each PE has a file of its own. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_file.h"
#include "base/log_json.h"
#include "base/result.h"
#include "tests/test.h"

static void check_message(const char *message, size_t bytes, const char *wanted)
{
    char line[1024], want[600], *at;
    size_t used = gsh_log_json(line, sizeof(line), 3, "error", "heap", message, bytes);
    CHECK(used < sizeof(line));
    line[used] = '\0';
    snprintf(want, sizeof(want),
             "\"pid\":%d,\"tid\":%d,\"pe\":3,\"level\":\"error\",\"subsystem\":\"heap\","
             "\"message\":\"%s\"}\n",
             (int)getpid(), (int)gettid(), wanted);
    at = strstr(line, "\"pid\"");
    CHECK_STR(at, want);
}

static void test_texts(void)
{
    check_message("", 0, "");
    check_message("a \"b\" \\ / \b\f\n\r\t", 15, "a \\\"b\\\" \\\\ / \\b\\f\\n\\r\\t");
    check_message("\x01\x1f\x7f", 4, "\\u0001\\u001f\\u007f\\u0000");
    check_message("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
                  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    /* alone, cut, too long a form, a surrogate, beyond the last character */
    check_message("\x80|\xe2\x82", 4, "\\ufffd|\\ufffd\\ufffd");
    check_message("\xc0\xaf", 2, "\\ufffd\\ufffd");
    check_message("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd");
    check_message("\xf4\x90\x80\x80", 4, "\\ufffd\\ufffd\\ufffd\\ufffd");
}

static void test_head(void)
{
    char line[1024];
    int year, month, day, hour, minute, second, micro;
    line[gsh_log_json(line, sizeof(line), -1, "info", "all", "x", 1)] = '\0';
    CHECK_EQ(sscanf(line, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%6dZ\",\"host\":\"", &year, &month,
                    &day, &hour, &minute, &second, &micro),
             7);
    CHECK(year >= 2025 && strstr(line, "\"pe\":null,"));
}

/* Whatever room there is, the line is whole: no escape and no character is cut. */
static void test_long_message(void)
{
    char message[4000], line[1024];
    for (size_t shift = 0; shift < 6; shift++) {
        memset(message, 'x', shift);
        for (size_t i = shift; i + 3 <= sizeof(message); i += 3) {
            memcpy(message + i, "\x01\xc3\xa4", 3);
        }
        size_t used = gsh_log_json(line, sizeof(line), 0, "info", "rma", message, 3999);
        CHECK(used < sizeof(line) && used > 900);
        CHECK(memcmp(line + used - 3, "\"}\n", 3) == 0);
        bool is_whole = memcmp(line + used - 9, "\\u0001", 6) == 0 ||
                        memcmp(line + used - 5, "\xc3\xa4", 2) == 0;
        CHECK(is_whole);
    }
}

static void *speak(void *arg)
{
    gsh_log_set_pe((int)(intptr_t)arg);
    gsh_log(GSH_LOG_WARN, GSH_LOG_SYNC, "of gshmem_put \"%d\"", (int)(intptr_t)arg);
    gsh_log_set_pe(-1);
    return NULL;
}

static size_t read_lines(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(out, 1, size - 1, f) : 0, lines = 0;
    out[n] = '\0';
    if (f != NULL) {
        fclose(f);
    }
    for (size_t i = 0; i < n; i++) {
        lines += out[i] == '\n';
    }
    return lines;
}

static void test_file_of_each_pe(void)
{
    char pattern[128], path[128], text[4096], folder[] = "/tmp/gshmem-json-XXXXXX";
    if (!CHECK(mkdtemp(folder) != NULL)) {
        return;
    }
    CHECK(gsh_log_file_is_per_pe("a%r") && !gsh_log_file_is_per_pe("a%%r%"));
    snprintf(pattern, sizeof(pattern), "%s/%%p.%%r.%%%%r", folder);
    gsh_log_use_json();
    gsh_log_setup(GSH_LOG_WARN, GSH_LOG_ALL, pattern);
    for (int round = 0; round < 2; round++) {
        pthread_t threads[3];
        for (int pe = 0; pe < 3; pe++) {
            pthread_create(&threads[pe], NULL, speak, (void *)(intptr_t)pe);
        }
        for (int pe = 0; pe < 3; pe++) {
            pthread_join(threads[pe], NULL);
        }
    }
    for (int pe = 0; pe < 3; pe++) {
        char want[200];
        snprintf(path, sizeof(path), "%s/%d.%d.%%r", folder, (int)getpid(), pe);
        CHECK_EQ(read_lines(path, text, sizeof(text)), 2);
        snprintf(want, sizeof(want),
                 "\"pe\":%d,\"level\":\"warning\",\"subsystem\":\"sync\",\"message\":"
                 "\"of gshmem_put \\\"%d\\\"\"}\n",
                 pe, pe);
        CHECK(strstr(text, want));
        CHECK_EQ(unlink(path), 0);
    }
    CHECK_EQ(rmdir(folder), 0); /* and no other file */
}

int main(void)
{
    test_texts();
    test_head();
    test_long_message();
    test_file_of_each_pe();
    return test_result();
}
