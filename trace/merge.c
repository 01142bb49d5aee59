/* SPDX-License-Identifier: Apache-2.0
 * Finds parts, and makes one file of them. */
#include "trace/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/log.h"
#include "base/own_file.h"
#include "trace/clocks.h"
#include "trace/flows.h"
#include "trace/load.h"
#include "trace/memories.h"
#include "trace/perfetto.h"
#include "trace/posts.h"
#include "trace/record.h"
#include "trace/rows.h"

struct paths {
    char **list;
    size_t n, room;
};

static int order_paths(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void add_path(struct paths *paths, const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path == NULL ||
        !gsh_array_reserve(&paths->list, &paths->room, paths->n + 1, sizeof(*paths->list))) {
        free(path);
        return;
    }
    snprintf(path, bytes, "%s/%s", folder, name);
    paths->list[paths->n++] = path;
}

/* Returns the name in the folder. */
static const char *cut_path(const char *path, char *folder, size_t room)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, room, "%.*s",
             slash == NULL   ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash == NULL ? "." : path);
    return slash != NULL ? slash + 1 : path;
}

static void find_parts(const char *beside, struct paths *paths)
{
    char folder[4096], prefix[512];
    const char *name = cut_path(beside, folder, sizeof(folder));
    snprintf(prefix, sizeof(prefix), "%s" GSH_TRACE_PART_INFIX, name);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) {
            add_path(paths, folder, e->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (paths->n > 0) {
        qsort(paths->list, paths->n, sizeof(*paths->list), order_paths);
    }
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        free(paths->list[i]);
    }
    free(paths->list);
}

/* Another user could cut the file short while it is read, which ends the process. */
static bool is_own(const char *path, const struct stat *s)
{
    bool is = s->st_uid == geteuid() || s->st_uid == 0;
    if (!is) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "timeline: %s belongs to user %u, and is left out",
                path, (unsigned)s->st_uid);
    }
    return is;
}

/* NULL: it cannot be read, or is no part of the job. */
static void *map_part(const char *path, uint64_t job, size_t *bytes)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    void *data = MAP_FAILED;
    if (fd < 0 && errno != ENOENT) { /* another process may be done with it */
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "timeline: cannot read %s: %s", path, strerror(errno));
    }
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) &&
        s.st_size >= (off_t)sizeof(struct gsh_trace_head) && is_own(path, &s)) {
        *bytes = (size_t)s.st_size;
        data = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (data == MAP_FAILED) {
        return NULL;
    }
    const struct gsh_trace_head *head = data;
    if (head->magic != GSH_TRACE_MAGIC || (job != 0 && head->job != job)) {
        munmap(data, *bytes);
        return NULL;
    }
    return data;
}

static enum gsh_result write_file(struct gsh_timeline *t, const char *file)
{
    struct stat s;
    FILE *out = gsh_own_file_create(file);
    if (out == NULL) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "timeline: cannot write %s", file);
    }
    enum gsh_result r = gsh_perfetto_write(t, out);
    bool has_failed = ferror(out) != 0, is_file = fstat(fileno(out), &s) == 0 && S_ISREG(s.st_mode);
    if ((fclose(out) != 0 || has_failed) && r == GSH_OK) {
        r = gsh_fail_errno(GSH_ERR_SYSTEM, "timeline: cannot write %s", file);
    }
    if (r != GSH_OK && is_file) {
        unlink(file);
    }
    return r;
}

enum gsh_result gsh_trace_try_file(const char *file)
{
    char folder[4096];
    struct stat s;
    bool is_there = stat(file, &s) == 0;
    (void)cut_path(file, folder, sizeof(folder));
    if (is_there && S_ISDIR(s.st_mode)) {
        errno = EISDIR;
    } else if (is_there ? access(file, W_OK) == 0 : access(folder, W_OK | X_OK) == 0) {
        return GSH_OK;
    }
    return gsh_fail_errno(GSH_ERR_ARG, "timeline: cannot write %s", file);
}

enum gsh_result gsh_trace_merge(const char *beside, uint64_t job, const char *file, size_t *n_parts)
{
    struct gsh_timeline t = {0};
    struct paths paths = {0};
    enum gsh_result r = GSH_OK;
    find_parts(beside, &paths);
    for (size_t i = 0; r == GSH_OK && i < paths.n; i++) {
        size_t bytes = 0;
        void *data = map_part(paths.list[i], job, &bytes);
        if (data == NULL) {
            paths.list[i][0] = '\0';
            continue;
        }
        r = gsh_timeline_load(&t, data, bytes);
        munmap(data, bytes);
        if (r == GSH_ERR_ARG) {
            gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "timeline: %s is no part of one", paths.list[i]);
            paths.list[i][0] = '\0';
            r = GSH_OK;
        }
    }
    if (n_parts != NULL) {
        *n_parts = t.n_parts;
    }
    if (r == GSH_OK && t.n_parts > 0) {
        gsh_timeline_set_clocks(&t);
        r = gsh_timeline_end_posts(&t);
        r = r == GSH_OK ? gsh_timeline_set_rows(&t) : r;
        r = r == GSH_OK ? gsh_timeline_find_memories(&t) : r;
        r = r == GSH_OK ? gsh_timeline_find_flows(&t) : r;
        r = r == GSH_OK ? write_file(&t, file) : r;
        for (size_t i = 0; r == GSH_OK && i < paths.n; i++) {
            if (paths.list[i][0] != '\0') {
                unlink(paths.list[i]);
            }
        }
    }
    gsh_timeline_free(&t);
    free_paths(&paths);
    return r;
}

void gsh_trace_clear(const char *beside)
{
    struct paths paths = {0};
    find_parts(beside, &paths);
    for (size_t i = 0; i < paths.n; i++) {
        size_t bytes = 0;
        void *data = map_part(paths.list[i], 0, &bytes);
        if (data != NULL) {
            munmap(data, bytes);
            unlink(paths.list[i]);
        }
    }
    free_paths(&paths);
}
