#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of PyTorch's collectives on two GPUs, on ordinary memory: PyTorch's own NCCL beside other libraries.

    torch_times.py LIBRARY... [--sizes 1K,64K,1M,16M,256M] [--groups 1,48]

LIBRARY is a libnccl.so.2. All libraries run in turn, twice. Prints microseconds of a call, the least of all batches of
both runs, and the ratio to PyTorch's own. Up to 1 MiB the host decides, and one host takes 21 us in one batch and 30 in
the next: so there are eight batches. --groups: that many process groups exist, and the last one made is timed."""
import argparse, json, os, socket, subprocess, sys

N = 2
CALLS = 'all_reduce all_gather reduce_scatter all_to_all broadcast'.split()


def parse_size(text):
    return int(text.rstrip('KMG')) << {'K': 10, 'M': 20, 'G': 30}.get(text[-1], 0)


def rank_main(sizes, n_groups):
    import torch
    import torch.distributed as dist
    rank = int(os.environ['RANK'])
    device = torch.device('cuda', rank)
    torch.cuda.set_device(device)
    dist.init_process_group('nccl', device_id=device)
    group = dist.group.WORLD
    for _ in range(n_groups - 1):
        group = dist.new_group(list(range(N)))
    most = max(sizes) // 4
    x, y = torch.zeros(most, device=device), torch.zeros(most, device=device)
    rows = {}
    for size in sizes:
        n = size // 4
        calls = {
            'all_reduce': lambda: dist.all_reduce(x[:n], group=group),
            'all_gather': lambda: dist.all_gather_into_tensor(y[:n], x[:n // N], group=group),
            'reduce_scatter': lambda: dist.reduce_scatter_tensor(y[:n // N], x[:n], group=group),
            'all_to_all': lambda: dist.all_to_all_single(y[:n], x[:n], group=group),
            'broadcast': lambda: dist.broadcast(x[:n], 0, group=group),
        }
        n_calls = 200 if size <= 1 << 20 else 20 if size <= 1 << 24 else 4
        for name in CALLS:
            for _ in range(3):
                calls[name]()
            times = []
            for _ in range(8):
                torch.cuda.synchronize()
                dist.barrier(device_ids=[rank])
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                for _ in range(n_calls):
                    calls[name]()
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) * 1000 / n_calls)
            rows[f'{name} {size}'] = min(times)
    if rank == 0:
        print('ROWS ' + json.dumps(rows), flush=True)
    dist.destroy_process_group()


def run_job(library, arguments):
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    ranks = []
    for r in range(N):
        env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(N), MASTER_ADDR='127.0.0.1', MASTER_PORT=str(port))
        if library:
            env['LD_PRELOAD'] = library
        ranks.append(subprocess.Popen(['timeout', '100', sys.executable, os.path.abspath(__file__), '-', '--rank']
                                      + arguments, env=env, stdout=subprocess.PIPE, text=True))
    texts = [p.communicate()[0] for p in ranks]
    found = [line[5:] for line in texts[0].splitlines() if line.startswith('ROWS ')]
    return json.loads(found[0]) if found else {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('libraries', nargs='+')
    parser.add_argument('--sizes', default='1K,64K,1M,16M,256M')
    parser.add_argument('--groups', default='1')
    parser.add_argument('--rank', action='store_true')
    a = parser.parse_args()
    if a.rank:
        return rank_main([parse_size(s) for s in a.sizes.split(',')], int(a.groups))
    for n_groups in a.groups.split(','):
        best = [{} for _ in [None, *a.libraries]]
        for _ in range(2):
            for which, library in enumerate([None, *a.libraries]):
                for name, us in run_job(library, ['--sizes', a.sizes, '--groups', n_groups]).items():
                    best[which][name] = min(us, best[which].get(name, us))
        print(f"{n_groups} group(s): call, bytes, us with PyTorch's NCCL, us and ratio with " + ', '.join(a.libraries))
        for name, us in best[0].items():
            line = f'  {name:24} {us:9.1f}'
            for found in best[1:]:
                line += f' {found[name]:9.1f} {found[name] / us:6.2f}' if name in found else ' no result'
            print(line, flush=True)


if __name__ == '__main__':
    sys.exit(main())
