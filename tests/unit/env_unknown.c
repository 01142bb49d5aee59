/* A GSHMEM_ variable that does not exist is warned about once per process, with the name that was
 * probably meant; the table prints every variable with value, source and meaning.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "tests/test.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) {
        n++;
    }
    return n;
}

static void read_file(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    out[n] = '\0';
    if (f) {
        fclose(f);
    }
}

static void test_warnings(void)
{
    char path[] = "/tmp/gshmem-env-XXXXXX", text[4096];
    int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) {
        return;
    }
    close(fd);
    setenv("GSHMEM_DEBUG_FILE", path, 1);
    setenv("GSHMEM_HEAP_RAGNE", "1G", 1);
    setenv("GSHMEM_SOMETHING_ELSE_ENTIRELY", "1", 1);
    setenv("GSHMEM_SYMMETRIC_SIZE", "1G", 1); /* what other libraries call the size of the heap */
    setenv("GSHMEMX", "1", 1);                /* not ours */
    struct gsh_env env;
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    read_file(path, text, sizeof(text));
    CHECK_STR(text, ""); /* of a job's PEs one speaks, which is not known yet */
    gsh_env_warn(true, true);
    gsh_env_warn(true, true);
    read_file(path, text, sizeof(text));
    CHECK_EQ(count(text, "GSHMEM_HEAP_RAGNE is not a variable"), 1);
    CHECK(strstr(text, "did you mean GSHMEM_HEAP_RANGE?"));
    CHECK_EQ(count(text, "GSHMEM_SOMETHING_ELSE_ENTIRELY"), 1);
    CHECK(strstr(text, "gshmem-info lists them"));
    CHECK(strstr(
        text, "GSHMEM_SYMMETRIC_SIZE is not a variable of gshmem and is ignored; the heap grows"));
    CHECK(strstr(text, "up to GSHMEM_HEAP_RANGE"));
    CHECK(!strstr(text, "GSHMEMX"));
    unlink(path);
}

static void test_print(void)
{
    char *text = NULL;
    size_t size = 0;
    setenv("GSHMEM_WAIT_TIMEOUT", "5s", 1);
    setenv("GSHMEM_DEVICE", "gpu", 1);
    FILE *out = open_memstream(&text, &size);
    if (!CHECK(out)) {
        return;
    }
    setenv("GSHMEM_DEBUG_SUBSYS", "heap,nothing", 1);
    /* the two wrong values, and three unknown variables of the previous test */
    CHECK_EQ(gsh_env_print(out), 5);
    fclose(out);
    CHECK(strstr(text, "GSHMEM_DEBUG_SUBSYS=heap,nothing  (environment, NOT ALLOWED)"));
    CHECK(strstr(text, "GSHMEM_HEAP_RAGNE=1G  (environment, UNKNOWN)"));
    CHECK(strstr(text, "GSHMEM_WAIT_TIMEOUT=5s  (environment)"));
    CHECK(strstr(text, "GSHMEM_DEVICE=gpu  (environment, NOT ALLOWED)"));
    CHECK(strstr(text, "GSHMEM_CPU_STACK=128K  (default)"));
#define ENV(field, name, kind, def, choices, doc) \
    CHECK(strstr(text, "GSHMEM_" #name "="));     \
    CHECK(strstr(text, doc));
#include "base/env.def"
#undef ENV
    free(text);
}

int main(void)
{
    test_warnings();
    test_print();
    return test_result();
}
