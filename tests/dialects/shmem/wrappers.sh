#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A relocated installation compiles and runs OpenSHMEM programs: by oshcc, oshc++ and oshrun, and by pkg-config:
# wrappers.sh BUILD_DIR PROGRAMS_DIR SOURCE_DIR
set -eu
build=$1 programs=$2 source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$dir/root"
pc=$(find "$dir/root" -name gshmem-shmem.pc)
prefix=$(cd "$(dirname "$(find "$dir/root" -name oshcc)")/.." && pwd)
mv "$prefix" "$dir/moved"
bin=$dir/moved/bin
flags="-Wall -Wextra -Werror -I$source"
# shellcheck disable=SC2086
for standard in c11 gnu17; do
    "$bin/oshcc" -std=$standard $flags -D_GNU_SOURCE "$programs/basic.c" -o "$dir/basic"
    "$bin/oshrun" -n 2 "$dir/basic"
done
# shellcheck disable=SC2086
"$bin/oshcc" -std=gnu99 $flags -c "$programs/old.c" -o "$dir/old.o"
"$bin/oshcc" "$dir/old.o" -o "$dir/old"
"$bin/oshrun" -np 3 "$dir/old"
# shellcheck disable=SC2086
"$bin/oshc++" $flags "$programs/cxx.cc" -o "$dir/cxx"
"$bin/oshrun" --timeout 300 -np 2 "$dir/cxx"
"$bin/oshrun" --help >"$dir/help"
grep -q "usage: oshrun" "$dir/help"
# Every header that programs include, and none brings along much that a small file does not need.
printf '#include <pshmem.h>\n#include <pshmemx.h>\n#include <mpp/%s.h>\n' shmem shmemx pshmem pshmemx >"$dir/headers.c"
"$bin/oshcc" -std=c89 -pedantic -Wall -Wextra -Werror -c "$dir/headers.c" -o "$dir/headers.o"
echo '#include <shmem.h>' >"$dir/empty.cc"
"$bin/oshc++" -E "$dir/empty.cc" >"$dir/empty.lines"
lines=$(wc -l <"$dir/empty.lines")
if [ "$lines" -gt 8000 ]; then
    echo "an empty program in C++ is $lines lines"
    exit 1
fi
"$bin/oshcc" --showme -c x.c >"$dir/showme"
grep -q gshmem/shmem "$dir/showme"
# Without anything to link they say what the compiler says.
for none in "" "-o $dir/none"; do
    # shellcheck disable=SC2086
    if "$bin/oshcc" $none 2>"$dir/none.text" || ! grep -q "no input file" "$dir/none.text"; then
        echo "oshcc $none: $(cat "$dir/none.text")"
        exit 1
    fi
done
"$bin/oshc++" -v 2>/dev/null
export PKG_CONFIG_PATH="$dir/moved${pc#"$prefix"}"
PKG_CONFIG_PATH=${PKG_CONFIG_PATH%/*}
# shellcheck disable=SC2046,SC2086
cc $flags -D_GNU_SOURCE "$programs/basic.c" -o "$dir/basic" $(pkg-config --cflags --libs gshmem-shmem)
"$bin/oshrun" -n 2 "$dir/basic"
