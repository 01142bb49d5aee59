# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of triton_calls.py and of the example for a GPU of compute capability 9.0, which need not be
there."""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import gshmem
import gshmem.examples.triton as example
import gshmem.examples.triton_gather as gather
import gshmem.triton as gs
import triton_calls as calls
from gshmem import libgshmem_device


@triton.jit
def every_order(words, out, world):
    at = tl.arange(0, 16)
    tl.store(out + at, gs.atomic_add(words + at, 1, 0, world, at < 9, 'release'))
    tl.store(out, gs.atomic_swap(words, 1, 0, world, SEM='acquire'))
    gs.atomic_compare_swap(words, tl.full((), 0, tl.int64), tl.full((), 1, tl.int64), 0, world, 'acq_rel')


KERNELS = [
    (every_order, 'words=*i64 out=*i64 world=*i64'),
    (calls.puts_and_gets, 'box=*fp16 got=*fp16 mine=*fp16 n=i32 world=*i64'),
    (calls.signals, 'box=*i32 seen=*i32 mine=*i32 n=i32 arrived=*u64 taken=*u64 rounds=i32 world=*i64'),
    (calls.comparisons, 'word=*i64 out=*i64'),
    (calls.atomics, 'words=*i64 out=*i64 world=*i64'),
    (calls.barriers, 'words=*i64 wrong=*i32 rounds=i32 world=*i64'),
    (example.all_reduce, 'dest=*fp32 source=*fp32 n=i32 world=*i64 BLOCK=1024'),
    (example.all_reduce_small, 'dest=*fp32 source=*fp32 n=i32 slots=*i64 calls=*i64 world=*i64 BLOCK=512'),
]

for kernel, text in KERNELS:
    types = dict(item.split('=') for item in text.split())
    numbers = {name: int(t) for name, t in types.items() if t.isdigit()}
    aligned = {(i,): [['tt.divisibility', 16]] for i, name in enumerate(types) if name not in numbers}
    made = triton.compile(ASTSource(kernel, {k: 'constexpr' if k in numbers else t for k, t in types.items()}, numbers,
                                    aligned), target=GPUTarget('cuda', 90, 32))
    ptx = made.asm['ptx']
    if kernel is example.all_reduce:  # a peer's block is read by the widest loads
        assert ptx.count('ld.global.v4.b32') == 2, ptx
    if kernel is calls.signals:
        assert 'sys.release.exch' in ptx and 'sys.acquire' in ptx, ptx
# Calls from the bitcode; where the wheel has none they are found missing, by their names, at the end.
try:
    libraries = libgshmem_device.extern_libs()
except gshmem.Error:
    libraries = {}
source = ASTSource(gather.all_gather, {'out': '*fp32', 'mine': '*fp32', 'arrived': '*i64', 'times': '*fp32',
                                       'ROUND': 'constexpr', 'N': 'constexpr'}, {'ROUND': 1, 'N': 1024})
try:
    made = triton.compile(source, target=GPUTarget('cuda', 90, 32), options={'extern_libs': libraries})
    assert libraries and 'gshmem_state_block' in made.asm['ptx']
except triton.runtime.errors.PTXASError as e:
    assert not libraries and "Unresolved extern function 'gshmem_my_pe'" in str(e), e
print('right')
