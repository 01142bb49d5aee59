/* SPDX-License-Identifier: Apache-2.0
 * For libraries of a build with -Dold_glibc=true (old.h) that hold CUDA's static runtime. Its
 * objects ask for no version, so a linker on a newer system would give them the newest. Here each
 * of these names is a function of the library, which other libraries do not see, and jumps to the
 * old one. */
#define FORWARD(name, version)                                         \
    __asm__(".symver gsh_old_" #name "," #name "@GLIBC_" #version "\n" \
            ".text\n"                                                  \
            ".globl " #name "\n"                                       \
            ".hidden " #name "\n"                                      \
            ".type " #name ", @function\n" #name ":\n"                 \
            "    endbr64\n"                                            \
            "    jmp *gsh_old_" #name "@GOTPCREL(%rip)\n"              \
            ".size " #name ", . - " #name);

FORWARD(dlclose, 2.2.5)
FORWARD(dlerror, 2.2.5)
FORWARD(dlmopen, 2.3.4)
FORWARD(dlopen, 2.2.5)
FORWARD(dlsym, 2.2.5)
FORWARD(dlvsym, 2.2.5)
FORWARD(pthread_condattr_setpshared, 2.2.5)
FORWARD(pthread_create, 2.2.5)
FORWARD(pthread_detach, 2.2.5)
FORWARD(pthread_getspecific, 2.2.5)
FORWARD(pthread_join, 2.2.5)
FORWARD(pthread_key_create, 2.2.5)
FORWARD(pthread_key_delete, 2.2.5)
FORWARD(pthread_kill, 2.2.5)
FORWARD(pthread_mutex_trylock, 2.2.5)
FORWARD(pthread_mutexattr_destroy, 2.2.5)
FORWARD(pthread_mutexattr_init, 2.2.5)
FORWARD(pthread_mutexattr_setpshared, 2.2.5)
FORWARD(pthread_mutexattr_settype, 2.2.5)
FORWARD(pthread_once, 2.2.5)
FORWARD(pthread_rwlock_destroy, 2.2.5)
FORWARD(pthread_rwlock_init, 2.2.5)
FORWARD(pthread_rwlock_rdlock, 2.2.5)
FORWARD(pthread_rwlock_timedrdlock, 2.2.5)
FORWARD(pthread_rwlock_timedwrlock, 2.2.5)
FORWARD(pthread_rwlock_tryrdlock, 2.2.5)
FORWARD(pthread_rwlock_trywrlock, 2.2.5)
FORWARD(pthread_rwlock_unlock, 2.2.5)
FORWARD(pthread_rwlock_wrlock, 2.2.5)
FORWARD(pthread_rwlockattr_destroy, 2.2.5)
FORWARD(pthread_rwlockattr_init, 2.2.5)
FORWARD(pthread_rwlockattr_setpshared, 2.2.5)
FORWARD(pthread_setspecific, 2.2.5)
FORWARD(pthread_spin_destroy, 2.2.5)
FORWARD(pthread_spin_init, 2.2.5)
FORWARD(pthread_spin_lock, 2.2.5)
FORWARD(pthread_spin_trylock, 2.2.5)
FORWARD(pthread_spin_unlock, 2.2.5)
FORWARD(sem_destroy, 2.2.5)
FORWARD(sem_init, 2.2.5)
FORWARD(sem_post, 2.2.5)
FORWARD(sem_timedwait, 2.2.5)
FORWARD(sem_trywait, 2.2.5)
FORWARD(sem_wait, 2.2.5)
FORWARD(shm_open, 2.2.5)
FORWARD(shm_unlink, 2.2.5)
