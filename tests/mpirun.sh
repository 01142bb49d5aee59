#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpirun with its own session directory: two that begin at once would otherwise share one and fail.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
TMPDIR=$dir mpirun --oversubscribe "$@"
