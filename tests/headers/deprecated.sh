#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The use of a call that is marked GSHMEM_DEPRECATED gives a warning with its text; its declaration gives none, nor does
# anything in a program that defines GSHMEM_NO_DEPRECATED: deprecated.sh LANGUAGE COMPILER ARGS...
set -eu
language=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#include "gshmem/version.h"\nGSHMEM_DEPRECATED("use gsh_new instead") int gsh_old(void);\n' >"$dir/declared"
{ cat "$dir/declared"; printf 'int gsh_use(void);\nint gsh_use(void) { return gsh_old(); }\n'; } >"$dir/used"
try() { "$@" -Werror -x "$language" -fsyntax-only - 2>"$dir/log"; }
try "$@" <"$dir/declared"
try "$@" -DGSHMEM_NO_DEPRECATED <"$dir/used"
if try "$@" <"$dir/used" || ! grep -q 'use gsh_new instead' "$dir/log"; then
    cat "$dir/log"
    echo "the use of a deprecated call gives no warning that says what to use instead"
    exit 1
fi
