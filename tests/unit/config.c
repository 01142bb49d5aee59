/* Files of settings are read as base/config.h says: which lines are settings, which file counts,
 * who may have written them; a wrong line gives one message with the file and the line's number.
 * The environment takes precedence, then what a program offers. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/env.h"
#include "base/log.h"
#include "tests/test.h"

static char named[128], of_user[128], of_system[128], folder[] = "/tmp/gshmem-config-XXXXXX";

static void write_bytes(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fwrite(text, 1, bytes, f) == bytes && fclose(f) == 0);
    CHECK_EQ(chmod(path, 0644), 0);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static const char *value(const char *name)
{
    const struct gsh_config_line *line = gsh_config_find(name);
    return line != NULL ? line->value : NULL;
}

static void check_value(const char *text, const char *wanted)
{
    write_text(named, text);
    gsh_config_read(named, NULL, NULL);
    CHECK_STR(value("GSHMEM_A"), wanted);
    CHECK(gsh_config_fault(0) == NULL);
}

/* The text's only fault ends with those words, after the file and that line. */
static void check_fault(const char *text, int line, const char *words)
{
    char want[400];
    snprintf(want, sizeof(want), "%s:%d: %s", named, line, words);
    write_text(named, text);
    gsh_config_read(named, NULL, NULL);
    CHECK_STR(gsh_config_fault(0), want);
    CHECK(gsh_config_fault(1) == NULL);
}

static void test_lines(void)
{
    check_value("GSHMEM_A=1", "1");
    check_value("# head\n\n \t GSHMEM_A \t=\t 1 2 \r\n", "1 2");
    check_value("GSHMEM_A = a#b # comment", "a#b");
    check_value("GSHMEM_A = \" a # b \" # comment \"", " a # b ");
    check_value("GSHMEM_A = a=b\n#GSHMEM_A = c\n", "a=b");
    check_value("GSHMEM_AB = 1\nGSHMEM_A = 2", "2");
    const char *const no_line = "this line is not NAME = VALUE, and is ignored";
    check_fault("GSHMEM_A=1\nGSHMEM_B\n", 2, no_line);
    CHECK_STR(value("GSHMEM_A"), "1");
    check_fault("\n\nexport GSHMEM_A=1", 3, no_line);
    check_fault("=1", 1, no_line);
    check_fault("[gshmem]", 1, no_line);
    check_fault("GSHMEM_A =  # nothing", 1, "GSHMEM_A is ignored: there is no value");
    check_fault("GSHMEM_A = \"\"", 1, "GSHMEM_A is ignored: there is no value");
    check_fault("GSHMEM_A=1\nGSHMEM_A=2\n", 2, "GSHMEM_A is ignored: line 1 has it already");
    CHECK_STR(value("GSHMEM_A"), "1");
    check_fault("GSHMEM_A=1\033[2J", 1,
                "GSHMEM_A is ignored: there is a control character in the value");
    check_fault("GSHMEM_RANK=0", 1, "GSHMEM_RANK is ignored: only the environment can set it");
    write_bytes(named, "GSHMEM_A=1\0\nGSHMEM_B=2", 22);
    gsh_config_read(named, NULL, NULL);
    CHECK(value("GSHMEM_A") == NULL && gsh_config_fault(0) != NULL);
    CHECK_STR(value("GSHMEM_B"), "2");
}

static void test_long_file(void)
{
    const size_t bytes = (64 << 10) + 1;
    char *text = calloc(1, bytes + 1);
    memset(text, '#', bytes);
    memcpy(text, "GSHMEM_A=1\n", 11);
    write_bytes(named, text, bytes - 1);
    gsh_config_read(named, NULL, NULL);
    CHECK_STR(value("GSHMEM_A"), "1");
    write_bytes(named, text, bytes);
    gsh_config_read(named, NULL, NULL);
    CHECK(value("GSHMEM_A") == NULL && strstr(gsh_config_fault(0), "is longer than 64 KiB"));
    for (size_t i = 0; i < bytes; i++) {
        text[i] = i % 2 ? '\n' : 'x'; /* far more wrong lines than are told */
    }
    write_bytes(named, text, bytes - 1);
    gsh_config_read(named, NULL, NULL);
    CHECK(gsh_config_fault(0) != NULL && gsh_config_fault(1000) == NULL);
    free(text);
}

