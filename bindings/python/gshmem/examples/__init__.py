# SPDX-License-Identifier: Apache-2.0
"""Programs, each of which says in its first lines how it is run."""
import os
import sys

import gshmem


def need_gpu() -> None:
    """Ends the program, with a line, on the CPU device."""
    if not gshmem.is_on_gpu():
        sys.exit('this program needs GPUs, and gshmem is on the CPU device')


def use_cpu_device() -> None:
    """Before init, for programs of numpy: on GPUs arrays are tensors of PyTorch or arrays of CuPy."""
    os.environ.setdefault('GSHMEM_DEVICE', 'cpu')
