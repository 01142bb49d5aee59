#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command in which the word GPUS stands for the number of GPUs, at most four:
# on_gpus.sh GSHMEM_INFO LEAST COMMAND ARGS... With fewer GPUs than LEAST: 77, skipped.
set -u
info=$1 least=$2
shift 2
n=$("$info" --gpus) || { echo "on_gpus.sh: $info cannot count the GPUs"; exit 1; }
if [ "$n" -lt "$least" ]; then
    echo "skipped: needs $least GPUs, there are $n"
    exit 77
fi
[ "$n" -gt 4 ] && n=4
echo "on $n GPUs"
for word; do
    shift
    [ "$word" = GPUS ] && word=$n
    set -- "$@" "$word"
done
exec "$@"
