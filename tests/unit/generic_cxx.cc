/* SPDX-License-Identifier: Apache-2.0
 * generic.c as C++: the same names are overloads there. */
#include "generic.c"
