/* SPDX-License-Identifier: Apache-2.0
 * Included before each file of a build with -Dold_glibc=true, so that what is built on a newer
 * x86-64 system also runs with glibc 2.28 and the C++ library of GCC 8.
 *
 * glibc 2.30 to 2.34 gave functions that had long been there a new version, as they moved into
 * libc.so.6, and keeps the old one, which is the same function. The lines below ask for the old one
 * by name. Functions that 2.28 lacks are made of what it has. The test old_glibc compares this list
 * with what the libraries and tools of a build use. */
#ifndef GSH_OLD_GLIBC_H
#define GSH_OLD_GLIBC_H

#if !defined(__x86_64__) || !defined(__linux__)
#error "-Dold_glibc=true knows the versions of x86-64 Linux alone"
#endif

#define GSH_OLD_VERSION(name, version) __asm__(".symver " #name "," #name "@GLIBC_" #version)

GSH_OLD_VERSION(dladdr, 2.2.5);
GSH_OLD_VERSION(dlerror, 2.2.5);
GSH_OLD_VERSION(dlopen, 2.2.5);
GSH_OLD_VERSION(dlsym, 2.2.5);
GSH_OLD_VERSION(__pthread_register_cancel, 2.3.3); /* this and two below: of pthread_cleanup_push */
GSH_OLD_VERSION(__pthread_unregister_cancel, 2.3.3);
GSH_OLD_VERSION(__pthread_unwind_next, 2.3.3);
GSH_OLD_VERSION(pthread_attr_getstack, 2.2.5);
GSH_OLD_VERSION(pthread_condattr_setclock, 2.3.3);
GSH_OLD_VERSION(pthread_create, 2.2.5);
GSH_OLD_VERSION(pthread_detach, 2.2.5);
GSH_OLD_VERSION(pthread_getaffinity_np, 2.3.4);
GSH_OLD_VERSION(pthread_getattr_np, 2.2.5);
GSH_OLD_VERSION(pthread_getname_np, 2.12);
GSH_OLD_VERSION(pthread_join, 2.2.5);
GSH_OLD_VERSION(pthread_mutex_trylock, 2.2.5);
GSH_OLD_VERSION(pthread_once, 2.2.5);
GSH_OLD_VERSION(pthread_rwlock_destroy, 2.2.5);
GSH_OLD_VERSION(pthread_rwlock_init, 2.2.5);
GSH_OLD_VERSION(pthread_rwlock_rdlock, 2.2.5);
GSH_OLD_VERSION(pthread_rwlock_unlock, 2.2.5);
GSH_OLD_VERSION(pthread_rwlock_wrlock, 2.2.5);
GSH_OLD_VERSION(pthread_setaffinity_np, 2.3.4);
GSH_OLD_VERSION(pthread_setname_np, 2.12);
GSH_OLD_VERSION(pthread_sigmask, 2.2.5);
GSH_OLD_VERSION(pthread_timedjoin_np, 2.3.3);

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
/* What stat, fstat and lstat were made of. The first argument is the version of struct stat. */
extern int __xstat(int version, const char *path, struct stat *result);
extern int __fxstat(int version, int fd, struct stat *result);
extern int __lxstat(int version, const char *path, struct stat *result);
#ifdef __cplusplus
}
#endif

static inline __attribute__((unused)) int gsh_old_stat(const char *path, struct stat *result)
{
    return __xstat(1, path, result);
}

static inline __attribute__((unused)) int gsh_old_fstat(int fd, struct stat *result)
{
    return __fxstat(1, fd, result);
}

static inline __attribute__((unused)) int gsh_old_lstat(const char *path, struct stat *result)
{
    return __lxstat(1, path, result);
}

static inline __attribute__((unused)) pid_t gsh_old_gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* `struct stat` stays as it is. */
#define stat(path, result)  gsh_old_stat(path, result)
#define fstat(fd, result)   gsh_old_fstat(fd, result)
#define lstat(path, result) gsh_old_lstat(path, result)
#define gettid()            gsh_old_gettid()

#ifdef __cplusplus
#include <cstddef>
/* Waits of std::condition_variable then use pthread_cond_timedwait. */
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#endif

#endif
