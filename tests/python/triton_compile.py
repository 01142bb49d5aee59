# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of triton_calls.py and of the example for a GPU of compute capability 9.0, which need not be
there, and one that makes the calls of Triton-distributed's libshmem_device."""
import importlib.util
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import file_hash
from triton.compiler import ASTSource, make_backend

import gshmem
import gshmem.examples.triton as example
import gshmem.examples.triton_gather as gather
import gshmem.triton as gs
import triton_calls as calls
from gshmem import libgshmem_device as lib


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


@triton.jit
def names_of_triton_distributed(halves, doubles, words, signals, n):
    team = lib.TEAM_WORLD
    right = (lib.my_pe() + 1) % lib.n_pes()
    tl.store(words, lib.team_my_pe(team) + lib.team_n_pes(team) + lib.team_translate_pe(team, 0, lib.TEAM_NODE))
    lib.int_p(words, 1, right)
    tl.store(lib.remote_ptr(halves, right), tl.load(halves))
    tl.store(words + 1, lib.remote_mc_ptr(team, doubles).to(tl.int64) == 0)
    lib.barrier_all(), lib.barrier_all_warp(), lib.barrier_all_block()
    lib.barrier(team), lib.barrier_warp(team), lib.barrier_block(team)
    lib.sync_all(), lib.sync_all_warp(), lib.sync_all_block()
    lib.sync(team), lib.team_sync_warp(team), lib.team_sync_block(team)
    lib.quiet(), lib.fence()
    lib.getmem(halves, halves, n, right), lib.getmem_warp(halves, halves, n, right)
    lib.getmem_block(halves, halves, n, right), lib.getmem_nbi(halves, halves, n, right)
    lib.getmem_nbi_warp(halves, halves, n, right), lib.getmem_nbi_block(halves, halves, n, right)
    lib.putmem(halves, halves, n, right), lib.putmem_warp(halves, halves, n, right)
    lib.putmem_block(halves, halves, n, right), lib.putmem_nbi(halves, halves, n, right)
    lib.putmem_nbi_warp(halves, halves, n, right), lib.putmem_nbi_block(halves, halves, n, right)
    SET: tl.constexpr = lib.NVSHMEM_SIGNAL_SET
    lib.putmem_signal(halves, halves, n, signals, 1, SET, right)
    lib.putmem_signal_warp(halves, halves, n, signals, 1, SET, right)
    lib.putmem_signal_block(halves, halves, n, signals, 1, SET, right)
    lib.putmem_signal_nbi(halves, halves, n, signals, 1, SET, right)
    lib.putmem_signal_nbi_warp(halves, halves, n, signals, 1, SET, right)
    lib.putmem_signal_nbi_block(halves, halves, n, signals, 1, SET, right)
    lib.ulong_put_signal(signals, signals, n, signals, 1, lib.NVSHMEM_SIGNAL_ADD, right)
    lib.signal_op(signals, 1, SET, right)
    lib.signal_wait_until(signals, lib.NVSHMEM_CMP_GE, 1)
    lib.broadcastmem(team, halves, halves, n, 0), lib.broadcastmem_warp(team, halves, halves, n, 0)
    lib.broadcastmem_block(team, halves, halves, n, 0), lib.broadcast(team, doubles, doubles, n, 0)
    lib.broadcast_warp(team, halves, halves, n, 0), lib.broadcast_block(team, doubles, doubles, n, 0)
    lib.fcollectmem(team, halves, halves, n), lib.fcollectmem_warp(team, halves, halves, n)
    lib.fcollectmem_block(team, halves, halves, n), lib.fcollect(team, doubles, doubles, n)
    lib.fcollect_warp(team, halves, halves, n), lib.fcollect_block(team, doubles, doubles, n)


def check_calls(kernel, types, numbers):
    """Compiles a kernel with calls from the bitcode, and returns its first form; where the wheel has none they are
    found missing, by their names, at the end."""
    try:
        libraries = lib.extern_libs()
    except gshmem.Error:
        libraries = {}
    try:
        source = ASTSource(kernel, {**types, **dict.fromkeys(numbers, 'constexpr')}, numbers)
        made = triton.compile(source, target=GPUTarget('cuda', 90, 32), options={'extern_libs': libraries})
        assert libraries and 'gshmem_state_block' in made.asm['ptx']
        # What a large function is given must reach it.
        assert not re.search(r'@gshmemx?_(broadcast|fcollect)mem\w*\(\)', made.asm['llir'])
        return made.asm['ttir']
    except triton.runtime.errors.PTXASError as e:
        assert not libraries and "Unresolved extern function 'gshmem_my_pe'" in str(e), e


check_calls(gather.all_gather, {'out': '*fp32', 'mine': '*fp32', 'arrived': '*i64', 'times': '*fp32'},
            {'ROUND': 1, 'N': 1024})
text = check_calls(names_of_triton_distributed, {'halves': '*fp16', 'doubles': '*fp64', 'words': '*i32',
                                                 'signals': '*u64', 'n': 'i32'}, {})
if text is not None:  # by what each size is multiplied: broadcastmem takes bytes, broadcast elements of its pointers
    factors = dict(re.findall(r'(%\d+) = arith\.muli %\d+, %c(\d+)_i64', text))
    calls = re.findall(r'extern_elementwise (?:\S+, ){3}(%\d+)\b.* = "gshmemx?_(broadcast|fcollect)mem(\w*)"', text)
    for name in ('broadcast', 'fcollect'):
        found = [(group, factors.get(size, '1')) for size, its_name, group in calls if its_name == name]
        assert found == [('', '1'), ('_warp', '1'), ('_block', '1'), ('', '8'), ('_warp', '2'), ('_block', '8')], found


def key_of(module, bitcode):
    """By which Triton keeps a kernel that is launched with the module's files."""
    with open('calls.bc', 'w', encoding='utf-8') as file:
        file.write(bitcode)
    file_hash.cache_clear()
    module._device.bitcode = lambda: 'calls.bc'
    return make_backend(GPUTarget('cuda', 90, 32)).parse_options({'extern_libs': module.extern_libs()}).hash()


with open(lib.__file__, encoding='utf-8') as file, open('changed.py', 'w', encoding='utf-8') as copy:
    copy.write(file.read() + '# changed\n')
spec = importlib.util.spec_from_file_location('gshmem.changed', 'changed.py')
changed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changed)
assert key_of(lib, '1') == key_of(lib, '1') != key_of(lib, '2')
assert key_of(lib, '1') != key_of(changed, '1')
print('right')
