# SPDX-License-Identifier: Apache-2.0
"""Heat on a plate, with PyTorch on a stream: each PE has some rows, and puts its first and last one into the halo rows
of its neighbours at each step. The host waits for nothing until the end.

    gshmemrun -n 4 python -m gshmem.examples.halo_torch

Compares the result with the same steps on the whole plate."""
import torch

import gshmem
import gshmem.torch

ROWS, COLUMNS, STEPS = 16, 40, 50


def step(u):
    """The inside of u after a step."""
    inside = u[1:-1, 1:-1]
    return inside + 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inside)


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    u = gshmem.torch.zeros((ROWS + 2, COLUMNS))
    arrived = gshmem.torch.zeros(4, torch.int64)  # steps of which the halo has come from above, from below; used mine
    whole = torch.zeros(n * ROWS + 2, COLUMNS, device=u.device)
    whole[0], whole[-1] = 100, -100
    u.copy_(whole[me * ROWS:(me + 1) * ROWS + 2])
    gshmem.synchronize()
    gshmem.barrier()

    # The neighbour, the row that I send, where it goes, the neighbour's two signals, and mine of the same two.
    sides = []
    if me > 0:
        sides.append((me - 1, u[1], u[-1], arrived[1:2], arrived[3:4], arrived[0:1], arrived[2:3]))
    if me < n - 1:
        sides.append((me + 1, u[-2], u[0], arrived[0:1], arrived[2:3], arrived[1:2], arrived[3:4]))
    for i in range(1, STEPS + 1):
        for pe, mine, halo, came, _, _, used in sides:
            gshmem.signal_wait_on_stream(used, '>=', i - 1)
            gshmem.put_signal_on_stream(halo, mine, came, i, pe)
        for _, _, _, _, _, came, _ in sides:
            gshmem.signal_wait_on_stream(came, '>=', i)
        if not u.is_cuda:
            gshmem.synchronize()  # torch's work on the CPU is in no stream
        new = step(u)
        for pe, _, _, _, used, _, _ in sides:
            gshmem.signal_on_stream(used, i, pe)
        u[1:-1, 1:-1] = new
        whole[1:-1, 1:-1] = step(whole)
    error = (u[1:-1] - whole[me * ROWS + 1:(me + 1) * ROWS + 1]).abs().max().item()
    print(f'PE {me}: largest difference from the whole plate {error:g}')
    assert error == 0


if __name__ == '__main__':
    with gshmem.init():
        main()
