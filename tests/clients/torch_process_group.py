#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's process group "nccl" on two GPUs, each call of it compared with what the ranks compute for themselves.

    torch_process_group.py [--library libnccl.so.2] [--limit SECONDS] [CASE...]

Without --library PyTorch's own NCCL runs: the same cases beside the real one. A CASE is a part of a case's name.
Prints a line for each case, and ends with status 1 if one failed. Ranks that hang are killed at the limit."""
import argparse, os, signal, socket, subprocess, sys, tempfile, time, traceback

N = 2
CASES = {}
ALONE = {}  # cases that end their process group: each has a job of its own


def case(function):
    CASES[function.__name__] = function
    return function


def alone(function):
    ALONE[function.__name__] = function
    return function


def load():
    global torch, dist, rank, device
    import torch
    import torch.distributed as dist
    rank = int(os.environ['RANK'])
    device = torch.device('cuda', rank)
    torch.cuda.set_device(device)


def types(with_float8=False):
    names = 'float32 float64 float16 bfloat16 int8 uint8 int32 int64'.split()
    return [getattr(torch, n) for n in names + (['float8_e4m3fn', 'float8_e5m2'] if with_float8 else [])]


def data(n, of_rank, dtype=None, seed=0):
    """Small whole numbers, exact in every type, and different for each rank."""
    i = torch.arange(n, device=device)
    return ((i * 7 + of_rank * 3 + seed) % 5 + 1).to(dtype or torch.float32)


def same(a, b, what=''):
    if a.shape != b.shape or not torch.equal(a.cpu().to(torch.float64), b.cpu().to(torch.float64)):
        wrong = (a.cpu().to(torch.float64) != b.cpu().to(torch.float64)).nonzero()[:3].tolist() \
            if a.shape == b.shape else f'{tuple(a.shape)} for {tuple(b.shape)}'
        raise AssertionError(f'{what}: wrong at {wrong}')


SIZES = [1, 17, 1000, 65537, 1 << 20]


# ---- the calls --------------------------------------------------------------------------------


@case
def all_reduce():
    ops = {'SUM': lambda a, b: a + b, 'PRODUCT': lambda a, b: a * b, 'MIN': torch.minimum, 'MAX': torch.maximum}
    for dtype in types():
        for name, f in ops.items():
            for n in SIZES if dtype == torch.float32 else [1000]:
                x = data(n, rank, dtype)
                dist.all_reduce(x, op=getattr(dist.ReduceOp, name))
                same(x, f(data(n, 0, dtype), data(n, 1, dtype)), f'{name} {dtype} {n}')


@case
def all_reduce_average_and_premul():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for n in SIZES:
            x = data(n, rank, dtype)
            dist.all_reduce(x, op=dist.ReduceOp.AVG)
            same(x, (data(n, 0, dtype) + data(n, 1, dtype)) / 2, f'AVG {dtype} {n}')
            if dtype == torch.bfloat16:
                continue  # PyTorch seems to give NCCL a float as the factor
            x = data(n, rank, dtype)
            dist.all_reduce(x, op=dist._make_nccl_premul_sum(2.0))
            same(x, 2 * data(n, 0, dtype) + 2 * data(n, 1, dtype), f'PREMUL_SUM {dtype} {n}')


@case
def broadcast_and_reduce():
    for dtype in types():
        for root in range(N):
            for n in SIZES if dtype == torch.float32 else [1000]:
                x = data(n, rank, dtype)
                dist.broadcast(x, root)
                same(x, data(n, root, dtype), f'broadcast {dtype} {n}')
                x = data(n, rank, dtype)
                dist.reduce(x, root)
                if rank == root:
                    same(x, data(n, 0, dtype) + data(n, 1, dtype), f'reduce {dtype} {n}')


@case
def all_gather():
    for dtype in types(True):
        for n in SIZES if dtype == torch.float32 else [1000]:
            parts = [torch.empty(n, device=device, dtype=dtype) for _ in range(N)]
            dist.all_gather(parts, data(n, rank, dtype))
            whole = torch.empty(N * n, device=device, dtype=dtype)
            dist.all_gather_into_tensor(whole, data(n, rank, dtype))
            for r in range(N):
                same(parts[r], data(n, r, dtype), f'list {dtype} {n}')
                same(whole[r * n:(r + 1) * n], data(n, r, dtype), f'tensor {dtype} {n}')
    uneven = [torch.empty(100 + r, device=device) for r in range(N)]
    dist.all_gather(uneven, data(100 + rank, rank))
    for r in range(N):
        same(uneven[r], data(100 + r, r), 'uneven')


@case
def all_gather_in_place():
    for n in SIZES:
        whole = torch.zeros(N * n, device=device)
        whole[rank * n:(rank + 1) * n] = data(n, rank)
        dist.all_gather_into_tensor(whole, whole[rank * n:(rank + 1) * n])
        same(whole, torch.cat([data(n, r) for r in range(N)]), str(n))


@case
def reduce_scatter():
    for dtype in types():
        for n in SIZES if dtype == torch.float32 else [1000]:
            expected = sum(data(n, r, dtype, rank) for r in range(N)).to(dtype)
            out = torch.empty(n, device=device, dtype=dtype)
            dist.reduce_scatter(out, [data(n, rank, dtype, to) for to in range(N)])
            same(out, expected, f'list {dtype} {n}')
            out = torch.empty(n, device=device, dtype=dtype)
            dist.reduce_scatter_tensor(out, torch.cat([data(n, rank, dtype, to) for to in range(N)]))
            same(out, expected, f'tensor {dtype} {n}')


@case
def all_to_all():
    for n in SIZES:
        out = torch.empty(N * n, device=device)
        dist.all_to_all_single(out, torch.cat([data(n, rank, seed=to) for to in range(N)]))
        same(out, torch.cat([data(n, r, seed=rank) for r in range(N)]), f'single {n}')
        parts = [torch.empty(n, device=device) for _ in range(N)]
        dist.all_to_all(parts, [data(n, rank, seed=to) for to in range(N)])
        for r in range(N):
            same(parts[r], data(n, r, seed=rank), f'list {n}')
    out_splits = [10 * (r + 1) + rank for r in range(N)]
    in_splits = [10 * (rank + 1) + to for to in range(N)]
    out = torch.empty(sum(out_splits), device=device)
    dist.all_to_all_single(out, torch.cat([data(k, rank, seed=to) for to, k in enumerate(in_splits)]),
                           out_splits, in_splits)
    same(out, torch.cat([data(k, r, seed=rank) for r, k in enumerate(out_splits)]), 'uneven')


@case
def gather_and_scatter():
    for root in range(N):
        for n in SIZES:
            parts = [torch.empty(n, device=device) for _ in range(N)] if rank == root else None
            dist.gather(data(n, rank), parts, root)
            for r in range(N) if parts else []:
                same(parts[r], data(n, r), f'gather {n}')
            out = torch.empty(n, device=device)
            dist.scatter(out, [data(n, root, seed=to) for to in range(N)] if rank == root else None, root)
            same(out, data(n, root, seed=rank), f'scatter {n}')


@case
def send_and_receive():
    other = 1 - rank
    for n in SIZES:
        x = torch.empty(n, device=device)
        if rank == 0:
            dist.send(data(n, 0), 1)
            dist.recv(x, 1)
        else:
            dist.recv(x, 0)
            dist.send(data(n, 1), 0)
        same(x, data(n, other), f'send {n}')
        x = torch.empty(n, device=device)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, data(n, rank), other),
                                            dist.P2POp(dist.irecv, x, other)]):
            work.wait()
        same(x, data(n, other), f'batch {n}')


@case
def objects():
    got = [None] * N
    dist.all_gather_object(got, {'rank': rank, 'text': 'x' * 1000 * rank})
    assert [g['rank'] for g in got] == list(range(N)), got
    box = [f'from {rank}']
    dist.broadcast_object_list(box, 1)
    assert box == ['from 1'], box
    out = [None]
    dist.scatter_object_list(out, [f'for {r}' for r in range(N)] if rank == 0 else None, 0)
    assert out == [f'for {rank}'], out
    all_of_them = [None] * N if rank == 0 else None
    dist.gather_object(rank, all_of_them, 0)
    assert rank != 0 or all_of_them == list(range(N)), all_of_them


@case
def barriers_and_async_work():
    works, xs = [], []
    for i in range(50):
        xs.append(data(1000 + i, rank))
        works.append(dist.all_reduce(xs[-1], async_op=True))
    dist.barrier(device_ids=[rank])
    for w in works:
        w.wait()
    for i, x in enumerate(xs):
        same(x, data(1000 + i, 0) + data(1000 + i, 1), str(i))


@case
def several_streams():
    streams = [torch.cuda.Stream() for _ in range(4)]
    groups = [dist.new_group(list(range(N))) for _ in streams]
    xs = []
    for i, (s, g) in enumerate(zip(streams, groups)):
        with torch.cuda.stream(s):
            x = data(1 << 18, rank, seed=i)
            for _ in range(3):
                dist.all_reduce(x, group=g)
            xs.append(x)
    torch.cuda.synchronize()
    for i, x in enumerate(xs):
        same(x, 4 * (data(1 << 18, 0, seed=i) + data(1 << 18, 1, seed=i)), str(i))


@case
def groups():
    both, mine = dist.new_group([0, 1]), [dist.new_group([r]) for r in range(N)][rank]
    x = data(1000, rank)
    dist.all_reduce(x, group=mine)
    same(x, data(1000, rank), 'own')
    dist.all_reduce(x, group=both)
    same(x, data(1000, 0) + data(1000, 1), 'both')
    for g in (both, mine):
        dist.destroy_process_group(g)


@case
def split_group():
    g = dist.split_group(split_ranks=[[0, 1]])
    x = data(1000, rank)
    dist.all_reduce(x, group=g)
    same(x, data(1000, 0) + data(1000, 1))
    own = dist.split_group(split_ranks=[[0], [1]])
    x = data(1000, rank)
    dist.all_reduce(x, group=own)
    same(x, data(1000, rank))


@case
def coalescing():
    xs = [data(100 * (i + 1), rank, seed=i) for i in range(10)]
    with dist._coalescing_manager(device=device):
        for x in xs:
            dist.all_reduce(x)
    for i, x in enumerate(xs):
        same(x, data(100 * (i + 1), 0, seed=i) + data(100 * (i + 1), 1, seed=i), f'reduce {i}')
    outs = [torch.empty(N * 100 * (i + 1), device=device) for i in range(10)]
    with dist._coalescing_manager(device=device, async_ops=True) as manager:
        for i, out in enumerate(outs):
            dist.all_gather_into_tensor(out, data(100 * (i + 1), rank, seed=i))
    manager.wait()
    for i, out in enumerate(outs):
        same(out, torch.cat([data(100 * (i + 1), r, seed=i) for r in range(N)]), f'gather {i}')


@case
def graphs():
    x, y = torch.zeros(1 << 16, device=device), torch.zeros(N << 16, device=device)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        dist.all_reduce(x)
        dist.all_gather_into_tensor(y, x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        dist.all_reduce(x)
        dist.all_gather_into_tensor(y, x)
    for i in range(5):
        x.copy_(data(1 << 16, rank, seed=i))
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
        expected = data(1 << 16, 0, seed=i) + data(1 << 16, 1, seed=i)
        same(x, expected, 'reduce')
        same(y, torch.cat([expected] * N), 'gather')


@case
def functional():
    import torch.distributed._functional_collectives as f
    x = f.all_reduce(data(1000, rank), 'sum', dist.group.WORLD)
    same(x.clone(), data(1000, 0) + data(1000, 1), 'all_reduce')
    x = f.all_gather_tensor(data(1000, rank), 0, dist.group.WORLD)
    same(x.clone(), torch.cat([data(1000, r) for r in range(N)]), 'all_gather')


@case
def large():
    n = 64 << 20
    x = data(n, rank)
    dist.all_reduce(x)
    same(x[-1000:], (data(n, 0) + data(n, 1))[-1000:], 'all_reduce')
    out = torch.empty(n, device=device)
    dist.all_to_all_single(out, data(n, rank))
    same(out[:n // 2][-1000:], data(n, 0)[rank * (n // 2):(rank + 1) * (n // 2)][-1000:], 'all_to_all')
    dist.all_gather_into_tensor(out, data(n // 2, rank))
    same(out[-1000:], data(n // 2, 1)[-1000:], 'all_gather')


@case
def many_groups():
    made = [dist.new_group(list(range(N))) for _ in range(32)]
    n = 8 << 20
    for g in made:
        out = torch.empty(n, device=device)
        dist.all_to_all_single(out, data(n, rank), group=g)
        same(out[:1000], data(n, 0)[rank * (n // 2):][:1000])


# ---- above the calls --------------------------------------------------------------------------


def network(width=64):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)).to(device)


def train(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for x in inputs:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def batches(of_rank):
    generator = torch.Generator().manual_seed(7)
    whole = [torch.randn(8 * N, 64, generator=generator) for _ in range(5)]
    part = slice(None) if of_rank is None else slice(8 * of_rank, 8 * of_rank + 8)
    return [w[part].to(device) for w in whole]


def close(model, reference):
    for a, b in zip(model.parameters(), reference.parameters()):
        a = a.full_tensor() if hasattr(a, 'full_tensor') else a
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@case
def data_parallel():
    reference, model = network(), torch.nn.parallel.DistributedDataParallel(network(), device_ids=[rank])
    train(reference, batches(None))
    train(model, batches(rank))
    close(model, reference)


@case
def sharded():
    from torch.distributed.fsdp import fully_shard
    reference, model = network(), network()
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer)
    fully_shard(model)
    train(reference, batches(None))
    train(model, batches(rank))
    close(model, reference)


@case
def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    reference = network()
    model = parallelize_module(network(), init_device_mesh('cuda', (N,)), {'0': ColwiseParallel(),
                                                                           '2': RowwiseParallel()})
    train(reference, batches(None))
    train(model, batches(None))
    close(model, reference)


def backend():
    return dist.group.WORLD._get_backend(device)


@case
def memory_pool():
    pool = torch.cuda.MemPool(backend().mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        x = torch.empty(1 << 20, device=device)
    backend().register_mem_pool(pool)
    x.copy_(data(1 << 20, rank))
    dist.all_reduce(x)
    same(x, data(1 << 20, 0) + data(1 << 20, 1))
    torch.cuda.synchronize()
    backend().deregister_mem_pool(pool)


@case
def symmetric_memory():
    import torch.distributed._symmetric_memory as symmetric
    symmetric.set_backend('NCCL')
    x = symmetric.empty(1 << 16, device=device, dtype=torch.float32)
    handle = symmetric.rendezvous(x, dist.group.WORLD.group_name)
    assert handle.rank == rank and handle.world_size == N
    x.copy_(data(1 << 16, rank))
    torch.cuda.synchronize()
    dist.barrier(device_ids=[rank])
    same(handle.get_buffer(1 - rank, (1 << 16,), torch.float32), data(1 << 16, 1 - rank), "the peer's buffer")
    dist.barrier(device_ids=[rank])
    dist.all_reduce(x)
    same(x, data(1 << 16, 0) + data(1 << 16, 1), 'all_reduce of it')


# ---- ends -------------------------------------------------------------------------------------


@alone
def abort():
    x = data(1 << 20, rank)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank == 0:
        dist.all_reduce(x)  # the other one does not come
        time.sleep(0.2)
        dist.distributed_c10d._abort_process_group()
        torch.cuda.synchronize()
    else:
        time.sleep(2)
        dist.distributed_c10d._abort_process_group()
    return 'ended'


@alone
def shrink_after_kill():
    from torch.distributed import distributed_c10d as c
    x = data(1 << 20, rank)
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank == 1:
        print('ok', flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    dist.shrink_group([1], shrink_flags=c.SHRINK_ABORT)
    y = torch.ones(1000, device=device)
    dist.all_reduce(y)
    same(y, torch.ones(1000, device=device))
    return 'ended'


@alone
def timeout_in_broadcast():
    """A rank that does not come to a broadcast: the other one's group ends it when its time is over."""
    from datetime import timedelta
    g = dist.new_group([0, 1], timeout=timedelta(seconds=5))
    x = data(1000, rank)
    dist.all_reduce(x, group=g)
    torch.cuda.synchronize()
    if rank == 1:
        try:
            dist.broadcast(x, 0, group=g)
            torch.cuda.synchronize()
        finally:
            print('ok', flush=True)  # the watchdog ends the process, or the wait ends with an error
    else:
        time.sleep(12)
        print('ok', flush=True)
        os._exit(0)


