#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A header compiles when it is the only thing included: compile.sh HEADER LANGUAGE COMPILER ARGS...
set -eu
header=$1 language=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case $language in
c) unit=$dir/unit.c ;;
c++) unit=$dir/unit.cc ;;
cuda) unit=$dir/unit.cu ;;
esac
# Twice, to prove the include guard.
printf '#include "%s"\n#include "%s"\nint gsh_unit;\n' "$header" "$header" >"$unit"
"$@" -c "$unit" -o "$dir/unit.o"
