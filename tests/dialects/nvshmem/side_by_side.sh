#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the programs in this folder that use NVSHMEM's names against gshmem and against NVSHMEM itself, runs both on
# this machine's GPUs, and compares their results, PE by PE.
#
# usage: side_by_side.sh NVSHMEM [BUILD [PES]]     NVSHMEM has include/ and lib/
set -eu
nvshmem=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=${2:-$root/build-nvshmem}
pes=${3:-2}
folder=tests/dialects/nvshmem
[ -f "$nvshmem/include/nvshmem.h" ] || { echo "side_by_side.sh: no include/nvshmem.h in $nvshmem" >&2; exit 2; }
n_gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
[ "$n_gpus" -ge "$pes" ] || { echo "side_by_side.sh: $n_gpus GPUs here, $pes are needed" >&2; exit 77; }
[ -d "$build" ] || meson setup "$build" "$root" -Dnvshmem="$nvshmem"
status=0
for name in device stream calls_device calls_stream; do
    outcomes=
    for of in cuda nvshmem; do
        program=$folder/nvshmem_${name}_$of
        ninja -C "$build" gshmemrun "$program" >"$build/$name.$of.log" 2>&1 ||
            { echo "$name: $of does not build, see $build/$name.$of.log"; status=1; continue; }
        rc=0
        "$build/gshmemrun" -n "$pes" "$build/$program" >"$build/$name.$of.out" 2>&1 || rc=$?
        # What both print themselves: the failed checks. The libraries' own lines differ.
        { echo "status $rc"; grep -E "failed:|^PE [0-9]+:" "$build/$name.$of.out" || true; } |
            sed "s/^.*: failed:/failed:/" | sort >"$build/$name.$of.outcome"
        # Both may fail the same checks; a program that ended otherwise has shown nothing.
        if [ "$rc" -ne 0 ] && ! grep -q '^failed:' "$build/$name.$of.outcome"; then
            echo "$name: $of ended with status $rc, see $build/$name.$of.out"
            status=1
            continue
        fi
        outcomes="$outcomes $build/$name.$of.outcome"
    done
    set -- $outcomes
    if [ $# -ne 2 ]; then
        status=1
    elif cmp -s "$1" "$2"; then
        echo "$name: the same: $(tr '\n' ' ' <"$1")"
    else
        echo "$name: different:"
        diff "$1" "$2" || status=1
    fi
done
exit $status
