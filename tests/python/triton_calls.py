# SPDX-License-Identifier: Apache-2.0
"""Each call of gshmem.triton, compared with what it is to do. A job of any number of PEs, on GPUs, or on the CPU device
with TRITON_INTERPRET=1. Ends with status 1 if something is wrong."""
import torch
import triton
import triton.language as tl

import gshmem
import gshmem.torch
import gshmem.triton as gs


@triton.jit
def puts_and_gets(box, got, mine, n, world):
    right = (gs.my_pe(world) + 1) % gs.n_pes(world)
    gs.put(box, mine, n, right, world, 64)
    gs.barrier(world)
    gs.get(got, box, n, right, world, 64)


@triton.jit
def signals(box, seen, mine, n, arrived, taken, rounds, world):
    me = gs.my_pe(world)
    right = (me + 1) % gs.n_pes(world)
    left = (me + gs.n_pes(world) - 1) % gs.n_pes(world)
    at = tl.arange(0, 128)
    for i in range(rounds):
        tl.store(mine + at, tl.zeros((128,), tl.int32) + me * 1000 + i, mask=at < n)
        tl.debug_barrier()
        gs.put_signal(box, mine, n, arrived, i + 1, right, world)
        gs.wait(arrived, '==', i + 1)
        value = tl.load(box + at, mask=at < n, other=left * 1000 + i)
        tl.store(seen + i, tl.sum((value != left * 1000 + i).to(tl.int32)))
        gs.signal(taken, 1, left, world, True)
        gs.wait(taken, '>=', i + 1)


@triton.jit
def comparisons(word, out):
    tl.store(out, gs.wait(word, '==', 5))
    tl.store(out + 1, gs.wait(word, '!=', 4))
    tl.store(out + 2, gs.wait(word, '>', 4))
    tl.store(out + 3, gs.wait(word, '>=', 5))
    tl.store(out + 4, gs.wait(word, '<', 6))
    tl.store(out + 5, gs.wait(word, '<=', 5))


@triton.jit
def atomics(words, out, world):
    me = gs.my_pe(world)
    tl.store(out, gs.atomic_add(words, 1, 0, world))
    gs.atomic_add(words + 8 + tl.arange(0, 8), me + 1, 0, world, tl.arange(0, 8) < 5)
    gs.atomic_max(words + 1, me * 3, 0, world)
    gs.atomic_min(words + 2, 100 - me, 0, world)
    gs.atomic_or(words + 3, 1 << me, 0, world, None, 'acq_rel')
    gs.atomic_and(words + 4, -1 - (1 << me), 0, world)
    gs.atomic_xor(words + 5, 1 << me, 0, world)
    gs.atomic_swap(words + 6, 40 + me, me, world)
    gs.atomic_compare_swap(words + 7, tl.full((), 0, tl.int64), tl.full((), 1, tl.int64) + me, 0, world)


@triton.jit
def barriers(words, wrong, rounds, world):
    program, me, n = tl.program_id(0), gs.my_pe(world), gs.n_pes(world)
    for i in range(rounds):
        gs.atomic_swap(words + program * n + me, i + 1, (me + i) % n, world)
        gs.barrier(world, program)
        seen = tl.load(words + program * n + (me + n - i % n) % n, volatile=True)
        tl.store(wrong + program * rounds + i, (seen != i + 1).to(tl.int32))
        gs.barrier(world, program)


def on_device(device):
    return lambda *shape, dtype=torch.int32: torch.zeros(*shape, dtype=dtype, device=device)


def main():
    me, n_pes, n = gshmem.my_pe(), gshmem.n_pes(), 100
    left, right = (me - 1) % n_pes, (me + 1) % n_pes
    world = gs.world(n_channels=3)
    new = on_device(world.device)

    box, got = gshmem.torch.zeros(n, torch.float16), new(n, dtype=torch.float16)
    puts_and_gets[(1,)](box, got, torch.arange(n, device=world.device).half() + me, n, world)
    gshmem.synchronize()
    count = torch.arange(n).half()
    assert torch.equal(box.cpu(), count + left) and torch.equal(got.cpu(), count + me)

    box, words = gshmem.torch.zeros(n, torch.int32), gshmem.torch.zeros(2, torch.uint64)
    seen = new(20) - 1
    signals[(1,)](box, seen, new(n), n, words[:1], words[1:], 20, world)
    gshmem.synchronize()
    assert not seen.any()

    out = new(6, dtype=torch.int64)
    comparisons[(1,)](new(1, dtype=torch.int64) + 5, out)
    assert out.tolist() == [5] * 6

    words, out = gshmem.torch.zeros(16, torch.int64), new(1, dtype=torch.int64)
    words[2], words[4] = 1000, -1
    gshmem.synchronize()
    gshmem.barrier()
    atomics[(1,)](words, out, world)
    gshmem.synchronize()
    gshmem.barrier()
    assert 0 <= out[0] < n_pes and words[6] == 40 + me
    if me == 0:
        every, added = (1 << n_pes) - 1, n_pes * (n_pes + 1) // 2
        assert words[:6].tolist() == [n_pes, 3 * (n_pes - 1), 101 - n_pes, every, ~every, every]
        assert 1 <= words[7] <= n_pes and words[8:].tolist() == [added] * 5 + [0] * 3

    words, wrong = gshmem.torch.zeros(3 * n_pes, torch.int64), new(3 * 10)
    barriers[(3,)](words, wrong, 10, world)
    gshmem.synchronize()
    assert not wrong.any()

    same = gshmem.torch.on(box, right)
    gshmem.barrier()
    same[:] = me
    gshmem.synchronize()
    gshmem.barrier()
    assert (box == left).all()
    gshmem.free(world)
    print('right')


if __name__ == '__main__':
    with gshmem.init():
        main()
