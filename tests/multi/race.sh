#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Proves that the thread sanitizer reports a missing wait, fence or barrier between two PEs, and says nothing about
# the same program without the mistake. Skips in builds without that sanitizer.
#
#     race.sh PROGRAM
program=$1
[ -x "$program" ] || { echo "race.sh: no program $program"; exit 1; }
if ! grep -q __tsan_init "$program" && ! nm -D "$program" 2>/dev/null | grep -q __tsan_init; then
    echo "skipped: needs a build with -Db_sanitize=thread"
    exit 77
fi
GSHMEM_THREADS=2
GSHMEM_DEVICE=cpu
export GSHMEM_THREADS GSHMEM_DEVICE
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if ! TSAN_OPTIONS="exitcode=66 $TSAN_OPTIONS" "$program" good >"$log" 2>&1; then
    echo "race.sh: the correct program was reported or failed:"
    head -60 "$log"
    failed=1
fi
for mistake in no_wait no_fence no_barrier; do
    # The longest history: a PE may wait long for the other between its access and the other's. What else a run does may
    # happen to order the two, so it has several tries.
    for try in 1 2 3 4 5; do
        TSAN_OPTIONS="exitcode=66 halt_on_error=1 history_size=7" "$program" $mistake >"$log" 2>&1
        grep -q 'WARNING: ThreadSanitizer: data race' "$log" && break
    done
    if ! grep -q 'WARNING: ThreadSanitizer: data race' "$log"; then
        echo "race.sh: $mistake was not reported:"
        head -20 "$log"
        failed=1
    fi
done
exit $failed
