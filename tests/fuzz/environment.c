/* SPDX-License-Identifier: Apache-2.0
 * Whatever the variables GSHMEM_* hold: values are in range and texts end, or a line says which
 * variable is wrong; the table of gshmem-info prints each. */
#include "tests/fuzz/fuzz.h"

#include "base/coll_table.h"
#include "base/env.h"
#include "base/result.h"

#define MAX_VARIABLES 6

static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    clearenv();
    setenv("GSHMEM_CONFIG", "none", 1);
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL;
}

static void check_table(const struct gsh_coll_table *t)
{
    for (int i = 0; i < 4; i++) {
        FUZZ_CHECK(t->ll_max[i] <= 1u << 30);
    }
    FUZZ_CHECK(t->bytes_per_block >= 1 && t->max_blocks >= 1 && t->max_blocks <= 1024);
    FUZZ_CHECK(t->far_flat <= 1u << 30 && t->far_piece >= 16 && t->far_piece <= 1u << 30);
}

static void check_collectives(const char *text)
{
    struct gsh_coll_table table = gsh_coll_table_cuda, again = gsh_coll_table_cuda;
    uint32_t a, b;
    enum gsh_result r = gsh_coll_table_read(text, &table);
    FUZZ_CHECK(r == GSH_OK || (r == GSH_ERR_ARG && gsh_last_error()[0] != '\0'));
    FUZZ_CHECK(r == gsh_coll_table_read(text, &again));
    FUZZ_CHECK(gsh_coll_table_difference(&table, &again, &a, &b) == NULL);
    check_table(&table);
    gsh_coll_table_print(nowhere, &table);
}

static void check_env(const struct gsh_env *env)
{
#define CHECK_BOOL(f)                             FUZZ_CHECK(env->f == false || env->f == true);
#define CHECK_SIZE(f)                             FUZZ_CHECK(env->f##_bytes <= UINT64_MAX);
#define CHECK_SECONDS(f)                          FUZZ_CHECK(env->f##_ns <= UINT64_C(9000000000000000000));
#define CHECK_INT(f)                              FUZZ_CHECK(env->f >= -1);
#define CHECK_STRING(f)                           FUZZ_CHECK(memchr(env->f, '\0', sizeof(env->f)) != NULL);
#define CHECK_CHOICE(f)                           CHECK_STRING(f)
#define ENV(field, name, kind, def, allowed, doc) CHECK_##kind(field)
#include "base/env.def"
#undef ENV
    check_collectives(env->collectives);
}

/* Lines NAME=VALUE, without GSHMEM_. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    char *text = fuzz_take_text(&in), *rest = text, *names[MAX_VARIABLES];
    int n = 0;
    for (char *line = strsep(&rest, "\n"); line != NULL && n < MAX_VARIABLES;
         line = strsep(&rest, "\n")) {
        char name[64];
        char *equals = strchr(line, '=');
        if (equals != NULL && equals != line && equals - line < 40) {
            snprintf(name, sizeof(name), "GSHMEM_%.*s", (int)(equals - line), line);
            setenv(name, equals + 1, 1);
            names[n++] = strdup(name);
        } else {
            check_collectives(line);
        }
    }
    struct gsh_env env;
    enum gsh_result r = gsh_env_read(&env);
    FUZZ_CHECK(r == GSH_OK || (r == GSH_ERR_ARG && gsh_last_error()[0] != '\0'));
    if (r == GSH_OK) {
        gsh_env_warn(true, true);
        check_env(&env);
    }
    FUZZ_CHECK(gsh_env_print(nowhere) >= (r != GSH_OK));
    while (n > 0) {
        unsetenv(names[--n]);
        free(names[n]);
    }
    free(text);
    return 0;
}
