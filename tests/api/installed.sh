#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `meson install` leaves is enough for a user: the one-line builds of the README, and a CMake
# project, each of which then runs. installed.sh BUILD_DIR SOURCE_DIR NVCC-OR-EMPTY
set -eu
build=$1 examples=$2/examples nvcc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

meson install -C "$build" --no-rebuild --quiet --destdir "$dir/root"
pc=$(find "$dir/root" -name gshmem.pc)
export PKG_CONFIG_PATH="${pc%/*}"
prefix=$dir/root$(pkg-config --variable=prefix gshmem)
flags() { pkg-config --define-variable=prefix="$prefix" "$@"; }
run() {
    echo "run: $*"
    GSHMEM_DEVICE=cpu "$prefix/bin/gshmemrun" -n 2 "$@"
}

cc -Wall -Wextra -Werror "$examples/hello.c" -o "$dir/hello" $(flags --cflags --libs gshmem)
run "$dir/hello"
c++ -x c++ "$examples/ring.cu" -o "$dir/ring" $(flags --cflags --libs gshmem-cpu)
run "$dir/ring"
if [ -n "$nvcc" ]; then
    "$nvcc" -std=c++17 -arch=sm_90 "$examples/ring.cu" -o "$dir/ring_cuda" \
        $(flags --cflags --libs gshmem)
fi
"$prefix/bin/gshmem-info" | grep -q '^gshmem [0-9]'

if ! command -v cmake >/dev/null; then
    echo "no cmake here: its package is not tried"
    exit 0
fi
mkdir "$dir/cmake"
cp "$examples/hello.c" "$examples/ring.cu" "$dir/cmake"
# A C file beside kernels, in a project of an older standard.
cat >"$dir/cmake/plain.c" <<'END'
#include <gshmem.h>
int plain(int class) { return class + gshmem_my_pe(); }
END
cat >"$dir/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user C CXX)
set(CMAKE_CXX_STANDARD 11)
find_package(gshmem 0.1 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello gshmem::gshmem)
add_executable(ring ring.cu plain.c)
set_source_files_properties(ring.cu PROPERTIES LANGUAGE CXX)
target_link_libraries(ring gshmem::cpu)
END
cmake -S "$dir/cmake" -B "$dir/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" >"$dir/cmake.log" ||
    { cat "$dir/cmake.log"; exit 1; }
cmake --build "$dir/cmake/build"
run "$dir/cmake/build/hello"
run "$dir/cmake/build/ring"
