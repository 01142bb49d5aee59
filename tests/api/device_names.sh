#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The device header declares every name of names.txt that belongs there, and every other function is
# where names.txt says: device_names.sh NAMES SUFFIX COMPILER ARGS...
set -eu
names=$1 suffix=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{
    echo '#include <gshmem_device.cuh>'
    echo '#include <gshmemx.h>'
    # Naming each function in a kernel, unevaluated, shows that it exists and is not ambiguous.
    echo '#define TAKE(name) static_assert(sizeof(decltype(&name)) > 0, "");'
    echo '__global__ void take_all() {'
    awk -v suffix="$suffix" '!/^#/ && ($2 ~ /device/ || (suffix == "cc" && $2 ~ /plain|nogpu/)) {
        print "TAKE(" $1 ($2 ~ /lazy/ ? "<>" : "") ")" }' "$names"
    echo '}'
    # Those of complex numbers also have a form for classes, so their names alone do not choose a function.
    awk -v suffix="$suffix" '!/^#/ && $2 ~ /host/ && $2 !~ /,c$/ {
        print "TAKE(" $1 ($2 ~ /lazy/ ? "<>" : "") ")" }
        suffix == "cc" && !/^#/ && $2 ~ /host,c$/ { print "namespace taken { using ::" $1 "; }" }' "$names"
} >"$dir/names.$suffix"
grep -c '^TAKE' "$dir/names.$suffix"
"$@" -c "$dir/names.$suffix" -o "$dir/names.o"
