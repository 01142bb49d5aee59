#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library exports every name of names.txt that belongs there, and no other, and has few variables for each thread: a
# process that opens it has little room for them. exports.sh LIBRARY NAMES
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk '!/^#/ && $2 ~ /host|cpu|plain|layer/ { print $1 }' "$2" | sort -u >"$dir/promised"
nm -D --defined-only "$1" >"$dir/symbols"
awk '{ print $NF }' "$dir/symbols" | sort -u >"$dir/exported"
comm -23 "$dir/promised" "$dir/exported" | sed 's/^/promised but not exported: /' >"$dir/wrong"
comm -13 "$dir/promised" "$dir/exported" | sed 's/^/exported but not promised: /' >>"$dir/wrong"
cat "$dir/wrong"
echo "$(wc -l <"$dir/promised") names promised, $(wc -l <"$dir/exported") exported"
readelf -lW "$1" >"$dir/segments"
tls=$(awk '$1 == "TLS" { print $6 }' "$dir/segments")
echo "$((tls)) bytes for each thread, at most 1536"
[ "$((tls))" -le 1536 ] && [ -s "$dir/promised" ] && [ ! -s "$dir/wrong" ]