static void test_files(void)
{
    write_text(named, "GSHMEM_A=named\n");
    write_text(of_user, "GSHMEM_A=user\nGSHMEM_B=user\n");
    write_text(of_system, "GSHMEM_A=system\nGSHMEM_B=system\nGSHMEM_C=system\n");
    gsh_config_read(named, of_user, of_system);
    CHECK_STR(value("GSHMEM_A"), "named");
    CHECK_STR(value("GSHMEM_B"), "user");
    CHECK_STR(value("GSHMEM_C"), "system");
    CHECK_EQ(gsh_config_find("GSHMEM_C")->number, 3);
    CHECK_STR(gsh_config_find("GSHMEM_C")->file, of_system);
    CHECK(gsh_config_fault(0) == NULL);
    CHECK_EQ(chmod(of_user, 0666), 0);
    gsh_config_read(named, of_user, of_system);
    CHECK_STR(value("GSHMEM_B"), "system");
    CHECK(strstr(gsh_config_fault(0), "others may write to it"));
    if (geteuid() == 0) {
        CHECK_EQ(chmod(of_user, 0644), 0);
        CHECK_EQ(chown(of_user, 65534, 65534), 0);
        gsh_config_read(named, of_user, of_system);
        CHECK_STR(value("GSHMEM_B"), "system");
    }
    CHECK_EQ(unlink(of_user), 0);
    CHECK_EQ(mkfifo(of_user, 0600), 0); /* nobody waits for its writer */
    gsh_config_read(named, of_user, of_system);
    CHECK(strstr(gsh_config_fault(0), "is no file"));
    CHECK_EQ(unlink(of_user), 0);
    gsh_config_read("/no/such/file", of_user, of_system); /* only the one that was asked for */
    CHECK_STR(gsh_config_fault(0),
              "/no/such/file: cannot read the settings: No such file or directory");
    CHECK(gsh_config_fault(1) == NULL);
}

static void test_precedence(void)
{
    struct gsh_env env;
    char want[300], *text = NULL;
    size_t bytes;
    write_text(named, "GSHMEM_NODE_PES = 3\nGSHMEM_DEVICE = gpu\nGSHMEM_WAIT_TIMOUT = 1\nno\n");
    gsh_config_read(named, NULL, NULL);
    CHECK_EQ(gsh_env_read(&env), GSH_ERR_ARG);
    snprintf(want, sizeof(want), "%s:2: GSHMEM_DEVICE=gpu is not allowed: it must be one of ",
             named);
    CHECK(strncmp(gsh_last_error(), want, strlen(want)) == 0);
    FILE *f = open_memstream(&text, &bytes);
    CHECK_EQ(gsh_env_print(f), 3);
    fclose(f);
    snprintf(want, sizeof(want), "GSHMEM_NODE_PES=3  (%s:1)", named);
    CHECK(strstr(text, want));
    snprintf(want, sizeof(want), "GSHMEM_DEVICE=gpu  (%s:2, NOT ALLOWED)", named);
    CHECK(strstr(text, want));
    snprintf(want, sizeof(want), "GSHMEM_WAIT_TIMOUT=1  (%s:3, UNKNOWN)", named);
    CHECK(strstr(text, want) && strstr(text, "did you mean GSHMEM_WAIT_TIMEOUT?"));
    free(text);
    setenv("GSHMEM_DEVICE", "cpu", 1);
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_EQ(env.node_pes, 3);
    CHECK_STR(gsh_env_text("GSHMEM_NODE_PES"), "3");
    CHECK(gsh_env_offer("GSHMEM_NODE_PES", "4"));
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_EQ(env.node_pes, 4);
    setenv("GSHMEM_NODE_PES", "5", 1);
    CHECK_EQ(gsh_env_read(&env), GSH_OK);
    CHECK_EQ(env.node_pes, 5);
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL); /* the refusals are expected */
#define ENV(field, name, kind, def, choices, doc) unsetenv("GSHMEM_" #name);
#include "base/env.def"
#undef ENV
    setenv("GSHMEM_CONFIG", "none", 1);
    if (!CHECK(mkdtemp(folder) != NULL)) {
        return test_result();
    }
    snprintf(named, sizeof(named), "%s/named", folder);
    snprintf(of_user, sizeof(of_user), "%s/user", folder);
    snprintf(of_system, sizeof(of_system), "%s/system", folder);
    CHECK(gsh_config_find("GSHMEM_A") == NULL);
    test_lines();
    test_long_file();
    test_files();
    test_precedence();
    unlink(named);
    unlink(of_system);
    CHECK_EQ(rmdir(folder), 0);
    return test_result();
}
