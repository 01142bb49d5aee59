/* SPDX-License-Identifier: Apache-2.0
 * See process.h. */
#define _GNU_SOURCE 1
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/array.h"

#define MARK          "gshmem-pe"
#define MARK_IN_MAPS  "/memfd:" MARK " "
#define MARK_BYTES    4096
#define MAX_ANCESTORS 64

static uint64_t id;    /* atomic; 0: not made */
static bool is_marked; /* atomic */

static void forget_id(void)
{
    __atomic_store_n(&id, 0, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void forget_id_in_children(void)
{
    (void)pthread_atfork(NULL, NULL, forget_id);
}

uint64_t gsh_process_id(void)
{
    uint64_t known = __atomic_load_n(&id, __ATOMIC_RELAXED);
    while (known == 0) {
        uint64_t fresh = 0;
        if (getrandom(&fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh) && errno != EINTR) {
            return 0;
        }
        /* the first thread's counts */
        if (fresh != 0 && __atomic_compare_exchange_n(&id, &known, fresh, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
            known = fresh;
        }
    }
    return known;
}

void gsh_process_mark(void)
{
    if (__atomic_exchange_n(&is_marked, true, __ATOMIC_RELAXED)) {
        return;
    }
    int fd = memfd_create(MARK, MFD_CLOEXEC);
    if (fd >= 0) {
        (void)!mmap(NULL, MARK_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
        close(fd);
    }
}

/* /proc/PID/NAME, of this process for 0, ended by a NUL; NULL: it cannot be read. The caller frees
 * it. */
static char *read_proc(long pid, const char *name, size_t *bytes)
{
    char path[64], *text = NULL;
    size_t used = 0, room = 0;
    ssize_t n = -1;
    if (pid == 0) {
        snprintf(path, sizeof(path), "/proc/self/%s", name);
    } else {
        snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    do {
        if (!gsh_array_reserve(&text, &room, used + 4096, 1)) {
            n = -1;
            break;
        }
        n = read(fd, text + used, room - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    close(fd);
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *bytes = used;
    return text;
}

/* As /proc numbers them, which may show another namespace than getppid. 0: none, or it is hidden.
 */
static long parent_of(long pid)
{
    size_t bytes;
    char *text = read_proc(pid, "stat", &bytes);
    /* NUMBER (NAME) STATE PARENT; the name may hold anything */
    const char *at = text != NULL ? strrchr(text, ')') : NULL;
    long parent = at != NULL && strlen(at) > 4 ? strtol(at + 4, NULL, 10) : 0;
    free(text);
    return parent;
}

int gsh_process_n_threads(void)
{
    size_t bytes;
    char *text = read_proc(0, "stat", &bytes), *save = NULL;
    char *word = text != NULL ? strrchr(text, ')') : NULL;
    /* the name is the second word, the number the twentieth */
    word = word != NULL ? strtok_r(word, " ", &save) : NULL;
    for (int i = 2; word != NULL && i < 20; i++) {
        word = strtok_r(NULL, " ", &save);
    }
    int n = word != NULL ? atoi(word) : 0;
    free(text);
    return n;
}

static bool is_pe(long pid)
{
    size_t bytes;
    char *text = read_proc(pid, "maps", &bytes);
    bool is_found = text != NULL && memmem(text, bytes, MARK_IN_MAPS, strlen(MARK_IN_MAPS)) != NULL;
    free(text);
    return is_found;
}

/* Whether the process began with name=value. */
static bool has(const char *environment, size_t bytes, const char *name, const char *value)
{
    size_t name_bytes = strlen(name);
    for (const char *at = environment; at < environment + bytes; at += strlen(at) + 1) {
        if (strncmp(at, name, name_bytes) == 0 && at[name_bytes] == '=') {
            return strcmp(at + name_bytes + 1, value) == 0;
        }
    }
    return false;
}

/* Whether the process began with the variables as they are here. */
static bool got_the_same(long pid, const char *const *names)
{
    size_t bytes;
    char *environment = read_proc(pid, "environ", &bytes);
    bool is_same = environment != NULL;
    for (; is_same && *names != NULL; names++) {
        const char *value = secure_getenv(*names);
        is_same = value == NULL || has(environment, bytes, *names, value);
    }
    free(environment);
    return is_same;
}

bool gsh_process_is_child_of_pe(const char *const *names)
{
    long pid = parent_of(0);
    for (int i = 0; i < MAX_ANCESTORS && pid > 0 && got_the_same(pid, names); i++) {
        if (is_pe(pid)) {
            return true;
        }
        pid = parent_of(pid);
    }
    return false;
}

/* Whether /proc numbers processes as system calls do here: not if it is another namespace's. */
static bool is_own_proc(void)
{
    char text[32] = "";
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && strtol(text, NULL, 10) == getpid();
}

int gsh_process_note_ancestor(int pid)
{
    if (pid <= 0 || !is_own_proc()) {
        return -1;
    }
    /* Opened first: what is an ancestor afterwards was one then, and no later process of its
     * number. */
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    long at = 0;
    for (int i = 0; i < MAX_ANCESTORS && at != pid && (i == 0 || at > 0); i++) {
        at = parent_of(at);
    }
    if (fd >= 0 && at != pid) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- names ---- */

#define ENDS_OTHERS "gshmemrun:" /* and a PE's number; a name has at most 15 bytes */
#define FOLLOWS     "gshmem-follows"

static void set_name(const char *name)
{
    int fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, name, strlen(name));
        close(fd);
    }
}

/* What follows `begin` in the process's name, without the line's end; false: it begins otherwise.
 */
static bool read_name(int pid, const char *begin, char rest[16])
{
    size_t bytes;
    char *name = pid > 0 ? read_proc(pid, "comm", &bytes) : NULL;
    bool is_it = name != NULL && strncmp(name, begin, strlen(begin)) == 0;
    if (is_it) {
        snprintf(rest, 16, "%.*s", (int)strcspn(name + strlen(begin), "\n"), name + strlen(begin));
    }
    free(name);
    return is_it;
}

void gsh_process_say_ends_others(int pe)
{
    char name[32];
    snprintf(name, sizeof(name), ENDS_OTHERS "%d", pe);
    set_name(name);
}

bool gsh_process_ends_others(int pid, int *pe)
{
    char number[16];
    bool is_so = read_name(pid, ENDS_OTHERS, number);
    *pe = is_so ? (int)strtol(number, NULL, 10) : -1;
    return is_so;
}

void gsh_process_say_follows(void)
{
    set_name(FOLLOWS);
}

bool gsh_process_follows(int pid)
{
    char rest[16];
    return read_name(pid, FOLLOWS, rest) && rest[0] == '\0';
}

bool gsh_peer_is_of(int socket, uid_t user)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == user;
}
