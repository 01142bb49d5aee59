#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program with one PE on each GPU, at most four: on_gpus.sh GSHMEM_INFO GSHMEMRUN PROGRAM ARGS...
# Without a GPU: 77, skipped.
set -u
info=$1 run=$2
shift 2
n=$("$info" --gpus)
if [ "${n:-0}" -eq 0 ]; then
    echo "skipped: needs a GPU, there is none"
    exit 77
fi
[ "$n" -gt 4 ] && n=4
echo "on $n GPUs"
exec "$run" -n "$n" "$@"
