#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The device header declares every name of names.txt that belongs there, and every other function is
# where names.txt says; and those of kernels alone have the types that the list device_calls.h gives them:
# device_names.sh NAMES DEVICE_CALLS SUFFIX COMPILER ARGS...   with -DGSHMEM_PLAIN_CALLS=1 none is a template
set -eu
names=$1 list=$2 suffix=$3
shift 3
case " $* " in
*' -DGSHMEM_PLAIN_CALLS=1 '*) given= ;;
*) given='<>' ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{
    echo '#include <gshmem_device.cuh>'
    echo '#include <gshmemx.h>'
    echo '#include <type_traits>'
    # Naming each function in a kernel, unevaluated, shows that it exists and is not ambiguous.
    echo '#define TAKE(name) static_assert(sizeof(decltype(&name)) > 0, "");'
    echo '#define SAME(name, ...) static_assert(std::is_same<decltype(&name), __VA_ARGS__>::value, #name);'
    echo '__global__ void take_all() {'
    # RESULT NAME(PARAMETERS) is of the type RESULT (*)(PARAMETERS).
    awk -v suffix="$suffix" -v given="$given" 'FNR == NR { where[$1] = $2; next }
        /^__device__/ && match($0, /gshmemx?_[a-z0-9_]+\(/) {
            name = substr($0, RSTART, RLENGTH - 1)
            type = substr($0, 12, RSTART - 12) "(*)" substr($0, RSTART + RLENGTH - 1)
            sub(/;$/, "", type)
            if (suffix == "cc" || where[name] !~ /nogpu/)
                print "SAME(" name (where[name] ~ /lazy/ ? given : "") ", " type ")" }' "$names" "$list"
    awk -v suffix="$suffix" -v given="$given" '!/^#/ && ($2 ~ /device/ || (suffix == "cc" && $2 ~ /plain|nogpu/)) {
        print "TAKE(" $1 ($2 ~ /lazy/ ? given : "") ")" }' "$names"
    echo '}'
    # Those of complex numbers also have a form for classes, so their names alone do not choose a function.
    awk -v suffix="$suffix" -v given="$given" '!/^#/ && $2 ~ /host/ && $2 !~ /,c$/ {
        print "TAKE(" $1 ($2 ~ /lazy/ ? given : "") ")" }
        suffix == "cc" && !/^#/ && $2 ~ /host,c$/ { print "namespace taken { using ::" $1 "; }" }' "$names"
} >"$dir/names.$suffix"
cd "$dir" # ccache takes a unit of another name for another unit
grep -c '^TAKE' "names.$suffix"
grep -c '^SAME' "names.$suffix"
"$@" -c "names.$suffix" -o names.o
