/* SPDX-License-Identifier: Apache-2.0
 * Reads the files of settings. What the names mean, and which values are allowed, is env.c's. */
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"

#define SYSTEM_FILE "/etc/gshmem.conf"
#define USER_FILE   ".config/gshmem.conf"

enum { MOST_BYTES = 64 << 10, MOST_LINES = 512, MOST_FAULTS = 16, FAULT_BYTES = 512 };

static struct gsh_config_line lines[MOST_LINES];
static size_t n_lines;
static char *faults[MOST_FAULTS];
static size_t n_faults;
static char *kept[6]; /* texts and names of the files, which lines point into */
static size_t n_kept;
static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((format(printf, 3, 4))) static void add_fault(const char *file, int number,
                                                            const char *format, ...)
{
    char text[FAULT_BYTES];
    va_list args;
    int used = number > 0 ? snprintf(text, sizeof(text), "%.300s:%d: ", file, number)
                          : snprintf(text, sizeof(text), "%.300s: ", file);
    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
    va_end(args);
    if (n_faults < MOST_FAULTS && (faults[n_faults] = strdup(text)) != NULL) {
        n_faults++;
    }
}

static char *keep(char *text)
{
    if (text != NULL && n_kept < GSH_ARRAY_LEN(kept)) {
        kept[n_kept++] = text;
    }
    return text;
}

/* A descriptor of the file; -1: there is none, or a fault says why not. A FIFO of a stranger does
 * not make us wait: only a file that the user named may be one. */
