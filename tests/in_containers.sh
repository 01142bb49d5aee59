#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program as process 1 of a container's kind of process numbers, with the host's network.
# The leak sanitizer looks for its threads in /proc, which numbers them otherwise.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
if [ "$(id -u)" -eq 0 ]; then
    exec unshare --pid --fork --kill-child "$@"
fi
if ! unshare --map-root-user --pid --fork true 2>/dev/null; then
    echo "skipped: only root may make a namespace of process numbers here" >&2
    exit 77
fi
exec unshare --map-root-user --pid --fork --kill-child "$@"
