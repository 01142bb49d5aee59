#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nvcc by way of ccache, which keeps the results of compilations to objects alone. So a fat binary is taken out of an
# object, whose section .nv_fatbin it is byte for byte, and a program is compiled and then linked. Where the compiler
# lists the headers that it read, ccache compares those, not preprocessed text, of which nvcc makes one for each
# architecture.
#
#     nvcc_by_ccache.sh NVCC ARGS...     ARGS as for nvcc: -c, -fatbin, or neither and one or more sources
set -eu
export CCACHE_DEPEND=1
nvcc=$1 kind=program output= depfile=
shift
compile=() link=() inputs=()
while [ $# -gt 0 ]; do
    case $1 in
    -c) kind=object ;;
    -fatbin) kind=fatbin ;;
    -o) output=$2; shift ;;
    -MF) depfile=$2; shift ;;
    -MD) ;;
    -L* | -l*) link+=("$1") ;;
    -Xlinker) link+=("$1" "$2"); shift ;;
    -isystem | -Xcompiler | -include | -Werror) compile+=("$1" "$2"); shift ;;
    -*) compile+=("$1") ;;
    *) inputs+=("$1") ;;
    esac
    shift
done

# compile SOURCE OBJECT
compile() {
    ccache "$nvcc" "${compile[@]}" -c ${depfile:+-MD -MF "$depfile"} -o "$2" "$1"
}

objects=()
if [ $kind = object ]; then
    compile "${inputs[0]}" "$output"
    exit
fi
for input in "${inputs[@]}"; do
    objects+=("$output.${#objects[@]}.o")
    compile "$input" "${objects[-1]}"
done
if [ $kind = fatbin ]; then
    objcopy -O binary --only-section=.nv_fatbin "${objects[0]}" "$output"
else
    "$nvcc" "${compile[@]}" -o "$output" "${objects[@]}" "${link[@]}"
fi
rm -f "${objects[@]}"
[ -z "$depfile" ] || sed -i "1s|^[^:]*:|$output :|" "$depfile"
