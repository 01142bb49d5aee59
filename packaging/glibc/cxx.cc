// SPDX-License-Identifier: Apache-2.0
// For C++ libraries of a build with -Dold_glibc=true (old.h): what newer headers of GCC call in the
// C++ library, and that of GCC 8 lacks. A library keeps these definitions to itself.
#include <exception>
#include <new>

#pragma GCC visibility push(hidden)

extern "C" {
char __libc_single_threaded = 0; // since glibc 2.32; 0: there may be threads

// std::exception_ptr's constructor of a copy, and its destructor, as they are in every C++ library:
// those of the headers, of which this library may have copies, call what is defined here.
__attribute__((visibility("default"))) void gsh_copy_exception(void *copy, const void *of) noexcept;
__attribute__((visibility("default"))) void gsh_drop_exception(void *pointer) noexcept;
}
__asm__(".symver gsh_copy_exception,_ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
__asm__(".symver gsh_drop_exception,_ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");

namespace std
{

void __throw_bad_array_new_length()
{
    throw bad_array_new_length();
}

namespace __exception_ptr
{

// One more holder of the same exception: a copy that nothing destroys.
void exception_ptr::_M_addref() noexcept
{
    void *copy = nullptr;
    gsh_copy_exception(&copy, this);
}

void exception_ptr::_M_release() noexcept
{
    gsh_drop_exception(this);
}

} // namespace __exception_ptr

} // namespace std

#pragma GCC visibility pop
