#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the same test sources against NCCL and against this layer, on a machine with GPUs: both must match the same
# host model, bit for bit where that is exact. NCCL: a folder with NCCL's include/ and lib/, such as its wheel's.
# usage: beside_nccl.sh NCCL BUILD [RANKS]      BUILD: gshmem's build folder, with CUDA
set -eu
nccl=$1 build=$2 n=${3:-$(nvidia-smi -L | wc -l)}
[ "$n" -gt 0 ] || { echo "beside_nccl.sh: no GPUs here" >&2; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for lib in "$nccl"/lib/libnccl.so "$nccl"/lib/libnccl.so.2; do
    [ -e "$lib" ] && break
done
wrong=0
for name in collectives transfers; do
    nvcc -std=c++17 -O1 -arch=native -DTEST_OTHER_NCCL -I"$root" -I"$nccl/include" "$here/$name.cu" -o "$out/$name" \
        "$lib" -Xlinker "-rpath=$nccl/lib"
    for how in threads processes; do
        for program in "$out/$name" "$build/tests/nccl/nccl_${name}_cuda"; do
            if timeout 120 "$program" $how "$n" >"$out/log" 2>&1; then
                echo "$name, $n $how, $program: passed"
            else
                echo "$name, $n $how, $program: failed"
                tail -20 "$out/log"
                wrong=1
            fi
        done
    done
done
exit $wrong