# ---- running them -----------------------------------------------------------------------------


def run_rank(names):
    load()
    dist.init_process_group('nccl', device_id=device)
    for name in names:
        begun = time.time()
        try:
            how = (CASES.get(name) or ALONE[name])()
            torch.cuda.synchronize()
            print(f'{name} ok {time.time() - begun:.1f} s', flush=True)
            if how == 'ended':
                os._exit(0)
        except Exception as e:  # the next case goes on, if the group still can
            print(f'{name} failed: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ""}', flush=True)
            traceback.print_exc()
    torch.cuda.synchronize()
    dist.destroy_process_group()


def run_job(names, library, limit):
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    ranks, outputs = [], []
    for r in range(N):
        env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(N), LOCAL_RANK=str(r), MASTER_ADDR='127.0.0.1',
                   MASTER_PORT=str(port))
        if library:
            env['LD_PRELOAD'] = library
        outputs.append(tempfile.TemporaryFile('w+'))
        ranks.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), '--rank'] + names, env=env,
                                      stdout=outputs[-1], stderr=subprocess.STDOUT, start_new_session=True))
    end = time.time() + limit
    for p in ranks:
        try:
            p.wait(max(0.1, end - time.time()))
        except subprocess.TimeoutExpired:
            pass
    for p in ranks:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
    texts = []
    for f in outputs:
        f.seek(0)
        texts.append(f.read())
        f.close()
    return texts


