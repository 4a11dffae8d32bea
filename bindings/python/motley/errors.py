# SPDX-License-Identifier: Apache-2.0
"""An exception for each status of the library; each also derives from a built-in exception."""

from __future__ import annotations

from collections.abc import Iterable

from ._core import ffi, lib


class Error(Exception):
    """Base of everything that Motley raises on its own."""


class ArgumentError(Error, ValueError):
    """An invalid argument: a size, stride, range or name."""


class PolicyError(Error, ValueError):
    """A policy's text is wrong. `problems` has (line, column, sentence) of every mistake that was found."""

    def __init__(self, message: str, problems: Iterable[tuple[int, int, str]] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)

    def __reduce__(self):
        return type(self), (self.args[0], self.problems)


class UnsupportedError(Error, RuntimeError):
    """A valid request that this build, machine or device does not support."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed, on the host or the device."""


class FileError(Error, OSError):
    """A file could not be opened or read."""


class CudaError(Error, RuntimeError):
    """CUDA reported an error."""


class InternalError(Error, RuntimeError):
    """A bug in Motley; please report it."""


KINDS = {
    lib.MOTLEY_ERR_ARGUMENT: ArgumentError,
    lib.MOTLEY_ERR_POLICY: PolicyError,
    lib.MOTLEY_ERR_UNSUPPORTED: UnsupportedError,
    lib.MOTLEY_ERR_MEMORY: OutOfMemoryError,
    lib.MOTLEY_ERR_IO: FileError,
    lib.MOTLEY_ERR_CUDA: CudaError,
    lib.MOTLEY_ERR_INTERNAL: InternalError,
}


def text_of(c_string):
    return ffi.string(c_string).decode("utf-8", "replace")


def check(status, error, where=""):
    """Raises the exception of a call that returned `status` and filled `error`. where: a prefix of its message."""
    if status:
        raise KINDS.get(status, InternalError)(where + text_of(error.message))


def checked(function, *arguments):
    """Calls one of the library's functions and adds its last argument, the error."""
    error = ffi.new("motley_error *")
    check(function(*arguments, error), error)


def made_by(kind, function, *arguments):
    """The object that a function creates, which it returns through a pointer: its last argument before the error."""
    made = ffi.new(f"{kind} **")
    checked(function, *arguments, made)
    return made[0]


def text_from(function, *arguments):
    """The text that a function creates."""
    text = made_by("char", function, *arguments)
    try:
        return text_of(text)
    finally:
        lib.free(text)
