#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages from the files that git knows, in a copy of them; the tree stays as it is.
#
#     packaging/build-deb.sh [OUTPUT_DIR]       default: build-deb
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
out=$(realpath -m "${1:-build-deb}")
mkdir -p "$out/gshmem"
git ls-files -z | tar --null -T - -c | tar -x -C "$out/gshmem"
mv "$out/gshmem/packaging/debian" "$out/gshmem/debian"
cd "$out/gshmem"
dpkg-buildpackage -us -uc -b
ls "$out"/*.deb
