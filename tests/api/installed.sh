#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `meson install` leaves is enough for a user, wherever it has been moved to: the one-line builds
# of the README, and a CMake project, each of which then runs; plug-ins are found beside the library.
# The one-line builds work from a build tree, too. installed.sh BUILD_DIR PROGRAM SOURCE_DIR NVCC-OR-EMPTY
set -eu
build=$1 quiet=$2 examples=$3/examples nvcc=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

run() {
    echo "run: $*"
    GSHMEM_DEVICE=cpu "$bin/gshmemrun" -n 2 "$@"
}

# The one-line builds, with the pkg-config files of $PKG_CONFIG_PATH and the programs of $bin.
one_line_builds() {
    cc -Wall -Wextra -Werror "$examples/hello.c" -o "$dir/hello" $(pkg-config --cflags --libs gshmem)
    run "$dir/hello"
    c++ -x c++ "$examples/ring.cu" -o "$dir/ring" $(pkg-config --cflags --libs gshmem-cpu)
    run "$dir/ring"
    if [ -n "$nvcc" ]; then
        "$nvcc" -std=c++17 -arch=sm_90 "$examples/ring.cu" -o "$dir/ring_cuda" \
            $(pkg-config --cflags --libs gshmem)
    fi
    "$bin/gshmem-info" >"$dir/info"
    grep -q '^gshmem [0-9]' "$dir/info"
}

# Whatever warnings a program is compiled with, none is about the headers, nor about what they put into its lines.
strict="-Wall -Wextra -Wold-style-cast -Wsign-conversion -Wconversion"
quiet_builds() {
    dialects="gshmem-shmem gshmem-nvshmem gshmem-nccl"
    c++ -std=c++17 $strict -Werror -x c++ -fsyntax-only "$quiet" $(pkg-config --cflags gshmem-cpu $dialects)
    printf '#include <%s.h>\n' gshmem gshmemx nccl nvshmem nvshmemx shmem shmemx >"$dir/quiet.c"
    cc -std=c11 -pedantic -Wall -Wextra -Wsign-conversion -Wconversion -Werror -fsyntax-only "$dir/quiet.c" \
        $(pkg-config --cflags $dialects)
    [ -n "$nvcc" ] || return 0
    # The toolkit's folder may have NCCL's own headers.
    "$nvcc" -std=c++17 -arch=sm_90 -M "$quiet" $(pkg-config --cflags $dialects) >"$dir/quiet.d"
    if ! grep -q '/nccl\.h' "$dir/quiet.d" || grep '/targets/.*/nccl.*\.h' "$dir/quiet.d"; then
        echo "nccl.h is not gshmem's"
        exit 1
    fi
}

# The same of nvcc.
quiet_kernels() {
    [ -n "$nvcc" ] || return 0
    # CUDA's own headers warn, and so do the lines that nvcc adds to a program. Only nvcc knows where its headers are:
    # what is called nvcc may be a script that starts another one.
    "$nvcc" -dryrun -c "$quiet" -o "$dir/quiet.o" >"$dir/dryrun" 2>&1 || { cat "$dir/dryrun"; exit 1; }
    cuda=$(sed -n 's/^#\$ INCLUDES="-I\([^"]*\)".*/\1/p' "$dir/dryrun")
    "$nvcc" -std=c++17 -arch=sm_90 -Xcompiler "$(echo $strict | tr ' ' ,)" ${cuda:+-isystem "$cuda"} \
        -c "$quiet" -o "$dir/quiet.o" $(pkg-config --cflags $dialects) >"$dir/quiet.log" 2>&1 ||
        { cat "$dir/quiet.log"; exit 1; }
    if sed '/\.stub\.c:/d' "$dir/quiet.log" | grep -E '(warning|error)( #|:)'; then
        exit 1
    fi
}

# What gshmem-info tells of UCX when it is called so.
ucx() { "$1" >"$dir/info" && grep '^  ucx ' "$dir/info"; }

echo "== from the build tree"
bin=$build
export PKG_CONFIG_PATH="$build/meson-uninstalled"
one_line_builds
quiet_builds
built=$(ucx "$build/gshmem-info")
by_path=$(PATH="$build:$PATH" && ucx gshmem-info)
if [ "$by_path" != "$built" ]; then
    echo "gshmem-info says '$by_path' when it is found through PATH, else '$built'"
    exit 1
