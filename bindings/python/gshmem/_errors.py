# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ._library import library


class Error(RuntimeError):
    """A call of the library failed; the text is the library's. code: one of GSHMEMX_ERROR_, or 0."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class NotInitialized(Error):
    """A call before init or after finalize, or in a process that a PE has forked."""


class Mismatch(Error):
    """The PEs make different collective calls, or the same with different arguments. It is raised on all PEs of the
    team, whose number and calls it names; none of the calls has done anything, and the PEs may go on."""


_SYMMETRY = 4  # GSHMEMX_ERROR_SYMMETRY


def check(result: int) -> None:
    """Raises Error if the result of a C call is not 0."""
    if result != 0:
        kind = Mismatch if result == _SYMMETRY else Error
        raise kind(library.gshmemx_error_string(result).decode(errors='replace'), result)
