/* SPDX-License-Identifier: Apache-2.0
 * For the tools of a build with -Dold_glibc=true (old.h). Since glibc 2.34 the start of a program
 * leaves its constructors to __libc_start_main, which has a new version therefore. Here that name
 * is a function of the program, which calls the old version and gives it the constructors. */
#include <stddef.h>

typedef int main_function(int, char **, char **);
typedef void constructor(int, char **, char **);

extern int gsh_old_start_main(main_function *main, int argc, char **argv, constructor *init,
                              void (*fini)(void), void (*loader_fini)(void), void *stack_end);
__asm__(".symver gsh_old_start_main,__libc_start_main@GLIBC_2.2.5");

extern constructor *const __init_array_start[] __attribute__((visibility("hidden")));
extern constructor *const __init_array_end[] __attribute__((visibility("hidden")));

static void construct(int argc, char **argv, char **environment)
{
    for (constructor *const *f = __init_array_start; f != __init_array_end; f++) {
        (*f)(argc, argv, environment);
    }
}

/* Called by the C library's start file with init and fini NULL. */
__attribute__((visibility("hidden"))) int
__libc_start_main(main_function *main, int argc, char **argv, constructor *init, void (*fini)(void),
                  void (*loader_fini)(void), void *stack_end);

int __libc_start_main(main_function *main, int argc, char **argv, constructor *init,
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    return gsh_old_start_main(main, argc, argv, init != NULL ? init : construct, fini, loader_fini,
                              stack_end);
}
