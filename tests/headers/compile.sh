#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A header compiles when it is the only thing included, also in a program that defines each capital letter and some
# words as macros before, and afterwards these are as they were: compile.sh HEADER LANGUAGE COMPILER ARGS...
set -eu
header=$1 language=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Here, by a name that is the same in every run: ccache takes a unit of another name for another unit.
cd "$dir"
case $language in
c) unit=unit.c ;;
c++) unit=unit.cc ;;
cuda) unit=unit.cu ;;
esac
names='A B C D E F G H I J K L M N O P Q R S T U V W X Y Z'
names="$names ADD AMO BITS CAS ENTRY FETCH LOAD MOVE OPERATION REDUCE RMA ROUNDED SCAN STORE SUB WAIT"
# nvcc includes CUDA's headers by itself, which do not bear such macros.
define() { for name in $names; do printf -- "$1" "$name"; done; }
# Twice, to prove the include guard.
{
    [ "$language" != cuda ] || define '#define %s 5\n'
    printf '#include "%s"\n#include "%s"\nint gsh_unit;\n' "$header" "$header"
    for name in $names; do
        printf '#if %s != 5\n#error %s is lost\n#endif\n' "$name" "$name"
    done
} >"$unit"
[ "$language" = cuda ] || set -- "$@" $(define '-D%s=5 ')
"$@" -c "$unit" -o unit.o
