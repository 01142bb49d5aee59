# SPDX-License-Identifier: Apache-2.0
"""PyTorch's symmetric memory on gshmem's heap, by processes of a job on GPUs or on the CPU device."""
import gc
import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

import gshmem
import gshmem.mscclpp as mscclpp
import gshmem.torch


def wrong_tensors(device):
    """What is refused by name, and what its words are."""
    near, plain = gshmem.torch.zeros((4, 4)), torch.zeros(4, 4, device=device)
    for kind, words, dest, source in (
            (ValueError, 'put: dest is not symmetric', plain, plain),
            (ValueError, 'put: dest is not contiguous', near.t(), plain),
            (ValueError, 'put: source is not contiguous', near[0], plain[:, 1]),
            (ValueError, 'put: dest has 64 bytes, source 48', near, plain[1:]),
            (TypeError, 'put: dest is of float32, source of bfloat16', near, plain.bfloat16()),
            (TypeError, 'put: dest is of float32, source of complex64', near, plain.to(torch.complex64)),
            (TypeError, 'put: source is a tensor whose memory has no address', near, plain.to_sparse()),
            (TypeError, 'put: source is a tensor whose memory has no address', near, plain.to('meta')),
            (ValueError, 'put: source is conjugate only when it is read', gshmem.torch.zeros(4, torch.complex64),
             torch.zeros(4, dtype=torch.complex64, device=device).conj())):
        try:
            gshmem.put(dest, source, 0)
            raise AssertionError(f'not refused: {words}')
        except kind as e:
            assert str(e) == words or str(e).startswith(words + ':'), e
    for shape in ('x', 2.5, (2, None), -1):
        try:
            gshmem.torch.zeros(shape)
            raise AssertionError(f'not refused: {shape}')
        except (TypeError, ValueError) as e:
            assert str(e).startswith('zeros: shape '), e
    n = gshmem.n_pes()
    for kind, words, call in (
            (TypeError, 'tensor: array: int is no array of', lambda: gshmem.torch.tensor(5)),
            (TypeError, 'on: array: list is no array of', lambda: gshmem.torch.on([1, 2], 0)),
            (ValueError, 'on: array is not symmetric', lambda: gshmem.torch.on(plain, 0)),
            (ValueError, f'on: pe is {n}, and there are {n}', lambda: gshmem.torch.on(near, n)),
            (TypeError, "zeros: dtype: 'f4' is no dtype of torch", lambda: gshmem.torch.zeros(4, 'f4'))):
        try:
            call()
            raise AssertionError(f'not refused: {words}')
        except kind as e:
            assert str(e).startswith(words), e
    there = gshmem.torch.on(gshmem.zeros(4, 'int32'), gshmem.my_pe())  # of numpy or torch, as the device has it
    assert there.dtype == torch.int32 and there.tolist() == [0] * 4
    gshmem.put(near[1:2].t()[1:3], torch.ones(2, 1, device=device), gshmem.my_pe())  # in one piece all the same
    gshmem.quiet()
    gshmem.synchronize()
    assert near.tolist() == [[0] * 4, [0, 1, 1, 0], [0] * 4, [0] * 4], near


def main(device):
    me, n = dist.get_rank(), dist.get_world_size()  # not the PE's number
    right, left = (me + 1) % n, (me - 1) % n
    gshmem.torch.use_symmetric_memory()
    assert symm_mem.get_backend(device) == 'GSHMEM'
    group = dist.group.WORLD

    t = symm_mem.empty(3, 1000, dtype=torch.float32, device=device)
    handle = symm_mem.rendezvous(t, group)
    assert (handle.rank, handle.world_size, handle.buffer_size) == (me, n, t.nbytes)
    assert symm_mem.rendezvous(t, group).buffer_ptrs == handle.buffer_ptrs and handle.buffer_ptrs[me] == t.data_ptr()
    for i in range(1, 10):
        handle.get_buffer(right, (3, 1000), torch.float32)[:] = me * i
        handle.barrier(channel=i % 3)
        assert (t == left * i).all()
        handle.barrier(channel=i % 3)

    seen = []
    for i in range(1, 10):
        handle.get_buffer(right, (1,), torch.float32, 7)[:] = i + me
        handle.put_signal(right, channel=2)
        handle.wait_signal(left, channel=2)
        seen.append(t[0, 7].item() == i + left)
        handle.put_signal(left, channel=5)
        handle.wait_signal(right, channel=5)
    assert all(seen)
    assert not handle.get_signal_pad(right).cpu().any()

    for bad in (lambda: handle.barrier(channel=64), lambda: handle.put_signal(n, channel=0),
                lambda: symm_mem.rendezvous(torch.zeros(3, device=device), group)):
        try:
            bad()
            raise AssertionError('a wrong argument is taken')
        except RuntimeError as e:
            assert 'gshmem: ' in str(e), e
    if device.type == 'cpu' and me == 0:
        try:
            handle.wait_signal(right, channel=9, timeout_ms=50)
            raise AssertionError('a wait has no limit')
        except RuntimeError as e:
            assert f'rank {right} has not come within 50 ms on channel 9' in str(e), e

    ends = dist.new_group([0, n - 1])
    other = symm_mem.empty(4, dtype=torch.int64, device=device)
    if me in (0, n - 1):
        handle = symm_mem.rendezvous(other, ends)
        assert handle.rank == (me > 0) and handle.buffer_ptrs[handle.rank] == other.data_ptr()
        handle.get_buffer(1 - handle.rank, (4,), torch.int64)[:] = me + 10
        handle.barrier()
        assert (other == 10 + n - 1 - me).all()
    del handle, other

    places = set()  # memory comes back, though PEs drop their tensors at different times
    kept = []
    for i in range(40):
        big = symm_mem.empty(1 << 20, dtype=torch.uint8, device=device)
        places.add(big.data_ptr())
        if me == 0:
            kept = kept[-3:] + [big]
        del big
    kept.clear()
    assert len(places) < 12, len(places)

    if device.type == 'cuda':
        pool = gshmem.torch.mem_pool()
        with torch.cuda.use_mem_pool(pool):
            x = torch.zeros(1000, device=device)
        pe, n_pes = gshmem.my_pe(), gshmem.n_pes()
        torch.cuda.synchronize()
        gshmem.put(x, torch.full_like(x, pe), (pe + 1) % n_pes)
        gshmem.barrier()
        assert (x == (pe - 1) % n_pes).all()
    with mscclpp.CommGroup(torch_group=group) as of_torch:
        assert (of_torch.my_rank, of_torch.nranks) == (me, n)
        of_torch.barrier()
    halves = [dist.new_group([0]), dist.new_group(list(range(1, n)))]
    with mscclpp.CommGroup(torch_group=halves[me > 0]) as of_torch:
        assert (of_torch.my_rank, of_torch.nranks) == ((me - 1, n - 1) if me else (0, 1))
        of_torch.barrier()
    gc.collect()
    print('right')


if __name__ == '__main__':
    with gshmem.init():
        n_ranks, on_gpu = gshmem.n_pes(), gshmem.is_on_gpu()
        where = torch.device('cuda', torch.cuda.current_device()) if on_gpu else torch.device('cpu')
        dist.init_process_group('gloo', rank=n_ranks - 1 - gshmem.my_pe(), world_size=n_ranks,
                                init_method=f'file://{os.environ["STORE_FILE"]}')
        wrong_tensors(where)
        main(where)
        gshmem.barrier()
        dist.destroy_process_group()
