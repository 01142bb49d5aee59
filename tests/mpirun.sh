#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpirun with a session directory of its own: two that begin at once would trip over each other's.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
TMPDIR=$dir mpirun --oversubscribe "$@"
