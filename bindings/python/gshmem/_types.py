# SPDX-License-Identifier: Apache-2.0
"""Names of types in signatures, for readers and for programs that check types: nothing imports this at run time."""
from typing import Any, Sequence, Union

Array = Any  # a contiguous array of numpy, torch or cupy
DType = Any  # a dtype of numpy or torch, or its name
Shape = Union[int, Sequence[int]]
Stream = Any  # a stream of torch or cupy, its number, 'current', or None
Number = Union[int, float]