def report(names, texts):
    n_failed = 0
    for name in names:
        lines = [[line for line in text.splitlines() if line.startswith(name + ' ')] for text in texts]
        good = all(any(' ok' in line for line in of_rank) for of_rank in lines)
        if name in ALONE and not good:  # the process may be ended from outside
            good = all(any(line.startswith((name + ' ok', 'ok')) for line in text.splitlines()) for text in texts)
        n_failed += not good
        said = ' | '.join((of_rank or ['no result'])[0] for of_rank in lines)
        print(f'{"ok    " if good else "FAILED"} {name}' + ('' if good else f': {said}'), flush=True)
    return n_failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--library')
    parser.add_argument('--limit', type=float, default=120)
    parser.add_argument('--rank', action='store_true')
    parser.add_argument('--show', action='store_true', help='what the ranks printed, too')
    parser.add_argument('names', nargs='*')
    a = parser.parse_args()
    if a.rank:
        return run_rank(a.names)
    chosen = [n for n in [*CASES, *ALONE] if not a.names or any(part in n for part in a.names)]
    together = [n for n in chosen if n in CASES]
    jobs = ([together] if together else []) + [[n] for n in chosen if n in ALONE]
    n_failed = 0
    for names in jobs:
        texts = run_job(names, a.library, a.limit)
        failed = report(names, texts)
        n_failed += failed
        if a.show or failed:
            for r, text in enumerate(texts):
                print(f'---- rank {r}\n' + text[-3000:])
    print(f'{len(chosen) - n_failed} of {len(chosen)} cases are right')
    return 1 if n_failed else 0


if __name__ == '__main__':
    sys.exit(main())