fi

echo "== installed under another root, and moved"
meson install -C "$build" --no-rebuild --quiet --destdir "$dir/root"
pc=$(find "$dir/root" -name gshmem.pc)
prefix=$(PKG_CONFIG_PATH="${pc%/*}" pkg-config --variable=prefix gshmem)
prefix=$(cd "$prefix" && pwd)
mv "$prefix" "$dir/moved"
pc=${pc#"$prefix"}
prefix=$dir/moved bin=$dir/moved/bin
export PKG_CONFIG_PATH="$prefix${pc%/*}"
one_line_builds
quiet_builds
quiet_kernels
# A program's own folders, named as gshmem's, do not take the place of what its headers include.
(cd "$prefix/include/gshmem" && find device wire cpu -type f) >"$dir/headers"
while read -r header; do
    mkdir -p "$dir/own/${header%/*}"
    echo "#error the program's own $header" >"$dir/own/$header"
done <"$dir/headers"
c++ -x c++ -fsyntax-only "$examples/ring.cu" "-I$dir/own" $(pkg-config --cflags gshmem-cpu)
[ -z "$nvcc" ] || "$nvcc" -std=c++17 -M "$examples/ring.cu" "-I$dir/own" $(pkg-config --cflags gshmem) >/dev/null
c++ "$examples/../tests/dialects/nvshmem/host_only.cc" -o "$dir/host_only" \
    $(PKG_CONFIG_PATH="$prefix${pc%/*}:$prefix${pc%/pkgconfig/*}/gshmem/nvshmem/pkgconfig" \
        pkg-config --cflags --libs nvshmem)
run "$dir/host_only"
c++ -std=c++17 -x c++ "$examples/nccl/one_thread.cu" -o "$dir/one_thread" \
    $(pkg-config --cflags --libs gshmem-cpu gshmem-nccl)
GSHMEM_DEVICE=cpu "$dir/one_thread" 2
# A program that is linked to NCCL under its own name: the folder alone is enough.
cc "$examples/../tests/nccl/dropin.c" -o "$dir/dropin" -I"$examples/.." $(pkg-config --cflags gshmem-nccl) -ldl
GSHMEM_DEVICE=cpu LD_LIBRARY_PATH=$prefix${pc%/pkgconfig/*}/gshmem-nccl "$dir/dropin"
# Programs of MSCCL++, which bring their own ranks; the name that they know is found by those who look for it.
c++ -x c++ "$examples/../tests/dialects/mscclpp/alone.cu" -o "$dir/alone" "-I$examples/.." \
    $(pkg-config --cflags --libs gshmem-cpu gshmem-mscclpp)
GSHMEM_DEVICE=cpu "$dir/alone"
PKG_CONFIG_PATH="$prefix${pc%/*}:$prefix${pc%/pkgconfig/*}/gshmem/mscclpp/pkgconfig" \
    pkg-config --exact-version=0.10.0 mscclpp
installed=$(ucx "$bin/gshmem-info")
if [ "$installed" != "$built" ]; then
    echo "gshmem-info says '$installed' here and '$built' in the build tree"
    exit 1
fi
# Far PEs in several processes need UCX's plug-in.
if echo "$installed" | grep -q '^  ucx *UCX'; then
    (export GSHMEM_NODE_PES=1; run "$dir/hello")
fi

if ! command -v cmake >/dev/null; then
    echo "no cmake here: its package is not tried"
    exit 0
fi
mkdir "$dir/cmake"
cp "$examples/hello.c" "$examples/ring.cu" "$examples/nccl/one_thread.cu" "$dir/cmake"
# A C file along with kernels, in a project of an older standard.
cat >"$dir/cmake/plain.c" <<'END'
#include <gshmem.h>
int plain(int class) { return class + gshmem_my_pe(); }
END
cat >"$dir/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user C CXX)
set(CMAKE_CXX_STANDARD 11)
find_package(gshmem 0.2 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello gshmem::gshmem)
add_executable(ring ring.cu plain.c)
set_source_files_properties(ring.cu one_thread.cu PROPERTIES LANGUAGE CXX)
target_link_libraries(ring gshmem::cpu)
add_executable(one_thread one_thread.cu)
set_target_properties(one_thread PROPERTIES CXX_STANDARD 17)
target_link_libraries(one_thread gshmem::cpu gshmem::nccl)
add_library(quiet OBJECT quiet.cc)
target_link_libraries(quiet gshmem::cpu gshmem::nccl)
separate_arguments(strict UNIX_COMMAND "$ENV{STRICT} -Werror")
target_compile_options(quiet PRIVATE ${strict})
END
printf '#include <gshmemx.h>\n#include <nccl_device.h>\n' >"$dir/cmake/quiet.cc"
export STRICT="$strict"
cmake -S "$dir/cmake" -B "$dir/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" >"$dir/cmake.log" ||
    { cat "$dir/cmake.log"; exit 1; }
cmake --build "$dir/cmake/build"
run "$dir/cmake/build/hello"
run "$dir/cmake/build/ring"
GSHMEM_DEVICE=cpu "$dir/cmake/build/one_thread" 3

# A project that asks for NVSHMEM and is told where to look.
mkdir "$dir/nvshmem"
cp "$examples/../tests/dialects/nvshmem/host_only.cc" "$dir/nvshmem"
cat >"$dir/nvshmem/kernel.cu" <<'END'
#include <nvshmem.h>
#include <nvshmemx.h>
__global__ void greet(int *box) { nvshmem_int_p(box, 1 + nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes()); }
int main()
{
    nvshmem_init();
    int *box = (int *)nvshmem_calloc(1, sizeof(int));
    void *args[] = {&box};
    nvshmemx_collective_launch((const void *)greet, 1, 1, args, 0, 0);
    nvshmemx_barrier_all_on_stream(0);
    cudaDeviceSynchronize();
    int is_there = *box != 0;
    nvshmem_finalize();
    return !is_there;
}
END
cat >"$dir/nvshmem/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user CXX)
find_package(NVSHMEM 3.4 REQUIRED)
add_executable(host_only host_only.cc)
target_link_libraries(host_only nvshmem::nvshmem_host)
add_executable(kernel kernel.cu)
set_source_files_properties(kernel.cu PROPERTIES LANGUAGE CXX)
target_link_libraries(kernel nvshmem::nvshmem)
add_library(quiet OBJECT quiet.cc)
target_link_libraries(quiet nvshmem::nvshmem)
separate_arguments(strict UNIX_COMMAND "$ENV{STRICT} -Werror")
target_compile_options(quiet PRIVATE ${strict})
END
echo '#include <nvshmemx.h>' >"$dir/nvshmem/quiet.cc"
nvshmem=$(find "$prefix" -name NVSHMEMConfig.cmake)
cmake -S "$dir/nvshmem" -B "$dir/nvshmem/build" -DNVSHMEM_DIR="${nvshmem%/*}" -DGSHMEM_NVSHMEM_CPU=ON \
    >"$dir/cmake.log" ||
    { cat "$dir/cmake.log"; exit 1; }
cmake --build "$dir/nvshmem/build"
run "$dir/nvshmem/build/host_only"
run "$dir/nvshmem/build/kernel"

# The same for MSCCL++.
mkdir "$dir/mscclpp"
cp "$examples/../tests/dialects/mscclpp/alone.cu" "$dir/mscclpp"
cat >"$dir/mscclpp/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(user CXX)
find_package(mscclpp 0.8 REQUIRED)
add_executable(alone alone.cu)
set_source_files_properties(alone.cu PROPERTIES LANGUAGE CXX)
target_include_directories(alone PRIVATE "$examples/..")
target_link_libraries(alone mscclpp::mscclpp)
END
mscclpp=$(find "$prefix" -name mscclppConfig.cmake)
cmake -S "$dir/mscclpp" -B "$dir/mscclpp/build" -Dmscclpp_DIR="${mscclpp%/*}" -DGSHMEM_MSCCLPP_CPU=ON \
    >"$dir/cmake.log" ||
    { cat "$dir/cmake.log"; exit 1; }
cmake --build "$dir/mscclpp/build"
GSHMEM_DEVICE=cpu "$dir/mscclpp/build/alone"
