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


def check(result: int) -> None:
    """Raises Error if the result of a C call is not 0."""
    if result != 0:
        raise Error(library.gshmemx_error_string(result).decode(errors='replace'), result)
