# SPDX-License-Identifier: Apache-2.0
"""Programs, each of which says in its first lines how it is run."""
import sys

import gshmem


def need_gpu() -> None:
    """Ends the program, with a line, on the CPU device."""
    if not gshmem.is_on_gpu():
        sys.exit('this program needs GPUs, and gshmem is on the CPU device')