static int open_file(const char *name, bool is_named, bool must_be_own)
{
    struct stat st;
    int fd = open(name, O_RDONLY | O_CLOEXEC | (is_named ? 0 : O_NONBLOCK));
    if (fd < 0) {
        if (is_named || (errno != ENOENT && errno != ENOTDIR && errno != EACCES)) {
            add_fault(name, 0, "cannot read the settings: %s", strerror(errno));
        }
        return -1;
    }
    const char *why = NULL;
    if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode) || (!is_named && !S_ISREG(st.st_mode))) {
        why = "is no file, and is ignored";
    } else if (must_be_own && ((st.st_uid != geteuid() && st.st_uid != 0) ||
                               (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
        why = "others may write to it, so it is ignored: give it to its user, and chmod go-w";
    }
    if (why != NULL) {
        add_fault(name, 0, "%s", why);
        close(fd);
        return -1;
    }
    return fd;
}

/* The text behind fd, which is closed; NULL: none, a fault says why. */
static char *read_text(int fd, const char *name)
{
    char *text = calloc(1, MOST_BYTES + 1);
    size_t used = 0;
    ssize_t n = text != NULL ? 1 : -1;
    while (n > 0 && used <= MOST_BYTES) {
        n = read(fd, text + used, MOST_BYTES + 1 - used);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        used += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (n < 0 || used > MOST_BYTES) {
        add_fault(name, 0, n < 0 ? "cannot read the settings" : "is longer than 64 KiB: ignored");
        free(text);
        return NULL;
    }
    for (size_t i = 0; i < used; i++) {
        text[i] = text[i] == '\0' ? '\1' : text[i]; /* a wrong character, not the end */
    }
    return text;
}

/* Cuts the comment and the blanks off both ends. */
static char *strip(char *text)
{
    bool is_quoted = false;
    for (char *at = text; *at != '\0'; at++) {
        is_quoted = is_quoted != (*at == '"');
        if (*at == '#' && !is_quoted && (at == text || isblank((unsigned char)at[-1]))) {
            *at = '\0';
            break;
        }
    }
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL) {
        text[--n] = '\0';
    }
    return text;
}

/* What is wrong with the value, from which double quotes are taken; NULL: nothing. */
static const char *take_value(char **value)
{
    size_t n = strlen(*value);
    if (n >= 2 && (*value)[0] == '"' && (*value)[n - 1] == '"') {
        (*value)[n - 1] = '\0';
        ++*value;
    }
    for (const char *at = *value; *at != '\0'; at++) {
        if (iscntrl((unsigned char)*at) && *at != '\t') {
            return "there is a control character in the value";
        }
    }
    return **value == '\0' ? "there is no value" : NULL;
}

static bool is_set_elsewhere(const char *name)
{
    static const char *const names[] = {"GSHMEM_CONFIG",  "GSHMEM_UID",     "GSHMEM_RANK",
                                        "GSHMEM_N_RANKS", "GSHMEM_THREADS", "GSHMEM_LAUNCHER"};
    for (size_t i = 0; i < GSH_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_line(char *text, const char *file, int number)
{
    char *name = strip(text), *equals = strchr(name, '=');
    if (*name == '\0') {
        return;
    }
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (equals == NULL || length == 0 || length > 63 ||
        name + length + strspn(name + length, " \t") != equals) {
        add_fault(file, number, "this line is not NAME = VALUE, and is ignored");
        return;
    }
    name[length] = '\0';
    char *value = strip(equals + 1);
    const char *why =
        is_set_elsewhere(name) ? "only the environment can set it" : take_value(&value);
    if (why != NULL) {
        add_fault(file, number, "%s is ignored: %s", name, why);
        return;
    }
    const struct gsh_config_line *before = NULL;
    for (size_t i = 0; i < n_lines && before == NULL; i++) {
        before = strcmp(lines[i].name, name) == 0 ? &lines[i] : NULL;
    }
    if (before != NULL && before->file == file) {
        add_fault(file, number, "%s is ignored: line %d has it already", name, before->number);
    } else if (n_lines < MOST_LINES) {
        lines[n_lines++] = (struct gsh_config_line){name, value, file, number, before == NULL};
    }
}

static void take_file(const char *name, bool is_named, bool must_be_own)
{
    int fd = name != NULL && name[0] != '\0' ? open_file(name, is_named, must_be_own) : -1;
    char *text = fd >= 0 ? keep(read_text(fd, name)) : NULL;
    const char *file = text != NULL ? keep(strdup(name)) : NULL;
    int number = 1;
    for (char *line = file != NULL ? strsep(&text, "\n") : NULL; line != NULL;
         line = strsep(&text, "\n")) {
        add_line(line, file, number++);
    }
}

void gsh_config_read(const char *named, const char *of_user, const char *of_system)
{
    while (n_faults > 0) {
        free(faults[--n_faults]);
    }
    while (n_kept > 0) {
        free(kept[--n_kept]);
    }
    n_lines = 0;
    take_file(named, true, false);
    take_file(of_user, false, true);
    take_file(of_system, false, getauxval(AT_SECURE) != 0);
}

static void read_all(void)
{
    const char *named = secure_getenv("GSHMEM_CONFIG"), *home = secure_getenv("HOME");
    char of_user[1024] = "";
    if (named != NULL && strcmp(named, "none") == 0) {
        return;
    }
    if (home != NULL && home[0] == '/' && strlen(home) + sizeof(USER_FILE) < sizeof(of_user)) {
        snprintf(of_user, sizeof(of_user), "%s/%s", home, USER_FILE);
    }
    gsh_config_read(named, of_user, SYSTEM_FILE);
}

static void read_once(void)
{
    pthread_once(&once, read_all);
}

const struct gsh_config_line *gsh_config_lines(size_t *n)
{
    read_once();
    *n = n_lines;
    return lines;
}

const struct gsh_config_line *gsh_config_find(const char *name)
{
    read_once();
    for (size_t i = 0; i < n_lines; i++) {
        if (lines[i].counts && strcmp(lines[i].name, name) == 0) {
            return &lines[i];
        }
    }
    return NULL;
}

const char *gsh_config_fault(size_t at)
{
    read_once();
    return at < n_faults ? faults[at] : NULL;
}
